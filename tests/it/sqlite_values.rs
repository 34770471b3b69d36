//! Values of a SQLite file, read as the declared types.

use lookaside::error::{Error, Kind};
use lookaside::model::{Datum, Decimal, RowLayout, Timestamp, Type, Value};

use crate::sqlite_lookup::Bed;

/// Reads column `c` of the row with id 1 as `declared`.
fn read(bed: &Bed, declared: &Type, nullable: bool) -> Result<Value, Error> {
    let mut spec = bed.spec(&[("id", Type::Int)], &[("c", declared.clone())]);
    spec.max_retries = 0;
    spec.columns[0].ty.nullable = nullable;
    let dimension = bed.open_spec(&spec)?;
    let mut key = Vec::new();
    RowLayout::new([&Type::Int.nullable()]).pack(&[Datum::Int(1)], &mut key);
    let rows = bed.runtime.block_on(dimension.fetch(&[key.into_boxed_slice()]))?;
    let layout = RowLayout::new([&declared.clone().nullable()]);
    Ok(Value::from(layout.get(&rows[0][0], 0)))
}

/// A table whose column `c` of a type holds a SQL literal.
fn holds<'a>(bed: &'a Bed, ty: &str, value: &str) -> Column<'a> {
    bed.run(&format!(
        "DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, c {ty}); INSERT INTO t VALUES (1, {value})"
    ));
    Column { bed }
}

struct Column<'a> {
    bed: &'a Bed,
}

impl Column<'_> {
    #[track_caller]
    fn reads(&self, declared: &Type, expected: Value) -> &Self {
        let value = read(self.bed, declared, true);
        assert_eq!(value.unwrap_or_else(|error| panic!("{declared}: {error}")), expected, "{declared}");
        self
    }

    #[track_caller]
    fn does_not_fit(&self, declared: &Type, why: &str) -> &Self {
        let error = read(self.bed, declared, true).expect_err(&declared.to_string());
        assert_eq!(error.kind(), Kind::Data, "{error}");
        assert!(error.to_string().starts_with("table dim, column c: "), "{error}");
        assert!(error.to_string().contains(why) && error.to_string().contains("SQLite"), "{error}");
        self
    }

    #[track_caller]
    fn is_refused_at_start(&self, declared: &Type, advice: &str) -> &Self {
        let error = read(self.bed, declared, true).expect_err(&declared.to_string());
        assert_eq!(error.kind(), Kind::External, "{error}");
        assert!(error.to_string().contains(advice), "{error}");
        self
    }
}

fn text(value: &str) -> Value {
    Value::Str(value.to_owned())
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text).unwrap())
}

fn decimal_type(precision: u8, scale: u8) -> Type {
    Type::Decimal { precision, scale }
}

#[test]
fn numbers_read_as_declared() {
    let bed = Bed::new(&[]);
    holds(&bed, "INTEGER", "200")
        .reads(&Type::SmallInt, Value::Int(200))
        .reads(&Type::Boolean, Value::Bool(true))
        .reads(&decimal_type(5, 2), decimal("200.00"))
        .does_not_fit(&Type::TinyInt, "200 does not fit TINYINT")
        .does_not_fit(&decimal_type(2, 0), "200 does not fit")
        .is_refused_at_start(&Type::STRING, "declare it BIGINT or a narrower integer")
        .is_refused_at_start(&Type::Double, "declare it BIGINT");
    holds(&bed, "INTEGER", "9223372036854775807").reads(&Type::BigInt, Value::Int(i64::MAX));
    holds(&bed, "INTEGER", "'seven'").does_not_fit(&Type::Int, "the text 'seven' cannot be read as INT");
    holds(&bed, "INTEGER", "X'07'").does_not_fit(&Type::Int, "bytes cannot be read as INT");
    holds(&bed, "INTEGER", "1.5").does_not_fit(&Type::Int, "1.5 does not fit INT");
    holds(&bed, "INTEGER", "NULL").reads(&Type::Int, Value::Null);
    holds(&bed, "BOOLEAN", "FALSE").reads(&Type::Boolean, Value::Bool(false));
    holds(&bed, "DECIMAL(12,4)", "-1.25")
        .reads(&decimal_type(12, 4), decimal("-1.2500"))
        .does_not_fit(&decimal_type(10, 1), "-1.25 does not fit");
    holds(&bed, "DECIMAL(12,4)", "0.1").reads(&decimal_type(3, 2), decimal("0.10"));
    holds(&bed, "TEXT", "'12345678901234567890.12'")
        .reads(&decimal_type(22, 2), decimal("12345678901234567890.12"));
    holds(&bed, "TEXT", "'12,5'").does_not_fit(&decimal_type(22, 2), "12,5 does not fit");
    holds(&bed, "REAL", "1.1")
        .reads(&Type::Double, Value::Double(1.1))
        .reads(&Type::Float, Value::Float(1.1))
        .is_refused_at_start(&Type::Int, "declare it DOUBLE");
    holds(&bed, "REAL", "1.00000000001").does_not_fit(&Type::Float, "does not fit FLOAT");
    holds(&bed, "NUMERIC", "3.0").reads(&Type::Double, Value::Double(3.0)).reads(&Type::Int, Value::Int(3));
}

