//! Values of the real server, read as the declared types.

use lookaside::clock::Clock;
use lookaside::db::{Access, Databases, Dimension, DimensionSpec};
use lookaside::error::{Error, Kind};
use lookaside::model::{Decimal, RowLayout, Timestamp, Type, Value};
use lookaside::plan::{DimensionColumn, DimensionConnector};

use crate::mysql_lookup::Bed;

/// Reads column `c` of the row with id 1 as `declared`.
fn read_in(bed: &Bed, declared: &Type, nullable: bool, zone: &str) -> Result<Value, Error> {
    let column = |name: &str, ty: &Type| DimensionColumn {
        name: name.to_owned(),
        ty: if nullable { ty.clone().nullable() } else { ty.clone().not_null() },
    };
    let spec = DimensionSpec {
        table: "dim".to_owned(),
        source: DimensionConnector::Mysql(bed.table("t")),
        key: vec![column("id", &Type::Int)],
        columns: vec![column("c", declared)],
        max_retries: 0,
    };
    let access = Access::new(Databases::default(), Clock::manual(0), zone);
    let mut key = Vec::new();
    RowLayout::new([&Type::Int.nullable()]).pack(&[lookaside::model::Datum::Int(1)], &mut key);
    bed.runtime.block_on(async {
        let dimension = Dimension::open(&spec, access).await?;
        let rows = dimension.fetch(&[key.into_boxed_slice()]).await?;
        let layout = RowLayout::new([&declared.clone().nullable()]);
        Ok(Value::from(layout.get(&rows[0][0], 0)))
    })
}

struct Column<'a> {
    bed: &'a Bed,
}

impl Column<'_> {
    /// Makes a table whose column `c` holds `value` (a SQL literal).
    fn holds(&self, column: &str, value: &str) {
        self.bed.database.run("DROP TABLE IF EXISTS t");
        self.bed.database.run(&format!("CREATE TABLE t (id INT PRIMARY KEY, c {column})"));
        self.bed.database.run(&format!("INSERT IGNORE INTO t VALUES (1, {value})"));
    }

    fn reads(&self, declared: &Type, expected: Value) {
        let read = read_in(self.bed, declared, true, "UTC");
        assert_eq!(read.unwrap_or_else(|error| panic!("{declared}: {error}")), expected, "{declared}");
    }

    fn does_not_fit(&self, declared: &Type) {
        let error = read_in(self.bed, declared, true, "UTC").expect_err(&declared.to_string());
        assert_eq!(error.kind(), Kind::Data, "{error}");
        assert!(error.to_string().starts_with("table dim, column c: "), "{error}");
    }

    fn is_refused_at_start(&self, declared: &Type, advice: &str) {
        let error = read_in(self.bed, declared, true, "UTC").expect_err(&declared.to_string());
        assert_eq!(error.kind(), Kind::External, "{error}");
        assert!(error.to_string().contains(advice), "{error}");
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
    let bed = Bed::new("read_numbers", &[]);
    let column = Column { bed: &bed };
    column.holds("TINYINT(1)", "3");
    column.reads(&Type::TinyInt, Value::Int(3));
    column.reads(&Type::Boolean, Value::Bool(true));
    column.holds("TINYINT(1) UNSIGNED", "200");
    column.reads(&Type::SmallInt, Value::Int(200));
    column.does_not_fit(&Type::TinyInt);
    column.holds("TINYINT", "-128");
    column.reads(&Type::BigInt, Value::Int(-128));
    column.holds("MEDIUMINT UNSIGNED", "16777215");
    column.reads(&Type::Int, Value::Int(16_777_215));
    column.holds("MEDIUMINT", "-8388608");
    column.reads(&Type::Int, Value::Int(-8_388_608));
    column.holds("INT UNSIGNED", "4294967295");
    column.reads(&Type::BigInt, Value::Int(4_294_967_295));
    column.does_not_fit(&Type::Int);
    column.holds("BIGINT UNSIGNED", "18446744073709551615");
    column.reads(&decimal_type(20, 0), decimal("18446744073709551615"));
    column.does_not_fit(&Type::BigInt);
    column.is_refused_at_start(&Type::STRING, "declare it DECIMAL(20, 0) or BIGINT");
    column.holds("YEAR", "2024");
    column.reads(&Type::SmallInt, Value::Int(2024));
    column.holds("BIT(1)", "b'1'");
    column.reads(&Type::Boolean, Value::Bool(true));
    column.holds("DECIMAL(12,4)", "-1.2500");
    column.reads(&decimal_type(12, 4), decimal("-1.2500"));
    column.reads(&decimal_type(10, 2), decimal("-1.25"));
    column.does_not_fit(&decimal_type(10, 1));
    column.holds("DECIMAL(65,30)", "1.5");
    column.reads(&decimal_type(38, 18), decimal("1.500000000000000000"));
    column.holds("FLOAT", "2.2");
    column.reads(&Type::Float, Value::Float(2.2));
    column.holds("DOUBLE", "1.1");
    column.reads(&Type::Double, Value::Double(1.1));
    column.is_refused_at_start(&Type::Float, "declare it DOUBLE");
}

