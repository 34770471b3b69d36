//! What lookups do when the file is missing, locked, replaced or not as declared.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lookaside::clock::Clock;
use lookaside::db::{Access, CONNECTIONS_MAX, Databases, Dimension, DimensionSpec, StatementReport};
use lookaside::error::{Error, Kind};
use lookaside::model::{Type, Value};
use lookaside::plan::{DimensionConnector, SqliteTable};
use sqlx::Executor;

use crate::lookup_keys::packed;
use crate::sqlite_lookup::Bed;

fn bed() -> Bed {
    Bed::new(&[
        "CREATE TABLE customers_of_shop (id INTEGER PRIMARY KEY, customer_name TEXT, amount INT)",
        "CREATE VIEW t AS SELECT id, customer_name, amount FROM customers_of_shop",
        "INSERT INTO customers_of_shop VALUES (1, 'alice', 5), (2, 'bob', 6)",
    ])
}

fn spec(bed: &Bed) -> DimensionSpec {
    bed.spec(&[("id", Type::Int)], &[("customer_name", Type::STRING)])
}

fn file(spec: &mut DimensionSpec) -> &mut SqliteTable {
    match &mut spec.source {
        DimensionConnector::Sqlite(table) => table,
        DimensionConnector::Mysql(_) => unreachable!("these tables are in a file"),
    }
}

fn key(id: i64) -> Box<[u8]> {
    packed(&Type::Int, &Value::Int(id))
}

#[track_caller]
fn refused(bed: &Bed, spec: &DimensionSpec, parts: &[&str]) {
    let error = bed.open_spec(spec).err().expect("refused");
    assert_says(&error, Kind::External, parts);
}

#[track_caller]
fn assert_says(error: &Error, kind: Kind, parts: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "no `{part}` in: {error}");
    }
}

#[test]
fn a_file_that_is_none_is_named() {
    let bed = bed();
    let mut missing = spec(&bed);
    file(&mut missing).path.push_str(".old");
    let path = file(&mut missing).path.clone();
    refused(&bed, &missing, &["table dim", &path, "there is no such file", "correct `url`"]);
    assert!(!std::path::Path::new(&path).exists(), "a missing file is not created");

    let mut folder = spec(&bed);
    file(&mut folder).path = bed.file().parent().unwrap().display().to_string();
    refused(&bed, &folder, &["it is a folder"]);

    let mut other = spec(&bed);
    file(&mut other).path.push_str(".txt");
    std::fs::write(
        &file(&mut other).path,
        "no database at all, but long enough to have a header".repeat(100),
    )
    .unwrap();
    refused(&bed, &other, &["it is no SQLite database", "correct `url`"]);
}

#[test]
fn what_is_missing_is_named_with_the_nearest_name() {
    let bed = bed();
    let mut table = spec(&bed);
    file(&mut table).table = "customer_of_shop".to_owned();
    refused(
        &bed,
        &table,
        &["has no table `customer_of_shop`", "did you mean `customers_of_shop`?", "`table-name`"],
    );

    let mut column = spec(&bed);
    column.columns[0].name = "custmer_name".to_owned();
    refused(&bed, &column, &["no column `custmer_name`", "did you mean `customer_name`?"]);

    let number = bed.spec(&[("amount", Type::STRING)], &[("id", Type::Int)]);
    refused(&bed, &number, &["`amount` as int", "declare it BIGINT"]);
    let mut float = bed.spec(&[("price", Type::Double)], &[("id", Type::Int)]);
    bed.run("CREATE TABLE prices (id INTEGER PRIMARY KEY, price REAL, code TEXT)");
    file(&mut float).table = "prices".to_owned();
    refused(&bed, &float, &["key column `price`", "DOUBLE cannot be a lookup key"]);
    let decimal = Type::Decimal { precision: 10, scale: 2 };
    let mut letters = bed.spec(&[("code", decimal)], &[("id", Type::Int)]);
    file(&mut letters).table = "prices".to_owned();
    refused(&bed, &letters, &["key column `code`", "letter by letter", "declare it STRING"]);
}

#[test]
fn a_view_is_looked_up_through_its_tables_index() {
    let bed = bed();
    let dimension = bed.open_spec(&spec(&bed)).unwrap();
    assert!(dimension.notes().is_empty(), "{:?}", dimension.notes());
    let rows = bed.runtime.block_on(dimension.fetch(&[key(2), key(9), key(1)])).unwrap();
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 1]);
}

#[test]
fn a_missing_index_is_a_warning() {
    let bed = bed();
    let by_amount = bed.spec(&[("amount", Type::Int)], &[("id", Type::Int)]);
    let dimension = bed.open_spec(&by_amount).unwrap();
    let [note] = dimension.notes() else { panic!("{:?}", dimension.notes()) };
    assert!(note.contains("reads the whole table") && note.contains("create an index on (amount)"), "{note}");
    bed.run("CREATE INDEX by_amount ON customers_of_shop (amount)");
    assert!(bed.open_spec(&by_amount).unwrap().notes().is_empty());
}

