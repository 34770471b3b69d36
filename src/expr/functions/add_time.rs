//! Adding units to dates and times, and the distance between two of them.
//!
//! Months clamp to the last day of the month. Everything is computed on local
//! (or UTC) milliseconds; sums beyond 64 bits are faults of the row.
//! Flink: `DateTimeUtils.addMonths`, `subtractMonths`.

use super::TimeUnit;
use crate::error::Reason;
use crate::expr::EvalError;
use crate::model::civil::{MILLIS_PER_DAY, civil_from_days, days_from_civil, days_in_month, split_millis};

fn overflow(what: &str) -> EvalError {
    EvalError { reason: Reason::ArithmeticOverflow, detail: format!("{what} leaves the calendar's range") }
}

/// Years that results are held to, so that no later step overflows.
const YEAR_MAX: i64 = 1_000_000;

/// A day moved by months; the 31st becomes the last day of a shorter month.
///
/// # Errors
/// The result is more than a million years away.
pub fn add_months(days: i64, months: i64) -> Result<i64, EvalError> {
    let (year, month, day) = civil_from_days(days);
    let total = (year * 12 + i64::from(month) - 1)
        .checked_add(months)
        .filter(|total| total.abs() < YEAR_MAX * 12)
        .ok_or_else(|| overflow("adding months"))?;
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) as u32 + 1);
    Ok(days_from_civil(year, month, day.min(days_in_month(year, month))))
}

/// A moment in milliseconds moved by months; the time of day stays.
///
/// # Errors
/// As [`add_months`].
pub fn add_months_to_millis(millis: i64, months: i64) -> Result<i64, EvalError> {
    let (days, clock) = split_millis(millis);
    Ok(add_months(days, months)? * MILLIS_PER_DAY + clock)
}

/// A moment in milliseconds moved by milliseconds.
///
/// # Errors
/// The result is more than a million years away.
pub fn add_millis(millis: i64, by: i64) -> Result<i64, EvalError> {
    millis
        .checked_add(by)
        .filter(|sum| sum.unsigned_abs() / MILLIS_PER_DAY.unsigned_abs() / 366 < YEAR_MAX.unsigned_abs())
        .ok_or_else(|| overflow("adding an interval"))
}

/// A time of day moved by milliseconds; the clock wraps at midnight.
#[must_use]
pub fn add_to_clock(millis_of_day: i32, by: i64) -> i32 {
    (i64::from(millis_of_day) + by % MILLIS_PER_DAY).rem_euclid(MILLIS_PER_DAY) as i32
}

/// TIMESTAMPADD: `count` units later, in milliseconds.
///
/// # Errors
/// The result is more than a million years away.
pub fn timestamp_add(unit: TimeUnit, count: i64, millis: i64) -> Result<i64, EvalError> {
    let far = || overflow("TIMESTAMPADD");
    match (unit.fixed_millis(), unit.months()) {
        (Some(size), _) => add_millis(millis, count.checked_mul(size).ok_or_else(far)?),
        (None, Some(size)) => add_months_to_millis(millis, count.checked_mul(size).ok_or_else(far)?),
        // MICROSECOND and NANOSECOND: less than a millisecond has no effect.
        (None, None) if unit == TimeUnit::Microsecond => add_millis(millis, count / 1000),
        (None, None) => add_millis(millis, count / 1_000_000),
    }
}

/// TIMESTAMPDIFF: whole units from `start` to `end`, both in milliseconds, cut
/// toward zero. From a month's end to a shorter month's end is a whole month.
#[must_use]
pub fn timestamp_diff(unit: TimeUnit, start: i64, end: i64) -> i64 {
    match (unit.fixed_millis(), unit.months()) {
        (Some(size), _) => end.saturating_sub(start) / size,
        (None, Some(size)) => months_between(start, end) / size,
        (None, None) if unit == TimeUnit::Microsecond => end.saturating_sub(start).saturating_mul(1000),
        (None, None) => end.saturating_sub(start).saturating_mul(1_000_000),
    }
}

/// Whole months from `start` to `end`, both in milliseconds.
#[must_use]
pub fn months_between(start: i64, end: i64) -> i64 {
    if end < start {
        return -months_between(end, start);
    }
    let month_of = |millis: i64| {
        let (year, month, _) = civil_from_days(split_millis(millis).0);
        year * 12 + i64::from(month)
    };
    let estimate = month_of(end) - month_of(start);
    match add_months_to_millis(start, estimate) {
        Ok(reached) if reached > end => estimate - 1,
        _ => estimate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: i64, month: u32, day: u32) -> i64 {
        days_from_civil(year, month, day) * MILLIS_PER_DAY
    }

    #[test]
    fn months_clamp_to_the_last_day() {
        assert_eq!(add_months_to_millis(at(2024, 1, 31) + 5, 1), Ok(at(2024, 2, 29) + 5));
        assert_eq!(timestamp_add(TimeUnit::Quarter, 1, at(2024, 11, 30)), Ok(at(2025, 2, 28)));
        assert_eq!(timestamp_add(TimeUnit::Week, 1, at(2024, 1, 1)), Ok(at(2024, 1, 8)));
        assert_eq!(timestamp_add(TimeUnit::Month, -13, at(1970, 1, 31)), Ok(at(1968, 12, 31)));
    }

    #[test]
    fn distances_are_whole_units_cut_toward_zero() {
        let half_day = MILLIS_PER_DAY / 2;
        assert_eq!(timestamp_diff(TimeUnit::Second, 2100, 900), -1);
        assert_eq!(timestamp_diff(TimeUnit::Month, at(2024, 1, 31), at(2024, 2, 29)), 1);
        assert_eq!(timestamp_diff(TimeUnit::Month, at(2024, 1, 31), at(2024, 3, 30)), 1);
        assert_eq!(timestamp_diff(TimeUnit::Month, at(2024, 2, 29), at(2024, 1, 31)), -1);
        assert_eq!(timestamp_diff(TimeUnit::Month, at(2024, 1, 15) + half_day, at(2024, 2, 15)), 0);
        assert_eq!(timestamp_diff(TimeUnit::Month, at(2024, 2, 15), at(2024, 1, 15) + half_day), 0);
        assert_eq!(timestamp_diff(TimeUnit::Year, at(2020, 2, 29), at(2024, 2, 28)), 3);
    }

    #[test]
    fn the_clock_wraps_and_the_calendar_does_not() {
        assert_eq!(add_to_clock(84_600_000, 3_600_000), 1_800_000);
        assert_eq!(add_to_clock(1_800_000, -3_600_000), 84_600_000);
        for (unit, count) in
            [(TimeUnit::Year, i64::MAX), (TimeUnit::Day, i64::MIN), (TimeUnit::Second, i64::MAX)]
        {
            let fault = timestamp_add(unit, count, 0).unwrap_err();
            assert_eq!(fault.reason, Reason::ArithmeticOverflow);
        }
    }
}
