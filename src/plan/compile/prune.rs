//! Leaves out what nothing reads, and moves every expression to the columns that stay (Flink: projection push-down).

use crate::expr::Expression;

use super::super::{
    ColumnSource, DimensionColumn, JoinKind, KeyPart, KeySource, LookupPlan, LookupSql, Metadata,
    NormalizePlan, OutputColumn, PhysicalColumn, PlanSql, ProjectPlan, SourceKind, SourcePlan, StreamColumn,
};
use super::job::Job;
use super::lookup::LookupDraft;
use super::metadata;
use super::output::OutputDraft;
use super::schema::SchemaKind;
use super::stream::{Origin, Stream};
use super::term::Term;
use super::wheres::Filters;

/// Everything over the full joined row.
pub(super) struct Drafts {
    pub stream: Stream,
    pub lookups: Vec<LookupDraft>,
    pub filters: Filters,
    pub output: Vec<OutputDraft>,
}

/// Everything over the columns that stay.
pub(super) struct Pruned {
    pub source: SourcePlan,
    pub normalize: Option<NormalizePlan>,
    pub lookups: Vec<LookupPlan>,
    pub filter: Option<Expression>,
    pub project: ProjectPlan,
    pub sql: PlanSql,
}

pub(super) fn prune(drafts: Drafts, source: SourcePlan, job: &Job) -> Pruned {
    let Drafts { stream, lookups, mut filters, output } = drafts;
    let kept = kept(&stream, &lookups, &filters, &output);
    let mut new = vec![usize::MAX; kept.len()];
    for (position, (place, _)) in new.iter_mut().zip(&kept).filter(|(_, kept)| **kept).enumerate() {
        *place = position;
    }
    let moved = |expression: &Expression| expression.remap(&|column| new[column]);
    let all = |terms: &[Term]| Expression::and(terms.iter().map(|term| moved(&term.expression)).collect());
    let mut sql = sql_of(&lookups, &output);

    let mut lookups: Vec<LookupPlan> =
        lookups.iter().map(|draft| lookup(draft, &kept, &moved, &all)).collect();
    let normalize = (stream.kind == SourceKind::UpsertKafka).then(|| NormalizePlan {
        primary_key: stream.schema.primary_key.iter().map(|column| new[*column]).collect(),
        key_filter: all(&filters.key),
        filter: all(&filters.stream),
        ttl: job.ttl,
        mini_batch: job.mini_batch,
    });
    if normalize.is_none() {
        before_first_lookup(&mut filters, &mut lookups, &mut sql, &moved);
    }
    sql.key_filter = written(&filters.key);
    sql.stream_filter = written(&filters.stream);
    sql.filter = written(&filters.joined);
    let columns = output.iter().map(|column| OutputColumn {
        name: column.name.clone(),
        ty: column.ty.clone(),
        value: moved(&column.value),
    });
    Pruned {
        source: source_columns(source, &stream, &kept),
        normalize,
        filter: all(&filters.joined),
        project: ProjectPlan { columns: columns.collect() },
        lookups,
        sql,
    }
}

fn sql_of(lookups: &[LookupDraft], output: &[OutputDraft]) -> PlanSql {
    let lookups = lookups.iter().map(|lookup| LookupSql {
        key: lookup.condition.key_sql.clone(),
        pre_filter: written(&lookup.condition.pre_filter),
        dimension_filter: written(&lookup.condition.dimension_filter),
        residual: written(&lookup.condition.residual),
    });
    let output = output.iter().map(|column| column.sql.clone());
    PlanSql { lookups: lookups.collect(), output: output.collect(), ..PlanSql::default() }
}

fn written(terms: &[Term]) -> Vec<String> {
    terms.iter().map(|term| term.sql.clone()).collect()
}

/// A stream filter of an append-only source spares the calls of rows that it drops. An INNER lookup
/// drops rows itself; behind a LEFT one the filter waits, as that one would pad them.
fn before_first_lookup(
    filters: &mut Filters,
    lookups: &mut [LookupPlan],
    sql: &mut PlanSql,
    moved: &dyn Fn(&Expression) -> Expression,
) {
    let stream = std::mem::take(&mut filters.stream);
    match (lookups.first_mut(), sql.lookups.first_mut()) {
        (Some(first), Some(first_sql)) if first.join == JoinKind::Inner => {
            let own = first.pre_filter.take();
            let terms = stream.iter().map(|term| moved(&term.expression));
            first.pre_filter = Expression::and(terms.chain(own).collect());
            first_sql.pre_filter.splice(0..0, written(&stream));
        }
        _ => filters.joined = stream.into_iter().chain(std::mem::take(&mut filters.joined)).collect(),
    }
}

