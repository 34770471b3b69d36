//! Dates, times and moments in text, by the rules of Flink's casts and literals.
//!
//! Days that do not exist (2024-02-30) are refused everywhere.

use crate::model::Timestamp;
use crate::model::civil::{MILLIS_PER_DAY, days_from_civil, days_in_month};

/// Last year that text may name. Flink: `DateTimeUtils.isIllegalDate`.
const LAST_YEAR: u32 = 9999;

/// Cast: `yyyy[-M[-d]]`; blanks around it and all after an inner blank do not count.
pub(in crate::expr) fn date(text: &str) -> Option<i32> {
    let trimmed = text.trim_matches(' ');
    let day = trimmed.split_once(' ').map_or(trimmed, |(day, _)| day);
    let mut parts = day.split('-');
    let year = number(parts.next()?, 1, 4)?;
    let month = parts.next().map_or(Some(1), |part| number(part, 1, 2))?;
    let day = parts.next().map_or(Some(1), |part| number(part, 1, 2))?;
    if parts.next().is_some() {
        return None;
    }
    valid_day(year, month, day)
}

/// Cast: `H[:m[:s[.f]]]` in milliseconds; blanks around it do not count.
pub(in crate::expr) fn time(text: &str) -> Option<i32> {
    let (clock, fraction) = split_fraction(text.trim_matches(' '))?;
    let mut parts = clock.split(':');
    let hour = number(parts.next()?, 1, 2)?;
    let minute = parts.next().map_or(Some(0), |part| number(part, 1, 2))?;
    let second = parts.next().map_or(Some(0), |part| number(part, 1, 2));
    if parts.next().is_some() || (fraction.is_some() && clock.matches(':').count() < 2) || hour > 23 {
        return None;
    }
    let millis = clock_millis(hour, minute, second?)?;
    i32::try_from(millis + i64::from(fraction.map_or(0, |f| f.nanos / 1_000_000))).ok()
}

/// Cast: `yyyy-M-d[ H:m:s[.f]]`, with nothing around it. 24:00:00 is the next day.
pub(in crate::expr) fn timestamp(text: &str) -> Option<Timestamp> {
    let (day, clock) = match text.split_once(' ') {
        Some((day, clock)) => (day, Some(clock)),
        None => (text, None),
    };
    let mut parts = day.split('-');
    let year = number(parts.next()?, 4, 4)?;
    let (month, day) = (number(parts.next()?, 1, 2)?, number(parts.next()?, 1, 2)?);
    if parts.next().is_some() {
        return None;
    }
    let days = valid_day(year, month, day)?;
    moment(days, clock, 1).map(|(at, _)| at)
}

/// Literal: `yyyy-MM-dd`.
pub(in crate::expr) fn literal_date(text: &str) -> Option<i32> {
    let mut parts = text.split('-');
    let year = number(parts.next()?, 4, 4)?;
    let (month, day) = (number(parts.next()?, 2, 2)?, number(parts.next()?, 2, 2)?);
    if parts.next().is_some() { None } else { valid_day(year, month, day) }
}

/// Literal: `HH:mm:ss[.f]`, with its number of fraction digits, 3 at most.
pub(in crate::expr) fn literal_time(text: &str) -> Option<(i32, u8)> {
    let (at, digits) = moment(0, Some(text), 2)?;
    let millis = i32::try_from(at.millis).ok().filter(|millis| i64::from(*millis) < MILLIS_PER_DAY)?;
    (digits <= 3).then_some((millis, digits))
}

/// Literal: `yyyy-MM-dd[ HH:mm:ss[.f]]`, with its number of fraction digits.
pub(in crate::expr) fn literal_timestamp(text: &str) -> Option<(Timestamp, u8)> {
    let (day, clock) = match text.split_once(' ') {
        Some((day, clock)) => (day, Some(clock)),
        None => (text, None),
    };
    let days = literal_date(day)?;
    if clock.is_some_and(|clock| clock.starts_with("24")) {
        return None;
    }
    moment(days, clock, 2)
}

