//! Rows as JSON objects, as Flink's `RowDataToJsonConverters` writes them.

use crate::error::{Reason, Result, RowFault};
use crate::model::{Cells, DataType, Datum, Decimal, Field, Type, Value, civil, javanum, nested};
use crate::plan::{JsonOptions, MapNullKey};

use super::usual_row::UsualRow;
use super::{check_types, form};
use crate::format::base64;
use crate::format::misfit::Misfit;
use crate::format::moment::{Form, write_moment, write_time};
use crate::format::{FieldSpec, number};

/// Writes objects with fields in the order given.
#[derive(Clone, Debug)]
pub(in crate::format) struct JsonWriter {
    fields: Box<[Member]>,
    style: Style,
    ignore_null_fields: bool,
    /// For rows of usual values; `None` where no row is.
    usual: Option<UsualRow>,
}

#[derive(Clone, Debug)]
struct Member {
    column: usize,
    /// `,"name":`, ready to append.
    head: Box<[u8]>,
    name: String,
    ty: Type,
}

/// How values look.
#[derive(Clone, Debug)]
struct Style {
    timestamps: Form,
    plain_decimals: bool,
    ignore_null_fields: bool,
    map_null_key: MapNullKey,
}

impl JsonWriter {
    /// # Errors
    /// [`crate::error::Kind::Definition`] for types that JSON does not have.
    pub(in crate::format) fn new(options: &JsonOptions, fields: Vec<FieldSpec>) -> Result<Self> {
        check_types(&fields)?;
        let usual = UsualRow::new(options, &fields);
        let member = |field: FieldSpec| {
            let mut head = vec![b','];
            write_text(&field.name, &mut head);
            head.push(b':');
            Member { column: field.column, head: head.into(), name: field.name, ty: field.ty.kind }
        };
        let style = Style {
            timestamps: form(options.timestamp_format),
            plain_decimals: options.decimal_as_plain_number,
            ignore_null_fields: options.ignore_null_fields,
            map_null_key: options.map_null_key.clone(),
        };
        Ok(Self {
            fields: fields.into_iter().map(member).collect(),
            ignore_null_fields: style.ignore_null_fields,
            style,
            usual,
        })
    }

