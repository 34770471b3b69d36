//! Every definition of `config/examples`, started on the real broker and database.
//! Only names change: topics, databases and groups are the test's own.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::database::Database;
use crate::replica::Replica;
use crate::stack;
use crate::topic::{self, Writer};

/// An example with a world of its own.
struct Example {
    folder: tempfile::TempDir,
    definition: PathBuf,
    writer: Writer,
    /// Name of the sink's topic, where the example has one.
    sink: String,
}

impl Example {
    /// Copies an example; its topic and database get names that no other test uses.
    fn new(file: &str, topic_name: &str, database: Option<&Database>) -> Self {
        let text = std::fs::read_to_string(format!("config/examples/{file}")).expect("example");
        let own = topic::unique(topic_name);
        topic::create(&own, 1);
        let name = file.trim_end_matches(".yaml");
        let mut text = text.replace(&format!("topic: {topic_name}"), &format!("topic: {own}"));
        text = text.replace(&format!("name: {name}"), &format!("name: {own}"));
        text = text.replace(&format!("group.id ': {name}"), &format!("group.id ': {own}"));
        if let Some(database) = database {
            text = text.replace("/mqTest", &format!("/{}", database.name));
        }
        let sink = topic::unique("enriched");
        if text.contains("topic: enriched") {
            topic::create(&sink, 2);
            text = text.replace("topic: enriched", &format!("topic: {sink}"));
        }
        let folder = tempfile::tempdir().expect("folder");
        let definition = folder.path().join(file);
        std::fs::write(&definition, text).expect("definition");
        Self { writer: Writer::new(&own), folder, definition, sink }
    }

    fn start(&self) -> Replica {
        let (kafka, mysql) = (stack::kafka(), stack::mysql());
        let environment = [("KAFKA", kafka.as_str()), ("MYSQL", mysql.as_str()), ("MYSQL_PASSWORD", "")];
        let mut replica = Replica::start_with(self.folder.path(), "example", &self.definition, &environment);
        replica.wait_ready();
        replica
    }
}

/// Waits until the job has printed so many lines; then it is stopped.
fn printed(mut replica: Replica, lines: usize) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(30);
    while replica.out_text().lines().count() < lines && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    replica.signal("TERM");
    assert_eq!(replica.wait_exit(Duration::from_secs(30)).code(), Some(0), "{}", replica.log_text());
    replica.out_text().lines().map(str::to_owned).collect()
}

fn seed_tables(name: &str) -> Database {
    let database = Database::new(name);
    let columns = "id INT PRIMARY KEY, name VARCHAR(20), description VARCHAR(20), catalog VARCHAR(20)";
    for table in ["test1", "test2"] {
        database.run(&format!("CREATE TABLE {table} ({columns})"));
    }
    database.run("INSERT INTO test1 VALUES (1, 'alice', 'first', 'A'), (2, 'bob', 'second', 'B')");
    database.run("INSERT INTO test2 VALUES (1, 's3-alice', 'x', 'A'), (3, 's3-carol', 'x', 'C')");
    database
}

