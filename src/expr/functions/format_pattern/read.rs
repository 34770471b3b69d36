//! Reading a date and time by a pattern.
//!
//! Fields that the pattern lacks are those of 1970-01-01 00:00:00. A day that
//! its month does not have is refused in either style; Java would take the last
//! day of the month, or run on into the next.

use super::write::{DAYS, MONTHS};
use super::{Field, FieldKind, Item, NumberForm, Pattern, Sign};
use crate::expr::functions::fields::day_of_week;
use crate::model::Timestamp;
use crate::model::civil::{MILLIS_PER_DAY, days_from_civil, days_in_month, is_leap_year};

/// How exactly a text must follow the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// All of the text, with as many digits as the pattern says. Java: `DateTimeFormatter`.
    Exact,
    /// The start of the text; numbers have any number of digits, blanks may
    /// stand before them, names are read in any case. Java: `SimpleDateFormat`.
    Lenient,
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Local date and time.
    pub local: Timestamp,
    /// Milliseconds ahead of UTC, if the text says so.
    pub offset: Option<i64>,
}

/// First year of the hundred that two digits mean: 2000 in `DateTimeFormatter`.
const CENTURY_EXACT: i64 = 2000;

/// `SimpleDateFormat` moves its hundred years along with the clock (from 80
/// years ago); a result must not depend on when it is computed, so it stands still.
const CENTURY_LENIENT: i64 = 1946;

/// Digits that a number of milliseconds or nanoseconds needs at most, and more
/// than any other number.
const DIGITS_READ_MAX: usize = 18;

/// Years before and after 0 that are read; their milliseconds fit 64 bits.
const YEAR_MAX: i64 = 999_999;

impl Pattern {
    /// Reads a text; `None` if it does not follow the pattern or names a day or
    /// time that does not exist.
    #[must_use]
    pub fn read(&self, text: &str, style: Style) -> Option<Read> {
        let mut reader = Reader { rest: text, style, found: Found::default() };
        reader.items(&self.items)?;
        if style == Style::Exact && !reader.rest.is_empty() {
            return None;
        }
        reader.found.resolve()
    }
}

/// Values of the fields met so far.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    before_christ: bool,
    year_of_era: Option<i64>,
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    day_of_week: Option<i64>,
    afternoon: Option<bool>,
    hour12: Option<i64>,
    hour24: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    nano: Option<i64>,
    nano_of_day: Option<i64>,
    offset: Option<i64>,
}

struct Reader<'t> {
    rest: &'t str,
    style: Style,
    found: Found,
}

impl<'t> Reader<'t> {
    fn items(&mut self, items: &[Item]) -> Option<()> {
        for item in items {
            match item {
                Item::Literal(text) => self.rest = self.rest.strip_prefix(&**text)?,
                Item::Field(field) => self.field(*field)?,
                Item::Optional(inner) => {
                    let before = (self.rest, self.found);
                    if self.items(inner).is_none() {
                        (self.rest, self.found) = before;
                    }
                }
            }
        }
        Some(())
    }

    fn field(&mut self, field: Field) -> Option<()> {
        if self.style == Style::Lenient {
            self.rest = self.rest.trim_start_matches([' ', '\t']);
        }
        match field.kind {
            FieldKind::Fraction if self.style == Style::Exact => {
                let digits = self.digits(field.count, field.count)?;
                let scale = 10_i64.pow(9_u32.saturating_sub(u32::try_from(field.count).ok()?));
                self.found.nano = Some(digits.parse::<i64>().ok()? * scale);
            }
            FieldKind::Fraction => {
                // `SimpleDateFormat` counts milliseconds here, whatever the number of digits.
                let most = if field.abuts { field.count } else { DIGITS_READ_MAX };
                let millis: i64 = self.digits(1, most)?.parse().ok()?;
                self.found.nano = Some(millis % 1000 * 1_000_000);
            }
            FieldKind::OffsetOrZ | FieldKind::Offset => self.offset(field)?,
            _ => match field.number() {
                Some(form) => {
                    let value = self.number(field, form)?;
                    self.keep(field, value);
                }
                None => self.name(field)?,
            },
        }
        Some(())
    }

