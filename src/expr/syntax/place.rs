//! Places in the text of an expression: the parser counts lines and columns,
//! errors carry byte offsets.

use sqlparser::ast::{Expr, Spanned};
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::Location;

use super::super::CompileError;

/// Byte offset of a line and column, both counted from 1; `None` for an unknown place.
pub(super) fn offset(text: &str, at: Location) -> Option<usize> {
    if at.line == 0 {
        return None;
    }
    let mut start = 0;
    for _ in 1..at.line {
        start += text.get(start..)?.find('\n')? + 1;
    }
    let column = usize::try_from(at.column.saturating_sub(1)).ok()?;
    let line = text.get(start..)?;
    Some(line.char_indices().nth(column).map_or(text.len(), |(i, _)| start + i))
}

/// Byte offset where an expression starts. Chains of operators lean to the left
/// and may be long, so this walks where the parser's own spans would recurse.
pub(in crate::expr) fn start(text: &str, expr: &Expr) -> Option<usize> {
    let mut first = expr;
    loop {
        first = match first {
            Expr::BinaryOp { left: inner, .. } | Expr::Nested(inner) => inner,
            Expr::Between { expr: inner, .. }
            | Expr::In { expr: inner, .. }
            | Expr::Like { expr: inner, .. }
            | Expr::SimilarTo { expr: inner, .. }
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsNotFalse(inner) => inner,
            Expr::Prefixed { prefix, value } if prefix.span.start.line == 0 => value,
            leaf => return offset(text, leaf.span().start),
        };
    }
}

/// The parser's complaint, with its place as an offset.
pub(super) fn syntax_error(text: &str, error: &ParserError) -> CompileError {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message.as_str(),
        ParserError::RecursionLimitExceeded => "the expression is nested too deeply",
    };
    let (message, at) = split_place(message);
    let at = at.and_then(|at| offset(text, at)).or_else(|| message.ends_with("EOF").then_some(text.len()));
    let message = message.replace("Expected: ", "expected ").replace("found: EOF", "found the end");
    CompileError { at, message: message.replace("found: ", "found "), help: String::new() }
}

/// Takes ` at Line: 1, Column: 5` off the end of a message.
fn split_place(message: &str) -> (&str, Option<Location>) {
    let parsed = message.rsplit_once(" at Line: ").and_then(|(before, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        let (line, column) = (line.trim().parse().ok()?, column.trim().parse().ok()?);
        Some((before, Location { line, column }))
    });
    match parsed {
        Some((before, at)) => (before, Some(at)),
        None => (message, None),
    }
}
