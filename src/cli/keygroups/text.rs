//! Keys as text: arguments, and the lines of a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use csv_core::ReadRecordResult;
use serde_json::Value as Json;

use crate::error::{Result, io_reason};
use crate::expr::parse_type;
use crate::format::parse_text;
use crate::model::{DataType, Datum, RowLayout, Value};

use super::keys::Keys;
use super::{Args, usage};

/// Longest line of a file of keys: Kafka's default limit of a whole record.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Longest part of a key that a message repeats, in characters.
const SHOWN_MAX: usize = 60;

/// The keys of the command line, or of the file that it names.
pub(super) fn read(args: &Args, limit: usize) -> Result<Keys> {
    let types = args
        .types
        .iter()
        .map(|text| parse_type(text).map_err(|error| usage(format!("--type `{text}`: {error}"))));
    let parser = KeyParser::new(types.collect::<Result<_>>()?, &args.null_literal);
    match &args.keys {
        None => {
            let keys = args.key.iter().enumerate();
            let packed = keys.map(|(i, text)| parser.parse(text, &format!("key {}", i + 1)));
            let packed = packed.collect::<Result<_>>()?;
            Ok(Keys::new("the command line".to_owned(), parser.types, packed, usize::MAX))
        }
        Some(path) if path == Path::new("-") => {
            from_lines(parser, io::stdin().lock(), "standard input", limit)
        }
        Some(path) => {
            let name = path.display().to_string();
            let file = File::open(path)
                .map_err(|error| usage(format!("{name}: cannot be read: {}", io_reason(&error))))?;
            from_lines(parser, BufReader::new(file), &name, limit)
        }
    }
}

/// One key per line; one line more than the limit is read, to know that there are more.
fn from_lines(parser: KeyParser, mut lines: impl BufRead, name: &str, limit: usize) -> Result<Keys> {
    let (mut packed, mut line, mut number) = (Vec::new(), Vec::new(), 0_usize);
    while packed.len() <= limit {
        line.clear();
        number += 1;
        let place = format!("{name}, line {number}");
        let read = lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        match read.map_err(|error| usage(format!("{place}: {}", io_reason(&error))))? {
            0 => break,
            bytes if bytes as u64 == LINE_BYTES_MAX && line.last() != Some(&b'\n') => {
                return Err(usage(format!("{place}: longer than {LINE_BYTES_MAX} bytes; one key per line")));
            }
            _ => {}
        }
        let text = std::str::from_utf8(&line).map_err(|_| usage(format!("{place}: it is not UTF-8")))?;
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let text = if number == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        if !text.is_empty() {
            packed.push(parser.parse(text, &place)?);
        }
    }
    Ok(Keys::new(name.to_owned(), parser.types, packed, limit))
}

/// Reads keys of one list of types.
#[derive(Debug)]
struct KeyParser {
    types: Vec<DataType>,
    layout: RowLayout,
    null_literal: String,
}

impl KeyParser {
    fn new(types: Vec<DataType>, null_literal: &str) -> Self {
        let layout = RowLayout::new(&types);
        Self { types, layout, null_literal: null_literal.to_owned() }
    }

    /// The key, packed; `place` is for messages.
    fn parse(&self, text: &str, place: &str) -> Result<Box<[u8]>> {
        let values = self.values(text).map_err(|what| usage(format!("{place}: {what}")))?;
        let mut packed = Vec::new();
        self.layout.pack(&values.iter().map(scalar).collect::<Vec<_>>(), &mut packed);
        Ok(packed.into())
    }

    fn values(&self, text: &str) -> Result<Vec<Value>, String> {
        let parts = match self.types.len() {
            1 => vec![Part::Text(text.to_owned())],
            _ if text.trim_start().starts_with('[') => json_parts(text)?,
            _ => csv_parts(text)?,
        };
        if parts.len() != self.types.len() {
            let types: Vec<String> = self.types.iter().map(DataType::to_string).collect();
            let (parts, wanted, types) = (parts.len(), types.len(), types.join(", "));
            return Err(format!("`{}` has {parts} parts, its types are {wanted}: {types}", shown(text)));
        }
        parts.iter().zip(&self.types).map(|(part, ty)| self.value(part, ty)).collect()
    }

    fn value(&self, part: &Part, ty: &DataType) -> Result<Value, String> {
        match part {
            Part::Text(text) if *text != self.null_literal => typed(text, ty),
            Part::Exact(text) => typed(text, ty),
            Part::Null | Part::Text(_) if ty.nullable => Ok(Value::Null),
            Part::Null | Part::Text(_) => Err(format!("NULL as {ty}")),
        }
    }
}

/// One column of a key, as text.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// NULL of a JSON array.
    Null,
    /// A value of a JSON array, which has a NULL of its own.
    Exact(String),
    /// Any other text: the null literal is NULL.
    Text(String),
}

fn typed(text: &str, ty: &DataType) -> Result<Value, String> {
    parse_text(text, &ty.kind).map_err(|fault| fault.detail)
}

fn json_parts(text: &str) -> Result<Vec<Part>, String> {
    let parts: Vec<Json> =
        serde_json::from_str(text).map_err(|error| format!("`{}` is no JSON array: {error}", shown(text)))?;
    let part = |value: Json| match value {
        Json::Null => Ok(Part::Null),
        Json::String(text) => Ok(Part::Exact(text)),
        Json::Bool(_) | Json::Number(_) => Ok(Part::Exact(value.to_string())),
        Json::Array(_) | Json::Object(_) => Err(format!("`{}`: a key has no nested parts", shown(text))),
    };
    parts.into_iter().map(part).collect()
}

