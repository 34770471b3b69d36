//! FLOOR and CEIL of dates and times to a unit.
//!
//! Weeks start on Sunday here. CEIL of an exact boundary is itself, and it looks
//! at milliseconds alone: microseconds raise nothing.

use super::TimeUnit;
use super::fields::day_of_week;
use crate::model::civil::{MILLIS_PER_DAY, civil_from_days, days_from_civil};

/// The start of the unit that a local time in milliseconds lies in.
#[must_use]
pub fn floor(unit: TimeUnit, local_millis: i64) -> i64 {
    let day = local_millis.div_euclid(MILLIS_PER_DAY);
    match unit {
        TimeUnit::Week => (day - day_of_week(day)).saturating_mul(MILLIS_PER_DAY),
        _ => match (unit.fixed_millis(), unit.months()) {
            (Some(millis), _) => local_millis.saturating_sub(local_millis.rem_euclid(millis)),
            (None, Some(months)) => start_of(period(day, months), months).saturating_mul(MILLIS_PER_DAY),
            (None, None) => local_millis,
        },
    }
}

/// The start of the first unit that does not begin before a local time in milliseconds.
#[must_use]
pub fn ceil(unit: TimeUnit, local_millis: i64) -> i64 {
    let start = floor(unit, local_millis);
    if start >= local_millis {
        return start;
    }
    match (unit.fixed_millis(), unit.months()) {
        (Some(millis), _) => start.saturating_add(millis),
        (None, Some(months)) => {
            let day = start.div_euclid(MILLIS_PER_DAY);
            start_of(period(day, months) + 1, months).saturating_mul(MILLIS_PER_DAY)
        }
        (None, None) => start,
    }
}

/// Months by which a period is shifted against the year 0: centuries and
/// millennia begin with year 1.
fn shift(months: i64) -> i64 {
    if months >= 1200 { 12 } else { 0 }
}

/// Number of the period of so many months that a day lies in.
fn period(day: i64, months: i64) -> i64 {
    let (year, month, _) = civil_from_days(day);
    (year * 12 + i64::from(month) - 1 - shift(months)).div_euclid(months)
}

/// First day of a period.
fn start_of(period: i64, months: i64) -> i64 {
    let month = period * months + shift(months);
    days_from_civil(month.div_euclid(12), month.rem_euclid(12) as u32 + 1, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: i64, month: u32, day: u32) -> i64 {
        days_from_civil(year, month, day) * MILLIS_PER_DAY
    }

    #[test]
    fn floor_goes_to_the_start_of_the_unit() {
        let at = date(2024, 5, 17) + 49_485_678;
        assert_eq!(floor(TimeUnit::Second, at), at - 678);
        assert_eq!(floor(TimeUnit::Week, at), date(2024, 5, 12));
        assert_eq!(floor(TimeUnit::Quarter, at), date(2024, 4, 1));
        assert_eq!(floor(TimeUnit::Year, at), date(2024, 1, 1));
        assert_eq!(floor(TimeUnit::Decade, at), date(2020, 1, 1));
        assert_eq!(floor(TimeUnit::Century, at), date(2001, 1, 1));
        assert_eq!(floor(TimeUnit::Hour, -500), -3_600_000);
    }

    #[test]
    fn ceil_goes_up_unless_it_is_there() {
        let at = date(2024, 5, 17) + 1;
        assert_eq!(ceil(TimeUnit::Day, at), date(2024, 5, 18));
        assert_eq!(ceil(TimeUnit::Day, date(2024, 5, 17)), date(2024, 5, 17));
        assert_eq!(ceil(TimeUnit::Week, at), date(2024, 5, 19));
        assert_eq!(ceil(TimeUnit::Quarter, date(2024, 4, 1)), date(2024, 4, 1));
        assert_eq!(ceil(TimeUnit::Month, date(2024, 4, 1) + 1), date(2024, 5, 1));
        assert_eq!(ceil(TimeUnit::Century, at), date(2101, 1, 1));
    }
}
