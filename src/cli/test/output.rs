//! What a sink was sent, in a form that can be compared and shown.

use std::collections::BTreeMap;

use base64::Engine as _;

use crate::encode::Encoder;
use crate::error::Result;
use crate::model::{Datum, EncodedRecord, Header, OutputBatch, Payload, RowKind, RowRecord};
use crate::plan::{Encoding, OutputColumn, Plan, ProjectPlan, SinkConnector, SinkPlan};

/// One row of the sink.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it says.
    pub kind: RowKind,
    /// What tells keys apart: rows of one key are compared in order.
    pub key: Vec<u8>,
    /// Print's text, or the record.
    pub form: Form,
}

/// The form of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// A typed row, its text, and each value's text (`None` is NULL).
    Typed(String, Vec<Option<String>>),
    /// An encoded record.
    Record(SentRecord),
}

/// A record as the sink's topic gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct SentRecord {
    /// Its key.
    pub key: Vec<u8>,
    /// Its value; `None` is a delete.
    pub value: Option<Vec<u8>>,
    /// The timestamp that the row gives it.
    pub timestamp: Option<i64>,
    /// The headers that the row gives it.
    pub headers: Vec<Header>,
}

impl Row {
    /// The line that a case would expect.
    #[must_use]
    pub fn line(&self) -> String {
        match &self.form {
            Form::Typed(_, values) if text_is_ambiguous(values) => {
                let values: Vec<String> = values.iter().map(|value| quoted(value.as_deref())).collect();
                format!("{{kind: {}, row: [{}]}}", self.kind, values.join(", "))
            }
            Form::Typed(text, _) => text.clone(),
            Form::Record(record) => {
                let value = record.value.as_deref().map(text_of);
                let (key, value) = (quoted(Some(&text_of(&record.key))), quoted(value.as_deref()));
                format!("{{key: {key}, value: {value}}}")
            }
        }
    }
}

/// Text in which NULL and `'null'`, or one value and two, look the same, or which YAML would read otherwise.
fn text_is_ambiguous(values: &[Option<String>]) -> bool {
    let odd = |text: &String| {
        let outer_blank = text.starts_with(' ') || text.ends_with(' ');
        let control = text.contains(char::is_control);
        text == "null" || text.is_empty() || outer_blank || control || text.contains([',', '#', ':'])
    };
    values.iter().flatten().any(odd)
}

/// A scalar that YAML reads back as this text.
pub(super) fn quoted(text: Option<&str>) -> String {
    match text {
        None => "null".to_owned(),
        // JSON's text is a double-quoted scalar of YAML.
        Some(text) if text.contains(char::is_control) => serde_json::Value::from(text).to_string(),
        Some(text) => format!("'{}'", text.replace('\'', "''")),
    }
}

/// Bytes as a case writes them.
pub(super) fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.starts_with("base64:") => text.to_owned(),
        _ => format!("base64:{}", base64::engine::general_purpose::STANDARD.encode(bytes)),
    }
}

/// Makes rows of what a driver put out, with the text of the print sink.
#[derive(Debug)]
pub struct Reader {
    layout: crate::model::RowLayout,
    line: Encoder,
    cells: Vec<Encoder>,
    /// Output columns whose values tell keys apart: rows of one key come in order.
    key: Vec<usize>,
    /// The sink holds one row per key.
    upserts: bool,
}

impl Reader {
    /// A reader of the plan's output.
    ///
    /// # Errors
    /// A plan whose rows cannot be printed.
    pub fn new(plan: &Plan) -> Result<Self> {
        let identifier = match &plan.sink.connector {
            SinkConnector::Print { identifier, .. } => identifier.clone(),
            _ => String::new(),
        };
        let print = |identifier: String| SinkPlan {
            connector: SinkConnector::Print { identifier, standard_error: false },
            // What is sent has been checked; a `-D` by key has NULLs.
            primary_key: Vec::new(),
            ..plan.sink.clone()
        };
        let nullable =
            |column: &OutputColumn| OutputColumn { ty: column.ty.kind.clone().nullable(), ..column.clone() };
        let columns: Vec<OutputColumn> = plan.project.columns.iter().map(nullable).collect();
        let encoder = |identifier, columns| Encoder::new(&print(identifier), &ProjectPlan { columns });
        let cells = columns.iter().map(|column| encoder(String::new(), vec![column.clone()]));
        Ok(Self {
            layout: plan.project.layout(),
            cells: cells.collect::<Result<_>>()?,
            line: encoder(identifier, columns)?,
            key: key_positions(plan),
            upserts: plan.sink.encoding != Encoding::Retract && !plan.sink.primary_key.is_empty(),
        })
    }

