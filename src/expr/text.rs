//! Values as Flink shows them: the `print` sink's text, and the text of a cast.
//!
//! The two differ. Print shows Java objects (`2024-01-02T03:04:05.600`, `true`,
//! `null`, bytes as signed numbers), a cast gives SQL text
//! (`2024-01-02 03:04:05.600`, `TRUE`, `NULL`).

use super::cast;
use super::zone::Zone;
use crate::model::{Datum, Timestamp, Type, Value, civil, javanum, nested};

/// Appends a value as Flink's `print` connector shows it: text without quotes,
/// DECIMAL with its full scale, ARRAY as `[a, b]`, MAP as `{k=v}`, ROW as
/// `+I[a, b]`, NULL as `null`.
pub fn print(ty: &Type, value: Datum<'_>, out: &mut Vec<u8>) {
    match (ty, value) {
        (_, Datum::Null) => out.extend_from_slice(b"null"),
        (_, Datum::Bool(known)) => out.extend_from_slice(if known { b"true" } else { b"false" }),
        (_, Datum::Int(v)) => out.extend_from_slice(itoa::Buffer::new().format(v).as_bytes()),
        (_, Datum::Str(text)) => out.extend_from_slice(text.as_bytes()),
        (_, Datum::Decimal(v)) => javanum::write_decimal(v, out),
        (_, Datum::Double(v)) => javanum::write_double(v, out),
        (_, Datum::Float(v)) => javanum::write_float(v, out),
        (_, Datum::Bytes(bytes)) => signed_bytes(bytes, out),
        (_, Datum::Date(days)) => civil::write_date(days.into(), out),
        (_, Datum::Time(millis)) => {
            let at = Timestamp::from_millis(millis.into());
            java_clock(at, out);
        }
        (Type::TimestampLtz(_), Datum::Timestamp(at)) => {
            civil::write_timestamp(at, groups_of_three(at), b'T', out);
            out.push(b'Z');
        }
        (_, Datum::Timestamp(at)) => {
            civil::write_date(civil::split_millis(at.millis).0, out);
            out.push(b'T');
            java_clock(at, out);
        }
        (_, Datum::Months(_) | Datum::Millis(_)) => {
            let _ = cast::text_of(ty, value, None, out);
        }
        (_, Datum::Nested(bytes)) => match nested::decode(bytes) {
            Some(decoded) => print_nested(ty, &decoded, out),
            None => out.extend_from_slice(b"null"),
        },
    }
}

/// Java's `LocalTime.toString`: seconds only if there are any, a fraction of 3,
/// 6 or 9 digits only if there is one.
fn java_clock(at: Timestamp, out: &mut Vec<u8>) {
    let clock = at.millis.rem_euclid(civil::MILLIS_PER_DAY);
    let start = out.len();
    civil::write_time(clock, 0, out);
    let digits = groups_of_three(at);
    if digits > 0 {
        out.push(b'.');
        let fraction = at.nano_of_second();
        let text = format!("{fraction:09}");
        out.extend_from_slice(text.get(..usize::from(digits)).unwrap_or(&text).as_bytes());
    } else if clock % 60_000 == 0 {
        out.truncate(start + "HH:mm".len());
    }
}

/// Fraction digits of a moment: 0, 3, 6 or 9, as few as it needs.
fn groups_of_three(at: Timestamp) -> u8 {
    civil::fraction_digits(at.nano_of_second()).div_ceil(3) * 3
}

fn signed_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, byte) in bytes.iter().enumerate() {
        separate(i, out);
        out.extend_from_slice(itoa::Buffer::new().format(byte.cast_signed()).as_bytes());
    }
    out.push(b']');
}

