//! Lookup steps: the dimension table and what the condition asks of it.

use crate::config::options::{Role, TableOptions};
use crate::config::{Definition, Fault, LookupDefinition};
use crate::model::DataType;

use super::super::{CachePlan, DimensionConnector, JoinKind, KeyPart};
use super::context::Context;
use super::joined::Joined;
use super::schema::Schema;
use super::term::Term;
use super::{condition, dimension};

/// Lookups of one pipeline: each row passes all of them, and each shard keeps a cache for each.
const LOOKUPS_MAX: usize = 64;

/// One lookup step over the full joined row.
#[derive(Clone, Debug)]
pub(super) struct LookupDraft {
    pub table: String,
    pub alias: String,
    pub join: JoinKind,
    pub connector: DimensionConnector,
    /// First column in the joined row.
    pub start: usize,
    /// Declared columns, as they are in the joined row.
    pub columns: Vec<(String, DataType)>,
    pub condition: Condition,
    /// Declared primary key, as positions in `columns`.
    pub primary_key: Vec<usize>,
    pub hash: bool,
    pub cache: Option<CachePlan>,
    pub max_retries: u32,
}

/// What a condition comes to.
#[derive(Clone, Debug, Default)]
pub(super) struct Condition {
    /// The lookup key with the position of each column in `columns`, ascending.
    pub key: Vec<(usize, KeyPart)>,
    /// What each part of `key` is compared with, as written.
    pub key_sql: Vec<String>,
    /// Positions in `key` of the parts that are no constants, in the order of the condition.
    pub hash_order: Vec<usize>,
    pub pre_filter: Vec<Term>,
    pub dimension_filter: Vec<Term>,
    pub residual: Vec<Term>,
}

impl LookupDraft {
    /// Whether a key has one row at most: it covers the declared primary key.
    pub fn is_unique(&self) -> bool {
        let in_key = |column: &usize| self.condition.key.iter().any(|(known, _)| known == column);
        !self.primary_key.is_empty() && self.primary_key.iter().all(in_key)
    }
}

/// What the tables say, before any condition is read.
pub(super) struct Resolved<'a> {
    step: &'a LookupDefinition,
    schema: Schema,
    connector: DimensionConnector,
    options: TableOptions,
}

impl Resolved<'_> {
    /// Whether every column was understood.
    pub fn is_complete(&self) -> bool {
        self.schema.complete
    }
}

/// Reads the tables of every step; `None` if one could not be read.
pub(super) fn resolve_all<'a>(
    context: &mut Context,
    definition: &'a Definition,
) -> Option<Vec<Resolved<'a>>> {
    let steps = definition.pipeline.lookups.iter();
    if LOOKUPS_MAX < steps.len() {
        let what = format!("'pipeline' has {} lookups, limit {LOOKUPS_MAX}", steps.len());
        context.fault(&definition.pipeline.span, what, "split the job in two");
        return None;
    }
    let tables: Vec<Option<Resolved<'_>>> = steps.map(|step| resolve(context, definition, step)).collect();
    tables.into_iter().collect()
}

/// Every step in order; each adds its columns to `row`.
pub(super) fn compile_all(
    context: &mut Context,
    tables: Vec<Resolved<'_>>,
    row: &mut Joined,
) -> Vec<LookupDraft> {
    tables.into_iter().map(|table| draft(context, row, table)).collect()
}

fn resolve<'a>(
    context: &mut Context,
    definition: &'a Definition,
    step: &'a LookupDefinition,
) -> Option<Resolved<'a>> {
    let table = context.table(definition, &step.table, Role::Dimension)?;
    let options = context.options(table, Role::Dimension);
    if table.columns.is_none() {
        context.fault(
            &table.name.span,
            format!("table '{}' has no 'columns'", table.name.written),
            "list them as in CREATE TABLE: `columns: [id INT, name STRING]`",
        );
    }
    let schema = Schema::read(context, table);
    if let Some(schema) = &schema {
        dimension::check_columns(context, schema, table);
    }
    let options = options?;
    let connector = dimension::connector(context, table, &options);
    Some(Resolved { step, schema: schema?, connector: connector?, options })
}

fn draft(context: &mut Context, row: &mut Joined, table: Resolved<'_>) -> LookupDraft {
    let Resolved { step, schema, connector, options } = table;
    let alias = step.alias.as_ref().unwrap_or(&step.table);
    if row.parts.iter().any(|part| part.alias == alias.value()) {
        let what = format!("the name '{}' is taken by an earlier table of this pipeline", alias.written);
        context.fault(&alias.span, what, "give this one another name with 'as'");
    }
    let join = join_kind(context, step);
    let columns: Vec<(String, DataType)> = schema
        .columns
        .iter()
        // A LEFT join pads with NULLs.
        .map(|column| {
            let nullable = column.ty.nullable || join == JoinKind::Left;
            (column.name.clone(), DataType { nullable, ..column.ty.clone() })
        })
        .collect();
    let before = row.clone();
    row.add(alias.value(), columns.iter().cloned());
    let faults_before = context.faults.len();
    let condition = match &step.condition {
        Some(text) => condition::compile(context, condition::Written { text, before: &before, row }),
        None => Condition::default(),
    };
    if let (Some(text), true) = (&step.condition, condition.key.is_empty())
        && context.faults.len() == faults_before
        && !context.has_unknown_types
    {
        let what = format!("the condition has no equality on a column of '{}'", alias.written);
        let help = format!(
            "a lookup needs a key: `{}.column = expression of the stream, or constant`",
            alias.written
        );
        context.fault(&text.span, what, help);
    }
    LookupDraft {
        table: step.table.value().to_owned(),
        alias: alias.value().to_owned(),
        join,
        connector,
        start: before.len(),
        columns,
        condition,
        primary_key: schema.primary_key,
        hash: options.boolean("lookup.enable_hash"),
        cache: dimension::cache(context, &options),
        max_retries: options.integer("lookup.max-retries").and_then(|n| u32::try_from(n).ok()).unwrap_or(3),
    }
}

fn join_kind(context: &mut Context, step: &LookupDefinition) -> JoinKind {
    let Some(join) = &step.join else { return JoinKind::Inner };
    match join.value().trim().to_lowercase().as_str() {
        "inner" => JoinKind::Inner,
        "left" => JoinKind::Left,
        _ => {
            let fault = Fault::new(&join.span, format!("'{}' is no type of lookup", join.written));
            context.faults.add(fault.allowed(&join.written, ["inner", "left"]));
            JoinKind::Inner
        }
    }
}
