//! Comparisons, BETWEEN and IN: which types compare, and in what type.

use std::cmp::Ordering;

use sqlparser::ast::{Expr, InTarget};

use super::super::compare::order;
use super::super::ir::{Comparison, Constant, Node, Typed};
use super::super::syntax::SYMMETRIC;
use super::arithmetic::is_temporal;
use super::logic::negated;
use super::{Binder, Bound, CompileError, boolean, fault, types};
use crate::model::{Datum, Type};

impl Binder<'_> {
    pub(super) fn compare(&mut self, comparison: Comparison, left: Typed, right: Typed) -> Bound {
        let nullable = left.ty.nullable || right.ty.nullable;
        if let Some(never) = truth_as_text(comparison, &left, &right) {
            return never;
        }
        let ordered = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        if ordered && left.ty.kind.is_nested() {
            return Err(fault(format!("values of {} have no order", left.ty.kind), ""));
        }
        let (left, right) = self.comparable(left, right)?;
        let sides = Box::new([left.node, right.node]);
        Ok(Typed { node: Node::Compare(comparison, sides), ty: boolean(nullable) })
    }

    /// Both values in the type in which they compare.
    pub(super) fn comparable(&mut self, left: Typed, right: Typed) -> Result<(Typed, Typed), CompileError> {
        let (a, b) = (left.ty.kind.clone(), right.ty.kind.clone());
        if a == Type::Null || b == Type::Null || a == b {
            return Ok((left, right));
        }
        if a.is_approximate() || b.is_approximate() {
            let Some(kind) = types::shared(&a, &b) else { return Err(incomparable(&a, &b)) };
            return Ok((self.implicit(left, &kind)?, self.implicit(right, &kind)?));
        }
        let alike = (a.is_numeric() && b.is_numeric())
            || (a.is_text() && b.is_text())
            || (a.is_binary() && b.is_binary())
            || (a.is_nested() && b.is_nested() && same_but_nulls(&a, &b));
        let same_clock = matches!(
            (&a, &b),
            (Type::Time(_), Type::Time(_))
                | (Type::Timestamp(_), Type::Timestamp(_))
                | (Type::TimestampLtz(_), Type::TimestampLtz(_))
        );
        if alike || same_clock {
            return Ok((left, right));
        }
        match (&a, &b) {
            (Type::TimestampLtz(p), Type::Timestamp(_)) => {
                Ok((self.implicit(left, &Type::Timestamp(*p))?, right))
            }
            (Type::Timestamp(_), Type::TimestampLtz(p)) => {
                Ok((left, self.implicit(right, &Type::Timestamp(*p))?))
            }
            (time, text) if is_temporal(time) && text.is_text() => Ok((left, self.implicit(right, &a)?)),
            (text, time) if is_temporal(time) && text.is_text() => Ok((self.implicit(left, &b)?, right)),
            _ => Err(incomparable(&a, &b)),
        }
    }

    /// `value [NOT] BETWEEN [SYMMETRIC] low AND high`.
    pub(super) fn between(&mut self, value: &Expr, negate: bool, low: &Expr, high: &Expr) -> Bound {
        let (symmetric, low) = match low {
            Expr::Prefixed { prefix, value } if prefix.value == SYMMETRIC => (true, &**value),
            other => (false, other),
        };
        let (value, low, high) = (self.bind(value)?, self.bind(low)?, self.bind(high)?);
        let within = self.within(&value, &low, &high)?;
        let result = if symmetric {
            let reversed = self.within(&value, &high, &low)?;
            let nullable = within.ty.nullable;
            Typed { node: Node::Any(Box::new([within.node, reversed.node])), ty: boolean(nullable) }
        } else {
            within
        };
        Ok(if negate { negated(result) } else { result })
    }

    fn within(&mut self, value: &Typed, low: &Typed, high: &Typed) -> Bound {
        let from = self.compare(Comparison::GreaterOrEqual, value.clone(), low.clone())?;
        let to = self.compare(Comparison::LessOrEqual, value.clone(), high.clone())?;
        let nullable = from.ty.nullable || to.ty.nullable;
        Ok(Typed { node: Node::All(Box::new([from.node, to.node])), ty: boolean(nullable) })
    }

    /// `value [NOT] IN (a, b, …)`.
    pub(super) fn in_list(&mut self, value: &Expr, target: &InTarget, negate: bool, whole: &Expr) -> Bound {
        let InTarget::List(items) = target else {
            return Err(self.fault(whole, "IN takes a list of values here, not a query", ""));
        };
        if items.is_empty() {
            return Err(self.fault(whole, "IN needs at least one value", ""));
        }
        let value = self.bind(value)?;
        let mut nullable = value.ty.nullable;
        let mut others = Vec::with_capacity(items.len());
        let mut alternatives = Vec::new();
        for item in items {
            let typed = self.bind(item)?;
            nullable |= typed.ty.nullable;
            let (left, right) =
                self.listed(value.clone(), typed).map_err(|error| self.placed(error, item))?;
            if left.ty.kind == value.ty.kind {
                others.push(right.node);
            } else {
                alternatives.push(Node::Compare(Comparison::Equal, Box::new([left.node, right.node])));
            }
        }
        let mut node = listed_in(value, others);
        if !alternatives.is_empty() {
            alternatives.insert(0, node);
            node = Node::Any(alternatives.into_boxed_slice());
        }
        let found = Typed { node, ty: boolean(nullable) };
        Ok(if negate { negated(found) } else { found })
    }

    /// The value of an IN and one item of its list. Text in the list is read as
    /// a BOOLEAN where the value is one.
    fn listed(&mut self, value: Typed, item: Typed) -> Result<(Typed, Typed), CompileError> {
        if value.ty.kind == Type::Boolean && item.ty.kind.is_text() {
            let item = self.implicit(item, &Type::Boolean)?;
            return Ok((value, item));
        }
        self.comparable(value, item)
    }
}