    fn number(&mut self, field: Field, form: NumberForm) -> Option<i64> {
        let exact = self.style == Style::Exact;
        let sign = self.rest.chars().next().filter(|c| exact && matches!(c, '+' | '-'));
        let allowed = match sign {
            Some('-') => form.sign != Sign::None,
            Some(_) => form.sign == Sign::PlusIfLong,
            None => true,
        };
        if !allowed {
            return None;
        }
        self.rest = &self.rest[sign.map_or(0, char::len_utf8)..];
        let (least, most) = match (exact, field.abuts) {
            (true, _) => (form.min.min(DIGITS_READ_MAX), form.max.min(DIGITS_READ_MAX)),
            (false, true) => (field.count, field.count),
            (false, false) => (1, DIGITS_READ_MAX),
        };
        let reserved = if exact && form.min != form.max { field.reserved } else { 0 };
        let available = self.rest.bytes().take(most + reserved).take_while(u8::is_ascii_digit).count();
        let digits = self.digits(least, available.saturating_sub(reserved).clamp(least, most))?;
        let value: i64 = digits.parse().ok()?;
        if sign == Some('-') {
            return Some(-value);
        }
        let needs_plus = exact && form.sign == Sign::PlusIfLong && digits.len() > form.min;
        (needs_plus == sign.is_some()).then(|| self.widened(field, digits.len(), value))
    }

    /// Two digits of a year under `yy` mean a year of a fixed hundred.
    fn widened(&self, field: Field, digits: usize, value: i64) -> i64 {
        let of_year = matches!(field.kind, FieldKind::YearOfEra | FieldKind::Year);
        if !of_year || field.count != 2 || digits != 2 {
            return value;
        }
        let first = if self.style == Style::Exact { CENTURY_EXACT } else { CENTURY_LENIENT };
        first + (value - first % 100).rem_euclid(100)
    }

    /// Takes as many digits as there are, at least `least` and at most `most`.
    fn digits(&mut self, least: usize, most: usize) -> Option<&'t str> {
        let count = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if count < least.max(1) {
            return None;
        }
        let (digits, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(digits)
    }

    fn keep(&mut self, field: Field, value: i64) {
        let found = &mut self.found;
        let slot = match field.kind {
            FieldKind::YearOfEra => &mut found.year_of_era,
            FieldKind::Year => &mut found.year,
            FieldKind::Month => &mut found.month,
            FieldKind::Day => &mut found.day,
            FieldKind::DayOfYear => &mut found.day_of_year,
            FieldKind::ClockHour12 | FieldKind::Hour12 => &mut found.hour12,
            FieldKind::ClockHour24 | FieldKind::Hour24 => &mut found.hour24,
            FieldKind::Minute => &mut found.minute,
            FieldKind::Second => &mut found.second,
            FieldKind::NanoOfSecond => &mut found.nano,
            FieldKind::MilliOfDay | FieldKind::NanoOfDay => &mut found.nano_of_day,
            // Quarters say nothing that the month does not say better.
            _ => return,
        };
        *slot = Some(match field.kind {
            FieldKind::ClockHour12 if value == 12 => 0,
            FieldKind::ClockHour24 if value == 24 => 0,
            // 0 is no hour of these clocks.
            FieldKind::ClockHour12 | FieldKind::ClockHour24 if value == 0 => i64::MAX,
            FieldKind::MilliOfDay => value.saturating_mul(1_000_000),
            _ => value,
        });
    }

    fn name(&mut self, field: Field) -> Option<()> {
        match field.kind {
            FieldKind::Era => {
                let eras: &[&str] = match field.count {
                    4 => &["Before Christ", "Anno Domini"],
                    5 => &["B", "A"],
                    _ => &["BC", "AD"],
                };
                self.found.before_christ = self.one_of(eras, usize::MAX)? == 0;
            }
            FieldKind::HalfDay => self.found.afternoon = Some(self.one_of(&["AM", "PM"], 2)? == 1),
            FieldKind::Month => {
                let month = self.calendar_name(&MONTHS, field.count)?;
                self.found.month = Some(i64::try_from(month).ok()? + 1);
            }
            FieldKind::DayName => {
                let day = self.calendar_name(&DAYS, field.count)?;
                self.found.day_of_week = i64::try_from(day).ok();
            }
            _ => {
                self.one_of(&["Q1", "Q2", "Q3", "Q4"], 2)?;
            }
        }
        Some(())
    }

    /// A name of a month or day in the length that the count asks for; read
    /// leniently, in either length.
    fn calendar_name(&mut self, names: &[&str], count: usize) -> Option<usize> {
        let short = |reader: &mut Self| reader.one_of(names, 3);
        match (self.style, count) {
            (Style::Lenient, _) => self.one_of(names, usize::MAX).or_else(|| short(self)),
            (Style::Exact, 4) => self.one_of(names, usize::MAX),
            (Style::Exact, 5) => None,
            (Style::Exact, _) => short(self),
        }
    }

