//! Which declared types a live column can be read as.
//!
//! A SQLite column holds values of any class; its type decides only what it
//! prefers. So what is refused at start is what such a column never holds by
//! preference (text in a column of integers), and each value is checked again
//! when it is read.

use crate::model::Type;

use super::super::table::ColumnInfo;

/// What a column prefers, by SQLite's rules for the name of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Affinity {
    Integer,
    Text,
    /// No preference: BLOB, or no type at all.
    None,
    Real,
    /// DECIMAL, DATE, DATETIME, BOOLEAN and every name that no other rule knows.
    Numeric,
}

impl Affinity {
    /// The affinity of a live column.
    pub(super) fn of(column: &ColumnInfo) -> Self {
        let name = column.column_type.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if has(&["int"]) {
            Self::Integer
        } else if has(&["char", "clob", "text"]) {
            Self::Text
        } else if name.is_empty() || has(&["blob"]) {
            Self::None
        } else if has(&["real", "floa", "doub"]) {
            Self::Real
        } else {
            Self::Numeric
        }
    }
}

/// Whether values of a live column can be read as the declared type. The
/// answer to no is the list of declared types that can.
pub(super) fn readable(column: &ColumnInfo, declared: &Type) -> Result<(), &'static str> {
    use Affinity::{Integer, None, Numeric, Real, Text};
    let affinity = Affinity::of(column);
    let fits = match declared {
        Type::Boolean | Type::TinyInt | Type::SmallInt | Type::Int | Type::BigInt => {
            matches!(affinity, Integer | Numeric | None)
        }
        Type::Decimal { .. } => true,
        Type::Float | Type::Double => matches!(affinity, Real | Numeric | None),
        Type::Char(_) | Type::Varchar(_) => matches!(affinity, Text | Numeric | None),
        Type::Binary(_) | Type::Varbinary(_) => matches!(affinity, Numeric | None),
        Type::Date | Type::Time(_) | Type::Timestamp(_) | Type::TimestampLtz(_) => {
            matches!(affinity, Text | Numeric | None)
        }
        _ => false,
    };
    if fits { Ok(()) } else { Err(declarable(affinity)) }
}

/// What a live column can be declared as.
fn declarable(affinity: Affinity) -> &'static str {
    match affinity {
        Affinity::Integer => "BIGINT or a narrower integer, BOOLEAN or DECIMAL(p, s)",
        Affinity::Text => "STRING, DECIMAL(p, s), DATE, TIME(p), TIMESTAMP(p) or TIMESTAMP_LTZ(p)",
        Affinity::Real => "DOUBLE, FLOAT or DECIMAL(p, s)",
        Affinity::None | Affinity::Numeric => "any type but ARRAY, MAP and ROW",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(column_type: &str) -> ColumnInfo {
        ColumnInfo { column_type: column_type.to_owned(), ..ColumnInfo::default() }
    }

    #[test]
    fn affinities_are_those_of_sqlite() {
        for (name, affinity) in [
            ("integer", Affinity::Integer),
            ("unsigned big int", Affinity::Integer),
            ("floating point", Affinity::Integer),
            ("charint", Affinity::Integer),
            ("varchar(20)", Affinity::Text),
            ("clob", Affinity::Text),
            ("blob", Affinity::None),
            ("", Affinity::None),
            ("double precision", Affinity::Real),
            ("float", Affinity::Real),
            ("decimal(10,2)", Affinity::Numeric),
            ("datetime", Affinity::Numeric),
            ("boolean", Affinity::Numeric),
            ("string", Affinity::Numeric),
        ] {
            assert_eq!(Affinity::of(&column(name)), affinity, "{name}");
        }
    }

    #[test]
    fn what_a_column_never_prefers_is_refused() {
        assert!(readable(&column("integer"), &Type::STRING).is_err());
        assert!(readable(&column("text"), &Type::Int).is_err());
        assert!(readable(&column("real"), &Type::Int).is_err());
        assert!(readable(&column("integer"), &Type::Date).is_err());
        assert_eq!(readable(&column("text"), &Type::Timestamp(3)), Ok(()));
        assert_eq!(readable(&column("boolean"), &Type::Boolean), Ok(()));
        assert_eq!(readable(&column(""), &Type::BYTES), Ok(()));
    }
}