    /// Appends the object of a row.
    #[inline]
    pub(in crate::format) fn write(&mut self, row: &[Datum<'_>], out: &mut Vec<u8>) -> Result<(), RowFault> {
        if self.usual.as_mut().is_some_and(|usual| usual.write(row, out)) {
            return Ok(());
        }
        self.write_general(row, out)
    }

    /// Appends the object of a row, if all its values are usual; else false, and nothing is appended.
    #[inline]
    pub(in crate::format) fn write_cells(&mut self, row: &impl Cells, out: &mut Vec<u8>) -> bool {
        self.usual.as_mut().is_some_and(|usual| usual.write(row, out))
    }

    /// [`JsonWriter::write`] for every row.
    #[inline(never)]
    pub(super) fn write_general(&self, row: &[Datum<'_>], out: &mut Vec<u8>) -> Result<(), RowFault> {
        out.push(b'{');
        let mut first = true;
        for member in &self.fields {
            let datum = row.get(member.column).copied().unwrap_or(Datum::Null);
            if datum.is_null() && self.ignore_null_fields {
                continue;
            }
            out.extend_from_slice(member.head.get(usize::from(first)..).unwrap_or_default());
            first = false;
            self.style
                .write(datum, &member.ty, out)
                .map_err(|misfit| misfit.fault(&member.name, &member.ty, "a MAP"))?;
        }
        out.push(b'}');
        Ok(())
    }
}

impl Style {
    fn write(&self, datum: Datum<'_>, ty: &Type, out: &mut Vec<u8>) -> Result<(), Misfit> {
        match datum {
            Datum::Null => out.extend_from_slice(b"null"),
            Datum::Bool(true) => out.extend_from_slice(b"true"),
            Datum::Bool(false) => out.extend_from_slice(b"false"),
            Datum::Int(v) | Datum::Millis(v) => number::write_integer(v, out),
            Datum::Months(v) => number::write_integer(v.into(), out),
            Datum::Float(v) if v.is_finite() => javanum::write_float(v, out),
            Datum::Float(v) => quoted(out, |out| javanum::write_float(v, out)),
            Datum::Double(v) if v.is_finite() => javanum::write_double(v, out),
            Datum::Double(v) => quoted(out, |out| javanum::write_double(v, out)),
            Datum::Decimal(v) if self.plain_decimals => number::write_decimal(v, out),
            Datum::Decimal(v) => write_stripped(v, out),
            Datum::Str(v) => write_text(v, out),
            Datum::Bytes(v) => quoted(out, |out| base64::encode(v, out)),
            Datum::Date(v) => quoted(out, |out| civil::write_date(v.into(), out)),
            Datum::Time(v) => quoted(out, |out| write_time(v, out)),
            Datum::Timestamp(v) => quoted(out, |out| {
                write_moment(v, self.timestamps.separator, out);
                if matches!(ty, Type::TimestampLtz(_)) {
                    out.push(b'Z');
                }
            }),
            Datum::Nested(bytes) => {
                let value = nested::decode(bytes).unwrap_or(Value::Null);
                self.write_value(&value, ty, out)?;
            }
        }
        Ok(())
    }

    fn write_value(&self, value: &Value, ty: &Type, out: &mut Vec<u8>) -> Result<(), Misfit> {
        match (value, ty) {
            (Value::Array(items), Type::Array(element)) => {
                out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    separate(i, out);
                    self.write_value(item, &element.kind, out)?;
                }
                out.push(b']');
                Ok(())
            }
            (Value::Map(entries), Type::Map(_, element)) => self.write_map(entries, element, out),
            (Value::Row(values), Type::Row(fields)) => self.write_row(values, fields, out),
            (Value::Array(_) | Value::Map(_) | Value::Row(_), _) => {
                out.extend_from_slice(b"null");
                Ok(())
            }
            _ => value.with_datum(|datum| self.write(datum, ty, out)),
        }
    }

    fn write_row(&self, values: &[Value], fields: &[Field], out: &mut Vec<u8>) -> Result<(), Misfit> {
        out.push(b'{');
        let mut written = 0;
        for (value, field) in values.iter().zip(fields) {
            if *value == Value::Null && self.ignore_null_fields {
                continue;
            }
            separate(written, out);
            written += 1;
            write_text(&field.name, out);
            out.push(b':');
            self.write_value(value, &field.ty.kind, out)?;
        }
        out.push(b'}');
        Ok(())
    }

    fn write_map(
        &self,
        entries: &[(Value, Value)],
        element: &DataType,
        out: &mut Vec<u8>,
    ) -> Result<(), Misfit> {
        out.push(b'{');
        let mut written = 0;
        for (key, value) in entries {
            let key = match (key, &self.map_null_key) {
                (Value::Str(key), _) => key.as_str(),
                (Value::Null, MapNullKey::Literal(literal)) => literal.as_str(),
                (Value::Null, MapNullKey::Drop) => continue,
                _ => return Err(NULL_MAP_KEY),
            };
            separate(written, out);
            written += 1;
            write_text(key, out);
            out.push(b':');
            self.write_value(value, &element.kind, out)?;
        }
        out.push(b'}');
        Ok(())
    }
}

const NULL_MAP_KEY: Misfit = Misfit {
    reason: Reason::InvalidArgument,
    what: "JSON has no NULL key; json.map-null-key.mode DROP or LITERAL says what to write instead",
};

fn separate(written: usize, out: &mut Vec<u8>) {
    if written > 0 {
        out.push(b',');
    }
}

fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

/// Flink's form without `encode.decimal-as-plain-number`: trailing zeros cut, then as `BigDecimal.toString`.
/// Zero keeps its scale.
fn write_stripped(value: Decimal, out: &mut Vec<u8>) {
    if value.unscaled() == 0 {
        return javanum::write_big_decimal(0, value.scale().into(), out);
    }
    let (unscaled, scale) = javanum::stripped(value);
    javanum::write_big_decimal(unscaled, scale, out);
}

/// Appends a string in quotes. Control characters, quotes and backslashes are escaped, nothing else.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let plain = plain_prefix(rest);
        let (before, after) = rest.split_at(plain);
        out.extend_from_slice(before);
        let Some((first, after)) = after.split_first() else { break };
        write_escape(*first, out);
        rest = after;
    }
    out.push(b'"');
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Length of the part in front that needs no escape.
fn plain_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word);
        let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
        // A byte below 0x20 borrows from its high bit; bytes from 0x80 on are masked by `!word`.
        let controls = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let special =
            controls | zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|b| *b < 0x20 || matches!(b, b'"' | b'\\')).unwrap_or(rest.len())
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => {
            let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}
