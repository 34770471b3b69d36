//! Keys and rows of dimension tables, and the comparison of every way to ask for them.

use std::sync::Arc;

use lookaside::db::Dimension;
use lookaside::model::{Datum, RowLayout, Type, Value};
use lookaside::plan::DimensionColumn;
use tokio::runtime::Runtime;

/// Columns that may be NULL.
pub fn declared(columns: &[(&str, Type)]) -> Vec<DimensionColumn> {
    let column =
        |(name, ty): &(&str, Type)| DimensionColumn { name: (*name).to_owned(), ty: ty.clone().nullable() };
    columns.iter().map(column).collect()
}

/// How rows of these columns are packed.
pub fn layout(columns: &[(&str, Type)]) -> RowLayout {
    RowLayout::new(declared(columns).iter().map(|column| &column.ty))
}

/// A key of one part.
pub fn packed(ty: &Type, value: &Value) -> Box<[u8]> {
    packed_row(&[("k", ty.clone())], std::slice::from_ref(value))
}

/// A key, or row, of these columns.
pub fn packed_row(columns: &[(&str, Type)], values: &[Value]) -> Box<[u8]> {
    let mut out = Vec::new();
    let data: Vec<Datum<'_>> = values.iter().map(borrowed).collect();
    layout(columns).pack(&data, &mut out);
    out.into_boxed_slice()
}

fn borrowed(value: &Value) -> Datum<'_> {
    match value {
        Value::Null => Datum::Null,
        Value::Bool(v) => Datum::Bool(*v),
        Value::Int(v) => Datum::Int(*v),
        Value::Decimal(v) => Datum::Decimal(*v),
        Value::Str(v) => Datum::Str(v),
        Value::Bytes(v) => Datum::Bytes(v),
        Value::Date(v) => Datum::Date(*v),
        Value::Time(v) => Datum::Time(*v),
        Value::Timestamp(v) => Datum::Timestamp(*v),
        other => panic!("{other:?} is no key"),
    }
}

/// The column that tells rows apart.
pub const ID: [(&str, Type); 1] = [("id", Type::BigInt)];

/// Ids of rows.
pub fn ids(rows: &[Arc<[u8]>]) -> Vec<i64> {
    let id = |row: &Arc<[u8]>| match layout(&ID).get(row, 0) {
        Datum::Int(id) => id,
        other => panic!("{other:?}"),
    };
    rows.iter().map(id).collect()
}

/// Fetches all keys at once, each key alone, and all keys twice over; every way gives `expected`.
pub fn compare(
    runtime: &Runtime,
    dimension: &Dimension,
    keys: &[Box<[u8]>],
    expected: &[(String, Vec<i64>)],
) {
    let fetch = |keys: &[Box<[u8]>]| runtime.block_on(dimension.fetch(keys)).unwrap();
    let together = fetch(keys);
    let twice: Vec<Box<[u8]>> = keys.iter().chain(keys.iter().rev()).cloned().collect();
    let twice = fetch(&twice);
    for (i, (label, plain)) in expected.iter().enumerate() {
        assert_eq!(ids(&together[i]), *plain, "{label}, in a batch");
        assert_eq!(ids(&fetch(&keys[i..=i])[0]), *plain, "{label}, alone");
        assert_eq!(ids(&twice[i]), *plain, "{label}, first of two");
        assert_eq!(ids(&twice[2 * keys.len() - 1 - i]), *plain, "{label}, second of two");
    }
}

/// Texts that collations, character sets and JSON treat in their own ways.
pub fn nasty_texts() -> Vec<String> {
    let words = "a A á Á abc ABC äbc ss ß SS ẞ straße STRASSE strasse ? ?? é 日本 日本語 😀 😁 \u{fffd} € \u{81} \u{80} \
         a\"b a\\b a'b a`b a\u{0}b \u{0} \u{1f} a\u{200b}b ab \u{ad}ab æ ae Œ oe ij ĳ ﬁ fi İ i ı I Ω ω 张 張 % _ \
         1 01 1.0 1e0 true null NULL [1] {\"a\":1} \\u0041 e\u{301}";
    let mut texts: Vec<String> = words.split(' ').map(str::to_owned).collect();
    texts.extend(["", " ", "  ", "abc ", "abc  ", " abc", "naïve €", "a\nb", "a\tb"].map(str::to_owned));
    texts.push("x".repeat(200));
    texts.push(format!("abc{}", " ".repeat(300)));
    texts.push("x".repeat(5000));
    texts
}

/// Numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    /// Below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }

    /// Up to four characters that collations and JSON have opinions about.
    pub fn text(&mut self) -> String {
        let alphabet: Vec<char> = "aAáäbBsSßẞeéE\u{301} \t\"\\'?日😀\u{ad}\u{200b}iIıİ%".chars().collect();
        (0..self.below(5)).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}