/// Which columns of the full joined row something reads.
fn kept(stream: &Stream, lookups: &[LookupDraft], filters: &Filters, output: &[OutputDraft]) -> Vec<bool> {
    let width =
        stream.schema.columns.len() + lookups.iter().map(|lookup| lookup.columns.len()).sum::<usize>();
    let mut kept = vec![false; width];
    let mut read =
        |expression: &Expression| expression.columns().into_iter().for_each(|column| kept[column] = true);
    output.iter().for_each(|column| read(&column.value));
    filters.key.iter().chain(&filters.stream).chain(&filters.joined).for_each(|term| read(&term.expression));
    for LookupDraft { condition, .. } in lookups {
        condition
            .pre_filter
            .iter()
            .chain(&condition.dimension_filter)
            .chain(&condition.residual)
            .for_each(|term| read(&term.expression));
        for (_, part) in &condition.key {
            if let KeySource::Stream(expression) = &part.source {
                read(expression);
            }
        }
    }
    stream.schema.primary_key.iter().for_each(|column| kept[*column] = true);
    kept
}

fn lookup(
    draft: &LookupDraft,
    kept: &[bool],
    moved: &dyn Fn(&Expression) -> Expression,
    all: &dyn Fn(&[Term]) -> Option<Expression>,
) -> LookupPlan {
    let own = draft.start..draft.start + draft.columns.len();
    let fetched: Vec<usize> = own.filter(|column| kept[*column]).collect();
    let columns = fetched.iter().map(|column| {
        let (name, ty) = &draft.columns[column - draft.start];
        DimensionColumn { name: name.clone(), ty: ty.clone() }
    });
    let key = draft.condition.key.iter().map(|(_, part)| KeyPart {
        source: match &part.source {
            KeySource::Stream(expression) => KeySource::Stream(moved(expression)),
            KeySource::Constant(expression) => KeySource::Constant(expression.clone()),
        },
        ..part.clone()
    });
    // The dimension filter sees the fetched columns alone.
    let position = |column: usize| fetched.iter().position(|known| *known == column).unwrap_or(usize::MAX);
    let dimension_filter =
        draft.condition.dimension_filter.iter().map(|term| term.expression.remap(&position));
    LookupPlan {
        table: draft.table.clone(),
        alias: draft.alias.clone(),
        join: draft.join,
        connector: draft.connector.clone(),
        key: key.collect(),
        hash_order: draft.condition.hash_order.clone(),
        columns: columns.collect(),
        pre_filter: all(&draft.condition.pre_filter),
        dimension_filter: Expression::and(dimension_filter.collect()),
        residual: all(&draft.condition.residual),
        hash: draft.hash,
        cache: draft.cache,
        max_retries: draft.max_retries,
    }
}

/// The stream row, and the physical columns that it or the record key needs.
fn source_columns(source: SourcePlan, stream: &Stream, kept: &[bool]) -> SourcePlan {
    let schema = &stream.schema;
    let mut needed: Vec<bool> =
        (0..schema.columns.len()).map(|i| kept[i] || stream.key.contains(&i)).collect();
    for (i, origin) in stream.origins.iter().enumerate() {
        if let (true, Origin::Computed(expression)) = (kept[i], origin) {
            expression.columns().into_iter().for_each(|column| needed[column] = true);
        }
    }
    let mut physical = Vec::new();
    let mut place = vec![usize::MAX; schema.columns.len()];
    for (i, column) in schema.columns.iter().enumerate().filter(|(i, _)| needed[*i]) {
        if let SchemaKind::Physical(ordinal) = column.kind {
            place[i] = physical.len();
            physical.push(PhysicalColumn { name: column.name.clone(), ty: column.ty.clone(), ordinal });
        }
    }
    // Behind the physical columns, computed ones see every metadata.
    for (i, origin) in stream.origins.iter().enumerate() {
        if let Origin::Metadata(found) = origin {
            place[i] = physical.len() + metadata::position(*found);
        }
    }
    let value = |i: usize| match &stream.origins[i] {
        Origin::Physical => ColumnSource::Physical(place[i]),
        Origin::Metadata(found) => ColumnSource::Metadata(*found),
        Origin::MetadataAs(expression) => {
            ColumnSource::Computed(expression.remap(&|column| physical.len() + column))
        }
        Origin::Computed(expression) => {
            ColumnSource::Computed(expression.substitute(&|column| match &stream.origins[column] {
                Origin::MetadataAs(cast) => cast.remap(&|column| physical.len() + column),
                _ => Expression::column(place[column], schema.columns[column].ty.clone()),
            }))
        }
        // Never kept: nothing may read it.
        Origin::ProcessingTime => ColumnSource::Metadata(Metadata::Timestamp),
    };
    let columns = schema.columns.iter().enumerate().filter(|(i, _)| kept[*i]).map(|(i, column)| {
        StreamColumn { name: column.name.clone(), ty: column.ty.clone(), source: value(i) }
    });
    let columns = columns.collect();
    let key_columns = stream.key.iter().map(|column| place[*column]).collect();
    SourcePlan { physical, key_columns, columns, ..source }
}
