//! What a sink was sent, in a form that can be compared and shown.

use std::collections::BTreeMap;

use crate::expr::text;
use crate::model::{OutputBatch, Payload, RowKind, Slice, Value};
use crate::plan::Plan;

/// One row of the sink.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it says.
    pub kind: RowKind,
    /// What tells keys apart: rows of one key are compared in order.
    pub key: String,
    /// Print's text, or the record.
    pub form: Form,
}

/// The form of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// A typed row, its text, and each value's text (`None` is NULL).
    Typed(String, Vec<Option<String>>),
    /// An encoded record; `None` is a delete.
    Record(String, Option<String>),
}

impl Row {
    /// The line that a case would expect.
    #[must_use]
    pub fn line(&self) -> String {
        match &self.form {
            Form::Typed(text, values) if text_is_ambiguous(values) => {
                let values: Vec<String> = values.iter().map(|value| quoted(value.as_deref())).collect();
                format!("{{kind: {}, row: [{}]}}", self.kind, values.join(", "))
            }
            Form::Typed(text, _) => text.clone(),
            Form::Record(key, value) => {
                format!("{{key: {}, value: {}}}", quoted(Some(key)), quoted(value.as_deref()))
            }
        }
    }
}

/// Text in which NULL and `'null'`, or one value and two, look the same, or which YAML would read otherwise.
fn text_is_ambiguous(values: &[Option<String>]) -> bool {
    let odd = |text: &String| text == "null" || text.is_empty() || text.contains([',', '\n', '#', ':']);
    values.iter().flatten().any(odd)
}

fn quoted(text: Option<&str>) -> String {
    text.map_or("null".to_owned(), |text| format!("'{}'", text.replace('\'', "''")))
}

/// The rows of what a driver put out.
#[must_use]
pub fn rows_of(plan: &Plan, batches: &[OutputBatch]) -> Vec<Row> {
    let layout = plan.project.layout();
    let key = key_positions(plan);
    let mut rows = Vec::new();
    for batch in batches {
        let show = |slice: Slice| String::from_utf8_lossy(slice.of(&batch.arena)).into_owned();
        match &batch.payload {
            Payload::Records(records) => rows.extend(records.iter().map(|record| {
                let key = show(record.key);
                Row { kind: record.kind, key: key.clone(), form: Form::Record(key, record.value.map(show)) }
            })),
            Payload::Rows(packed) => rows.extend(packed.iter().map(|packed| {
                let bytes = packed.row.of(&batch.arena);
                let values: Vec<Value> = (0..layout.len()).map(|at| layout.get(bytes, at).into()).collect();
                typed(plan, packed.kind, &values, &key)
            })),
            Payload::Text { .. } | Payload::Count(_) => {}
        }
    }
    rows
}

fn typed(plan: &Plan, kind: RowKind, values: &[Value], key: &[usize]) -> Row {
    let texts: Vec<Option<String>> = plan
        .project
        .columns
        .iter()
        .zip(values)
        .map(|(column, value)| {
            let mut out = Vec::new();
            value.with_datum(|datum| text::print(&column.ty.kind, datum, &mut out));
            (*value != Value::Null).then(|| String::from_utf8_lossy(&out).into_owned())
        })
        .collect();
    let shown: Vec<&str> = texts.iter().map(|text| text.as_deref().unwrap_or("null")).collect();
    let line = format!("{kind}[{}]", shown.join(", "));
    let key: Vec<&str> = key.iter().filter_map(|&at| shown.get(at).copied()).collect();
    Row { kind, key: key.join("\u{0}"), form: Form::Typed(line, texts) }
}

/// Output columns that hold the source's primary key; all of them, or none.
fn key_positions(plan: &Plan) -> Vec<usize> {
    let Some(normalize) = &plan.normalize else { return (0..plan.project.columns.len()).collect() };
    let position =
        |key: &usize| plan.project.columns.iter().position(|column| column.value.as_column() == Some(*key));
    normalize.primary_key.iter().map(position).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The compacted view: the last row of each key, or, for changelogs with retractions, the rows that are left.
#[must_use]
pub fn compacted(rows: &[Row]) -> Vec<Row> {
    let mut records: BTreeMap<String, Row> = BTreeMap::new();
    let mut left: Vec<Row> = Vec::new();
    for row in rows {
        match &row.form {
            Form::Record(key, Some(_)) => drop(records.insert(key.clone(), row.clone())),
            Form::Record(key, None) => drop(records.remove(key)),
            Form::Typed(..) if row.kind.is_addition() => left.push(row.clone()),
            Form::Typed(_, values) => {
                let gone = |other: &Row| matches!(&other.form, Form::Typed(_, others) if others == values);
                if let Some(at) = left.iter().position(gone) {
                    left.remove(at);
                }
            }
        }
    }
    for row in &mut left {
        row.kind = RowKind::Insert;
        if let Form::Typed(text, _) = &mut row.form {
            text.replace_range(0..2, "+I");
        }
    }
    left.extend(records.into_values());
    left
}
