//! How a job ends: drained, given up, or aborted.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};

use crate::database::Database;
use crate::proxy::Proxy;
use crate::replica::Replica;
use crate::topic::Writer;
use crate::{stack, topic};

/// A job with one lookup, from a topic to a topic; the database is behind a proxy.
pub struct World {
    folder: tempfile::TempDir,
    source: String,
    sink: String,
    definition: PathBuf,
    /// Between the job and its database.
    pub proxy: Proxy,
    _database: Database,
}

impl World {
    /// Topics, a database, a definition.
    pub fn new(name: &str) -> Self {
        let (source, sink) = (topic::unique(name), topic::unique(&format!("{name}-sink")));
        topic::create(&source, 2);
        topic::create(&sink, 2);
        let database = Database::new(&name.replace('-', "_"));
        database.run("CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20))");
        database.run("INSERT INTO users VALUES (0, 'zero'), (1, 'one')");
        let proxy = Proxy::new(&stack::mysql());
        let kafka = stack::kafka();
        let text = format!(
            "name: {source}
tables:
  src:
    connector: upsert-kafka
    topic: {source}
    properties.bootstrap.servers: {kafka}
    properties.session.timeout.ms: 6000
    key.format: json
    value.format: json
    columns: [id INT NOT NULL, user_id INT, PRIMARY KEY (id) NOT ENFORCED]
  users:
    connector: mysql
    url: mysql://127.0.0.1:{}/{}
    username: root
    password: ''
    table-name: users
    columns: [id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED]
    lookup.cache: NONE
  out:
    connector: upsert-kafka
    topic: {sink}
    properties.bootstrap.servers: {kafka}
    key.format: json
    value.format: json
    columns: [id INT NOT NULL, name STRING, PRIMARY KEY (id) NOT ENFORCED]
pipeline:
  from: src
  lookup: [{{table: users, as: u, condition: u.id = src.user_id}}]
  select: [src.id, u.name]
  into: out
options: {{commit.interval: 60 s, parallelism: 2}}
",
            proxy.port(),
            database.name
        );
        let folder = tempfile::tempdir().expect("folder");
        let definition = folder.path().join("definition.yaml");
        std::fs::write(&definition, text).expect("definition");
        Self { folder, source, sink, definition, proxy, _database: database }
    }

    /// Starts the job; draining may take two seconds.
    pub fn start(&self, name: &str) -> Replica {
        let timeout = [("LOOKASIDE__SHUTDOWN__TIMEOUT", "2 s")];
        let mut replica = Replica::start_with(self.folder.path(), name, &self.definition, &timeout);
        replica.wait_ready();
        replica
    }

    /// Sends a row for each id.
    pub fn send(&self, ids: std::ops::Range<i32>) {
        let writer = Writer::new(&self.source);
        for id in ids {
            writer
                .send(&format!("{{\"id\":{id}}}"), Some(&format!("{{\"id\":{id},\"user_id\":{}}}", id % 2)));
        }
        writer.flush();
    }

    /// Deletes the row of each id.
    fn delete(&self, ids: std::ops::Range<i32>) {
        let writer = Writer::new(&self.source);
        ids.for_each(|id| writer.send(&format!("{{\"id\":{id}}}"), None));
        writer.flush();
    }

