//! Whether a value of the database fits the declared type: exactly, or it is an error.

use crate::model::{Datum, Decimal, Type};

/// A number as BOOLEAN, an integer type or DECIMAL.
pub(super) fn integer(value: i128, declared: &Type) -> Result<Datum<'static>, String> {
    match declared {
        Type::Boolean => Ok(Datum::Bool(value != 0)),
        Type::Decimal { .. } => decimal(Decimal::new(value, 0), declared),
        _ => {
            let (low, high) = declared.integer_range().ok_or_else(|| unreadable(declared))?;
            let fitting = i64::try_from(value).ok().filter(|value| (low..=high).contains(value));
            fitting.map(Datum::Int).ok_or_else(|| format!("{value} does not fit {declared}"))
        }
    }
}

/// Plain decimal notation as an integer type or DECIMAL.
pub(super) fn number(text: &str, declared: &Type) -> Result<Datum<'static>, String> {
    if declared.is_integer() {
        let value = text.parse::<i128>().map_err(|_| format!("{text} does not fit {declared}"))?;
        return integer(value, declared);
    }
    match plain_decimal(text) {
        Some(value) => decimal(value, declared),
        None => Err(format!("{text} does not fit {declared}")),
    }
}

/// Plain notation, without the zeros that end the fraction: they would take digits of the 38.
fn plain_decimal(text: &str) -> Option<Decimal> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let unscaled = format!("{whole}{fraction}").parse::<i128>().ok()?;
    let value = Decimal::new(unscaled, u8::try_from(fraction.len()).ok()?);
    value.fits(38).then_some(value)
}

fn decimal(value: Decimal, declared: &Type) -> Result<Datum<'static>, String> {
    let Type::Decimal { precision, scale } = *declared else { return Err(unreadable(declared)) };
    let rescaled = value.rescale(scale).filter(|rescaled| rescaled.fits(precision));
    let same =
        rescaled.filter(|rescaled| scale >= value.scale() || rescaled.rescale(value.scale()) == Some(value));
    same.map(Datum::Decimal).ok_or_else(|| format!("{value} does not fit {declared}"))
}

/// Bytes as text or as bytes, within the declared length.
pub(super) fn bytes<'a>(bytes: &'a [u8], declared: &Type) -> Result<Datum<'a>, String> {
    match *declared {
        Type::Char(most) | Type::Varchar(most) => {
            let text = std::str::from_utf8(bytes).map_err(|_| "the bytes are no UTF-8".to_owned())?;
            if most as usize >= text.len() || most as usize >= text.chars().count() {
                return Ok(Datum::Str(text));
            }
            Err(format!("a text of {} characters does not fit {declared}", text.chars().count()))
        }
        Type::Binary(most) | Type::Varbinary(most) => {
            if most as usize >= bytes.len() {
                return Ok(Datum::Bytes(bytes));
            }
            Err(format!("{} bytes do not fit {declared}", bytes.len()))
        }
        _ => Err(unreadable(declared)),
    }
}

/// What is said when the live column is no longer of the type that it had at start.
pub(super) fn unreadable(declared: &Type) -> String {
    format!("the column's type changed since the start: it cannot be read as {declared}")
}
