//! `+ - * / %` and unary minus.
//!
//! Integers keep their type and never wrap: a result outside of the type is an
//! error. DECIMAL is exact, rounded half up to the scale of the result, and
//! NULL where the result has too many digits. FLOAT and DOUBLE follow IEEE 754.

pub(super) mod decimal;

use super::EvalError;
use super::ir::{Numbers, Operator};
use crate::error::Reason;
use crate::model::{Datum, Decimal};

/// Computes `left operator right`; NULL if either is NULL.
pub(super) fn compute<'a>(
    operator: Operator,
    numbers: Numbers,
    left: Datum<'a>,
    right: Datum<'a>,
) -> Result<Datum<'a>, EvalError> {
    if left.is_null() || right.is_null() {
        return Ok(Datum::Null);
    }
    match numbers {
        Numbers::Integer { min, max } => match (left, right) {
            (Datum::Int(a), Datum::Int(b)) => integer(operator, a, b, (min, max)).map(Datum::Int),
            _ => Ok(Datum::Null),
        },
        Numbers::Double => Ok(Datum::Double(float64(operator, to_double(left), to_double(right)))),
        Numbers::Float => Ok(Datum::Float(float32(operator, to_float(left), to_float(right)))),
        Numbers::Decimal { precision, scale } => {
            let (Some(a), Some(b)) = (to_decimal(left), to_decimal(right)) else { return Ok(Datum::Null) };
            decimals(operator, a, b, (precision, scale))
        }
        Numbers::Months | Numbers::Millis => intervals(operator, left, right),
    }
}

/// Unary minus; NULL of NULL.
pub(super) fn negate<'a>(numbers: Numbers, input: Datum<'a>) -> Result<Datum<'a>, EvalError> {
    Ok(match (numbers, input) {
        (Numbers::Integer { min, max }, Datum::Int(v)) => {
            let negated = v.checked_neg().filter(|n| (min..=max).contains(n));
            Datum::Int(negated.ok_or_else(|| overflow(format!("-({v})"), (min, max)))?)
        }
        (_, Datum::Float(v)) => Datum::Float(-v),
        (_, Datum::Double(v)) => Datum::Double(-v),
        (_, Datum::Decimal(v)) => Datum::Decimal(Decimal::new(-v.unscaled(), v.scale())),
        (_, Datum::Months(v)) => {
            Datum::Months(v.checked_neg().ok_or_else(|| interval_overflow(&format!("-({v} months)")))?)
        }
        (_, Datum::Millis(v)) => {
            Datum::Millis(v.checked_neg().ok_or_else(|| interval_overflow(&format!("-({v} ms)")))?)
        }
        _ => Datum::Null,
    })
}

fn integer(operator: Operator, a: i64, b: i64, range: (i64, i64)) -> Result<i64, EvalError> {
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide | Operator::Remainder if b == 0 => return Err(division_by_zero(a)),
        Operator::Divide => a.checked_div(b),
        Operator::Remainder => Some(a.wrapping_rem(b)),
    };
    match result {
        Some(result) if (range.0..=range.1).contains(&result) => Ok(result),
        _ => Err(overflow(format!("{a} {} {b}", symbol(operator)), range)),
    }
}

fn float64(operator: Operator, a: f64, b: f64) -> f64 {
    match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Remainder => a % b,
    }
}

fn float32(operator: Operator, a: f32, b: f32) -> f32 {
    match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Remainder => a % b,
    }
}

fn decimals<'a>(operator: Operator, a: Decimal, b: Decimal, ty: (u8, u8)) -> Result<Datum<'a>, EvalError> {
    let (precision, scale) = ty;
    let result = match operator {
        Operator::Add => decimal::add(a, b, scale),
        Operator::Subtract => decimal::add(a, Decimal::new(-b.unscaled(), b.scale()), scale),
        Operator::Multiply => decimal::multiply(a, b, scale),
        Operator::Divide | Operator::Remainder if b.unscaled() == 0 => return Err(division_by_zero(a)),
        Operator::Divide => decimal::divide(a, b, scale),
        Operator::Remainder => decimal::remainder(a, b, scale),
    };
    Ok(match result.filter(|result| result.fits(precision)) {
        Some(result) => Datum::Decimal(result),
        None => Datum::Null,
    })
}

fn intervals<'a>(operator: Operator, left: Datum<'a>, right: Datum<'a>) -> Result<Datum<'a>, EvalError> {
    let (a, b, months) = match (left, right) {
        (Datum::Months(a), Datum::Months(b)) => (i64::from(a), i64::from(b), true),
        (Datum::Months(a), Datum::Int(b)) | (Datum::Int(b), Datum::Months(a)) => (i64::from(a), b, true),
        (Datum::Millis(a), Datum::Millis(b)) => (a, b, false),
        (Datum::Millis(a), Datum::Int(b)) | (Datum::Int(b), Datum::Millis(a)) => (a, b, false),
        _ => return Ok(Datum::Null),
    };
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide | Operator::Remainder => None,
    };
    let fault = || interval_overflow(&format!("{a} {} {b}", symbol(operator)));
    let result = result.ok_or_else(fault)?;
    if months {
        i32::try_from(result).map(Datum::Months).map_err(|_| fault())
    } else {
        Ok(Datum::Millis(result))
    }
}

/// Any number as DOUBLE.
pub(super) fn to_double(value: Datum<'_>) -> f64 {
    match value {
        Datum::Int(v) => v as f64,
        Datum::Float(v) => f64::from(v),
        Datum::Double(v) => v,
        Datum::Decimal(v) => decimal::to_double(v),
        _ => f64::NAN,
    }
}

/// Any number as FLOAT, rounded once.
pub(super) fn to_float(value: Datum<'_>) -> f32 {
    match value {
        Datum::Int(v) => v as f32,
        Datum::Float(v) => v,
        Datum::Double(v) => v as f32,
        Datum::Decimal(v) => decimal::to_double(v) as f32,
        _ => f32::NAN,
    }
}

/// An exact number as DECIMAL, at its own scale.
pub(super) fn to_decimal(value: Datum<'_>) -> Option<Decimal> {
    match value {
        Datum::Int(v) => Some(Decimal::new(v.into(), 0)),
        Datum::Decimal(v) => Some(v),
        _ => None,
    }
}

fn symbol(operator: Operator) -> char {
    match operator {
        Operator::Add => '+',
        Operator::Subtract => '-',
        Operator::Multiply => '*',
        Operator::Divide => '/',
        Operator::Remainder => '%',
    }
}

fn overflow(what: String, (min, max): (i64, i64)) -> EvalError {
    EvalError { reason: Reason::ArithmeticOverflow, detail: format!("{what} is not within {min} to {max}") }
}

fn interval_overflow(what: &str) -> EvalError {
    EvalError { reason: Reason::ArithmeticOverflow, detail: format!("{what} is beyond the longest interval") }
}

fn division_by_zero(dividend: impl std::fmt::Display) -> EvalError {
    EvalError { reason: Reason::DivisionByZero, detail: format!("{dividend} is divided by zero") }
}
