//! Timestamps of which nearly all are of one day.
//!
//! A stream's timestamps follow each other closely. The calendar is asked when
//! the day changes; for all others the date is a comparison on the way in and
//! a copy on the way out. What is not written in the usual form, or is of a
//! year that four digits do not hold, is left to the general way of
//! [`super::moment`].

use crate::model::Timestamp;
use crate::model::civil::{self, MILLIS_PER_DAY};

use super::moment::{self, Form};
use super::word::HIGHS;

/// Bytes of `yyyy-MM-dd`.
const DATE: usize = 10;
/// Bytes of a date and the separator.
const DATE_AND_SEPARATOR: usize = DATE + 1;
/// Bytes of `yyyy-MM-dd HH:mm:ss`.
const FRONT: usize = DATE_AND_SEPARATOR + 8;

/// Reads timestamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct DayRead {
    /// The first and the last eight bytes of the last date and its separator.
    text: (u64, u64),
    /// Its midnight, in milliseconds.
    midnight: i64,
    separator: u8,
}

impl DayRead {
    /// No day yet: no text has these bytes.
    pub(super) fn new(form: Form) -> Self {
        Self { text: (u64::MAX, u64::MAX), midnight: 0, separator: form.separator }
    }

    /// The timestamp that `text` begins with, if `end` follows, and its length without `end`. `None` leaves it to
    /// [`moment::timestamp`]; what is given is what that would give.
    #[inline(always)]
    pub(super) fn read(&mut self, text: &[u8], end: &[u8]) -> Option<(Timestamp, usize)> {
        let (front, rest) = text.split_first_chunk::<FRONT>()?;
        let date = (word(front, 0)?, word(front, DATE_AND_SEPARATOR - 8)?);
        if date != self.text {
            self.turn_to(front, date)?;
        }
        let clock = clock_millis(word(front, DATE_AND_SEPARATOR)?)?;
        let (millis, nanos, len, rest) = fraction(rest)?;
        if !rest.starts_with(end) {
            return None;
        }
        Some((Timestamp { millis: self.midnight + clock + millis, nanos }, FRONT + len))
    }
}

impl DayRead {
    /// Remembers another date.
    #[inline(never)]
    fn turn_to(&mut self, front: &[u8; FRONT], date: (u64, u64)) -> Option<()> {
        let (days, rest) = moment::date_prefix(front.get(..DATE)?)?;
        if !rest.is_empty() || front.get(DATE) != Some(&self.separator) {
            return None;
        }
        (self.text, self.midnight) = (date, days.checked_mul(MILLIS_PER_DAY)?);
        Some(())
    }
}

#[inline]
fn word(text: &[u8; FRONT], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*text.get(at..)?.first_chunk()?))
}

/// Milliseconds of `HH:mm:ss`.
#[inline]
fn clock_millis(text: u64) -> Option<i64> {
    let digits = text ^ u64::from_le_bytes(*b"00:00:00");
    // Adding this to a digit, or to the 0 that a right colon is, leaves the high bit alone.
    let limits = u64::from_le_bytes([0x76, 0x76, 0x7F, 0x76, 0x76, 0x7F, 0x76, 0x76]);
    if (digits.wrapping_add(limits) | digits) & HIGHS != 0 {
        return None;
    }
    let pairs = digits * 10 + (digits >> 8);
    let (hour, minute, second) = (pairs & 0xFF, pairs >> 24 & 0xFF, pairs >> 48 & 0xFF);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some((((hour * 60 + minute) * 60 + second) * 1000) as i64)
}

/// Milliseconds and nanoseconds of the fraction that `text` begins with, its length, and what follows.
#[inline]
fn fraction(text: &[u8]) -> Option<(i64, u32, usize, &[u8])> {
    let digit = |byte: u8| byte.wrapping_sub(b'0');
    match text {
        [b'.', a, b, c, rest @ ..] if digit(*a) <= 9 && digit(*b) <= 9 && digit(*c) <= 9 => {
            if rest.first().is_some_and(u8::is_ascii_digit) {
                return any_fraction(text);
            }
            let millis = i64::from(digit(*a)) * 100 + i64::from(digit(*b)) * 10 + i64::from(digit(*c));
            Some((millis, 0, 4, rest))
        }
        [b'.', ..] => any_fraction(text),
        _ => Some((0, 0, 0, text)),
    }
}

fn any_fraction(text: &[u8]) -> Option<(i64, u32, usize, &[u8])> {
    let (nanos, rest) = moment::fraction(text)?;
    Some((i64::from(nanos / 1_000_000), nanos % 1_000_000, text.len() - rest.len(), rest))
}

/// Writes timestamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct DayWritten {
    /// The day of `date`; no day at first.
    day: i64,
    /// `yyyy-MM-dd` and the separator, filled up to two words.
    date: [u8; 16],
}

/// A timestamp as text, in parts that are stored whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct MomentText {
    /// `yyyy-MM-dd` and the separator, filled up.
    pub date: [u8; 16],
    /// `HH:mm:ss`.
    pub clock: u64,
    /// `.f`, filled up; as many digits as there are.
    pub fraction: u64,
    /// Bytes of the fraction that count.
    pub fraction_len: usize,
}

impl MomentText {
    /// Bytes of `date` that count.
    #[inline]
    pub(super) const fn date_len(&self) -> usize {
        DATE_AND_SEPARATOR
    }
}

