//! Values of the binary protocol, read as the declared types.
//!
//! The declared type decides, not the driver's name for the column: TINYINT(1)
//! is BOOLEAN or a number, a text column with a binary collation is text. What
//! does not fit the declared type is an error, never an altered value; only
//! what TIMESTAMP(p) and TIME(p) cannot hold of a fraction is cut, as Flink does.
//! Zero and partial dates (`0000-00-00`, `2025-00-15`) are no dates: they read as NULL.

use jiff::tz::TimeZone;
use sqlx::mysql::{MySql, MySqlRow};
use sqlx::{Column, Decode, Row, TypeInfo, ValueRef};

use crate::model::civil::{MILLIS_PER_DAY, civil_from_days, split_millis};
use crate::model::{Datum, Timestamp, Type};

use super::super::fit::{self, unreadable};
use super::super::temporal::day_number;

/// How a column of a result set is written on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Signed,
    Unsigned,
    Bit,
    Float,
    Double,
    Decimal,
    Bytes,
    Date,
    Time,
    /// DATETIME: local time of no zone.
    DateTime,
    /// TIMESTAMP: UTC, as the connection's time zone is.
    Instant,
}

impl Wire {
    /// The wire types of a result set, taken from one of its rows: the table may have changed since the start.
    pub(super) fn of_row(row: &MySqlRow) -> Vec<Self> {
        let wire = |column: &sqlx::mysql::MySqlColumn| {
            let info = column.type_info();
            match info.name() {
                "BOOLEAN" | "TINYINT" | "TINYINT UNSIGNED" | "SMALLINT" | "SMALLINT UNSIGNED" | "INT"
                | "INT UNSIGNED" | "MEDIUMINT" | "MEDIUMINT UNSIGNED" | "BIGINT" | "BIGINT UNSIGNED" => {
                    if <u64 as sqlx::Type<MySql>>::compatible(info) {
                        Self::Unsigned
                    } else {
                        Self::Signed
                    }
                }
                "YEAR" => Self::Unsigned,
                "BIT" => Self::Bit,
                "FLOAT" => Self::Float,
                "DOUBLE" => Self::Double,
                "DECIMAL" => Self::Decimal,
                "DATE" => Self::Date,
                "TIME" => Self::Time,
                "DATETIME" => Self::DateTime,
                "TIMESTAMP" => Self::Instant,
                _ => Self::Bytes,
            }
        };
        row.columns().iter().map(wire).collect()
    }
}

/// The bytes of a value; `None` is NULL, also for a zero date.
pub(super) fn raw(row: &MySqlRow, i: usize) -> Option<&[u8]> {
    let value = row.try_get_raw(i).ok()?;
    if value.is_null() {
        return None;
    }
    <&[u8] as Decode<MySql>>::decode(value).ok()
}

/// An integer of any width.
pub(super) fn integer(wire: Wire, bytes: &[u8]) -> Option<i128> {
    let mut wide = [0; 8];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let unsigned = u64::from_le_bytes(wide);
    if wire == Wire::Unsigned {
        return Some(unsigned.into());
    }
    let unused = 64 - 8 * u32::try_from(bytes.len()).ok()?;
    let shifted = unsigned.checked_shl(unused).unwrap_or(0) as i64;
    Some(shifted.checked_shr(unused).unwrap_or(0).into())
}

/// Reads a value as the declared type.
///
/// # Errors
/// A text that says what was met, for a value that the declared type cannot hold.
pub(super) fn read<'a>(
    wire: Wire,
    declared: &Type,
    bytes: &'a [u8],
    zone: &TimeZone,
) -> Result<Datum<'a>, String> {
    match wire {
        Wire::Signed | Wire::Unsigned => {
            let value = integer(wire, bytes).ok_or_else(|| unreadable(declared))?;
            fit::integer(value, declared)
        }
        Wire::Bit => match declared {
            Type::Boolean => Ok(Datum::Bool(bytes.iter().any(|byte| *byte != 0))),
            _ => Err(unreadable(declared)),
        },
        Wire::Float => {
            let value = f32::from_le_bytes(exact(bytes, declared)?);
            match declared {
                Type::Float => Ok(Datum::Float(value)),
                Type::Double => Ok(Datum::Double(value.into())),
                _ => Err(unreadable(declared)),
            }
        }
        Wire::Double => match declared {
            Type::Double => Ok(Datum::Double(f64::from_le_bytes(exact(bytes, declared)?))),
            _ => Err(unreadable(declared)),
        },
        Wire::Decimal => {
            let text = std::str::from_utf8(bytes).map_err(|_| unreadable(declared))?;
            fit::number(text, declared)
        }
        Wire::Bytes => fit::bytes(bytes, declared),
        Wire::Time => read_time(bytes, declared),
        Wire::Date | Wire::DateTime | Wire::Instant => read_date(wire, bytes, declared, zone),
    }
}

