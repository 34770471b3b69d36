//! A lookup's condition, read as Flink reads ON (E.1).
//!
//! `dimension column = expression of the stream, or constant` is a part of the
//! lookup key. What is left is a filter on the stream (a row that fails it
//! makes no call), on the dimension's rows, or on both.

use crate::config::Text;
use crate::expr::{Expression, Parsed};
use crate::model::{DataType, Type};

use super::super::{KeyPart, KeySource};
use super::comparison::comparison;
use super::context::Context;
use super::joined::Joined;
use super::lookup::Condition;
use super::term::Term;

/// An equality that can be a part of the key.
struct Equality {
    /// Position among the dimension's columns.
    column: usize,
    part: KeyPart,
    conjunct: Parsed,
    /// The other side, as written.
    other: Parsed,
}

/// The condition as written, and the columns that it may name.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub text: &'a Text,
    /// The joined row before this lookup.
    pub before: &'a Joined,
    /// The same with the dimension's columns behind.
    pub row: &'a Joined,
}

/// Takes a condition apart.
pub(super) fn compile(context: &mut Context, written: Written<'_>) -> Condition {
    let text = written.text;
    let parsed = match Parsed::parse(text.value()) {
        Ok(parsed) => parsed,
        Err(error) => {
            context.sql_fault(text, 0, error);
            return Condition::default();
        }
    };
    let mut condition = Condition::default();
    let mut equalities: Vec<Equality> = Vec::new();
    for conjunct in parsed.conjuncts() {
        match equality(context, written, &conjunct) {
            Found::Key(equality) => equalities.push(*equality),
            Found::Other => file(context, written, &conjunct, &mut condition),
            Found::Fault => {}
        }
    }
    for spare in choose(&mut equalities) {
        spare_equality(context, written, &spare, &equalities, &mut condition);
    }
    order(equalities, &mut condition);
    condition
}

enum Found {
    Key(Box<Equality>),
    Other,
    Fault,
}

fn equality(context: &mut Context, written: Written<'_>, conjunct: &Parsed) -> Found {
    let Written { text, before, row } = written;
    let Some((left, right)) = conjunct.equality() else { return Found::Other };
    let dimension_type = |side: &Parsed| {
        let column = side.compile(&row.scope, &context.settings).ok()?.as_column()?;
        row.scope.columns.get(column).map(|column| column.ty.kind.clone())
    };
    // NULL takes the type of the other side: `d.id = NULL` is a key that never matches.
    let compiled = |side: &Parsed, other: &Parsed| match side.to_string().eq_ignore_ascii_case("NULL") {
        true => {
            let sql = format!("CAST(NULL AS {})", dimension_type(other)?);
            Expression::compile(&sql, &row.scope, &context.settings).ok()
        }
        false => side.compile(&row.scope, &context.settings).ok(),
    };
    let (Some(left_value), Some(right_value)) = (compiled(&left, &right), compiled(&right, &left)) else {
        return Found::Other;
    };
    if [&left_value, &right_value]
        .iter()
        .any(|side| side.columns().into_iter().any(|i| row.is_processing_time(i)))
    {
        return Found::Other;
    }
    let dimension_column =
        |side: &Expression| side.as_column().and_then(|column| column.checked_sub(before.len()));
    let of_stream = |side: &Expression| side.columns().iter().all(|column| *column < before.len());
    let (column, other, value) = match (dimension_column(&left_value), dimension_column(&right_value)) {
        (Some(column), _) if of_stream(&right_value) => (column, right, right_value),
        (_, Some(column)) if of_stream(&left_value) => (column, left, left_value),
        _ => return Found::Other,
    };
    let declared = &row.scope.columns[before.len() + column];
    let ty = DataType { nullable: false, ..declared.ty.clone() };
    let source_type = value.ty().clone();
    match comparison(&source_type.kind, &ty.kind) {
        Ok(comparison) => {
            let source = match value.is_constant() {
                true => KeySource::Constant(value),
                false => KeySource::Stream(value),
            };
            let part = KeyPart { column: declared.name.clone(), ty, source, source_type, comparison };
            Found::Key(Box::new(Equality { column, part, conjunct: conjunct.clone(), other }))
        }
        Err(help) => {
            let what = format!(
                "{} is {} and {} is {}: they cannot be compared as a lookup key",
                row.name(before.len() + column),
                ty.kind,
                other,
                source_type.kind
            );
            context.fault(&text.place(conjunct.at()), what, help);
            Found::Fault
        }
    }
}

