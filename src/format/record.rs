//! Which fields the key and the value of a Kafka record hold.
//!
//! The record key holds the key columns, in key order and without
//! `key.fields-prefix`; the value holds all physical columns
//! (`value.fields-include: ALL`) or those that are not in the key. Flink:
//! `KafkaConnectorOptionsUtil.createKeyFormatProjection` and `createValueFormatProjection`.

use crate::error::Result;
use crate::plan::{KafkaSink, PhysicalColumn, ProjectPlan, SinkPlan, SourcePlan};

use super::{FieldSpec, Reader, Writer};

/// A reader of a source's record values: its rows have the columns of [`SourcePlan::physical`].
///
/// # Errors
/// Types that the format does not have.
pub fn value_reader(source: &SourcePlan) -> Result<Reader> {
    let keys = || source.key_columns.iter().filter_map(|&i| source.physical.get(i));
    let left_out = |before: &dyn Fn(&PhysicalColumn) -> bool| {
        if source.value_includes_key { 0 } else { keys().filter(|key| before(key)).count() }
    };
    let field = |(i, column): (usize, &PhysicalColumn)| FieldSpec {
        name: column.name.clone(),
        column: i,
        ordinal: column.ordinal - left_out(&|key| key.ordinal < column.ordinal),
        ty: column.ty.clone(),
    };
    let wanted = |i: usize| source.value_includes_key || !source.key_columns.contains(&i);
    let columns = source.physical.iter().enumerate().filter(|(i, _)| wanted(*i));
    let arity = source.physical_arity.saturating_sub(left_out(&|_| true));
    let width = source.physical.len();
    Reader::new(&source.value_format, columns.map(field).collect(), width, arity, source.lossy_conversion)
}

/// A reader of a source's record keys: its rows have the key columns, in key order. `None` if keys are not read.
///
/// # Errors
/// Types that the format does not have.
pub fn key_reader(source: &SourcePlan) -> Result<Option<Reader>> {
    let Some(format) = source.key_format.as_ref().filter(|_| !source.key_columns.is_empty()) else {
        return Ok(None);
    };
    let field = |(i, column): (usize, &PhysicalColumn)| FieldSpec {
        name: without_prefix(&column.name, &source.key_prefix),
        column: i,
        ordinal: i,
        ty: column.ty.clone(),
    };
    let columns = source.key_columns.iter().filter_map(|&i| source.physical.get(i));
    let fields: Vec<FieldSpec> = columns.enumerate().map(field).collect();
    let arity = fields.len();
    Reader::new(format, fields, arity, arity, source.lossy_conversion).map(Some)
}

/// A writer of a sink's record keys.
///
/// # Errors
/// Types that the format does not have.
pub fn key_writer(kafka: &KafkaSink, sink: &SinkPlan, project: &ProjectPlan) -> Result<Writer> {
    let mut fields = output_fields(project, sink.primary_key.iter().copied());
    for field in &mut fields {
        field.name = without_prefix(&field.name, &kafka.key_prefix);
    }
    Writer::new(&kafka.key_format, fields)
}

/// A writer of a sink's record values.
///
/// # Errors
/// Types that the format does not have.
pub fn value_writer(kafka: &KafkaSink, sink: &SinkPlan, project: &ProjectPlan) -> Result<Writer> {
    let wanted = |i: &usize| kafka.value_includes_key || !sink.primary_key.contains(i);
    let columns = kafka.value_columns.iter().copied().filter(wanted);
    Writer::new(&kafka.value_format, output_fields(project, columns))
}

fn output_fields(project: &ProjectPlan, positions: impl Iterator<Item = usize>) -> Vec<FieldSpec> {
    let field = |position: usize| {
        let column = project.columns.get(position)?;
        Some(FieldSpec {
            name: column.name.clone(),
            column: position,
            ordinal: position,
            ty: column.ty.clone(),
        })
    };
    positions.filter_map(field).collect()
}

fn without_prefix(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_owned()
}