fn exact<const N: usize>(bytes: &[u8], declared: &Type) -> Result<[u8; N], String> {
    bytes.try_into().map_err(|_| unreadable(declared))
}

/// `[length][sign][days: 4][hour][minute][second][micros: 4]`; a length of 0 is 00:00:00.
fn read_time(bytes: &[u8], declared: &Type) -> Result<Datum<'static>, String> {
    let Type::Time(precision) = *declared else { return Err(unreadable(declared)) };
    let part = |i: usize| i64::from(bytes.get(i).copied().unwrap_or(0));
    let quad = |i: usize| part(i) | part(i + 1) << 8 | part(i + 2) << 16 | part(i + 3) << 24;
    let hours = quad(2) * 24 + part(6);
    if part(1) != 0 || hours > 23 {
        let sign = if part(1) == 0 { "" } else { "-" };
        return Err(format!("{sign}{hours:02}:{:02}:{:02} is no time of a day", part(7), part(8)));
    }
    let millis = ((hours * 60 + part(7)) * 60 + part(8)) * 1000 + quad(9) / 1000;
    let cut = Timestamp::from_millis(millis).truncate(precision.min(3));
    Ok(Datum::Time(i32::try_from(cut.millis).unwrap_or(0)))
}

/// `[length][year: 2][month][day][hour][minute][second][micros: 4]`, cut short where zeros follow.
fn read_date(wire: Wire, bytes: &[u8], declared: &Type, zone: &TimeZone) -> Result<Datum<'static>, String> {
    let part = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let year = u16::from_le_bytes([part(1), part(2)]);
    let Some(days) = day_number(year, part(3), part(4)) else { return Ok(Datum::Null) };
    let seconds = (i64::from(part(5)) * 60 + i64::from(part(6))) * 60 + i64::from(part(7));
    let micros = u32::from_le_bytes([part(8), part(9), part(10), part(11)]);
    let millis = days * MILLIS_PER_DAY + seconds * 1000 + i64::from(micros / 1000);
    let time = Timestamp { millis, nanos: micros % 1000 * 1000 };
    match (wire, declared) {
        (Wire::Date, Type::Date) => Ok(Datum::Date(i32::try_from(days).unwrap_or(0))),
        (Wire::DateTime, Type::Timestamp(precision)) | (Wire::Instant, Type::TimestampLtz(precision)) => {
            Ok(Datum::Timestamp(time.truncate(*precision)))
        }
        (Wire::Instant, Type::Timestamp(precision)) => {
            Ok(Datum::Timestamp(local(time, zone).truncate(*precision)))
        }
        _ => Err(unreadable(declared)),
    }
}

/// What clocks of `zone` show at an instant.
fn local(instant: Timestamp, zone: &TimeZone) -> Timestamp {
    let seconds = jiff::Timestamp::from_second(instant.seconds())
        .map_or(0, |at| i64::from(zone.to_offset(at).seconds()));
    Timestamp { millis: instant.millis + seconds * 1000, nanos: instant.nanos }
}

