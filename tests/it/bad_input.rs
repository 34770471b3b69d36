//! Bad data and refusing systems, as the operator meets them: the message, the
//! exit code, and that nothing past the fault is committed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::database::Database;
use crate::replica::Replica;
use crate::sqlite_lookup::Bed;
use crate::stack;
use crate::topic::{self, Writer};

/// A job that prints a one-partition topic.
struct Job {
    folder: tempfile::TempDir,
    topic: String,
    columns: String,
    options: String,
}

impl Job {
    fn new(name: &str) -> Self {
        let topic = topic::unique(name);
        topic::create(&topic, 1);
        let columns = "id INT NOT NULL, v INT, s STRING".to_owned();
        Self { folder: tempfile::tempdir().expect("folder"), topic, columns, options: String::new() }
    }

    fn definition(&self) -> PathBuf {
        let (topic, columns, options) = (&self.topic, &self.columns, &self.options);
        self.write(&format!(
            "name: {topic}
tables:
  src:
    connector: upsert-kafka
    topic: {topic}
    properties.bootstrap.servers: {}
    key.format: json
    value.format: json
{options}    columns: [{columns}, PRIMARY KEY (id) NOT ENFORCED]
  out: {{connector: print}}
pipeline: {{from: src, into: out}}
options: {{commit.interval: 100 ms}}
",
            stack::kafka()
        ))
    }

    fn write(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("definition.yaml");
        std::fs::write(&path, text).expect("definition");
        path
    }

    fn committed(&self) -> i64 {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", stack::kafka())
            .set("group.id", &self.topic)
            .create()
            .expect("consumer");
        let mut partitions = TopicPartitionList::new();
        partitions.add_partition(&self.topic, 0);
        let committed = consumer.committed_offsets(partitions, Duration::from_secs(10)).expect("committed");
        match committed.elements().first().map(|element| element.offset()) {
            Some(Offset::Offset(offset)) => offset,
            _ => 0,
        }
    }
}

/// Runs a definition to its end; returns exit code, log and output.
fn run_to_end(folder: &Path, definition: &Path) -> (Option<i32>, String, String) {
    let mut replica = Replica::start(folder, "replica", definition);
    let status = replica.wait_exit(Duration::from_secs(40));
    (status.code(), replica.log_text(), replica.out_text())
}

