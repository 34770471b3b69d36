//! What a check found, and the report of all of them.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::cli::output::{BAD, DOUBTFUL, GOOD, PLACE, styled};
use crate::config::Span;

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// As it should be.
    Ok,
    /// The job would run; have a look.
    Warning,
    /// The job would not run, or would stop.
    Failed,
}

impl Status {
    const ALL: [Self; 3] = [Self::Ok, Self::Warning, Self::Failed];

    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }

    fn shown(self) -> String {
        let style = match self {
            Self::Ok => GOOD,
            Self::Warning => DOUBTFUL,
            Self::Failed => BAD,
        };
        styled(style, &format!("{:<7}", self.name()))
    }
}

/// One answer.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// How it stands.
    pub status: Status,
    /// What was found and what to do.
    pub what: String,
    /// Where in the definition it belongs.
    pub place: Option<Span>,
}

impl Finding {
    pub fn new(status: Status, what: impl Into<String>) -> Self {
        Self { status, what: what.into(), place: None }
    }

    pub fn at(mut self, place: Option<Span>) -> Self {
        self.place = place;
        self
    }
}

/// All findings, by the part of the pipeline that they are about.
#[derive(Debug, Default)]
pub(super) struct Report {
    parts: Vec<(String, Vec<Finding>)>,
}

impl Report {
    /// What follows is about this part.
    pub fn begin(&mut self, part: &str) {
        self.parts.push((part.to_owned(), Vec::new()));
    }

    pub fn add(&mut self, finding: Finding) {
        if let Some((_, findings)) = self.parts.last_mut() {
            findings.push(finding);
        }
    }

    pub fn has_failed(&self) -> bool {
        0 < self.count(Status::Failed)
    }

    fn count(&self, status: Status) -> usize {
        self.parts.iter().flat_map(|(_, findings)| findings).filter(|found| found.status == status).count()
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for (part, findings) in &self.parts {
            let _ = writeln!(out, "{part}");
            for Finding { status, what, place } in findings {
                let place = place.as_ref().filter(|_| *status != Status::Ok);
                let place = place.map(|span| styled(PLACE, &format!("{span}: "))).unwrap_or_default();
                let _ = writeln!(out, "  {} {place}{what}", status.shown());
            }
        }
        let counts = Status::ALL.map(|status| format!("{} {}", self.count(status), status.name()));
        let _ = writeln!(out, "{}", counts.join(", "));
        out
    }

    /// For machines.
    pub fn to_json(&self) -> Json {
        let findings = self.parts.iter().flat_map(|(part, findings)| {
            findings.iter().map(move |Finding { status, what, place }| {
                let place = place.as_ref();
                let place =
                    place.map(|span| json!({"file": &*span.file, "line": span.line, "column": span.column}));
                json!({"part": part, "status": status.name(), "what": what, "place": place})
            })
        });
        let mut document = json!({"findings": findings.collect::<Vec<_>>()});
        for status in Status::ALL {
            document[status.name()] = self.count(status).into();
        }
        document
    }
}
