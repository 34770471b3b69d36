//! Literals and their types.

use sqlparser::ast::{DataType as SqlType, TypedString, Value};

use super::super::cast::time_text;
use super::super::ir::Typed;
use super::{Bound, fault};
use crate::model::{Datum, Decimal, Type};

/// A literal without a type in front of it.
pub(super) fn plain(value: &Value) -> Bound {
    match value {
        Value::Number(digits, false) => number(digits, false),
        Value::Number(digits, true) => {
            Err(fault(format!("{digits}L is not a number here"), "leave out the L"))
        }
        Value::SingleQuotedString(text) | Value::UnicodeStringLiteral(text) => Ok(text_constant(text)),
        Value::HexStringLiteral(digits) => bytes(digits),
        Value::Boolean(known) => Ok(Typed::constant(Datum::Bool(*known), Type::Boolean.not_null())),
        Value::Null => Ok(Typed::constant(Datum::Null, Type::Null.nullable())),
        Value::DoubleQuotedString(text) => {
            let help = format!("text stands in single quotes: '{text}'; names in backticks");
            Err(fault("double quotes are not used", help))
        }
        other => Err(fault(format!("{other} is not a literal of Flink SQL"), "")),
    }
}

/// A string literal is CHAR(n) of its code points.
fn text_constant(text: &str) -> Typed {
    let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    Typed::constant(Datum::Str(text), Type::Char(length).not_null())
}

fn bytes(digits: &str) -> Bound {
    let nibbles: Option<Vec<u32>> = digits.chars().map(|c| c.to_digit(16)).collect();
    match nibbles {
        Some(nibbles) if nibbles.len().is_multiple_of(2) => {
            let bytes: Vec<u8> = nibbles.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            Ok(Typed::constant(Datum::Bytes(&bytes), Type::Binary(length).not_null()))
        }
        _ => Err(fault("x'…' takes an even number of hexadecimal digits", "")),
    }
}

/// A number: INT, else BIGINT; DECIMAL with its own digits; DOUBLE with an exponent.
pub(super) fn number(digits: &str, negative: bool) -> Bound {
    let sign = if negative { "-" } else { "" };
    let text = format!("{sign}{digits}");
    let out_of_range = || fault(format!("{text} is out of range"), "write it as CAST('…' AS DECIMAL(p, s))");
    if digits.contains(['e', 'E']) {
        let value: f64 = text.parse().map_err(|_| fault(format!("{text} is not a number"), ""))?;
        return Ok(Typed::constant(Datum::Double(value), Type::Double.not_null()));
    }
    let Some((whole, fraction)) = digits.split_once('.') else {
        let value: i64 = text.parse().map_err(|_| out_of_range())?;
        let kind = if i32::try_from(value).is_ok() { Type::Int } else { Type::BigInt };
        return Ok(Typed::constant(Datum::Int(value), kind.not_null()));
    };
    let unscaled: i64 = format!("{sign}{whole}{fraction}").parse().map_err(|_| out_of_range())?;
    let (precision, scale) = (whole.len() + fraction.len(), fraction.len());
    if precision > 38 {
        return Err(out_of_range());
    }
    let (precision, scale) = (precision as u8, scale as u8);
    let value = Datum::Decimal(Decimal::new(unscaled.into(), scale));
    Ok(Typed::constant(value, Type::Decimal { precision, scale }.not_null()))
}

/// `DATE '…'`, `TIME '…'`, `TIMESTAMP '…'`.
pub(super) fn typed(literal: &TypedString) -> Bound {
    let text = match &literal.value.value {
        Value::SingleQuotedString(text) => text.as_str(),
        _ => "",
    };
    match literal.data_type {
        SqlType::Date => match time_text::literal_date(text) {
            Some(days) => Ok(Typed::constant(Datum::Date(days), Type::Date.not_null())),
            None => Err(fault(format!("DATE '{text}' is not a day"), "the form is yyyy-MM-dd")),
        },
        SqlType::Time(..) => match time_text::literal_time(text) {
            Some((millis, digits)) => Ok(Typed::constant(Datum::Time(millis), Type::Time(digits).not_null())),
            None => Err(fault(format!("TIME '{text}' is not a time of day"), "the form is HH:mm:ss")),
        },
        SqlType::Timestamp(..) => match time_text::literal_timestamp(text) {
            Some((at, digits)) => {
                Ok(Typed::constant(Datum::Timestamp(at), Type::Timestamp(digits).not_null()))
            }
            None => {
                let help = "the form is yyyy-MM-dd HH:mm:ss with up to 9 fraction digits";
                Err(fault(format!("TIMESTAMP '{text}' is not a moment"), help))
            }
        },
        _ => Err(fault("only DATE, TIME, TIMESTAMP and INTERVAL stand before a text", "use CAST")),
    }
}