fn print_nested(ty: &Type, value: &Value, out: &mut Vec<u8>) {
    match (ty, value) {
        (Type::Array(element), Value::Array(items)) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                separate(i, out);
                item.with_datum(|datum| print(&element.kind, datum, out));
            }
            out.push(b']');
        }
        (Type::Map(key_ty, value_ty), Value::Map(entries)) => {
            out.push(b'{');
            for (i, (key, value)) in entries.iter().enumerate() {
                separate(i, out);
                key.with_datum(|datum| print(&key_ty.kind, datum, out));
                out.push(b'=');
                value.with_datum(|datum| print(&value_ty.kind, datum, out));
            }
            out.push(b'}');
        }
        (Type::Row(fields), Value::Row(values)) => {
            out.extend_from_slice(b"+I[");
            for (i, (field, value)) in fields.iter().zip(values).enumerate() {
                separate(i, out);
                value.with_datum(|datum| print(&field.ty.kind, datum, out));
            }
            out.push(b']');
        }
        _ => out.extend_from_slice(b"null"),
    }
}

fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.extend_from_slice(b", ");
    }
}

/// Appends a value as `CAST(… AS STRING)` gives it; NULL as `NULL`. TIMESTAMP_LTZ
/// is shown in `zone`; without one, in UTC.
pub fn cast_text(ty: &Type, value: Datum<'_>, zone: Option<&Zone>, out: &mut Vec<u8>) {
    let utc = Zone::named_or_gmt("UTC");
    let _ = cast::text_of(ty, value, Some(zone.unwrap_or(&utc)), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Decimal, Field};

    fn shown(ty: &Type, value: &Value) -> String {
        let mut out = Vec::new();
        value.with_datum(|datum| print(ty, datum, &mut out));
        String::from_utf8(out).unwrap()
    }

    fn moment(millis: i64, nanos: u32) -> Value {
        Value::Timestamp(Timestamp { millis, nanos })
    }

    #[test]
    fn print_shows_java_objects() {
        let at = 1_577_934_245_600; // 2020-01-02T03:04:05.600
        assert_eq!(shown(&Type::Timestamp(3), &moment(at, 0)), "2020-01-02T03:04:05.600");
        assert_eq!(shown(&Type::Timestamp(6), &moment(at, 1000)), "2020-01-02T03:04:05.600001");
        assert_eq!(shown(&Type::Timestamp(3), &moment(1_577_934_240_000, 0)), "2020-01-02T03:04");
        assert_eq!(shown(&Type::TimestampLtz(3), &moment(1_577_934_240_000, 0)), "2020-01-02T03:04:00Z");
        assert_eq!(shown(&Type::Time(0), &Value::Time(11_045_000)), "03:04:05");
        assert_eq!(shown(&Type::Time(0), &Value::Time(11_040_000)), "03:04");
        assert_eq!(shown(&Type::Date, &Value::Date(18_263)), "2020-01-02");
        let decimal = Type::Decimal { precision: 10, scale: 3 };
        assert_eq!(shown(&decimal, &Value::Decimal(Decimal::new(1200, 3))), "1.200");
        assert_eq!(shown(&Type::BYTES, &Value::Bytes(vec![1, 255])), "[1, -1]");
        assert_eq!(shown(&Type::Boolean, &Value::Bool(true)), "true");
        assert_eq!(shown(&Type::STRING, &Value::Null), "null");
    }

    #[test]
    fn print_shows_nested_values() {
        let array = Type::Array(Box::new(Type::Int.nullable()));
        assert_eq!(shown(&array, &Value::Array(vec![Value::Int(1), Value::Null])), "[1, null]");
        let map = Type::Map(Box::new(Type::STRING.not_null()), Box::new(Type::Int.nullable()));
        assert_eq!(shown(&map, &Value::Map(vec![(Value::Str("k".into()), Value::Int(1))])), "{k=1}");
        let field = |name: &str, ty: Type| Field { name: name.into(), ty: ty.nullable() };
        let row = Type::Row(vec![field("a", Type::Int), field("b", Type::STRING)]);
        assert_eq!(shown(&row, &Value::Row(vec![Value::Int(1), Value::Str("y".into())])), "+I[1, y]");
    }
}
