//! A JSON value as a value of its column's type, by Flink's rules.
//!
//! What Flink would silently alter is a [`Misfit`] unless lossy conversion is
//! on. Flink: `JsonParserToRowDataConverters`.

use bumpalo::Bump;
use hashbrown::HashMap;

use crate::error::Reason;
use crate::model::{DataType, Datum, Field, Type, Value, nested};

use super::scan::{Broken, Scanner, Text, Token};
use super::write::write_text;
use crate::format::misfit::Misfit;
use crate::format::moment::{self, Form};
use crate::format::{base64, number};

/// What conversion depends on besides the type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// `value.lossy-conversion: flink`.
    pub lossy: bool,
    /// `ignore-parse-errors`: a bad element or field inside of a nested value becomes NULL.
    pub ignore_errors: bool,
    /// `fail-on-missing-field`, for nested rows.
    pub fail_on_missing_field: bool,
    /// `timestamp-format.standard`.
    pub timestamps: Form,
}

impl Rules {
    /// The value of a token.
    pub(super) fn convert<'a>(
        self,
        token: Token<'a>,
        ty: &Type,
        arena: &'a Bump,
    ) -> Result<Datum<'a>, Misfit> {
        if token == Token::Null {
            return Ok(Datum::Null);
        }
        match ty {
            Type::Int | Type::BigInt => self.wide_integer(token, ty, arena).map(Datum::Int),
            Type::TinyInt | Type::SmallInt => narrow_integer(token, ty, arena).map(Datum::Int),
            Type::Char(_) | Type::Varchar(_) => Ok(Datum::Str(as_text(token, arena))),
            Type::Decimal { precision, scale } => self.decimal(token, (*precision, *scale), arena),
            Type::Timestamp(_) | Type::TimestampLtz(_) => {
                moment::timestamp(plain(token, arena)?, ty, self.timestamps).map(Datum::Timestamp)
            }
            Type::Boolean => self.boolean(token, arena).map(Datum::Bool),
            Type::Double => {
                let text = numeric(token, arena)?;
                let value: f64 = number::float(text)?;
                self.finite(value.is_infinite(), text).map(|()| Datum::Double(value))
            }
            Type::Float => {
                let text = numeric(token, arena)?;
                let value: f32 = number::float(text)?;
                self.finite(value.is_infinite(), text).map(|()| Datum::Float(value))
            }
            Type::Date => moment::date(plain(token, arena)?).map(Datum::Date),
            Type::Time(_) => moment::time(plain(token, arena)?, false).map(Datum::Time),
            Type::Binary(_) | Type::Varbinary(_) => match token {
                Token::Text(text) => base64::decode(text.resolve(arena), arena).map(Datum::Bytes),
                _ => Err(Misfit::malformed("is not a base64 string")),
            },
            Type::Array(_) | Type::Map(..) | Type::Row(_) => self.nested_datum(token, ty, arena),
            Type::IntervalMonths | Type::IntervalMillis | Type::Null => Ok(Datum::Null),
        }
    }

    /// INT and BIGINT take numbers with a point or an exponent, TINYINT and SMALLINT do not.
    fn wide_integer(self, token: Token<'_>, ty: &Type, arena: &Bump) -> Result<i64, Misfit> {
        let range = ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
        match token {
            Token::Number(text) => match number::integer(text, range) {
                Err(_) if text.bytes().any(|b| matches!(b, b'.' | b'e' | b'E')) => {
                    number::integer_of_any_form(text, range, self.lossy)
                }
                result => result,
            },
            _ => narrow_integer(token, ty, arena),
        }
    }

    fn decimal<'a>(self, token: Token<'a>, ty: (u8, u8), arena: &'a Bump) -> Result<Datum<'a>, Misfit> {
        match number::decimal(numeric(token, arena)?, ty.0, ty.1) {
            Err(misfit) if self.lossy && misfit.reason == Reason::ValueOutOfRange => Ok(Datum::Null),
            result => result.map(Datum::Decimal),
        }
    }

    fn boolean(self, token: Token<'_>, arena: &Bump) -> Result<bool, Misfit> {
        match token {
            Token::Bool(value) => Ok(value),
            Token::Number(_) | Token::Text(_) => {
                number::boolean(plain(token, arena)?.trim_matches(number::is_java_blank), self.lossy)
            }
            _ => Err(Misfit::malformed("is neither true nor false")),
        }
    }

    fn finite(self, infinite: bool, text: &str) -> Result<(), Misfit> {
        if infinite && !self.lossy && !number::names_infinity(text) {
            return Err(Misfit::out_of_range("is outside of the type's range"));
        }
        Ok(())
    }

    fn nested_datum<'a>(self, token: Token<'_>, ty: &Type, arena: &'a Bump) -> Result<Datum<'a>, Misfit> {
        let value = self.nested(token, ty, arena)?;
        let mut bytes = Vec::new();
        nested::encode(&value, &mut bytes);
        Ok(Datum::Nested(arena.alloc_slice_copy(&bytes)))
    }

    /// A value inside of a nested one.
    fn inner(self, scanner: &mut Scanner<'_>, ty: &DataType, arena: &Bump) -> Result<Value, Misfit> {
        let token = scanner.value().map_err(|_: Broken| NOT_JSON)?;
        let value = match &ty.kind {
            _ if token == Token::Null => Ok(Value::Null),
            nested if nested.is_nested() => self.nested(token, nested, arena),
            scalar => self.convert(token, scalar, arena).map(Value::from),
        };
        match value {
            Err(_) if self.ignore_errors => Ok(Value::Null),
            value => value,
        }
    }

    fn nested(self, token: Token<'_>, ty: &Type, arena: &Bump) -> Result<Value, Misfit> {
        match (ty, token) {
            (Type::Array(element), Token::Array(text)) => self.array(text, element, arena),
            (Type::Map(_, element), Token::Object(text)) => self.map(text, element, arena),
            (Type::Row(fields), Token::Object(text)) => self.row(text, fields, arena),
            (Type::Array(_), _) => Err(Misfit::malformed("is not a JSON array")),
            _ => Err(Misfit::malformed("is not a JSON object")),
        }
    }

    fn array(self, text: &str, element: &DataType, arena: &Bump) -> Result<Value, Misfit> {
        let mut scanner = Scanner::new(text);
        let mut items = Vec::new();
        scanner.expect(b'[', "").map_err(|_: Broken| NOT_JSON)?;
        while scanner.element(items.is_empty()).map_err(|_: Broken| NOT_JSON)? {
            items.push(self.inner(&mut scanner, element, arena)?);
        }
        Ok(Value::Array(items))
    }

    /// Keys are text. The last value of a repeated key wins; order is that of the first appearance.
    fn map(self, text: &str, element: &DataType, arena: &Bump) -> Result<Value, Misfit> {
        let mut scanner = Scanner::new(text);
        let mut entries: Vec<(Value, Value)> = Vec::new();
        let mut positions: HashMap<&str, usize, foldhash::fast::RandomState> = HashMap::default();
        scanner.expect(b'{', "").map_err(|_: Broken| NOT_JSON)?;
        let mut first = true;
        while let Some(name) = scanner.member(first).map_err(|_: Broken| NOT_JSON)? {
            first = false;
            let name = name.resolve(arena);
            let value = self.inner(&mut scanner, element, arena)?;
            let position = *positions.entry(name).or_insert(entries.len());
            match entries.get_mut(position) {
                Some(entry) => entry.1 = value,
                None => entries.push((Value::Str(name.to_owned()), value)),
            }
        }
        Ok(Value::Map(entries))
    }

    fn row(self, text: &str, fields: &[Field], arena: &Bump) -> Result<Value, Misfit> {
        let mut scanner = Scanner::new(text);
        let mut values: Vec<Option<Value>> = vec![None; fields.len()];
        scanner.expect(b'{', "").map_err(|_: Broken| NOT_JSON)?;
        let mut first = true;
        while let Some(name) = scanner.member(first).map_err(|_: Broken| NOT_JSON)? {
            first = false;
            let name = name.resolve(arena);
            match fields.iter().zip(&mut values).find(|(field, _)| field.name == name) {
                Some((field, value)) => *value = Some(self.inner(&mut scanner, &field.ty, arena)?),
                None => drop(scanner.value().map_err(|_: Broken| NOT_JSON)?),
            }
        }
        if self.fail_on_missing_field && values.iter().any(Option::is_none) {
            return Err(Misfit { reason: Reason::MissingField, what: "lacks a field of the row" });
        }
        Ok(Value::Row(values.into_iter().map(|value| value.unwrap_or(Value::Null)).collect()))
    }
}

