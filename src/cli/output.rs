//! Where output goes and what it looks like.
#![expect(clippy::print_stderr, reason = "the one place that prints")]

use std::io::{self, Write as _};

use clap::ValueEnum;
use serde_json::Value as Json;

use crate::config::Fault;

/// What results look like on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// Text for people.
    #[default]
    Human,
    /// One JSON document.
    Json,
}

/// Writes a result to standard output; a reader that has gone away is no fault.
pub(super) fn data(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| match text.ends_with('\n') {
        true => out.flush(),
        false => out.write_all(b"\n").and_then(|()| out.flush()),
    });
}

/// Writes a result as JSON.
pub(super) fn json(value: &Json) {
    data(&format!("{value:#}"));
}

/// Says something on standard error.
pub(super) fn say(text: &str) {
    eprintln!("{text}");
}

/// Says every fault: on standard error for people, in one document on standard output for machines.
pub(super) fn faults(faults: &[Fault], format: OutputFormat) {
    match format {
        OutputFormat::Human => {
            faults.iter().for_each(|fault| say(&fault.to_string()));
            say(&format!("{} {} found", faults.len(), if faults.len() == 1 { "fault" } else { "faults" }));
        }
        OutputFormat::Json => json(&faults_json(faults)),
    }
}

/// The same shape whether the definition is valid or not.
pub(super) fn faults_json(faults: &[Fault]) -> Json {
    serde_json::json!({
        "valid": faults.is_empty(),
        "faults": faults.iter().map(Fault::to_json).collect::<Vec<_>>(),
    })
}
