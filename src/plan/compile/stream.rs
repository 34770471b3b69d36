//! The source table: its columns, and the source without them.

use crate::config::options::Role;
use crate::config::{Definition, Fault};
use crate::expr::{Column, Expression, Scope};
use crate::model::Type;

use super::super::{Metadata, SourceKind, SourcePlan};
use super::context::Context;
use super::schema::{Schema, SchemaKind};
use super::{metadata, source};

/// The stream as expressions see it: every declared column.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub alias: String,
    pub kind: SourceKind,
    pub schema: Schema,
    /// Where the value of each column of the schema comes from.
    pub origins: Vec<Origin>,
    /// Columns of the schema in the record key, in key order.
    pub key: Vec<usize>,
}

/// Where a column's value comes from.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    Physical,
    Metadata(Metadata),
    /// Metadata as another type than its own; the expression reads [`Metadata::ALL`].
    MetadataAs(Expression),
    /// The expression reads columns of the schema.
    Computed(Expression),
    /// `PROCTIME()`: nothing to read.
    ProcessingTime,
}

impl Stream {
    /// Whether column `i` of the schema belongs to the primary key.
    pub fn in_primary_key(&self, i: usize) -> bool {
        self.schema.primary_key.contains(&i)
    }

    pub fn is_processing_time(&self, i: usize) -> bool {
        matches!(self.origins.get(i), Some(Origin::ProcessingTime))
    }
}

/// Reads the source table.
pub(super) fn resolve(
    context: &mut Context,
    definition: &Definition,
) -> Option<(Stream, Option<SourcePlan>)> {
    let from = &definition.pipeline.from;
    let table = context.table(definition, &from.table, Role::Source)?;
    let options = context.options(table, Role::Source);
    if table.columns.is_none() {
        context.fault(
            &table.name.span,
            format!("table '{}' has no 'columns'", table.name.written),
            "list them as in CREATE TABLE: `columns: [id INT, name STRING]`",
        );
    }
    let schema = Schema::read(context, table);
    let (mut schema, options) = (schema?, options?);
    let kind = match table.connector.as_ref()?.value() {
        "upsert-kafka" => SourceKind::UpsertKafka,
        _ => SourceKind::Kafka,
    };
    let origins = origins(context, &mut schema);
    let key = source::key_columns(context, kind, &schema, &options);
    let plan = source::compile(context, table, &schema, &options, kind);
    let alias = from.alias.as_ref().unwrap_or(&from.table).value().to_owned();
    Some((Stream { alias, kind, origins, key: key.unwrap_or_default(), schema }, plan))
}

/// Where every column comes from; gives computed columns their types.
fn origins(context: &mut Context, schema: &mut Schema) -> Vec<Origin> {
    let mut origins: Vec<Origin> = Vec::new();
    for i in 0..schema.columns.len() {
        let column = schema.columns[i].clone();
        origins.push(match &column.kind {
            SchemaKind::Physical(_) | SchemaKind::Computed { .. } => Origin::Physical,
            SchemaKind::Metadata { key, .. } => {
                metadata_origin(context, schema, i, key).unwrap_or(Origin::Physical)
            }
        });
    }
    let scope = table_scope(schema);
    for (i, origin) in origins.iter_mut().enumerate() {
        let SchemaKind::Computed { expression, at } = schema.columns[i].kind.clone() else { continue };
        let item = schema.columns[i].item.clone();
        let Some(compiled) = context.expression(&item, at, &expression, &scope) else { continue };
        schema.columns[i].ty = compiled.ty().clone();
        *origin = match compiled.is_processing_time() {
            true => Origin::ProcessingTime,
            false => Origin::Computed(compiled),
        };
    }
    origins
}

/// Columns that a computed column may read: as in Flink, not the other computed ones.
fn table_scope(schema: &Schema) -> Scope {
    let columns = schema.columns.iter().map(|column| Column {
        qualifier: String::new(),
        name: match column.kind {
            SchemaKind::Computed { .. } => String::new(),
            _ => column.name.clone(),
        },
        ty: column.ty.clone(),
    });
    Scope { columns: columns.collect() }
}

fn metadata_origin(context: &mut Context, schema: &Schema, i: usize, key: &str) -> Option<Origin> {
    let column = &schema.columns[i];
    let Some(found) = metadata::named(key) else {
        let fault = Fault::new(
            &column.item.span,
            format!("column '{}': Kafka records have no metadata '{key}'", column.name),
        );
        context.faults.add(fault.allowed(key, metadata::names()));
        return None;
    };
    let own = metadata::ty(found);
    if metadata::same_shape(&own.kind, &column.ty.kind) {
        return Some(Origin::Metadata(found));
    }
    let scope = Scope {
        columns: Metadata::ALL
            .into_iter()
            .map(|metadata| Column {
                qualifier: String::new(),
                name: metadata::name(metadata).to_owned(),
                ty: metadata::ty(metadata),
            })
            .collect(),
    };
    let sql = format!("CAST(`{key}` AS {})", column.ty.kind);
    match Expression::compile(&sql, &scope, &context.settings) {
        Ok(expression) if !matches!(column.ty.kind, Type::Map(..) | Type::Array(_)) => {
            Some(Origin::MetadataAs(expression))
        }
        _ => {
            let what = format!(
                "column '{}': metadata '{key}' is {}, which does not become {}",
                column.name, own.kind, column.ty.kind
            );
            context.fault(&column.item.span, what, format!("declare it as {}", own.kind));
            None
        }
    }
}
