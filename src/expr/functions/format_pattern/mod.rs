//! Date and time patterns (`yyyy-MM-dd HH:mm:ss`), parsed once, used per row.
//!
//! The letters are those of Java's `DateTimeFormatter` in the US locale: weeks
//! start on Sunday, names are English. Letters that name a zone by its id are
//! not offered, since no value here has one. Texts are read in one of two
//! [`Style`]s, because Flink reads with `DateTimeFormatter` in TO_TIMESTAMP and
//! with the older `SimpleDateFormat` in the functions that came earlier.

mod read;
mod write;

pub use read::Style;

use std::iter::Peekable;
use std::str::Chars;

/// A pattern, ready to write and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    items: Box<[Item]>,
}

/// Why a text is no usable pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// Java refuses it as well.
    Malformed(String),
    /// Java knows it, this product does not.
    NotOffered(String),
}

impl PatternError {
    /// What is wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Malformed(message) | Self::NotOffered(message) => message,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Literal(Box<str>),
    Field(Field),
    /// `[…]`: written always, read if it is there.
    Optional(Box<[Item]>),
}

/// A run of one pattern letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    kind: FieldKind,
    /// How often the letter stands there.
    count: usize,
    /// Digits that the fields right behind this one need.
    reserved: usize,
    /// Another field follows with nothing in between.
    abuts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldKind {
    Era,
    YearOfEra,
    Year,
    WeekYear,
    Quarter,
    Month,
    WeekOfYear,
    WeekOfMonth,
    Day,
    DayOfYear,
    DayName,
    DayOfWeek,
    HalfDay,
    /// 1 to 12.
    ClockHour12,
    /// 0 to 11.
    Hour12,
    /// 1 to 24.
    ClockHour24,
    /// 0 to 23.
    Hour24,
    Minute,
    Second,
    Fraction,
    MilliOfDay,
    NanoOfSecond,
    NanoOfDay,
    /// `X`: ISO 8601 offset, `Z` for none.
    OffsetOrZ,
    /// `x`, `Z`: ISO 8601 offset, digits for none.
    Offset,
}

/// How a number is written and read. Java: `appendValue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NumberForm {
    min: usize,
    max: usize,
    sign: Sign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// `-` for negative numbers.
    Minus,
    /// No sign at all.
    None,
    /// As `Minus`, and `+` for numbers of more than the least digits.
    PlusIfLong,
}

