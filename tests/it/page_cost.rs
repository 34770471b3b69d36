//! What watching costs: five event streams and a scrape each second, against the CPU time of the service.
//!
//! `cargo test --release --test it watching_costs -- --nocapture` prints the figures of the release build.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::database::Database;
use crate::replica::Replica;
use crate::stack;
use crate::topic::{self, Writer};

/// Enough for some seconds of work.
const ROWS: u64 = if cfg!(debug_assertions) { 200_000 } else { 3_000_000 };

/// Streams that are open all the time.
const STREAMS: usize = 5;

/// A service at work uses more than one core, so this is less than 2 % of its CPU time.
const CORES_MAX: f64 = 0.02;

/// Clock ticks per second in `/proc`: 100 on every Linux that is in use.
const TICKS_PER_SECOND: f64 = 100.0;

/// Seconds of user and system CPU time of a process by the names of its threads.
fn cpu_by_thread(process: u32) -> Vec<(String, f64)> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("threads of the process");
    let thread = |folder: std::path::PathBuf| {
        let text = std::fs::read_to_string(folder.join("stat")).ok()?;
        let (head, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
        Some((head.split_once('(')?.1.to_owned(), ticks / TICKS_PER_SECOND))
    };
    tasks.filter_map(|task| thread(task.ok()?.path())).collect()
}

fn definition(source: &str, database: &str) -> String {
    format!(
        "name: {source}
tables:
  orders:
    connector: upsert-kafka
    topic: {source}
    properties.bootstrap.servers: {}
    key.format: json
    value.format: json
    columns: [id BIGINT NOT NULL, user_id INT, amount BIGINT, PRIMARY KEY (id) NOT ENFORCED]
  users:
    connector: mysql
    url: mysql://{}/{database}
    username: root
    password: ''
    table-name: users
    columns: [id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED]
    lookup.cache: PARTIAL
    lookup.partial-cache.max-rows: 10000
  out: {{connector: blackhole}}
pipeline:
  from: orders
  lookup: [{{table: users, as: u, condition: u.id = orders.user_id}}]
  select: [orders.id, u.name, orders.amount]
  into: out
options: {{parallelism: 2}}
",
        stack::kafka(),
        stack::mysql()
    )
}

/// Reads events until told to stop.
fn watch(address: &str, stop: &AtomicBool, events: &AtomicU64) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("timeout");
    stream.write_all(b"GET /api/v1/events HTTP/1.1\r\nHost: test\r\n\r\n").expect("request");
    let lines = BufReader::new(stream).lines();
    for line in lines.map_while(Result::ok) {
        events.fetch_add(u64::from(line.starts_with("data: ")), Ordering::Relaxed);
        if stop.load(Ordering::Relaxed) {
            return;
        }
    }
}

fn rows_done(metrics: &str) -> u64 {
    let of_sink = metrics.lines().filter(|line| line.starts_with("lookaside_sink_rows_total"));
    of_sink.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

#[test]
fn watching_costs_at_most_two_percent_of_the_cpu_time() {
    let source = topic::unique("page-cost");
    topic::create(&source, 4);
    let database = Database::new("page_cost");
    database.run("CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20))");
    let users: Vec<String> = (0..2_000).map(|id| format!("({id}, 'user {id}')")).collect();
    database.run(&format!("INSERT INTO users VALUES {}", users.join(",")));
    let writer = Writer::new(&source);
    for id in 0..ROWS {
        let value = format!(r#"{{"id":{id},"user_id":{},"amount":{id}}}"#, id % 2_000);
        writer.send(&format!(r#"{{"id":{id}}}"#), Some(&value));
    }
    writer.flush();
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("definition.yaml");
    std::fs::write(&path, definition(&source, &database.name)).expect("definition");
    let mut replica = Replica::start(folder.path(), "watched", &path);
    replica.wait_ready();
    let begun = Instant::now();
    let (stop, events) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let streams: Vec<_> = (0..STREAMS)
        .map(|_| {
            let (address, stop, events) = (replica.http.clone(), Arc::clone(&stop), Arc::clone(&events));
            std::thread::spawn(move || watch(&address, &stop, &events))
        })
        .collect();
    let mut scrapes = 0_u64;
    while rows_done(&replica.get("/metrics").expect("metrics").1) < ROWS {
        scrapes += 1;
        assert!(begun.elapsed() < Duration::from_secs(300), "{}", replica.log_text());
        std::thread::sleep(Duration::from_secs(1));
    }
    let (wall, threads) = (begun.elapsed().as_secs_f64(), cpu_by_thread(replica.id()));
    stop.store(true, Ordering::Relaxed);
    streams.into_iter().for_each(|stream| stream.join().expect("a stream"));
    replica.signal("TERM");
    replica.wait_exit(Duration::from_secs(15));
    let all: f64 = threads.iter().map(|(_, seconds)| seconds).sum();
    let http: f64 = threads.iter().filter(|(name, _)| name == "http").map(|(_, seconds)| seconds).sum();
    let events = events.load(Ordering::Relaxed);
    println!(
        "{ROWS} rows in {wall:.1} s: {all:.2} CPU-s, {:.2} µs per row; {events} events and {scrapes} scrapes cost the \
         http thread {http:.4} CPU-s, {:.3} % of all, {:.5} cores",
        all * 1e6 / ROWS as f64,
        100.0 * http / all,
        http / wall
    );
    assert!(STREAMS as u64 * 2 <= events, "{events} events");
    assert!(threads.iter().any(|(name, _)| name == "http"), "{threads:?}");
    assert!(http / wall <= CORES_MAX, "watching takes {:.4} cores", http / wall);
}
