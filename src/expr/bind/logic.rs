//! AND, OR, NOT and IS.

use sqlparser::ast::{BinaryOperator, Expr};

use super::super::ir::{Node, Test, Typed};
use super::super::syntax;
use super::{Binder, Bound, boolean};
use crate::model::Type;

impl Binder<'_> {
    /// A chain of AND or of OR. It is short-circuited left to right.
    pub(super) fn connective(&mut self, whole: &Expr, operator: &BinaryOperator) -> Bound {
        let mut items = Vec::new();
        let mut nullable = false;
        for operand in syntax::chain(whole, operator) {
            let typed = self.condition(operand)?;
            nullable |= typed.ty.nullable;
            items.push(typed.node);
        }
        let items = items.into_boxed_slice();
        let node = if *operator == BinaryOperator::And { Node::All(items) } else { Node::Any(items) };
        Ok(Typed { node, ty: boolean(nullable) })
    }

    pub(super) fn negation(&mut self, operand: &Expr) -> Bound {
        Ok(negated(self.condition(operand)?))
    }

    /// An operand that must be BOOLEAN.
    pub(super) fn condition(&mut self, operand: &Expr) -> Bound {
        let typed = self.bind(operand)?;
        if typed.ty.kind == Type::Boolean {
            return Ok(typed);
        }
        let help = if typed.is_bare_null() { "write UNKNOWN or CAST(NULL AS BOOLEAN)" } else { "" };
        Err(self.fault(operand, &format!("a condition must be BOOLEAN, not {}", typed.ty.kind), help))
    }

    /// `IS …`; `None` if `expr` is something else.
    pub(super) fn test(&mut self, expr: &Expr) -> Option<Bound> {
        let (test, input) = match expr {
            Expr::IsNull(input) => (Test::Null, input),
            Expr::IsNotNull(input) => (Test::NotNull, input),
            Expr::IsTrue(input) => (Test::True, input),
            Expr::IsNotTrue(input) => (Test::NotTrue, input),
            Expr::IsFalse(input) => (Test::False, input),
            Expr::IsNotFalse(input) => (Test::NotFalse, input),
            Expr::IsUnknown(input) => return Some(self.logical_test(Test::Null, input)),
            Expr::IsNotUnknown(input) => return Some(self.logical_test(Test::NotNull, input)),
            Expr::IsDistinctFrom(left, right) => return Some(self.distinct(left, right)),
            Expr::IsNotDistinctFrom(left, right) => return Some(self.distinct(left, right).map(negated)),
            _ => return None,
        };
        if matches!(test, Test::Null | Test::NotNull) {
            return Some(self.bind(input).map(|typed| tested(test, typed)));
        }
        Some(self.logical_test(test, input))
    }

    fn logical_test(&mut self, test: Test, input: &Expr) -> Bound {
        Ok(tested(test, self.condition(input)?))
    }

    fn distinct(&mut self, left: &Expr, right: &Expr) -> Bound {
        let (left, right) = (self.bind(left)?, self.bind(right)?);
        let (left, right) = self.comparable(left, right)?;
        Ok(Typed { node: Node::Distinct(Box::new([left.node, right.node])), ty: boolean(false) })
    }
}

fn tested(test: Test, input: Typed) -> Typed {
    Typed { node: Node::Test(test, Box::new(input.node)), ty: boolean(false) }
}

/// NOT of a BOOLEAN.
pub(super) fn negated(input: Typed) -> Typed {
    Typed { node: Node::Not(Box::new(input.node)), ty: input.ty }
}