#[test]
fn text_and_bytes_read_as_declared() {
    let bed = Bed::new("read_text", &[]);
    let column = Column { bed: &bed };
    for declared in [
        "VARCHAR(20) CHARACTER SET latin1",
        "VARCHAR(20) COLLATE utf8mb4_bin",
        "TEXT CHARACTER SET latin1 COLLATE latin1_bin",
        "CHAR(20)",
        "LONGTEXT",
        "ENUM('naïve €', 'b')",
        "SET('naïve €', 'b')",
        "VARBINARY(20)",
        "BLOB",
    ] {
        column.holds(declared, "'naïve €'");
        column.reads(&Type::STRING, text("naïve €"));
        column.reads(&Type::Varchar(7), text("naïve €"));
        column.does_not_fit(&Type::Varchar(6));
    }
    column.holds("VARCHAR(20) CHARACTER SET gbk", "'张'");
    column.reads(&Type::STRING, text("张"));
    column.is_refused_at_start(&Type::BYTES, "declare it STRING");
    column.holds("JSON", "'{\"a\": 1}'");
    column.reads(&Type::STRING, text("{\"a\": 1}"));
    column.holds("VARBINARY(20)", "X'00FF'");
    column.reads(&Type::BYTES, Value::Bytes(vec![0, 255]));
    column.does_not_fit(&Type::Varbinary(1));
    column.does_not_fit(&Type::STRING);
    column.holds("INT", "NULL");
    column.reads(&Type::Int, Value::Null);
    let error = read_in(&bed, &Type::Int, false, "UTC").unwrap_err();
    assert_eq!(error.kind(), Kind::Data);
    assert!(error.to_string().contains("NOT NULL"), "{error}");
}

#[test]
fn dates_and_times_read_as_declared() {
    let bed = Bed::new("read_times", &[]);
    let column = Column { bed: &bed };
    let at = |millis, nanos| Value::Timestamp(Timestamp { millis, nanos });
    let noon = 19_782 * 86_400_000 + 12 * 3_600_000;
    column.holds("DATE", "'2024-02-29'");
    column.reads(&Type::Date, Value::Date(19_782));
    column.is_refused_at_start(&Type::Timestamp(3), "declare it DATE");
    column.holds("TIME(6)", "'12:34:56.789123'");
    column.reads(&Type::Time(3), Value::Time(45_296_789));
    column.reads(&Type::Time(0), Value::Time(45_296_000));
    column.holds("TIME", "'-01:00:00'");
    column.does_not_fit(&Type::Time(0));
    column.holds("TIME", "'100:00:00'");
    column.does_not_fit(&Type::Time(0));
    column.holds("DATETIME(6)", "'2024-02-29 12:00:00.123456'");
    column.reads(&Type::Timestamp(6), at(noon + 123, 456_000));
    column.reads(&Type::Timestamp(3), at(noon + 123, 0));
    column.reads(&Type::Timestamp(0), at(noon, 0));
    column.is_refused_at_start(&Type::TimestampLtz(3), "declare it TIMESTAMP(p)");
    column.holds("DATETIME", "'1000-01-01 00:00:00'");
    column.reads(&Type::Timestamp(3), at(-30_610_224_000_000, 0));
    column.holds("DATE", "'0000-00-00'");
    column.reads(&Type::Date, Value::Null);
    column.holds("DATETIME NOT NULL", "'0000-00-00 00:00:00'");
    column.reads(&Type::Timestamp(3), Value::Null);
    column.holds("TIMESTAMP(3) NULL", "'2024-02-29 12:00:00.5'");
    column.reads(&Type::Timestamp(3), at(noon + 500, 0));
    column.reads(&Type::TimestampLtz(3), at(noon + 500, 0));
    let shanghai = read_in(&bed, &Type::Timestamp(3), true, "Asia/Shanghai").unwrap();
    assert_eq!(shanghai, at(noon + 500 + 8 * 3_600_000, 0));
    let instant = read_in(&bed, &Type::TimestampLtz(3), true, "Asia/Shanghai").unwrap();
    assert_eq!(instant, at(noon + 500, 0));
}
