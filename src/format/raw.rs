//! `raw`: the bytes of the message are the value of the one column.
//!
//! NULL is a null message, in both directions. Flink: `RawFormatDeserializationSchema`.

use bumpalo::Bump;

use crate::error::{Error, Kind, Reason, Result, RowFault, TablePart};
use crate::model::{Datum, Type};
use crate::plan::RawOptions;

use super::{FieldSpec, Fields, Tally};

/// Reads and writes messages.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    /// `None`: nothing reads the column.
    field: Option<FieldSpec>,
    width: usize,
    big_endian: bool,
    lossy: bool,
}

impl Raw {
    /// # Errors
    /// [`Kind::Definition`] for more than one field, or one of a type that raw does not have.
    pub(super) fn new(
        options: RawOptions,
        mut fields: Vec<FieldSpec>,
        width: usize,
        lossy: bool,
    ) -> Result<Self> {
        let field = fields.pop();
        if !fields.is_empty() {
            return Err(Error::new(Kind::Definition, "the raw format holds exactly one column"));
        }
        let fits = |ty: &Type| bytes_of(ty).is_some() || ty.is_text() || ty.is_binary();
        if let Some(field) = field.as_ref().filter(|field| !fits(&field.ty.kind)) {
            let allowed =
                "raw takes CHAR, VARCHAR, STRING, BINARY, VARBINARY, BYTES, BOOLEAN, integers, FLOAT, DOUBLE";
            let message = format!("column {} is {}: {allowed}", field.name, field.ty);
            return Err(Error::new(Kind::Definition, message).about(TablePart::Column(field.name.clone())));
        }
        Ok(Self { field, width, big_endian: options.big_endian, lossy })
    }

    /// Whether a message of no bytes is a value: the empty text, no bytes.
    pub(super) fn takes_empty(&self) -> bool {
        self.field.as_ref().is_none_or(|field| bytes_of(&field.ty.kind).is_none())
    }

    /// Columns of the rows that are read.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Calls `each` for the row of the message.
    pub(super) fn read<'a>(
        &self,
        bytes: &'a [u8],
        arena: &'a Bump,
        mut each: impl FnMut(Fields<'a>) -> Result<(), RowFault>,
    ) -> Result<Tally, RowFault> {
        let mut row = Fields::none(self.width, arena);
        if let Some(field) = &self.field {
            row.set(field.column, self.value(field, bytes, arena)?);
        }
        each(row).map(|()| Tally { rows: 1, dropped: 0 })
    }

    fn value<'a>(&self, field: &FieldSpec, bytes: &'a [u8], arena: &'a Bump) -> Result<Datum<'a>, RowFault> {
        let ty = &field.ty.kind;
        let Some(width) = bytes_of(ty) else {
            return if ty.is_text() { self.text(field, bytes, arena) } else { Ok(Datum::Bytes(bytes)) };
        };
        if bytes.len() != width {
            let detail = format!("{} bytes as {ty}, which raw writes in {width}", bytes.len());
            return Err(fault(field, Reason::Malformed, detail));
        }
        let mut word = [0; 8];
        for (slot, byte) in word.iter_mut().zip(bytes) {
            *slot = *byte;
        }
        if self.big_endian {
            word.rotate_right(8 - width);
            word.reverse();
        }
        let bits = u64::from_le_bytes(word);
        Ok(match ty {
            Type::Boolean => Datum::Bool(bits != 0),
            Type::TinyInt => Datum::Int((bits as i8).into()),
            Type::SmallInt => Datum::Int((bits as i16).into()),
            Type::Int => Datum::Int((bits as i32).into()),
            Type::Float => Datum::Float(f32::from_bits(bits as u32)),
            Type::Double => Datum::Double(f64::from_bits(bits)),
            _ => Datum::Int(bits as i64),
        })
    }

    /// Flink puts U+FFFD in place of what is not UTF-8.
    fn text<'a>(&self, field: &FieldSpec, bytes: &'a [u8], arena: &'a Bump) -> Result<Datum<'a>, RowFault> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Datum::Str(text)),
            Err(_) if self.lossy => Ok(Datum::Str(arena.alloc_str(&String::from_utf8_lossy(bytes)))),
            Err(error) => {
                let detail = format!("the bytes from {} on are not UTF-8 text", error.valid_up_to());
                Err(fault(field, Reason::LossyConversion, detail))
            }
        }
    }

    /// Appends the bytes of a row; false if its value is NULL, which is a null message.
    pub(super) fn write(&self, row: &[Datum<'_>], out: &mut Vec<u8>) -> bool {
        let Some(field) = &self.field else { return false };
        let bits = match row.get(field.column).copied().unwrap_or(Datum::Null) {
            Datum::Str(text) => {
                out.extend_from_slice(text.as_bytes());
                return true;
            }
            Datum::Bytes(bytes) => {
                out.extend_from_slice(bytes);
                return true;
            }
            Datum::Bool(v) => u64::from(v),
            Datum::Int(v) => v as u64,
            Datum::Float(v) => v.to_bits().into(),
            Datum::Double(v) => v.to_bits(),
            _ => return false,
        };
        let width = bytes_of(&field.ty.kind).unwrap_or(8);
        let bytes = bits.to_le_bytes();
        let used = bytes.get(..width).unwrap_or(&bytes);
        if self.big_endian {
            out.extend(used.iter().rev());
        } else {
            out.extend_from_slice(used);
        }
        true
    }
}

