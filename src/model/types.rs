//! The closed set of SQL types, printed as Flink prints them.

use std::fmt;

/// Length of `STRING` and `BYTES`: Flink's `VARCHAR(2147483647)`.
const UNBOUNDED: u32 = i32::MAX as u32;

/// A SQL type without its nullability.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// TRUE or FALSE.
    Boolean,
    /// 8-bit integer.
    TinyInt,
    /// 16-bit integer.
    SmallInt,
    /// 32-bit integer.
    Int,
    /// 64-bit integer.
    BigInt,
    /// 32-bit float.
    Float,
    /// 64-bit float.
    Double,
    /// Exact number: 1 ≤ precision ≤ 38, scale ≤ precision.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Text of exactly `n` code points.
    Char(u32),
    /// Text of at most `n` code points; `STRING` is `VARCHAR(2147483647)`.
    Varchar(u32),
    /// Exactly `n` bytes.
    Binary(u32),
    /// At most `n` bytes; `BYTES` is `VARBINARY(2147483647)`.
    Varbinary(u32),
    /// Days since 1970-01-01.
    Date,
    /// Time of day with `p` fraction digits, kept in milliseconds.
    Time(u8),
    /// Local date and time with `p` fraction digits.
    Timestamp(u8),
    /// Instant with `p` fraction digits, shown in the session's zone.
    TimestampLtz(u8),
    /// Elements of one type.
    Array(Box<DataType>),
    /// Keys and values.
    Map(Box<DataType>, Box<DataType>),
    /// Named fields.
    Row(Vec<Field>),
    /// Interval of months: expressions only.
    IntervalMonths,
    /// Interval of milliseconds: expressions only.
    IntervalMillis,
    /// The bare `NULL` of an expression, before it takes a type.
    Null,
}

/// A field of a ROW type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Field name.
    pub name: String,
    /// Field type.
    pub ty: DataType,
}

/// A SQL type with its nullability.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DataType {
    /// The type itself.
    pub kind: Type,
    /// Whether NULL belongs to it.
    pub nullable: bool,
}

impl Type {
    /// `STRING`.
    pub const STRING: Self = Self::Varchar(UNBOUNDED);
    /// `BYTES`.
    pub const BYTES: Self = Self::Varbinary(UNBOUNDED);

    /// This type, NULL allowed.
    #[must_use]
    pub fn nullable(self) -> DataType {
        DataType { kind: self, nullable: true }
    }

    /// This type, NULL not allowed.
    #[must_use]
    pub fn not_null(self) -> DataType {
        DataType { kind: self, nullable: false }
    }

    /// TINYINT to BIGINT.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        matches!(self, Self::TinyInt | Self::SmallInt | Self::Int | Self::BigInt)
    }

    /// CHAR, VARCHAR or STRING.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Char(_) | Self::Varchar(_))
    }

    /// BINARY, VARBINARY or BYTES.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        matches!(self, Self::Binary(_) | Self::Varbinary(_))
    }

    /// FLOAT or DOUBLE.
    #[must_use]
    pub fn is_approximate(&self) -> bool {
        matches!(self, Self::Float | Self::Double)
    }

    /// Any number.
    #[must_use]
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_approximate() || matches!(self, Self::Decimal { .. })
    }

    /// ARRAY, MAP or ROW.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Map(..) | Self::Row(_))
    }

    /// Smallest and largest value of an integer type.
    #[must_use]
    pub fn integer_range(&self) -> Option<(i64, i64)> {
        match self {
            Self::TinyInt => Some((i8::MIN.into(), i8::MAX.into())),
            Self::SmallInt => Some((i16::MIN.into(), i16::MAX.into())),
            Self::Int => Some((i32::MIN.into(), i32::MAX.into())),
            Self::BigInt => Some((i64::MIN, i64::MAX)),
            _ => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("BOOLEAN"),
            Self::TinyInt => f.write_str("TINYINT"),
            Self::SmallInt => f.write_str("SMALLINT"),
            Self::Int => f.write_str("INT"),
            Self::BigInt => f.write_str("BIGINT"),
            Self::Float => f.write_str("FLOAT"),
            Self::Double => f.write_str("DOUBLE"),
            Self::Decimal { precision, scale } => write!(f, "DECIMAL({precision}, {scale})"),
            Self::Char(n) => write!(f, "CHAR({n})"),
            Self::Varchar(UNBOUNDED) => f.write_str("STRING"),
            Self::Varchar(n) => write!(f, "VARCHAR({n})"),
            Self::Binary(n) => write!(f, "BINARY({n})"),
            Self::Varbinary(UNBOUNDED) => f.write_str("BYTES"),
            Self::Varbinary(n) => write!(f, "VARBINARY({n})"),
            Self::Date => f.write_str("DATE"),
            Self::Time(p) => write!(f, "TIME({p})"),
            Self::Timestamp(p) => write!(f, "TIMESTAMP({p})"),
            Self::TimestampLtz(p) => write!(f, "TIMESTAMP_LTZ({p})"),
            Self::Array(element) => write!(f, "ARRAY<{element}>"),
            Self::Map(key, value) => write!(f, "MAP<{key}, {value}>"),
            Self::Row(fields) => write_row(f, fields),
            Self::IntervalMonths => f.write_str("INTERVAL MONTH"),
            Self::IntervalMillis => f.write_str("INTERVAL SECOND(3)"),
            Self::Null => f.write_str("NULL"),
        }
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, fields: &[Field]) -> fmt::Result {
    f.write_str("ROW<")?;
    for (i, field) in fields.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        write!(f, "{comma}`{}` {}", field.name, field.ty)?;
    }
    f.write_str(">")
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind, if self.nullable { "" } else { " NOT NULL" })
    }
}
