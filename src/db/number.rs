//! Whole numbers and decimals of keys.

use crate::model::{Datum, Decimal};

use super::dialect::Bind;

/// A value as a whole number, if it is one.
pub(super) fn whole(value: Datum<'_>) -> Option<i128> {
    match value {
        Datum::Int(value) => Some(value.into()),
        Datum::Bool(value) => Some(value.into()),
        Datum::Decimal(value) => {
            let whole = value.rescale(0)?;
            (whole.rescale(value.scale()) == Some(value)).then(|| whole.unscaled())
        }
        _ => None,
    }
}

/// A whole number as a value of a statement; `None` beyond 64 bits.
pub(super) fn bind(whole: i128) -> Option<Bind> {
    i64::try_from(whole).map(Bind::Signed).or_else(|_| u64::try_from(whole).map(Bind::Unsigned)).ok()
}

/// The same number without zeros at the end of its fraction.
pub(super) fn shortest(value: Decimal) -> Decimal {
    let (mut unscaled, mut after_point) = (value.unscaled(), value.scale());
    while after_point > 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        after_point -= 1;
    }
    Decimal::new(unscaled, after_point)
}
