//! `lookaside test --live`, and cases of Flink's own tests that only a real broker can show.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use crate::database::Database;
use crate::replica::Replica;
use crate::stack;
use crate::topic::{self, Writer};

const LIMIT: Duration = Duration::from_secs(60);

struct World {
    folder: tempfile::TempDir,
    source: String,
    sink: String,
    database: Database,
}

impl World {
    fn new(name: &str) -> Self {
        let (source, sink) = (topic::unique(name), topic::unique(&format!("{name}-sink")));
        topic::create(&source, 3);
        topic::create(&sink, 2);
        let database = Database::new(&name.replace('-', "_"));
        let folder = tempfile::tempdir().expect("folder");
        Self { folder, source, sink, database }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("file");
        path
    }

    /// A definition whose source has `id`, `user_id` and `amount`, without and with a lookup in `users`.
    fn definition(&self, sink: &str, lookup: bool) -> String {
        let (source, kafka, mysql, database) =
            (&self.source, stack::kafka(), stack::mysql(), &self.database.name);
        let users = format!(
            "  users:
    connector: mysql
    url: mysql://{mysql}/{database}
    username: root
    password: ''
    table-name: users
    columns: [id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED]
"
        );
        let pipeline = match lookup {
            true => {
                "pipeline:
  from: src
  lookup:
  - {table: users, as: u, condition: u.id = src.user_id}
  select: [src.id, src.amount, u.name]
  into: out
"
            }
            false => "pipeline: {from: src, into: out}\n",
        };
        format!(
            "name: {source}
tables:
  src:
    connector: upsert-kafka
    topic: {source}
    properties.bootstrap.servers: {kafka}
    key.format: json
    value.format: json
    columns: [id INT NOT NULL, user_id INT, amount INT, PRIMARY KEY (id) NOT ENFORCED]
{}  out: {sink}
{pipeline}options: {{commit.interval: 200 ms}}
",
            if lookup { users.as_str() } else { "" }
        )
    }

    fn topic_sink(&self, columns: &str) -> String {
        let kafka = stack::kafka();
        format!(
            "{{connector: upsert-kafka, topic: {}, properties.bootstrap.servers: '{kafka}', key.format: json, value.format: json, {columns}}}",
            self.sink
        )
    }

    fn table_sink(&self) -> String {
        let (mysql, database) = (stack::mysql(), &self.database.name);
        format!(
            "{{connector: mysql, url: 'mysql://{mysql}/{database}', username: root, password: '', table-name: enriched, columns: [id INT, amount INT, name STRING, PRIMARY KEY (id) NOT ENFORCED]}}"
        )
    }
}

fn live(case: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lookaside"));
    command.args(["test", "--live"]).arg(case).output().expect("lookaside test")
}

/// Exit code, and what was said.
fn outcome(output: &Output) -> (i32, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout) + &text(&output.stderr))
}

#[track_caller]
fn passes(case: &Path) {
    let (code, said) = outcome(&live(case));
    assert_eq!(code, 0, "{said}");
}

const STEPS: &str = r#"steps:
- users: {upsert: [{id: 1, name: alice}, {id: 2, name: bob}]}
- src:
  - {key: '{"id":10}', value: '{"id":10,"user_id":1,"amount":5}'}
  - {key: '{"id":20}', value: '{"id":20,"user_id":2,"amount":6}'}
"#;

