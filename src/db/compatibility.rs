//! Which declared types a live column can be read as, compared with and written from.
//!
//! The map is that of Flink's JDBC dialect for MySQL (F.3), widened where
//! nothing can go wrong: any integer column reads as any integer type whose
//! range its values are checked against, BIT(1) as BOOLEAN, ENUM, SET and JSON
//! as STRING, a binary column as STRING if it holds UTF-8.

use crate::model::Type;

use super::catalog::ColumnInfo;

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
    fn text_is_never_compared_with_numbers_or_dates() {
        assert!(readable(&column("varchar", "varchar(20)"), &Type::Int).is_err());
        assert!(readable(&column("int", "int(11)"), &Type::STRING).is_err());
        assert!(readable(&column("date", "date"), &Type::Timestamp(3)).is_err());
    }
}
