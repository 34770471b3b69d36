//! One part of a lookup key: from the declared type to the live column's own
//! type, exactly or not at all.
//!
//! The answer must be the one that `SELECT … WHERE column = key` gives, so a
//! part goes one of three ways. It is *absent* when the column cannot hold
//! the value, because then no row can have it (a conversion by the server
//! would round, clamp or write `?`, and match a wrong row). It travels in a
//! *batch*, typed as the column, when JSON carries it unchanged. Everything
//! else (texts longer than the typed column of the batch, texts in character
//! sets whose repertoire is not known here, ENUM) is compared *alone*, by a plain
//! statement.

use jiff::tz::TimeZone;

use crate::model::{Datum, Decimal, Type};

use super::super::dialect::{Bind, Key, Part};
use super::super::table::ColumnInfo;
use super::super::{number, temporal};
use super::cells;
use super::compatibility::Family;

/// Characters of a text key in a batch; longer ones are compared alone.
const TEXT_MIN: u64 = 255;
/// The same for columns that are longer than that.
const TEXT_MAX: u64 = 4000;
/// Bytes of a binary key in a batch; longer ones are compared alone.
const BINARY_MAX: usize = 2000;

/// The live column that a key part is compared with.
#[derive(Clone, Debug)]
pub struct KeyColumn {
    /// Name as the database spells it.
    pub(super) name: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Integer {
        low: i128,
        high: i128,
        sql: String,
    },
    Decimal {
        precision: u8,
        scale: u8,
    },
    Text {
        repertoire: Repertoire,
        charset: String,
        collation: String,
        chars: u64,
    },
    Binary,
    Date,
    Time {
        digits: u8,
    },
    DateTime {
        digits: u8,
    },
    Instant {
        digits: u8,
        zone: TimeZone,
    },
    /// Compared alone: ENUM, SET, BIT, YEAR, UUID.
    Plain,
}

/// Which characters a character set has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repertoire {
    All,
    BasicPlane,
    Latin1,
    Ascii,
    /// ASCII at least; a plain statement knows the rest.
    Unknown,
    /// Not even ASCII is sure.
    Nothing,
}

impl KeyColumn {
    /// The column, and how values of `declared` are compared with it.
    ///
    /// # Errors
    /// Why it cannot be a lookup key.
    pub(crate) fn new(column: &ColumnInfo, declared: &Type, zone: &TimeZone) -> Result<Self, String> {
        let digits = column.fraction;
        let kind = match Family::of(column) {
            Family::Integer => integer(column),
            Family::Decimal => {
                Kind::Decimal { precision: column.precision.unwrap_or(10), scale: column.scale.unwrap_or(0) }
            }
            Family::Text => text(column),
            Family::Binary => Kind::Binary,
            Family::Date => Kind::Date,
            Family::Time => Kind::Time { digits },
            Family::DateTime => Kind::DateTime { digits },
            Family::Timestamp if matches!(declared, Type::TimestampLtz(_)) => {
                Kind::Instant { digits, zone: TimeZone::UTC }
            }
            Family::Timestamp => Kind::Instant { digits, zone: zone.clone() },
            Family::Enum | Family::Bit | Family::Year => Kind::Plain,
            Family::Rendered if column.data_type != "json" => Kind::Plain,
            Family::Rendered | Family::Float | Family::Double | Family::Other => {
                return Err(format!("a {} column cannot be a lookup key", column.data_type.to_uppercase()));
            }
        };
        Ok(Self { name: column.name.clone(), kind })
    }

    /// The column's type in the batch's `COLUMNS (…)`; `None`: it is always compared alone.
    pub(super) fn batch_type(&self) -> Option<String> {
        Some(match &self.kind {
            Kind::Integer { sql, .. } => sql.clone(),
            Kind::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
            Kind::Text { repertoire: Repertoire::Nothing, .. } | Kind::Plain => return None,
            Kind::Text { charset, collation, chars, .. } => {
                format!("VARCHAR({chars}) CHARACTER SET {charset} COLLATE {collation}")
            }
            Kind::Binary => format!("VARCHAR({}) CHARACTER SET latin1", 2 * BINARY_MAX),
            Kind::Date => "DATE".to_owned(),
            Kind::Time { digits } => format!("TIME({digits})"),
            Kind::DateTime { digits } | Kind::Instant { digits, .. } => format!("DATETIME({digits})"),
        })
    }

    /// How the batch's column `name` is compared.
    pub(super) fn batch_side(&self, name: &str) -> String {
        if matches!(self.kind, Kind::Binary) { format!("UNHEX({name})") } else { name.to_owned() }
    }

