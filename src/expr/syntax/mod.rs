//! From text to a syntax tree: what is written, before any column is known.
//!
//! A condition is read once and then taken apart: its top-level conjuncts are
//! compiled on their own, and an equality gives its two sides, which is how a
//! plan finds lookup keys in it.

mod dialect;
mod place;
mod types;

pub(super) use dialect::{MAP_CONSTRUCTOR, SYMMETRIC};
pub(super) use place::start;

use std::fmt;
use std::sync::Arc;

use sqlparser::ast::{BinaryOperator, Expr};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::{CompileError, Expression, Scope, Settings, bind};
use crate::model::DataType;
use dialect::FlinkDialect;

/// Deepest nesting of parentheses, calls and CASE.
const MAX_DEPTH: usize = 128;

/// Longest text of one expression, in bytes.
const MAX_LENGTH: usize = 64 * 1024;

/// An expression that was read but not yet typed.
#[derive(Clone, Debug)]
pub struct Parsed {
    text: Arc<str>,
    expr: Expr,
}

impl Parsed {
    /// Reads one expression that makes up the whole of `text`.
    ///
    /// # Errors
    /// Text that is not an expression, with the place.
    pub fn parse(text: &str) -> Result<Self, CompileError> {
        if text.len() > MAX_LENGTH {
            let message = format!("an expression may be {MAX_LENGTH} bytes long at most");
            return Err(CompileError { at: None, message, help: String::new() });
        }
        let read = || {
            let parser = Parser::new(&FlinkDialect).with_recursion_limit(MAX_DEPTH);
            let mut parser = parser.try_with_sql(text)?;
            let expr = parser.parse_expr()?;
            Ok((expr, parser.next_token()))
        };
        let (expr, rest) = read().map_err(|e| place::syntax_error(text, &e))?;
        if rest.token != Token::EOF {
            let message = format!("unexpected \"{}\" after the end of the expression", rest.token);
            return Err(CompileError {
                at: place::offset(text, rest.span.start),
                message,
                help: String::new(),
            });
        }
        refuse_foreign_operators(text)?;
        Ok(Self { text: text.into(), expr })
    }

    /// The parts that are joined by AND at the top, in order; one if there is no AND.
    #[must_use]
    pub fn conjuncts(&self) -> Vec<Self> {
        conjuncts(&self.expr).into_iter().map(|expr| self.part(expr)).collect()
    }

    /// The two sides of `left = right`.
    #[must_use]
    pub fn equality(&self) -> Option<(Self, Self)> {
        match bare(&self.expr) {
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                Some((self.part(left), self.part(right)))
            }
            _ => None,
        }
    }

    /// Types the expression against `scope`.
    ///
    /// # Errors
    /// As [`Expression::compile`].
    pub fn compile(&self, scope: &Scope, settings: &Settings) -> Result<Expression, CompileError> {
        bind::compile(&self.expr, &self.text, scope, settings)
    }

    /// Where the expression starts in the text that was read, in bytes.
    #[must_use]
    pub fn at(&self) -> Option<usize> {
        start(&self.text, &self.expr)
    }

    fn part(&self, expr: &Expr) -> Self {
        Self { text: Arc::clone(&self.text), expr: expr.clone() }
    }
}

impl fmt::Display for Parsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.expr, f)
    }
}

/// Operators that the parser reads as another one, but Flink does not have.
fn refuse_foreign_operators(text: &str) -> Result<(), CompileError> {
    let tokens = Tokenizer::new(&FlinkDialect, text).tokenize_with_location().unwrap_or_default();
    match tokens.iter().find(|token| token.token == Token::DoubleEq) {
        Some(token) => {
            let at = place::offset(text, token.span.start);
            Err(CompileError {
                at,
                message: "there is no operator ==".to_owned(),
                help: "write =".to_owned(),
            })
        }
        None => Ok(()),
    }
}

/// An expression without the parentheses around it.
pub(super) fn bare(expr: &Expr) -> &Expr {
    let mut inner = expr;
    while let Expr::Nested(content) = inner {
        inner = content;
    }
    inner
}

/// Operands of a chain of AND, in order. A long chain leans to the left, so the
/// walk keeps its own stack.
pub(super) fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    chain(expr, &BinaryOperator::And)
}

/// Operands of a chain of `operator`, in order.
pub(super) fn chain<'e>(expr: &'e Expr, operator: &BinaryOperator) -> Vec<&'e Expr> {
    let mut pending = vec![expr];
    let mut found = Vec::new();
    while let Some(next) = pending.pop() {
        match bare(next) {
            Expr::BinaryOp { left, op, right } if op == operator => pending.extend([&**right, &**left]),
            other => found.push(other),
        }
    }
    found
}

/// Reads a column type as DDL writes it: `DECIMAL(10, 2) NOT NULL`,
/// `ROW<id INT, tags ARRAY<STRING>>`. Without `NOT NULL` it is nullable.
///
/// # Errors
/// Types that do not exist (with the nearest name) and parameters out of range.
pub fn parse_type(text: &str) -> Result<DataType, CompileError> {
    let tokens = Tokenizer::new(&FlinkDialect, text).tokenize_with_location().map_err(|e| {
        let at = place::offset(text, e.location);
        CompileError { at, message: e.message, help: String::new() }
    })?;
    types::from_tokens(&tokens, types::Excess::Refused)
}