#[test]
fn a_table_that_is_dropped_while_running_is_an_error_not_a_miss() {
    let bed = bed();
    let dimension = bed.open_spec(&spec(&bed)).unwrap();
    bed.run("DROP VIEW t");
    let error = bed.runtime.block_on(dimension.fetch(&[key(1)])).unwrap_err();
    assert_says(&error, Kind::External, &["table dim", "after 4 attempts", "no such table", "shop.db"]);
}

#[test]
fn a_change_is_seen_by_the_next_statement() {
    let bed = bed();
    let dimension = bed.open_spec(&spec(&bed)).unwrap();
    let count = || bed.runtime.block_on(dimension.fetch(&[key(3)])).unwrap()[0].len();
    assert_eq!(count(), 0);
    bed.run("INSERT INTO customers_of_shop VALUES (3, 'carol', 7)");
    assert_eq!(count(), 1);
    // So is another way to keep the journal, and another shape of the table.
    bed.run("PRAGMA journal_mode = WAL");
    bed.run("ALTER TABLE customers_of_shop ADD COLUMN more TEXT; DELETE FROM customers_of_shop WHERE id = 3");
    assert_eq!(count(), 0);
}

#[test]
fn a_file_that_is_replaced_is_opened_anew() {
    let (bed, next) = (bed(), bed());
    let dimension = bed.open_spec(&spec(&bed)).unwrap();
    let count = || bed.runtime.block_on(dimension.fetch(&[key(3)])).unwrap()[0].len();
    assert_eq!(count(), 0);
    next.run("INSERT INTO customers_of_shop VALUES (3, 'carol', 7)");
    std::fs::rename(next.file(), bed.file()).unwrap();
    assert_eq!(count(), 1);
    std::fs::remove_file(bed.file()).unwrap();
    let error = bed.runtime.block_on(dimension.fetch(&[key(3)])).unwrap_err();
    assert_says(&error, Kind::External, &["after 4 attempts", "there is no such file"]);
}

#[test]
fn a_locked_file_is_waited_for() {
    let bed = bed();
    let clock = Clock::manual(0);
    let reports = Arc::new(Mutex::new(Vec::new()));
    let mut access = Access::new(Databases::default(), clock.clone(), "UTC");
    let heard = Arc::clone(&reports);
    access.observer = Arc::new(move |report: StatementReport| heard.lock().unwrap().push(report.failed));
    let dimension = bed.runtime.block_on(Dimension::open(&spec(&bed), access)).unwrap();
    let rows = bed.runtime.block_on(async {
        let mut writer = bed.connect().await;
        writer.execute("BEGIN EXCLUSIVE").await.unwrap();
        let unlock = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            writer.execute("COMMIT").await.unwrap();
        });
        let rows = dimension.fetch(&[key(1)]).await.unwrap();
        unlock.await.unwrap();
        rows
    });
    assert_eq!(rows[0].len(), 1);
    assert_eq!(*reports.lock().unwrap(), [false]);
    assert_eq!(clock.now(), 0);
}

#[test]
fn a_statement_that_does_not_end_is_given_up_in_time() {
    let bed = bed();
    let mut access = Access::new(Databases::default(), Clock::manual(0), "UTC");
    access.statement_timeout = Duration::from_millis(300);
    let mut slow = spec(&bed);
    slow.max_retries = 0;
    let dimension = bed.runtime.block_on(Dimension::open(&slow, access)).unwrap();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000000) SELECT count(*) FROM n";
    bed.run(&format!(
        "DROP VIEW t; CREATE VIEW t AS SELECT id, ({endless} WHERE i > id) || customer_name AS customer_name, amount \
         FROM customers_of_shop"
    ));
    let started = Instant::now();
    let error = bed.runtime.block_on(dimension.fetch(&[key(1)])).unwrap_err();
    assert_says(&error, Kind::External, &["after 1 attempt", "no answer within 300ms"]);
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}

#[test]
fn many_callers_share_few_connections() {
    let bed = bed();
    let file = bed.file().canonicalize().unwrap();
    let open_files = || {
        let links = std::fs::read_dir("/proc/self/fd").unwrap();
        links
            .filter(|link| link.as_ref().is_ok_and(|link| link.path().read_link().is_ok_and(|to| to == file)))
            .count()
    };
    let dimension = Arc::new(bed.open_spec(&spec(&bed)).unwrap());
    bed.runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let dimension = Arc::clone(&dimension);
            tasks.spawn(async move { dimension.fetch(&[key(1), key(2)]).await.unwrap().len() });
        }
        while let Some(answers) = tasks.join_next().await {
            assert_eq!(answers.unwrap(), 2);
        }
    });
    assert!((1..=CONNECTIONS_MAX).contains(&open_files()), "{} connections", open_files());
}