impl DayWritten {
    /// For timestamps with this separator between date and time.
    pub(super) fn new(separator: u8) -> Self {
        let mut date = [0; 16];
        date[DATE] = separator;
        Self { day: i64::MIN, date }
    }

    /// A timestamp of a year of four digits, in milliseconds. Others are left to [`moment::write_moment`], which
    /// writes the same for these.
    #[inline]
    pub(super) fn write(&mut self, millis: i64) -> Option<MomentText> {
        let (day, clock) = civil::split_millis(millis);
        if day != self.day && !self.turn_to(day) {
            return None;
        }
        let (seconds, millis) = ((clock / 1000) as u64, (clock % 1000) as u64);
        let (first, second, third) = (millis / 100, millis / 10 % 10, millis % 10);
        let fraction =
            (u64::from(b'.') | u64::from(b'0') << 8 | u64::from(b'0') << 16 | u64::from(b'0') << 24)
                + (first << 8 | second << 16 | third << 24);
        let fraction_len = match (millis, second, third) {
            (0, ..) => 0,
            (_, 0, 0) => 2,
            (.., 0) => 3,
            _ => 4,
        };
        Some(MomentText { date: self.date, clock: clock_text(seconds), fraction, fraction_len })
    }

    /// Remembers the date of a day; false if four digits do not hold its year.
    #[inline(never)]
    fn turn_to(&mut self, day: i64) -> bool {
        let mut date = Vec::with_capacity(self.date.len());
        civil::write_date(day, &mut date);
        let Ok(date) = <[u8; DATE]>::try_from(date) else { return false };
        self.date[..DATE].copy_from_slice(&date);
        self.day = day;
        true
    }
}

/// `HH:mm:ss` of a second of the day.
#[inline]
fn clock_text(seconds: u64) -> u64 {
    let pairs = (seconds / 3600) | ((seconds / 60 % 60) << 24) | ((seconds % 60) << 48);
    // All three divided by 10 at once.
    let tens = ((pairs * 103) >> 10) & 0x000F_0000_0F00_000F;
    let units = pairs - tens * 10;
    (tens | units << 8) | u64::from_le_bytes(*b"00:00:00")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Type;

    /// What the general way reads, where the text in quotes is a timestamp.
    fn general(text: &str, form: Form) -> Option<Timestamp> {
        moment::timestamp(text, &Type::Timestamp(9), form).ok()
    }

    fn read(day: &mut DayRead, text: &str) -> Option<Timestamp> {
        let quoted = format!("{text}\"}}");
        let (at, len) = day.read(quoted.as_bytes(), b"\"")?;
        assert_eq!(len, text.len());
        Some(at)
    }

    #[test]
    fn every_second_of_a_day_is_read_and_written() {
        for second in 0..86_400_u64 {
            let text = clock_text(second);
            let expected = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
            assert_eq!(text.to_le_bytes(), expected.as_bytes());
            assert_eq!(clock_millis(text), Some(second as i64 * 1000));
        }
        for text in
            [b"24:00:00", b"23:60:00", b"00:00:60", b"00.00:00", b"0a:00:00", b"00:0/:00", b"00:00:0:"]
        {
            assert_eq!(clock_millis(u64::from_le_bytes(*text)), None);
        }
    }

    #[test]
    fn a_date_that_is_none_is_not_remembered() {
        let mut day = DayRead::new(Form::SQL);
        for _ in 0..2 {
            assert_eq!(read(&mut day, "2025-02-30 00:00:00"), None);
            assert_eq!(read(&mut day, "2025-02-03T00:00:00"), None);
            assert!(read(&mut day, "2025-02-03 00:00:00").is_some());
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_the_general_way_reads(
            texts in prop::collection::vec("20(24-02|23-0[0-9]|25-1[0-9])-[0-3][0-9][ T][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,10})?|.{0,25}", 1..8)
        ) {
            for form in [Form::SQL, Form::ISO] {
                let mut day = DayRead::new(form);
                for text in texts.iter().chain(&texts) {
                    let expected = general(text, form);
                    match read(&mut day, text) {
                        None => prop_assert!(expected.is_none() || text.len() < FRONT || !text.is_ascii(), "{}", text),
                        found => prop_assert_eq!(found, expected, "{}", text),
                    }
                }
            }
        }

        #[test]
        fn what_is_written_is_what_the_general_way_writes(
            moments in prop::collection::vec((-70_000_000_000_000_i64..300_000_000_000_000, 0_i64..1 << 28), 1..4)
        ) {
            let mut day = DayWritten::new(b'T');
            for (base, step) in moments {
                for millis in [base, base + step, base / 10 * 10, base / 100 * 100, base / 1000 * 1000, base] {
                    let at = Timestamp::from_millis(millis);
                    let mut expected = Vec::new();
                    civil::write_timestamp_shortest(at, b'T', &mut expected);
                    let Some(text) = day.write(millis) else {
                        prop_assert!(expected[0] == b'+' || expected[0] == b'-');
                        continue;
                    };
                    let mut written = text.date[..text.date_len()].to_vec();
                    written.extend(text.clock.to_le_bytes());
                    written.extend(&text.fraction.to_le_bytes()[..text.fraction_len]);
                    prop_assert_eq!(String::from_utf8(written).unwrap(), String::from_utf8(expected).unwrap());
                }
            }
        }
    }
}
