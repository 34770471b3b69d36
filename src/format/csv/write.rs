//! Rows as csv lines without a line end, quoted where Jackson's `CsvEncoder` quotes.
//!
//! Jackson's check is loose on purpose: text of more than 24 UTF-16 units, and
//! text with any character up to the highest of delimiter and quote (so also a
//! blank), is quoted. Numbers and booleans never are.

use crate::error::Result;
use crate::model::{Datum, Decimal, Type, Value, civil, javanum, nested};
use crate::plan::CsvOptions;

use super::check_types;
use crate::format::moment::{write_moment, write_time};
use crate::format::{FieldSpec, base64, number};

/// Longest text that is looked at before it is quoted. Jackson: `MAX_QUOTE_CHECK`.
const QUOTE_CHECK_MAX: usize = 24;

/// Writes lines with fields in the order given.
#[derive(Clone, Debug)]
pub(in crate::format) struct CsvWriter {
    fields: Box<[FieldSpec]>,
    delimiter: char,
    quote: Option<char>,
    escape: Option<char>,
    /// Text with a character up to this one is quoted.
    unsafe_up_to: char,
    null_literal: Box<str>,
    array_delimiter: Box<str>,
    scientific: bool,
    scratch: Vec<u8>,
}

impl CsvWriter {
    pub(in crate::format) fn new(options: &CsvOptions, fields: Vec<FieldSpec>) -> Result<Self> {
        check_types(&fields)?;
        Ok(Self {
            fields: fields.into_boxed_slice(),
            delimiter: options.field_delimiter,
            quote: options.quote,
            escape: options.escape,
            unsafe_up_to: options
                .quote
                .map_or(options.field_delimiter, |quote| quote.max(options.field_delimiter)),
            null_literal: options.null_literal.as_deref().unwrap_or_default().into(),
            array_delimiter: options.array_element_delimiter.as_str().into(),
            scientific: options.decimal_in_scientific_notation,
            scratch: Vec::new(),
        })
    }

    /// Appends the line of a row.
    pub(in crate::format) fn write(&mut self, row: &[Datum<'_>], out: &mut Vec<u8>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        for (i, field) in self.fields.iter().enumerate() {
            if i > 0 {
                push(self.delimiter, out);
            }
            let datum = row.get(field.column).copied().unwrap_or(Datum::Null);
            match datum {
                Datum::Null => out.extend_from_slice(self.null_literal.as_bytes()),
                Datum::Str(text) => self.write_text(text, out),
                _ => {
                    scratch.clear();
                    self.write_value(datum, &field.ty.kind, &mut scratch);
                    if bare(datum) {
                        out.extend_from_slice(&scratch);
                    } else {
                        self.write_text(std::str::from_utf8(&scratch).unwrap_or_default(), out);
                    }
                }
            }
        }
        self.scratch = scratch;
    }

    fn write_value(&self, datum: Datum<'_>, ty: &Type, out: &mut Vec<u8>) {
        match datum {
            Datum::Null => out.extend_from_slice(self.null_literal.as_bytes()),
            Datum::Bool(v) => out.extend_from_slice(if v { b"true" } else { b"false" }),
            Datum::Int(v) | Datum::Millis(v) => number::write_integer(v, out),
            Datum::Months(v) => number::write_integer(v.into(), out),
            Datum::Float(v) => javanum::write_float(v, out),
            Datum::Double(v) => javanum::write_double(v, out),
            Datum::Decimal(v) => self.write_decimal(v, out),
            Datum::Str(v) => out.extend_from_slice(v.as_bytes()),
            Datum::Bytes(v) => base64::encode(v, out),
            Datum::Date(v) => civil::write_date(v.into(), out),
            Datum::Time(v) => write_time(v, out),
            Datum::Timestamp(v) => {
                write_moment(v, b' ', out);
                if matches!(ty, Type::TimestampLtz(_)) {
                    out.push(b'Z');
                }
            }
            Datum::Nested(bytes) => self.write_nested(&nested::decode(bytes).unwrap_or(Value::Null), ty, out),
        }
    }

    /// Flink's form is `BigDecimal.toString` after trailing zeros are cut, zero left as it is.
    fn write_decimal(&self, value: Decimal, out: &mut Vec<u8>) {
        if !self.scientific {
            return number::write_decimal(value, out);
        }
        if value.unscaled() == 0 {
            return javanum::write_big_decimal(0, value.scale().into(), out);
        }
        let (unscaled, scale) = javanum::stripped(value);
        javanum::write_big_decimal(unscaled, scale, out);
    }

    fn write_nested(&self, value: &Value, ty: &Type, out: &mut Vec<u8>) {
        let parts: Vec<(&Value, &Type)> = match (value, ty) {
            (Value::Array(items), Type::Array(element)) => {
                items.iter().map(|item| (item, &element.kind)).collect()
            }
            (Value::Row(values), Type::Row(fields)) => {
                values.iter().zip(fields).map(|(value, field)| (value, &field.ty.kind)).collect()
            }
            _ => Vec::new(),
        };
        for (i, (part, ty)) in parts.into_iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(self.array_delimiter.as_bytes());
            }
            part.with_datum(|datum| self.write_value(datum, ty, out));
        }
    }

    fn write_text(&self, text: &str, out: &mut Vec<u8>) {
        let Some(quote) = self.quote.filter(|_| self.needs_quotes(text)) else {
            return out.extend_from_slice(text.as_bytes());
        };
        push(quote, out);
        for c in text.chars() {
            if c == quote || Some(c) == self.escape {
                push(c, out);
            }
            push(c, out);
        }
        push(quote, out);
    }

    fn needs_quotes(&self, text: &str) -> bool {
        let long = text.len() > QUOTE_CHECK_MAX
            && text.chars().map(char::len_utf16).sum::<usize>() > QUOTE_CHECK_MAX;
        long || text.chars().any(|c| c <= self.unsafe_up_to || Some(c) == self.escape)
    }
}

/// Whether a value is written without a look at quotes.
fn bare(datum: Datum<'_>) -> bool {
    matches!(
        datum,
        Datum::Bool(_)
            | Datum::Int(_)
            | Datum::Float(_)
            | Datum::Double(_)
            | Datum::Decimal(_)
            | Datum::Months(_)
            | Datum::Millis(_)
    )
}

fn push(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}
