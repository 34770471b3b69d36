//! Which declared types a live column can be read as, compared with and written from.
//!
//! The map is that of Flink's JDBC dialect for MySQL (F.3), widened where
//! nothing can go wrong: any integer column reads as any integer type whose
//! range its values are checked against, BIT(1) as BOOLEAN, ENUM, SET and JSON
//! as STRING, a binary column as STRING if it holds UTF-8.

use crate::model::Type;

use super::super::table::ColumnInfo;

/// What a live column is, as far as conversions care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// TINYINT to BIGINT, signed or not.
    Integer,
    /// YEAR.
    Year,
    /// BIT(n).
    Bit,
    /// DECIMAL.
    Decimal,
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// CHAR, VARCHAR, TEXT of any size.
    Text,
    /// ENUM and SET.
    Enum,
    /// JSON (MySQL's own type; MariaDB's is LONGTEXT), UUID, INET4, INET6.
    Rendered,
    /// BINARY, VARBINARY, BLOB of any size.
    Binary,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// DATETIME.
    DateTime,
    /// TIMESTAMP.
    Timestamp,
    /// Anything else: geometry and other types that no declared type describes.
    Other,
}

impl Family {
    /// The family of a live column.
    #[must_use]
    pub fn of(column: &ColumnInfo) -> Self {
        match column.data_type.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" => Self::Integer,
            "year" => Self::Year,
            "bit" => Self::Bit,
            "decimal" | "numeric" => Self::Decimal,
            "float" => Self::Float,
            "double" | "real" => Self::Double,
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => Self::Text,
            "enum" | "set" => Self::Enum,
            "json" | "uuid" | "inet4" | "inet6" => Self::Rendered,
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Self::Binary,
            "date" => Self::Date,
            "time" => Self::Time,
            "datetime" => Self::DateTime,
            "timestamp" => Self::Timestamp,
            _ => Self::Other,
        }
    }
}

/// Whether values of a live column can be read as the declared type. The
/// answer to no is the list of declared types that can.
pub fn readable(column: &ColumnInfo, declared: &Type) -> Result<(), &'static str> {
    let family = Family::of(column);
    let fits = match declared {
        Type::Boolean => family == Family::Integer || one_bit(column),
        Type::TinyInt | Type::SmallInt | Type::Int | Type::BigInt => {
            matches!(family, Family::Integer | Family::Year) || whole_decimal(column)
        }
        Type::Decimal { .. } => matches!(family, Family::Decimal | Family::Integer),
        Type::Float => family == Family::Float,
        Type::Double => matches!(family, Family::Float | Family::Double),
        Type::Char(_) | Type::Varchar(_) => {
            matches!(family, Family::Text | Family::Enum | Family::Rendered | Family::Binary)
        }
        Type::Binary(_) | Type::Varbinary(_) => family == Family::Binary,
        Type::Date => family == Family::Date,
        Type::Time(_) => family == Family::Time,
        Type::Timestamp(_) => matches!(family, Family::DateTime | Family::Timestamp),
        Type::TimestampLtz(_) => family == Family::Timestamp,
        _ => false,
    };
    if fits { Ok(()) } else { Err(declarable(column)) }
}

/// Whether the live column can hold values that the declared type cannot, so that a row may stop the job.
#[must_use]
pub fn holds_more(column: &ColumnInfo, declared: &Type) -> bool {
    let length = column.length.unwrap_or(u64::MAX);
    match (Family::of(column), declared) {
        (Family::Integer, Type::Decimal { precision, scale }) => {
            precision - scale.min(precision) < integer_digits(column)
        }
        (Family::Integer, _) => declared.integer_range().is_some_and(|(_, high)| high < largest(column)),
        (Family::Decimal, Type::Decimal { precision, scale }) => {
            let (whole, after) = decimal_digits(column);
            precision - scale.min(precision) < whole || *scale < after
        }
        (Family::Decimal, _) => {
            declared.is_integer() && integer_type_digits(declared) < decimal_digits(column).0
        }
        (
            Family::Text | Family::Binary,
            Type::Char(n) | Type::Varchar(n) | Type::Binary(n) | Type::Varbinary(n),
        ) => *n < i32::MAX as u32 && u64::from(*n) < length,
        _ => false,
    }
}

/// Digits before and after the point of a DECIMAL column.
fn decimal_digits(column: &ColumnInfo) -> (u8, u8) {
    let scale = column.scale.unwrap_or(0);
    (column.precision.unwrap_or(10).saturating_sub(scale), scale)
}

/// Largest value of an integer column; BIGINT UNSIGNED goes beyond every declared integer type.
fn largest(column: &ColumnInfo) -> i64 {
    let bits = match column.data_type.as_str() {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "bigint" => 64,
        _ => 32,
    };
    let bits = if column.unsigned() { bits } else { bits - 1 };
    1_i64.checked_shl(bits).map_or(i64::MAX, |power| power.wrapping_sub(1))
}

fn integer_digits(column: &ColumnInfo) -> u8 {
    match column.data_type.as_str() {
        "tinyint" => 3,
        "smallint" => 5,
        "mediumint" => 8,
        "bigint" if column.unsigned() => 20,
        "bigint" => 19,
        _ => 10,
    }
}

/// Digits that every number of an integer type's range has room for.
fn integer_type_digits(declared: &Type) -> u8 {
    match declared {
        Type::TinyInt => 2,
        Type::SmallInt => 4,
        Type::Int => 9,
        _ => 18,
    }
}

