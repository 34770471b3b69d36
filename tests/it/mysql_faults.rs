//! What lookups do when the database refuses, breaks off or is not as declared.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lookaside::clock::Clock;
use lookaside::db::{Access, Databases, Dimension, DimensionSpec, StatementReport};
use lookaside::error::{Error, Kind};
use lookaside::model::{Datum, RowLayout, Type};
use lookaside::plan::{DimensionColumn, DimensionConnector, MysqlTable, Secret};

use crate::mysql_lookup::Bed;
use crate::proxy::Proxy;
use crate::stack;

/// Must never be seen.
const CANARY: &str = "c4n4ry/@:#%";

fn bed(name: &str) -> Bed {
    Bed::new(
        name,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, customer_name VARCHAR(20), amount INT)",
            "INSERT INTO t VALUES (1, 'alice', 5), (2, 'bob', 6)",
        ],
    )
}

fn spec(bed: &Bed) -> DimensionSpec {
    let column = |name: &str, ty: Type| DimensionColumn { name: name.to_owned(), ty: ty.nullable() };
    DimensionSpec {
        table: "customers".to_owned(),
        source: DimensionConnector::Mysql(bed.table("t")),
        key: vec![column("id", Type::Int)],
        columns: vec![column("customer_name", Type::STRING)],
        max_retries: 3,
    }
}

/// The table's server.
fn server(spec: &mut DimensionSpec) -> &mut MysqlTable {
    match &mut spec.source {
        DimensionConnector::Mysql(table) => table,
        DimensionConnector::Sqlite(_) => unreachable!("these tables are in MySQL"),
    }
}

fn through(proxy: &Proxy, bed: &Bed) -> DimensionSpec {
    let mut spec = spec(bed);
    server(&mut spec).port = proxy.port();
    spec
}

fn key(id: i64) -> Box<[u8]> {
    let mut key = Vec::new();
    RowLayout::new([&Type::Int.nullable()]).pack(&[Datum::Int(id)], &mut key);
    key.into_boxed_slice()
}

fn open(bed: &Bed, spec: &DimensionSpec, clock: &Clock) -> Result<Dimension, Error> {
    bed.runtime.block_on(Dimension::open(spec, Access::new(Databases::default(), clock.clone(), "UTC")))
}

fn refused(bed: &Bed, spec: &DimensionSpec) -> Error {
    open(bed, spec, &Clock::manual(0)).err().expect("refused")
}

fn assert_says(error: &Error, kind: Kind, parts: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "no `{part}` in: {error}");
    }
    assert!(!format!("{error} {error:?}").contains(CANARY), "{error:?}");
}

#[test]
fn a_wrong_password_is_external_and_never_shown() {
    let bed = bed("password");
    let mut wrong = spec(&bed);
    server(&mut wrong).username = Some("nobody".to_owned());
    server(&mut wrong).password = Some(Secret::new(CANARY));
    let error = refused(&bed, &wrong);
    assert_says(&error, Kind::External, &["table customers", "'nobody'", "`username` and `password`"]);
    assert!(!format!("{wrong:?}").contains(CANARY));
    let databases = Databases::default();
    let connections = databases.mysql.get(server(&mut wrong));
    assert!(!format!("{databases:?} {connections:?}").contains(CANARY));
}

/// What a subscriber that wants everything is told.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn no_log_line_shows_the_password() {
    let bed = bed("log");
    bed.database.run("CREATE USER IF NOT EXISTS canary IDENTIFIED BY 'c4n4ry/@:#%'");
    bed.database.run(&format!("GRANT SELECT ON {}.* TO canary", bed.database.name));
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let proxy = Proxy::new(&stack::mysql());
    tracing::subscriber::with_default(subscriber, || {
        let mut right = through(&proxy, &bed);
        server(&mut right).username = Some("canary".to_owned());
        server(&mut right).password = Some(Secret::new(CANARY));
        let dimension = open(&bed, &right, &Clock::manual(0)).unwrap();
        assert_eq!(bed.runtime.block_on(dimension.fetch(&[key(1)])).unwrap()[0].len(), 1);
        proxy.refuse();
        std::thread::sleep(Duration::from_millis(50));
        bed.runtime.block_on(dimension.fetch(&[key(1)])).unwrap_err();
        server(&mut right).password = Some(Secret::new(format!("{CANARY}!")));
        refused(&bed, &right);
    });
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(log.contains("lookup failed, trying again"), "{log}");
    assert!(!log.contains(CANARY), "{log}");
}

#[test]
fn a_missing_privilege_is_found_at_start() {
    let bed = bed("privilege");
    bed.database.run("CREATE USER IF NOT EXISTS reader_of_id");
    bed.database.run(&format!("GRANT SELECT (id) ON {}.t TO reader_of_id", bed.database.name));
    let mut reader = spec(&bed);
    server(&mut reader).username = Some("reader_of_id".to_owned());
    assert_says(&refused(&bed, &reader), Kind::External, &["table customers", "no column `customer_name`"]);
    bed.database.run(&format!("GRANT INSERT (customer_name) ON {}.t TO reader_of_id", bed.database.name));
    assert_says(
        &refused(&bed, &reader),
        Kind::External,
        &["table customers", "grant the user the privilege"],
    );
}