#[test]
fn an_append_only_stream_meets_two_dimension_tables() {
    let database = seed_tables("example_append");
    let example = Example::new("kafka-two-dimensions.yaml", "mqTest02", Some(&database));
    example.writer.send_to(Some(0), None, Some(br#"{"user_id":1,"order_amount":1}"#));
    example.writer.flush();
    let replica = example.start();
    for user in 1..=3 {
        let value = format!(
            r#"{{"user_id":{user},"order_amount":{user}00,"sname":"x","log_ts":"2021-11-14 10:00:00"}}"#
        );
        example.writer.send_to(Some(0), None, Some(value.as_bytes()));
    }
    example.writer.flush();
    // latest-offset: the record from before the start is not read.
    assert_eq!(printed(replica, 1), ["+I[1, alice, s3-alice, 100, first]"]);
}

#[test]
fn a_csv_topic_is_read_as_a_changelog() {
    let example = Example::new("pageviews-csv.yaml", "pageviews_per_region", None);
    let replica = example.start();
    for value in [Some("north,1"), Some("north,2"), Some("north,2"), None] {
        example.writer.send("north", value);
    }
    example.writer.flush();
    let expected = ["+I[north, 1]", "-U[north, 1]", "+U[north, 2]", "-D[north, 2]"];
    assert_eq!(printed(replica, expected.len()), expected);
}

/// Places, changes and cancels orders: user 3 has no row in `users`, user 2 none in `regions`.
fn place_orders(example: &Example) {
    let order = |user: u32, amount: i32| {
        let value = format!(r#"{{"user_id":{user},"order_amount":{amount},"sname":"x"}}"#);
        example.writer.send(&format!(r#"{{"user_id":{user}}}"#), Some(&value));
    };
    order(1, 5);
    order(2, 5);
    order(3, 5);
    order(1, 6);
    order(2, 7);
    example.writer.send(r#"{"user_id":1}"#, None);
    example.writer.flush();
}

#[test]
fn orders_are_enriched_changed_and_cancelled() {
    let database = seed_tables("example_orders");
    let example = Example::new("order-enrichment.yaml", "mqTest02", Some(&database));
    let replica = example.start();
    place_orders(&example);
    let mut found = printed(replica, 7);
    // Order holds per key.
    found.sort_by_key(|line| line.contains("[2,"));
    let expected = [
        "+I[1, alice, s3-alice, 5, first]",
        "-U[1, alice, s3-alice, 5, first]",
        "+U[1, alice, s3-alice, 6, first]",
        "-D[1, alice, s3-alice, 6, first]",
        "+I[2, bob, null, 5, second]",
        "-U[2, bob, null, 5, second]",
        "+U[2, bob, null, 7, second]",
    ];
    assert_eq!(found, expected);
}

/// Waits until `look` gives what is expected; the job goes on.
fn wait_for<T: PartialEq + std::fmt::Debug>(replica: &Replica, expected: &T, look: impl Fn() -> T) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while look() != *expected {
        assert!(Instant::now() < deadline, "{:?} is not {expected:?}: {}", look(), replica.log_text());
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn stop(mut replica: Replica) {
    replica.signal("TERM");
    assert_eq!(replica.wait_exit(Duration::from_secs(30)).code(), Some(0), "{}", replica.log_text());
}

#[test]
fn orders_are_enriched_into_a_topic() {
    let database = seed_tables("example_topic");
    let example = Example::new("order-enrichment-kafka.yaml", "mqTest02", Some(&database));
    let replica = example.start();
    place_orders(&example);
    let key = r#"{"id":2}"#.to_owned();
    let value = r#"{"id":2,"name":"bob","region":null,"order_amount":7,"description":"second"}"#.to_owned();
    let expected = (std::collections::BTreeMap::from([(key, value)]), true);
    wait_for(&replica, &expected, || {
        let entries = topic::read_all(&example.sink);
        let cancelled = entries.iter().any(|entry| entry.key == r#"{"id":1}"# && entry.value.is_none());
        (topic::compacted(&entries), cancelled)
    });
    stop(replica);
}

#[test]
fn orders_are_enriched_into_a_table() {
    let database = seed_tables("example_table");
    database.run(
        "CREATE TABLE enriched (id INT PRIMARY KEY, name VARCHAR(20), region VARCHAR(20), order_amount BIGINT, \
         description VARCHAR(20))",
    );
    let example = Example::new("order-enrichment-mysql.yaml", "mqTest02", Some(&database));
    let replica = example.start();
    place_orders(&example);
    let select =
        "SELECT CONCAT_WS(',', id, name, IFNULL(region, 'null'), order_amount, description) FROM enriched";
    wait_for(&replica, &vec![vec![Some("2,bob,null,7,second".to_owned())]], || database.rows(select));
    stop(replica);
}

/// Rows that the sink was sent, of every kind.
fn sink_rows(replica: &Replica) -> u64 {
    let (_, metrics) = replica.get("/metrics").expect("metrics");
    let counts = metrics.lines().filter(|line| line.starts_with("lookaside_sink_rows_total{"));
    counts.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

#[test]
fn orders_go_nowhere() {
    let database = seed_tables("example_nowhere");
    let example = Example::new("order-enrichment-blackhole.yaml", "mqTest02", Some(&database));
    let replica = example.start();
    place_orders(&example);
    // A sink that keeps nothing is still sent every change.
    wait_for(&replica, &7, || sink_rows(&replica));
    stop(replica);
}

#[test]
fn every_example_is_started_by_a_test() {
    let tests = std::fs::read_to_string("tests/it/examples.rs").expect("this file");
    for entry in std::fs::read_dir("config/examples").expect("examples") {
        let name = entry.expect("entry").file_name().to_string_lossy().into_owned();
        assert!(tests.contains(&format!("Example::new(\"{name}\"")), "{name} is started by no test");
    }
}

/// What a definition says besides where its tables are.
fn without_connectors(file: &str) -> String {
    let source = lookaside::config::DefinitionSource::from(std::path::Path::new(file));
    let references = lookaside::config::References::offline();
    let definition = lookaside::config::load(&source, &references).expect("a valid definition");
    let mut said = format!("{:?}\n", definition.name.as_ref().map(|name| &name.written));
    for table in &definition.tables {
        let is_address = |name: &str| {
            ["url", "username", "password", "table-name", "topic"].contains(&name)
                || name.starts_with("properties.")
        };
        let options = table.options.iter().filter(|entry| !is_address(&entry.key.written));
        let options: Vec<String> = options
            .map(|entry| {
                format!("{}: {:?}", entry.key.written, entry.value.as_text().map(|text| &text.written))
            })
            .collect();
        let columns: Vec<&String> = table.columns.iter().flatten().map(|column| &column.written).collect();
        said.push_str(&format!("{} {columns:?} {options:?}\n", table.name.written));
    }
    let pipeline = &definition.pipeline;
    let text = |text: &Option<lookaside::config::Text>| text.as_ref().map(|text| text.written.clone());
    said.push_str(&format!("from {} {:?}\n", pipeline.from.table.written, text(&pipeline.from.alias)));
    for step in &pipeline.lookups {
        let parts = [&step.alias, &step.join, &step.condition].map(text);
        said.push_str(&format!("lookup {} {parts:?}\n", step.table.written));
    }
    let select: Vec<&String> = pipeline.select.iter().flatten().map(|item| &item.written).collect();
    said.push_str(&format!(
        "where {:?} select {select:?} into {}\n",
        text(&pipeline.filter),
        pipeline.into.written
    ));
    let options = definition.options.iter();
    let options: Vec<String> = options
        .map(|entry| format!("{} {:?}", entry.key.written, entry.value.as_text().map(|text| &text.written)))
        .collect();
    said + &format!("{options:?}\n")
}

#[test]
fn the_demo_runs_the_twin_of_the_first_example() {
    let twin = without_connectors("config/demo/order-enrichment.yaml");
    assert_eq!(twin, without_connectors("config/examples/order-enrichment.yaml"));
    // The comparison sees what differs: the sink of another example has columns.
    assert_ne!(twin, without_connectors("config/examples/order-enrichment-kafka.yaml").replace("-kafka", ""));
}
