//! The sink's primary key: whether it tells apart all rows that can stand in the sink at once.
//!
//! A row of the output is known by the source's primary key and, where a lookup
//! gives several rows, by the dimension's. An upsert sink keeps one row per key
//! of its own, so that key must hold both: then order per key holds from the
//! topic to the sink, and nothing is overwritten by a stranger.

use crate::config::Fault;

use super::super::{Encoding, JoinKind, SourceKind};
use super::context::Context;
use super::joined::Joined;
use super::lookup::LookupDraft;
use super::output::OutputDraft;
use super::sink::SinkTable;
use super::stream::Stream;

/// What the output is made of.
pub(super) struct Input<'a> {
    pub stream: &'a Stream,
    pub lookups: &'a [LookupDraft],
    pub row: &'a Joined,
}

/// Positions of the sink's key in the output row, in declared order.
pub(super) fn positions(context: &mut Context, sink: &SinkTable<'_>, output: &[OutputDraft]) -> Vec<usize> {
    let schema = &sink.schema;
    let declared =
        schema.primary_key.iter().map(|i| (schema.columns[*i].name.clone(), schema.key_span.clone()));
    let names: Vec<_> = declared.chain(schema.key_names.iter().cloned()).collect();
    let mut positions = Vec::new();
    for (name, span) in names {
        match output.iter().position(|column| column.name == name) {
            Some(position) => positions.push(position),
            None => {
                let fault =
                    Fault::new(&span, format!("PRIMARY KEY names column '{name}', which is not selected"));
                context.faults.add(fault.allowed(&name, output.iter().map(|column| &column.name)));
            }
        }
    }
    positions
}

/// Checks the key of an upsert sink, and says what must be remembered of the output.
pub(super) fn check(
    context: &mut Context,
    sink: &SinkTable<'_>,
    primary_key: &[usize],
    output: &[OutputDraft],
    input: &Input<'_>,
) -> Encoding {
    let keys: Vec<&OutputDraft> = primary_key.iter().filter_map(|i| output.get(*i)).collect();
    let stream = input.stream;
    let of_source = |column: &&OutputDraft| column.value.columns().iter().all(|i| stream.in_primary_key(*i));
    let encoding = match keys.iter().all(of_source) {
        true => Encoding::UpsertBySourceKey,
        false => Encoding::UpsertByOwnKey,
    };
    if keys.is_empty() {
        missing_key(context, sink, input);
        return encoding;
    }
    no_nulls(context, &keys, input);
    // Rows of an append-only stream replace nothing: any key will do.
    if stream.kind == SourceKind::Kafka {
        return encoding;
    }
    let in_key = |column: usize| keys.iter().any(|key| key.column == Some(column));
    let lacking: Vec<String> = stream
        .schema
        .primary_key
        .iter()
        .filter(|column| !in_key(**column))
        .map(|column| input.row.name(*column))
        .collect();
    if !lacking.is_empty() {
        let what =
            format!("the sink's PRIMARY KEY lacks {}, of the source's primary key", lacking.join(", "));
        let help = "rows of different keys would overwrite each other: select it as it is and add it to the sink's PRIMARY KEY";
        context.fault(&sink.schema.key_span, what, help);
    }
    for lookup in input.lookups.iter().filter(|lookup| !lookup.is_unique()) {
        several_rows(context, sink, lookup, &in_key);
    }
    encoding
}

fn missing_key(context: &mut Context, sink: &SinkTable<'_>, input: &Input<'_>) {
    let is_append = input.stream.kind == SourceKind::Kafka;
    if is_append && sink.connector() != "upsert-kafka" {
        return;
    }
    let what = match is_append {
        true => "an upsert-kafka table needs a PRIMARY KEY".to_owned(),
        false => format!(
            "the stream updates and deletes rows, so the {} sink needs a PRIMARY KEY",
            sink.connector()
        ),
    };
    let key = input.stream.schema.primary_key.iter().map(|i| input.stream.schema.columns[*i].name.as_str());
    let key: Vec<&str> = key.collect();
    let help = match key.is_empty() {
        true => "add `PRIMARY KEY (…) NOT ENFORCED` to its columns".to_owned(),
        false => format!(
            "add `PRIMARY KEY ({}) NOT ENFORCED`, with the sink's names, to its columns",
            key.join(", ")
        ),
    };
    context.fault(&sink.schema.span, what, help);
}

/// A primary key holds no NULL; a LEFT lookup gives one to every row without a match.
fn no_nulls(context: &mut Context, keys: &[&OutputDraft], input: &Input<'_>) {
    for key in keys {
        let Some(column) = key.column else { continue };
        let of_left = input.lookups.iter().find(|lookup| {
            let own = lookup.start..lookup.start + lookup.columns.len();
            lookup.join == JoinKind::Left && own.contains(&column)
        });
        if let Some(lookup) = of_left {
            let what = format!(
                "key column '{}' is NULL for every row without a match in '{}'",
                key.name, lookup.table
            );
            let help = "make the lookup inner, or leave the column out of the PRIMARY KEY";
            context.fault(&key.span, what, help);
        }
    }
}

/// A lookup that may give several rows: the dimension's own key must be in the sink's.
fn several_rows(
    context: &mut Context,
    sink: &SinkTable<'_>,
    lookup: &LookupDraft,
    in_key: &dyn Fn(usize) -> bool,
) {
    let table = &lookup.table;
    let looked_up: Vec<&str> = lookup.condition.key.iter().map(|(_, part)| part.column.as_str()).collect();
    if lookup.primary_key.is_empty() {
        let what = format!(
            "table '{table}' may give several rows for one {}, and the sink's PRIMARY KEY does not tell them apart",
            looked_up.join(", ")
        );
        let help = format!(
            "if the column is unique there, declare `PRIMARY KEY ({}) NOT ENFORCED` in the columns of '{table}'",
            looked_up.join(", ")
        );
        return context.fault(&sink.schema.key_span, what, help);
    }
    let of_lookup = |column: &usize| lookup.condition.key.iter().any(|(known, _)| known == column);
    let lacking: Vec<String> = lookup
        .primary_key
        .iter()
        .filter(|column| !of_lookup(column) && !in_key(lookup.start + **column))
        .map(|column| format!("{}.{}", lookup.alias, lookup.columns[*column].0))
        .collect();
    if !lacking.is_empty() {
        let what = format!(
            "table '{table}' may give several rows for one {}, and the sink's PRIMARY KEY lacks {}",
            looked_up.join(", "),
            lacking.join(", ")
        );
        context.fault(&sink.schema.key_span, what, "select it as it is and add it to the sink's PRIMARY KEY");
    }
}
