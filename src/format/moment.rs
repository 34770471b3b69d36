//! Dates, times and timestamps from text and back, in the strict forms of Flink's formats.
//!
//! Java: `ISO_LOCAL_DATE`, `LocalTime.parse`; Flink: `TimeFormats`.

use crate::error::Reason;
use crate::model::civil::{self, MILLIS_PER_DAY, days_from_civil, days_in_month, fraction_digits};
use crate::model::{Timestamp, Type};

use super::misfit::Misfit;

/// Most digits of a year that a DATE of 32 bits can reach.
const YEAR_DIGITS_MAX: usize = 7;

/// How a timestamp is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Between date and time: a blank, or `T` (then `t` is read too).
    pub separator: u8,
    /// Whether `HH:mm` alone will do.
    pub seconds_optional: bool,
}

impl Form {
    /// `yyyy-MM-dd HH:mm:ss[.f]`.
    pub(super) const SQL: Self = Self { separator: b' ', seconds_optional: false };
    /// `yyyy-MM-ddTHH:mm[:ss[.f]]`.
    pub(super) const ISO: Self = Self { separator: b'T', seconds_optional: true };
}

/// A DATE: `yyyy-MM-dd`.
pub(super) fn date(text: &str) -> Result<i32, Misfit> {
    let (days, rest) = date_prefix(text.as_bytes()).ok_or(NOT_A_DATE)?;
    if !rest.is_empty() {
        return Err(NOT_A_DATE);
    }
    i32::try_from(days).map_err(|_| Misfit::out_of_range("is outside of the type's range"))
}

const NOT_A_DATE: Misfit = Misfit { reason: Reason::Malformed, what: "is not a date of the form yyyy-MM-dd" };

/// A TIME in milliseconds of the day: `HH:mm:ss[.f]`, what is below a millisecond cut off.
pub(super) fn time(text: &str, seconds_optional: bool) -> Result<i32, Misfit> {
    let misfit = Misfit::malformed("is not a time of the form HH:mm:ss[.f]");
    let (clock, rest) = clock_prefix(text.as_bytes(), seconds_optional).ok_or(misfit)?;
    if !rest.is_empty() {
        return Err(misfit);
    }
    i32::try_from(clock.millis).map_err(|_| misfit)
}

/// A TIMESTAMP, or a TIMESTAMP_LTZ (which ends in `Z`).
pub(super) fn timestamp(text: &str, ty: &Type, form: Form) -> Result<Timestamp, Misfit> {
    let zulu = matches!(ty, Type::TimestampLtz(_));
    parse_timestamp(text.as_bytes(), form, zulu).ok_or(match (form.separator, zulu) {
        (b' ', false) => Misfit::malformed("is not a timestamp of the form yyyy-MM-dd HH:mm:ss[.f]"),
        (b' ', true) => Misfit::malformed("is not a timestamp of the form yyyy-MM-dd HH:mm:ss[.f]Z"),
        (_, false) => Misfit::malformed("is not a timestamp of the form yyyy-MM-ddTHH:mm:ss[.f]"),
        (_, true) => Misfit::malformed("is not a timestamp of the form yyyy-MM-ddTHH:mm:ss[.f]Z"),
    })
}

fn parse_timestamp(text: &[u8], form: Form, zulu: bool) -> Option<Timestamp> {
    let (days, rest) = date_prefix(text)?;
    let (separator, rest) = rest.split_first()?;
    if *separator != form.separator && !(form.separator == b'T' && *separator == b't') {
        return None;
    }
    let (clock, rest) = clock_prefix(rest, form.seconds_optional)?;
    let complete = if zulu { rest == b"Z" } else { rest.is_empty() };
    let millis = days.checked_mul(MILLIS_PER_DAY)?.checked_add(clock.millis)?;
    complete.then_some(Timestamp { millis, nanos: clock.nanos })
}