#[test]
fn a_live_case_into_a_topic() {
    let world = World::new("live-topic");
    world.database.run("CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20))");
    let columns = "columns: [id INT NOT NULL, amount INT, name STRING, PRIMARY KEY (id) NOT ENFORCED]";
    let definition = world.definition(&world.topic_sink(columns), true);
    // What is there before the case is none of its business.
    let writer = Writer::new(&world.source);
    writer.send(r#"{"id":99}"#, Some(r#"{"id":99,"user_id":7,"amount":1}"#));
    writer.flush();
    world.database.run("INSERT INTO users VALUES (7, 'old')");
    let steps = format!(
        "{definition}{STEPS}{}",
        r#"- expect:
  - {key: '{"id":10}', value: '{"id":10,"amount":5,"name":"alice"}'}
  - {key: '{"id":20}', value: '{"id":20,"amount":6,"name":"bob"}'}
- users: {upsert: [{id: 1, name: alicia}], delete: [{id: 2}]}
- src:
  - {key: '{"id":10}', value: '{"id":10,"user_id":1,"amount":7}'}
  - {key: '{"id":20}', value: '{"id":20,"user_id":2,"amount":8}'}
  - {key: '{"id":99}', value: null}
- expect:
  - {key: '{"id":10}', value: '{"id":10,"amount":7,"name":"alicia"}'}
  - {key: '{"id":20}', value: null}
  - {key: '{"id":99}', value: null}
- expect_view:
  - {key: '{"id":10}', value: '{"id":10,"amount":7,"name":"alicia"}'}
"#
    );
    passes(&world.write("case.yaml", &steps));
}

/// Tables in a SQLite file beside the case: a composite key with a constant, several rows per key, a residual condition.
#[test]
fn a_live_case_with_tables_in_a_file() {
    let world = World::new("live-file");
    let file = world.folder.path().join("shop.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    runtime.block_on(async {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file).create_if_missing(true);
        let mut connection = sqlx::ConnectOptions::connect(&options).await.expect("file");
        let tables = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, since DATETIME);
             CREATE TABLE offers (shop TEXT COLLATE NOCASE, user_id INT, nr INT, price DECIMAL(8,2), PRIMARY KEY (shop, user_id, nr));
             CREATE TABLE notes (since DATETIME, note TEXT)";
        sqlx::Executor::execute(&mut connection, tables).await.expect("tables");
    });
    let (source, kafka, file) = (&world.source, stack::kafka(), file.display());
    let case = format!(
        "name: {source}
tables:
  src:
    connector: upsert-kafka
    topic: {source}
    properties.bootstrap.servers: {kafka}
    key.format: json
    value.format: json
    columns: [id INT NOT NULL, user_id INT, amount INT, PRIMARY KEY (id) NOT ENFORCED]
  users: {{connector: sqlite, url: 'sqlite:{file}', table-name: users, columns: [id INT, name STRING, since TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED], lookup.enable_hash: true, lookup.cache: PARTIAL, lookup.partial-cache.max-rows: 10}}
  offers: {{connector: sqlite, url: 'sqlite:{file}', table-name: offers, columns: [shop STRING, user_id INT, nr INT, 'price DECIMAL(8, 2)', 'PRIMARY KEY (shop, user_id, nr) NOT ENFORCED']}}
  notes: {{connector: sqlite, url: 'sqlite:{file}', table-name: notes, columns: [since TIMESTAMP(3), note STRING]}}
  out: {{connector: print}}
pipeline:
  from: src
  lookup:
  - {{table: users, as: u, condition: u.id = src.user_id}}
  - {{table: offers, as: o, type: left, condition: o.shop = 'MAIN' AND o.user_id = src.user_id AND o.price <= src.amount}}
  - {{table: notes, as: n, type: left, condition: n.since = u.since}}
  select: [src.id, u.name, o.nr, o.price, n.note]
  into: out
options: {{commit.interval: 200 ms}}
steps:
- users: {{upsert: [{{id: 1, name: alice, since: '2024-01-02 03:04:05'}}, {{id: 2, name: bob}}]}}
- offers:
    upsert:
    - {{shop: main, user_id: 1, nr: 2, price: '2.50'}}
    - {{shop: Main, user_id: 1, nr: 1, price: '0.10'}}
    - {{shop: main, user_id: 1, nr: 3, price: '9'}}
    - {{shop: other, user_id: 1, nr: 9, price: '1'}}
- notes: {{upsert: [{{since: '2024-01-02 03:04:05', note: then}}]}}
- src:
  - {{key: '{{\"id\":10}}', value: '{{\"id\":10,\"user_id\":1,\"amount\":5}}'}}
  - {{key: '{{\"id\":20}}', value: '{{\"id\":20,\"user_id\":2,\"amount\":5}}'}}
  - {{key: '{{\"id\":30}}', value: '{{\"id\":30,\"user_id\":null,\"amount\":5}}'}}
  - {{key: '{{\"id\":40}}', value: '{{\"id\":40,\"user_id\":3,\"amount\":5}}'}}
- expect:
  - +I[10, alice, 1, 0.10, then]
  - +I[10, alice, 2, 2.50, then]
  - +I[20, bob, null, null, null]
- offers: {{upsert: [{{shop: main, user_id: 1, nr: 2, price: '3'}}], delete: [{{shop: main, nr: 1}}]}}
- notes: {{delete: [{{note: then}}]}}
- src:
  - {{key: '{{\"id\":10}}', value: '{{\"id\":10,\"user_id\":1,\"amount\":6}}'}}
- expect:
  - -U[10, alice, 1, 0.10, then]
  - -U[10, alice, 2, 2.50, then]
  - +U[10, alice, 2, 3.00, null]
- src:
  - {{key: '{{\"id\":10}}', value: null}}
- expect:
  - -D[10, alice, 2, 3.00, null]
"
    );
    passes(&world.write("case.yaml", &case));
}

