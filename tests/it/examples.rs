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
        let folder = tempfile::tempdir().expect("folder");
        let definition = folder.path().join(file);
        std::fs::write(&definition, text).expect("definition");
        Self { writer: Writer::new(&own), folder, definition }
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

#[test]
fn orders_are_enriched_changed_and_cancelled() {
    let database = seed_tables("example_orders");
    let example = Example::new("order-enrichment.yaml", "mqTest02", Some(&database));
    let replica = example.start();
    let order = |user: u32, amount: i32| {
        let value = format!(r#"{{"user_id":{user},"order_amount":{amount},"sname":"x"}}"#);
        example.writer.send(&format!(r#"{{"user_id":{user}}}"#), Some(&value));
    };
    order(1, 5);
    order(3, 5);
    order(1, 6);
    example.writer.send(r#"{"user_id":1}"#, None);
    example.writer.flush();
    let expected = [
        "+I[1, alice, s3-alice, 5, first]",
        "-U[1, alice, s3-alice, 5, first]",
        "+U[1, alice, s3-alice, 6, first]",
        "-D[1, alice, s3-alice, 6, first]",
    ];
    assert_eq!(printed(replica, expected.len()), expected);
}