/// Days since 1970-01-01 and what follows the date. Years beyond four digits carry a sign.
pub(super) fn date_prefix(text: &[u8]) -> Option<(i64, &[u8])> {
    let (sign, unsigned) = match text.first()? {
        sign @ (b'-' | b'+') => (Some(*sign), &text[1..]),
        _ => (None, text),
    };
    let digits = unsigned.iter().take_while(|b| b.is_ascii_digit()).count();
    let fits = match sign {
        None => digits == 4,
        Some(b'+') => (5..=YEAR_DIGITS_MAX).contains(&digits),
        Some(_) => (4..=YEAR_DIGITS_MAX).contains(&digits),
    };
    if !fits {
        return None;
    }
    let (year, rest) = unsigned.split_at(digits);
    let year = year.iter().fold(0_i64, |year, b| year * 10 + i64::from(b - b'0'));
    let year = if sign == Some(b'-') { -year } else { year };
    let [b'-', m1, m2, b'-', d1, d2, rest @ ..] = rest else { return None };
    let (month, day) = (two(*m1, *m2)?, two(*d1, *d2)?);
    let exists = (1..=12).contains(&month) && 1 <= day && day <= days_in_month(year, month);
    exists.then(|| (days_from_civil(year, month, day), rest))
}

struct Clock {
    millis: i64,
    /// Within the millisecond.
    nanos: u32,
}

fn clock_prefix(text: &[u8], seconds_optional: bool) -> Option<(Clock, &[u8])> {
    let [h1, h2, b':', m1, m2, rest @ ..] = text else { return None };
    let (hour, minute) = (two(*h1, *h2)?, two(*m1, *m2)?);
    let (second, nanos, rest) = match rest {
        [b':', s1, s2, rest @ ..] => {
            let (nanos, rest) = fraction(rest)?;
            (two(*s1, *s2)?, nanos, rest)
        }
        _ if seconds_optional => (0, 0, rest),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let millis = i64::from((hour * 60 + minute) * 60 + second) * 1000 + i64::from(nanos / 1_000_000);
    Some((Clock { millis, nanos: nanos % 1_000_000 }, rest))
}

/// Nanoseconds of `.1` to `.123456789`, 0 without a point, and what follows.
pub(super) fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let [b'.', rest @ ..] = text else { return Some((0, text)) };
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if !(1..=9).contains(&digits) {
        return None;
    }
    let (fraction, rest) = rest.split_at(digits);
    let value = fraction.iter().fold(0_u32, |value, b| value * 10 + u32::from(b - b'0'));
    Some((value * 10_u32.pow(9 - digits as u32), rest))
}

fn two(tens: u8, units: u8) -> Option<u32> {
    (tens.is_ascii_digit() && units.is_ascii_digit())
        .then(|| u32::from(tens - b'0') * 10 + u32::from(units - b'0'))
}

/// Appends `HH:mm:ss[.f]`. `millis` counts from midnight.
pub(super) fn write_time(millis: i32, out: &mut Vec<u8>) {
    let nanos = u32::try_from(millis.rem_euclid(1000)).unwrap_or(0) * 1_000_000;
    civil::write_time(millis.into(), fraction_digits(nanos), out);
}

