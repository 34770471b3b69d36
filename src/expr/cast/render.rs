//! Values as text: what CAST to CHAR, VARCHAR and STRING gives.

use bumpalo::Bump;
use smallvec::SmallVec;

use super::Place;
use crate::expr::zone::Zone;
use crate::model::{Datum, Type, Value, civil, javanum, nested};

/// Room for the text of any value but text, bytes and nested values.
type Buffer = SmallVec<[u8; 64]>;

/// The text of a value, cut or padded to the target's length.
pub(super) fn to_text<'a>(from: &Type, to: &Type, input: Datum<'a>, place: Place<'a>) -> Option<Datum<'a>> {
    let text = match input {
        Datum::Str(text) => text,
        other => {
            let mut out = Buffer::new();
            text_of(from, other, place.zone, &mut out)?;
            place.arena.alloc_str(std::str::from_utf8(&out).ok()?)
        }
    };
    Some(Datum::Str(fitted(text, to, place.arena)))
}

/// Cut to the code points of the type; CHAR is filled up with blanks.
fn fitted<'a>(text: &'a str, to: &Type, arena: &'a Bump) -> &'a str {
    let (length, padded) = match to {
        Type::Char(length) => (*length as usize, true),
        Type::Varchar(length) => (*length as usize, false),
        _ => return text,
    };
    if !padded && text.len() <= length {
        return text;
    }
    if let Some((end, _)) = text.char_indices().nth(length) {
        return &text[..end];
    }
    let missing = length - text.chars().count();
    if !padded || missing == 0 {
        return text;
    }
    let blank = |i: usize| text.as_bytes().get(i).copied().unwrap_or(b' ');
    let bytes = arena.alloc_slice_fill_with(text.len() + missing, blank);
    std::str::from_utf8(bytes).unwrap_or(text)
}

/// Appends the text of a value as CAST to STRING gives it; `None` if the value
/// is not of the type.
pub(in crate::expr) fn text_of(
    kind: &Type,
    value: Datum<'_>,
    zone: Option<&Zone>,
    out: &mut impl Extend<u8>,
) -> Option<()> {
    match (kind, value) {
        (_, Datum::Null) => out.extend(*b"NULL"),
        (_, Datum::Bool(known)) => out.extend(if known { "TRUE" } else { "FALSE" }.bytes()),
        (_, Datum::Int(v)) => out.extend(itoa::Buffer::new().format(v).bytes()),
        (_, Datum::Float(v)) => javanum::write_float(v, out),
        (_, Datum::Double(v)) => javanum::write_double(v, out),
        (_, Datum::Decimal(v)) => javanum::write_decimal(v, out),
        (_, Datum::Str(text)) => out.extend(text.bytes()),
        (_, Datum::Bytes(bytes)) => out.extend(String::from_utf8_lossy(bytes).bytes()),
        (_, Datum::Date(days)) => civil::write_date(days.into(), out),
        (Type::Time(precision), Datum::Time(millis)) => civil::write_time(millis.into(), *precision, out),
        (Type::Timestamp(precision), Datum::Timestamp(at)) => {
            civil::write_timestamp(at, *precision, b' ', out)
        }
        (Type::TimestampLtz(precision), Datum::Timestamp(at)) => {
            civil::write_timestamp(zone?.local_of(at), *precision, b' ', out);
        }
        (_, Datum::Months(months)) => write_months(months, out),
        (_, Datum::Millis(millis)) => write_millis(millis, out),
        (_, Datum::Nested(bytes)) => nested_text(kind, &nested::decode(bytes)?, zone, out)?,
        _ => return None,
    }
    Some(())
}

/// `+1-02`: years and months.
fn write_months(months: i32, out: &mut impl Extend<u8>) {
    let size = months.unsigned_abs();
    let sign = if months < 0 { '-' } else { '+' };
    out.extend(format!("{sign}{}-{:02}", size / 12, size % 12).bytes());
}

/// `+2 03:04:05.678`: days and the time of day.
fn write_millis(millis: i64, out: &mut impl Extend<u8>) {
    let size = millis.unsigned_abs();
    let sign = if millis < 0 { '-' } else { '+' };
    let (days, rest) = (size / 86_400_000, size % 86_400_000);
    out.extend(format!("{sign}{days} ").bytes());
    civil::write_time(rest as i64, 3, out);
}

/// `[a, b]`, `{k=v}` and `(a, b)`. The elements' text is what they print alone.
fn nested_text(kind: &Type, value: &Value, zone: Option<&Zone>, out: &mut impl Extend<u8>) -> Option<()> {
    let element = |kind: &Type, value: &Value, lead: &str, out: &mut dyn FnMut(u8)| {
        lead.bytes().for_each(&mut *out);
        let mut text = Vec::new();
        let written = value.with_datum(|datum| text_of(kind, datum, zone, &mut text));
        text.into_iter().for_each(out);
        written
    };
    let put = &mut |b: u8| out.extend([b]);
    match (kind, value) {
        (Type::Array(ty), Value::Array(items)) => {
            put(b'[');
            for (i, item) in items.iter().enumerate() {
                element(&ty.kind, item, comma(i), put)?;
            }
            put(b']');
        }
        (Type::Map(key_ty, value_ty), Value::Map(entries)) => {
            put(b'{');
            for (i, (key, value)) in entries.iter().enumerate() {
                element(&key_ty.kind, key, comma(i), put)?;
                element(&value_ty.kind, value, "=", put)?;
            }
            put(b'}');
        }
        (Type::Row(fields), Value::Row(values)) => {
            put(b'(');
            for (i, (field, value)) in fields.iter().zip(values).enumerate() {
                element(&field.ty.kind, value, comma(i), put)?;
            }
            put(b')');
        }
        _ => return None,
    }
    Some(())
}

fn comma(index: usize) -> &'static str {
    if index == 0 { "" } else { ", " }
}
