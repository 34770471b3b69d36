//! Order and equality of values.
//!
//! Exact numbers compare by value whatever their types and scales. The binder
//! makes everything else meet in one type before it gets here.

use std::cmp::Ordering;

use super::ir::Comparison;
use crate::model::{Datum, Decimal};

/// How two values that are not NULL are ordered; `None` if one is NaN, or if
/// they do not compare at all.
pub(super) fn order(left: Datum<'_>, right: Datum<'_>) -> Option<Ordering> {
    match (left, right) {
        (Datum::Int(a), Datum::Int(b)) => Some(a.cmp(&b)),
        (Datum::Str(a), Datum::Str(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Datum::Decimal(a), Datum::Decimal(b)) => Some(order_decimals(a, b)),
        (Datum::Int(a), Datum::Decimal(b)) => Some(order_decimals(Decimal::new(a.into(), 0), b)),
        (Datum::Decimal(a), Datum::Int(b)) => Some(order_decimals(a, Decimal::new(b.into(), 0))),
        (Datum::Float(a), Datum::Float(b)) => a.partial_cmp(&b),
        (Datum::Double(a), Datum::Double(b)) => a.partial_cmp(&b),
        (Datum::Bool(a), Datum::Bool(b)) => Some(a.cmp(&b)),
        (Datum::Date(a), Datum::Date(b)) | (Datum::Time(a), Datum::Time(b)) => Some(a.cmp(&b)),
        (Datum::Timestamp(a), Datum::Timestamp(b)) => Some(a.cmp(&b)),
        (Datum::Months(a), Datum::Months(b)) => Some(a.cmp(&b)),
        (Datum::Millis(a), Datum::Millis(b)) => Some(a.cmp(&b)),
        (Datum::Bytes(a), Datum::Bytes(b)) | (Datum::Nested(a), Datum::Nested(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn order_decimals(a: Decimal, b: Decimal) -> Ordering {
    if a.scale() == b.scale() {
        return a.unscaled().cmp(&b.unscaled());
    }
    if a.scale() > b.scale() {
        return order_decimals(b, a).reverse();
    }
    if let (Ok(a), Ok(b), Some(factor)) = (
        i64::try_from(a.unscaled()),
        i64::try_from(b.unscaled()),
        10_i64.checked_pow((b.scale() - a.scale()).into()),
    ) {
        return (i128::from(a) * i128::from(factor)).cmp(&b.into());
    }
    // `a` has the smaller scale. If it does not fit an i128 at the larger one,
    // its magnitude is beyond anything that `b` can be.
    let factor = 10_i128.pow(u32::from(b.scale() - a.scale()).min(38));
    match a.unscaled().checked_mul(factor) {
        Some(grown) => grown.cmp(&b.unscaled()),
        None => a.unscaled().cmp(&0),
    }
}

impl Comparison {
    /// Whether `left` and `right`, neither NULL, stand in this relation. NaN
    /// stands in none but `<>`.
    pub(super) fn holds(self, left: Datum<'_>, right: Datum<'_>) -> bool {
        order(left, right).map_or(self == Self::NotEqual, |order| self.admits(order))
    }

    /// Whether two values that are ordered so stand in this relation.
    pub(super) fn admits(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_any_scales_compare_by_value() {
        let order = |a: &str, b: &str| order_decimals(Decimal::parse(a).unwrap(), Decimal::parse(b).unwrap());
        assert_eq!(order("1", "1.00"), Ordering::Equal);
        assert_eq!(order("1.01", "1.1"), Ordering::Less);
        let (huge, tiny) =
            ("99999999999999999999999999999999999999", "0.00000000000000000000000000000000000001");
        assert_eq!(order(huge, tiny), Ordering::Greater);
        assert_eq!(order(tiny, huge), Ordering::Less);
        assert_eq!(order("-99999999999999999999999999999999999999", tiny), Ordering::Less);
    }
}
