//! Functions of numbers: signs, rounding, powers and logarithms.

use super::{Call, Function};
use crate::expr::CompileError;
use crate::expr::arithmetic::{self, to_double};
use crate::expr::ir::{Nulls, Numbers, Typed};
use crate::model::{DataType, Datum, Decimal, Type};

/// What this file registers.
pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "ABS", args: (1, 1), bind: abs },
    Function { name: "SIGN", args: (1, 1), bind: sign },
    Function { name: "FLOOR", args: (1, 1), bind: floor },
    Function { name: "CEIL", args: (1, 1), bind: ceil },
    Function { name: "CEILING", args: (1, 1), bind: ceil },
    Function { name: "SQRT", args: (1, 1), bind: |call| real(call, |x, _| x.sqrt()) },
    Function { name: "EXP", args: (1, 1), bind: |call| real(call, |x, _| x.exp()) },
    Function { name: "LN", args: (1, 1), bind: |call| real(call, |x, _| x.ln()) },
    Function { name: "LOG10", args: (1, 1), bind: |call| real(call, |x, _| x.log10()) },
    Function { name: "LOG2", args: (1, 1), bind: |call| real(call, |x, _| x.log2()) },
    Function { name: "LOG", args: (1, 2), bind: log },
    Function { name: "POWER", args: (2, 2), bind: |call| real(call, f64::powf) },
];

/// A function of one or two DOUBLEs; NaN and infinities where there is no number.
fn real(call: Call<'_>, compute: fn(f64, f64) -> f64) -> Result<Typed, CompileError> {
    call.number(0)?;
    call.number(1)?;
    let ty = DataType { kind: Type::Double, nullable: call.nullable() };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| {
        let at = |index: usize| args.get(index).map_or(f64::NAN, |value| to_double(*value));
        Ok(Datum::Double(compute(at(0), at(1))))
    }))
}

/// `LOG(x)` is natural, `LOG(base, x)` to that base.
fn log(call: Call<'_>) -> Result<Typed, CompileError> {
    if call.args.len() == 1 { real(call, |x, _| x.ln()) } else { real(call, |base, x| x.ln() / base.ln()) }
}

/// The magnitude, in the same type. Flink: `ABS` of the smallest integer stays
/// negative; here it is an overflow, as all integer arithmetic.
fn abs(call: Call<'_>) -> Result<Typed, CompileError> {
    call.require(0, |kind| kind.is_numeric())?;
    let (min, max) = call.kind(0).integer_range().unwrap_or((i64::MIN, i64::MAX));
    let ty = DataType { kind: call.kind(0).clone(), nullable: call.nullable() };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| match args {
        [value @ Datum::Int(v)] if *v >= 0 => Ok(*value),
        [value @ Datum::Int(_)] => arithmetic::negate(Numbers::Integer { min, max }, *value),
        [Datum::Float(v)] => Ok(Datum::Float(v.abs())),
        [Datum::Double(v)] => Ok(Datum::Double(v.abs())),
        [Datum::Decimal(v)] => Ok(Datum::Decimal(Decimal::new(v.unscaled().abs(), v.scale()))),
        _ => Ok(Datum::Null),
    }))
}

/// -1, 0 or 1 in the same type; NULL where the type cannot hold 1.
fn sign(call: Call<'_>) -> Result<Typed, CompileError> {
    call.number(0)?;
    // 1 is no DECIMAL(p, p), so that the sign of one has no value of its type.
    let fraction_only = matches!(call.kind(0), Type::Decimal { precision, scale } if precision == scale);
    let nullable = call.nullable() || fraction_only;
    let ty = DataType { kind: call.kind(0).clone(), nullable };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| match args {
        [Datum::Int(v)] => Ok(Datum::Int(v.signum())),
        [Datum::Float(v)] => Ok(Datum::Float(if *v == 0.0 { *v } else { v.signum() })),
        [Datum::Double(v)] => Ok(Datum::Double(if *v == 0.0 { *v } else { v.signum() })),
        [Datum::Decimal(v)] if fraction_only && v.unscaled() != 0 => Ok(Datum::Null),
        [Datum::Decimal(v)] => {
            let one = 10_i128.pow(u32::from(v.scale()).min(37));
            Ok(Datum::Decimal(Decimal::new(v.unscaled().signum() * one, v.scale())))
        }
        _ => Ok(Datum::Null),
    }))
}

fn floor(call: Call<'_>) -> Result<Typed, CompileError> {
    whole(call, false)
}

fn ceil(call: Call<'_>) -> Result<Typed, CompileError> {
    whole(call, true)
}

/// The next whole number below or above; DECIMAL(p, s) becomes DECIMAL(p, 0).
fn whole(call: Call<'_>, up: bool) -> Result<Typed, CompileError> {
    call.number(0)?;
    let kind = match call.kind(0) {
        Type::Decimal { precision, .. } => Type::Decimal { precision: *precision, scale: 0 },
        other => other.clone(),
    };
    let ty = DataType { kind, nullable: call.nullable() };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| match args {
        [value @ Datum::Int(_)] => Ok(*value),
        [Datum::Float(v)] => Ok(Datum::Float(if up { v.ceil() } else { v.floor() })),
        [Datum::Double(v)] => Ok(Datum::Double(if up { v.ceil() } else { v.floor() })),
        [Datum::Decimal(v)] => {
            let divisor = 10_i128.pow(u32::from(v.scale()).min(38));
            let below = v.unscaled().div_euclid(divisor);
            let exact = v.unscaled().rem_euclid(divisor) == 0;
            Ok(Datum::Decimal(Decimal::new(if up && !exact { below + 1 } else { below }, 0)))
        }
        _ => Ok(Datum::Null),
    }))
}
