//! A csv field as a value of its column's type. Flink: `CsvToRowDataConverters`.

use bumpalo::Bump;

use crate::error::Reason;
use crate::model::{DataType, Datum, Type, Value, nested};
use crate::plan::CsvOptions;

use crate::format::misfit::Misfit;
use crate::format::moment::{self, Form};
use crate::format::{base64, number};

/// What conversion depends on besides the type.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub lossy: bool,
    pub ignore_errors: bool,
    pub null_literal: Option<Box<str>>,
    pub empty_is_null: bool,
    pub array_delimiter: Box<str>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            lossy: false,
            ignore_errors: false,
            null_literal: None,
            empty_is_null: false,
            array_delimiter: ";".into(),
        }
    }
}

impl Rules {
    pub(super) fn of(options: &CsvOptions, lossy: bool) -> Self {
        Self {
            lossy,
            ignore_errors: options.ignore_parse_errors,
            null_literal: options.null_literal.as_deref().map(Box::from),
            empty_is_null: options.empty_string_as_null,
            array_delimiter: options.array_element_delimiter.as_str().into(),
        }
    }

    /// The value of a field.
    pub(super) fn convert<'a>(&self, text: &'a str, ty: &Type, arena: &'a Bump) -> Result<Datum<'a>, Misfit> {
        if self.null_literal.as_deref() == Some(text) || self.empty_is_null && text.is_empty() {
            return Ok(Datum::Null);
        }
        match ty {
            Type::Array(_) | Type::Row(_) | Type::Map(..) => {
                let value = self.nested(text, ty, arena)?;
                if value == Value::Null {
                    return Ok(Datum::Null);
                }
                let mut bytes = Vec::new();
                nested::encode(&value, &mut bytes);
                Ok(Datum::Nested(arena.alloc_slice_copy(&bytes)))
            }
            scalar => self.scalar(text, scalar, arena),
        }
    }

    fn scalar<'a>(&self, text: &'a str, ty: &Type, arena: &'a Bump) -> Result<Datum<'a>, Misfit> {
        let trimmed = text.trim_matches(number::is_java_blank);
        Ok(match ty {
            Type::Char(_) | Type::Varchar(_) => Datum::Str(text),
            Type::TinyInt | Type::SmallInt | Type::Int | Type::BigInt => {
                let range = ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
                Datum::Int(number::integer(trimmed, range)?)
            }
            Type::Decimal { precision, scale } => match number::decimal(trimmed, *precision, *scale) {
                Err(Misfit { reason: Reason::ValueOutOfRange, .. }) if self.lossy => Datum::Null,
                result => Datum::Decimal(result?),
            },
            Type::Boolean => Datum::Bool(number::boolean(trimmed, self.lossy)?),
            Type::Double => Datum::Double(self.finite(trimmed, number::float(trimmed)?, f64::is_infinite)?),
            Type::Float => Datum::Float(self.finite(trimmed, number::float(trimmed)?, f32::is_infinite)?),
            Type::Date => Datum::Date(moment::date(text)?),
            Type::Time(precision) => Datum::Time(cut(moment::time(text, true)?, *precision)),
            Type::Timestamp(_) | Type::TimestampLtz(_) => {
                Datum::Timestamp(moment::timestamp(text, ty, Form::SQL)?)
            }
            Type::Binary(_) | Type::Varbinary(_) => Datum::Bytes(base64::decode(text, arena)?),
            _ => Datum::Null,
        })
    }

    fn finite<F: Copy>(&self, text: &str, value: F, infinite: impl Fn(F) -> bool) -> Result<F, Misfit> {
        if infinite(value) && !self.lossy && !number::names_infinity(text) {
            return Err(Misfit::out_of_range("is outside of the type's range"));
        }
        Ok(value)
    }

    /// Elements and fields are told apart by `array-element-delimiter`; a row of another length is a fault.
    fn nested(&self, text: &str, ty: &Type, arena: &Bump) -> Result<Value, Misfit> {
        let parts = text.split(&*self.array_delimiter).filter(|_| !text.is_empty());
        match ty {
            Type::Array(element) => {
                parts.map(|part| self.part(part, element, arena)).collect::<Result<_, _>>().map(Value::Array)
            }
            Type::Row(fields) => {
                let parts: Vec<&str> = parts.collect();
                if parts.is_empty() {
                    return Ok(Value::Null);
                }
                if parts.len() != fields.len() && !self.ignore_errors {
                    return Err(Misfit::malformed("has another number of fields"));
                }
                let value = |(i, field): (usize, &crate::model::Field)| match parts.get(i) {
                    Some(part) => self.part(part, &field.ty, arena),
                    None => Ok(Value::Null),
                };
                fields.iter().enumerate().map(value).collect::<Result<_, _>>().map(Value::Row)
            }
            _ => Err(Misfit::malformed("is of a type that csv does not have")),
        }
    }

    fn part(&self, text: &str, ty: &DataType, arena: &Bump) -> Result<Value, Misfit> {
        if self.null_literal.as_deref() == Some(text) {
            return Ok(Value::Null);
        }
        match self.scalar(text, &ty.kind, arena) {
            Ok(datum) => Ok(Value::from(datum)),
            Err(_) if self.ignore_errors => Ok(Value::Null),
            Err(misfit) => Err(misfit),
        }
    }
}

/// Cuts milliseconds of a day to a precision below 3.
fn cut(millis: i32, precision: u8) -> i32 {
    let unit = 10_i32.pow(3_u32.saturating_sub(precision.into()));
    millis / unit * unit
}
