//! A row as Flink's `print` sink shows it: `+I[1, alice, null]`.
//!
//! Values look as their Java objects do: `LocalDateTime` and `LocalTime` leave
//! out seconds that are zero and write fractions in groups of three digits,
//! `Instant` always writes seconds. Flink: `Row.toString` over external types.

use crate::model::civil::{MILLIS_PER_DAY, split_millis, write_date};
use crate::model::{Datum, Field, RowKind, Timestamp, Type, Value, javanum, nested};
use crate::plan::{OutputColumn, ProjectPlan};

/// Appends lines.
#[derive(Clone, Debug)]
pub(super) struct RowText {
    prefix: Box<[u8]>,
    types: Box<[Type]>,
}

impl RowText {
    /// `identifier` is `print-identifier`; empty: no prefix.
    pub(super) fn new(identifier: &str, project: &ProjectPlan) -> Self {
        let prefix = if identifier.is_empty() { String::new() } else { format!("{identifier}> ") };
        let ty = |column: &OutputColumn| column.ty.kind.clone();
        Self { prefix: prefix.into_bytes().into(), types: project.columns.iter().map(ty).collect() }
    }

    /// Appends the line of a row, with its line feed.
    pub(super) fn write_line(&self, kind: RowKind, row: &[Datum<'_>], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.prefix);
        out.extend_from_slice(kind.symbol().as_bytes());
        out.push(b'[');
        for (i, ty) in self.types.iter().enumerate() {
            separate(i, out);
            write_datum(row.get(i).copied().unwrap_or(Datum::Null), ty, out);
        }
        out.extend_from_slice(b"]\n");
    }
}

fn separate(i: usize, out: &mut Vec<u8>) {
    if i > 0 {
        out.extend_from_slice(b", ");
    }
}

fn write_datum(datum: Datum<'_>, ty: &Type, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => out.extend_from_slice(b"null"),
        Datum::Bool(true) => out.extend_from_slice(b"true"),
        Datum::Bool(false) => out.extend_from_slice(b"false"),
        Datum::Int(v) | Datum::Millis(v) => write_integer(v, out),
        Datum::Months(v) => write_integer(v.into(), out),
        Datum::Float(v) => javanum::write_float(v, out),
        Datum::Double(v) => javanum::write_double(v, out),
        Datum::Decimal(v) => javanum::write_big_decimal(v.unscaled(), v.scale().into(), out),
        Datum::Str(v) => out.extend_from_slice(v.as_bytes()),
        Datum::Bytes(v) => write_bytes(v, out),
        Datum::Date(v) => write_date(v.into(), out),
        Datum::Time(v) => write_clock(v.into(), 0, false, out),
        Datum::Timestamp(v) => write_timestamp(v, matches!(ty, Type::TimestampLtz(_)), out),
        Datum::Nested(v) => write_value(&nested::decode(v).unwrap_or(Value::Null), ty, out),
    }
}

fn write_integer(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// A Java `byte[]` as a list of signed numbers.
fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, byte) in bytes.iter().enumerate() {
        separate(i, out);
        write_integer((*byte as i8).into(), out);
    }
    out.push(b']');
}

fn write_timestamp(at: Timestamp, instant: bool, out: &mut Vec<u8>) {
    let (days, clock) = split_millis(at.millis);
    write_date(days, out);
    out.push(b'T');
    write_clock(clock, at.nanos, instant, out);
    if instant {
        out.push(b'Z');
    }
}

/// `HH:mm[:ss[.fff[fff[fff]]]]`. `nanos` is what is below the millisecond.
fn write_clock(millis: i64, nanos: u32, with_seconds: bool, out: &mut Vec<u8>) {
    let clock = millis.rem_euclid(MILLIS_PER_DAY);
    let (minutes, below) = (clock / 60_000, clock % 60_000);
    two(minutes / 60, out);
    out.push(b':');
    two(minutes % 60, out);
    if below == 0 && nanos == 0 && !with_seconds {
        return;
    }
    out.push(b':');
    two(below / 1000, out);
    let groups = [below % 1000, i64::from(nanos / 1000), i64::from(nanos % 1000)];
    let shown = groups.iter().rposition(|group| *group != 0).map_or(0, |last| last + 1);
    for (i, group) in groups.into_iter().take(shown).enumerate() {
        if i == 0 {
            out.push(b'.');
        }
        out.push(b'0' + (group / 100) as u8);
        two(group % 100, out);
    }
}

fn two(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]);
}

fn write_value(value: &Value, ty: &Type, out: &mut Vec<u8>) {
    match (value, ty) {
        (Value::Array(items), Type::Array(element)) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                separate(i, out);
                write_value(item, &element.kind, out);
            }
            out.push(b']');
        }
        (Value::Map(entries), Type::Map(key_type, value_type)) => {
            out.push(b'{');
            for (i, (key, value)) in entries.iter().enumerate() {
                separate(i, out);
                write_value(key, &key_type.kind, out);
                out.push(b'=');
                write_value(value, &value_type.kind, out);
            }
            out.push(b'}');
        }
        (Value::Row(values), Type::Row(fields)) => write_row(values, fields, out),
        (Value::Array(_) | Value::Map(_) | Value::Row(_), _) => out.extend_from_slice(b"null"),
        _ => value.with_datum(|datum| write_datum(datum, ty, out)),
    }
}

/// A row inside of a row has a kind of its own, which is always `+I`.
fn write_row(values: &[Value], fields: &[Field], out: &mut Vec<u8>) {
    out.extend_from_slice(b"+I[");
    for (i, (value, field)) in values.iter().zip(fields).enumerate() {
        separate(i, out);
        write_value(value, &field.ty.kind, out);
    }
    out.push(b']');
}