/// The instant at which clocks of `zone` show a local time (the earlier one
/// where they show it twice); `None` outside of the range of instants.
pub(crate) fn instant(local: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let (days, millis_of_day) = split_millis(local.millis);
    let (year, month, day) = civil_from_days(days);
    let date = jiff::civil::Date::new(i16::try_from(year).ok()?, month as i8, day as i8).ok()?;
    let second = millis_of_day / 1000;
    let shown = date.at((second / 3600) as i8, (second / 60 % 60) as i8, (second % 60) as i8, 0);
    let at = zone.to_ambiguous_timestamp(shown).compatible().ok()?;
    let millis = at.as_second() * 1000 + millis_of_day % 1000;
    Some(Timestamp { millis, nanos: local.nanos })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Decimal;

    fn read_utc<'a>(wire: Wire, declared: &Type, bytes: &'a [u8]) -> Result<Datum<'a>, String> {
        read(wire, declared, bytes, &TimeZone::UTC)
    }

    #[test]
    fn integers_keep_sign_and_range() {
        assert_eq!(read_utc(Wire::Unsigned, &Type::SmallInt, &[200]), Ok(Datum::Int(200)));
        assert_eq!(read_utc(Wire::Signed, &Type::Int, &[200]), Ok(Datum::Int(-56)));
        assert_eq!(read_utc(Wire::Signed, &Type::Boolean, &[3]), Ok(Datum::Bool(true)));
        assert!(read_utc(Wire::Unsigned, &Type::TinyInt, &[200]).is_err());
        let most = Type::Decimal { precision: 20, scale: 0 };
        let decimal = Datum::Decimal(Decimal::new(u64::MAX.into(), 0));
        assert_eq!(read_utc(Wire::Unsigned, &most, &[255; 8]), Ok(decimal));
        assert!(read_utc(Wire::Unsigned, &Type::BigInt, &[255; 8]).is_err());
    }

    #[test]
    fn decimals_are_exact_or_an_error() {
        let declared = Type::Decimal { precision: 10, scale: 2 };
        let read = |text: &'static str| read_utc(Wire::Decimal, &declared, text.as_bytes());
        assert_eq!(read("-1.5000"), Ok(Datum::Decimal(Decimal::new(-150, 2))));
        assert_eq!(read("-0.05"), Ok(Datum::Decimal(Decimal::new(-5, 2))));
        assert_eq!(read("1.005"), Err("1.005 does not fit DECIMAL(10, 2)".to_owned()));
        assert!(read("123456789.00").is_err());
        assert_eq!(read_utc(Wire::Decimal, &Type::BigInt, b"42"), Ok(Datum::Int(42)));
    }

    #[test]
    fn dates_that_are_none_read_as_null() {
        assert_eq!(read_utc(Wire::Date, &Type::Date, &[0]), Ok(Datum::Null));
        assert_eq!(read_utc(Wire::Date, &Type::Date, &[4, 0xe9, 7, 0, 15]), Ok(Datum::Null));
        assert_eq!(read_utc(Wire::Date, &Type::Date, &[4, 0xe8, 7, 2, 29]), Ok(Datum::Date(19_782)));
    }

    #[test]
    fn a_time_must_be_of_a_day() {
        let half_past_one = [12, 0, 0, 0, 0, 0, 1, 30, 0, 0x20, 0xa1, 7, 0];
        assert_eq!(read_utc(Wire::Time, &Type::Time(3), &half_past_one), Ok(Datum::Time(5_400_500)));
        assert_eq!(read_utc(Wire::Time, &Type::Time(0), &half_past_one), Ok(Datum::Time(5_400_000)));
        assert!(read_utc(Wire::Time, &Type::Time(0), &[8, 1, 0, 0, 0, 0, 1, 0, 0]).is_err());
        assert!(read_utc(Wire::Time, &Type::Time(0), &[8, 0, 1, 0, 0, 0, 1, 0, 0]).is_err());
    }

    #[test]
    fn a_timestamp_shows_the_zones_clock() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let noon_utc = [7, 0xe8, 7, 7, 1, 12, 0, 0];
        let Ok(Datum::Timestamp(shown)) = read(Wire::Instant, &Type::Timestamp(3), &noon_utc, &zone) else {
            panic!("no timestamp");
        };
        assert_eq!(shown.millis % MILLIS_PER_DAY, 14 * 3_600_000);
        assert_eq!(instant(shown, &zone).unwrap().millis, shown.millis - 2 * 3_600_000);
    }

    #[test]
    fn text_must_fit_and_be_utf8() {
        assert_eq!(read_utc(Wire::Bytes, &Type::Varchar(3), "äöü".as_bytes()), Ok(Datum::Str("äöü")));
        assert!(read_utc(Wire::Bytes, &Type::Varchar(2), "äöü".as_bytes()).is_err());
        assert!(read_utc(Wire::Bytes, &Type::STRING, &[0xff]).is_err());
        assert_eq!(read_utc(Wire::Bytes, &Type::BYTES, &[0xff]), Ok(Datum::Bytes(&[0xff])));
    }
}
