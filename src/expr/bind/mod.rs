//! The binder: from a syntax tree to a typed one.
//!
//! Names are resolved, each operator's result type is derived, operands are
//! converted where Flink converts them, and what depends on no column is
//! computed once. What has no value (`1 / 0`) is refused, unless what stands
//! around it is constant too and never asks for it (`FALSE AND 1 / 0 = 1`).

mod arithmetic;
mod choice;
mod compare;
mod convert;
mod form;
mod interval;
mod literal;
mod logic;
mod types;

pub(super) use convert::widen;

use bumpalo::Bump;
use sqlparser::ast::{Expr, Ident, UnaryOperator};

use super::functions::{self, Call, TimeUnit};
use super::ir::{Constant, Node, Typed};
use super::syntax::{self, MAP_CONSTRUCTOR};
use super::{CompileError, EvalError, Expression, Scope, Settings, eval};
use crate::model::{DataType, Datum, Type};

/// Deepest tree of operators; a longer chain of `+` or `||` than this is refused
/// rather than risked on the stack.
const MAX_DEPTH: usize = 256;

type Bound = Result<Typed, CompileError>;

/// Types `expr`, which was read from `text`.
pub(super) fn compile(
    expr: &Expr,
    text: &str,
    scope: &Scope,
    settings: &Settings,
) -> Result<Expression, CompileError> {
    let mut binder = Binder { text, scope, settings, depth: 0 };
    let typed = binder.whole(expr)?;
    binder.refuse_hopeless(expr, &typed)?;
    Ok(Expression::new(typed))
}

struct Binder<'c> {
    text: &'c str,
    scope: &'c Scope,
    settings: &'c Settings,
    depth: usize,
}

