//! The job of a live case: `lookaside run` as a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::clock::{Clock, Stopwatch};

/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long a job may take to drain, before it is killed: above its own default limit.
const STOP_MAX: Duration = Duration::from_secs(40);
/// How long the probe of readiness may take to answer.
const PROBE_MAX: Duration = Duration::from_secs(2);

/// A definition for a process.
#[derive(Debug)]
pub(super) enum Definition {
    /// A file or folder.
    Path(std::path::PathBuf),
    /// A text, given on standard input.
    Text(String),
}

/// A running job.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    http: String,
    lines: Arc<Mutex<Vec<String>>>,
    log: Arc<Mutex<String>>,
}

impl Process {
    /// Starts the job.
    pub(super) fn start(definition: &Definition) -> std::io::Result<Self> {
        let http = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["run", "--http", &http, "--log-level", "warn"]);
        match definition {
            Definition::Path(path) => command.arg(path).stdin(Stdio::null()),
            Definition::Text(_) => command.arg("-").stdin(Stdio::piped()),
        };
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if let (Definition::Text(text), Some(mut input)) = (definition, child.stdin.take()) {
            input.write_all(text.as_bytes())?;
        }
        let (lines, log) = (Arc::default(), Arc::default());
        let process = Self { lines: Arc::clone(&lines), log: Arc::clone(&log), child, http };
        process.collect(lines, log)
    }

    fn collect(mut self, lines: Arc<Mutex<Vec<String>>>, log: Arc<Mutex<String>>) -> std::io::Result<Self> {
        if let Some(out) = self.child.stdout.take() {
            thread::Builder::new().name("stdout".to_owned()).spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                }
            })?;
        }
        if let Some(mut err) = self.child.stderr.take() {
            thread::Builder::new().name("stderr".to_owned()).spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = err.read(&mut bytes) {
                    let text = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default()).into_owned();
                    log.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
                }
            })?;
        }
        Ok(self)
    }

    /// Lines on standard output that were not taken before.
    pub(super) fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What it said on standard error so far.
    pub(super) fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How it ended, if it did.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Whether it says that it is ready.
    pub(super) fn is_ready(&self) -> bool {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(&self.http)?;
            stream.set_read_timeout(Some(PROBE_MAX))?;
            write!(stream, "GET /readyz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.http)?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    /// Waits for its end; `None` if it goes on.
    pub(super) fn wait(&mut self, limit: Duration, clock: &Clock) -> Option<ExitStatus> {
        let watch = Stopwatch::start();
        loop {
            match self.ended() {
                None if watch.elapsed() < limit => clock.sleep_blocking(LOOK),
                ended => return ended,
            }
        }
    }

    /// Asks it to drain and waits for its end.
    pub(super) fn stop(&mut self, clock: &Clock) {
        if self.ended().is_none() {
            let asked = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
            if asked.is_ok_and(|status| status.success()) {
                self.wait(STOP_MAX, clock);
            }
        }
        // Both fail for a process that has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
