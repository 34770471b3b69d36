//! `where`: each conjunct goes as far towards the source as its meaning allows (Flink: B.7).

use crate::config::Definition;
use crate::expr::Parsed;
use crate::model::Type;

use super::super::SourceKind;
use super::context::Context;
use super::joined::Joined;
use super::stream::Stream;
use super::term::Term;

/// The conjuncts of `where` by the place where they are decided.
#[derive(Clone, Debug, Default)]
pub(super) struct Filters {
    /// Primary-key columns alone: before the state.
    pub key: Vec<Term>,
    /// Stream columns alone: with the state of an upsert source, before the first lookup of an append-only one.
    pub stream: Vec<Term>,
    /// The rest: after the last lookup.
    pub joined: Vec<Term>,
}

pub(super) fn compile(
    context: &mut Context,
    definition: &Definition,
    stream: &Stream,
    row: &Joined,
) -> Filters {
    let mut filters = Filters::default();
    let Some(text) = &definition.pipeline.filter else { return filters };
    let parsed = match Parsed::parse(text.value()) {
        Ok(parsed) => parsed,
        Err(error) => {
            context.sql_fault(text, 0, error);
            return filters;
        }
    };
    for conjunct in parsed.conjuncts() {
        let Some(compiled) = row.expression(context, text, &conjunct) else { continue };
        if !matches!(compiled.ty().kind, Type::Boolean | Type::Null) {
            let what = format!("'{conjunct}' is {}, not a condition", compiled.ty().kind);
            context.fault(&text.place(conjunct.at()), what, "compare it with something, as in `a > 0`");
            continue;
        }
        let columns = compiled.columns();
        let stream_width = stream.schema.columns.len();
        let of_stream = columns.iter().all(|column| *column < stream_width);
        let of_key = columns.iter().all(|column| stream.in_primary_key(*column));
        let compiled = Term::new(compiled, &conjunct);
        match stream.kind {
            SourceKind::UpsertKafka if of_key => filters.key.push(compiled),
            _ if of_stream => filters.stream.push(compiled),
            _ => filters.joined.push(compiled),
        }
    }
    filters
}