fn fault(field: &FieldSpec, reason: Reason, detail: String) -> RowFault {
    RowFault::new(reason, detail)
        .in_column(&field.name)
        .remedy("correct the producer or the column's type in the definition")
}

/// Bytes of a type of fixed width.
fn bytes_of(ty: &Type) -> Option<usize> {
    Some(match ty {
        Type::Boolean | Type::TinyInt => 1,
        Type::SmallInt => 2,
        Type::Int | Type::Float => 4,
        Type::BigInt | Type::Double => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Value;

    fn raw(ty: Type, big_endian: bool, lossy: bool) -> Result<Raw> {
        let field = FieldSpec { name: "v".into(), column: 0, ordinal: 0, ty: ty.nullable() };
        Raw::new(RawOptions { big_endian }, vec![field], 1, lossy)
    }

    fn read(ty: Type, bytes: &[u8]) -> Result<Value, Reason> {
        let (mut value, arena) = (None, Bump::new());
        let read = raw(ty, true, false).unwrap().read(bytes, &arena, |row| {
            value = Some(Value::from(row.values[0]));
            Ok(())
        });
        read.map(|_| value.unwrap()).map_err(|fault| fault.reason)
    }

    #[test]
    fn values_have_the_width_of_their_type() {
        assert_eq!(read(Type::Int, &[0, 0, 0, 5]), Ok(Value::Int(5)));
        assert_eq!(read(Type::Int, &[5]), Err(Reason::Malformed));
        assert_eq!(read(Type::Int, &[]), Err(Reason::Malformed));
        assert_eq!(read(Type::SmallInt, &[0xff, 0xfe]), Ok(Value::Int(-2)));
        assert_eq!(read(Type::BigInt, &[0xff; 8]), Ok(Value::Int(-1)));
        assert_eq!(read(Type::Boolean, &[7]), Ok(Value::Bool(true)));
        assert_eq!(read(Type::Double, &1.5_f64.to_be_bytes()), Ok(Value::Double(1.5)));
        assert_eq!(read(Type::STRING, b""), Ok(Value::Str(String::new())));
        assert_eq!(read(Type::STRING, b"\xff"), Err(Reason::LossyConversion));
        assert_eq!(read(Type::BYTES, b"\xff"), Ok(Value::Bytes(vec![255])));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let values = [
            (Type::TinyInt, Value::Int(-3)),
            (Type::SmallInt, Value::Int(-300)),
            (Type::Int, Value::Int(i32::MIN.into())),
            (Type::BigInt, Value::Int(i64::MAX)),
            (Type::Float, Value::Float(1.5)),
            (Type::Double, Value::Double(-0.0)),
            (Type::Boolean, Value::Bool(false)),
            (Type::STRING, Value::Str("é".into())),
            (Type::BYTES, Value::Bytes(vec![0, 1])),
        ];
        for (ty, value) in values {
            for big_endian in [true, false] {
                let raw = raw(ty.clone(), big_endian, false).unwrap();
                let (mut bytes, arena) = (Vec::new(), Bump::new());
                assert!(value.with_datum(|datum| raw.write(&[datum], &mut bytes)));
                let mut seen = None;
                raw.read(&bytes, &arena, |row| {
                    seen = Some(Value::from(row.values[0]));
                    Ok(())
                })
                .unwrap();
                assert_eq!(seen.as_ref(), Some(&value));
            }
        }
        let mut bytes = Vec::new();
        assert!(
            !raw(Type::Int, true, false).unwrap().write(&[Datum::Null], &mut bytes),
            "NULL is a null message"
        );
    }

    #[test]
    fn a_definition_that_raw_cannot_hold_is_refused() {
        assert!(raw(Type::Date, true, false).is_err());
        let field =
            |name: &str| FieldSpec { name: name.into(), column: 0, ordinal: 0, ty: Type::Int.nullable() };
        assert!(Raw::new(RawOptions { big_endian: true }, vec![field("a"), field("b")], 1, false).is_err());
    }

    #[test]
    fn a_column_that_nothing_reads_is_not_looked_at() {
        let (mut rows, arena) = (0, Bump::new());
        let raw = Raw::new(RawOptions { big_endian: true }, Vec::new(), 1, false).unwrap();
        raw.read(b"any bytes", &arena, |row| {
            rows += usize::from(row.values[0].is_null());
            Ok(())
        })
        .unwrap();
        assert_eq!(rows, 1);
    }
}
