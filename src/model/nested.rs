//! The byte form of ARRAY, MAP and ROW values inside packed rows.
//!
//! Self-describing and canonical: a tag byte per value, lengths as `u32`
//! little endian, so that equal values have equal bytes.

use super::{Decimal, Timestamp, Value};

/// Appends the byte form of `value`.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Bool(v) => out.extend([1, u8::from(*v)]),
        Value::Int(v) => tagged(2, &v.to_le_bytes(), out),
        Value::Float(v) => tagged(3, &v.to_le_bytes(), out),
        Value::Double(v) => tagged(4, &v.to_le_bytes(), out),
        Value::Decimal(v) => {
            tagged(5, &v.unscaled().to_le_bytes(), out);
            out.push(v.scale());
        }
        Value::Str(v) => sized(6, v.as_bytes(), out),
        Value::Bytes(v) => sized(7, v, out),
        Value::Date(v) => tagged(8, &v.to_le_bytes(), out),
        Value::Time(v) => tagged(9, &v.to_le_bytes(), out),
        Value::Timestamp(v) => {
            tagged(10, &v.millis.to_le_bytes(), out);
            out.extend(v.nanos.to_le_bytes());
        }
        Value::Months(v) => tagged(11, &v.to_le_bytes(), out),
        Value::Millis(v) => tagged(12, &v.to_le_bytes(), out),
        Value::Array(items) => sequence(13, items, out),
        Value::Map(entries) => {
            tagged(14, &length(entries.len()), out);
            for (key, value) in entries {
                encode(key, out);
                encode(value, out);
            }
        }
        Value::Row(fields) => sequence(15, fields, out),
    }
}

fn tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn sized(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    tagged(tag, &length(bytes.len()), out);
    out.extend_from_slice(bytes);
}

fn sequence(tag: u8, items: &[Value], out: &mut Vec<u8>) {
    tagged(tag, &length(items.len()), out);
    for item in items {
        encode(item, out);
    }
}

/// Values longer than 4 GiB cannot come out of a Kafka record.
fn length(len: usize) -> [u8; 4] {
    u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes()
}

/// Reads a value back; `None` if the bytes are not of this form.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Value> {
    let mut rest = bytes;
    read(&mut rest)
}

fn read(rest: &mut &[u8]) -> Option<Value> {
    let [tag] = take::<1>(rest)?;
    Some(match tag {
        0 => Value::Null,
        1 => Value::Bool(take::<1>(rest)? != [0]),
        2 => Value::Int(i64::from_le_bytes(take(rest)?)),
        3 => Value::Float(f32::from_le_bytes(take(rest)?)),
        4 => Value::Double(f64::from_le_bytes(take(rest)?)),
        5 => {
            let unscaled = i128::from_le_bytes(take(rest)?);
            let [scale] = take::<1>(rest)?;
            Value::Decimal(Decimal::new(unscaled, scale))
        }
        6 => Value::Str(String::from_utf8(take_sized(rest)?.to_vec()).ok()?),
        7 => Value::Bytes(take_sized(rest)?.to_vec()),
        8 => Value::Date(i32::from_le_bytes(take(rest)?)),
        9 => Value::Time(i32::from_le_bytes(take(rest)?)),
        10 => {
            let millis = i64::from_le_bytes(take(rest)?);
            Value::Timestamp(Timestamp { millis, nanos: u32::from_le_bytes(take(rest)?) })
        }
        11 => Value::Months(i32::from_le_bytes(take(rest)?)),
        12 => Value::Millis(i64::from_le_bytes(take(rest)?)),
        13 => Value::Array(read_sequence(rest)?),
        14 => {
            let count = u32::from_le_bytes(take(rest)?);
            let mut entries = Vec::new();
            for _ in 0..count {
                entries.push((read(rest)?, read(rest)?));
            }
            Value::Map(entries)
        }
        15 => Value::Row(read_sequence(rest)?),
        _ => return None,
    })
}

fn read_sequence(rest: &mut &[u8]) -> Option<Vec<Value>> {
    let count = u32::from_le_bytes(take(rest)?);
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(read(rest)?);
    }
    Some(items)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

fn take_sized<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(u32::from_le_bytes(take(rest)?)).ok()?;
    let (head, tail) = rest.split_at_checked(len)?;
    *rest = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_values_survive_a_round_trip() {
        let value = Value::Row(vec![
            Value::Array(vec![Value::Int(1), Value::Null]),
            Value::Map(vec![(Value::Str("k".into()), Value::Bytes(vec![1, 2]))]),
            Value::Decimal(Decimal::new(-5, 1)),
            Value::Timestamp(Timestamp { millis: -1, nanos: 7 }),
        ]);
        let mut bytes = Vec::new();
        encode(&value, &mut bytes);
        assert_eq!(decode(&bytes), Some(value));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    }
}