/// A day with `H:m:s[.f]`, fields of at least `width` digits; midnight without.
fn moment(days: i32, clock: Option<&str>, width: usize) -> Option<(Timestamp, u8)> {
    let midnight = i64::from(days) * MILLIS_PER_DAY;
    let Some(clock) = clock else { return Some((Timestamp::from_millis(midnight), 0)) };
    let (clock, fraction) = split_fraction(clock)?;
    let mut parts = clock.split(':');
    let (hour, minute) = (number(parts.next()?, width, 2)?, number(parts.next()?, width, 2)?);
    let second = number(parts.next()?, width, 2)?;
    if parts.next().is_some() {
        return None;
    }
    let Fraction { nanos, digits } = fraction.unwrap_or(Fraction { nanos: 0, digits: 0 });
    if hour == 24 && (minute, second, nanos) != (0, 0, 0) {
        return None;
    }
    let millis = midnight + clock_millis(hour, minute, second)? + i64::from(nanos / 1_000_000);
    Some((Timestamp { millis, nanos: nanos % 1_000_000 }, digits))
}

#[derive(Clone, Copy)]
struct Fraction {
    nanos: u32,
    digits: u8,
}

/// Splits 1 to 9 digits behind a point off.
fn split_fraction(text: &str) -> Option<(&str, Option<Fraction>)> {
    let Some((clock, fraction)) = text.split_once('.') else { return Some((text, None)) };
    let value = number(fraction, 1, 9)?;
    let nanos = value * 10_u32.pow(9 - u32::try_from(fraction.len()).ok()?);
    Some((clock, Some(Fraction { nanos, digits: u8::try_from(fraction.len()).ok()? })))
}

fn clock_millis(hour: u32, minute: u32, second: u32) -> Option<i64> {
    let valid = hour <= 24 && minute <= 59 && second <= 59;
    valid.then(|| i64::from(hour * 3600 + minute * 60 + second) * 1000)
}

fn valid_day(year: u32, month: u32, day: u32) -> Option<i32> {
    let exists = year <= LAST_YEAR && (1..=12).contains(&month) && day >= 1;
    if !exists || day > days_in_month(year.into(), month) {
        return None;
    }
    i32::try_from(days_from_civil(year.into(), month, day)).ok()
}

/// A number of `least` to `most` digits and nothing else.
fn number(text: &str, least: usize, most: usize) -> Option<u32> {
    let plain = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_casts() {
        let day = literal_date("2024-01-02");
        for text in ["2024-01-02", "2024-1-2", " 2024-01-02 ", "2024-01-02 03:04:05"] {
            assert_eq!(date(text), day, "{text}");
        }
        assert_eq!(date("2024-01"), literal_date("2024-01-01"));
        for junk in ["2024-01-02T03:04:05", "2024-02-30", "2024/01/02", "", "2024-13-01", "2024-00-01"] {
            assert_eq!(date(junk), None, "{junk}");
        }
    }

    #[test]
    fn times_of_casts() {
        assert_eq!(time("12:34:56.789"), Some(45_296_789));
        assert_eq!(time("12:34"), Some(45_240_000));
        assert_eq!(time("1:2:3"), Some(3_723_000));
        assert_eq!(time("12"), Some(43_200_000));
        for junk in ["24:00:00", "2024-01-02 12:34:56", "25:00:00", "12:60", ""] {
            assert_eq!(time(junk), None, "{junk}");
        }
    }

    #[test]
    fn moments_of_casts() {
        let millis = |text| timestamp(text).map(|at| at.millis);
        assert_eq!(millis("2024-01-02 03:04:05"), Some(1_704_164_645_000));
        assert_eq!(millis("2024-1-2 3:4:5"), Some(1_704_164_645_000));
        assert_eq!(millis("2024-01-02 24:00:00"), millis("2024-01-03"));
        assert_eq!(timestamp("2024-01-02 03:04:05.123456789").map(|at| at.nanos), Some(456_789));
        for junk in [
            "2024-01-02T03:04:05",
            "2024-01-02 03:04",
            "2024-01-02 03:04:05Z",
            " 2024-01-02 03:04:05 ",
            "2024-02-30 00:00:00",
            "2024-01-02 03:04:60",
            "2024-04-31",
            "",
        ] {
            assert_eq!(millis(junk), None, "{junk}");
        }
    }
}
