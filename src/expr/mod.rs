//! Scalar expressions: parsed from SQL text, typed when the definition is
//! compiled, evaluated per row.
//!
//! Types and values are Flink's over columns, except where a Flink result is a
//! known fault (`docs/flink-differences.md`): integer overflow and failed casts
//! are errors, calendars are right before 1970, nullability is honest.
//! Evaluation follows three-valued logic, borrows from the row where it can,
//! and puts what it must build into the caller's arena.
//!
//! Text becomes a syntax tree (`syntax`), which the binder types against a
//! scope (`bind`) into the tree that is evaluated (`ir`, `eval`). Functions
//! live in `functions`, conversions in `cast`.

mod arithmetic;
mod bind;
mod cast;
mod compare;
mod eval;
mod expression;
mod functions;
mod ir;
mod scope;
mod syntax;
pub mod text;
mod zone;

pub use expression::{Expression, NumberTest};
pub use scope::{Column, Scope};
pub use syntax::{Parsed, parse_type};
pub use zone::Zone;

use std::fmt;

use crate::error::Reason;
use crate::model::Datum;

/// What an expression is compiled against, besides its columns.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `time-zone` of the definition, an IANA name or `GMT+08:00`.
    pub time_zone: String,
}

/// Why a text is not a usable expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// Byte offset in the text, when it is known.
    pub at: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write instead; empty when there is nothing to add.
    pub help: String,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "; {}", self.help) }
    }
}

/// Why an expression has no value for this row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    /// From the closed list.
    pub reason: Reason,
    /// What exactly was met.
    pub detail: String,
}

/// The columns of one input row, in the order of the [`Scope`].
pub trait Columns {
    /// Value of column `index`.
    fn datum(&self, index: usize) -> Datum<'_>;
}

impl Columns for [Datum<'_>] {
    fn datum(&self, index: usize) -> Datum<'_> {
        self.get(index).copied().unwrap_or(Datum::Null)
    }
}

#[cfg(test)]
mod stress;
#[cfg(test)]
mod tests;