impl Binder<'_> {
    /// The outermost expression, which alone may be `PROCTIME()`.
    fn whole(&mut self, expr: &Expr) -> Bound {
        if let Expr::Function(function) = syntax::bare(expr)
            && function.name.to_string().eq_ignore_ascii_case("PROCTIME")
            && form::positional(function).is_some_and(|args| args.is_empty())
        {
            return Ok(Typed { node: Node::ProcessingTime, ty: Type::TimestampLtz(3).not_null() });
        }
        let typed = self.bind(expr)?;
        if typed.is_bare_null() {
            return Err(self.fault(expr, "NULL alone has no type", "write CAST(NULL AS …)"));
        }
        Ok(typed)
    }

    /// A part that depends on no column and has no value would fail every row
    /// that reaches it. Better to say so before the first one.
    fn refuse_hopeless(&self, expr: &Expr, typed: &Typed) -> Result<(), CompileError> {
        let mut hopeless = Vec::new();
        typed.node.collect_hopeless(&mut hopeless);
        match hopeless.first().map(|node| computed(node)) {
            Some(Err(error)) => {
                let message = format!("{} ({})", error.detail, error.reason);
                Err(self.fault(expr, &message, "this part is the same for every row"))
            }
            _ => Ok(()),
        }
    }

    fn bind(&mut self, expr: &Expr) -> Bound {
        if self.depth >= MAX_DEPTH {
            let help = "split it over computed columns";
            return Err(self.fault(expr, "the expression is nested too deeply", help));
        }
        self.depth += 1;
        let bound = self.dispatch(expr);
        self.depth -= 1;
        bound.map(fold).map_err(|error| self.placed(error, expr))
    }

    fn dispatch(&mut self, expr: &Expr) -> Bound {
        match expr {
            Expr::Nested(inner) => self.bind(inner),
            Expr::Identifier(name) => self.name(expr, None, name),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] => self.name(expr, Some(table), name),
                _ => Err(self.fault(expr, "a column is written name or table.name", "")),
            },
            Expr::Value(value) => literal::plain(&value.value),
            Expr::TypedString(typed) => literal::typed(typed),
            Expr::Interval(interval) => interval::literal(interval),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => self.negation(expr),
            Expr::UnaryOp { op, expr: inner } => self.sign(*op, inner, expr),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, expr),
            Expr::Between { expr, negated, low, high } => self.between(expr, *negated, low, high),
            Expr::In { expr: value, target, negated, .. } => self.in_list(value, target, *negated, expr),
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::Cast { kind, expr: input, data_type, .. } => self.cast(kind, input, data_type, expr),
            Expr::Prefixed { prefix, value } => self.prefixed(prefix, value, expr),
            Expr::Array(array) => self.array(&array.elem),
            _ => self.test(expr).unwrap_or_else(|| self.form(expr)),
        }
    }

    fn name(&mut self, expr: &Expr, table: Option<&Ident>, name: &Ident) -> Bound {
        match self.scope.resolve(table.map(|t| t.value.as_str()), &name.value) {
            Ok(index) => {
                let ty = self.scope.columns.get(index).map_or(Type::Null.nullable(), |c| c.ty.clone());
                Ok(Typed { node: Node::Column(index), ty })
            }
            Err(_) if table.is_none() && is_keyword(name, "UNKNOWN") => {
                Ok(Typed::constant(Datum::Null, Type::Boolean.nullable()))
            }
            Err(_) if table.is_none() && is_quoted(name, '"') => {
                let help = format!("text stands in single quotes: '{}'; names in backticks", name.value);
                Err(self.fault(expr, "double quotes are not used", &help))
            }
            Err(unresolved) => Err(self.fault(expr, &unresolved.message, &unresolved.help)),
        }
    }

    /// `MAP[…]`, `(a - b) DAY`.
    fn prefixed(&mut self, prefix: &Ident, value: &Expr, whole: &Expr) -> Bound {
        if let (MAP_CONSTRUCTOR, Expr::Array(items)) = (prefix.value.as_str(), value) {
            return self.map(&items.elem);
        }
        match TimeUnit::named(&prefix.value) {
            Some(unit) => self.difference(unit, value),
            None => Err(self.unsupported(whole)),
        }
    }

    /// A call of a registered function with typed arguments.
    fn call(&mut self, name: &str, args: Vec<Typed>, unit: Option<TimeUnit>) -> Bound {
        let function = functions::find(name, args.len())?;
        (function.bind)(Call { name: function.name, args, unit, settings: self.settings })
    }

    fn bind_all<'e>(
        &mut self,
        exprs: impl IntoIterator<Item = &'e Expr>,
    ) -> Result<Vec<Typed>, CompileError> {
        exprs.into_iter().map(|expr| self.bind(expr)).collect()
    }

    fn unsupported(&self, expr: &Expr) -> CompileError {
        self.fault(expr, &format!("{expr} is not supported in expressions"), "")
    }

    fn fault(&self, expr: &Expr, message: &str, help: &str) -> CompileError {
        self.placed(CompileError { at: None, message: message.to_owned(), help: help.to_owned() }, expr)
    }

    /// Adds the place of `expr` to an error that has none.
    fn placed(&self, error: CompileError, expr: &Expr) -> CompileError {
        let at = error.at.or_else(|| syntax::start(self.text, expr));
        CompileError { at, ..error }
    }
}

fn is_keyword(name: &Ident, word: &str) -> bool {
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case(word)
}

fn is_quoted(name: &Ident, quote: char) -> bool {
    name.quote_style == Some(quote)
}

/// A fault without a place; the binder adds it.
fn fault(message: impl Into<String>, help: impl Into<String>) -> CompileError {
    CompileError { at: None, message: message.into(), help: help.into() }
}

/// Computes what depends on no column. A part that has no value stays as it is:
/// what stands around it may never ask for it.
fn fold(typed: Typed) -> Typed {
    if !typed.node.is_foldable() {
        return typed;
    }
    match computed(&typed.node) {
        Ok(constant) => Typed { node: Node::Constant(constant), ty: typed.ty },
        Err(_) => typed,
    }
}

/// The value of a node that depends on no column.
fn computed(node: &Node) -> Result<Constant, EvalError> {
    let arena = Bump::new();
    let no_columns: [Datum<'_>; 0] = [];
    let value = eval::value(node, &no_columns[..], &arena)?;
    Ok(Constant::new(value))
}

/// BOOLEAN, nullable if asked.
fn boolean(nullable: bool) -> DataType {
    DataType { kind: Type::Boolean, nullable }
}