/// Sends two good records and then a bad one; checks the stop.
fn stops_on(name: &str, bad: (Option<&str>, Option<&str>), words: &[&str]) {
    let job = Job::new(name);
    let writer = Writer::new(&job.topic);
    writer.send(r#"{"id":1}"#, Some(r#"{"id":1,"v":10,"s":"a"}"#));
    writer.send(r#"{"id":2}"#, Some(r#"{"id":2,"v":20,"s":"b"}"#));
    writer.send_to(Some(0), bad.0.map(str::as_bytes), bad.1.map(str::as_bytes));
    writer.send(r#"{"id":3}"#, Some(r#"{"id":3,"v":30,"s":"c"}"#));
    writer.flush();
    let (code, log, _) = run_to_end(job.folder.path(), &job.definition());
    assert_eq!(code, Some(5), "{log}");
    for word in words.iter().chain(&[job.topic.as_str(), "partition 0", "offset 2"]) {
        assert!(log.contains(word), "'{word}' is not in:\n{log}");
    }
    assert!(job.committed() <= 2, "nothing past the fault is committed");
}

#[test]
fn an_undecodable_key_stops_the_job() {
    stops_on("bad-key", (Some("{"), Some(r#"{"id":9}"#)), &["malformed"]);
}

#[test]
fn an_undecodable_value_stops_the_job() {
    stops_on("bad-value", (Some(r#"{"id":9}"#), Some("{\"id\":9,")), &["malformed"]);
}

#[test]
fn a_null_key_stops_the_job() {
    stops_on("null-key", (None, Some(r#"{"id":9}"#)), &["null_key"]);
}

#[test]
fn a_value_that_does_not_fit_its_column_stops_the_job() {
    stops_on(
        "no-fit",
        (Some(r#"{"id":9}"#), Some(r#"{"id":9,"v":3000000000}"#)),
        &["column v", "value_out_of_range"],
    );
}

#[test]
fn an_empty_value_stops_the_job_and_says_what_a_delete_is() {
    stops_on("empty", (Some(r#"{"id":9}"#), Some("")), &["empty_value", "null.marker"]);
}

#[test]
fn a_value_without_its_key_column_stops_the_job() {
    let words = ["missing_key_column", "value.fields-include: EXCEPT_KEY"];
    stops_on("no-key-column", (Some(r#"{"id":9}"#), Some(r#"{"v":1}"#)), &words);
}

#[test]
fn the_same_key_in_two_partitions_stops_the_job() {
    let mut job = Job::new("two-partitions");
    job.topic = topic::unique("two-partitions");
    topic::create(&job.topic, 2);
    let writer = Writer::new(&job.topic);
    for partition in 0..2 {
        writer.send_to(Some(partition), Some(br#"{"id":1}"#), Some(br#"{"id":1,"v":1}"#));
    }
    writer.flush();
    let (code, log, _) = run_to_end(job.folder.path(), &job.definition());
    assert_eq!(code, Some(5), "{log}");
    assert!(log.contains("key_in_two_partitions"), "{log}");
}

#[test]
fn ignored_parse_errors_do_not_stop_the_job() {
    let mut job = Job::new("ignore");
    job.options =
        "    value.json.ignore-parse-errors: true\n    scan.bounded.mode: latest-offset\n".to_owned();
    let writer = Writer::new(&job.topic);
    writer.send(r#"{"id":1}"#, Some("{broken"));
    writer.send(r#"{"id":2}"#, Some(r#"{"id":2,"v":"x","s":"b"}"#));
    writer.flush();
    let (code, log, out) = run_to_end(job.folder.path(), &job.definition());
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(out, "+I[2, null, b]\n");
    assert_eq!(job.committed(), 2);
}

#[test]
fn a_missing_topic_is_said_at_start() {
    let mut job = Job::new("no-topic");
    job.topic = topic::unique("never-created");
    let (code, log, _) = run_to_end(job.folder.path(), &job.definition());
    assert_eq!(code, Some(4), "{log}");
    assert!(log.contains(&job.topic), "{log}");
}

/// A lookup job against `table` with `columns`, as `user` with `password`.
fn lookup_job(job: &Job, url: &str, login: (&str, &str), table: &str) -> PathBuf {
    let (topic, (user, password)) = (&job.topic, login);
    job.write(&format!(
        "name: {topic}
tables:
  src:
    connector: upsert-kafka
    topic: {topic}
    properties.bootstrap.servers: {}
    key.format: json
    value.format: json
    columns: [id INT NOT NULL, v INT, PRIMARY KEY (id) NOT ENFORCED]
  users:
    connector: mysql
    url: {url}
    username: {user}
    password: {password}
    table-name: {table}
    columns: [id INT, name STRING]
  out: {{connector: print}}
pipeline:
  from: src
  lookup:
  - {{table: users, as: u, type: left, condition: u.id = src.v}}
  select: [src.id, u.name]
  into: out
",
        stack::kafka()
    ))
}

#[test]
fn what_the_database_refuses_is_said_at_start_without_the_password() {
    let database = Database::new("refusals");
    database.run("CREATE TABLE users (id INT PRIMARY KEY, nome VARCHAR(10))");
    let url = format!("mysql://{}/{}", stack::mysql(), database.name);
    let no_database = format!("mysql://{}/{}_absent", stack::mysql(), database.name);
    let cases = [
        (&url, ("nobody", "canary-5up3r"), "users", "nobody"),
        (&url, ("root", "''"), "absent", "absent"),
        (&url, ("root", "''"), "users", "nome"),
        (&no_database, ("root", "''"), "users", "_absent"),
    ];
    for (url, login, table, word) in cases {
        let job = Job::new("refused");
        let (code, log, out) = run_to_end(job.folder.path(), &lookup_job(&job, url, login, table));
        assert_eq!(code, Some(4), "{log}");
        assert!(log.contains(word), "'{word}' is not in:\n{log}");
        assert!(!log.contains("canary-5up3r") && !out.contains("canary-5up3r"));
    }
}

/// A job that looks `v` up in a SQLite table, whose only row has a NULL that is declared NOT NULL, and stops there.
fn stops_at_a_lookup(name: &str, before: &str, retries: u32) -> (Option<i32>, String) {
    let bed =
        Bed::new(&["CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO t VALUES (1, NULL)"]);
    let job = Job::new(name);
    let definition = job.write(&format!(
        "name: {topic}
tables:
  src:
    connector: upsert-kafka
    topic: {topic}
    properties.bootstrap.servers: {}
    key.format: json
    value.format: json
    columns: [id INT NOT NULL, v INT, PRIMARY KEY (id) NOT ENFORCED]
  users: {{connector: sqlite, url: 'sqlite:{}', table-name: t, lookup.max-retries: {retries}, columns: [id INT, name STRING NOT NULL]}}
  out: {{connector: print}}
pipeline:
  from: src
  lookup: [{{table: users, as: u, condition: u.id = src.v}}]
  select: [src.id, u.name]
  into: out
",
        stack::kafka(),
        bed.file().display(),
        topic = job.topic,
    ));
    let mut replica = Replica::start(job.folder.path(), "replica", &definition);
    replica.wait_ready();
    bed.run(before);
    let writer = Writer::new(&job.topic);
    writer.send(r#"{"id":1}"#, Some(r#"{"id":1,"v":1}"#));
    writer.flush();
    let code = replica.wait_exit(Duration::from_secs(40)).code();
    let log = replica.log_text();
    for word in ["table src, ", job.topic.as_str(), "partition 0, offset 0: lookup in table users"] {
        assert!(log.contains(word), "'{word}' is not in:\n{log}");
    }
    assert_eq!(job.committed(), 0, "nothing past the row is committed");
    (code, log)
}

/// It would come again with every try, so there is no talk of tries and of a database that is away.
#[test]
fn a_dimension_value_that_does_not_fit_stops_the_job_at_once() {
    let (code, log) = stops_at_a_lookup("dimension-value", "INSERT INTO t VALUES (2, 'bob')", 3);
    assert_eq!(code, Some(5), "{log}");
    for word in
        ["column name: NULL", "correct the row in SQLite", "(value_out_of_range)", "was not tried again"]
    {
        assert!(log.contains(word), "'{word}' is not in:\n{log}");
    }
    for word in ["4 times", "max-retries", "bring the database back"] {
        assert!(!log.contains(word), "'{word}' is in:\n{log}");
    }
}

#[test]
fn a_database_that_stays_away_is_no_bad_data() {
    let (code, log) = stops_at_a_lookup("dimension-gone", "DROP TABLE t", 1);
    assert_eq!(code, Some(4), "{log}");
    for word in ["failed 2 times, last: ", "(lookup_failed)", "raise lookup.max-retries"] {
        assert!(log.contains(word), "'{word}' is not in:\n{log}");
    }
}

#[test]
fn an_unreachable_broker_or_database_is_no_exit() {
    let job = Job::new("unreachable");
    let nowhere = format!("mysql://127.0.0.1:{}/db", crate::replica::free_port());
    let definition = lookup_job(&job, &nowhere, ("root", "''"), "users");
    let mut replica = Replica::start(job.folder.path(), "database", &definition);
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(replica.get("/readyz").map(|(code, _)| code), Some(503), "{}", replica.log_text());
    assert_eq!(replica.get("/livez").map(|(code, _)| code), Some(200));
    replica.signal("TERM");
    assert_eq!(replica.wait_exit(Duration::from_secs(30)).code(), Some(0), "{}", replica.log_text());

    let text = std::fs::read_to_string(job.definition()).expect("definition");
    let nobody = format!("127.0.0.1:{}", crate::replica::free_port());
    let definition = job.write(&text.replace(&stack::kafka(), &nobody));
    let mut replica = Replica::start(job.folder.path(), "broker", &definition);
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(replica.get("/readyz").map(|(code, _)| code), Some(503), "{}", replica.log_text());
    assert!(replica.log_text().contains(&nobody), "{}", replica.log_text());
    replica.signal("TERM");
    assert_eq!(replica.wait_exit(Duration::from_secs(30)).code(), Some(0), "{}", replica.log_text());
}

#[test]
fn a_taken_port_is_one_clear_line() {
    let job = Job::new("port");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("port");
    let address = taken.local_addr().expect("address").to_string();
    let environment = [("LOOKASIDE__HTTP__ADDRESS", address.as_str())];
    let mut replica = Replica::start_with(job.folder.path(), "port", &job.definition(), &environment);
    assert_eq!(replica.wait_exit(Duration::from_secs(20)).code(), Some(4), "{}", replica.log_text());
    let expected = format!(
        "error: HTTP address {address} cannot be used: another program uses it; \
         set http.address (--http, LOOKASIDE__HTTP__ADDRESS) to a free address\n"
    );
    assert_eq!(replica.log_text(), expected);
}