/// Appends `yyyy-MM-dd`, the separator and `HH:mm:ss[.f]`. Years of four digits go out in one piece.
pub(super) fn write_moment(at: Timestamp, separator: u8, out: &mut Vec<u8>) {
    let (days, clock) = civil::split_millis(at.millis);
    let (year, month, day) = civil::civil_from_days(days);
    let Ok(year @ 0..=9999) = u32::try_from(year) else {
        return civil::write_timestamp_shortest(at, separator, out);
    };
    let mut text = *b"0000-00-00 00:00:00.000000000";
    let seconds = (clock / 1000) as u32;
    [text[0], text[1]] = pair(year / 100);
    [text[2], text[3]] = pair(year % 100);
    [text[5], text[6]] = pair(month);
    [text[8], text[9]] = pair(day);
    text[10] = separator;
    [text[11], text[12]] = pair(seconds / 3600);
    [text[14], text[15]] = pair(seconds / 60 % 60);
    [text[17], text[18]] = pair(seconds % 60);
    let millis = (clock % 1000) as u32;
    if at.nanos > 0 {
        let mut rest = at.nano_of_second();
        for digit in text[20..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let len = 20 + usize::from(fraction_digits(at.nano_of_second()));
        return out.extend_from_slice(text.get(..len).unwrap_or(&text));
    }
    text[20] = b'0' + (millis / 100) as u8;
    [text[21], text[22]] = pair(millis % 100);
    let len = match millis {
        0 => 19,
        _ if millis.is_multiple_of(100) => 21,
        _ if millis.is_multiple_of(10) => 22,
        _ => 23,
    };
    out.extend_from_slice(&text[..len]);
}

/// Two digits of a number below 100.
fn pair(value: u32) -> [u8; 2] {
    [b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn local(text: &str, form: Form) -> Option<(i64, u32)> {
        timestamp(text, &Type::Timestamp(3), form).ok().map(|at| (at.millis, at.nanos))
    }

    fn instant(text: &str, form: Form) -> Option<i64> {
        timestamp(text, &Type::TimestampLtz(3), form).ok().map(|at| at.millis)
    }

    #[test]
    fn dates_are_strict() {
        assert_eq!(date("2020-01-02"), Ok(18_263));
        assert_eq!(date("1969-12-31"), Ok(-1));
        assert_eq!(date("-0001-01-02").ok(), i32::try_from(days_from_civil(-1, 1, 2)).ok());
        for text in
            ["2020-1-2", "20191112", "2020-01-02 00:00:00", "2020-02-30", "+2020-01-02", "", "2020-13-01"]
        {
            assert_eq!(date(text), Err(NOT_A_DATE), "{text}");
        }
    }

    #[test]
    fn times_are_cut_to_milliseconds() {
        assert_eq!(time("01:02:03", false), Ok(3_723_000));
        assert_eq!(time("01:02:03.9999", false), Ok(3_723_999));
        assert_eq!(time("01:02", true), Ok(3_720_000));
        for text in ["01:02", "01:02:03Z", "18:00:243", "24:00:00", "01:02:03.", "1:02:03"] {
            assert!(time(text, false).is_err(), "{text}");
        }
    }

    #[test]
    fn timestamps_follow_their_standard() {
        let base = 1_577_934_245_000;
        assert_eq!(local("2020-01-02 03:04:05", Form::SQL), Some((base, 0)));
        assert_eq!(local("2020-01-02 03:04:05.123456789", Form::SQL), Some((base + 123, 456_789)));
        assert_eq!(local("2020-01-02T03:04", Form::ISO), Some((base - 5_000, 0)));
        assert_eq!(local("2020-01-02T03:04:05.6", Form::ISO), Some((base + 600, 0)));
        for text in ["2020-01-02T03:04:05", "2020-01-02 03:04", "2020-01-02 03:04:05Z", "2020-01-02"] {
            assert_eq!(local(text, Form::SQL), None, "{text}");
        }
        for text in ["2020-01-02 03:04:05", "2020-01-02T03:04:05Z", "2020-01-02T03:04:05+02:00"] {
            assert_eq!(local(text, Form::ISO), None, "{text}");
        }
        assert_eq!(instant("2020-01-02 03:04:05Z", Form::SQL), Some(base));
        assert_eq!(instant("2020-01-02T03:04Z", Form::ISO), Some(base - 5_000));
        for text in ["2020-01-02 03:04:05", "2020-01-02 03:04:05+08:00", "2020-01-02 03:04:05+0800"] {
            assert_eq!(instant(text, Form::SQL), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn moments_are_written_with_the_digits_they_need(millis in -70_000_000_000_000_i64..300_000_000_000_000, nanos in 0_u32..1_000_000) {
            for nanos in [0, nanos / 1000 * 1000, nanos] {
                for millis in [millis, millis / 1000 * 1000] {
                    let at = Timestamp { millis, nanos };
                    let (mut written, mut expected) = (Vec::new(), Vec::new());
                    write_moment(at, b'T', &mut written);
                    civil::write_timestamp_shortest(at, b'T', &mut expected);
                    prop_assert_eq!(String::from_utf8(written).unwrap(), String::from_utf8(expected).unwrap());
                }
            }
        }

        #[test]
        fn no_text_panics(text in "[-+0-9:. TZ]{0,40}|.{0,20}") {
            let _ = (date(&text), time(&text, true), local(&text, Form::SQL), instant(&text, Form::ISO));
        }
    }
}