#[test]
fn a_live_case_that_is_not_met_ends_with_1_and_a_diff() {
    let world = World::new("live-wrong");
    world.database.run("CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20))");
    let definition = world.definition("{connector: print}", true);
    let text = format!("{definition}{STEPS}- expect:\n  - +I[10, 5, bob]\n  - +I[20, 6, bob]\n");
    let (code, said) = outcome(&live(&world.write("case.yaml", &text)));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("step 3, expect") && said.contains("missing: +I[10, 5, bob]"), "{said}");
    assert!(said.contains("unexpected: +I[10, 5, alice]"), "{said}");
}

#[test]
fn a_live_case_of_printed_rows_with_bad_data_at_its_end() {
    let world = World::new("live-print");
    let definition = world.definition("{connector: print, print-identifier: ID}", false);
    let definition = world.write("definition.yaml", &definition);
    let steps = r#"steps:
- src:
  - {key: '{"id":1}', value: '{"id":1,"user_id":1,"amount":5}', partition: 1}
  - {key: '{"id":1}', value: '{"id":1,"user_id":1,"amount":6}', partition: 1}
- expect:
  - ID> +I[1, 1, 5]
  - {kind: -U, row: [1, 1, 5]}
  - ID> +U[1, 1, 6]
- src:
  - {key: null, value: '{"id":2,"user_id":1,"amount":6}', partition: 1}
- expect: []
- expect_error: {reason: null_key, table: src, partition: 1, offset: 2}
"#;
    let case = format!("definition: {}\n{steps}", definition.display());
    passes(&world.write("case.yaml", &case));
}

#[test]
fn a_live_case_into_a_table() {
    let world = World::new("live-table");
    world.database.run("CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20))");
    world.database.run("CREATE TABLE enriched (id INT PRIMARY KEY, amount INT, name VARCHAR(20))");
    let definition = world.definition(&world.table_sink(), true);
    let text = format!(
        "{definition}{STEPS}{}",
        r#"- expect:
  - +I[10, 5, alice]
  - +I[20, 6, bob]
- src:
  - {key: '{"id":10}', value: '{"id":10,"user_id":2,"amount":null}'}
  - {key: '{"id":20}', value: null}
- expect:
  - +U[10, null, bob]
  - -D[20, null, null]
- expect_view:
  - +I[10, null, bob]
"#
    );
    let case = world.write("case.yaml", &text);
    passes(&case);
    let (code, said) = outcome(&live(&case));
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("needs a sink table without rows"), "{said}");
}

#[test]
fn what_a_live_case_cannot_do_is_said_before_it_starts() {
    let world = World::new("live-refused");
    let definition = world.definition("{connector: print}", false);
    let steps = "steps:
- advance: 10 min
- src:
  - {kind: +U, row: [1, 2, 3]}
- expect: []
";
    let (code, said) = outcome(&live(&world.write("case.yaml", &format!("{definition}{steps}"))));
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("runs in real time") && said.contains("a topic holds records"), "{said}");
    assert!(topic::read_all(&world.source).is_empty());
}

/// The lines that a bounded job prints.
fn printed(world: &World, options: &str) -> Vec<String> {
    let definition = world.definition("{connector: print}", false);
    let definition =
        definition.replace("    key.format: json\n", &format!("    key.format: json\n{options}"));
    let definition = definition.replace("name: ", &format!("name: {}-", topic::unique("job")));
    let path = world.write("definition.yaml", &definition);
    let mut job = Replica::start(world.folder.path(), "job", &path);
    let status = job.wait_exit(LIMIT);
    assert!(status.success(), "{status}: {}", job.log_text());
    job.out_text().lines().map(str::to_owned).collect()
}