    /// Takes one of the names, cut to `length` bytes (they are ASCII), and says which.
    fn one_of(&mut self, names: &[&str], length: usize) -> Option<usize> {
        let exact = self.style == Style::Exact;
        for (i, name) in names.iter().enumerate() {
            let name = &name[..length.min(name.len())];
            let Some((head, rest)) = self.rest.split_at_checked(name.len()) else { continue };
            if head == name || (!exact && head.eq_ignore_ascii_case(name)) {
                self.rest = rest;
                return Some(i);
            }
        }
        None
    }

    fn offset(&mut self, field: Field) -> Option<()> {
        if let Some(rest) = self.rest.strip_prefix('Z').filter(|_| field.kind == FieldKind::OffsetOrZ) {
            self.rest = rest;
            self.found.offset = Some(0);
            return Some(());
        }
        let sign = match self.rest.chars().next()? {
            '+' => 1,
            '-' => -1,
            _ => return None,
        };
        self.rest = &self.rest[1..];
        let hours: i64 = self.digits(2, 2)?.parse().ok()?;
        let minutes: i64 = match field.count {
            // `SimpleDateFormat` reads hours alone, `DateTimeFormatter` minutes if there are any.
            1 if self.style == Style::Lenient => 0,
            1 => self.digits(2, 2).map_or(Some(0), |digits| digits.parse().ok())?,
            2 => self.digits(2, 2)?.parse().ok()?,
            _ => {
                self.rest = self.rest.strip_prefix(':')?;
                self.digits(2, 2)?.parse().ok()?
            }
        };
        if hours > 18 || minutes > 59 {
            return None;
        }
        self.found.offset = Some(sign * (hours * 60 + minutes) * 60_000);
        Some(())
    }
}

impl Found {
    fn resolve(self) -> Option<Read> {
        let days = self.date()?;
        if self.day_of_week.is_some_and(|wanted| wanted != day_of_week(days)) {
            return None;
        }
        let (nanos, next_day) = self.clock()?;
        let millis = (days + i64::from(next_day)) * MILLIS_PER_DAY + nanos / 1_000_000;
        let local = Timestamp { millis, nanos: u32::try_from(nanos % 1_000_000).ok()? };
        Some(Read { local, offset: self.offset })
    }

    fn date(&self) -> Option<i64> {
        let of_era = self.year_of_era.map(|year| if self.before_christ { 1 - year } else { year });
        let year = self.year.or(of_era).unwrap_or(1970);
        if year.abs() > YEAR_MAX {
            return None;
        }
        if let Some(day) = self.day_of_year {
            let most = if is_leap_year(year) { 366 } else { 365 };
            return (1..=most).contains(&day).then(|| days_from_civil(year, 1, 1) + day - 1);
        }
        let month = u32::try_from(self.month.unwrap_or(1)).ok().filter(|month| (1..=12).contains(month))?;
        let day = u32::try_from(self.day.unwrap_or(1)).ok()?;
        (1..=days_in_month(year, month)).contains(&day).then(|| days_from_civil(year, month, day))
    }

    /// Nanoseconds of the day, and whether it is the midnight that ends it: `24:00:00`.
    fn clock(&self) -> Option<(i64, bool)> {
        if let Some(nanos) = self.nano_of_day {
            return (nanos < MILLIS_PER_DAY * 1_000_000).then_some((nanos, false));
        }
        let half = i64::from(self.afternoon.unwrap_or(false)) * 12;
        let hour = match (self.hour24, self.hour12) {
            (Some(hour), _) => hour,
            (None, Some(hour)) if hour < 12 => hour + half,
            (None, Some(_)) => return None,
            (None, None) => 0,
        };
        let (minute, second) = (self.minute.unwrap_or(0), self.second.unwrap_or(0));
        let nano = self.nano.unwrap_or(0);
        if hour == 24 && minute == 0 && second == 0 && nano == 0 {
            return Some((0, true));
        }
        if hour > 23 || minute > 59 || second > 59 || nano > 999_999_999 {
            return None;
        }
        if hour < 0 || minute < 0 || second < 0 || nano < 0 {
            return None;
        }
        Some((((hour * 60 + minute) * 60 + second) * 1_000_000_000 + nano, false))
    }
}