/// Nested text was passed by the scanner before, so it is JSON.
const NOT_JSON: Misfit = Misfit { reason: Reason::Malformed, what: "is not JSON" };

/// An integer without point or exponent, or a string that holds one between blanks.
fn narrow_integer(token: Token<'_>, ty: &Type, arena: &Bump) -> Result<i64, Misfit> {
    let range = ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
    number::integer(numeric(token, arena)?, range)
}

/// The text of a number, or of a string without the blanks around it.
fn numeric<'a>(token: Token<'a>, arena: &'a Bump) -> Result<&'a str, Misfit> {
    match token {
        Token::Number(text) => Ok(text),
        Token::Text(text) => Ok(text.resolve(arena).trim_matches(number::is_java_blank)),
        _ => Err(Misfit::malformed("is not a number")),
    }
}

/// The text of a string or a number.
fn plain<'a>(token: Token<'a>, arena: &'a Bump) -> Result<&'a str, Misfit> {
    match token {
        Token::Number(text) => Ok(text),
        Token::Text(text) => Ok(text.resolve(arena)),
        _ => Err(Misfit::malformed("is not a string")),
    }
}

/// STRING takes everything: numbers as written, arrays and objects as compact JSON.
fn as_text<'a>(token: Token<'a>, arena: &'a Bump) -> &'a str {
    match token {
        Token::Text(text) => text.resolve(arena),
        Token::Number(text) => text,
        Token::Bool(true) => "true",
        Token::Bool(false) => "false",
        Token::Null => "null",
        Token::Array(text) | Token::Object(text) => compact(text, arena),
    }
}

/// The same JSON without blanks, strings escaped as the writer does.
fn compact<'a>(text: &'a str, arena: &'a Bump) -> &'a str {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.as_bytes().first() {
        let passed = match first {
            b'"' => {
                let mut scanner = Scanner::new(rest);
                let Ok(Token::Text(string)) = scanner.value() else { return text };
                write_text(string.resolve(arena), &mut out);
                scanner.position()
            }
            b' ' | b'\t' | b'\n' | b'\r' => 1,
            other => {
                out.push(*other);
                1
            }
        };
        rest = rest.get(passed..).unwrap_or_default();
    }
    std::str::from_utf8(&out).map_or(text, |out| arena.alloc_str(out))
}

/// The value of a token as a message shows it.
pub(super) fn shown<'a>(token: Token<'a>) -> &'a str {
    match token {
        Token::Null => "null",
        Token::Bool(true) => "true",
        Token::Bool(false) => "false",
        Token::Number(text) | Token::Array(text) | Token::Object(text) => text,
        Token::Text(Text { raw, .. }) => raw,
    }
}
