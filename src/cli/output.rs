//! Where output goes and what it looks like.
//!
//! Colour is for terminals alone, and `NO_COLOR` switches it off there:
//! `anstream` decides for each stream and takes the colour out where nobody sees it.

use std::io::Write as _;

use clap::ValueEnum;
use clap::builder::styling::{AnsiColor, Style};
use serde_json::{Value as Json, json};

use crate::config::{Fault, Span};
use crate::error::Error;

use super::Exit;

/// Places in files.
pub(super) const PLACE: Style = Style::new().bold();
/// What is as it should be.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// What is worth a look.
pub(super) const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
/// What is wrong.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// What is said beside.
pub(super) const FAINT: Style = Style::new().dimmed();

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
    let mut out = anstream::stdout().lock();
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
    anstream::eprintln!("{text}");
}

/// A text in a style.
pub(super) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Says every fault: on standard error for people, in one document on standard output for machines.
pub(super) fn faults(faults: &[Fault], format: OutputFormat) {
    match format {
        OutputFormat::Human => {
            faults.iter().for_each(|fault| say(&shown(fault)));
            say(&format!("{} {} found", faults.len(), if faults.len() == 1 { "fault" } else { "faults" }));
        }
        OutputFormat::Json => json(&faults_json(faults)),
    }
}

/// A fault for people, its place in bold.
fn shown(fault: &Fault) -> String {
    let (text, place) = (fault.to_string(), fault.span.to_string());
    match text.strip_prefix(&place) {
        Some(rest) => styled(PLACE, &place) + rest,
        None => text,
    }
}

/// The same shape whether the definition is valid or not.
pub(super) fn faults_json(faults: &[Fault]) -> Json {
    json!({
        "valid": faults.is_empty(),
        "faults": faults.iter().map(Fault::to_json).collect::<Vec<_>>(),
    })
}

/// Says why a command failed, on standard error in both forms: standard output may hold its data.
/// `place` is where in the definition the cause stands.
pub(super) fn error(error: &Error, place: Option<&Span>, format: OutputFormat) -> Exit {
    let exit = Exit::from(error.kind());
    match format {
        OutputFormat::Human => {
            let place = place.map(|span| styled(PLACE, &format!("{span}: "))).unwrap_or_default();
            say(&format!("{}: {place}{error}", styled(BAD, "error")));
        }
        OutputFormat::Json => {
            let place =
                place.map(|span| json!({"file": &*span.file, "line": span.line, "column": span.column}));
            let document =
                json!({"error": {"what": error.to_string(), "place": place, "exit_code": exit as u8}});
            say(&document.to_string());
        }
    }
    exit
}
