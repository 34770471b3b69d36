//! Keys, typed, whatever they were read from.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::expr::text::cast_text;
use crate::model::{DataType, Datum, RowLayout, Type};

/// Keys of one list of column types.
#[derive(Debug)]
pub(super) struct Keys {
    /// Where they are from, for people.
    pub origin: String,
    /// Types of the key's columns.
    pub types: Vec<DataType>,
    /// There were more than the limit.
    pub cut: bool,
    layout: RowLayout,
    packed: Vec<Box<[u8]>>,
}

impl Keys {
    /// Keys that are packed by the layout of `types`; those beyond `limit` are left out.
    pub fn new(origin: String, types: Vec<DataType>, mut packed: Vec<Box<[u8]>>, limit: usize) -> Self {
        let cut = limit < packed.len();
        packed.truncate(limit);
        let layout = RowLayout::new(&types);
        Self { origin, types, cut, layout, packed }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// The columns of each key.
    pub fn iter(&self) -> impl Iterator<Item = Vec<Datum<'_>>> {
        self.packed.iter().map(|key| (0..self.layout.len()).map(|i| self.layout.get(key, i)).collect())
    }

    /// A key as people write it: one column as it stands, several as a csv line.
    pub fn text(&self, key: &[Datum<'_>]) -> String {
        let part = |(datum, ty): (&Datum<'_>, &DataType)| part_text(&ty.kind, *datum);
        let parts = key.iter().zip(&self.types).map(part);
        if key.len() == 1 { parts.collect() } else { parts.map(quoted).collect::<Vec<_>>().join(",") }
    }

    /// A key as JSON: one column as its value, several as an array.
    pub fn json(&self, key: &[Datum<'_>]) -> Json {
        let mut parts = key.iter().zip(&self.types).map(|(datum, ty)| part_json(&ty.kind, *datum));
        if key.len() == 1 { parts.next().unwrap_or(Json::Null) } else { parts.collect() }
    }
}

/// A value in the form in which it can be given as a key: bytes in base64, instants in UTC.
fn part_text(ty: &Type, datum: Datum<'_>) -> String {
    match datum {
        Datum::Null => "null".to_owned(),
        Datum::Bytes(bytes) => STANDARD.encode(bytes),
        Datum::Bool(value) => value.to_string(),
        value => {
            let mut text = Vec::new();
            cast_text(ty, value, None, &mut text);
            if matches!(ty, Type::TimestampLtz(_)) {
                text.push(b'Z');
            }
            String::from_utf8_lossy(&text).into_owned()
        }
    }
}

fn part_json(ty: &Type, datum: Datum<'_>) -> Json {
    let text = part_text(ty, datum);
    match datum {
        Datum::Null => Json::Null,
        Datum::Bool(value) => value.into(),
        // Infinities and NaN are no JSON numbers.
        _ if ty.is_numeric() => serde_json::from_str(&text).unwrap_or(Json::String(text)),
        _ => Json::String(text),
    }
}

/// A csv field: in quotes where it would not be read back as it is.
fn quoted(text: String) -> String {
    let plain = !text.contains(['"', ',', '\n', '\r']);
    if plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Decimal;

    fn keys(types: Vec<DataType>, key: &[Datum<'_>]) -> Keys {
        let mut packed = Vec::new();
        RowLayout::new(&types).pack(key, &mut packed);
        Keys::new("a test".to_owned(), types, vec![packed.into()], 10)
    }

    #[test]
    fn a_key_is_shown_as_it_is_given() {
        let types = vec![
            Type::Decimal { precision: 5, scale: 2 }.nullable(),
            Type::STRING.nullable(),
            Type::BYTES.nullable(),
            Type::TimestampLtz(3).nullable(),
            Type::Boolean.nullable(),
            Type::Int.nullable(),
        ];
        let key = [
            Datum::Decimal(Decimal::new(150, 2)),
            Datum::Str("a,\"b"),
            Datum::Bytes(&[0, 255]),
            Datum::Timestamp(crate::model::Timestamp::from_millis(1_000)),
            Datum::Bool(true),
            Datum::Null,
        ];
        let keys = keys(types, &key);
        let key = keys.iter().next().unwrap();
        assert_eq!(keys.text(&key), "1.50,\"a,\"\"b\",AP8=,1970-01-01 00:00:01.000Z,true,null");
        let json = r#"[1.50,"a,\"b","AP8=","1970-01-01 00:00:01.000Z",true,null]"#;
        assert_eq!(keys.json(&key).to_string(), json);
    }

    #[test]
    fn one_column_is_no_list_and_nan_is_no_number() {
        let text = keys(vec![Type::STRING.nullable()], &[Datum::Str("a,b")]);
        let key = text.iter().next().unwrap();
        assert_eq!((text.text(&key).as_str(), text.json(&key).to_string().as_str()), ("a,b", "\"a,b\""));
        let float = keys(vec![Type::Double.nullable()], &[Datum::Double(f64::NAN)]);
        let key = float.iter().next().unwrap();
        assert_eq!(float.json(&key), Json::String("NaN".to_owned()));
    }
}
