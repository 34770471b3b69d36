//! The server with a stand-in for the job.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::clock::Stopwatch;
use crate::telemetry::{Page, Sample, names};

/// A job that rebuilds its state, and counts what it is asked for.
#[derive(Default)]
struct Restoring {
    ticks: AtomicU64,
    snapshots: AtomicU64,
}

impl Observable for Restoring {
    fn liveness(&self) -> Result<(), String> {
        Ok(())
    }
    fn readiness(&self) -> Result<(), String> {
        Err("restoring orders[0]: 10 of 20 records".to_owned())
    }
    fn metrics(&self) -> Page {
        Page::new(vec![Sample::count(&names::READY, [], 0)])
    }
    fn status(&self) -> serde_json::Value {
        serde_json::json!({"state": "restoring"})
    }
    fn tick(&self) {
        self.ticks.fetch_add(1, Ordering::SeqCst);
    }
    fn snapshot(&self) -> String {
        format!(r#"{{"number":{}}}"#, self.snapshots.fetch_add(1, Ordering::SeqCst))
    }
    fn definition(&self) -> String {
        "name: job\n".to_owned()
    }
}

fn start() -> (Arc<Restoring>, Serving) {
    let replica = Arc::new(Restoring::default());
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).expect("port");
    (Arc::clone(&replica), server.start(replica).expect("thread"))
}

fn send(address: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("connect");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("timeout");
    write!(stream, "{request} HTTP/1.1\r\nHost: test\r\n\r\n").expect("request");
    stream
}

/// The whole answer; the server closes after it.
fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connect");
    write!(stream, "{request} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").expect("request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answer");
    answer
}

/// A stream of events that is being read.
struct Events(BufReader<TcpStream>);

impl Events {
    fn open(address: SocketAddr) -> Self {
        Self(BufReader::new(send(address, "GET /api/v1/events")))
    }

    /// The next line that begins so; `None` at the end of the stream.
    fn next(&mut self, begin: &str) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("an event in time") == 0 {
                return None;
            }
            if line.starts_with(begin) {
                return Some(line.trim_end().to_owned());
            }
        }
    }
}

#[test]
fn probes_metrics_and_documents_answer() {
    let (_, serving) = start();
    let address = serving.address();
    let taken = Server::bind(address).expect_err("taken");
    assert_eq!(taken.kind().exit_code(), 4);
    assert!(!taken.to_string().contains('\n') && taken.to_string().contains("--http"), "{taken}");
    assert!(ask(address, "GET /livez").starts_with("HTTP/1.1 200"));
    let ready = ask(address, "GET /readyz");
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("10 of 20"), "{ready}");
    assert!(ask(address, "GET /metrics").contains("lookaside_ready 0\n"));
    assert!(ask(address, "GET /api/v1/status").contains(r#"{"state":"restoring"}"#));
    assert!(ask(address, "GET /api/v1/definition").ends_with("name: job\n"));
    assert!(ask(address, "GET /api/v1/snapshot").contains(r#"{"number":"#));
    assert!(ask(address, "GET /nothing").starts_with("HTTP/1.1 404"));
    serving.finish();
    assert!(TcpStream::connect(address).is_err(), "the port is free again");
}

#[test]
fn every_answer_says_what_a_browser_may_do_with_it() {
    let (_, serving) = start();
    let requests = [
        "GET /",
        "GET /page.js",
        "GET /page.css",
        "GET /icon.svg",
        "GET /metrics",
        "GET /readyz",
        "GET /api/v1/snapshot",
        "GET /api/v1/definition",
        "GET /nothing",
        "POST /livez",
        "HEAD /",
    ];
    for request in requests {
        let answer = ask(serving.address(), request).to_ascii_lowercase();
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cache-control: no-",
        ] {
            assert!(answer.contains(header), "{request}: no {header}:\n{answer}");
        }
        assert!(!answer.contains("unsafe-"), "{request}: {answer}");
    }
    let stream = Events::open(serving.address()).next("content-security-policy").expect("a header");
    assert!(stream.contains("frame-ancestors 'none'"));
    serving.finish();
}

#[test]
fn a_file_of_the_page_that_the_browser_has_is_not_sent_again() {
    let (_, serving) = start();
    let first = ask(serving.address(), "GET /page.js");
    let tag = first.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag").to_owned();
    let mut stream = TcpStream::connect(serving.address()).expect("connect");
    write!(stream, "GET /page.js HTTP/1.1\r\nHost: t\r\nIf-None-Match: {tag}\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 304") && answer.ends_with("\r\n\r\n"), "{answer}");
    serving.finish();
}

#[test]
fn all_streams_share_one_snapshot_per_second_and_nobody_watching_costs_none() {
    let (replica, serving) = start();
    let clock = Clock::system();
    clock.sleep_blocking(Duration::from_millis(1_500));
    assert_eq!(replica.snapshots.load(Ordering::SeqCst), 0, "nobody watches");
    assert!(1 < replica.ticks.load(Ordering::SeqCst), "counters are read all the same");
    let mut streams: Vec<Events> = (0..5).map(|_| Events::open(serving.address())).collect();
    for stream in &mut streams {
        assert_eq!(stream.next("data: ").as_deref(), Some(r#"data: {"number":0}"#), "at once");
        assert_eq!(stream.next("data: ").as_deref(), Some(r#"data: {"number":1}"#));
    }
    drop(streams);
    // The server notices at the next event.
    clock.sleep_blocking(Duration::from_millis(2_500));
    let made = replica.snapshots.load(Ordering::SeqCst);
    assert!(made <= 5, "{made} snapshots for a second of five streams");
    clock.sleep_blocking(Duration::from_millis(1_500));
    assert_eq!(replica.snapshots.load(Ordering::SeqCst), made, "nobody watches any more");
    serving.finish();
}

#[test]
fn there_is_a_limit_of_streams_and_an_answer_beyond_it() {
    let (_, serving) = start();
    let mut streams: Vec<Events> = (0..16).map(|_| Events::open(serving.address())).collect();
    for stream in &mut streams {
        assert!(stream.next("data: ").is_some());
    }
    let refused = ask(serving.address(), "GET /api/v1/events");
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 10"), "{refused}");
    assert!(refused.contains("16 event streams are open, which is the limit"), "{refused}");
    assert!(ask(serving.address(), "GET /livez").starts_with("HTTP/1.1 200"), "probes are not streams");
    drop(streams.pop());
    let free = (0..50).any(|_| {
        Clock::system().sleep_blocking(Duration::from_millis(100));
        let mut stream = Events::open(serving.address());
        stream.next("HTTP/1.1 ").is_some_and(|line| line.contains("200"))
    });
    assert!(free, "a closed stream makes room");
    serving.finish();
}

#[test]
fn the_end_sends_a_last_event_and_waits_for_nobody() {
    let (_, serving) = start();
    let mut reader = Events::open(serving.address());
    reader.next("data: ").expect("an event");
    // One that never reads.
    let _deaf = send(serving.address(), "GET /api/v1/events");
    let watch = Stopwatch::start();
    serving.finish();
    assert!(watch.elapsed() < Duration::from_secs(2), "{:?}", watch.elapsed());
    assert!(reader.next("data: ").is_some(), "the last snapshot");
    assert_eq!(reader.next("data: "), None, "and the end");
}
