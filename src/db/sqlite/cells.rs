//! Values of a SQLite file, read as the declared types.
//!
//! Each value has a class of its own (integer, float, text, bytes); class and
//! declared type together decide. What does not fit the declared type is an
//! error, never an altered value; only what TIMESTAMP(p) and TIME(p) cannot
//! hold of a fraction is cut, as Flink does. Dates and times are texts in the
//! forms that SQLite's own functions write and read (ISO 8601).

use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{Decode, Row, TypeInfo, ValueRef};

use crate::model::civil::MILLIS_PER_DAY;
use crate::model::{Datum, Timestamp, Type};

use super::super::fit;
use super::super::table::TextRow;
use super::super::temporal::day_number;

/// Largest whole number up to which every one is a DOUBLE.
const DOUBLE_EXACT: u64 = 1 << 53;

/// Largest whole number up to which every one is a FLOAT.
const FLOAT_EXACT: u64 = 1 << 24;

/// A value by its class.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell<'r> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'r [u8]),
    Blob(&'r [u8]),
}

fn cell(row: &SqliteRow, at: usize) -> Option<Cell<'_>> {
    let value = row.try_get_raw(at).ok()?;
    if value.is_null() {
        return Some(Cell::Null);
    }
    let class = value.type_info().name().to_owned();
    match class.as_str() {
        "INTEGER" => <i64 as Decode<Sqlite>>::decode(value).ok().map(Cell::Integer),
        "REAL" => <f64 as Decode<Sqlite>>::decode(value).ok().map(Cell::Real),
        "TEXT" => <&[u8] as Decode<Sqlite>>::decode(value).ok().map(Cell::Text),
        _ => <&[u8] as Decode<Sqlite>>::decode(value).ok().map(Cell::Blob),
    }
}

/// An integer.
pub(super) fn number(row: &SqliteRow, at: usize) -> Option<i128> {
    match cell(row, at)? {
        Cell::Integer(value) => Some(value.into()),
        _ => None,
    }
}

/// A text.
pub(super) fn text(row: &SqliteRow, at: usize) -> Option<&str> {
    match cell(row, at)? {
        Cell::Text(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// Every column as text.
pub(super) fn texts(row: &SqliteRow) -> TextRow {
    let one = |at| match cell(row, at)? {
        Cell::Null => None,
        Cell::Integer(value) => Some(value.to_string()),
        Cell::Real(value) => Some(value.to_string()),
        Cell::Text(bytes) | Cell::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    };
    (0..row.len()).map(one).collect()
}

/// Reads a value as the declared type.
///
/// # Errors
/// A text that says what was met, for a value that the declared type cannot hold.
pub(super) fn read<'r>(row: &'r SqliteRow, at: usize, declared: &Type) -> Result<Datum<'r>, String> {
    match cell(row, at).ok_or_else(|| fit::unreadable(declared))? {
        Cell::Null => Ok(Datum::Null),
        Cell::Integer(value) => read_integer(value, declared),
        Cell::Real(value) => read_real(value, declared),
        Cell::Text(bytes) => read_text(bytes, declared),
        Cell::Blob(bytes) => match declared {
            Type::Binary(_) | Type::Varbinary(_) => fit::bytes(bytes, declared),
            _ => Err(format!("bytes cannot be read as {declared}")),
        },
    }
}

fn read_integer(value: i64, declared: &Type) -> Result<Datum<'static>, String> {
    let exact = |limit: u64| value.unsigned_abs() <= limit;
    match declared {
        Type::Double if exact(DOUBLE_EXACT) => Ok(Datum::Double(value as f64)),
        Type::Float if exact(FLOAT_EXACT) => Ok(Datum::Float(value as f32)),
        Type::Boolean | Type::Decimal { .. } => fit::integer(value.into(), declared),
        _ if declared.is_integer() => fit::integer(value.into(), declared),
        _ => Err(number_instead(&value.to_string(), declared)),
    }
}