    fn wait_for_rows(&self, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while topic::read_all(&self.sink).len() < count {
            assert!(Instant::now() < deadline, "{} of {count} rows", topic::read_all(&self.sink).len());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The interval of commits is a minute: only the drain can have committed.
#[test]
fn a_job_that_is_asked_to_stop_commits_what_it_read_and_repeats_nothing() {
    let world = World::new("drain");
    let mut first = world.start("first");
    world.send(0..500);
    world.wait_for_rows(500);
    first.signal("TERM");
    assert_eq!(first.wait_exit(Duration::from_secs(15)).code(), Some(0), "{}", first.log_text());
    let mut second = world.start("second");
    world.send(500..600);
    world.wait_for_rows(600);
    second.signal("INT");
    assert_eq!(second.wait_exit(Duration::from_secs(15)).code(), Some(0), "{}", second.log_text());
    assert_eq!(topic::read_all(&world.sink).len(), 600);
}

#[test]
fn a_drain_that_takes_too_long_ends_and_loses_nothing() {
    let world = World::new("give-up");
    let mut first = world.start("first");
    world.proxy.stall();
    world.send(0..50);
    std::thread::sleep(Duration::from_secs(1));
    first.signal("TERM");
    let asked = Instant::now();
    assert_eq!(first.wait_exit(Duration::from_secs(20)).code(), Some(0), "{}", first.log_text());
    assert!(Duration::from_secs(2) <= asked.elapsed(), "it drains as long as it may");
    assert!(first.log_text().contains("draining took too long"), "{}", first.log_text());
    assert_eq!(topic::read_all(&world.sink).len(), 0);
    world.proxy.forward();
    let mut second = world.start("second");
    world.wait_for_rows(50);
    second.signal("TERM");
    assert_eq!(second.wait_exit(Duration::from_secs(15)).code(), Some(0), "{}", second.log_text());
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    let world = World::new("abort");
    let mut replica = world.start("replica");
    world.proxy.stall();
    world.send(0..50);
    std::thread::sleep(Duration::from_secs(1));
    replica.signal("TERM");
    std::thread::sleep(Duration::from_millis(300));
    replica.signal("TERM");
    assert_eq!(replica.wait_exit(Duration::from_secs(1)).code(), Some(130), "{}", replica.log_text());
}

/// As compaction leaves it: the tombstone is there, the row before it is not.
#[test]
fn a_delete_that_came_while_the_job_stood_still_reaches_the_sink_after_compaction() {
    let world = World::new("compacted");
    let mut first = world.start("first");
    world.send(0..10);
    world.wait_for_rows(10);
    first.signal("TERM");
    assert_eq!(first.wait_exit(Duration::from_secs(15)).code(), Some(0), "{}", first.log_text());
    topic::forget_records(&world.source);
    world.delete(0..4);
    let second = world.start("second");
    let deadline = Instant::now() + Duration::from_secs(20);
    while topic::compacted(&topic::read_all(&world.sink)).len() != 6 {
        assert!(Instant::now() < deadline, "rows are left over\n{}", second.log_text());
        std::thread::sleep(Duration::from_millis(100));
    }
    // What comes from now on is known to be unknown.
    let before = topic::read_all(&world.sink).len();
    world.delete(20..24);
    world.send(30..31);
    world.wait_for_rows(before + 1);
    assert_eq!(topic::read_all(&world.sink).len(), before + 1);
}

/// Rows that wait must not be written over those of the partitions' next owner.
#[test]
fn a_job_that_cannot_drain_what_it_must_give_away_ends() {
    let world = World::new("overdue");
    let mut first = world.start("first");
    world.proxy.stall();
    world.send(0..50);
    std::thread::sleep(Duration::from_secs(1));
    let rival: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", stack::kafka())
        .set("group.id", &world.source)
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", "6000")
        .create()
        .expect("consumer");
    rival.subscribe(&[&world.source]).expect("subscribe");
    let asked = Instant::now();
    while first.is_running() {
        assert!(asked.elapsed() < Duration::from_secs(60), "{}", first.log_text());
        let _ = rival.poll(Duration::from_millis(100));
    }
    assert_eq!(first.wait_exit(Duration::from_secs(1)).code(), Some(4), "{}", first.log_text());
    assert!(first.log_text().contains("not drained in time"), "{}", first.log_text());
    drop(rival);
    world.proxy.forward();
    let _second = world.start("second");
    world.wait_for_rows(50);
}

/// As after a long outage of the broker: what was on its way is forgotten, and comes again.
#[test]
fn a_job_that_loses_its_partitions_takes_them_up_again() {
    let world = World::new("lost");
    let mut first = world.start("first");
    world.proxy.stall();
    world.send(0..50);
    std::thread::sleep(Duration::from_secs(1));
    first.signal("STOP");
    std::thread::sleep(Duration::from_secs(9));
    first.signal("CONT");
    let asked = Instant::now();
    while !first.log_text().contains("lost: the group has given them up") {
        assert!(asked.elapsed() < Duration::from_secs(30) && first.is_running(), "{}", first.log_text());
        std::thread::sleep(Duration::from_millis(100));
    }
    world.proxy.forward();
    world.proxy.cut();
    world.wait_for_rows(50);
    assert!(first.is_running(), "{}", first.log_text());
}

/// `lookaside run … | head -n 1`: shards wait for each other's barriers, and nobody hands these on any more.
#[test]
fn a_reader_that_goes_away_ends_the_job() {
    let world = World::new("head");
    let text = std::fs::read_to_string(&world.definition).expect("definition");
    let (tables, pipeline) = text.split_once("pipeline:").expect("a pipeline");
    let (tables, _) = tables.split_once("  out:").expect("a sink");
    let pipeline = pipeline.replace("60 s", "1 ms");
    let definition = world.folder.path().join("print.yaml");
    std::fs::write(&definition, format!("{tables}  out: {{connector: print}}\npipeline:{pipeline}"))
        .expect("file");
    world.send(0..20_000);
    let mut job = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .arg("run")
        .arg(&definition)
        .env("LOOKASIDE__HTTP__ADDRESS", format!("127.0.0.1:{}", crate::replica::free_port()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("lookaside starts");
    let mut line = String::new();
    BufReader::new(job.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert!(line.starts_with("+I["), "{line}");
    let deadline = Instant::now() + Duration::from_secs(30);
    let ended = loop {
        match job.try_wait().expect("child") {
            Some(status) => break status.code(),
            None if deadline < Instant::now() => break None,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let _ = job.kill();
    assert_eq!(ended, Some(0));
}
