//! Bytes of a key row as Flink's SQL runtime lays it out.
//!
//! Header (row kind, always 0, and a null bit per field), one 8-byte slot per
//! field, then what does not fit a slot, padded to 8 bytes. Narrow integers are
//! not sign-extended; text and bytes of up to 7 bytes sit in their slot.
//! Flink: `BinaryRowData`, written by the generated key projection, which
//! reserves room for a NULL of DECIMAL(p > 18) and TIMESTAMP(p > 3).

use crate::model::{Datum, Decimal, Timestamp, Type};

/// What decides the layout of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Fits its slot.
    Fixed(Width),
    /// DECIMAL(p > 18): 16 bytes behind the slots, big-endian two's complement.
    WideDecimal,
    /// TIMESTAMP(p > 3): the milliseconds behind the slots.
    WideTimestamp,
    /// Text and bytes.
    Variable,
}

/// Bytes of the slot that carry the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    One,
    Two,
    Four,
    Eight,
}

/// Longest text or bytes that sit in their slot.
const INLINE_MAX: usize = 7;

/// Bytes reserved for a DECIMAL(p > 18).
const WIDE_DECIMAL_BYTES: usize = 16;

impl Field {
    /// The layout of a type; `None` for types that no key can have.
    pub(super) fn of(ty: &Type) -> Option<Self> {
        Some(match ty {
            Type::Boolean | Type::TinyInt => Self::Fixed(Width::One),
            Type::SmallInt => Self::Fixed(Width::Two),
            Type::Int | Type::Date | Type::Time(_) | Type::Float | Type::IntervalMonths => {
                Self::Fixed(Width::Four)
            }
            Type::BigInt | Type::Double | Type::IntervalMillis => Self::Fixed(Width::Eight),
            Type::Decimal { precision, .. } if *precision <= 18 => Self::Fixed(Width::Eight),
            Type::Decimal { .. } => Self::WideDecimal,
            Type::Timestamp(p) | Type::TimestampLtz(p) if *p <= 3 => Self::Fixed(Width::Eight),
            Type::Timestamp(_) | Type::TimestampLtz(_) => Self::WideTimestamp,
            Type::Char(_) | Type::Varchar(_) | Type::Binary(_) | Type::Varbinary(_) => Self::Variable,
            Type::Array(_) | Type::Map(..) | Type::Row(_) | Type::Null => return None,
        })
    }
}

impl Width {
    /// The slot of a value; `None` for NULL.
    pub(super) fn slot(self, datum: Datum<'_>) -> Option<u64> {
        let bits = match datum {
            Datum::Bool(v) => u64::from(v),
            Datum::Int(v) | Datum::Millis(v) => v as u64,
            Datum::Date(v) | Datum::Time(v) | Datum::Months(v) => u64::from(v as u32),
            Datum::Float(v) => u64::from(v.to_bits()),
            Datum::Double(v) => v.to_bits(),
            Datum::Decimal(v) => v.unscaled() as u64,
            Datum::Timestamp(v) => v.millis as u64,
            Datum::Null | Datum::Str(_) | Datum::Bytes(_) | Datum::Nested(_) => return None,
        };
        Some(bits & self.mask())
    }

    fn mask(self) -> u64 {
        match self {
            Self::One => 0xff,
            Self::Two => 0xffff,
            Self::Four => 0xffff_ffff,
            Self::Eight => u64::MAX,
        }
    }
}

/// Bytes of row kind and null bits for so many fields.
fn header_bytes(fields: usize) -> usize {
    (fields + 8).div_ceil(64) * 8
}

/// Writes the row of `key` into `out`, replacing what it held. A datum that is missing or of
/// another kind than its field is written as NULL.
pub(super) fn write(fields: &[Field], key: &[Datum<'_>], out: &mut Vec<u8>) {
    let header = header_bytes(fields.len());
    out.clear();
    out.resize(header + fields.len() * 8, 0);
    for (i, field) in fields.iter().enumerate() {
        let datum = key.get(i).copied().unwrap_or(Datum::Null);
        let slot = match field {
            Field::Fixed(width) => width.slot(datum).ok_or(0),
            Field::WideDecimal => wide_decimal(datum, out),
            Field::WideTimestamp => wide_timestamp(datum, out),
            Field::Variable => variable(datum, out).ok_or(0),
        };
        if slot.is_err() {
            let bit = i + 8;
            out[bit / 8] |= 1 << (bit % 8);
        }
        let (Ok(slot) | Err(slot)) = slot;
        let at = header + i * 8;
        out[at..at + 8].copy_from_slice(&slot.to_le_bytes());
    }
}

/// A slot that points behind the slots: offset in the upper half.
fn pointer(offset: usize, lower: u64) -> u64 {
    ((offset as u64) << 32) | lower
}

/// The slot of a wide decimal; for NULL, as an error, the slot that still points at its room.
fn wide_decimal(datum: Datum<'_>, out: &mut Vec<u8>) -> Result<u64, u64> {
    let offset = out.len();
    out.resize(offset + WIDE_DECIMAL_BYTES, 0);
    let Datum::Decimal(value) = datum else { return Err(pointer(offset, 0)) };
    let bytes = value.unscaled().to_be_bytes();
    let minimal = &bytes[redundant_sign_bytes(value)..];
    out[offset..offset + minimal.len()].copy_from_slice(minimal);
    Ok(pointer(offset, minimal.len() as u64))
}

/// Leading bytes that two's complement can do without. Java: `BigInteger.toByteArray`.
fn redundant_sign_bytes(value: Decimal) -> usize {
    let unscaled = value.unscaled();
    let sign_bits = if unscaled < 0 { unscaled.leading_ones() } else { unscaled.leading_zeros() };
    (sign_bits as usize - 1) / 8
}

fn wide_timestamp(datum: Datum<'_>, out: &mut Vec<u8>) -> Result<u64, u64> {
    let offset = out.len();
    let Datum::Timestamp(Timestamp { millis, nanos }) = datum else {
        out.resize(offset + 8, 0);
        return Err(pointer(offset, 0));
    };
    out.extend_from_slice(&millis.to_le_bytes());
    Ok(pointer(offset, u64::from(nanos)))
}

fn variable(datum: Datum<'_>, out: &mut Vec<u8>) -> Option<u64> {
    let bytes = match datum {
        Datum::Str(text) => text.as_bytes(),
        Datum::Bytes(bytes) => bytes,
        _ => return None,
    };
    if bytes.len() <= INLINE_MAX {
        let mut slot = [0; 8];
        slot[..bytes.len()].copy_from_slice(bytes);
        slot[7] = 0x80 | bytes.len() as u8;
        return Some(u64::from_le_bytes(slot));
    }
    let offset = out.len();
    out.extend_from_slice(bytes);
    out.resize(offset + bytes.len().next_multiple_of(8), 0);
    Some(pointer(offset, bytes.len() as u64))
}
