//! A conjunct with the SQL that it was written as.

use crate::expr::{Expression, Parsed};

#[derive(Clone, Debug)]
pub(super) struct Term {
    pub expression: Expression,
    /// For people: `explain` shows it.
    pub sql: String,
}

impl Term {
    pub fn new(expression: Expression, parsed: &Parsed) -> Self {
        Self { expression, sql: parsed.to_string() }
    }
}