/// Java's widest number.
const DIGITS_MAX: usize = 19;

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// A letter that means nothing, too many of one letter, an open quote.
    pub fn compile(text: &str) -> Result<Self, PatternError> {
        let mut parser = Parser { rest: text.chars().peekable(), depth: 0 };
        let items = parser.items()?;
        Ok(Self { items })
    }

    /// Whether every field can be written for a value without a zone, or with an offset.
    ///
    /// # Errors
    /// The first field that cannot.
    pub fn check_write(&self, has_offset: bool) -> Result<(), PatternError> {
        match fields(&self.items).find(|field| field.kind.is_offset()) {
            Some(_) if !has_offset => {
                Err(PatternError::Malformed("Unsupported field: OffsetSeconds".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Whether every field can be read.
    ///
    /// # Errors
    /// The first field that cannot.
    pub fn check_read(&self) -> Result<(), PatternError> {
        let unreadable = |kind: FieldKind| {
            use FieldKind::{DayOfWeek, WeekOfMonth, WeekOfYear, WeekYear};
            matches!(kind, WeekYear | WeekOfYear | WeekOfMonth | DayOfWeek)
        };
        if fields(&self.items).any(|field| unreadable(field.kind)) {
            let message = "dates are not read from weeks: write y for the year, M and d for month and day";
            return Err(PatternError::NotOffered(message.to_owned()));
        }
        let has = |kind: FieldKind| fields(&self.items).any(|field| field.kind == kind);
        if (has(FieldKind::ClockHour12) || has(FieldKind::Hour12)) && !has(FieldKind::HalfDay) {
            let message = "an hour of 12 (h, K) says nothing without AM or PM: write H, or add a";
            return Err(PatternError::NotOffered(message.to_owned()));
        }
        Ok(())
    }
}

/// All fields, those of optional sections included.
fn fields(items: &[Item]) -> Box<dyn Iterator<Item = Field> + '_> {
    Box::new(items.iter().flat_map(|item| match item {
        Item::Field(field) => Box::new(std::iter::once(*field)) as Box<dyn Iterator<Item = Field>>,
        Item::Optional(inner) => fields(inner),
        Item::Literal(_) => Box::new(std::iter::empty()),
    }))
}

impl FieldKind {
    fn is_offset(self) -> bool {
        matches!(self, Self::OffsetOrZ | Self::Offset)
    }

    /// What `count` letters `letter` mean, and how often a letter may stand.
    fn of(letter: char) -> Option<(Self, usize)> {
        Some(match letter {
            'G' => (Self::Era, 5),
            'y' => (Self::YearOfEra, DIGITS_MAX),
            'u' => (Self::Year, DIGITS_MAX),
            'Y' => (Self::WeekYear, DIGITS_MAX),
            'Q' | 'q' => (Self::Quarter, 5),
            'M' | 'L' => (Self::Month, 5),
            'w' => (Self::WeekOfYear, 2),
            'W' => (Self::WeekOfMonth, 1),
            'd' => (Self::Day, 2),
            'D' => (Self::DayOfYear, 3),
            'E' => (Self::DayName, 5),
            'e' | 'c' => (Self::DayOfWeek, 5),
            'a' => (Self::HalfDay, 1),
            'h' => (Self::ClockHour12, 2),
            'K' => (Self::Hour12, 2),
            'k' => (Self::ClockHour24, 2),
            'H' => (Self::Hour24, 2),
            'm' => (Self::Minute, 2),
            's' => (Self::Second, 2),
            'S' => (Self::Fraction, 9),
            'A' => (Self::MilliOfDay, DIGITS_MAX),
            'n' => (Self::NanoOfSecond, DIGITS_MAX),
            'N' => (Self::NanoOfDay, DIGITS_MAX),
            'X' => (Self::OffsetOrZ, 3),
            'x' => (Self::Offset, 3),
            'Z' => (Self::Offset, 3),
            _ => return None,
        })
    }
}

impl Field {
    /// How the field is written as a number; `None` if it is a name, a fraction or an offset.
    fn number(self) -> Option<NumberForm> {
        use FieldKind::{
            ClockHour12, ClockHour24, Day, DayOfWeek, DayOfYear, Hour12, Hour24, MilliOfDay, Minute, Month,
            NanoOfDay, NanoOfSecond, Quarter, Second, WeekOfMonth, WeekOfYear, WeekYear, Year, YearOfEra,
        };
        let form = |min, max, sign| Some(NumberForm { min, max, sign });
        match (self.kind, self.count) {
            (YearOfEra | Year | WeekYear, 2) => form(2, 2, Sign::None),
            (YearOfEra | Year | WeekYear, count @ (1 | 3)) => form(count, DIGITS_MAX, Sign::Minus),
            (YearOfEra | Year | WeekYear, count) => form(count, DIGITS_MAX, Sign::PlusIfLong),
            (DayOfYear, count @ (2 | 3)) => form(count, 3, Sign::None),
            (Quarter | Month | DayOfWeek, 3..) => None,
            (WeekOfYear | WeekOfMonth | DayOfWeek, count) => form(count, 2, Sign::None),
            (MilliOfDay | NanoOfSecond | NanoOfDay, count) => form(count, DIGITS_MAX, Sign::None),
            (
                Quarter | Month | Day | DayOfYear | ClockHour12 | Hour12 | ClockHour24 | Hour24 | Minute
                | Second,
                count,
            ) => match count {
                1 => form(1, DIGITS_MAX, Sign::Minus),
                _ => form(2, 2, Sign::None),
            },
            _ => None,
        }
    }

    /// Digits of a field that always has as many.
    fn fixed_digits(self) -> Option<usize> {
        if self.kind == FieldKind::Fraction {
            return Some(self.count);
        }
        self.number().filter(|form| form.min == form.max).map(|form| form.max)
    }
}

struct Parser<'p> {
    rest: Peekable<Chars<'p>>,
    /// Open `[`.
    depth: usize,
}

impl Parser<'_> {
    /// Items up to the end or the closing bracket.
    fn items(&mut self) -> Result<Box<[Item]>, PatternError> {
        let mut items = Vec::new();
        while let Some(c) = self.rest.next() {
            match c {
                '\'' => push_literal(&mut items, &self.quoted()?),
                '[' => {
                    self.depth += 1;
                    let inner = self.items()?;
                    items.push(Item::Optional(inner));
                }
                ']' if self.depth > 0 => {
                    self.depth -= 1;
                    break;
                }
                ']' => return Err(malformed("Pattern invalid as it contains ] without previous [")),
                '{' | '}' | '#' => {
                    return Err(malformed(&format!("Pattern includes reserved character: '{c}'")));
                }
                c if c.is_ascii_alphabetic() => items.push(Item::Field(self.field(c)?)),
                c => push_literal(&mut items, c.encode_utf8(&mut [0; 4])),
            }
        }
        link(&mut items);
        Ok(items.into_boxed_slice())
    }

    /// The text after a quote, which ends at the next quote; two are one.
    fn quoted(&mut self) -> Result<String, PatternError> {
        let mut text = String::new();
        loop {
            match self.rest.next() {
                Some('\'') if self.rest.peek() == Some(&'\'') => {
                    self.rest.next();
                    text.push('\'');
                }
                Some('\'') if text.is_empty() => return Ok("'".to_owned()),
                Some('\'') => return Ok(text),
                Some(c) => text.push(c),
                None => return Err(malformed("Pattern ends with an incomplete string literal")),
            }
        }
    }

    fn field(&mut self, letter: char) -> Result<Field, PatternError> {
        let mut count = 1;
        while self.rest.next_if_eq(&letter).is_some() {
            count += 1;
        }
        let Some((kind, most)) = FieldKind::of(letter) else {
            return Err(match letter {
                'F' | 'g' | 'B' | 'v' | 'V' | 'z' | 'O' | 'p' => {
                    PatternError::NotOffered(format!("pattern letter {letter} is not offered"))
                }
                _ => malformed(&format!("Unknown pattern letter: {letter}")),
            });
        };
        if count > most {
            return Err(malformed(&format!("Too many pattern letters: {letter}")));
        }
        if letter == 'Z' {
            // One to three Z are the same: `+0800`.
            count = 2;
        }
        Ok(Field { kind, count, reserved: 0, abuts: false })
    }
}

fn malformed(message: &str) -> PatternError {
    PatternError::Malformed(message.to_owned())
}

fn push_literal(items: &mut Vec<Item>, text: &str) {
    if let Some(Item::Literal(last)) = items.last_mut() {
        *last = format!("{last}{text}").into_boxed_str();
    } else {
        items.push(Item::Literal(text.into()));
    }
}

/// Tells each field about the ones right behind it, so that `yyyyMMdd` leaves
/// four digits for month and day.
fn link(items: &mut [Item]) {
    let mut behind: Option<usize> = None;
    for item in items.iter_mut().rev() {
        let Item::Field(field) = item else {
            behind = None;
            continue;
        };
        field.abuts = behind.is_some();
        field.reserved = behind.unwrap_or(0);
        behind = Some(field.fixed_digits().map_or(0, |digits| digits + field.reserved));
    }
}

#[cfg(test)]
mod tests;
