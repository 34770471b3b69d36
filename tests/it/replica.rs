//! The program as its user starts it: a process with a definition, watched over HTTP.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A running `lookaside run`.
pub struct Replica {
    child: Child,
    /// `host:port` of its HTTP server.
    pub http: String,
    /// Where its standard error goes.
    pub log: PathBuf,
    /// Where its standard output goes.
    pub out: PathBuf,
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

impl Replica {
    /// Starts `lookaside run definition`; logs go into `folder`.
    pub fn start(folder: &Path, name: &str, definition: &Path) -> Self {
        Self::start_with(folder, name, definition, &[])
    }

    /// Starts with further environment variables.
    pub fn start_with(folder: &Path, name: &str, definition: &Path, environment: &[(&str, &str)]) -> Self {
        let http = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new(env!("CARGO_BIN_EXE_lookaside"));
        command.arg("run").arg(definition).env("LOOKASIDE__HTTP__ADDRESS", &http);
        command.envs(environment.iter().copied());
        Self::spawn(folder, name, http, command)
    }

    /// Starts a command that serves HTTP at `http`.
    pub fn spawn(folder: &Path, name: &str, http: String, mut command: Command) -> Self {
        let (log, out) = (folder.join(format!("{name}.log")), folder.join(format!("{name}.out")));
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&out).expect("output file"))
            .stderr(File::create(&log).expect("log file"))
            .spawn()
            .expect("lookaside starts");
        Self { child, http, log, out }
    }

    /// Answer of a path: status code and body; `None` while nobody answers.
    pub fn get(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.http).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// Waits until `/readyz` answers 200.
    pub fn wait_ready(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            if self.get("/readyz").is_some_and(|(code, _)| code == 200) {
                return;
            }
            if let Some(status) = self.child.try_wait().expect("child") {
                panic!("lookaside ended with {status} before it was ready:\n{}", self.log_text());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("lookaside is not ready after a minute:\n{}", self.log_text());
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it logged so far.
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// What it printed so far.
    pub fn out_text(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap_or_default()
    }

    /// Sends a signal by name (`TERM`, `INT`, `STOP`, `CONT`).
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(status.expect("kill").success(), "kill -{name}");
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().expect("kill -9");
        self.child.wait().expect("child");
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("child").is_none()
    }

    /// Waits for the end.
    pub fn wait_exit(&mut self, limit: Duration) -> ExitStatus {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait().expect("child") {
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "lookaside did not end within {limit:?}:\n{}",
                self.log_text()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