#[test]
fn a_column_wider_than_declared_is_noted() {
    let bed = bed("width");
    let mut narrow = spec(&bed);
    narrow.columns[0].ty = Type::Varchar(5).nullable();
    let dimension = open(&bed, &narrow, &Clock::manual(0)).unwrap();
    let [note] = dimension.notes() else { panic!("{:?}", dimension.notes()) };
    assert!(note.contains("`customer_name` is varchar(20) in MySQL and declared VARCHAR(5)"), "{note}");
}

#[test]
fn what_is_missing_is_named_with_the_nearest_name() {
    let bed = bed("missing");
    let mut database = spec(&bed);
    server(&mut database).database = "no_such_database_here".to_owned();
    assert_says(
        &refused(&bed, &database),
        Kind::External,
        &["Unknown database", "correct its name in `url`"],
    );

    bed.database.run("CREATE TABLE customers_of_shop (id INT)");
    let mut table = spec(&bed);
    server(&mut table).table = "customer_of_shop".to_owned();
    assert_says(
        &refused(&bed, &table),
        Kind::External,
        &["no table", "did you mean `customers_of_shop`?", "`table-name`"],
    );

    let mut column = spec(&bed);
    column.columns[0].name = "custmer_name".to_owned();
    assert_says(
        &refused(&bed, &column),
        Kind::External,
        &["no column `custmer_name`", "did you mean `customer_name`?"],
    );

    let mut key = spec(&bed);
    key.key[0] = DimensionColumn { name: "customer_name".to_owned(), ty: Type::Int.nullable() };
    assert_says(
        &refused(&bed, &key),
        Kind::External,
        &["`customer_name` as varchar(20)", "declare it STRING"],
    );
}

#[test]
fn an_unreachable_server_is_waited_for() {
    let bed = bed("unreachable");
    let proxy = Proxy::new(&stack::mysql());
    proxy.refuse();
    assert_says(&refused(&bed, &through(&proxy, &bed)), Kind::Transient, &["table customers", "unreachable"]);

    proxy.stall();
    let mut patient = through(&proxy, &bed);
    server(&mut patient).connect_timeout = Duration::from_millis(300);
    let started = Instant::now();
    assert_says(&refused(&bed, &patient), Kind::Transient, &["no answer within 300ms"]);
    assert!(started.elapsed() < Duration::from_secs(5));

    proxy.forward();
    open(&bed, &patient, &Clock::manual(0)).unwrap();
}

#[test]
fn a_missing_index_is_a_warning() {
    let bed = bed("no_index");
    let mut by_amount = spec(&bed);
    by_amount.key[0].name = "amount".to_owned();
    let dimension = open(&bed, &by_amount, &Clock::manual(0)).unwrap();
    let [note] = dimension.notes() else { panic!("{:?}", dimension.notes()) };
    assert!(note.contains("reads the whole table") && note.contains("create an index on (amount)"), "{note}");
    assert!(open(&bed, &spec(&bed), &Clock::manual(0)).unwrap().notes().is_empty());
}

#[test]
fn exactly_max_retries_on_fresh_connections_with_growing_pauses() {
    let bed = bed("retries");
    for max_retries in [0, 1, 3] {
        let proxy = Proxy::new(&stack::mysql());
        let clock = Clock::manual(0);
        let mut spec = through(&proxy, &bed);
        spec.max_retries = max_retries;
        server(&mut spec).password = Some(Secret::new(""));
        let dimension = open(&bed, &spec, &clock).unwrap();
        let before = proxy.accepted();
        proxy.refuse();
        std::thread::sleep(Duration::from_millis(50));
        let error = bed.runtime.block_on(dimension.fetch(&[key(1)])).unwrap_err();
        let attempts = max_retries + 1;
        let times = if attempts == 1 {
            "after 1 attempt (".to_owned()
        } else {
            format!("after {attempts} attempts (")
        };
        assert_says(&error, Kind::External, &["table customers", &times, "connection lost or refused"]);
        // The first try may have used the idle connection of the start; every retry connected anew.
        let connections = proxy.accepted() - before;
        assert!(connections == max_retries as usize || connections == attempts as usize, "{connections}");
        let pauses: i64 = (0..i64::from(max_retries)).map(|retry| retry * 1000).sum();
        assert_eq!(clock.now(), pauses);
    }
}

