//! Batched lookups in a SQLite file: the answer of a batch is that of one plain
//! `SELECT … WHERE column = key` per key, whatever the affinity and collation.

use std::path::PathBuf;

use lookaside::clock::Clock;
use lookaside::db::{Access, Databases, Dimension, DimensionSpec};
use lookaside::error::Error;
use lookaside::model::{Decimal, Timestamp, Type, Value};
use lookaside::plan::{DimensionConnector, SqliteTable};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, Row};
use tokio::runtime::Runtime;

use crate::lookup_keys::{ID, Random, compare, declared, ids, nasty_texts, packed, packed_row};

/// A file with tables of a test's own, and a runtime to ask it.
pub struct Bed {
    folder: tempfile::TempDir,
    pub runtime: Runtime,
}

impl Bed {
    /// Makes the file; its text is UTF-8 unless the first statement says otherwise.
    pub fn new(statements: &[&str]) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let bed = Self { folder: tempfile::tempdir().unwrap(), runtime };
        bed.run(&format!("VACUUM; {}", statements.join(";\n")));
        bed
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("shop.db")
    }

    pub fn table(&self, name: &str) -> SqliteTable {
        SqliteTable { path: self.file().display().to_string(), table: name.to_owned() }
    }

    pub fn spec(&self, key: &[(&str, Type)], columns: &[(&str, Type)]) -> DimensionSpec {
        DimensionSpec {
            table: "dim".to_owned(),
            source: DimensionConnector::Sqlite(self.table("t")),
            key: declared(key),
            columns: declared(columns),
            max_retries: 3,
        }
    }

    pub fn open_spec(&self, spec: &DimensionSpec) -> Result<Dimension, Error> {
        let access = Access::new(Databases::default(), Clock::manual(0), "UTC");
        self.runtime.block_on(Dimension::open(spec, access))
    }

    fn open(&self, key: &[(&str, Type)], columns: &[(&str, Type)]) -> Result<Dimension, Error> {
        self.open_spec(&self.spec(key, columns))
    }

    /// A connection that may write and, for a new file, make it.
    pub async fn connect(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(self.file()).create_if_missing(true).connect().await.unwrap()
    }

    /// Runs statements.
    pub fn run(&self, sql: &str) {
        self.runtime.block_on(async {
            let statements = AssertSqlSafe(sql.to_owned());
            let done = self.connect().await.execute(statements).await;
            done.unwrap_or_else(|error| panic!("{sql}: {error}"));
        });
    }

    fn rows(&self, sql: &str, text: Option<&str>) -> Vec<SqliteRow> {
        self.runtime.block_on(async {
            let mut query = sqlx::query(AssertSqlSafe(sql.to_owned()));
            if let Some(text) = text {
                query = query.bind(text);
            }
            let rows = query.fetch_all(&mut self.connect().await).await;
            rows.unwrap_or_else(|error| panic!("{sql}: {error}"))
        })
    }

    /// One plain select per key: ids in order.
    fn plain(&self, condition: &str, text: Option<&str>) -> Vec<i64> {
        let sql = format!("SELECT id FROM t WHERE {condition} ORDER BY id");
        self.rows(&sql, text).iter().map(|row| row.get(0)).collect()
    }

    /// How SQLite goes about a statement of keys.
    fn explain(&self, dimension: &Dimension, keys: &str) -> Vec<String> {
        let sql = format!("EXPLAIN QUERY PLAN {}", dimension.statement());
        self.rows(&sql, Some(keys)).iter().map(|row| row.get(3)).collect()
    }
}

fn texts_inserted() -> String {
    let texts = nasty_texts();
    let hex = |text: &String| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let rows: Vec<String> = texts.iter().map(|text| format!("(CAST(X'{}' AS TEXT))", hex(text))).collect();
    format!("INSERT INTO t (k) VALUES {}", rows.join(", "))
}

