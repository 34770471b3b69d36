//! Batched lookups against the real server: the answer of a batch is that of
//! one plain `SELECT … WHERE column = key` per key, whatever the collation and type.

use std::sync::Arc;
use std::time::Duration;

use lookaside::clock::Clock;
use lookaside::db::{Access, Databases, Dimension, DimensionSpec};
use lookaside::error::Error;
use lookaside::model::{Decimal, Timestamp, Type, Value};
use lookaside::plan::{DimensionConnector, MysqlTable};
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Row};
use tokio::runtime::Runtime;

use crate::database::Database;
use crate::lookup_keys::{ID, Random, compare, declared, ids, nasty_texts, packed, packed_row};
use crate::stack;

/// A database with one table `t`, and a runtime to ask it.
pub struct Bed {
    pub database: Database,
    pub runtime: Runtime,
    pub port: u16,
}

impl Bed {
    pub fn new(name: &str, statements: &[&str]) -> Self {
        let database = Database::new(name);
        for statement in statements {
            database.run(statement);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { database, runtime, port: server().1 }
    }

    pub fn table(&self, name: &str) -> MysqlTable {
        MysqlTable {
            host: server().0,
            port: self.port,
            database: self.database.name.clone(),
            table: name.to_owned(),
            username: Some("root".to_owned()),
            password: None,
            tls: true,
            connect_timeout: Duration::from_secs(5),
        }
    }

    fn spec(&self, key: &[(&str, Type)], columns: &[(&str, Type)]) -> DimensionSpec {
        DimensionSpec {
            table: "dim".to_owned(),
            source: DimensionConnector::Mysql(self.table("t")),
            key: declared(key),
            columns: declared(columns),
            max_retries: 3,
        }
    }

    fn open(&self, key: &[(&str, Type)], columns: &[(&str, Type)]) -> Result<Dimension, Error> {
        self.open_spec(&self.spec(key, columns))
    }

    fn open_spec(&self, spec: &DimensionSpec) -> Result<Dimension, Error> {
        self.runtime.block_on(Dimension::open(spec, access()))
    }

    /// One plain select per key: ids in order; a key that cannot be compared (1267) has none.
    fn plain(&self, condition: &str, text: Option<&str>) -> Vec<i64> {
        self.runtime.block_on(async {
            let mut connection = self.connect().await;
            let sql = format!("SELECT CAST(id AS SIGNED) FROM t WHERE {condition} ORDER BY id");
            let mut query = sqlx::query(AssertSqlSafe(sql.clone()));
            if let Some(text) = text {
                query = query.bind(text);
            }
            match query.fetch_all(&mut connection).await {
                Ok(rows) => rows.iter().map(|row| row.get(0)).collect(),
                Err(error) if error.to_string().contains("Illegal mix of collations") => Vec::new(),
                Err(error) => panic!("{sql}: {error}"),
            }
        })
    }

    /// Inserts rows 1 to `rows` into `t` by one statement.
    fn fill(&self, rows: usize, row: impl Fn(usize) -> String) {
        let rows: Vec<String> = (1..=rows).map(row).collect();
        self.database.run(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }

    async fn connect(&self) -> MySqlConnection {
        let options = MySqlConnectOptions::new().host(&server().0).port(server().1).username("root");
        options.database(&self.database.name).connect().await.unwrap()
    }
}

pub fn server() -> (String, u16) {
    let address = stack::mysql();
    let (host, port) = address.split_once(':').unwrap();
    (host.to_owned(), port.parse().unwrap())
}

fn access() -> Access {
    Access::new(Databases::default(), Clock::manual(0), "UTC")
}

fn text_table(column: &str) -> Vec<String> {
    let mut statements = vec![format!(
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k {column}, KEY (k)) DEFAULT CHARACTER SET utf8mb4"
    )];
    for text in nasty_texts().iter().filter(|text| text.chars().count() <= 200) {
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        statements.push(format!("INSERT IGNORE INTO t (k) VALUES (CONVERT(X'{hex}' USING utf8mb4))"));
    }
    statements
}

#[test]
fn text_keys_match_as_the_collation_says() {
    let columns = [
        "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
        "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci",
        "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_nopad_ci",
        "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
        "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_as_cs",
        "CHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "VARCHAR(200) CHARACTER SET latin1 COLLATE latin1_swedish_ci",
        "VARCHAR(200) CHARACTER SET latin1 COLLATE latin1_german2_ci",
        "VARCHAR(200) CHARACTER SET latin1 COLLATE latin1_bin",
        "VARCHAR(200) CHARACTER SET utf8 COLLATE utf8_general_ci",
        "VARCHAR(200) CHARACTER SET ascii COLLATE ascii_general_ci",
        "VARCHAR(200) CHARACTER SET gbk COLLATE gbk_chinese_ci",
        "VARCHAR(200) CHARACTER SET utf16 COLLATE utf16_general_ci",
        "VARCHAR(200) CHARACTER SET cp1251 COLLATE cp1251_general_ci",
    ];
    let bed = Bed::new("text_keys", &[]);
    let mut checked = 0;
    for column in columns {
        bed.database.run("DROP TABLE IF EXISTS t");
        let collation = column.rsplit(' ').next().unwrap();
        if !known_collation(&bed, collation) {
            continue;
        }
        for statement in text_table(column) {
            bed.database.run(&statement);
        }
        let dimension = bed.open(&[("k", Type::STRING)], &ID).unwrap();
        let texts = nasty_texts();
        let keys: Vec<_> =
            texts.iter().map(|text| packed(&Type::STRING, &Value::Str(text.clone()))).collect();
        let label = |text: &String| format!("{column}: {:?}", text.chars().take(12).collect::<String>());
        let expected: Vec<_> =
            texts.iter().map(|text| (label(text), bed.plain("k = ?", Some(text)))).collect();
        compare(&bed.runtime, &dimension, &keys, &expected);
        checked += 1;
    }
    assert!(10 <= checked, "{checked} collations");
}

fn known_collation(bed: &Bed, name: &str) -> bool {
    let sql = format!(
        "SELECT CAST(COUNT(*) AS CHAR) FROM information_schema.collations WHERE collation_name = '{name}'"
    );
    bed.database.rows(&sql)[0][0].as_deref() != Some("0")
}

/// Checks keys of one column against plain selects with the given SQL conditions.
fn check_keys(bed: &Bed, ty: &Type, keys: &[(Value, &str)]) {
    let dimension = bed.open(&[("k", ty.clone())], &ID).unwrap();
    let packed: Vec<_> = keys.iter().map(|(value, _)| packed(ty, value)).collect();
    let expected: Vec<_> =
        keys.iter().map(|(_, sql)| ((*sql).to_owned(), bed.plain(&format!("k = {sql}"), None))).collect();
    compare(&bed.runtime, &dimension, &packed, &expected);
    let matched = expected.iter().filter(|(_, ids)| !ids.is_empty()).count();
    assert!(
        0 < matched && matched < keys.len(),
        "{matched} of {} keys match: the test shows nothing",
        keys.len()
    );
}

#[test]
fn integer_keys_match_in_every_width_and_sign() {
    let extremes = [
        ("TINYINT", "-128, 127"),
        ("TINYINT UNSIGNED", "0, 255"),
        ("SMALLINT", "-32768, 32767"),
        ("MEDIUMINT", "-8388608, 8388607"),
        ("MEDIUMINT UNSIGNED", "0, 16777215"),
        ("INT", "-2147483648, 2147483647"),
        ("INT UNSIGNED", "0, 4294967295"),
        ("BIGINT", "-9223372036854775808, 9223372036854775807, 9007199254740993, 9007199254740992"),
        ("BIGINT UNSIGNED", "0, 9223372036854775807, 9007199254740993"),
        ("DECIMAL(20,0)", "7, 9007199254740993, -128"),
    ];
    let bed = Bed::new("integer_keys", &[]);
    for (ty, stored) in extremes {
        bed.database.run("DROP TABLE IF EXISTS t");
        bed.database.run(&format!("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k {ty}, KEY (k))"));
        for value in stored.split(", ").chain(["7", "NULL"]) {
            bed.database.run(&format!("INSERT INTO t (k) VALUES ({value}), ({value})"));
        }
        let keys: Vec<i64> = vec![
            7,
            8,
            0,
            -1,
            127,
            128,
            -128,
            -129,
            255,
            256,
            32_767,
            32_768,
            -32_768,
            8_388_607,
            8_388_608,
            16_777_215,
            16_777_216,
            i32::MAX.into(),
            i64::from(i32::MAX) + 1,
            i32::MIN.into(),
            u32::MAX.into(),
            i64::from(u32::MAX) + 1,
            9_007_199_254_740_992,
            9_007_199_254_740_993,
            i64::MAX,
            i64::MIN,
        ];
        let texts: Vec<String> = keys.iter().map(i64::to_string).collect();
        let keys: Vec<_> =
            keys.iter().zip(&texts).map(|(key, text)| (Value::Int(*key), text.as_str())).collect();
        check_keys(&bed, &Type::BigInt, &keys);
    }
}

#[test]
fn decimal_keys_match_exactly_or_not_at_all() {
    let texts = [
        "1.5",
        "1.50",
        "1.500000",
        "0.075",
        "0.08",
        "-0.05",
        "-0.050",
        "0",
        "99999999.99",
        "100000000",
        "7",
        "7.00",
        "12345678901234567890.12",
        "18446744073709551615",
        "1.0000000001",
        "-1.5",
    ];
    let ty = Type::Decimal { precision: 38, scale: 10 };
    let keys: Vec<_> = texts
        .iter()
        .map(|text| {
            let value = Decimal::parse(text).and_then(|value| value.rescale(10)).unwrap();
            (Value::Decimal(value), *text)
        })
        .collect();
    let bed = Bed::new("decimal_keys", &[]);
    let columns = [
        ("DECIMAL(10,2)", "1.5, 0.08, -0.05, 0, 99999999.99, 7"),
        ("DECIMAL(38,10)", "1.5, 0.075, 12345678901234567890.12, 1.0000000001"),
        ("DECIMAL(65,30)", "1.5, 0.075, 12345678901234567890.12, 1.0000000001"),
        ("BIGINT UNSIGNED", "0, 7, 18446744073709551615"),
        ("INT", "0, 7"),
    ];
    for (column, stored) in columns {
        bed.database.run("DROP TABLE IF EXISTS t");
        bed.database.run(&format!("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k {column}, KEY (k))"));
        for value in stored.split(", ") {
            bed.database.run(&format!("INSERT INTO t (k) VALUES ({value})"));
        }
        check_keys(&bed, &ty, &keys);
    }
}

const SECOND: i64 = 1000;
const DAY: i64 = 86_400 * SECOND;

#[test]
fn dates_and_times_match_at_the_columns_precision() {
    let bed = Bed::new("time_keys", &[]);
    let create = |column: &str, values: &[&str]| {
        bed.database.run("DROP TABLE IF EXISTS t");
        bed.database.run(&format!("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k {column}, KEY (k))"));
        for value in values {
            bed.database.run(&format!("INSERT IGNORE INTO t (k) VALUES ('{value}')"));
        }
    };
    create("DATE", &["1970-01-01", "2024-02-29", "0000-00-00", "9999-12-31", "2024-02-29"]);
    let dates =
        [(0, "'1970-01-01'"), (19_782, "'2024-02-29'"), (-1, "'1969-12-31'"), (2_932_896, "'9999-12-31'")];
    check_keys(&bed, &Type::Date, &dates.map(|(days, sql)| (Value::Date(days), sql)));

    let clock = [
        (0, "'00:00:00'"),
        (45_296_789, "'12:34:56.789'"),
        (45_296_000, "'12:34:56'"),
        (1, "'00:00:00.001'"),
    ];
    for column in ["TIME", "TIME(3)", "TIME(6)"] {
        create(column, &["00:00:00", "12:34:56.789", "12:34:56", "-01:00:00", "100:00:00"]);
        check_keys(&bed, &Type::Time(3), &clock.map(|(millis, sql)| (Value::Time(millis), sql)));
    }
    let at = |millis, nanos| Value::Timestamp(Timestamp { millis, nanos });
    let noon = 19_782 * DAY + 12 * 3600 * SECOND;
    let stamps = [
        (at(noon, 0), "TIMESTAMP'2024-02-29 12:00:00'"),
        (at(noon + 500, 0), "TIMESTAMP'2024-02-29 12:00:00.5'"),
        (at(noon + 500, 1000), "TIMESTAMP'2024-02-29 12:00:00.500001'"),
        (at(DAY, 0), "TIMESTAMP'1970-01-02 00:00:00'"),
        (at(noon + 1, 0), "TIMESTAMP'2024-02-29 12:00:00.001'"),
    ];
    for column in ["DATETIME", "DATETIME(3)", "DATETIME(6)", "TIMESTAMP(3) NULL"] {
        create(
            column,
            &[
                "2024-02-29 12:00:00",
                "2024-02-29 12:00:00.500",
                "2024-02-29 12:00:00.500001",
                "1970-01-02 00:00:00",
                "0000-00-00",
            ],
        );
        check_keys(&bed, &Type::Timestamp(6), &stamps);
    }
    let far = bed.open(&[("k", Type::Timestamp(3))], &ID).unwrap();
    let beyond = [
        packed(&Type::Timestamp(3), &at(400_000_000_000_000, 0)),
        packed(&Type::Timestamp(3), &at(-DAY * 900_000, 0)),
    ];
    assert_eq!(bed.runtime.block_on(far.fetch(&beyond)).unwrap(), vec![Vec::<Arc<[u8]>>::new(); 2]);
}

#[test]
fn binary_enum_and_boolean_keys_match() {
    let bed = Bed::new("other_keys", &[]);
    let create = |column: &str, values: &[&str]| {
        bed.database.run("DROP TABLE IF EXISTS t");
        bed.database.run(&format!("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k {column})"));
        for value in values {
            bed.database.run(&format!("INSERT INTO t (k) VALUES ({value})"));
        }
    };
    let bytes = [
        (vec![], "X''"),
        (vec![0], "X'00'"),
        (vec![1, 2], "X'0102'"),
        (vec![1, 2, 0], "X'010200'"),
        (vec![97], "X'61'"),
        (vec![0xff, 0xfe], "X'FFFE'"),
    ];
    for column in ["VARBINARY(20)", "BINARY(3)", "BLOB"] {
        create(column, &["X''", "X'0102'", "X'00'", "X'61'", "X'41'", "X'FFFE'"]);
        let keys: Vec<_> = bytes.iter().map(|(bytes, sql)| (Value::Bytes(bytes.clone()), *sql)).collect();
        if column == "BINARY(3)" {
            bed.database.run("INSERT INTO t (k) VALUES (X'010200')");
        }
        check_keys(&bed, &Type::BYTES, &keys);
    }
    create("ENUM('a','B','ö ')", &["'a'", "'B'", "'ö '", "NULL", "'a'"]);
    let texts: Vec<(Value, String)> = ["a", "A", "b", "ä", "ö", "c", "1", "", "a "]
        .map(|text| (Value::Str(text.to_owned()), format!("'{text}'")))
        .into();
    let texts: Vec<_> = texts.iter().map(|(value, sql)| (value.clone(), sql.as_str())).collect();
    check_keys(&bed, &Type::STRING, &texts);
    for column in ["TINYINT(1)", "BIT(1)"] {
        create(column, &["1", "1", "NULL"]);
        check_keys(&bed, &Type::Boolean, &[(Value::Bool(true), "1"), (Value::Bool(false), "0")]);
    }
}

#[test]
fn more_plain_keys_than_one_statement_takes() {
    let bed = Bed::new(
        "many_plain",
        &["CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k ENUM('a','b') NOT NULL)"],
    );
    bed.database.run("INSERT INTO t (k) VALUES ('a'), ('b'), ('a')");
    let dimension = bed.open(&[("k", Type::STRING)], &ID).unwrap();
    let keys: Vec<_> =
        (0..151).map(|i| packed(&Type::STRING, &Value::Str(["a", "b", "c"][i % 3].to_owned()))).collect();
    let answer = bed.runtime.block_on(dimension.fetch(&keys)).unwrap();
    for (i, rows) in answer.iter().enumerate() {
        assert_eq!(ids(rows), [vec![1, 3], vec![2], vec![]][i % 3], "key {i}");
    }
}

#[test]
fn composite_keys_use_the_index_and_keep_the_order_of_the_primary_key() {
    let bed = Bed::new(
        "composite",
        &[
            "CREATE TABLE t (shop INT NOT NULL, id INT NOT NULL, code VARCHAR(20) COLLATE utf8mb4_general_ci, \
         note VARCHAR(20), PRIMARY KEY (id), KEY by_code (shop, code))",
        ],
    );
    bed.fill(10_000, |i| format!("({}, {}, 'c{}', 'n')", i % 50, 20_000 - i, i % 7));
    let key = [("shop", Type::Int), ("code", Type::STRING)];
    let dimension = bed.open(&key, &ID).unwrap();
    let wanted = [(1, "c1"), (1, "C1"), (1, "c1 "), (49, "c6"), (1, "zz"), (-1, "c1"), (1, "c1")];
    let keys: Vec<_> = wanted
        .iter()
        .map(|(shop, code)| packed_row(&key, &[Value::Int(*shop), Value::Str((*code).to_owned())]))
        .collect();
    let expected: Vec<_> = wanted
        .iter()
        .map(|(shop, code)| {
            let condition = format!("shop = {shop} AND code = ?");
            (format!("{shop}, {code}"), bed.plain(&condition, Some(code)))
        })
        .collect();
    assert_eq!(expected[0].1.len(), expected[1].1.len());
    assert!(1 < expected[0].1.len() && expected[4].1.is_empty());
    compare(&bed.runtime, &dimension, &keys, &expected);

    let plan = explain(&bed, &dimension, "[[1,\"c1\"],[2,\"c2\"]]");
    assert!(plan.contains(&"by_code".to_owned()), "{plan:?}");
}

/// Every text of the plan of the dimension's statement.
fn explain(bed: &Bed, dimension: &Dimension, keys: &str) -> Vec<String> {
    bed.runtime.block_on(async {
        let mut connection = bed.connect().await;
        let sql = format!("EXPLAIN {}", dimension.statement());
        let rows = sqlx::query(AssertSqlSafe(sql)).bind(keys).fetch_all(&mut connection).await.unwrap();
        let texts = |row: &sqlx::mysql::MySqlRow| {
            (0..row.len()).filter_map(|i| row.try_get_unchecked::<String, _>(i).ok()).collect::<Vec<_>>()
        };
        rows.iter().flat_map(texts).collect()
    })
}

#[test]
fn the_index_is_used_whatever_the_type_and_character_set() {
    let bed = Bed::new("index_use", &[]);
    let columns = [
        ("VARCHAR(20) CHARACTER SET latin1", Type::STRING, "[[\"a\"]]"),
        ("VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", Type::STRING, "[[\"a\"]]"),
        ("VARCHAR(20) CHARACTER SET gbk", Type::STRING, "[[\"a\"]]"),
        ("INT UNSIGNED", Type::BigInt, "[[1]]"),
        ("BIGINT", Type::BigInt, "[[1]]"),
        ("DECIMAL(10,2)", Type::Decimal { precision: 10, scale: 2 }, "[[\"1\"]]"),
        ("DATETIME(3)", Type::Timestamp(3), "[[\"2024-01-01 00:00:00.000\"]]"),
        ("TIMESTAMP(3) NULL", Type::Timestamp(3), "[[\"2024-01-01 00:00:00.000\"]]"),
        ("DATE", Type::Date, "[[\"2024-01-01\"]]"),
        ("TIME(3)", Type::Time(3), "[[\"01:00:00.000\"]]"),
        ("VARBINARY(20)", Type::BYTES, "[[\"61\"]]"),
    ];
    for (column, ty, keys) in columns {
        bed.database.run("DROP TABLE IF EXISTS t");
        bed.database.run(&format!(
            "CREATE TABLE t (id INT PRIMARY KEY, k {column}, note VARCHAR(9), KEY by_key (k))"
        ));
        bed.fill(5000, |i| format!("({i}, NULL, NULL)"));
        let dimension = bed.open(&[("k", ty)], &[("id", Type::Int), ("note", Type::STRING)]).unwrap();
        let plan = explain(&bed, &dimension, keys);
        assert!(
            plan.contains(&"by_key".to_owned()) && plan.contains(&"ref".to_owned()),
            "{column}: {plan:?}"
        );
        assert!(dimension.notes().is_empty());
    }
}

#[test]
fn random_composite_keys_match_as_plain_selects_do() {
    let bed = Bed::new("random_keys", &[]);
    for (seed, collation) in [(1, "utf8mb4_unicode_ci"), (2, "utf8mb4_bin"), (3, "latin1_german1_ci")] {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 + seed);
        let charset = collation.split('_').next().unwrap();
        bed.database.run("DROP TABLE IF EXISTS t");
        bed.database.run(&format!(
            "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n SMALLINT, k VARCHAR(9) CHARACTER SET {charset} \
             COLLATE {collation}, KEY (n, k))"
        ));
        for _ in 0..200 {
            let hex: String = random.text().bytes().map(|byte| format!("{byte:02x}")).collect();
            let n = random.below(3);
            bed.database
                .run(&format!("INSERT IGNORE INTO t (n, k) VALUES ({n}, CONVERT(X'{hex}' USING utf8mb4))"));
        }
        let key = [("n", Type::Int), ("k", Type::STRING)];
        let mut spec = bed.spec(&key, &ID);
        spec.source = DimensionConnector::Mysql(bed.table(&format!("{}.t", bed.database.name)));
        let dimension = bed.open_spec(&spec).unwrap();
        let wanted: Vec<(usize, String)> = (0..100).map(|_| (random.below(4), random.text())).collect();
        let packed = |(n, text): &(usize, String)| {
            packed_row(&key, &[Value::Int(*n as i64), Value::Str(text.clone())])
        };
        let keys: Vec<_> = wanted.iter().map(packed).collect();
        let plain = |(n, text): &(usize, String)| {
            (format!("{collation}: {n}, {text:?}"), bed.plain(&format!("n = {n} AND k = ?"), Some(text)))
        };
        let expected: Vec<_> = wanted.iter().map(plain).collect();
        assert!(
            expected.iter().any(|(_, ids)| 1 < ids.len()) && expected.iter().any(|(_, ids)| ids.is_empty())
        );
        compare(&bed.runtime, &dimension, &keys, &expected);
    }
}
