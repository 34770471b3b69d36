//! `lookaside demo` as a newcomer starts it: no broker, no database, nothing to prepare.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The broker lets a new group wait 3 s; a busy machine takes its time as well.
const LIMIT: Duration = Duration::from_secs(60);

/// A demo whose standard output goes to a file.
struct Demo {
    child: Child,
    started: Instant,
    said: BufReader<ChildStderr>,
    folder: tempfile::TempDir,
    /// `host:port`.
    http: String,
}

impl Demo {
    fn start(arguments: &[&str]) -> Self {
        Self::start_at("127.0.0.1:1", arguments)
    }

    /// `address` is what the environment says; an empty one: nothing.
    fn start_at(address: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let out = std::fs::File::create(folder.path().join("out")).expect("file");
        let started = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lookaside"));
        command.args(["demo", "--port", "0"]).args(arguments).env("TMPDIR", folder.path());
        match address {
            "" => command.env_remove("LOOKASIDE__HTTP__ADDRESS"),
            address => command.env("LOOKASIDE__HTTP__ADDRESS", address),
        };
        let child = command.stdout(out).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("lookaside demo");
        let mut said = BufReader::new(child.stderr.take().expect("standard error"));
        let http = loop {
            let mut line = String::new();
            assert_ne!(said.read_line(&mut line).expect("standard error"), 0, "no address");
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.split('/').next().expect("host and port").to_owned();
            }
        };
        Self { child, started, said, folder, http }
    }

    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.http).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: demo\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    fn out(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("out")).expect("output")
    }

    /// What it left of its own in the folder for temporary files.
    fn leftovers(&self) -> usize {
        let entries = std::fs::read_dir(self.folder.path()).expect("folder");
        entries.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name() != "out")).count()
    }

    fn wait_for_output(&self) {
        while self.out().is_empty() {
            assert!(self.started.elapsed() < LIMIT, "nothing to look at");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How it ended, and the rest of what it said.
    fn end(&mut self) -> (ExitStatus, String) {
        let mut said = String::new();
        self.said.read_to_string(&mut said).expect("standard error");
        (self.child.wait().expect("child"), said)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Folds a printed changelog: every `-U` and `-D` repeats what was printed last for its key.
fn check_changelog(out: &str) -> [u32; 4] {
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    let (mut kinds, mut taken_back) = ([0; 4], None);
    for line in out.lines() {
        let (kind, row) = line.split_at(2);
        let key = row.split([',', '[']).nth(1).expect("a key").to_owned();
        match kind {
            "+I" => assert!(rows.insert(key, row.to_owned()).is_none(), "{line}"),
            "-U" | "-D" => {
                assert_eq!(rows.remove(&key).as_deref(), Some(row), "{line}");
                taken_back = (kind == "-U").then_some(key);
            }
            "+U" => {
                assert_eq!(taken_back.take(), Some(key.clone()), "{line}");
                rows.insert(key, row.to_owned());
            }
            _ => panic!("{line}"),
        }
        kinds[["+I", "-U", "+U", "-D"].iter().position(|known| *known == kind).expect("kind")] += 1;
    }
    kinds
}

#[test]
fn the_demo_shows_a_changelog_and_what_a_changed_dimension_row_does() {
    let mut demo = Demo::start(&["--rate", "10", "--seconds", "14"]);
    demo.wait_for_output();
    let metrics = demo.get("/metrics").expect("metrics");
    assert!(metrics.contains("lookaside_ready 1"), "{metrics}");
    let (status, said) = demo.end();
    assert_eq!(status.code(), Some(0), "{said}");
    let out = demo.out();
    let kinds = check_changelog(&sorted_by_key(&out));
    assert!(kinds.iter().all(|count| 0 < *count), "{kinds:?}");
    assert!(!out.contains('\u{1b}') && !said.contains('\u{1b}'), "no colour where nobody sees it");
    // A region that was changed is seen by the next order, and what was sent before is taken back as it was.
    let change = said.lines().find(|line| line.starts_with("UPDATE test2")).expect("a changed region");
    let user = change.rsplit(' ').next().expect("a user");
    let moved = out.lines().zip(out.lines().skip(1)).any(|(before, after)| {
        let region = |line: &str| line.split(", ").nth(2).map(str::to_owned);
        before.starts_with(&format!("-U[{user},"))
            && after.starts_with(&format!("+U[{user},"))
            && region(before) != region(after)
    });
    assert!(moved, "{change}\n{out}");
    assert!(said.contains("users is cached for 10 min") && said.contains("not in users"), "{said}");
    assert!(said.contains("orders in, ") && said.contains("lookups from the cache"), "{said}");
    assert_eq!(demo.leftovers(), 0);
}

/// Lines of each key in their order; shards print side by side.
fn sorted_by_key(out: &str) -> String {
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_by_key(|line| line.split([',', '[']).nth(1).map(str::to_owned));
    lines.join("\n")
}

#[test]
fn the_demo_answers_within_a_second_and_ends_cleanly_on_ctrl_c() {
    // Of three starts, because other tests run beside.
    let first_answer = |_| {
        let demo = Demo::start(&[]);
        while demo.get("/livez").is_none() {
            assert!(demo.started.elapsed() < LIMIT, "no answer");
        }
        (demo.started.elapsed(), demo)
    };
    let (took, mut demo) = (0..3).map(first_answer).min_by_key(|(took, _)| *took).expect("three starts");
    assert!(took < Duration::from_secs(1), "the first answer took {took:?}");
    demo.wait_for_output();
    let interrupt = Command::new("kill").arg("-INT").arg(demo.child.id().to_string()).status();
    assert!(interrupt.expect("kill").success());
    let (status, said) = demo.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(said.contains("orders in, "), "{said}");
    assert_eq!(demo.leftovers(), 0);
}

/// It has no login. All of 127.0.0.0/8 is this machine, so another of its addresses tells who else would get in.
#[test]
fn the_page_of_the_demo_is_for_this_machine_unless_the_environment_says_otherwise() {
    let answers_elsewhere = |demo: &Demo| {
        let port = demo.http.rsplit(':').next().expect("port");
        TcpStream::connect(format!("127.0.0.2:{port}")).is_ok()
    };
    let demo = Demo::start_at("", &[]);
    assert!(demo.http.starts_with("127.0.0.1:") && demo.get("/livez").is_some(), "{}", demo.http);
    assert!(!answers_elsewhere(&demo), "anybody on the network may look");
    assert!(answers_elsewhere(&Demo::start_at("0.0.0.0:1", &[])), "as a container needs it");
}

#[test]
fn a_port_that_is_taken_is_refused_if_it_was_asked_for() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("address").port().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .args(["demo", "--port", &port])
        .env("LOOKASIDE__HTTP__ADDRESS", "127.0.0.1:1")
        .output()
        .expect("lookaside demo");
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&port) && said.lines().count() == 1, "{said}");
}

/// What a demo shows on a terminal (`script` makes one).
fn on_a_terminal(no_color: bool) -> String {
    let command = format!("{} demo --port 0 --seconds 2 --rate 5", env!("CARGO_BIN_EXE_lookaside"));
    let mut script = Command::new("script");
    script.args(["-qefc", &command, "/dev/null"]).stdin(Stdio::null()).env("TERM", "xterm");
    script.env_remove("NO_COLOR").env_remove("CI");
    if no_color {
        script.env("NO_COLOR", "1");
    }
    String::from_utf8_lossy(&script.output().expect("script").stdout).into_owned()
}

#[test]
fn row_kinds_are_coloured_on_a_terminal_alone() {
    let shown = on_a_terminal(false);
    assert!(shown.contains("\u{1b}[32m+I\u{1b}[0m["), "{shown}");
    let plain = on_a_terminal(true);
    assert!(plain.contains("+I[") && !plain.contains('\u{1b}'), "{plain}");
}
