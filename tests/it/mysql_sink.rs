//! The MySQL sink on the real server: what is in the table, when, and what is said when it cannot be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lookaside::clock::Clock;
use lookaside::db::Databases;
use lookaside::error::{Error, Kind};
use lookaside::model::{
    DataType, Datum, Decimal, Epoch, OutputBatch, Payload, RowKind, RowLayout, RowRecord, ShardId, Slice,
    Timestamp, Type,
};
use lookaside::plan::{MysqlSink, MysqlTable, Secret};
use lookaside::sink::{Ack, AckReceiver, Acks, Environment, MysqlSinkSpec, MysqlTableSink, Writer};
use tokio::runtime::Runtime;

use crate::database::Database;
use crate::mysql_lookup::server;
use crate::proxy::Proxy;
use crate::stack;

const SHARD: ShardId = ShardId(0);
const CANARY: &str = "c4n4ry-s1nk/@:#%";

struct Bed {
    database: Database,
    _runtime: Runtime,
    environment: Environment,
    acks: AckReceiver,
    clock: Clock,
}

impl Bed {
    fn new(name: &str, create: &str) -> Self {
        let database = Database::new(name);
        database.run(create);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (line, acks) = Acks::line(4);
        let clock = Clock::manual(0);
        let environment = Environment {
            losses: Arc::default(),
            pulse: Arc::default(),
            counts: Arc::default(),
            name: "test".to_owned(),
            shards: 4,
            acks: line,
            clock: clock.clone(),
            runtime: runtime.handle().clone(),
            databases: Databases::default(),
            stop: Arc::new(AtomicBool::new(false)),
        };
        Self { database, _runtime: runtime, environment, acks, clock }
    }