fn read_real(value: f64, declared: &Type) -> Result<Datum<'static>, String> {
    match declared {
        Type::Double => Ok(Datum::Double(value)),
        Type::Float => {
            // Either the very value, or the one that is written with the same digits: 2.2.
            let short = value as f32;
            let same =
                f64::from(short).to_bits() == value.to_bits() || short.to_string() == value.to_string();
            same.then_some(Datum::Float(short)).ok_or_else(|| format!("{value} does not fit FLOAT"))
        }
        Type::Decimal { .. } => fit::number(&value.to_string(), declared),
        _ if declared.is_integer() => fit::number(&value.to_string(), declared),
        _ => Err(number_instead(&value.to_string(), declared)),
    }
}

/// A column that is not of type TEXT turns texts that look like numbers into numbers.
fn number_instead(value: &str, declared: &Type) -> String {
    let why = match declared {
        Type::Char(_) | Type::Varchar(_) => {
            ": the column's type makes numbers of texts that look like one, TEXT would not"
        }
        Type::Date | Type::Time(_) | Type::Timestamp(_) | Type::TimestampLtz(_) => {
            ": write dates and times as text, yyyy-MM-dd HH:mm:ss"
        }
        _ => "",
    };
    format!("the number {value} cannot be read as {declared}{why}")
}

fn read_text<'r>(bytes: &'r [u8], declared: &Type) -> Result<Datum<'r>, String> {
    if matches!(declared, Type::Char(_) | Type::Varchar(_)) {
        return fit::bytes(bytes, declared);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "the bytes are no UTF-8".to_owned())?;
    let moment = match declared {
        Type::Decimal { .. } => return fit::number(text, declared),
        Type::Date => date(text).map(|days| Datum::Date(days as i32)),
        Type::Time(digits) => time(text).map(|at| Datum::Time(at.truncate((*digits).min(3)).millis as i32)),
        Type::Timestamp(digits) => timestamp(text, false).map(|at| Datum::Timestamp(at.truncate(*digits))),
        Type::TimestampLtz(digits) => timestamp(text, true).map(|at| Datum::Timestamp(at.truncate(*digits))),
        _ => None,
    };
    moment.ok_or_else(|| format!("the text '{}' cannot be read as {declared}", shortened(text)))
}

/// Enough of a text to find it.
fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    let cut: String = text.chars().take(MOST).collect();
    if cut.len() == text.len() { cut } else { format!("{cut}…") }
}

/// `yyyy-MM-dd`.
fn date(text: &str) -> Option<i64> {
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    day_number(digits(year, 4)? as u16, digits(month, 2)? as u8, digits(day, 2)? as u8)
}

/// `HH:mm[:ss[.f…]]`, counted from midnight.
fn time(text: &str) -> Option<Timestamp> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let second = parts.next();
    if parts.next().is_some() || (second.is_none() && text.contains('.')) || text.ends_with('.') {
        return None;
    }
    let second = second.map_or(Some(0), |second| digits(second, 2))?;
    let nanos = if fraction.is_empty() { 0 } else { digits(&format!("{fraction:0<9}"), 9)? };
    let fits = hour < 24 && minute < 60 && second < 60;
    let millis = i64::from((hour * 60 + minute) * 60 + second) * 1000 + i64::from(nanos / 1_000_000);
    fits.then_some(Timestamp { millis, nanos: nanos % 1_000_000 })
}

/// `yyyy-MM-dd[( |T)time]`, with `Z` or `±HH:mm` behind it where `zoned`: UTC without.
fn timestamp(text: &str, zoned: bool) -> Option<Timestamp> {
    let (day, clock) = text.split_at_checked(10)?;
    let midnight = date(day)? * MILLIS_PER_DAY;
    if clock.is_empty() {
        return Some(Timestamp::from_millis(midnight));
    }
    let clock = clock.strip_prefix([' ', 'T'])?;
    let (clock, offset) = if zoned { split_offset(clock)? } else { (clock, 0) };
    let at = time(clock)?;
    Some(Timestamp { millis: midnight + at.millis - offset, nanos: at.nanos })
}