/// Flink: UpsertKafkaTableITCase, bounded by specific offsets: offsets 2 and 3 are not read.
#[test]
fn a_run_bounded_by_offsets_reads_what_is_below() {
    let world = World::new("bounded-offsets");
    let writer = Writer::new(&world.source);
    for (id, amount) in [(1, 1), (1, 2), (2, 1), (3, 1)] {
        let (key, value) = (format!(r#"{{"id":{id}}}"#), format!(r#"{{"id":{id},"amount":{amount}}}"#));
        writer.send_to(Some(0), Some(key.as_bytes()), Some(value.as_bytes()));
    }
    writer.flush();
    let options =
        "    scan.bounded.mode: specific-offsets\n    scan.bounded.specific-offsets: partition:0,offset:2\n";
    assert_eq!(printed(&world, options), ["+I[1, null, 1]", "-U[1, null, 1]", "+U[1, null, 2]"]);
}

/// Flink: UpsertKafkaTableITCase, bounded by a time, and with every record later than it.
#[test]
fn a_run_bounded_by_time_reads_what_is_before() {
    let world = World::new("bounded-time");
    let writer = Writer::new(&world.source);
    // 2023-03-08, 2023-03-09, 2023-03-10 12:09, 2023-03-11; the bound is 2023-03-10 14:00.
    let day = 86_400_000;
    let times = [1_678_233_600_000, 1_678_233_600_000 + day, 1_678_450_140_000, 1_678_233_600_000 + 3 * day];
    for ((id, amount), time) in [(1, 1), (2, 1), (1, 2), (2, 2)].into_iter().zip(times) {
        let (key, value) = (format!(r#"{{"id":{id}}}"#), format!(r#"{{"id":{id},"amount":{amount}}}"#));
        writer.send_at(0, time, key.as_bytes(), value.as_bytes());
    }
    writer.flush();
    let bound = |time: i64| {
        printed(
            &world,
            &format!("    scan.bounded.mode: timestamp\n    scan.bounded.timestamp-millis: {time}\n"),
        )
    };
    let expected = ["+I[1, null, 1]", "+I[2, null, 1]", "-U[1, null, 1]", "+U[1, null, 2]"];
    let mut found = bound(1_678_456_800_000);
    // Order holds per key.
    found.sort_by_key(|line| line.contains("[2,"));
    let mut expected: Vec<&str> = expected.to_vec();
    expected.sort_by_key(|line| line.contains("[2,"));
    assert_eq!(found, expected);
    assert_eq!(bound(1), [""; 0]);
}

/// Flink: UpsertKafkaTableITCase.testBufferedUpsertSink and ReducingUpsertWriterTest.testFlushDataWhenCheckpointing.
#[test]
fn a_buffered_sink_writes_the_last_version_when_the_job_ends() {
    let world = World::new("buffered");
    let writer = Writer::new(&world.source);
    for (id, amount) in [(1, 1), (2, 1), (3, 1), (3, 2)] {
        let (key, value) = (format!(r#"{{"id":{id}}}"#), format!(r#"{{"id":{id},"amount":{amount}}}"#));
        writer.send_to(Some(0), Some(key.as_bytes()), Some(value.as_bytes()));
    }
    writer.flush();
    let columns = "columns: [id INT NOT NULL, user_id INT, amount INT, PRIMARY KEY (id) NOT ENFORCED], sink.buffer-flush.max-rows: 1000, sink.buffer-flush.interval: 100 s";
    let definition = world
        .definition(&world.topic_sink(columns), false)
        .replace("    key.format: json\n", "    key.format: json\n    scan.bounded.mode: latest-offset\n");
    let definition = definition.replace("commit.interval: 200 ms", "commit.interval: 1 min, parallelism: 1");
    let path = world.write("definition.yaml", &definition);
    let mut job = Replica::start(world.folder.path(), "job", &path);
    let status = job.wait_exit(LIMIT);
    assert!(status.success(), "{status}: {}", job.log_text());
    let mut entries: Vec<String> =
        topic::read_all(&world.sink).into_iter().map(|entry| entry.value.expect("no tombstone")).collect();
    entries.sort();
    let row = |id, amount| format!(r#"{{"id":{id},"user_id":null,"amount":{amount}}}"#);
    assert_eq!(entries, [row(1, 1), row(2, 1), row(3, 2)]);
}
