//! To numbers, from numbers, BOOLEAN and text.

use super::number_text;
use crate::expr::arithmetic::{self, decimal};
use crate::model::{Datum, Decimal};

/// First double beyond BIGINT.
const BEYOND_BIGINT: f64 = 9_223_372_036_854_775_808.0;

/// Cut to a whole number; `None` if it is beyond BIGINT or not a number.
pub(super) fn to_integer(input: Datum<'_>) -> Option<i64> {
    match input {
        Datum::Int(v) => Some(v),
        Datum::Bool(v) => Some(v.into()),
        Datum::Decimal(v) => {
            let divisor = 10_i128.checked_pow(v.scale().into())?;
            i64::try_from(v.unscaled() / divisor).ok()
        }
        Datum::Double(v) => whole(v),
        Datum::Float(v) => whole(v.into()),
        Datum::Str(text) => number_text::integer(text),
        _ => None,
    }
}

fn whole(value: f64) -> Option<i64> {
    (-BEYOND_BIGINT..BEYOND_BIGINT).contains(&value).then_some(value as i64)
}

pub(super) fn to_double(input: Datum<'_>) -> Option<f64> {
    match input {
        Datum::Int(_) | Datum::Float(_) | Datum::Double(_) | Datum::Decimal(_) => {
            Some(arithmetic::to_double(input))
        }
        Datum::Bool(v) => Some(if v { 1.0 } else { 0.0 }),
        Datum::Str(text) => number_text::double(text),
        _ => None,
    }
}

pub(super) fn to_float(input: Datum<'_>) -> Option<f32> {
    match input {
        Datum::Int(_) | Datum::Float(_) | Datum::Double(_) | Datum::Decimal(_) => {
            Some(arithmetic::to_float(input))
        }
        Datum::Bool(v) => Some(if v { 1.0 } else { 0.0 }),
        Datum::Str(text) => number_text::float(text),
        _ => None,
    }
}

/// Rounded half up to `scale`; doubles by their shortest decimal text.
pub(super) fn to_decimal(input: Datum<'_>, scale: u8) -> Option<Decimal> {
    match input {
        Datum::Int(v) => decimal::round(v.into(), 0, scale),
        Datum::Bool(v) => decimal::round(v.into(), 0, scale),
        Datum::Decimal(v) => decimal::round(v.unscaled(), v.scale(), scale),
        Datum::Double(v) => shortest(v, scale),
        Datum::Float(v) => shortest(v.into(), scale),
        Datum::Str(text) => number_text::decimal(text, scale),
        _ => None,
    }
}

fn shortest(value: f64, scale: u8) -> Option<Decimal> {
    if !value.is_finite() {
        return None;
    }
    number_text::decimal(ryu::Buffer::new().format_finite(value), scale)
}
