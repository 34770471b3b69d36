//! The tree of a YAML document: every word with its place and as it was written.

use std::fmt;

use super::Span;
use super::redact::{is_secret_name, redacted};

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it begins.
    pub span: Span,
    /// The value.
    pub value: Value,
}

/// A scalar, a list or a map.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text of any style.
    Scalar(Text),
    /// `- a` or `[a]`.
    List(Vec<Node>),
    /// `a: b` or `{a: b}`, in the order written; keys are distinct.
    Map(Vec<Entry>),
}

/// One key of a map. `Debug` shows no value whose key says that it is secret.
#[derive(Clone)]
pub struct Entry {
    /// The key.
    pub key: Text,
    /// Its value.
    pub value: Node,
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In `'…'`.
    Single,
    /// In `"…"`.
    Double,
    /// After `|` or `>`.
    Block,
}

/// A scalar. `Debug` shows what was written, without credentials, never what a reference stands for.
#[derive(Clone)]
pub struct Text {
    /// Where it begins (a quote, if there is one).
    pub span: Span,
    /// The text in the file, quotes and escapes removed, references unresolved.
    pub written: String,
    /// How it was written.
    pub style: Style,
    /// Whether it stands on one line, so that a place inside it can be counted.
    pub one_line: bool,
    /// What its references came to.
    pub(super) resolution: Resolution,
}

/// What the references of a text came to.
#[derive(Clone)]
pub(super) enum Resolution {
    /// There are none.
    AsWritten,
    /// There were only escapes (`$${`).
    Unescaped(String),
    /// A text that may be secret.
    Resolved(String),
    /// They lead nowhere; the fault is reported.
    Broken,
}

impl Text {
    /// A plain text at a place, for values that no file holds.
    #[must_use]
    pub fn plain(span: &Span, written: impl Into<String>) -> Self {
        Self {
            span: span.clone(),
            written: written.into(),
            style: Style::Plain,
            one_line: true,
            resolution: Resolution::AsWritten,
        }
    }

    /// The text that counts: references resolved. Never print it when [`Text::has_reference`].
    #[must_use]
    pub fn value(&self) -> &str {
        match &self.resolution {
            Resolution::AsWritten | Resolution::Broken => &self.written,
            Resolution::Unescaped(value) | Resolution::Resolved(value) => value,
        }
    }

    /// Whether the value comes from the environment or a file and so may be secret.
    #[must_use]
    pub fn has_reference(&self) -> bool {
        matches!(self.resolution, Resolution::Resolved(_) | Resolution::Broken)
    }

    /// Whether a reference leads nowhere: the fault is reported, and what depends on it is not blamed as well.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        matches!(self.resolution, Resolution::Broken)
    }

    /// `key:` with nothing behind it.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.style == Style::Plain && self.written.is_empty()
    }

    /// The place of byte `offset` of [`Text::written`]; the beginning where it cannot be counted.
    #[must_use]
    pub fn place(&self, offset: Option<usize>) -> Span {
        let Some(before) = offset.and_then(|offset| self.written.get(..offset)) else {
            return self.span.clone();
        };
        let letters = before.chars().count();
        let shift = match self.style {
            _ if !self.one_line => 0,
            Style::Plain => letters,
            // Inside single quotes a quote is written twice.
            Style::Single => 1 + letters + before.matches('\'').count(),
            Style::Double | Style::Block => 0,
        };
        let mut span = self.span.clone();
        span.column = span.column.saturating_add(u32::try_from(shift).unwrap_or(0));
        span
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}", redacted(&self.written, false), self.span)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value.value {
            Value::Scalar(text) if is_secret_name(&self.key.written) => {
                write!(f, "{:?}: {:?}", self.key, redacted(&text.written, true))
            }
            _ if is_secret_name(&self.key.written) => write!(f, "{:?}: ***", self.key),
            value => write!(f, "{:?}: {value:?}", self.key),
        }
    }
}

impl Node {
    /// The scalar, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&Text> {
        match &self.value {
            Value::Scalar(text) => Some(text),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The entries, if it is a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            Value::Scalar(_) | Value::List(_) => None,
        }
    }

    /// The items, if it is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            Value::Scalar(_) | Value::Map(_) => None,
        }
    }

    /// The value of `key`, if this is a map that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|entry| entry.key.written == key).map(|entry| &entry.value)
    }

    /// What it is, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Scalar(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// Number of nodes in it, itself included.
    pub(super) fn count(&self) -> usize {
        match &self.value {
            Value::Scalar(_) => 1,
            Value::List(items) => 1 + items.iter().map(Self::count).sum::<usize>(),
            Value::Map(entries) => 1 + entries.iter().map(|entry| 1 + entry.value.count()).sum::<usize>(),
        }
    }
}
