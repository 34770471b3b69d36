//! What is wrong with a definition, and where: all faults of one run together.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::nearest;

/// A place in a file. Lines and columns count from 1; line 0 means the file as a whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// File name as given on the command line; `-` is standard input.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Span {
    /// A file as a whole.
    #[must_use]
    pub fn file(name: &str) -> Self {
        Self { file: name.into(), line: 0, column: 0 }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}

/// One fault of a definition or of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it stands.
    pub span: Span,
    /// What is wrong.
    pub what: String,
    /// The word that was probably meant.
    pub nearest: Option<String>,
    /// What could stand there instead; empty when there is no list.
    pub allowed: Vec<String>,
    /// What to do about it; empty when there is nothing to add.
    pub help: String,
}

impl Fault {
    /// A fault with nothing but a place and a sentence.
    pub fn new(span: &Span, what: impl Into<String>) -> Self {
        Self {
            span: span.clone(),
            what: what.into(),
            nearest: None,
            allowed: Vec::new(),
            help: String::new(),
        }
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Lists what could stand there, and picks what `written` was probably meant to be.
    #[must_use]
    pub fn allowed<S: AsRef<str>>(mut self, written: &str, allowed: impl IntoIterator<Item = S>) -> Self {
        self.allowed = allowed.into_iter().map(|name| name.as_ref().to_owned()).collect();
        self.nearest = nearest(written, self.allowed.iter().map(String::as_str)).map(str::to_owned);
        self
    }

    /// For machines: the fields by name.
    #[must_use]
    pub fn to_json(&self) -> Json {
        json!({
            "file": &*self.span.file,
            "line": self.span.line,
            "column": self.span.column,
            "what": self.what,
            "nearest": self.nearest,
            "allowed": self.allowed,
            "help": self.help,
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.span, self.what)?;
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean '{nearest}'?")?;
        }
        if !self.allowed.is_empty() {
            write!(f, "; allowed: {}", self.allowed.join(", "))?;
        }
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}

/// Collects faults, so that one run reports all of them.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Adds one.
    pub fn add(&mut self, fault: Fault) {
        if !self.0.contains(&fault) {
            self.0.push(fault);
        }
    }

    /// Adds several.
    pub fn extend(&mut self, faults: impl IntoIterator<Item = Fault>) {
        faults.into_iter().for_each(|fault| self.add(fault));
    }

    /// How many there are so far: a stage compares before and after to know whether it failed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, in the order of the files.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Fault> {
        self.0.sort_by(|a, b| a.span.cmp(&b.span));
        self.0
    }
}
