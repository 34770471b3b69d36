//! Conversions between types: which exist, and what they give.
//!
//! A conversion that has no value for its input (`'abc'` or 300 to TINYINT)
//! fails; CAST makes that an error, TRY_CAST a NULL. Text that is too long is
//! cut, a fraction that does not fit is cut from times and rounded half up in
//! DECIMAL.

mod elements;
mod number;
mod render;
pub(super) mod number_text;
pub(super) mod time_text;

use bumpalo::Bump;

use super::EvalError;
use super::zone::{Overlap, Zone};
use crate::error::Reason;
use crate::model::civil::MILLIS_PER_DAY;
use crate::model::{Datum, Timestamp, Type};

pub(super) use render::text_of;

/// A conversion between two types.
#[derive(Clone, Debug)]
pub(crate) struct Cast {
    /// Type of the input.
    pub(crate) from: Type,
    /// Type of the result.
    pub(crate) to: Type,
    /// What a value without a result does.
    pub(crate) failure: Failure,
    /// The session zone, where the conversion depends on it.
    pub(crate) zone: Option<Zone>,
}

/// What a value does that the target type cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// CAST: the row fails with `cast_failed`.
    Error,
    /// TRY_CAST: the result is NULL.
    Null,
}

/// The value of `input` in the target type; NULL of NULL.
pub(super) fn apply<'a>(cast: &'a Cast, input: Datum<'a>, arena: &'a Bump) -> Result<Datum<'a>, EvalError> {
    if input.is_null() {
        return Ok(Datum::Null);
    }
    match convert(&cast.from, &cast.to, input, Place { zone: cast.zone.as_ref(), arena }) {
        Some(result) => Ok(result),
        None if cast.failure == Failure::Null => Ok(Datum::Null),
        None => Err(failed(cast, input)),
    }
}

/// Longest excerpt of a value in an error message, in characters.
const EXCERPT: usize = 60;

fn failed(cast: &Cast, input: Datum<'_>) -> EvalError {
    let arena = Bump::new();
    let place = Place { zone: cast.zone.as_ref(), arena: &arena };
    let shown = convert(&cast.from, &Type::STRING, input, place);
    let text = match shown {
        Some(Datum::Str(text)) if text.chars().count() > EXCERPT => {
            text.chars().take(EXCERPT).chain("…".chars()).collect()
        }
        Some(Datum::Str(text)) => text.to_owned(),
        _ => format!("{input:?}"),
    };
    let detail = format!("{} '{text}' has no value as {}", cast.from, cast.to);
    EvalError { reason: Reason::CastFailed, detail }
}

/// What conversions need besides the value.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The session zone.
    zone: Option<&'a Zone>,
    /// Where built values go.
    arena: &'a Bump,
}

/// `input`, not NULL, from one type to another; `None` if it has no value there.
fn convert<'a>(from: &Type, to: &Type, input: Datum<'a>, place: Place<'a>) -> Option<Datum<'a>> {
    match to {
        Type::Boolean => to_boolean(input),
        Type::TinyInt | Type::SmallInt | Type::Int | Type::BigInt => {
            let (min, max) = to.integer_range()?;
            let value = number::to_integer(input)?;
            (min..=max).contains(&value).then_some(Datum::Int(value))
        }
        Type::Float => number::to_float(input).map(Datum::Float),
        Type::Double => number::to_double(input).map(Datum::Double),
        Type::Decimal { precision, scale } => {
            let value = number::to_decimal(input, *scale)?;
            value.fits(*precision).then_some(Datum::Decimal(value))
        }
        Type::Char(_) | Type::Varchar(_) => render::to_text(from, to, input, place),
        Type::Binary(length) => Some(Datum::Bytes(exactly(bytes_of(input)?, *length, place.arena))),
        Type::Varbinary(length) => {
            let bytes = bytes_of(input)?;
            Some(Datum::Bytes(bytes.get(..*length as usize).unwrap_or(bytes)))
        }
        Type::Date => to_date(from, input, place.zone),
        Type::Time(precision) => to_time(from, input, place.zone, *precision),
        Type::Timestamp(precision) => {
            let local = local_time(from, input, place.zone)?;
            Some(Datum::Timestamp(local.truncate(*precision)))
        }
        Type::TimestampLtz(precision) => {
            let instant = match (from, input) {
                (Type::TimestampLtz(_), Datum::Timestamp(at)) => at,
                _ => place.zone?.instant_of(local_time(from, input, place.zone)?, Overlap::Earlier),
            };
            Some(Datum::Timestamp(instant.truncate(*precision)))
        }
        Type::Array(_) | Type::Map(..) | Type::Row(_) => elements::convert(from, to, input, place),
        Type::IntervalMonths | Type::IntervalMillis | Type::Null => (from == to).then_some(input),
    }
}

