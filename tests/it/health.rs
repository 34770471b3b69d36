//! Probes, and the end of the process as an orchestrator sees it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::fixture;
use crate::replica::{Replica, free_port};
use crate::stopping::World;

/// A job without a lookup, from `source` to nowhere.
fn definition(folder: &std::path::Path, source: &str, kafka: &str) -> std::path::PathBuf {
    let path = folder.join("definition.yaml");
    let text = format!(
        "name: {source}
tables:
  src:
    connector: upsert-kafka
    topic: {source}
    properties.bootstrap.servers: {kafka}
    key.format: json
    value.format: json
    columns: [id INT NOT NULL, PRIMARY KEY (id) NOT ENFORCED]
  out: {{connector: blackhole}}
pipeline: {{from: src, into: out}}
"
    );
    std::fs::write(&path, text).expect("definition");
    path
}

#[test]
fn a_taken_port_is_one_clear_line_and_its_documented_exit_code() {
    let folder = tempfile::tempdir().expect("folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("port");
    let address = taken.local_addr().expect("address").to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .args(["run", "--http", &address])
        .arg(definition(folder.path(), "none", "127.0.0.1:1"))
        .output()
        .expect("lookaside");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.contains(&format!("HTTP address {address} cannot be used")) && text.contains("--http"),
        "{text}"
    );
}

#[test]
fn a_process_that_waits_for_its_broker_is_alive_not_ready_and_stops_at_once() {
    let folder = tempfile::tempdir().expect("folder");
    let kafka = format!("127.0.0.1:{}", free_port());
    let mut replica = Replica::start(folder.path(), "waiting", &definition(folder.path(), "none", &kafka));
    let deadline = Instant::now() + Duration::from_secs(20);
    while replica.get("/livez").is_none_or(|(code, _)| code != 200) {
        assert!(Instant::now() < deadline, "{}", replica.log_text());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(replica.get("/readyz").map(|(code, _)| code), Some(503));
    // The page is there from the beginning and says what is waited for.
    let (code, snapshot) = replica.get("/api/v1/snapshot").expect("snapshot");
    let snapshot: serde_json::Value = serde_json::from_str(&snapshot).expect("JSON");
    assert_eq!((code, &snapshot["state"], &snapshot["ready"]), (200, &json!("starting"), &json!(false)));
    replica.signal("TERM");
    assert_eq!(replica.wait_exit(Duration::from_secs(10)).code(), Some(0), "{}", replica.log_text());
}

#[test]
fn ready_is_independent_of_lag_and_of_dependencies_and_ends_with_the_request_to_stop() {
    let world = World::new("health");
    let mut replica = world.start("replica");
    world.proxy.stall();
    world.send(0..2_000);
    std::thread::sleep(Duration::from_secs(2));
    let (_, metrics) = replica.get("/metrics").expect("metrics");
    assert!(metrics.contains("lookaside_lookup_statements_total"), "{metrics}");
    assert_eq!(replica.get("/readyz").map(|(code, _)| code), Some(200), "rows wait for the database");
    assert_eq!(replica.get("/livez").map(|(code, _)| code), Some(200));
    // A process that was stopped for a while is as ready as before.
    replica.signal("STOP");
    std::thread::sleep(Duration::from_secs(1));
    replica.signal("CONT");
    assert_eq!(replica.get("/readyz").map(|(code, _)| code), Some(200));
    replica.signal("TERM");
    let asked = Instant::now();
    let refused = loop {
        match replica.get("/readyz") {
            Some((503, body)) => break body,
            _ => assert!(asked.elapsed() < Duration::from_millis(500), "still ready while draining"),
        }
    };
    assert_eq!(refused.trim(), "draining");
    assert_eq!(replica.get("/livez").map(|(code, _)| code), Some(200), "draining is alive");
    world.proxy.forward();
    assert_eq!(replica.wait_exit(Duration::from_secs(15)).code(), Some(0), "{}", replica.log_text());
}

/// Events are large, so that the buffers of the system are full at once.
#[test]
fn a_stream_whose_client_does_not_read_is_cut_off_and_slows_nobody() {
    let mut snapshot = fixture::snapshot("orders", 1, 1, 1);
    snapshot["name"] = "x".repeat(4 << 20).into();
    let serving = fixture::serve(&snapshot, "");
    let open = || {
        let mut stream = TcpStream::connect(serving.address()).expect("connect");
        stream.write_all(b"GET /api/v1/events HTTP/1.1\r\nHost: test\r\n\r\n").expect("request");
        stream
    };
    let deaf: Vec<TcpStream> = (0..15).map(|_| open()).collect();
    let mut reader = open();
    let (mut bytes, mut buffer, begun) = (0, vec![0; 1 << 20], Instant::now());
    while begun.elapsed() < Duration::from_secs(5) {
        bytes += reader.read(&mut buffer).expect("events");
    }
    assert!(12 << 20 < bytes, "{bytes} bytes in 5 s for one that reads, while 15 others do not");
    drop(reader);
    // A client is cut off after 10 s without taking anything; then its place is free.
    let deadline = Instant::now() + Duration::from_secs(20);
    let all_free = loop {
        std::thread::sleep(Duration::from_secs(1));
        // All of them at the same time: as many as there are places.
        let mut streams: Vec<TcpStream> = (0..16).map(|_| open()).collect();
        let accepted = streams.iter_mut().filter_map(|stream| {
            let mut begin = [0; 12];
            stream.read_exact(&mut begin).ok().map(|()| begin == *b"HTTP/1.1 200")
        });
        if accepted.filter(|accepted| *accepted).count() == 16 {
            break true;
        }
        if deadline < Instant::now() {
            break false;
        }
    };
    assert!(all_free, "streams that nobody reads keep their places");
    drop(deaf);
    serving.finish();
}
