//! EXTRACT and the functions YEAR, MONTH … SECOND: one field of a date or time.
//!
//! Fields of moments before 1970 are the calendar's, where Flink's go astray.

use super::TimeUnit;
use crate::model::Timestamp;
use crate::model::civil::{civil_from_days, days_from_civil, split_millis};

/// Field `unit` of a local date and time. A DATE is its midnight, a TIME is on
/// 1970-01-01.
#[must_use]
pub fn extract(unit: TimeUnit, local: Timestamp) -> i64 {
    let (days, clock) = split_millis(local.millis);
    let nanos = i64::from(local.nano_of_second());
    match unit {
        TimeUnit::Hour => clock / 3_600_000,
        TimeUnit::Minute => clock / 60_000 % 60,
        TimeUnit::Second => clock / 1000 % 60,
        TimeUnit::Millisecond => nanos / 1_000_000,
        TimeUnit::Microsecond => nanos / 1000,
        TimeUnit::Nanosecond => nanos,
        TimeUnit::Epoch => local.seconds(),
        _ => extract_from_days(unit, days),
    }
}

fn extract_from_days(unit: TimeUnit, days: i64) -> i64 {
    let (year, month, day) = civil_from_days(days);
    let month = i64::from(month);
    match unit {
        TimeUnit::Millennium => period_of(year, 1000),
        TimeUnit::Century => period_of(year, 100),
        TimeUnit::Decade => year.div_euclid(10),
        TimeUnit::Year => year,
        TimeUnit::Isoyear => iso_week(days).0,
        TimeUnit::Quarter => (month + 2) / 3,
        TimeUnit::Month => month,
        TimeUnit::Week => iso_week(days).1,
        TimeUnit::Doy => day_of_year(days),
        TimeUnit::Dow => day_of_week(days) + 1,
        TimeUnit::Isodow => (day_of_week(days) + 6) % 7 + 1,
        _ => i64::from(day),
    }
}

/// Number of the century or millennium of a year; there is no number 0.
fn period_of(year: i64, years: i64) -> i64 {
    if year > 0 { (year + years - 1) / years } else { (year - years + 1) / years }
}

/// Sunday 0 to Saturday 6. 1970-01-01 was a Thursday.
#[must_use]
pub fn day_of_week(days: i64) -> i64 {
    (days + 4).rem_euclid(7)
}

/// 1 to 366.
#[must_use]
pub fn day_of_year(days: i64) -> i64 {
    days - days_from_civil(civil_from_days(days).0, 1, 1) + 1
}

/// ISO year and week: weeks start on Monday and belong to the year of their Thursday.
fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - (day_of_week(days) + 6) % 7 + 3;
    (civil_from_days(thursday).0, (day_of_year(thursday) - 1) / 7 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_date(unit: TimeUnit, year: i64, month: u32, day: u32) -> i64 {
        extract(unit, Timestamp::from_millis(days_from_civil(year, month, day) * 86_400_000))
    }

    #[test]
    fn weeks_are_those_of_iso_8601() {
        assert_eq!(of_date(TimeUnit::Week, 2024, 12, 30), 1);
        assert_eq!(of_date(TimeUnit::Week, 2023, 1, 1), 52);
        assert_eq!(of_date(TimeUnit::Isoyear, 2024, 12, 30), 2025);
        assert_eq!(of_date(TimeUnit::Isoyear, 2023, 1, 1), 2022);
        assert_eq!(of_date(TimeUnit::Dow, 2024, 12, 29), 1);
        assert_eq!(of_date(TimeUnit::Isodow, 2024, 12, 29), 7);
    }

    #[test]
    fn moments_before_1970_have_the_fields_of_the_calendar() {
        let at = Timestamp::from_millis(-500);
        let fields = [
            (TimeUnit::Year, 1969),
            (TimeUnit::Day, 31),
            (TimeUnit::Hour, 23),
            (TimeUnit::Second, 59),
            (TimeUnit::Millisecond, 500),
            (TimeUnit::Epoch, -1),
        ];
        for (unit, value) in fields {
            assert_eq!(extract(unit, at), value, "{unit:?}");
        }
    }

    #[test]
    fn centuries_start_with_the_year_one() {
        assert_eq!(of_date(TimeUnit::Century, 2000, 1, 1), 20);
        assert_eq!(of_date(TimeUnit::Century, 2001, 1, 1), 21);
        assert_eq!(of_date(TimeUnit::Millennium, 2001, 1, 1), 3);
        assert_eq!(of_date(TimeUnit::Decade, 2024, 1, 1), 202);
        assert_eq!(of_date(TimeUnit::Doy, 2024, 12, 31), 366);
        assert_eq!(of_date(TimeUnit::Quarter, 2024, 11, 30), 4);
    }
}
