//! Prometheus' own checker. `make test` fetches it where it is missing.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Runs `promtool`; `None`, and a line on the terminal, where it is neither installed nor could be fetched.
/// In continuous integration that is a failure.
pub fn run(arguments: &[&str], input: &str) -> Option<Output> {
    let Some(program) = find() else {
        assert!(std::env::var_os("CI").is_none(), "promtool is missing: tests/stack/stack.sh fetches it");
        eprintln!("SKIPPED: promtool is missing, run make test (Debian: package prometheus)");
        return None;
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool starts");
    child.stdin.take().expect("input").write_all(input.as_bytes()).expect("promtool reads");
    Some(child.wait_with_output().expect("promtool ends"))
}

/// Both streams, for a message.
pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn find() -> Option<PathBuf> {
    let fetched = PathBuf::from("target/stack/prometheus/usr/bin/promtool");
    let named = std::env::var_os("LOOKASIDE_TEST_PROMTOOL").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|folder| folder.join("promtool"));
    named.into_iter().chain([fetched]).chain(installed).find(|program| program.is_file())
}