fn check_texts(bed: &Bed, label: &str) {
    let dimension = bed.open(&[("k", Type::STRING)], &ID).unwrap();
    let texts = nasty_texts();
    let keys: Vec<_> = texts.iter().map(|text| packed(&Type::STRING, &Value::Str(text.clone()))).collect();
    let name = |text: &String| format!("{label}: {:?}", text.chars().take(12).collect::<String>());
    let expected: Vec<_> = texts.iter().map(|text| (name(text), bed.plain("k = ?", Some(text)))).collect();
    compare(&bed.runtime, &dimension, &keys, &expected);
}

#[test]
fn text_keys_match_as_affinity_and_collation_say() {
    let types = [
        "TEXT",
        "TEXT COLLATE BINARY",
        "TEXT COLLATE NOCASE",
        "TEXT COLLATE RTRIM",
        "VARCHAR(20) COLLATE NOCASE",
        "CHAR(3)",
        "COLLATE NOCASE",
        "",
        "BLOB",
        "JSON",
        // Numeric by SQLite's rules: '1', '01', '1.0' and '1e0' are one number.
        "STRING",
        "STRING COLLATE NOCASE",
    ];
    let bed = Bed::new(&[]);
    for ty in types {
        bed.run(&format!(
            "DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, k {ty}); CREATE INDEX by_key ON t (k); {}",
            texts_inserted()
        ));
        check_texts(&bed, ty);
    }
    assert_eq!(bed.plain("k = '01'", None).len(), 4, "affinity makes one number of four texts");
}

#[test]
fn a_file_in_utf_16_answers_alike() {
    let bed = Bed::new(&[]);
    std::fs::remove_file(bed.file()).unwrap();
    bed.run("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT COLLATE NOCASE)");
    bed.run(&texts_inserted());
    let encoding: String = bed.rows("PRAGMA encoding", None)[0].get(0);
    assert_eq!(encoding, "UTF-16le");
    check_texts(&bed, "UTF-16");
}

/// Checks keys of one column against plain selects with the given SQL conditions.
fn check_keys(bed: &Bed, ty: &Type, keys: &[(Value, &str)]) {
    let dimension = bed.open(&[("k", ty.clone())], &ID).unwrap();
    let packed: Vec<_> = keys.iter().map(|(value, _)| packed(ty, value)).collect();
    let expected: Vec<_> =
        keys.iter().map(|(_, sql)| ((*sql).to_owned(), bed.plain(&format!("k = {sql}"), None))).collect();
    compare(&bed.runtime, &dimension, &packed, &expected);
    let matched = expected.iter().filter(|(_, ids)| !ids.is_empty()).count();
    assert!(0 < matched && matched < keys.len(), "{matched} of {} keys match: nothing shown", keys.len());
}

fn column(bed: &Bed, ty: &str, values: &str) {
    let rows: Vec<String> = values.split(", ").map(|value| format!("({value})")).collect();
    bed.run(&format!(
        "DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, k {ty}); CREATE INDEX by_key ON t (k); \
         INSERT INTO t (k) VALUES {}",
        rows.join(", ")
    ));
}

#[test]
fn integer_keys_match_in_every_type() {
    let stored = "7, 7, NULL, 0, -1, 127, 2147483647, -2147483648, 9007199254740993, 9007199254740992, \
                  9223372036854775807, -9223372036854775808, '7', 7.0, 'seven', X'07'";
    let keys = [
        7,
        8,
        0,
        -1,
        127,
        128,
        i64::from(i32::MAX),
        i64::from(i32::MIN),
        9_007_199_254_740_991,
        9_007_199_254_740_992,
        9_007_199_254_740_993,
        i64::MAX,
        i64::MIN,
        i64::MIN + 1,
    ];
    let texts: Vec<String> = keys.iter().map(i64::to_string).collect();
    let keys: Vec<_> = keys.iter().zip(&texts).map(|(key, text)| (Value::Int(*key), text.as_str())).collect();
    let bed = Bed::new(&[]);
    for ty in ["INTEGER", "INT", "BIGINT UNSIGNED", "TINYINT", "NUMERIC", "DECIMAL(20,0)", "", "BLOB"] {
        column(&bed, ty, stored);
        check_keys(&bed, &Type::BigInt, &keys);
    }
    column(&bed, "BOOLEAN", "1, 1, NULL, TRUE");
    check_keys(&bed, &Type::Boolean, &[(Value::Bool(true), "TRUE"), (Value::Bool(false), "FALSE")]);
}