/// The fields of one csv line, with quotes as RFC 4180 has them.
fn csv_parts(text: &str) -> Result<Vec<Part>, String> {
    let mut reader = csv_core::Reader::new();
    let (mut fields, mut ends) = (vec![0; text.len()], vec![0; text.len() + 1]);
    let (_, read, written, ended) = reader.read_record(text.as_bytes(), &mut fields, &mut ends);
    if read != text.len() {
        return Err(format!("`{}` is more than one csv line", shown(text)));
    }
    // The end of the input ends the record.
    let (result, _, _, last) = reader.read_record(&[], &mut [], ends.get_mut(ended..).unwrap_or_default());
    let count = if result == ReadRecordResult::End { ended } else { ended + last };
    let mut start = 0;
    let mut parts = Vec::with_capacity(count);
    for end in ends.iter().take(count) {
        let field = fields.get(start..(*end).min(written)).unwrap_or_default();
        parts.push(Part::Text(String::from_utf8_lossy(field).into_owned()));
        start = *end;
    }
    Ok(parts)
}

/// A value of a scalar type as a datum; the others have no hash.
fn scalar(value: &Value) -> Datum<'_> {
    match value {
        Value::Bool(v) => Datum::Bool(*v),
        Value::Int(v) => Datum::Int(*v),
        Value::Float(v) => Datum::Float(*v),
        Value::Double(v) => Datum::Double(*v),
        Value::Decimal(v) => Datum::Decimal(*v),
        Value::Str(v) => Datum::Str(v),
        Value::Bytes(v) => Datum::Bytes(v),
        Value::Date(v) => Datum::Date(*v),
        Value::Time(v) => Datum::Time(*v),
        Value::Timestamp(v) => Datum::Timestamp(*v),
        Value::Months(v) => Datum::Months(*v),
        Value::Millis(v) => Datum::Millis(*v),
        Value::Null | Value::Array(_) | Value::Map(_) | Value::Row(_) => Datum::Null,
    }
}

/// The text as a message shows it.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Type;

    fn parser(types: &[Type]) -> KeyParser {
        KeyParser::new(types.iter().map(|ty| ty.clone().nullable()).collect(), "null")
    }

    fn text(text: &str) -> Value {
        Value::Str(text.to_owned())
    }

    #[test]
    fn a_composite_key_is_csv_or_json() {
        let pair = parser(&[Type::Int, Type::STRING]);
        assert_eq!(pair.values("-5,abc"), Ok(vec![Value::Int(-5), text("abc")]));
        assert_eq!(pair.values("1,\"a,\"\"b\""), Ok(vec![Value::Int(1), text("a,\"b")]));
        assert_eq!(pair.values("1,"), Ok(vec![Value::Int(1), text("")]));
        assert_eq!(pair.values("null,null"), Ok(vec![Value::Null, Value::Null]));
        assert_eq!(pair.values("[-5, \"null\"]"), Ok(vec![Value::Int(-5), text("null")]));
        assert_eq!(pair.values("[null, null]"), Ok(vec![Value::Null, Value::Null]));
        let wide = parser(&[Type::Decimal { precision: 38, scale: 2 }, Type::BigInt]);
        let decimal = crate::model::Decimal::new(123_456_789_012_345_678_901_234, 2);
        assert_eq!(
            wide.values("[1234567890123456789012.34, 9223372036854775807]"),
            Ok(vec![Value::Decimal(decimal), Value::Int(i64::MAX)])
        );
    }

    #[test]
    fn a_key_of_one_type_is_taken_as_it_stands() {
        let name = parser(&[Type::STRING]);
        assert_eq!(name.values("a,b"), Ok(vec![text("a,b")]));
        assert_eq!(name.values("[\"a\"]"), Ok(vec![text("[\"a\"]")]));
        assert_eq!(name.values("null"), Ok(vec![Value::Null]));
    }

    #[test]
    fn a_bad_key_is_refused_with_its_type() {
        let pair = parser(&[Type::Int, Type::STRING]);
        let wrong = |text| pair.values(text).unwrap_err();
        assert!(wrong("x,abc").contains("`x` as INT"), "{}", wrong("x,abc"));
        assert!(wrong("1").contains("has 1 parts, its types are 2: INT, STRING"), "{}", wrong("1"));
        assert!(wrong("1,a,b").contains("has 3 parts"), "{}", wrong("1,a,b"));
        assert!(wrong("[1").contains("is no JSON array"), "{}", wrong("[1"));
        assert!(wrong("[1, [2]]").contains("no nested parts"), "{}", wrong("[1, [2]]"));
        assert!(wrong("1,a\n2,b").contains("more than one csv line"), "{}", wrong("1,a\n2,b"));
        let strict = KeyParser::new(vec![Type::Int.not_null()], "null");
        assert_eq!(strict.values("null"), Err("NULL as INT NOT NULL".to_owned()));
        assert!(parser(&[Type::TinyInt]).values("128").is_err());
    }

    #[test]
    fn lines_are_keys_up_to_the_limit() {
        let read = |limit| {
            let lines = "\u{feff}1\r\n\n2\n3".as_bytes();
            from_lines(parser(&[Type::Int]), lines, "file", limit).unwrap()
        };
        let keys = read(3);
        let ints: Vec<Vec<Datum<'_>>> = keys.iter().collect();
        assert_eq!(ints, [[Datum::Int(1)], [Datum::Int(2)], [Datum::Int(3)]]);
        assert!(!keys.cut);
        assert!(read(2).cut);
        let wrong = from_lines(parser(&[Type::Int]), "1\nx\n".as_bytes(), "file", 9).unwrap_err();
        assert!(wrong.to_string().starts_with("file, line 2: `x` as INT"), "{wrong}");
    }
}
