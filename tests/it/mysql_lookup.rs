//! Batched lookups against the real server: the answer of a batch is that of
//! one plain `SELECT … WHERE column = key` per key, whatever the collation and type.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lookaside::clock::Clock;
use lookaside::db::{Access, Databases, DimensionSpec, MysqlDimension, StatementReport};
use lookaside::error::{Error, Kind};
use lookaside::model::{Datum, Decimal, RowLayout, Timestamp, Type, Value};
use lookaside::plan::{DimensionColumn, MysqlTable, Secret};
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Row};
use tokio::runtime::Runtime;

use crate::database::Database;
use crate::proxy::Proxy;
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
            connect_timeout: Duration::from_secs(5),
        }
    }

    fn spec(&self, key: &[(&str, Type)], columns: &[(&str, Type)]) -> DimensionSpec {
        DimensionSpec {
            table: "dim".to_owned(),
            source: self.table("t"),
            key: declared(key),
            columns: declared(columns),
            max_retries: 3,
        }
    }

    fn open(&self, key: &[(&str, Type)], columns: &[(&str, Type)]) -> Result<MysqlDimension, Error> {
        self.open_spec(&self.spec(key, columns))
    }

    fn open_spec(&self, spec: &DimensionSpec) -> Result<MysqlDimension, Error> {
        self.runtime.block_on(MysqlDimension::open(spec, access()))
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

fn declared(columns: &[(&str, Type)]) -> Vec<DimensionColumn> {
    let column =
        |(name, ty): &(&str, Type)| DimensionColumn { name: (*name).to_owned(), ty: ty.clone().nullable() };
    columns.iter().map(column).collect()
}

fn layout(columns: &[(&str, Type)]) -> RowLayout {
    RowLayout::new(declared(columns).iter().map(|column| &column.ty))
}

/// A key of one part.
fn packed(ty: &Type, value: &Value) -> Box<[u8]> {
    packed_row(&[("k", ty.clone())], std::slice::from_ref(value))
}

fn packed_row(columns: &[(&str, Type)], values: &[Value]) -> Box<[u8]> {
    let mut out = Vec::new();
    let data: Vec<Datum<'_>> = values.iter().map(borrowed).collect();
    layout(columns).pack(&data, &mut out);
    out.into_boxed_slice()
}

fn borrowed(value: &Value) -> Datum<'_> {
    match value {
        Value::Null => Datum::Null,
        Value::Bool(v) => Datum::Bool(*v),
        Value::Int(v) => Datum::Int(*v),
        Value::Decimal(v) => Datum::Decimal(*v),
        Value::Str(v) => Datum::Str(v),
        Value::Bytes(v) => Datum::Bytes(v),
        Value::Date(v) => Datum::Date(*v),
        Value::Time(v) => Datum::Time(*v),
        Value::Timestamp(v) => Datum::Timestamp(*v),
        other => panic!("{other:?} is no key"),
    }
}

const ID: [(&str, Type); 1] = [("id", Type::BigInt)];

fn ids(rows: &[Arc<[u8]>]) -> Vec<i64> {
    let id = |row: &Arc<[u8]>| match layout(&ID).get(row, 0) {
        Datum::Int(id) => id,
        other => panic!("{other:?}"),
    };
    rows.iter().map(id).collect()
}

/// Fetches all keys at once, each key alone, and all keys twice over; every way gives `expected`.
fn compare(bed: &Bed, dimension: &MysqlDimension, keys: &[Box<[u8]>], expected: &[(String, Vec<i64>)]) {
    let fetch = |keys: &[Box<[u8]>]| bed.runtime.block_on(dimension.fetch(keys)).unwrap();
    let together = fetch(keys);
    let twice: Vec<Box<[u8]>> = keys.iter().chain(keys.iter().rev()).cloned().collect();
    let twice = fetch(&twice);
    for (i, (label, plain)) in expected.iter().enumerate() {
        assert_eq!(ids(&together[i]), *plain, "{label}, in a batch");
        assert_eq!(ids(&fetch(&keys[i..=i])[0]), *plain, "{label}, alone");
        assert_eq!(ids(&twice[i]), *plain, "{label}, first of two");
        assert_eq!(ids(&twice[2 * keys.len() - 1 - i]), *plain, "{label}, second of two");
    }
}

/// Texts that collations, character sets and JSON treat in their own ways.
fn nasty_texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " ",
        "  ",
        "a",
        "A",
        "á",
        "Á",
        "abc",
        "ABC",
        "abc ",
        "abc  ",
        " abc",
        "äbc",
        "ss",
        "ß",
        "SS",
        "ẞ",
        "straße",
        "STRASSE",
        "strasse",
        "?",
        "??",
        "é",
        "e\u{301}",
        "日本",
        "日本語",
        "😀",
        "😁",
        "\u{fffd}",
        "naïve €",
        "€",
        "\u{81}",
        "\u{80}",
        "a\"b",
        "a\\b",
        "a'b",
        "a`b",
        "a\nb",
        "a\tb",
        "a\u{0}b",
        "\u{0}",
        "\u{1f}",
        "a\u{200b}b",
        "ab",
        "\u{ad}ab",
        "æ",
        "ae",
        "Œ",
        "oe",
        "ij",
        "ĳ",
        "ﬁ",
        "fi",
        "İ",
        "i",
        "ı",
        "I",
        "Ω",
        "ω",
        "张",
        "張",
        "%",
        "_",
        "1",
        "01",
        "1.0",
        "1e0",
        "true",
        "null",
        "NULL",
        "[1]",
        "{\"a\":1}",
        "\\u0041",
    ]
    .map(str::to_owned)
    .into();
    texts.push("x".repeat(200));
    texts.push(format!("abc{}", " ".repeat(300)));
    texts.push("x".repeat(5000));
    texts
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
        compare(&bed, &dimension, &keys, &expected);
        checked += 1;
    }
    assert!(10 <= checked, "{checked} collations");
}

fn known_collation(bed: &Bed, name: &str) -> bool {
    let sql = format!("SELECT CAST(COUNT(*) AS CHAR) FROM information_schema.collations WHERE collation_name = '{name}'");
    bed.database.rows(&sql)[0][0].as_deref() != Some("0")
}
