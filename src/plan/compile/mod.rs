//! From a definition to a plan: pure, without I/O, with every fault of the definition in one run.
//!
//! Expressions are first compiled against the *full* joined row: every column
//! that the stream and the dimension tables declare, needed or not. What
//! something reads is known only at the end; then the columns that nothing
//! reads are left out and every expression is moved to the columns that stay
//! ([`prune`]).

mod client;
mod comparison;
mod condition;
mod context;
mod dimension;
mod format;
mod hashes;
mod job;
mod joined;
mod lookup;
mod metadata;
mod output;
mod prune;
mod schema;
mod security;
mod select;
mod sink;
mod sink_key;
mod source;
mod stream;
mod term;
mod topics;
mod unused;
mod url;
mod wheres;

use crate::config::{Definition, Fault};

use super::{Plan, PlanSql};
use context::Context;

/// Compiles a definition.
///
/// # Errors
/// Every fault, those that reading the definition found included.
pub fn compile(definition: &Definition) -> Result<Plan, Vec<Fault>> {
    compile_with_sql(definition).map(|(plan, _)| plan)
}

/// Compiles a definition and keeps the SQL of its expressions, for `explain`.
///
/// # Errors
/// As [`compile`].
pub fn compile_with_sql(definition: &Definition) -> Result<(Plan, PlanSql), Vec<Fault>> {
    let mut context = Context::new(definition);
    match compile_in(&mut context, definition) {
        Some(compiled) if context.faults.is_empty() => Ok(compiled),
        _ => Err(context.faults.into_sorted()),
    }
}

/// `None`, or faults in the context, when there is no plan.
fn compile_in(context: &mut Context, definition: &Definition) -> Option<(Plan, PlanSql)> {
    let job = job::compile(context, definition);
    let name = job::name(context, definition);
    unused::check(context, definition);
    let stream = stream::resolve(context, definition);
    let tables = lookup::resolve_all(context, definition);
    let sink_table = sink::resolve(context, definition);
    // A table that could not be read would make every column of it unknown.
    let ((stream, source), tables) = (stream?, tables?);
    let mut row = joined::Joined::of_stream(&stream);
    let mut complete = stream.schema.complete && tables.iter().all(lookup::Resolved::is_complete);
    let lookups = lookup::compile_all(context, tables, &mut row);
    let filters = wheres::compile(context, definition, &stream, &row);
    let selected = select::compile(context, definition, &row);
    let (source, selected, sink_table) = (source?, selected?, sink_table?);
    complete &= sink_table.schema.complete;
    if !complete {
        return None;
    }
    let output = output::compile(context, selected, &sink_table)?;
    let input = sink_key::Input { stream: &stream, lookups: &lookups, row: &row };
    let sink = sink::compile(context, sink_table, &output, &input)?;
    let drafts = prune::Drafts { stream, lookups, filters, output };
    let pruned = prune::prune(drafts, source, &job);
    let mut plan = Plan {
        name: name?,
        source: pruned.source,
        normalize: pruned.normalize,
        lookups: pruned.lookups,
        filter: pruned.filter,
        project: pruned.project,
        sink,
        options: job.options,
        notes: std::mem::take(&mut context.notes),
    };
    source::name_group(&mut plan);
    hashes::check(context, definition, &plan);
    sink::refuse_loop(context, definition, &plan);
    job::note_unused(context, definition, plan.source.kind);
    plan.notes.append(&mut context.notes);
    Some((plan, pruned.sql))
}

#[cfg(test)]
mod tests;