#[test]
fn text_and_bytes_read_as_declared() {
    let bed = Bed::new(&[]);
    for ty in ["TEXT", "VARCHAR(3)", "", "STRING", "JSON"] {
        holds(&bed, ty, "'naïve €'")
            .reads(&Type::STRING, text("naïve €"))
            .reads(&Type::Varchar(7), text("naïve €"))
            .does_not_fit(&Type::Varchar(6), "a text of 7 characters");
    }
    holds(&bed, "TEXT", "''").reads(&Type::STRING, text(""));
    holds(&bed, "TEXT", "7").reads(&Type::STRING, text("7"));
    holds(&bed, "TEXT", "'a' || char(0) || 'b'").reads(&Type::STRING, text("a\u{0}b"));
    holds(&bed, "STRING", "'007'").does_not_fit(&Type::STRING, "TEXT would not");
    holds(&bed, "TEXT", "'a'").is_refused_at_start(&Type::BYTES, "declare it STRING");
    holds(&bed, "TEXT", "CAST(X'ff' AS TEXT)").does_not_fit(&Type::STRING, "no UTF-8");
    holds(&bed, "BLOB", "X'00FF'")
        .reads(&Type::BYTES, Value::Bytes(vec![0, 255]))
        .does_not_fit(&Type::Varbinary(1), "2 bytes")
        .does_not_fit(&Type::STRING, "bytes cannot be read as");
    let error = read(holds(&bed, "TEXT", "NULL").bed, &Type::STRING, false).unwrap_err();
    assert_eq!(error.kind(), Kind::Data);
    assert!(error.to_string().contains("NOT NULL"), "{error}");
}

#[test]
fn dates_and_times_read_as_declared() {
    let bed = Bed::new(&[]);
    let at = |millis, nanos| Value::Timestamp(Timestamp { millis, nanos });
    let noon = 19_782 * 86_400_000 + 12 * 3_600_000;
    holds(&bed, "DATE", "'2024-02-29'")
        .reads(&Type::Date, Value::Date(19_782))
        .reads(&Type::Timestamp(3), at(noon - 12 * 3_600_000, 0));
    holds(&bed, "DATE", "'2023-02-29'").does_not_fit(&Type::Date, "'2023-02-29' cannot be read as DATE");
    holds(&bed, "DATE", "19782").does_not_fit(&Type::Date, "write dates and times as text");
    holds(&bed, "TIME", "'12:34:56.789'")
        .reads(&Type::Time(3), Value::Time(45_296_789))
        .reads(&Type::Time(0), Value::Time(45_296_000));
    holds(&bed, "TIME", "'25:00:00'").does_not_fit(&Type::Time(0), "'25:00:00'");
    for ty in ["DATETIME", "TEXT", "TIMESTAMP", ""] {
        holds(&bed, ty, "'2024-02-29 12:00:00.123456'")
            .reads(&Type::Timestamp(6), at(noon + 123, 456_000))
            .reads(&Type::Timestamp(3), at(noon + 123, 0))
            .reads(&Type::TimestampLtz(0), at(noon, 0));
    }
    holds(&bed, "DATETIME", "datetime('2024-02-29 12:00:00')").reads(&Type::Timestamp(0), at(noon, 0));
    holds(&bed, "DATETIME", "strftime('%Y-%m-%dT%H:%M:%f', '2024-02-29 12:00:00.5')")
        .reads(&Type::Timestamp(3), at(noon + 500, 0));
    holds(&bed, "DATETIME", "'2024-02-29T14:00:00+02:00'")
        .reads(&Type::TimestampLtz(3), at(noon, 0))
        .does_not_fit(&Type::Timestamp(3), "cannot be read as TIMESTAMP(3)");
}