/// The time of day and the milliseconds that its zone is ahead of UTC.
fn split_offset(clock: &str) -> Option<(&str, i64)> {
    if let Some(utc) = clock.strip_suffix('Z') {
        return Some((utc, 0));
    }
    let Some(at) = clock.find(['+', '-']) else { return Some((clock, 0)) };
    let (clock, offset) = clock.split_at_checked(at)?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let ahead = time(offset.get(1..)?)?;
    Some((clock.trim_end(), sign * ahead.millis))
}

/// A number of so many digits and nothing else.
fn digits(text: &str, count: usize) -> Option<u32> {
    let plain = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_fit_exactly_or_not_at_all() {
        assert_eq!(read_integer(200, &Type::SmallInt), Ok(Datum::Int(200)));
        assert!(read_integer(200, &Type::TinyInt).is_err());
        assert_eq!(read_integer(1, &Type::Boolean), Ok(Datum::Bool(true)));
        assert_eq!(read_integer(7, &Type::Double), Ok(Datum::Double(7.0)));
        assert!(read_integer(i64::MAX, &Type::Double).is_err());
        assert!(read_integer(7, &Type::STRING).unwrap_err().contains("TEXT would not"));
        assert_eq!(read_real(2.2, &Type::Float), Ok(Datum::Float(2.2)));
        assert!(read_real(2.200_000_000_1, &Type::Float).is_err());
        assert_eq!(read_real(3.0, &Type::Int), Ok(Datum::Int(3)));
        assert!(read_real(3.5, &Type::Int).is_err());
        let money = Type::Decimal { precision: 10, scale: 2 };
        let read = |value: f64| read_real(value, &money).map(|datum| format!("{datum:?}"));
        assert_eq!(read(0.1), read(0.10));
        assert!(read(0.125).is_err() && read(1e300).is_err() && read(f64::INFINITY).is_err());
    }

    #[test]
    fn dates_and_times_are_iso_texts() {
        let at = |text| timestamp(text, false).map(|at| (at.millis, at.nanos));
        assert_eq!(at("1970-01-02"), Some((86_400_000, 0)));
        assert_eq!(at("1970-01-01 00:01"), Some((60_000, 0)));
        assert_eq!(at("1970-01-01T00:00:01.5"), Some((1_500, 0)));
        assert_eq!(at("1970-01-01 00:00:00.123456789"), Some((123, 456_789)));
        for junk in [
            "",
            "now",
            "2440587.5",
            "1970-01-01 00:00:00Z",
            "1970-02-30",
            "1970-01-01 24:00",
            "1970-1-1",
            "1970-01-01 ",
            "1970-01-01 00:00.5",
            "1970-01-01 00:00:00.",
            "1970-01-01 00:00:00.1234567890",
            "äääää-01-01 x",
        ] {
            assert_eq!(at(junk), None, "{junk}");
        }
        let instant = |text| timestamp(text, true).map(|at| at.millis);
        assert_eq!(instant("1970-01-01 01:00:00+01:00"), Some(0));
        assert_eq!(instant("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(instant("1969-12-31 19:00:00-05:00"), Some(0));
        assert_eq!(instant("1970-01-01 00:00:00+99:00"), None);
    }

    #[test]
    fn texts_are_cut_to_the_declared_digits_but_never_altered() {
        assert_eq!(read_text(b"12:34:56.789", &Type::Time(0)), Ok(Datum::Time(45_296_000)));
        assert_eq!(
            read_text(b"1.50", &Type::Decimal { precision: 5, scale: 2 }),
            fit::number("1.5", &Type::Decimal { precision: 5, scale: 2 })
        );
        assert!(read_text(b"1.505", &Type::Decimal { precision: 5, scale: 2 }).is_err());
        assert!(read_text(b"abc", &Type::Int).unwrap_err().contains("'abc'"));
        assert!(read_text(b"\xff", &Type::STRING).is_err());
    }
}
