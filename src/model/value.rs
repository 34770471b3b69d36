//! One value, owned: for nested values, test rows and faces.

use super::{Datum, Decimal, Timestamp, nested};

/// The owned twin of [`Datum`], with nested values spelled out.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
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
    /// DECIMAL.
    Decimal(Decimal),
    /// CHAR, VARCHAR, STRING.
    Str(String),
    /// BINARY, VARBINARY, BYTES.
    Bytes(Vec<u8>),
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
    /// ARRAY.
    Array(Vec<Value>),
    /// MAP, in the order of its entries.
    Map(Vec<(Value, Value)>),
    /// ROW.
    Row(Vec<Value>),
}

impl Value {
    /// This value as a [`Datum`]; `nested` is its byte form ([`nested::encode`]), read for ARRAY, MAP and ROW
    /// alone.
    #[must_use]
    pub fn datum<'a>(&'a self, nested: &'a [u8]) -> Datum<'a> {
        match self {
            Self::Null => Datum::Null,
            Self::Bool(v) => Datum::Bool(*v),
            Self::Int(v) => Datum::Int(*v),
            Self::Float(v) => Datum::Float(*v),
            Self::Double(v) => Datum::Double(*v),
            Self::Decimal(v) => Datum::Decimal(*v),
            Self::Str(v) => Datum::Str(v),
            Self::Bytes(v) => Datum::Bytes(v),
            Self::Date(v) => Datum::Date(*v),
            Self::Time(v) => Datum::Time(*v),
            Self::Timestamp(v) => Datum::Timestamp(*v),
            Self::Months(v) => Datum::Months(*v),
            Self::Millis(v) => Datum::Millis(*v),
            Self::Array(_) | Self::Map(_) | Self::Row(_) => Datum::Nested(nested),
        }
    }

    /// Calls `use_it` with this value as a [`Datum`]; nested values are
    /// encoded for the time of the call.
    pub fn with_datum<R>(&self, use_it: impl FnOnce(Datum<'_>) -> R) -> R {
        let mut bytes = Vec::new();
        if matches!(self, Self::Array(_) | Self::Map(_) | Self::Row(_)) {
            nested::encode(self, &mut bytes);
        }
        use_it(self.datum(&bytes))
    }
}

impl From<Datum<'_>> for Value {
    fn from(datum: Datum<'_>) -> Self {
        match datum {
            Datum::Null => Self::Null,
            Datum::Bool(v) => Self::Bool(v),
            Datum::Int(v) => Self::Int(v),
            Datum::Float(v) => Self::Float(v),
            Datum::Double(v) => Self::Double(v),
            Datum::Decimal(v) => Self::Decimal(v),
            Datum::Str(v) => Self::Str(v.to_owned()),
            Datum::Bytes(v) => Self::Bytes(v.to_vec()),
            Datum::Date(v) => Self::Date(v),
            Datum::Time(v) => Self::Time(v),
            Datum::Timestamp(v) => Self::Timestamp(v),
            Datum::Months(v) => Self::Months(v),
            Datum::Millis(v) => Self::Millis(v),
            Datum::Nested(bytes) => nested::decode(bytes).unwrap_or(Self::Null),
        }
    }
}