/// Constants from which IN looks its value up instead of walking the list.
const SEARCHED_FROM: usize = 8;

/// `value IN (items)`, with many constants of the value's own kind in order.
fn listed_in(value: Typed, items: Vec<Node>) -> Node {
    let input = Box::new(value.node);
    let same_kind = |datum: Datum<'_>| match datum {
        Datum::Int(_) => value.ty.kind.is_integer(),
        Datum::Str(_) => value.ty.kind.is_text(),
        _ => false,
    };
    let constants: Vec<Constant> = items
        .iter()
        .filter_map(|item| match item {
            Node::Constant(constant) if same_kind(constant.datum()) => Some(constant.clone()),
            _ => None,
        })
        .collect();
    if constants.len() < SEARCHED_FROM.max(items.len()) {
        return Node::In(input, items.into_boxed_slice());
    }
    let mut sorted = constants;
    sorted.sort_by(|a, b| order(a.datum(), b.datum()).unwrap_or(Ordering::Equal));
    Node::InSorted(input, sorted.into())
}

/// BOOLEAN against text: Flink accepts `=` and `<>` and finds no text equal to a
/// truth value, however it is spelled.
fn truth_as_text(comparison: Comparison, left: &Typed, right: &Typed) -> Option<Bound> {
    let (a, b) = (&left.ty.kind, &right.ty.kind);
    let mixed = (*a == Type::Boolean && b.is_text()) || (a.is_text() && *b == Type::Boolean);
    if !mixed || !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
        return None;
    }
    let nullable = left.ty.nullable || right.ty.nullable;
    let sides = Box::new([left.node.clone(), right.node.clone()]);
    Some(Ok(Typed { node: Node::Compare(comparison, sides), ty: boolean(nullable) }))
}

/// Whether two nested types hold the same kinds of values.
fn same_but_nulls(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Array(a), Type::Array(b)) => same_but_nulls(&a.kind, &b.kind),
        (Type::Map(k1, v1), Type::Map(k2, v2)) => {
            same_but_nulls(&k1.kind, &k2.kind) && same_but_nulls(&v1.kind, &v2.kind)
        }
        (Type::Row(a), Type::Row(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_but_nulls(&a.ty.kind, &b.ty.kind))
        }
        (a, b) => a == b || (a.is_text() && b.is_text()) || (a.is_integer() && b.is_integer()),
    }
}

fn incomparable(a: &Type, b: &Type) -> CompileError {
    let text = if a.is_text() {
        Some(b)
    } else if b.is_text() {
        Some(a)
    } else {
        None
    };
    let help = match text {
        Some(other) => format!("cast one side first: CAST(… AS {other})"),
        None => "cast one side first".to_owned(),
    };
    fault(format!("{a} and {b} do not compare"), help)
}