#[test]
fn a_lookup_that_fails_twice_answers_late() {
    let bed = bed("late");
    let proxy = Proxy::new(&stack::mysql());
    let clock = Clock::manual(0);
    let reports = Arc::new(Mutex::new(Vec::new()));
    let mut access = Access::new(Databases::default(), clock.clone(), "UTC");
    let heard = Arc::clone(&reports);
    access.observer = Arc::new(move |report: StatementReport| heard.lock().unwrap().push(report));
    let dimension = bed.runtime.block_on(Dimension::open(&through(&proxy, &bed), access)).unwrap();
    proxy.refuse_next(1);
    std::thread::sleep(Duration::from_millis(50));
    let rows = bed.runtime.block_on(dimension.fetch(&[key(1), key(9), key(2)])).unwrap();
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 1]);
    let reports = reports.lock().unwrap();
    let outcomes: Vec<_> = reports.iter().map(|report| (report.keys, report.rows, report.failed)).collect();
    assert_eq!(outcomes, [(3, 0, true), (3, 0, true), (3, 2, false)]);
    assert_eq!(clock.now(), 1000);
}

#[test]
fn a_connection_that_died_while_idle_costs_no_attempt() {
    let bed = bed("idle");
    let proxy = Proxy::new(&stack::mysql());
    let mut spec = through(&proxy, &bed);
    spec.max_retries = 0;
    let dimension = open(&bed, &spec, &Clock::manual(0)).unwrap();
    proxy.cut();
    std::thread::sleep(Duration::from_millis(1200));
    let rows = bed.runtime.block_on(dimension.fetch(&[key(1)])).unwrap();
    assert_eq!(rows[0].len(), 1);
}

#[test]
fn a_server_that_falls_silent_is_given_up_in_time() {
    let bed = bed("silent");
    let mut access = Access::new(Databases::default(), Clock::manual(0), "UTC");
    access.statement_timeout = Duration::from_millis(300);
    let mut spec = spec(&bed);
    spec.max_retries = 1;
    let dimension = bed.runtime.block_on(Dimension::open(&spec, access)).unwrap();
    bed.database.run("RENAME TABLE t TO hidden");
    bed.database
        .run("CREATE VIEW t AS SELECT id, customer_name, SLEEP(3) AS amount FROM hidden WHERE SLEEP(3) = 0");
    let started = Instant::now();
    let error = bed.runtime.block_on(dimension.fetch(&[key(1)])).unwrap_err();
    assert_says(&error, Kind::External, &["after 2 attempts", "no answer within 300ms"]);
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[test]
fn a_table_that_is_dropped_while_running_is_an_error_not_a_miss() {
    let bed = bed("dropped");
    let dimension = open(&bed, &spec(&bed), &Clock::manual(0)).unwrap();
    bed.database.run("DROP TABLE t");
    let error = bed.runtime.block_on(dimension.fetch(&[key(1)])).unwrap_err();
    assert_says(&error, Kind::External, &["after 4 attempts", "error 1146"]);
}

#[test]
fn many_callers_share_few_connections() {
    let bed = bed("sharing");
    let proxy = Proxy::new(&stack::mysql());
    let dimension = open(&bed, &through(&proxy, &bed), &Clock::manual(0)).unwrap();
    bed.runtime.block_on(async {
        let dimension = Arc::new(dimension);
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let dimension = Arc::clone(&dimension);
            tasks.spawn(async move { dimension.fetch(&[key(1), key(2)]).await.unwrap().len() });
        }
        while let Some(answers) = tasks.join_next().await {
            assert_eq!(answers.unwrap(), 2);
        }
    });
    assert!(proxy.accepted() <= lookaside::db::CONNECTIONS_MAX, "{} connections", proxy.accepted());
}

#[test]
fn a_batch_larger_than_a_packet_is_split() {
    let bed = Bed::new(
        "packets",
        &["CREATE TABLE t (id INT PRIMARY KEY, customer_name VARCHAR(1000), KEY (customer_name(50)))"],
    );
    bed.database.run(&format!("INSERT INTO t VALUES (1, '{}')", "x".repeat(900)));
    let mut by_name = spec(&bed);
    by_name.key[0] = DimensionColumn { name: "customer_name".to_owned(), ty: Type::STRING.nullable() };
    let reports = Arc::new(Mutex::new(Vec::new()));
    let mut access = Access::new(Databases::default(), Clock::manual(0), "UTC");
    let heard = Arc::clone(&reports);
    access.observer = Arc::new(move |report: StatementReport| heard.lock().unwrap().push(report.keys));
    let dimension = bed.runtime.block_on(Dimension::open(&by_name, access)).unwrap();
    let layout = RowLayout::new([&Type::STRING.nullable()]);
    let keys: Vec<Box<[u8]>> = (0..3000)
        .map(|i| {
            let text = if i == 2999 { "x".repeat(900) } else { format!("{i:0900}") };
            let mut key = Vec::new();
            layout.pack(&[Datum::Str(&text)], &mut key);
            key.into_boxed_slice()
        })
        .collect();
    let rows = bed.runtime.block_on(dimension.fetch(&keys)).unwrap();
    assert_eq!(rows.iter().map(Vec::len).sum::<usize>(), 1);
    assert_eq!(rows[2999].len(), 1);
    let keys = reports.lock().unwrap();
    assert!(5 <= keys.len() && keys.iter().sum::<usize>() == 3000, "{keys:?}");
}