/// Whether values of the declared type can be written to a live column.
pub fn writable(column: &ColumnInfo, declared: &Type) -> Result<(), &'static str> {
    let family = Family::of(column);
    let fits = match declared {
        Type::Boolean => family == Family::Integer || one_bit(column),
        Type::TinyInt | Type::SmallInt | Type::Int | Type::BigInt | Type::Decimal { scale: 0, .. } => {
            matches!(family, Family::Integer | Family::Decimal | Family::Year)
        }
        Type::Decimal { .. } => family == Family::Decimal,
        Type::Float => matches!(family, Family::Float | Family::Double),
        Type::Double => family == Family::Double,
        Type::Char(_) | Type::Varchar(_) => {
            matches!(family, Family::Text | Family::Enum | Family::Rendered)
        }
        Type::Binary(_) | Type::Varbinary(_) => family == Family::Binary,
        Type::Date => family == Family::Date,
        Type::Time(_) => family == Family::Time,
        Type::Timestamp(_) => matches!(family, Family::DateTime | Family::Timestamp),
        Type::TimestampLtz(_) => family == Family::Timestamp,
        _ => false,
    };
    if fits { Ok(()) } else { Err(declarable(column)) }
}

fn one_bit(column: &ColumnInfo) -> bool {
    Family::of(column) == Family::Bit && column.column_type == "bit(1)"
}

fn whole_decimal(column: &ColumnInfo) -> bool {
    Family::of(column) == Family::Decimal && column.scale == Some(0)
}

/// What a live column can be declared as.
fn declarable(column: &ColumnInfo) -> &'static str {
    match Family::of(column) {
        Family::Integer if column.data_type == "tinyint" && column.unsigned() => {
            "SMALLINT or a wider integer, or BOOLEAN"
        }
        Family::Integer if column.data_type == "tinyint" => "TINYINT or a wider integer, or BOOLEAN",
        Family::Integer if column.data_type == "bigint" && column.unsigned() => "DECIMAL(20, 0) or BIGINT",
        Family::Integer if column.data_type == "bigint" => "BIGINT or DECIMAL(19, 0)",
        Family::Integer if column.data_type == "int" && column.unsigned() => "BIGINT",
        Family::Integer => "INT or BIGINT",
        Family::Year => "SMALLINT or a wider integer",
        Family::Bit => "BOOLEAN for BIT(1); nothing for wider ones",
        Family::Decimal => "DECIMAL(p, s) of the column's precision and scale",
        Family::Float => "FLOAT or DOUBLE",
        Family::Double => "DOUBLE",
        Family::Text | Family::Enum | Family::Rendered => "STRING",
        Family::Binary => "BYTES",
        Family::Date => "DATE",
        Family::Time => "TIME(p)",
        Family::DateTime => "TIMESTAMP(p)",
        Family::Timestamp => "TIMESTAMP(p) or TIMESTAMP_LTZ(p)",
        Family::Other => "nothing: leave the column out of `columns`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(data_type: &str, column_type: &str) -> ColumnInfo {
        ColumnInfo {
            data_type: data_type.to_owned(),
            column_type: column_type.to_owned(),
            ..ColumnInfo::default()
        }
    }

    #[test]
    fn the_declared_type_decides_what_tinyint_is() {
        let flag = column("tinyint", "tinyint(1)");
        assert_eq!(readable(&flag, &Type::Boolean), Ok(()));
        assert_eq!(readable(&flag, &Type::TinyInt), Ok(()));
        assert!(readable(&flag, &Type::STRING).is_err());
    }

    #[test]
    fn unsigned_types_have_flinks_wider_twins() {
        let big = column("bigint", "bigint(20) unsigned");
        assert_eq!(readable(&big, &Type::Decimal { precision: 20, scale: 0 }), Ok(()));
        assert_eq!(readable(&big, &Type::Double), Err("DECIMAL(20, 0) or BIGINT"));
    }

    #[test]
    fn a_column_that_holds_more_than_declared_is_found() {
        let text = |length| ColumnInfo { length: Some(length), ..column("varchar", "varchar") };
        assert!(holds_more(&text(255), &Type::Varchar(10)));
        assert!(!holds_more(&text(10), &Type::Varchar(10)));
        assert!(!holds_more(&text(255), &Type::STRING));
        assert!(holds_more(&column("int", "int(10) unsigned"), &Type::Int));
        assert!(!holds_more(&column("int", "int(11)"), &Type::Int));
        assert!(holds_more(&column("bigint", "bigint(20)"), &Type::Int));
        assert!(!holds_more(&column("bigint", "bigint(20)"), &Type::BigInt));
        assert!(!holds_more(
            &column("bigint", "bigint(20) unsigned"),
            &Type::Decimal { precision: 20, scale: 0 }
        ));
        let money = ColumnInfo { precision: Some(10), scale: Some(4), ..column("decimal", "decimal(10,4)") };
        assert!(holds_more(&money, &Type::Decimal { precision: 10, scale: 2 }));
        assert!(!holds_more(&money, &Type::Decimal { precision: 20, scale: 4 }));
    }

    #[test]
    fn text_is_never_compared_with_numbers_or_dates() {
        assert!(readable(&column("varchar", "varchar(20)"), &Type::Int).is_err());
        assert!(readable(&column("int", "int(11)"), &Type::STRING).is_err());
        assert!(readable(&column("date", "date"), &Type::Timestamp(3)).is_err());
    }
}
