//! Scalar expressions: parsed from SQL text, typed when the definition is
//! compiled, evaluated per row.
//!
//! Types and values are Flink's over columns, except where a Flink result is a
//! known fault (`docs/flink-differences.md`): integer overflow and failed casts
//! are errors, calendars are right before 1970, nullability is honest.
//! Evaluation follows three-valued logic, borrows from the row where it can,
//! and puts what it must build into the caller's arena.

mod scope;

pub use scope::{Column, Scope};

use bumpalo::Bump;

use crate::error::Reason;
use crate::model::{DataType, Datum};

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

/// A compiled expression. Cheap to clone; holds no state between rows.
#[derive(Clone, Debug)]
pub struct Expression {
    ty: DataType,
}

impl Expression {
    /// Parses and types `text` against `scope`.
    ///
    /// # Errors
    /// Syntax, unknown columns (with the nearest name), functions that do not
    /// exist (with the nearest), operand types that do not go together.
    pub fn compile(_text: &str, _scope: &Scope, _settings: &Settings) -> Result<Self, CompileError> {
        Err(CompileError { at: None, message: String::new(), help: String::new() })
    }

    /// Type of the value.
    #[must_use]
    pub fn ty(&self) -> &DataType {
        &self.ty
    }

    /// Positions of the columns that the expression reads, ascending.
    #[must_use]
    pub fn columns(&self) -> Vec<usize> {
        Vec::new()
    }

    /// The value for one row. Text and bytes borrow from the row, the
    /// expression, or `arena`.
    ///
    /// # Errors
    /// Overflow, failed casts and the like, with their reason.
    pub fn eval<'a, C: Columns + ?Sized>(
        &'a self,
        _row: &'a C,
        _arena: &'a Bump,
    ) -> Result<Datum<'a>, EvalError> {
        Ok(Datum::Null)
    }

    /// Whether a condition holds: TRUE, not FALSE or NULL.
    ///
    /// # Errors
    /// As [`Expression::eval`].
    pub fn holds<C: Columns + ?Sized>(&self, row: &C, arena: &Bump) -> Result<bool, EvalError> {
        Ok(self.eval(row, arena)? == Datum::Bool(true))
    }
}
