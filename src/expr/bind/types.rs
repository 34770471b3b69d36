//! Result types: what numbers add up to, and the type that values of several
//! types share. Flink: `LogicalTypeMerging`, `FlinkTypeSystem`.

use super::super::ir::{Numbers, Operator};
use crate::model::Type;

/// Most digits of a DECIMAL.
const MAX_PRECISION: i32 = 38;

/// Fraction digits that a DECIMAL result keeps when its digits exceed the most.
const KEPT_SCALE: i32 = 6;

/// Digits and scale of an exact number; integers count as DECIMAL.
pub(super) fn as_decimal(kind: &Type) -> Option<(u8, u8)> {
    match kind {
        Type::TinyInt => Some((3, 0)),
        Type::SmallInt => Some((5, 0)),
        Type::Int => Some((10, 0)),
        Type::BigInt => Some((19, 0)),
        Type::Decimal { precision, scale } => Some((*precision, *scale)),
        _ => None,
    }
}

/// Type of `left operator right` for numbers, and whether a result may have too
/// many digits for it, which makes it NULL.
pub(super) fn arithmetic(operator: Operator, left: &Type, right: &Type) -> Option<(Type, bool)> {
    if left.is_integer() && right.is_integer() {
        let kind = if operator == Operator::Remainder { right.clone() } else { wider(left, right) };
        return Some((kind, false));
    }
    if left.is_approximate() || right.is_approximate() {
        return Some((approximate(left, right)?, false));
    }
    let ((p1, s1), (p2, s2)) = (as_decimal(left)?, as_decimal(right)?);
    Some(decimal(operator, (i32::from(p1), i32::from(s1)), (i32::from(p2), i32::from(s2))))
}

/// FLOAT with DOUBLE takes the left one's type; with DECIMAL it is DOUBLE.
fn approximate(left: &Type, right: &Type) -> Option<Type> {
    let exact_decimal = |kind: &Type| matches!(kind, Type::Decimal { .. });
    if !left.is_numeric() || !right.is_numeric() {
        return None;
    }
    Some(if exact_decimal(left) || exact_decimal(right) {
        Type::Double
    } else if left.is_approximate() {
        left.clone()
    } else {
        right.clone()
    })
}

fn decimal(operator: Operator, (p1, s1): (i32, i32), (p2, s2): (i32, i32)) -> (Type, bool) {
    let (precision, scale) = match operator {
        Operator::Add | Operator::Subtract => {
            let scale = s1.max(s2);
            ((p1 - s1).max(p2 - s2) + scale + 1, scale)
        }
        Operator::Multiply => (p1 + p2 + 1, s1 + s2),
        Operator::Divide => {
            let scale = KEPT_SCALE.max(s1 + p2 + 1);
            (p1 - s1 + s2 + scale, scale)
        }
        Operator::Remainder => {
            let scale = s1.max(s2);
            ((p1 - s1).min(p2 - s2) + scale, scale)
        }
    };
    if precision <= MAX_PRECISION {
        return (sized(precision, scale), false);
    }
    // Fraction digits give way to whole ones, down to the six that are kept; only
    // beyond that may a result have too many digits. A remainder has no digit to
    // spare for a rounding that carries.
    let (left, kept) = (MAX_PRECISION - (precision - scale), scale.min(KEPT_SCALE));
    let may_exceed = left < kept || operator == Operator::Remainder;
    (sized(MAX_PRECISION, left.max(kept)), may_exceed)
}

/// A DECIMAL of digits and scale within bounds.
fn sized(precision: i32, scale: i32) -> Type {
    let precision = precision.clamp(1, MAX_PRECISION) as u8;
    Type::Decimal { precision, scale: scale.clamp(0, i32::from(precision)) as u8 }
}

/// What arithmetic of that result type computes in.
pub(super) fn numbers(kind: &Type) -> Option<Numbers> {
    Some(match kind {
        Type::Float => Numbers::Float,
        Type::Double => Numbers::Double,
        Type::Decimal { precision, scale } => Numbers::Decimal { precision: *precision, scale: *scale },
        Type::IntervalMonths => Numbers::Months,
        Type::IntervalMillis => Numbers::Millis,
        other => {
            let (min, max) = other.integer_range()?;
            Numbers::Integer { min, max }
        }
    })
}

/// The type that values of both types can take without loss; `None` if there is
/// none. The left one decides between FLOAT and DOUBLE.
pub(super) fn shared(left: &Type, right: &Type) -> Option<Type> {
    Some(match (left, right) {
        (a, b) if a == b => a.clone(),
        (Type::Null, other) | (other, Type::Null) => other.clone(),
        (a, b) if a.is_integer() && b.is_integer() => wider(a, b),
        (a, b) if a.is_approximate() || b.is_approximate() => approximate(a, b)?,
        (a, b) if a.is_numeric() && b.is_numeric() => shared_decimal(as_decimal(a)?, as_decimal(b)?),
        (Type::Char(a) | Type::Varchar(a), Type::Char(b) | Type::Varchar(b)) => Type::Varchar(*a.max(b)),
        (Type::Binary(a) | Type::Varbinary(a), Type::Binary(b) | Type::Varbinary(b)) => {
            Type::Varbinary(*a.max(b))
        }
        (Type::Time(a), Type::Time(b)) => Type::Time(*a.max(b)),
        (Type::TimestampLtz(a), Type::TimestampLtz(b)) => Type::TimestampLtz(*a.max(b)),
        (Type::Timestamp(a) | Type::TimestampLtz(a), Type::Timestamp(b) | Type::TimestampLtz(b)) => {
            Type::Timestamp(*a.max(b))
        }
        _ => return None,
    })
}

fn shared_decimal((p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> Type {
    let whole = i32::from((p1 - s1).max(p2 - s2)).min(MAX_PRECISION);
    let scale = i32::from(s1.max(s2)).min(MAX_PRECISION - whole);
    sized(whole + scale, scale)
}

fn wider(left: &Type, right: &Type) -> Type {
    let width = |kind: &Type| kind.integer_range().map_or(0, |(_, max)| max);
    if width(left) >= width(right) { left.clone() } else { right.clone() }
}
