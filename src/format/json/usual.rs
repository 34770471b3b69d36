//! Values in the usual form of their type: short numbers, strings without
//! escapes, timestamps written out in full. They are taken straight from the
//! bytes; all others are left to [`super::convert`], which gives the same for
//! these.
//!
//! Whether bytes are UTF-8 matters only where they become text. A message with
//! few columns of text is read as bytes, and the texts are checked one by one;
//! one with many is checked as a whole before ([`Message`]).

use crate::model::{Datum, Decimal, Type};

use super::scan::{longer_number, plain_prefix, short_integer, short_number};
use crate::format::day::DayRead;
use crate::format::word::POWERS;

/// A message, checked or not.
pub(super) trait Message<'a>: Copy {
    /// Whether strings that are passed over must be ASCII, since nobody has checked them.
    const UNCHECKED: bool;

    fn bytes(self) -> &'a [u8];

    /// The text between two positions; `None` if it is none.
    fn text(self, from: usize, to: usize) -> Option<&'a str>;
}

impl<'a> Message<'a> for &'a [u8] {
    const UNCHECKED: bool = true;

    #[inline]
    fn bytes(self) -> &'a [u8] {
        self
    }

    #[inline]
    fn text(self, from: usize, to: usize) -> Option<&'a str> {
        std::str::from_utf8(self.get(from..to)?).ok()
    }
}

impl<'a> Message<'a> for &'a str {
    const UNCHECKED: bool = false;

    #[inline]
    fn bytes(self) -> &'a [u8] {
        self.as_bytes()
    }

    #[inline]
    fn text(self, from: usize, to: usize) -> Option<&'a str> {
        self.get(from..to)
    }
}

/// What the usual form of a type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usual {
    /// An integer of so many bits.
    Integer { bits: u8 },
    /// Digits, not more of them after the point than the scale.
    Decimal { precision: u8, scale: u8 },
    /// Text without escapes.
    Text,
    /// `yyyy-MM-dd HH:mm:ss[.f]`.
    Timestamp,
    /// The same with a `Z` behind it.
    Instant,
    /// Nothing is usual.
    None,
    /// Nothing reads the value.
    Unread,
}

impl Usual {
    pub(super) fn of(ty: &Type) -> Self {
        match ty {
            Type::TinyInt => Self::Integer { bits: 8 },
            Type::SmallInt => Self::Integer { bits: 16 },
            Type::Int => Self::Integer { bits: 32 },
            Type::BigInt => Self::Integer { bits: 64 },
            Type::Decimal { precision, scale } => Self::Decimal { precision: *precision, scale: *scale },
            Type::Char(_) | Type::Varchar(_) => Self::Text,
            Type::Timestamp(_) => Self::Timestamp,
            Type::TimestampLtz(_) => Self::Instant,
            _ => Self::None,
        }
    }

    /// The value that begins at `at` goes to `slot`, if it is of the usual form. Gives the position behind it.
    #[inline]
    pub(super) fn take<'a>(
        &self,
        message: impl Message<'a>,
        at: usize,
        day: &mut DayRead,
        slot: &mut Datum<'a>,
    ) -> Option<usize> {
        let bytes = message.bytes();
        match *self {
            Self::Integer { bits } => {
                let (value, len) = short_integer(bytes, at)?;
                *slot = within(value, bits)?;
                Some(at + len)
            }
            Self::Text => {
                let end = pass_text::<false>(bytes, at)?;
                *slot = Datum::Str(message.text(at + 1, end - 1)?);
                Some(end)
            }
            Self::Decimal { precision, scale } => {
                let (value, len) = short_number(bytes, at, scale.into())?;
                *slot = fitting(value, precision, scale)?;
                Some(at + len)
            }
            Self::Timestamp => {
                let (value, len) = day.read(bytes.get(at..)?.strip_prefix(b"\"")?, b"\"")?;
                *slot = Datum::Timestamp(value);
                Some(at + len + 2)
            }
            Self::Instant => {
                let (value, len) = day.read(bytes.get(at..)?.strip_prefix(b"\"")?, b"Z\"")?;
                *slot = Datum::Timestamp(value);
                Some(at + len + 3)
            }
            Self::None | Self::Unread => None,
        }
    }

    /// The same for numbers that are not as short: with a sign, of more than seven digits, or so near to the text's
    /// end that it has no whole word.
    #[inline(never)]
    pub(super) fn take_longer<'a>(&self, text: &[u8], at: usize, slot: &mut Datum<'a>) -> Option<usize> {
        let rest = text.get(at..)?;
        let scale = if let Self::Decimal { scale, .. } = *self { scale } else { 0 };
        let (value, len) = longer_number(rest, scale.into())?;
        *slot = match *self {
            Self::Integer { bits } => within(value, bits)?,
            Self::Decimal { precision, scale } => fitting(value, precision, scale)?,
            _ => return None,
        };
        Some(at + len)
    }
}