    /// The compacted view: the last row of each key, or, for changelogs with retractions, the rows that are left.
    #[must_use]
    pub fn compacted(&self, rows: &[Row]) -> Vec<Row> {
        compacted(rows, self.upserts)
    }

    /// The rows of batches.
    ///
    /// # Errors
    /// A row that cannot be printed.
    pub fn rows(&mut self, batches: &[OutputBatch]) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for batch in batches {
            match &batch.payload {
                Payload::Records(records) => {
                    rows.extend(records.iter().map(|record| sent(record, &batch.arena)));
                }
                Payload::Rows(packed) => {
                    for row in packed {
                        rows.push(self.typed(*row, &batch.arena)?);
                    }
                }
                Payload::Text { .. } | Payload::Count(_) => {}
            }
        }
        Ok(rows)
    }

    fn typed(&mut self, row: RowRecord, arena: &[u8]) -> Result<Row> {
        let bytes = row.row.of(arena);
        let datums: Vec<Datum<'_>> = (0..self.layout.len()).map(|at| self.layout.get(bytes, at)).collect();
        let line = print(&mut self.line, row.kind, &datums)?;
        let mut values = Vec::with_capacity(datums.len());
        for (encoder, datum) in self.cells.iter_mut().zip(&datums) {
            let text = print(encoder, RowKind::Insert, std::slice::from_ref(datum))?;
            let text = text.strip_prefix("+I[").and_then(|text| text.strip_suffix(']')).unwrap_or(&text);
            values.push((!datum.is_null()).then(|| text.to_owned()));
        }
        let key = self.key.iter().map(|&at| values.get(at).cloned().flatten().unwrap_or_default());
        let key = key.collect::<Vec<_>>().join("\u{0}").into_bytes();
        Ok(Row { kind: row.kind, key, form: Form::Typed(line, values) })
    }
}

fn print(encoder: &mut Encoder, kind: RowKind, row: &[Datum<'_>]) -> Result<String> {
    let mut out = OutputBatch::default();
    encoder.encode(kind, row, &mut out).map_err(|fault| crate::error::Error::bug(fault.detail))?;
    let text = String::from_utf8_lossy(&out.arena);
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

fn sent(record: &EncodedRecord, arena: &[u8]) -> Row {
    let key = record.key.of(arena).to_vec();
    let form = Form::Record(SentRecord {
        key: key.clone(),
        value: record.value.map(|value| value.of(arena).to_vec()),
        timestamp: record.timestamp,
        headers: record.headers.as_deref().unwrap_or_default().to_vec(),
    });
    Row { kind: record.kind, key, form }
}

/// The sink's key or, of a sink that is sent retractions, the source's; every column where that is not
/// selected, as equal rows are then all that can be told apart.
pub(super) fn key_positions(plan: &Plan) -> Vec<usize> {
    let all = || (0..plan.project.columns.len()).collect();
    if plan.sink.encoding != Encoding::Retract && !plan.sink.primary_key.is_empty() {
        return plan.sink.primary_key.clone();
    }
    let Some(normalize) = &plan.normalize else { return all() };
    let position =
        |key: &usize| plan.project.columns.iter().position(|column| column.value.as_column() == Some(*key));
    normalize.primary_key.iter().map(position).collect::<Option<Vec<_>>>().unwrap_or_else(all)
}

pub(super) fn compacted(rows: &[Row], upserts: bool) -> Vec<Row> {
    let mut last: BTreeMap<&[u8], &Row> = BTreeMap::new();
    let mut left: Vec<Row> = Vec::new();
    for row in rows {
        match &row.form {
            Form::Record(record) if record.value.is_some() => drop(last.insert(&row.key, row)),
            Form::Record(_) => drop(last.remove(row.key.as_slice())),
            Form::Typed(..) if upserts && row.kind.is_addition() => drop(last.insert(&row.key, row)),
            Form::Typed(..) if upserts => drop(last.remove(row.key.as_slice())),
            Form::Typed(..) if row.kind.is_addition() => left.push(row.clone()),
            Form::Typed(_, values) => {
                let gone = |other: &Row| matches!(&other.form, Form::Typed(_, others) if others == values);
                if let Some(at) = left.iter().position(gone) {
                    left.remove(at);
                }
            }
        }
    }
    left.extend(last.into_values().cloned());
    for row in &mut left {
        let kind = row.kind.symbol();
        if let Form::Typed(text, _) = &mut row.form {
            *text = text.replacen(kind, RowKind::Insert.symbol(), 1);
        }
        row.kind = RowKind::Insert;
    }
    left
}
