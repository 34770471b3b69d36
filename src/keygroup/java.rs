//! `hashCode` of the Java objects that a DataStream job would key by.
//!
//! INT is an `Integer`, BIGINT a `Long`, STRING a `String`, DECIMAL a
//! `BigDecimal`, DATE a `LocalDate`, TIME a `LocalTime`, TIMESTAMP a
//! `LocalDateTime`, TIMESTAMP_LTZ an `Instant`; several columns are a positional
//! Flink `Row` of kind `+I`. Java: `Object.hashCode` of each; Flink: `Row.hashCode`.

use crate::model::civil::{MILLIS_PER_DAY, civil_from_days, split_millis};
use crate::model::{Datum, Decimal, Timestamp, Type};

/// The Java class of a column, as far as the value does not tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JavaClass {
    /// `Byte`, `Short`, `Integer`.
    Integer,
    /// `Long`.
    Long,
    /// `Instant`.
    Instant,
    /// The class that goes with the kind of value.
    Plain,
}

impl JavaClass {
    /// The class of a type; `None` for arrays (whose hash is their identity, so `keyBy` rejects
    /// them) and for types that no key can have.
    pub(super) fn of(ty: &Type) -> Option<Self> {
        match ty {
            Type::TinyInt | Type::SmallInt | Type::Int => Some(Self::Integer),
            Type::BigInt => Some(Self::Long),
            Type::TimestampLtz(_) => Some(Self::Instant),
            Type::Binary(_) | Type::Varbinary(_) | Type::Null => None,
            Type::Array(_) | Type::Map(..) | Type::Row(_) => None,
            _ => Some(Self::Plain),
        }
    }
}

/// Hash of one value; 0 for NULL.
pub(super) fn hash(datum: Datum<'_>, class: JavaClass) -> i32 {
    match datum {
        Datum::Null | Datum::Bytes(_) | Datum::Nested(_) => 0,
        Datum::Bool(true) => 1231,
        Datum::Bool(false) => 1237,
        Datum::Int(v) if class == JavaClass::Integer => v as i32,
        Datum::Int(v) => fold(v),
        Datum::Float(v) if v.is_nan() => 0x7fc0_0000,
        Datum::Float(v) => v.to_bits() as i32,
        Datum::Double(v) if v.is_nan() => fold(0x7ff8_0000_0000_0000),
        Datum::Double(v) => fold(v.to_bits() as i64),
        Datum::Decimal(v) => hash_decimal(v),
        Datum::Str(v) => hash_text(v),
        Datum::Date(v) => hash_date(v.into()),
        Datum::Time(v) => hash_clock(v.into(), 0),
        Datum::Timestamp(v) if class == JavaClass::Instant => hash_instant(v),
        Datum::Timestamp(v) => hash_local(v),
        Datum::Months(v) => v,
        Datum::Millis(v) => fold(v),
    }
}

/// Hash of `Row.of(…)` with kind `+I`, whose share of the hash is 0.
pub(super) fn hash_row<'a>(values: impl Iterator<Item = (Datum<'a>, JavaClass)>) -> i32 {
    values.fold(1_i32, |row, (datum, class)| {
        let field = if datum.is_null() { 0 } else { hash(datum, class).wrapping_add(31) };
        row.wrapping_mul(31).wrapping_add(field)
    })
}

/// The two halves over each other, as `Long.hashCode` does.
fn fold(value: i64) -> i32 {
    (value ^ ((value as u64) >> 32) as i64) as i32
}

/// `31 × BigInteger.hashCode + scale`: 1.0 and 1.00 differ.
fn hash_decimal(value: Decimal) -> i32 {
    let magnitude = value.unscaled().unsigned_abs();
    let words = [96, 64, 32, 0].map(|shift| (magnitude >> shift) as u32 as i32);
    let leading = words.iter().take_while(|word| **word == 0).count();
    let hash = words[leading..].iter().fold(0_i32, |h, word| h.wrapping_mul(31).wrapping_add(*word));
    let signed = if value.unscaled() < 0 { hash.wrapping_neg() } else { hash };
    signed.wrapping_mul(31).wrapping_add(i32::from(value.scale()))
}

/// A 31-polynomial over UTF-16 units.
fn hash_text(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |h, unit| h.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

fn hash_date(days: i64) -> i32 {
    let (year, month, day) = civil_from_days(days);
    let year = year as i32;
    let low = year.wrapping_shl(11).wrapping_add((month << 6) as i32).wrapping_add(day as i32);
    (year & !0x7ff) ^ low
}

/// `LocalTime`: nanoseconds of the day, folded.
fn hash_clock(millis_of_day: i64, nanos: u32) -> i32 {
    fold(millis_of_day.rem_euclid(MILLIS_PER_DAY) * 1_000_000 + i64::from(nanos))
}

fn hash_local(at: Timestamp) -> i32 {
    let (days, clock) = split_millis(at.millis);
    hash_date(days) ^ hash_clock(clock, at.nanos)
}

fn hash_instant(at: Timestamp) -> i32 {
    let nanos = at.nano_of_second() as i32;
    fold(at.seconds()).wrapping_add(nanos.wrapping_mul(51))
}
