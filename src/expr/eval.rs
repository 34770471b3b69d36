//! Evaluation: one match over the tree.
//!
//! Nothing here allocates but function bodies and casts that build text, and
//! those write into the caller's arena.

use std::cmp::Ordering;

use bumpalo::Bump;
use smallvec::SmallVec;

use super::ir::{Call, Comparison, Constant, Node, Nulls, Test};
use super::{Columns, EvalError, arithmetic, cast, compare};
use crate::error::Reason;
use crate::model::Datum;

/// Arguments of a call that fit without a trip to the heap.
const INLINE_ARGUMENTS: usize = 6;

/// The value of `node` for one row.
pub(super) fn value<'a, C: Columns + ?Sized>(
    node: &'a Node,
    row: &'a C,
    arena: &'a Bump,
) -> Result<Datum<'a>, EvalError> {
    match node {
        Node::Column(index) => Ok(row.datum(*index)),
        Node::Constant(constant) => Ok(constant.datum()),
        Node::ProcessingTime => Err(processing_time()),
        Node::Cast(cast, input) => cast::apply(cast, value(input, row, arena)?, arena),
        Node::Arithmetic(operator, numbers, sides) => {
            let [left, right] = &**sides;
            let (left, right) = (value(left, row, arena)?, value(right, row, arena)?);
            arithmetic::compute(*operator, *numbers, left, right)
        }
        Node::Negate(numbers, input) => arithmetic::negate(*numbers, value(input, row, arena)?),
        Node::Case(branches, otherwise) => {
            for (condition, result) in branches {
                if truth(condition, row, arena)? == Some(true) {
                    return value(result, row, arena);
                }
            }
            value(otherwise, row, arena)
        }
        Node::Coalesce(items) => {
            for item in items {
                let found = value(item, row, arena)?;
                if !found.is_null() {
                    return Ok(found);
                }
            }
            Ok(Datum::Null)
        }
        Node::Extreme(greatest, items) => extreme(*greatest, items, row, arena),
        Node::Call(call) => invoke(call, row, arena),
        Node::Not(_)
        | Node::All(_)
        | Node::Any(_)
        | Node::Test(..)
        | Node::Compare(..)
        | Node::Distinct(_)
        | Node::In(..)
        | Node::InSorted(..) => Ok(truth(node, row, arena)?.map_or(Datum::Null, Datum::Bool)),
    }
}

/// The value of a BOOLEAN node; `None` is NULL, which SQL calls UNKNOWN.
pub(super) fn truth<'a, C: Columns + ?Sized>(
    node: &'a Node,
    row: &'a C,
    arena: &'a Bump,
) -> Result<Option<bool>, EvalError> {
    match node {
        Node::Compare(comparison, sides) => {
            let (left, right) = (value(&sides[0], row, arena)?, value(&sides[1], row, arena)?);
            Ok(related(*comparison, left, right))
        }
        Node::All(items) => chain(items, false, row, arena),
        Node::Any(items) => chain(items, true, row, arena),
        Node::Not(input) => Ok(truth(input, row, arena)?.map(|known| !known)),
        Node::Test(test, input) => Ok(Some(passes(*test, value(input, row, arena)?))),
        Node::Distinct(sides) => {
            let (left, right) = (value(&sides[0], row, arena)?, value(&sides[1], row, arena)?);
            Ok(Some(match (left.is_null(), right.is_null()) {
                (false, false) => Comparison::NotEqual.holds(left, right),
                (left, right) => left != right,
            }))
        }
        Node::InSorted(input, sorted) => Ok(match value(input, row, arena)? {
            Datum::Null => None,
            wanted => {
                let place = |item: &Constant| compare::order(item.datum(), wanted).unwrap_or(Ordering::Less);
                Some(sorted.binary_search_by(place).is_ok())
            }
        }),
        Node::In(input, items) => contains(value(input, row, arena)?, items, row, arena),
        other => Ok(match value(other, row, arena)? {
            Datum::Bool(known) => Some(known),
            _ => None,
        }),
    }
}

/// AND stops at the first FALSE, OR at the first TRUE; a NULL on the way makes
/// the result NULL unless it stops.
fn chain<'a, C: Columns + ?Sized>(
    items: &'a [Node],
    stop: bool,
    row: &'a C,
    arena: &'a Bump,
) -> Result<Option<bool>, EvalError> {
    let mut result = Some(!stop);
    for item in items {
        match truth(item, row, arena)? {
            Some(known) if known == stop => return Ok(Some(stop)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn related(comparison: Comparison, left: Datum<'_>, right: Datum<'_>) -> Option<bool> {
    if left.is_null() || right.is_null() {
        return None;
    }
    Some(comparison.holds(left, right))
}

fn passes(test: Test, input: Datum<'_>) -> bool {
    match test {
        Test::Null => input.is_null(),
        Test::NotNull => !input.is_null(),
        Test::True => input == Datum::Bool(true),
        Test::NotTrue => input != Datum::Bool(true),
        Test::False => input == Datum::Bool(false),
        Test::NotFalse => input != Datum::Bool(false),
    }
}

fn contains<'a, C: Columns + ?Sized>(
    wanted: Datum<'a>,
    items: &'a [Node],
    row: &'a C,
    arena: &'a Bump,
) -> Result<Option<bool>, EvalError> {
    let mut result = Some(false);
    for item in items {
        match related(Comparison::Equal, wanted, value(item, row, arena)?) {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn extreme<'a, C: Columns + ?Sized>(
    greatest: bool,
    items: &'a [Node],
    row: &'a C,
    arena: &'a Bump,
) -> Result<Datum<'a>, EvalError> {
    let better = if greatest { Comparison::Greater } else { Comparison::Less };
    let mut best: Option<Datum<'a>> = None;
    for item in items {
        let next = value(item, row, arena)?;
        if next.is_null() {
            return Ok(Datum::Null);
        }
        if best.is_none_or(|best| better.holds(next, best)) {
            best = Some(next);
        }
    }
    Ok(best.unwrap_or(Datum::Null))
}

fn invoke<'a, C: Columns + ?Sized>(
    call: &'a Call,
    row: &'a C,
    arena: &'a Bump,
) -> Result<Datum<'a>, EvalError> {
    let mut args: SmallVec<[Datum<'a>; INLINE_ARGUMENTS]> = SmallVec::new();
    for arg in &call.args {
        let found = value(arg, row, arena)?;
        if found.is_null() && call.nulls == Nulls::Propagate {
            return Ok(Datum::Null);
        }
        args.push(found);
    }
    (call.body)(&args, arena)
}

fn processing_time() -> EvalError {
    let detail = "PROCTIME() marks processing time in a table's columns and has no value of its own";
    EvalError { reason: Reason::InvalidArgument, detail: detail.to_owned() }
}