#[test]
fn the_rowid_is_a_key() {
    let bed = Bed::new(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO t VALUES (1, 'a'), (3, 'c')",
    ]);
    let dimension = bed.open(&[("id", Type::Int)], &ID).unwrap();
    assert!(dimension.notes().is_empty(), "{:?}", dimension.notes());
    let keys: Vec<_> = (1..=3).map(|id| packed(&Type::Int, &Value::Int(id))).collect();
    let rows = bed.runtime.block_on(dimension.fetch(&keys)).unwrap();
    assert_eq!(rows.iter().map(|rows| ids(rows)).collect::<Vec<_>>(), [vec![1], vec![], vec![3]]);
}

#[test]
fn decimal_keys_match_exactly_or_not_at_all() {
    let ty = Type::Decimal { precision: 38, scale: 20 };
    let texts = [
        "1.5",
        "1.50",
        "0.075",
        "0.08",
        "-0.05",
        "0",
        "99999999.99",
        "7",
        "7.00",
        "0.1",
        "0.3",
        "123456789.123456",
        "0.12345678901234568",
        "9007199254740993",
        "100000000",
        "-1.5",
        "1e15",
        "0.000001",
    ];
    let value =
        |text: &str| Value::Decimal(Decimal::parse(text).and_then(|value| value.rescale(20)).unwrap());
    // Beyond 18 digits before the point a key of this type has no room.
    let texts: Vec<&str> =
        texts.into_iter().filter(|text| Decimal::parse(text).unwrap().rescale(20).is_some()).collect();
    let keys: Vec<_> = texts.iter().map(|text| (value(text), *text)).collect();
    let bed = Bed::new(&[]);
    for column_type in ["DECIMAL(20,10)", "NUMERIC", "REAL", "DOUBLE", "INTEGER", ""] {
        column(
            &bed,
            column_type,
            "1.5, 0.08, -0.05, 0, 99999999.99, 7, 7.0, 0.1, 0.1 + 0.2, 123456789.123456, 0.12345678901234568, \
             9007199254740993, 1e15, 0.000001",
        );
        check_keys(&bed, &ty, &keys);
    }
    // A float shows 0.1 here; a key with more digits than that is another number.
    column(&bed, "DECIMAL(38,20)", "0.1, 1");
    let dimension = bed.open(&[("k", ty.clone())], &ID).unwrap();
    let keys =
        ["0.10000000000000000555", "0.1", "1.00000000000000000001"].map(|text| packed(&ty, &value(text)));
    let rows = bed.runtime.block_on(dimension.fetch(&keys)).unwrap();
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 0]);
}

#[test]
fn dates_and_times_match_as_texts_of_the_declared_digits() {
    let bed = Bed::new(&[]);
    column(
        &bed,
        "DATE",
        "'1970-01-01', '2024-02-29', '2024-02-29', '0000-01-01', 19782, '2024-02-29 00:00:00'",
    );
    let dates =
        [(0, "'1970-01-01'"), (19_782, "'2024-02-29'"), (-1, "'1969-12-31'"), (-719_528, "'0000-01-01'")];
    check_keys(&bed, &Type::Date, &dates.map(|(days, sql)| (Value::Date(days), sql)));
    column(&bed, "TIME", "'12:34:56', '12:34:56.789', '00:00:00'");
    let clock = [(45_296_000, "'12:34:56.000'"), (45_296_789, "'12:34:56.789'"), (0, "'00:00:00.000'")];
    check_keys(&bed, &Type::Time(3), &clock.map(|(millis, sql)| (Value::Time(millis), sql)));
    let noon = 19_782 * 86_400_000 + 12 * 3_600_000;
    let at = |millis, nanos| Value::Timestamp(Timestamp { millis, nanos });
    for column_type in ["DATETIME", "TEXT", "TIMESTAMP", ""] {
        column(&bed, column_type, "'2024-02-29 12:00:00', '2024-02-29 12:00:00.500', '2024-02-29T12:00:00'");
        let whole = [(at(noon, 0), "'2024-02-29 12:00:00'"), (at(noon + 500, 0), "'no such text'")];
        check_keys(&bed, &Type::Timestamp(0), &whole);
        check_keys(&bed, &Type::TimestampLtz(0), &whole);
        let millis =
            [(at(noon, 0), "'2024-02-29 12:00:00.000'"), (at(noon + 500, 0), "'2024-02-29 12:00:00.500'")];
        check_keys(&bed, &Type::Timestamp(3), &millis);
    }
}

