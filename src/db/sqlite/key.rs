//! One part of a lookup key: from the declared type to what SQLite compares.
//!
//! The answer must be the one that `SELECT … WHERE column = ?` gives. SQLite
//! converts neither side beyond the column's affinity, so the declared type
//! says which class a key has: an integer, a text, bytes. Two kinds need care.
//! A *decimal* is a binary float in SQLite unless it is whole, so a key that no
//! float shows exactly is *absent*: no row can have it. A *time* is a text, and
//! the same moment has several: it is asked for as `yyyy-MM-dd HH:mm:ss`, with
//! exactly as many digits of the second as the declared type has.

use crate::model::{Datum, Decimal, Type};

use super::super::dialect::{Bind, Key, Part};
use super::super::table::ColumnInfo;
use super::super::{number, temporal};
use super::compatibility::Affinity;

/// Bytes of a binary key in a batch, where it takes two characters for each; longer ones are compared alone.
const BINARY_MAX: usize = 2000;

/// Significant digits that every reader of numbers turns into the same float.
const EXACT_DIGITS: usize = 15;

/// The live column that a key part is compared with.
#[derive(Clone, Debug)]
pub struct KeyColumn {
    /// Name as the database spells it.
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer,
    Number,
    Text,
    Binary,
    Date,
    Time(u8),
    /// Also of TIMESTAMP_LTZ: its text is in UTC.
    Timestamp(u8),
}

impl KeyColumn {
    /// The column, and how values of `declared` are compared with it.
    ///
    /// # Errors
    /// Why it cannot be a lookup key.
    pub(super) fn new(column: &ColumnInfo, declared: &Type) -> Result<Self, String> {
        let kind = match declared {
            Type::Boolean | Type::TinyInt | Type::SmallInt | Type::Int | Type::BigInt => Kind::Integer,
            Type::Decimal { .. } if Affinity::of(column) == Affinity::Text => {
                return Err("texts are compared letter by letter, so a DECIMAL would miss '1.50' for 1.5; \
                            declare it STRING"
                    .to_owned());
            }
            Type::Decimal { .. } => Kind::Number,
            Type::Char(_) | Type::Varchar(_) => Kind::Text,
            Type::Binary(_) | Type::Varbinary(_) => Kind::Binary,
            Type::Date => Kind::Date,
            Type::Time(digits) => Kind::Time(*digits),
            Type::Timestamp(digits) | Type::TimestampLtz(digits) => Kind::Timestamp(*digits),
            _ => return Err(format!("{declared} cannot be a lookup key")),
        };
        Ok(Self { name: column.name.clone(), kind })
    }

    /// How a value of the batch is compared.
    pub(super) fn batch_side(&self, value: &str) -> String {
        if self.kind == Kind::Binary { format!("unhex({value})") } else { value.to_owned() }
    }

    fn try_convert(&self, value: Datum<'_>) -> Option<Part> {
        let text = |text: String| Part::batched(Bind::Text(text));
        match (self.kind, value) {
            (Kind::Integer, value) => {
                let whole = i64::try_from(number::whole(value)?).ok()?;
                Some(Part::batched(Bind::Signed(whole)))
            }
            (Kind::Number, Datum::Decimal(value)) => decimal(value),
            // JSON would end the text at the NUL.
            (Kind::Text, Datum::Str(value)) if value.contains('\0') => {
                Some(Part::alone(Bind::Text(value.to_owned())))
            }
            (Kind::Text, Datum::Str(value)) => Some(text(value.to_owned())),
            (Kind::Binary, Datum::Bytes(bytes)) => {
                let batched = bytes.len() <= BINARY_MAX;
                Some(Part::Value { bind: Bind::Bytes(bytes.to_vec()), batched })
            }
            (Kind::Date, Datum::Date(days)) => temporal::date_text(days.into()).map(text),
            (Kind::Time(digits), Datum::Time(millis)) => temporal::time_text(millis, digits).map(text),
            (Kind::Timestamp(digits), Datum::Timestamp(at)) => temporal::timestamp_text(at, digits).map(text),
            _ => None,
        }
    }
}

impl Key for KeyColumn {
    fn name(&self) -> &str {
        &self.name
    }

    fn placeholder(&self) -> String {
        "?".to_owned()
    }

    fn convert(&self, value: Datum<'_>) -> Part {
        self.try_convert(value).unwrap_or(Part::Absent)
    }

    /// An index may have another collation than its column: `a` and `A` are two for it and one for the column.
    fn is_exact(&self) -> bool {
        self.kind != Kind::Text
    }
}

/// A decimal as the integer or the float that SQLite holds for it.
fn decimal(value: Decimal) -> Option<Part> {
    let exact = number::shortest(value);
    if exact.scale() == 0
        && let Ok(whole) = i64::try_from(exact.unscaled())
    {
        return Some(Part::batched(Bind::Signed(whole)));
    }
    let text = exact.to_string();
    let float: f64 = text.parse().ok()?;
    let shown = Decimal::parse(&format!("{float}"))?;
    let digits = exact.unscaled().unsigned_abs().to_string().len();
    (number::shortest(shown) == exact)
        .then_some(Part::Value { bind: Bind::Double(float), batched: digits <= EXACT_DIGITS })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    fn key(column_type: &str, declared: &Type) -> KeyColumn {
        let column = ColumnInfo { column_type: column_type.to_owned(), ..ColumnInfo::default() };
        KeyColumn::new(&column, declared).unwrap()
    }

    #[test]
    fn decimals_are_what_a_float_shows_or_absent() {
        let money = key("decimal(20,4)", &Type::Decimal { precision: 38, scale: 10 });
        let convert = |text: &str| money.convert(Datum::Decimal(Decimal::parse(text).unwrap()));
        assert_eq!(convert("7.0000"), Part::batched(Bind::Signed(7)));
        assert_eq!(convert("-1.50"), Part::batched(Bind::Double(-1.5)));
        assert_eq!(convert("0.1"), Part::batched(Bind::Double(0.1)));
        assert_eq!(convert("0.12345678901234568"), Part::alone(Bind::Double(0.123_456_789_012_345_68)));
        assert_eq!(convert("0.12345678901234567"), Part::Absent);
        assert_eq!(convert("0.1000000000000000055"), Part::Absent);
        assert_eq!(convert("18446744073709551615"), Part::Absent);
    }

    #[test]
    fn times_have_exactly_the_declared_digits() {
        let at = Datum::Timestamp(Timestamp { millis: 1_500, nanos: 0 });
        let expected = Part::batched(Bind::Text("1970-01-01 00:00:01.500".to_owned()));
        assert_eq!(key("datetime", &Type::Timestamp(3)).convert(at), expected);
        assert_eq!(key("datetime", &Type::Timestamp(0)).convert(at), Part::Absent);
        let date = Part::batched(Bind::Text("1970-01-02".to_owned()));
        assert_eq!(key("date", &Type::Date).convert(Datum::Date(1)), date);
    }

    #[test]
    fn floats_are_no_keys_and_decimals_no_texts() {
        let column = |ty: &str| ColumnInfo { column_type: ty.to_owned(), ..ColumnInfo::default() };
        assert!(KeyColumn::new(&column("real"), &Type::Double).is_err());
        let decimal = Type::Decimal { precision: 10, scale: 2 };
        assert!(KeyColumn::new(&column("text"), &decimal).is_err());
        assert!(KeyColumn::new(&column("numeric"), &decimal).is_ok());
    }
}