fn to_boolean(input: Datum<'_>) -> Option<Datum<'static>> {
    Some(Datum::Bool(match input {
        Datum::Bool(known) => known,
        Datum::Int(v) => v != 0,
        Datum::Float(v) => v != 0.0,
        Datum::Double(v) => v != 0.0,
        Datum::Decimal(v) => v.unscaled() != 0,
        Datum::Str(text) => number_text::boolean(text)?,
        _ => return None,
    }))
}

fn bytes_of(input: Datum<'_>) -> Option<&[u8]> {
    match input {
        Datum::Str(text) => Some(text.as_bytes()),
        Datum::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// Cut, or filled up with zero bytes.
fn exactly<'a>(bytes: &'a [u8], length: u32, arena: &'a Bump) -> &'a [u8] {
    let length = length as usize;
    match bytes.get(..length) {
        Some(cut) => cut,
        None => arena.alloc_slice_fill_with(length, |i| bytes.get(i).copied().unwrap_or(0)),
    }
}

fn to_date(from: &Type, input: Datum<'_>, zone: Option<&Zone>) -> Option<Datum<'static>> {
    match input {
        Datum::Date(days) => Some(Datum::Date(days)),
        Datum::Str(text) => time_text::date(text).map(Datum::Date),
        _ => {
            let days = local_time(from, input, zone)?.millis.div_euclid(MILLIS_PER_DAY);
            i32::try_from(days).ok().map(Datum::Date)
        }
    }
}

fn to_time(from: &Type, input: Datum<'_>, zone: Option<&Zone>, precision: u8) -> Option<Datum<'static>> {
    let millis = match input {
        Datum::Time(millis) => i64::from(millis),
        Datum::Str(text) => i64::from(time_text::time(text)?),
        _ => local_time(from, input, zone)?.millis.rem_euclid(MILLIS_PER_DAY),
    };
    let cut = Timestamp::from_millis(millis).truncate(precision).millis;
    i32::try_from(cut).ok().map(Datum::Time)
}

/// A date, time, moment or their text as local date and time.
fn local_time(from: &Type, input: Datum<'_>, zone: Option<&Zone>) -> Option<Timestamp> {
    match (from, input) {
        (Type::TimestampLtz(_), Datum::Timestamp(at)) => Some(zone?.local_of(at)),
        (_, Datum::Timestamp(at)) => Some(at),
        (_, Datum::Date(days)) => Some(Timestamp::from_millis(i64::from(days) * MILLIS_PER_DAY)),
        (_, Datum::Time(millis)) => Some(Timestamp::from_millis(millis.into())),
        (_, Datum::Str(text)) => time_text::timestamp(text),
        _ => None,
    }
}

/// Whether Flink has a cast between the types.
pub(super) fn allowed(from: &Type, to: &Type) -> bool {
    use Type::{Boolean, Date, IntervalMillis, IntervalMonths, Time, Timestamp, TimestampLtz};
    match (from, to) {
        (a, b) if a == b => true,
        (_, b) if b.is_text() => true,
        (a, b) if a.is_text() => {
            b.is_numeric()
                || b.is_binary()
                || matches!(b, Boolean | Date | Time(_) | Timestamp(_) | TimestampLtz(_))
        }
        (a, b) if a.is_numeric() || b.is_numeric() => {
            (a.is_numeric() || *a == Boolean) && (b.is_numeric() || *b == Boolean)
        }
        (a, b) if a.is_binary() || b.is_binary() => a.is_binary() && b.is_binary(),
        (Date | Timestamp(_) | TimestampLtz(_), Date | Timestamp(_) | TimestampLtz(_)) => true,
        (Time(_), Time(_) | Timestamp(_) | TimestampLtz(_)) => true,
        (Timestamp(_) | TimestampLtz(_), Time(_)) => true,
        (IntervalMonths | IntervalMillis, _) | (_, IntervalMonths | IntervalMillis) => false,
        (a, b) if a.is_nested() && b.is_nested() => elements::allowed(a, b),
        _ => false,
    }
}

/// What to do instead of a cast that does not exist.
pub(super) fn advice(from: &Type, to: &Type) -> &'static str {
    match (from, to) {
        (a, Type::Timestamp(_) | Type::TimestampLtz(_)) if a.is_numeric() => {
            "use TO_TIMESTAMP_LTZ(number, 0 or 3) for seconds or milliseconds since 1970"
        }
        (Type::Timestamp(_) | Type::TimestampLtz(_), b) if b.is_numeric() => "use EXTRACT(EPOCH FROM …)",
        _ => "",
    }
}

/// Whether a value of one type is one of the other as it stands.
pub(super) fn is_identity(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (a, b) if a == b => true,
        (a, b) if a.is_integer() && b.is_integer() => {
            a.integer_range().zip(b.integer_range()).is_some_and(|((_, a), (_, b))| a <= b)
        }
        (Type::Char(a) | Type::Varchar(a), Type::Varchar(b)) => a <= b,
        (Type::Binary(a) | Type::Varbinary(a), Type::Varbinary(b)) => a <= b,
        (Type::Decimal { precision: p, scale: s }, Type::Decimal { precision, scale }) => {
            s == scale && p <= precision
        }
        (Type::Time(a), Type::Time(b))
        | (Type::Timestamp(a), Type::Timestamp(b))
        | (Type::TimestampLtz(a), Type::TimestampLtz(b)) => a <= b,
        (Type::Array(a), Type::Array(b)) => is_identity(&a.kind, &b.kind),
        (Type::Map(k1, v1), Type::Map(k2, v2)) => {
            is_identity(&k1.kind, &k2.kind) && is_identity(&v1.kind, &v2.kind)
        }
        (Type::Row(a), Type::Row(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_identity(&a.ty.kind, &b.ty.kind))
        }
        _ => false,
    }
}

/// Whether the session zone decides the value.
pub(super) fn needs_zone(from: &Type, to: &Type) -> bool {
    from != to && (contains_instant(from) || contains_instant(to))
}

fn contains_instant(kind: &Type) -> bool {
    match kind {
        Type::TimestampLtz(_) => true,
        Type::Array(element) => contains_instant(&element.kind),
        Type::Map(key, value) => contains_instant(&key.kind) || contains_instant(&value.kind),
        Type::Row(fields) => fields.iter().any(|field| contains_instant(&field.ty.kind)),
        _ => false,
    }
}