/// Leaves one equality per column, a constant before an expression; gives the others back.
fn choose(equalities: &mut Vec<Equality>) -> Vec<Equality> {
    let mut kept: Vec<Equality> = Vec::new();
    let mut spare = Vec::new();
    for equality in equalities.drain(..) {
        let is_constant = matches!(equality.part.source, KeySource::Constant(_));
        match kept.iter_mut().find(|known| known.column == equality.column) {
            Some(known) if is_constant && matches!(known.part.source, KeySource::Stream(_)) => {
                spare.push(std::mem::replace(known, equality));
            }
            Some(_) => spare.push(equality),
            None => kept.push(equality),
        }
    }
    *equalities = kept;
    spare
}

/// A second equality on a key column: with a constant key it is a filter on the stream, else a condition on both sides.
fn spare_equality(
    context: &mut Context,
    written: Written<'_>,
    spare: &Equality,
    keys: &[Equality],
    condition: &mut Condition,
) {
    let key = keys.iter().find(|key| key.column == spare.column);
    if let Some(key) = key
        && matches!((&key.part.source, &spare.part.source), (KeySource::Constant(_), KeySource::Stream(_)))
        && let Ok(filter) = Parsed::parse(&format!("({}) = ({})", spare.other, key.other))
        && let Ok(filter) = filter.compile(&written.before.scope, &context.settings)
    {
        condition
            .pre_filter
            .push(Term { expression: filter, sql: format!("{} = {}", spare.other, key.other) });
        return;
    }
    file(context, written, &spare.conjunct, condition);
}

/// A conjunct that is no key goes to the side that it reads.
fn file(context: &mut Context, written: Written<'_>, conjunct: &Parsed, condition: &mut Condition) {
    let Written { text, before, row } = written;
    let Some(compiled) = row.expression(context, text, conjunct) else { return };
    if !matches!(compiled.ty().kind, Type::Boolean | Type::Null) {
        let what = format!("'{conjunct}' is {}, not a condition", compiled.ty().kind);
        return context.fault(&text.place(conjunct.at()), what, "compare it with something, as in `a > 0`");
    }
    let columns = compiled.columns();
    let reads_stream = columns.iter().any(|column| *column < before.len());
    let reads_dimension = columns.iter().any(|column| before.len() <= *column);
    if reads_stream && reads_dimension && conjunct.to_string().to_uppercase().contains("IS NOT DISTINCT FROM")
    {
        let what = "IS NOT DISTINCT FROM cannot join a stream with a dimension table";
        return context.fault(&text.place(conjunct.at()), what, "write =: a NULL key makes no lookup");
    }
    let term = Term::new(compiled, conjunct);
    match (reads_stream, reads_dimension) {
        (_, false) => condition.pre_filter.push(term),
        (false, true) => condition.dimension_filter.push(term),
        (true, true) => condition.residual.push(term),
    }
}

/// Keys stand in the order of the dimension's columns; the hash reads them in the order of the condition (E.1, E.6).
fn order(equalities: Vec<Equality>, condition: &mut Condition) {
    let mut key: Vec<(usize, Equality)> = equalities.into_iter().enumerate().collect();
    key.sort_by_key(|(_, equality)| equality.column);
    let mut hash: Vec<(usize, usize)> = key
        .iter()
        .enumerate()
        .filter(|(_, (_, equality))| matches!(equality.part.source, KeySource::Stream(_)))
        .map(|(position, (written, _))| (*written, position))
        .collect();
    hash.sort_unstable();
    condition.hash_order = hash.into_iter().map(|(_, position)| position).collect();
    for (_, equality) in key {
        condition.key_sql.push(equality.other.to_string());
        condition.key.push((equality.column, equality.part));
    }
}