    fn spec(&self, columns: &[(&str, Type)], primary_key: &[usize]) -> MysqlSinkSpec {
        let table = MysqlTable {
            host: server().0,
            port: server().1,
            database: self.database.name.clone(),
            table: "t".to_owned(),
            username: Some("root".to_owned()),
            password: None,
            tls: true,
            connect_timeout: Duration::from_secs(5),
        };
        MysqlSinkSpec {
            table: "out".to_owned(),
            sink: MysqlSink {
                table,
                flush_rows: 100,
                flush_interval: Duration::from_secs(1),
                max_retries: 3,
            },
            columns: columns.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone().nullable())).collect(),
            primary_key: primary_key.to_vec(),
            time_zone: "UTC".to_owned(),
        }
    }

    fn open(&self, spec: &MysqlSinkSpec) -> Result<MysqlTableSink, Error> {
        MysqlTableSink::open(spec, &self.environment)
    }

    fn writer(&self, spec: &MysqlSinkSpec) -> Box<dyn Writer> {
        self.open(spec).unwrap().writer(SHARD, &self.environment)
    }

    fn refused(&self, spec: &MysqlSinkSpec) -> Error {
        self.open(spec).err().expect("refused")
    }

    /// What the sink says next.
    fn ack(&self) -> Ack {
        self.acks.recv_timeout(Duration::from_secs(20)).expect("an answer of the sink")
    }

    fn durable(&self, epoch: u64) {
        match self.ack() {
            Ack::Durable(SHARD, Epoch(durable)) => assert_eq!(durable, epoch),
            other => panic!("{other:?}"),
        }
    }

    fn failed(&self) -> Error {
        match self.ack() {
            Ack::Failed(error) => error,
            other => panic!("{other:?}"),
        }
    }

    /// The table as text, `∅` for NULL, in the order of its first column.
    fn rows(&self, columns: &str) -> Vec<String> {
        let parts: Vec<String> =
            columns.split(", ").map(|column| format!("IFNULL(CAST({column} AS CHAR), '∅')")).collect();
        let sql = format!("SELECT CONCAT_WS(',', {}) FROM t ORDER BY 1", parts.join(", "));
        self.database.rows(&sql).into_iter().map(|mut row| row.remove(0).unwrap()).collect()
    }

    /// Waits until the table holds `expected`.
    fn comes_to_hold(&self, columns: &str, expected: &[&str]) {
        let until = Instant::now() + Duration::from_secs(20);
        while self.rows(columns) != expected {
            assert!(Instant::now() < until, "{:?} instead of {expected:?}", self.rows(columns));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn batch(layout: &RowLayout, rows: &[(RowKind, &[Datum<'_>])]) -> OutputBatch {
    let (mut arena, mut records) = (Vec::new(), Vec::new());
    for (kind, row) in rows {
        let start = arena.len();
        layout.pack(row, &mut arena);
        records.push(RowRecord { kind: *kind, row: Slice::since(&arena, start) });
    }
    OutputBatch { arena, payload: Payload::Rows(records) }
}

const USERS: [(&str, Type); 2] = [("id", Type::Int), ("name", Type::STRING)];
const CREATE_USERS: &str = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(10))";

/// Rows `(kind, id, name)` of the users table.
fn users(rows: &[(RowKind, i64, &str)]) -> OutputBatch {
    let types: Vec<DataType> = USERS.iter().map(|(_, ty)| ty.clone().nullable()).collect();
    let layout = RowLayout::new(&types);
    let (mut arena, mut records) = (Vec::new(), Vec::new());
    for (kind, id, name) in rows {
        let start = arena.len();
        let name = if name.is_empty() { Datum::Null } else { Datum::Str(name) };
        layout.pack(&[Datum::Int(*id), name], &mut arena);
        records.push(RowRecord { kind: *kind, row: Slice::since(&arena, start) });
    }
    OutputBatch { arena, payload: Payload::Rows(records) }
}

use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};

/// Flink: G87, the final rows of a changelog; several changes of a key in one batch, deletes of unknown keys.
#[test]
fn a_changelog_leaves_its_last_rows() {
    let bed = Bed::new("sink_changelog", CREATE_USERS);
    let mut writer = bed.writer(&bed.spec(&USERS, &[0]));
    let log = [
        (Insert, 1, "alice"),
        (Insert, 2, "bob"),
        (UpdateBefore, 1, "alice"),
        (UpdateAfter, 1, "alicia"),
        (Insert, 3, "carol"),
        (Delete, 2, ""),
        (Delete, 3, "carol"),
        (Insert, 3, "carla"),
        (Delete, 9, ""),
        (Insert, 4, ""),
    ];
    writer.write(users(&log)).unwrap();
    writer.end_epoch(Epoch(1)).unwrap();
    bed.durable(1);
    assert_eq!(bed.rows("id, name"), ["1,alicia", "3,carla", "4,∅"]);
    writer.write(users(&[(Delete, 1, ""), (UpdateAfter, 4, "dora")])).unwrap();
    writer.end_epoch(Epoch(2)).unwrap();
    bed.durable(2);
    assert_eq!(bed.rows("id, name"), ["3,carla", "4,dora"]);
    writer.end_epoch(Epoch(3)).unwrap();
    bed.durable(3);
}

/// Flink: G88 (a checkpoint flushes), G89 (a full batch flushes; size 0: nothing until then), and the timer.
#[test]
fn rows_appear_when_the_batch_is_full_or_old_or_the_epoch_ends() {
    let bed = Bed::new("sink_flush", CREATE_USERS);
    let mut spec = bed.spec(&USERS, &[0]);
    spec.sink.flush_rows = 3;
    let mut writer = bed.writer(&spec);
    writer.write(users(&[(Insert, 1, "a"), (Insert, 2, "b")])).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert!(bed.rows("id").is_empty());
    writer.write(users(&[(Insert, 3, "c"), (Insert, 4, "d")])).unwrap();
    bed.comes_to_hold("id", &["1", "2", "3"]);

    assert_eq!(writer.deadline(), Some(1000));
    bed.clock.advance(Duration::from_millis(999));
    writer.tick(bed.clock.now()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(bed.rows("id").len(), 3);
    bed.clock.advance(Duration::from_millis(1));
    writer.tick(bed.clock.now()).unwrap();
    bed.comes_to_hold("id", &["1", "2", "3", "4"]);
    assert_eq!(writer.deadline(), None);

    spec.sink.flush_rows = 0;
    spec.sink.flush_interval = Duration::ZERO;
    let mut writer = bed.writer(&spec);
    for id in 10..310 {
        writer.write(users(&[(Insert, id, "x")])).unwrap();
    }
    assert_eq!(writer.deadline(), None);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(bed.rows("id").len(), 4);
    writer.end_epoch(Epoch(1)).unwrap();
    bed.durable(1);
    assert_eq!(bed.rows("id").len(), 304);
}

/// Ends that queue up behind a slow transaction are taken together; a commit waits for each of them.
#[test]
fn every_epoch_is_announced_also_when_several_end_together() {
    let bed = Bed::new("sink_epochs", CREATE_USERS);
    let mut writer = bed.writer(&bed.spec(&USERS, &[0]));
    writer.write(users(&[(Insert, 1, "a")])).unwrap();
    for epoch in 1..=4 {
        writer.end_epoch(Epoch(epoch)).unwrap();
    }
    for epoch in 1..=4 {
        bed.durable(epoch);
    }
}

#[test]
fn without_a_key_every_row_is_inserted() {
    let bed = Bed::new("sink_append", "CREATE TABLE t (id INT, name VARCHAR(10))");
    let mut writer = bed.writer(&bed.spec(&USERS, &[]));
    writer.write(users(&[(Insert, 1, "a"), (Insert, 1, "a"), (Insert, 2, "")])).unwrap();
    writer.end_epoch(Epoch(1)).unwrap();
    bed.durable(1);
    assert_eq!(bed.rows("id, name"), ["1,a", "1,a", "2,∅"]);
    assert_eq!(writer.write(users(&[(Delete, 1, "a")])).unwrap_err().kind(), Kind::Bug);
}

#[test]
fn every_type_arrives_exactly() {
    let columns = [
        ("id", Type::BigInt),
        ("flag", Type::Boolean),
        ("bit", Type::Boolean),
        ("small", Type::SmallInt),
        ("price", Type::Decimal { precision: 38, scale: 10 }),
        ("whole", Type::Decimal { precision: 20, scale: 0 }),
        ("ratio", Type::Double),
        ("share", Type::Float),
        ("note", Type::STRING),
        ("old", Type::STRING),
        ("raw", Type::BYTES),
        ("day", Type::Date),
        ("clock", Type::Time(3)),
        ("at", Type::Timestamp(6)),
        ("coarse", Type::Timestamp(6)),
        ("seen", Type::Timestamp(3)),
        ("instant", Type::TimestampLtz(3)),
        ("doc", Type::STRING),
    ];
    let bed = Bed::new(
        "sink_types",
        "CREATE TABLE t (id BIGINT PRIMARY KEY, flag TINYINT(1), bit BIT(1), small SMALLINT, price DECIMAL(38,10), \
         whole BIGINT UNSIGNED, ratio DOUBLE, share FLOAT, note TEXT, old VARCHAR(20) CHARACTER SET latin1, \
         raw BLOB, day DATE, clock TIME(3), at DATETIME(6), coarse DATETIME, seen TIMESTAMP(3) NULL, \
         instant TIMESTAMP(3) NULL, doc JSON)",
    );
    let mut spec = bed.spec(&columns, &[0]);
    spec.time_zone = "Asia/Shanghai".to_owned();
    let mut writer = bed.writer(&spec);
    let types: Vec<DataType> = columns.iter().map(|(_, ty)| ty.clone().nullable()).collect();
    let layout = RowLayout::new(&types);
    let noon = 19_782 * 86_400_000 + 12 * 3_600_000;
    let late = Timestamp { millis: noon + 999, nanos: 999_000 };
    let row = [
        Datum::Int(i64::MIN),
        Datum::Bool(true),
        Datum::Bool(true),
        Datum::Int(-32_768),
        Datum::Decimal(Decimal::parse("-1234567890123456789012345678.0123456789").unwrap()),
        Datum::Decimal(Decimal::new(u64::MAX.into(), 0)),
        Datum::Double(0.1),
        Datum::Float(2.5),
        Datum::Str("日本 😀 'quoted' \\ back"),
        Datum::Str("naïve €"),
        Datum::Bytes(&[0, 0xff, 0x27]),
        Datum::Date(19_782),
        Datum::Time(45_296_789),
        Datum::Timestamp(late),
        Datum::Timestamp(late),
        Datum::Timestamp(Timestamp::from_millis(noon + 5)),
        Datum::Timestamp(Timestamp::from_millis(noon + 5)),
        Datum::Str("{\"a\": 1}"),
    ];
    let nulls: Vec<Datum<'_>> = std::iter::once(Datum::Int(2)).chain([Datum::Null; 17]).collect();
    writer.write(batch(&layout, &[(Insert, &row), (Insert, &nulls)])).unwrap();
    writer.end_epoch(Epoch(1)).unwrap();
    bed.durable(1);
    let read = bed.rows(
        "id, flag, bit + 0, small, price, whole, ratio, share, note, old, HEX(raw), day, clock, at, coarse, seen, \
         instant, doc",
    );
    assert_eq!(read, [
        "-9223372036854775808,1,1,-32768,-1234567890123456789012345678.0123456789,18446744073709551615,0.1,2.5,\
         日本 😀 'quoted' \\ back,naïve €,00FF27,2024-02-29,12:34:56.789,2024-02-29 12:00:00.999999,\
         2024-02-29 12:00:00,2024-02-29 04:00:00.005,2024-02-29 12:00:00.005,{\"a\": 1}"
            .to_owned(),
        format!("2{}", ",∅".repeat(17)),
    ]);
}

#[test]
fn composite_keys_of_every_type_find_their_rows_again() {
    let bed = Bed::new(
        "sink_keys",
        "CREATE TABLE t (shop INT UNSIGNED, code VARCHAR(20) COLLATE utf8mb4_bin, price DECIMAL(10,2), \
         at DATETIME(3), day DATE, raw VARBINARY(10), n INT, PRIMARY KEY (shop, code, price, at, day, raw))",
    );
    let columns = [
        ("n", Type::Int),
        ("raw", Type::BYTES),
        ("day", Type::Date),
        ("at", Type::Timestamp(3)),
        ("price", Type::Decimal { precision: 10, scale: 2 }),
        ("code", Type::STRING),
        ("shop", Type::BigInt),
    ];
    let types: Vec<DataType> = columns.iter().map(|(_, ty)| ty.clone().nullable()).collect();
    let layout = RowLayout::new(&types);
    let mut writer = bed.writer(&bed.spec(&columns, &[6, 5, 4, 3, 2, 1]));
    let row = |n: i64, code: &'static str, millis: i64| {
        [
            Datum::Int(n),
            Datum::Bytes(&[0, 1]),
            Datum::Date(n as i32),
            Datum::Timestamp(Timestamp::from_millis(millis)),
            Datum::Decimal(Decimal::new(n.into(), 2)),
            Datum::Str(code),
            Datum::Int(4_000_000_000),
        ]
    };
    writer
        .write(batch(
            &layout,
            &[(Insert, &row(1, "a", 1)), (Insert, &row(1, "A", 1)), (Insert, &row(1, "a", 2))],
        ))
        .unwrap();
    writer.end_epoch(Epoch(1)).unwrap();
    bed.durable(1);
    assert_eq!(bed.rows("code, at").len(), 3);
    writer.write(batch(&layout, &[(Delete, &row(1, "a", 1)), (Delete, &row(7, "a", 1))])).unwrap();
    writer.end_epoch(Epoch(2)).unwrap();
    bed.durable(2);
    assert_eq!(bed.rows("code, at"), ["A,1970-01-01 00:00:00.001", "a,1970-01-01 00:00:00.002"]);
}

/// A row takes over a unique value, or a key that the collation holds for the same, from one that is deleted.
#[test]
fn deletes_come_before_upserts() {
    let bed = Bed::new(
        "sink_order",
        "CREATE TABLE t (id VARCHAR(10) COLLATE utf8mb4_general_ci PRIMARY KEY, name VARCHAR(10), UNIQUE KEY (name))",
    );
    let columns = [("id", Type::STRING), ("name", Type::STRING)];
    let types: Vec<DataType> = columns.iter().map(|(_, ty)| ty.clone().nullable()).collect();
    let layout = RowLayout::new(&types);
    let sink = bed.open(&bed.spec(&columns, &[0])).unwrap();
    let [unique, collation] = sink.notes() else { panic!("{:?}", sink.notes()) };
    assert!(unique.contains("second unique index") && collation.contains("utf8mb4_general_ci"));
    let mut writer = sink.writer(SHARD, &bed.environment);
    let row = |id: &'static str, name: &'static str| [Datum::Str(id), Datum::Str(name)];
    writer.write(batch(&layout, &[(Insert, &row("A", "mail")), (Insert, &row("x", "other"))])).unwrap();
    writer.end_epoch(Epoch(1)).unwrap();
    bed.durable(1);
    let log: [(RowKind, &[Datum<'_>]); 4] = [
        (Insert, &row("a", "mail")),
        (Delete, &row("A", "mail")),
        (Insert, &row("y", "other")),
        (Delete, &row("x", "other")),
    ];
    writer.write(batch(&layout, &log)).unwrap();
    writer.end_epoch(Epoch(2)).unwrap();
    bed.durable(2);
    assert_eq!(bed.rows("id, name"), ["a,mail", "y,other"]);
}

#[test]
fn columns_of_other_writers_are_left_alone() {
    let bed = Bed::new(
        "sink_others",
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(10), theirs INT DEFAULT 7)",
    );
    let mut writer = bed.writer(&bed.spec(&USERS, &[0]));
    writer.write(users(&[(Insert, 1, "a")])).unwrap();
    writer.end_epoch(Epoch(1)).unwrap();
    bed.durable(1);
    bed.database.run("UPDATE t SET theirs = 99");
    writer
        .write(users(&[(UpdateBefore, 1, "a"), (UpdateAfter, 1, "b"), (Delete, 1, ""), (Insert, 1, "c")]))
        .unwrap();
    writer.end_epoch(Epoch(2)).unwrap();
    bed.durable(2);
    assert_eq!(bed.rows("id, name, theirs"), ["1,c,99"]);
}

/// The row that the server refuses is found among many, named, and not tried again; nothing is committed.
#[test]
fn a_refused_row_is_named() {
    let refusals: [(&str, &str, Datum<'_>, &str); 5] = [
        ("name VARCHAR(10)", "name", Datum::Str("far too long a name"), "error 1406"),
        ("name VARCHAR(10) CHARACTER SET latin1", "name", Datum::Str("日本"), "error 1366"),
        ("name VARCHAR(10) NOT NULL", "name", Datum::Null, "error 1048"),
        ("name ENUM('ok')", "name", Datum::Str("bad"), "error 1265"),
        ("name VARCHAR(10), CHECK (name <> 'bad')", "", Datum::Str("bad"), "(sink_rejected)"),
    ];
    let types: Vec<DataType> = USERS.iter().map(|(_, ty)| ty.clone().nullable()).collect();
    let layout = RowLayout::new(&types);
    for (column, named, value, code) in refusals {
        for before in [0, 77] {
            let bed = Bed::new("sink_refused", &format!("CREATE TABLE t (id INT PRIMARY KEY, {column})"));
            let mut writer = bed.writer(&bed.spec(&USERS, &[0]));
            let good: Vec<[Datum<'_>; 2]> =
                (0..before).map(|id| [Datum::Int(id), Datum::Str("ok")]).collect();
            let bad = [Datum::Int(1000), value];
            let after = [Datum::Int(2000), Datum::Str("ok")];
            let mut rows: Vec<(RowKind, &[Datum<'_>])> =
                good.iter().map(|row| (Insert, row.as_slice())).collect();
            rows.extend([(Insert, bad.as_slice()), (Insert, after.as_slice())]);
            writer.write(batch(&layout, &rows)).unwrap();
            // The task may have given up already.
            let _ = writer.end_epoch(Epoch(1));
            let error = bed.failed();
            let text = error.to_string();
            assert_eq!(error.kind(), Kind::Data, "{text}");
            let place = if named.is_empty() {
                "table out".to_owned()
            } else {
                format!("table out, column {named}: ")
            };
            assert!(text.starts_with(&place), "{text}");
            for part in ["(id = 1000)", code, "sink_rejected"] {
                assert!(text.contains(part), "no {part} in: {text}");
            }
            assert_eq!(bed.clock.now(), 0, "a refused row is not retried");
            assert!(bed.rows("id").is_empty());
            assert!(bed.acks.try_recv().is_err(), "the epoch is not durable");
            let again = (0..500).find_map(|_| {
                std::thread::sleep(Duration::from_millis(10));
                writer.end_epoch(Epoch(2)).err()
            });
            assert_eq!(again.expect("the writer says so too").kind(), Kind::Data);
        }
    }
}

#[test]
fn values_without_a_place_in_mysql_are_refused_here() {
    let columns = [("id", Type::Int), ("ratio", Type::Double)];
    let types: Vec<DataType> = columns.iter().map(|(_, ty)| ty.clone().nullable()).collect();
    let bed = Bed::new("sink_nan", "CREATE TABLE t (id INT PRIMARY KEY, ratio DOUBLE)");
    let mut writer = bed.writer(&bed.spec(&columns, &[0]));
    let row = [Datum::Int(5), Datum::Double(f64::NAN)];
    writer.write(batch(&RowLayout::new(&types), &[(Insert, &row)])).unwrap();
    // The task may have given up already.
    let _ = writer.end_epoch(Epoch(1));
    let error = bed.failed();
    assert_eq!(error.kind(), Kind::Data);
    assert!(
        error.to_string().contains("column ratio: MySQL has no value for NaN, in the row with key (id = 5)"),
        "{error}"
    );
}

#[test]
fn what_the_table_lacks_is_said_at_start() {
    let bed = Bed::new(
        "sink_start",
        "CREATE TABLE t (id INT PRIMARY KEY, customer_name VARCHAR(10), double_id INT AS (id * 2))",
    );
    let says = |spec: &MysqlSinkSpec, parts: &[&str]| {
        let error = bed.refused(spec);
        assert_eq!(error.kind(), Kind::External, "{error}");
        for part in parts {
            assert!(error.to_string().contains(part), "no `{part}` in: {error}");
        }
        assert!(!format!("{error} {error:?}").contains(CANARY));
    };
    let named = |name: &'static str, ty: Type| bed.spec(&[("id", Type::Int), (name, ty)], &[0]);
    says(
        &named("custmer_name", Type::STRING),
        &["table out", "no column `custmer_name`", "did you mean `customer_name`?"],
    );
    says(&named("customer_name", Type::Int), &["`customer_name` as varchar(10)", "declare it STRING"]);
    says(&named("double_id", Type::Int), &["generated column"]);
    says(
        &bed.spec(&[("id", Type::Int), ("customer_name", Type::STRING)], &[1]),
        &["no PRIMARY KEY or UNIQUE index", "(customer_name)"],
    );
    let mut missing = named("customer_name", Type::STRING);
    missing.sink.table.table = "tt".to_owned();
    says(&missing, &["no table", "did you mean `t`?"]);
    let mut wrong = named("customer_name", Type::STRING);
    wrong.sink.table.username = Some("nobody".to_owned());
    wrong.sink.table.password = Some(Secret::new(CANARY));
    says(&wrong, &["`username` and `password`"]);
    bed.database.run("ALTER TABLE t ADD COLUMN needed INT NOT NULL");
    says(&named("customer_name", Type::STRING), &["`needed`", "without a default"]);
    bed.database.run("DROP TABLE t");
    bed.database.run("CREATE TABLE t (price DECIMAL(10,2) PRIMARY KEY)");
    says(
        &bed.spec(&[("price", Type::Decimal { precision: 10, scale: 4 })], &[0]),
        &["cannot tell all values of DECIMAL(10, 4) apart"],
    );
}

#[test]
fn an_unreachable_server_is_waited_for_at_start_until_the_stop() {
    let bed = Bed::new("sink_wait", CREATE_USERS);
    let proxy = Proxy::new(&stack::mysql());
    proxy.refuse();
    let mut spec = bed.spec(&USERS, &[0]);
    spec.sink.table.port = proxy.port();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            proxy.forward();
        });
        bed.open(&spec).unwrap();
    });
    assert!(1 < proxy.accepted());
    let closed = Proxy::new(&stack::mysql());
    closed.refuse();
    spec.sink.table.port = closed.port();
    bed.environment.stop.store(true, Ordering::SeqCst);
    assert_eq!(bed.refused(&spec).kind(), Kind::Transient);
}

#[test]
fn a_write_that_fails_twice_arrives_late_and_once() {
    let bed = Bed::new("sink_late", CREATE_USERS);
    let proxy = Proxy::new(&stack::mysql());
    let mut spec = bed.spec(&USERS, &[0]);
    spec.sink.table.port = proxy.port();
    let mut writer = bed.writer(&spec);
    proxy.refuse_next(1);
    std::thread::sleep(Duration::from_millis(50));
    writer.write(users(&[(Insert, 1, "a"), (Insert, 2, "b")])).unwrap();
    writer.end_epoch(Epoch(1)).unwrap();
    bed.durable(1);
    assert_eq!(bed.rows("id, name"), ["1,a", "2,b"]);
    assert_eq!(bed.clock.now(), 1000, "the first retry at once, the second after a second");
}

#[test]
fn exactly_max_retries_then_the_job_stops() {
    for max_retries in [0, 2] {
        let bed = Bed::new("sink_retries", CREATE_USERS);
        let proxy = Proxy::new(&stack::mysql());
        let mut spec = bed.spec(&USERS, &[0]);
        spec.sink.table.port = proxy.port();
        spec.sink.max_retries = max_retries;
        let mut writer = bed.writer(&spec);
        let before = proxy.accepted();
        proxy.refuse();
        std::thread::sleep(Duration::from_millis(50));
        writer.write(users(&[(Insert, 1, "a")])).unwrap();
        // The task may have given up already.
        let _ = writer.end_epoch(Epoch(1));
        let error = bed.failed();
        assert_eq!(error.kind(), Kind::External);
        let attempts = max_retries as usize + 1;
        assert!(
            error.to_string().contains(&format!("table out: writing failed after {attempts} attempt")),
            "{error}"
        );
        let connections = proxy.accepted() - before;
        assert!(connections == attempts || connections == attempts - 1, "{connections}");
        assert_eq!(bed.clock.now(), if max_retries == 0 { 0 } else { 1000 });
        assert!(bed.rows("id").is_empty());
    }
}

/// G90: a table that breaks after the start.
#[test]
fn a_table_that_is_dropped_while_running_stops_the_job_after_the_retries() {
    let bed = Bed::new("sink_dropped", CREATE_USERS);
    let mut writer = bed.writer(&bed.spec(&USERS, &[0]));
    bed.database.run("DROP TABLE t");
    writer.write(users(&[(Insert, 1, "a")])).unwrap();
    // The task may have given up already.
    let _ = writer.end_epoch(Epoch(1));
    let error = bed.failed();
    assert_eq!(error.kind(), Kind::External);
    assert!(
        error.to_string().contains("after 4 attempts") && error.to_string().contains("error 1146"),
        "{error}"
    );
    assert_eq!(bed.clock.now(), 3000);
}

#[test]
fn many_rows_of_four_shards_arrive_whole() {
    const ROWS: i64 = 20_000;
    let bed = Bed::new("sink_many", "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(10), KEY (name))");
    let sink = bed.open(&bed.spec(&USERS, &[0])).unwrap();
    std::thread::scope(|scope| {
        for shard in 0..4 {
            let mut writer = sink.writer(ShardId(shard), &bed.environment);
            scope.spawn(move || {
                for start in (0..ROWS).step_by(500) {
                    let ids = (start..start + 500).filter(|id| id % 4 == i64::from(shard));
                    let mut rows: Vec<_> = ids.clone().map(|id| (Insert, id, "first")).collect();
                    rows.extend(
                        ids.map(|id| if id % 3 == 0 { (Delete, id, "") } else { (UpdateAfter, id, "last") }),
                    );
                    writer.write(users(&rows)).unwrap();
                }
                writer.end_epoch(Epoch(1)).unwrap();
            });
        }
    });
    for _ in 0..4 {
        assert!(matches!(bed.ack(), Ack::Durable(_, Epoch(1))));
    }
    let kept = (0..ROWS).filter(|id| id % 3 != 0).count().to_string();
    let counts = bed.database.rows("SELECT CAST(COUNT(*) AS CHAR), CAST(SUM(name = 'last') AS CHAR) FROM t");
    assert_eq!(counts[0], [Some(kept.clone()), Some(kept)]);
}

/// A writer that has left rows out, because the process gave up, must not let their epoch pass for durable when the
/// queue has room again.
#[test]
fn an_epoch_whose_rows_were_left_out_is_never_announced() {
    let bed = Bed::new("sink_given_up", CREATE_USERS);
    let proxy = Proxy::new(&stack::mysql());
    let mut spec = bed.spec(&USERS, &[0]);
    spec.sink.table.port = proxy.port();
    spec.sink.flush_rows = 1;
    let mut writer = bed.writer(&spec);
    proxy.stall();
    let stop = Arc::clone(&bed.environment.stop);
    let later = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        stop.store(true, Ordering::SeqCst);
    });
    for id in 0..20 {
        writer.write(users(&[(Insert, id, "a")])).unwrap();
    }
    later.join().unwrap();
    bed.environment.stop.store(false, Ordering::SeqCst);
    proxy.forward();
    std::thread::sleep(Duration::from_millis(500));
    let _ = writer.end_epoch(Epoch(1));
    std::thread::sleep(Duration::from_millis(500));
    assert!(bed.acks.try_recv().is_err(), "{:?}", bed.rows("id"));
}