#[test]
fn binary_keys_match() {
    let bytes = [
        (vec![], "X''"),
        (vec![0], "X'00'"),
        (vec![1, 2], "X'0102'"),
        (vec![97], "X'61'"),
        (vec![98], "X'62'"),
        (vec![0xff, 0xfe], "X'FFFE'"),
        (vec![7; 3000], "zeroblob(3000)"),
    ];
    let keys: Vec<_> = bytes.iter().map(|(bytes, sql)| (Value::Bytes(bytes.clone()), *sql)).collect();
    let bed = Bed::new(&[]);
    for ty in ["BLOB", "", "VARBINARY(20)"] {
        column(&bed, ty, "X'', X'0102', X'00', 'a', X'62', X'FFFE', 61, NULL");
        check_keys(&bed, &Type::BYTES, &keys);
    }
}

#[test]
fn more_plain_keys_than_one_statement_takes() {
    let bed = Bed::new(&["CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT)"]);
    bed.run("INSERT INTO t (k) VALUES ('a' || char(0)), ('b' || char(0)), ('a' || char(0))");
    let dimension = bed.open(&[("k", Type::STRING)], &ID).unwrap();
    let key = |i: usize| packed(&Type::STRING, &Value::Str(format!("{}\u{0}", ["a", "b", "c"][i % 3])));
    let keys: Vec<_> = (0..151).map(key).collect();
    let answer = bed.runtime.block_on(dimension.fetch(&keys)).unwrap();
    for (i, rows) in answer.iter().enumerate() {
        assert_eq!(ids(rows), [vec![1, 3], vec![2], vec![]][i % 3], "key {i}");
    }
}

#[test]
fn composite_keys_use_the_index_and_keep_the_order_of_the_primary_key() {
    let bed = Bed::new(&[
        "CREATE TABLE t (shop INT NOT NULL, id INTEGER PRIMARY KEY, code TEXT COLLATE NOCASE, note TEXT)",
        "CREATE INDEX by_code ON t (shop, code)",
        "INSERT INTO t SELECT value % 50, 20000 - value, 'c' || (value % 7), 'n' \
         FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 10000) SELECT value FROM n)",
    ]);
    let key = [("shop", Type::Int), ("code", Type::STRING)];
    let dimension = bed.open(&key, &ID).unwrap();
    let wanted = [(1, "c1"), (1, "C1"), (1, "c1 "), (49, "c6"), (1, "zz"), (-1, "c1"), (1, "c1")];
    let row = |shop: i64, code: &str| packed_row(&key, &[Value::Int(shop), Value::Str(code.to_owned())]);
    let keys: Vec<_> = wanted.iter().map(|(shop, code)| row(*shop, code)).collect();
    let plain = |(shop, code): &(i64, &str)| {
        (format!("{shop}, {code}"), bed.plain(&format!("shop = {shop} AND code = ?"), Some(code)))
    };
    let expected: Vec<_> = wanted.iter().map(plain).collect();
    assert!(1 < expected[0].1.len() && expected[0].1 == expected[1].1 && expected[2].1.is_empty());
    compare(&bed.runtime, &dimension, &keys, &expected);
    let plan = bed.explain(&dimension, "[[1,\"c1\"],[2,\"c2\"]]");
    assert!(plan.iter().any(|line| line.contains("INDEX by_code (shop=? AND code=?)")), "{plan:?}");
    assert!(dimension.notes().is_empty());
}