/// The integer, if it has no more bits than these.
#[inline]
fn within<'a>(value: i64, bits: u8) -> Option<Datum<'a>> {
    let unused = u32::from(64_u8.wrapping_sub(bits));
    (value.wrapping_shl(unused).wrapping_shr(unused) == value).then_some(Datum::Int(value))
}

/// The decimal, if it has no more digits than its precision.
#[inline]
fn fitting<'a>(value: i64, precision: u8, scale: u8) -> Option<Datum<'a>> {
    let fits = |limit: &i64| -limit < value && value < *limit;
    let fits = POWERS.get(usize::from(precision)).is_none_or(fits);
    fits.then(|| Datum::Decimal(Decimal::new(value.into(), scale)))
}

/// The position behind the string without escapes, and if `ASCII` without other characters than those, that begins
/// at `at`, if there is one.
#[inline]
pub(super) fn pass_text<const ASCII: bool>(text: &[u8], at: usize) -> Option<usize> {
    let [b'"', inside @ ..] = text.get(at..)? else { return None };
    let end = at + 1 + plain_prefix::<ASCII>(inside);
    (text.get(end) == Some(&b'"')).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use proptest::prelude::*;

    use super::*;
    use crate::format::json::convert::Rules;
    use crate::format::json::scan::Scanner;
    use crate::format::moment::Form;

    const RULES: Rules =
        Rules { lossy: false, ignore_errors: false, fail_on_missing_field: false, timestamps: Form::SQL };

    fn take<'a>(ty: &Type, text: (&'a str, usize), day: &mut DayRead, slot: &mut Datum<'a>) -> Option<usize> {
        let usual = Usual::of(ty);
        usual.take(text.0, text.1, day, slot).or_else(|| usual.take_longer(text.0.as_bytes(), text.1, slot))
    }

    /// What both ways make of a value, where the first takes it.
    fn agree(ty: &Type, value: &str, day: &mut DayRead) -> Result<(), TestCaseError> {
        for behind in ["}", ",\"another\":\"field\"}", " }", "x"] {
            let (text, arena) = (format!(" {value}{behind}"), Bump::new());
            let mut taken = Datum::Null;
            let Some(end) = take(ty, (&text, 1), day, &mut taken) else {
                prop_assert_eq!(taken, Datum::Null);
                continue;
            };
            let mut general = Scanner::new(&text);
            let token =
                general.value().map_err(|broken| TestCaseError::fail(format!("{text}: {broken:?}")))?;
            let converted = RULES.convert(token, ty, &arena);
            prop_assert_eq!(converted, Ok(taken), "{} of {}", ty, text);
            prop_assert_eq!(general.position(), end);
        }
        Ok(())
    }

    fn types() -> Vec<Type> {
        let decimal = |precision, scale| Type::Decimal { precision, scale };
        vec![
            Type::TinyInt,
            Type::SmallInt,
            Type::Int,
            Type::BigInt,
            decimal(10, 2),
            decimal(3, 0),
            decimal(38, 18),
            decimal(18, 18),
            Type::STRING,
            Type::Timestamp(3),
            Type::TimestampLtz(9),
        ]
    }

    #[test]
    fn usual_values_are_taken() {
        let mut day = DayRead::new(Form::SQL);
        for (ty, value) in [
            (Type::TinyInt, "-128"),
            (Type::Int, "2147483647"),
            (Type::BigInt, "123456789012345678"),
            (Type::Decimal { precision: 10, scale: 2 }, "123456.5"),
            (Type::STRING, "\"plain\""),
            (Type::Timestamp(3), "\"2025-06-01 01:02:03.456\""),
            (Type::TimestampLtz(3), "\"2025-06-01 01:02:03Z\""),
        ] {
            for behind in ["}", ",\"another\":\"field\"}"] {
                let text = format!("{value}{behind}");
                let end = take(&ty, (&text, 0), &mut day, &mut Datum::Null);
                assert_eq!(end, Some(value.len()), "{text}");
            }
        }
    }

    proptest! {
        #[test]
        fn numbers_are_what_the_general_way_makes_of_them(
            text in "-?(0|[1-9][0-9]{0,18}|[0-9]{1,9})(\\.[0-9]{0,18}|\\.[0-9]{0,2}|)([eE]-?[0-9]{1,2}|)"
        ) {
            for ty in types() {
                agree(&ty, &text, &mut DayRead::new(Form::SQL))?;
            }
        }

        #[test]
        fn strings_are_what_the_general_way_makes_of_them(
            text in "\"(20(24-02|23-1[0-9])-[0-3][0-9] [0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,10}|)Z?|[a-zé\\\\nu0\u{1}\"]{0,30})\"?"
        ) {
            let mut day = DayRead::new(Form::SQL);
            for ty in types().into_iter().chain(types()) {
                agree(&ty, &text, &mut day)?;
            }
        }
    }
}
