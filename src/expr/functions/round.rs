//! ROUND and TRUNCATE: half up away from zero, or toward zero, at any digit.
//!
//! A DOUBLE is rounded by its shortest decimal text, so that 1.005 to two digits
//! is 1.01. A DECIMAL whose digits are asked for by a constant gets a type of
//! that many; asked for by a column, it keeps its type and the value is right
//! (Flink reads the digits of the rounded value with the wrong scale).

use super::{Call, Function, invalid};
use crate::error::Reason;
use crate::expr::ir::{Nulls, Typed};
use crate::expr::{CompileError, EvalError};
use crate::model::{DataType, Datum, Decimal, Type};

/// What this file registers.
pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "ROUND", args: (1, 2), bind: |call| bind(call, Mode::HalfUp) },
    Function { name: "TRUNCATE", args: (1, 2), bind: |call| bind(call, Mode::Cut) },
];

/// No number has a digit farther from its point than this.
const FARTHEST_DIGIT: i64 = 400;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    HalfUp,
    Cut,
}

fn bind(call: Call<'_>, mode: Mode) -> Result<Typed, CompileError> {
    call.number(0)?;
    call.integer(1)?;
    let digits = match call.args.get(1) {
        None => Some(0),
        Some(_) => match call.constant(1) {
            Some(Datum::Int(digits)) => Some(digits),
            _ => None,
        },
    };
    let input = call.kind(0).clone();
    let (kind, may_exceed) = match input {
        Type::Decimal { precision, scale } => match digits {
            Some(digits) => {
                let kind = decimal_type(precision, scale, digits);
                let capped = digits < i64::from(scale).min(1) && precision - scale == 38;
                (kind, capped && mode == Mode::HalfUp)
            }
            None => (input.clone(), mode == Mode::HalfUp),
        },
        _ => (input.clone(), false),
    };
    let nullable = call.nullable() || may_exceed;
    let ty = DataType { kind: kind.clone(), nullable };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| {
        let Some(value) = args.first() else { return Ok(Datum::Null) };
        let digits = match args.get(1) {
            Some(Datum::Int(digits)) => (*digits).clamp(-FARTHEST_DIGIT, FARTHEST_DIGIT),
            _ => 0,
        };
        round(*value, &kind, digits, mode)
    }))
}

/// Type of a DECIMAL(p, s) rounded to a constant number of digits.
fn decimal_type(precision: u8, scale: u8, digits: i64) -> Type {
    if digits >= i64::from(scale) {
        return Type::Decimal { precision, scale };
    }
    let kept = u8::try_from(digits).unwrap_or(0);
    Type::Decimal { precision: (precision - scale + kept + 1).min(38), scale: kept }
}

fn round<'a>(value: Datum<'a>, ty: &Type, digits: i64, mode: Mode) -> Result<Datum<'a>, EvalError> {
    match value {
        Datum::Int(v) => integer(v, ty, digits, mode).map(Datum::Int),
        Datum::Double(v) => double(v, digits, mode).map(Datum::Double),
        Datum::Float(v) => Ok(Datum::Float(double(v.into(), digits, mode)? as f32)),
        Datum::Decimal(v) => Ok(decimal(v, ty, digits, mode).map_or(Datum::Null, Datum::Decimal)),
        _ => Ok(Datum::Null),
    }
}

fn integer(value: i64, ty: &Type, digits: i64, mode: Mode) -> Result<i64, EvalError> {
    if digits >= 0 {
        return Ok(value);
    }
    let rounded = at_unit(value.into(), digits.unsigned_abs(), mode);
    let (min, max) = ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
    match i64::try_from(rounded) {
        Ok(rounded) if (min..=max).contains(&rounded) => Ok(rounded),
        _ => {
            let detail =
                format!("{value} rounded to {digits} digits is {rounded}, not within {min} to {max}");
            Err(EvalError { reason: Reason::ArithmeticOverflow, detail })
        }
    }
}

/// `value` as a multiple of 10^zeros.
fn at_unit(value: i128, zeros: u64, mode: Mode) -> i128 {
    let Some(unit) = u32::try_from(zeros).ok().and_then(|zeros| 10_i128.checked_pow(zeros)) else { return 0 };
    let cut = value / unit;
    let up = mode == Mode::HalfUp && (value % unit).unsigned_abs() * 2 >= unit.unsigned_abs();
    let whole = if up { cut + value.signum() } else { cut };
    whole.saturating_mul(unit)
}

/// Rounded to `digits`, at the scale of the result type; `None` if it does not fit.
fn decimal(value: Decimal, ty: &Type, digits: i64, mode: Mode) -> Option<Decimal> {
    let Type::Decimal { precision, scale } = ty else { return None };
    let drop = i64::from(value.scale()) - digits;
    let rounded = match u64::try_from(drop) {
        Ok(drop) if drop > 0 => at_unit(value.unscaled(), drop, mode),
        _ => value.unscaled(),
    };
    // Zeros stand where digits were dropped, so that this rounds nothing.
    let result = Decimal::new(rounded, value.scale()).rescale(*scale)?;
    result.fits(*precision).then_some(result)
}

fn double(value: f64, digits: i64, mode: Mode) -> Result<f64, EvalError> {
    if !value.is_finite() {
        return Err(invalid(format!("{value} cannot be rounded")));
    }
    let mut buffer = ryu::Buffer::new();
    let (significant, exponent) = decompose(buffer.format_finite(value.abs()));
    // value = significant × 10^exponent; the last digit kept stands for 10^-digits.
    let drop = (-digits).saturating_sub(exponent);
    let Ok(drop) = u64::try_from(drop) else { return Ok(value + 0.0) };
    let kept = at_unit(significant.into(), drop, mode);
    let magnitude: f64 = format!("{kept}e{exponent}").parse().unwrap_or(value.abs());
    Ok(if value < 0.0 && kept != 0 { -magnitude } else { magnitude })
}

/// Digits and power of ten of a positive number as the shortest-text writer gives it.
fn decompose(text: &str) -> (u64, i64) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.bytes().chain(fraction.bytes());
    let significant =
        digits.fold(0_u64, |value, b| value.saturating_mul(10).saturating_add(u64::from(b - b'0')));
    let exponent = exponent.parse::<i64>().unwrap_or(0) - fraction.len() as i64;
    (significant, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_round_by_their_decimal_text() {
        let round = |value, digits| double(value, digits, Mode::HalfUp).unwrap();
        assert_eq!(round(1.005, 2), 1.01);
        assert_eq!(round(0.125, 2), 0.13);
        assert_eq!(round(2.5, 0), 3.0);
        assert_eq!(round(-2.5, 0), -3.0);
        assert_eq!(round(1234.5, -2), 1200.0);
        assert_eq!(round(1e300, 2), 1e300);
        assert_eq!(round(1e-300, 2), 0.0);
        assert_eq!(round(0.1, 30), 0.1);
        assert_eq!(double(42.345, 2, Mode::Cut), Ok(42.34));
        assert!(double(f64::NAN, 1, Mode::Cut).is_err());
    }

    #[test]
    fn integers_round_at_tens_and_refuse_to_wrap() {
        assert_eq!(integer(125, &Type::Int, -1, Mode::HalfUp), Ok(130));
        assert_eq!(integer(-125, &Type::Int, -1, Mode::HalfUp), Ok(-130));
        assert_eq!(
            integer(125, &Type::TinyInt, -1, Mode::HalfUp).unwrap_err().reason,
            Reason::ArithmeticOverflow
        );
        assert_eq!(integer(99, &Type::Int, -30, Mode::HalfUp), Ok(0));
    }
}