    fn try_convert(&self, value: Datum<'_>) -> Option<Part> {
        match (&self.kind, value) {
            (Kind::Integer { low, high, .. }, value) => {
                let whole = number::whole(value)?;
                (*low..=*high).contains(&whole).then(|| number::bind(whole))?.map(Part::batched)
            }
            (Kind::Decimal { precision, scale }, Datum::Decimal(value)) => decimal(value, *precision, *scale),
            (Kind::Decimal { precision, scale }, Datum::Int(value)) => {
                decimal(Decimal::new(value.into(), 0), *precision, *scale)
            }
            (Kind::Text { repertoire, chars, .. }, Datum::Str(text)) => text_part(text, *repertoire, *chars),
            (Kind::Binary, Datum::Bytes(bytes)) => Some(bytes_part(bytes)),
            (Kind::Binary, Datum::Str(text)) => Some(bytes_part(text.as_bytes())),
            (Kind::Date, Datum::Date(days)) => temporal::date_text(days.into()).map(text_batched),
            (Kind::Time { digits }, Datum::Time(millis)) => {
                temporal::time_text(millis, *digits).map(text_batched)
            }
            (Kind::DateTime { digits }, Datum::Timestamp(time)) => {
                temporal::timestamp_text(time, *digits).map(text_batched)
            }
            (Kind::Instant { digits, zone }, Datum::Timestamp(time)) => {
                temporal::timestamp_text(cells::instant(time, zone)?, *digits).map(text_batched)
            }
            (Kind::Plain, Datum::Str(text)) => Some(Part::alone(Bind::Text(text.to_owned()))),
            (Kind::Plain, value) => Some(Part::alone(number::bind(number::whole(value)?)?)),
            _ => None,
        }
    }
}

impl Key for KeyColumn {
    fn name(&self) -> &str {
        &self.name
    }

    /// Typed where a text would be compared as a float.
    fn placeholder(&self) -> String {
        match &self.kind {
            Kind::Decimal { precision, scale } => format!("CAST(? AS DECIMAL({precision},{scale}))"),
            Kind::Date => "CAST(? AS DATE)".to_owned(),
            Kind::Time { digits } => format!("CAST(? AS TIME({digits}))"),
            Kind::DateTime { digits } | Kind::Instant { digits, .. } => {
                format!("CAST(? AS DATETIME({digits}))")
            }
            _ => "?".to_owned(),
        }
    }

    fn convert(&self, value: Datum<'_>) -> Part {
        self.try_convert(value).unwrap_or(Part::Absent)
    }
}

fn integer(column: &ColumnInfo) -> Kind {
    let bits = match column.data_type.as_str() {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "bigint" => 64,
        _ => 32,
    };
    let name = column.data_type.to_uppercase();
    if column.unsigned() {
        return Kind::Integer { low: 0, high: (1 << bits) - 1, sql: format!("{name} UNSIGNED") };
    }
    let half = 1_i128 << (bits - 1);
    Kind::Integer { low: -half, high: half - 1, sql: name }
}

fn text(column: &ColumnInfo) -> Kind {
    let charset = column.charset.clone().unwrap_or_default().to_ascii_lowercase();
    let collation = column.collation.clone().unwrap_or_default();
    let repertoire = match charset.as_str() {
        _ if !is_word(&charset) || !is_word(&collation) => Repertoire::Nothing,
        "utf8mb4" => Repertoire::All,
        "utf8" | "utf8mb3" => Repertoire::BasicPlane,
        "latin1" => Repertoire::Latin1,
        "ascii" => Repertoire::Ascii,
        "swe7" | "binary" => Repertoire::Nothing,
        _ => Repertoire::Unknown,
    };
    let chars = column.length.unwrap_or(TEXT_MIN).clamp(TEXT_MIN, TEXT_MAX);
    Kind::Text { repertoire, charset, collation, chars }
}

/// Whether a name from the database can stand in a statement as it is.
fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn text_batched(text: String) -> Part {
    Part::batched(Bind::Text(text))
}

fn bytes_part(bytes: &[u8]) -> Part {
    Part::Value { bind: Bind::Bytes(bytes.to_vec()), batched: bytes.len() <= BINARY_MAX }
}

/// A decimal that the column holds exactly.
fn decimal(value: Decimal, precision: u8, scale: u8) -> Option<Part> {
    let exact = number::shortest(value);
    let after_point = exact.scale();
    let whole = exact.to_string().trim_start_matches('-').split('.').next().map_or(0, significant);
    let fits = after_point <= scale && whole <= usize::from(precision.saturating_sub(scale));
    fits.then(|| text_batched(exact.to_string()))
}

/// Digits of a whole number without leading zeros.
fn significant(digits: &str) -> usize {
    digits.trim_start_matches('0').len()
}
fn text_part(text: &str, repertoire: Repertoire, chars: u64) -> Option<Part> {
    let holds = match repertoire {
        Repertoire::All => Some(true),
        Repertoire::BasicPlane => Some(text.chars().all(|c| c <= '\u{ffff}')),
        Repertoire::Latin1 => Some(text.chars().all(in_latin1)),
        Repertoire::Ascii => Some(text.is_ascii()),
        Repertoire::Unknown => text.is_ascii().then_some(true),
        Repertoire::Nothing => None,
    };
    if holds == Some(false) {
        return None;
    }
    let short = text.len() as u64 <= chars || text.chars().count() as u64 <= chars;
    Some(Part::Value { bind: Bind::Text(text.to_owned()), batched: holds.is_some() && short })
}