#[test]
fn a_unique_index_of_another_collation_promises_nothing() {
    let bed = Bed::new(&[
        "CREATE TABLE t (id INTEGER NOT NULL, k TEXT NOT NULL COLLATE NOCASE, PRIMARY KEY (id DESC))",
        "CREATE UNIQUE INDEX exact ON t (k COLLATE BINARY)",
        "INSERT INTO t VALUES (3, 'A'), (1, 'a'), (2, 'b')",
    ]);
    let dimension = bed.open(&[("k", Type::STRING)], &ID).unwrap();
    let keys = [packed(&Type::STRING, &Value::Str("a".to_owned()))];
    assert_eq!(ids(&bed.runtime.block_on(dimension.fetch(&keys)).unwrap()[0]), [1, 3]);
    assert!(dimension.notes()[0].contains("reads the whole table"), "{:?}", dimension.notes());
}

#[test]
fn the_index_is_used_whatever_the_type() {
    let bed = Bed::new(&[]);
    let columns = [
        ("TEXT", Type::STRING, "[[\"a\"]]"),
        ("TEXT COLLATE NOCASE", Type::STRING, "[[\"a\"]]"),
        ("STRING", Type::STRING, "[[\"a\"]]"),
        ("INT", Type::BigInt, "[[1]]"),
        ("", Type::BigInt, "[[1]]"),
        ("DECIMAL(10,2)", Type::Decimal { precision: 10, scale: 2 }, "[[1.5]]"),
        ("DATETIME", Type::Timestamp(3), "[[\"2024-01-01 00:00:00.000\"]]"),
        ("DATE", Type::Date, "[[\"2024-01-01\"]]"),
        ("BLOB", Type::BYTES, "[[\"61\"]]"),
    ];
    for (ty, declared, keys) in columns {
        column(&bed, ty, "NULL, NULL");
        let dimension = bed.open(&[("k", declared)], &ID).unwrap();
        let plan = bed.explain(&dimension, keys);
        assert!(plan.iter().any(|line| line.contains("by_key (k=?)")), "{ty}: {plan:?}");
        assert!(dimension.notes().is_empty());
    }
}

#[test]
fn random_composite_keys_match_as_plain_selects_do() {
    let bed = Bed::new(&[]);
    for (seed, ty) in [(1, "TEXT COLLATE NOCASE"), (2, "TEXT"), (3, "TEXT COLLATE RTRIM"), (4, "")] {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 + seed);
        let row = |random: &mut Random| {
            let hex: String = random.text().bytes().map(|byte| format!("{byte:02x}")).collect();
            format!("({}, CAST(X'{hex}' AS TEXT))", random.below(3))
        };
        let rows: Vec<String> = (0..200).map(|_| row(&mut random)).collect();
        bed.run(&format!(
            "DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, n SMALLINT, k {ty}); \
             CREATE INDEX by_key ON t (n, k); INSERT INTO t (n, k) VALUES {}",
            rows.join(", ")
        ));
        let key = [("n", Type::Int), ("k", Type::STRING)];
        let mut spec = bed.spec(&key, &ID);
        spec.source = DimensionConnector::Sqlite(bed.table("main.t"));
        let dimension = bed.open_spec(&spec).unwrap();
        let wanted: Vec<(usize, String)> = (0..100).map(|_| (random.below(4), random.text())).collect();
        let packed = |(n, text): &(usize, String)| {
            packed_row(&key, &[Value::Int(*n as i64), Value::Str(text.clone())])
        };
        let keys: Vec<_> = wanted.iter().map(packed).collect();
        let plain = |(n, text): &(usize, String)| {
            (format!("{ty}: {n}, {text:?}"), bed.plain(&format!("n = {n} AND k = ?"), Some(text)))
        };
        let expected: Vec<_> = wanted.iter().map(plain).collect();
        assert!(
            expected.iter().any(|(_, ids)| 1 < ids.len()) && expected.iter().any(|(_, ids)| ids.is_empty())
        );
        compare(&bed.runtime, &dimension, &keys, &expected);
    }
}
