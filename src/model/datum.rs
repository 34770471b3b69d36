//! One value, borrowed: what decoders produce, expressions compute and encoders read.

use super::{Decimal, Timestamp};

/// A value of any [`super::Type`]. Which one a column holds is known from its
/// type: all integer types use `Int`, TIMESTAMP and TIMESTAMP_LTZ both use
/// `Timestamp`, and so on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'a> {
    /// NULL of any type.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// TINYINT, SMALLINT, INT, BIGINT.
    Int(i64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL; the scale is the type's.
    Decimal(Decimal),
    /// CHAR, VARCHAR, STRING.
    Str(&'a str),
    /// BINARY, VARBINARY, BYTES.
    Bytes(&'a [u8]),
    /// DATE: days since 1970-01-01.
    Date(i32),
    /// TIME: milliseconds of the day.
    Time(i32),
    /// TIMESTAMP and TIMESTAMP_LTZ.
    Timestamp(Timestamp),
    /// INTERVAL of months.
    Months(i32),
    /// INTERVAL of milliseconds.
    Millis(i64),
    /// ARRAY, MAP, ROW in the form of [`super::nested`].
    Nested(&'a [u8]),
}

impl Datum<'_> {
    /// Whether this is NULL.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}
