//! Dates and times as MySQL reads them in a text.
//!
//! `None` where MySQL has no such value: years outside of 0000 to 9999, or more
//! fraction digits than asked for, which the server would round.

use crate::model::Timestamp;
use crate::model::civil::{
    civil_from_days, days_from_civil, days_in_month, fraction_digits, split_millis, write_date,
    write_timestamp,
};

/// Length of `yyyy-MM-dd `.
const DATE_AND_BLANK: usize = 11;

/// The day number of a date; `None` for one that the calendar does not have (2024-02-30, 2025-00-15).
pub(super) fn day_number(year: u16, month: u8, day: u8) -> Option<i64> {
    let (year, month, day) = (i64::from(year), u32::from(month), u32::from(day));
    let exists = (1..=12).contains(&month) && 1 <= day && day <= days_in_month(year, month);
    exists.then(|| days_from_civil(year, month, day))
}

/// `2024-01-31`.
pub(crate) fn date_text(days: i64) -> Option<String> {
    let mut text = Vec::with_capacity(DATE_AND_BLANK);
    write_date(days, &mut text);
    written(days, text)
}

/// `2024-01-31 13:05:07.250` with exactly `digits` of the fraction.
pub(crate) fn timestamp_text(at: Timestamp, digits: u8) -> Option<String> {
    if digits < fraction_digits(at.nano_of_second()) {
        return None;
    }
    let mut text = Vec::with_capacity(32);
    write_timestamp(at, digits, b' ', &mut text);
    written(split_millis(at.millis).0, text)
}

/// `13:05:07.250` with exactly `digits` of the fraction.
pub(crate) fn time_text(millis_of_day: i32, digits: u8) -> Option<String> {
    let mut text = timestamp_text(Timestamp::from_millis(millis_of_day.into()), digits)?;
    (0..86_400_000).contains(&millis_of_day).then(|| text.split_off(DATE_AND_BLANK))
}

fn written(days: i64, text: Vec<u8>) -> Option<String> {
    let in_range = (0..=9999).contains(&civil_from_days(days).0);
    in_range.then(|| String::from_utf8(text).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_the_calendar_and_no_others() {
        assert_eq!(day_number(1970, 1, 1), Some(0));
        assert_eq!(day_number(2000, 2, 29), Some(11_016));
        assert_eq!(day_number(1969, 12, 31), Some(-1));
        assert_eq!(day_number(2023, 2, 29), None);
        assert_eq!(day_number(2025, 0, 15), None);
        assert_eq!(day_number(2025, 4, 31), None);
        assert_eq!(day_number(2025, 4, 0), None);
    }

    #[test]
    fn texts_have_the_asked_digits_or_are_none() {
        assert_eq!(date_text(11_016).as_deref(), Some("2000-02-29"));
        assert_eq!(date_text(-719_528).as_deref(), Some("0000-01-01"));
        assert_eq!(date_text(-719_529), None);
        assert_eq!(date_text(2_932_897), None);
        assert_eq!(time_text(47_107_250, 3).as_deref(), Some("13:05:07.250"));
        assert_eq!(time_text(47_107_250, 2).as_deref(), Some("13:05:07.25"));
        assert_eq!(time_text(47_107_250, 1), None);
        assert_eq!(time_text(0, 0).as_deref(), Some("00:00:00"));
        let at = Timestamp { millis: -1, nanos: 1000 };
        assert_eq!(timestamp_text(at, 6).as_deref(), Some("1969-12-31 23:59:59.999001"));
    }
}