/// MySQL's latin1 is windows-1252 with its five holes filled by the control characters of the same number.
fn in_latin1(c: char) -> bool {
    const UPPER: &str = "€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ\u{81}\u{8d}\u{8f}\u{90}\u{9d}";
    matches!(c, '\0'..='\u{7f}' | '\u{a0}'..='\u{ff}') || UPPER.contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    fn column(data_type: &str, column_type: &str) -> ColumnInfo {
        ColumnInfo {
            name: "k".to_owned(),
            data_type: data_type.to_owned(),
            column_type: column_type.to_owned(),
            ..ColumnInfo::default()
        }
    }

    fn key(column: &ColumnInfo, declared: &Type) -> KeyColumn {
        KeyColumn::new(column, declared, &TimeZone::UTC).unwrap()
    }

    fn text_key(charset: &str) -> KeyColumn {
        let text = ColumnInfo {
            charset: Some(charset.to_owned()),
            collation: Some(format!("{charset}_bin")),
            length: Some(20),
            ..column("varchar", "varchar(20)")
        };
        key(&text, &Type::STRING)
    }

    fn is_batched(part: &Part) -> bool {
        matches!(part, Part::Value { batched: true, .. })
    }

    #[test]
    fn integers_out_of_the_columns_range_are_absent() {
        let unsigned = key(&column("int", "int(10) unsigned"), &Type::BigInt);
        assert_eq!(unsigned.batch_type().as_deref(), Some("INT UNSIGNED"));
        assert_eq!(unsigned.convert(Datum::Int(-1)), Part::Absent);
        assert_eq!(unsigned.convert(Datum::Int(4_294_967_296)), Part::Absent);
        assert_eq!(unsigned.convert(Datum::Int(4_294_967_295)), Part::batched(Bind::Signed(4_294_967_295)));
        let big = key(&column("bigint", "bigint(20) unsigned"), &Type::Decimal { precision: 20, scale: 0 });
        let most = Datum::Decimal(Decimal::new(u64::MAX.into(), 0));
        assert_eq!(big.convert(most), Part::batched(Bind::Unsigned(u64::MAX)));
        assert_eq!(big.convert(Datum::Decimal(Decimal::new(15, 1))), Part::Absent);
    }

    #[test]
    fn decimals_are_exact_or_absent() {
        let money = ColumnInfo { precision: Some(10), scale: Some(2), ..column("decimal", "decimal(10,2)") };
        let money = key(&money, &Type::Decimal { precision: 20, scale: 4 });
        let convert = |text: &str| money.convert(Datum::Decimal(Decimal::parse(text).unwrap()));
        assert_eq!(convert("0.0750"), Part::Absent);
        assert_eq!(convert("-1.5000"), text_batched("-1.5".to_owned()));
        assert_eq!(convert("99999999.99"), text_batched("99999999.99".to_owned()));
        assert_eq!(convert("100000000"), Part::Absent);
        assert_eq!(convert("0"), text_batched("0".to_owned()));
    }

    #[test]
    fn a_text_that_the_character_set_lacks_is_absent() {
        assert_eq!(text_key("latin1").convert(Datum::Str("日本")), Part::Absent);
        assert!(is_batched(&text_key("latin1").convert(Datum::Str("naïve €"))));
        assert_eq!(text_key("utf8mb3").convert(Datum::Str("😀")), Part::Absent);
        assert!(is_batched(&text_key("utf8mb4").convert(Datum::Str("😀"))));
        assert_eq!(text_key("ascii").convert(Datum::Str("é")), Part::Absent);
    }

    #[test]
    fn a_text_that_only_the_server_can_judge_is_compared_alone() {
        assert!(!is_batched(&text_key("gbk").convert(Datum::Str("张"))));
        assert!(is_batched(&text_key("gbk").convert(Datum::Str("zhang"))));
        let long = " ".repeat(300);
        assert!(!is_batched(&text_key("utf8mb4").convert(Datum::Str(&long))));
        assert_ne!(text_key("utf8mb4").convert(Datum::Str(&long)), Part::Absent);
    }

    #[test]
    fn times_with_more_digits_than_the_column_are_absent() {
        let at = Datum::Timestamp(Timestamp { millis: 1_500, nanos: 0 });
        let digits = |fraction| ColumnInfo { fraction, ..column("datetime", "datetime") };
        assert_eq!(key(&digits(0), &Type::Timestamp(3)).convert(at), Part::Absent);
        let expected = text_batched("1970-01-01 00:00:01.500".to_owned());
        assert_eq!(key(&digits(3), &Type::Timestamp(3)).convert(at), expected);
    }

    #[test]
    fn floats_and_json_are_no_keys() {
        assert!(KeyColumn::new(&column("double", "double"), &Type::Double, &TimeZone::UTC).is_err());
        assert!(KeyColumn::new(&column("json", "json"), &Type::STRING, &TimeZone::UTC).is_err());
    }
}
