//! From output rows to what a sink takes: records, lines, packed rows, a count.
//!
//! The encoder decides nothing about which rows a sink is sent; it writes each
//! row in the sink's form and refuses a NULL where the sink's table is NOT
//! NULL. Rows go to the caller's [`OutputBatch`], so that a batch costs a few
//! allocations in all.

mod kafka;
mod print;

#[cfg(test)]
mod tests;

use crate::error::{Reason, Result, RowFault};
use crate::model::{Cell, Cells, Datum, OutputBatch, Payload, RowKind, RowLayout, RowRecord, Slice};
use crate::plan::{ProjectPlan, SinkConnector, SinkPlan};

use kafka::RecordWriter;
use print::RowText;

/// Encodes the rows of one sink.
#[derive(Clone, Debug)]
pub struct Encoder {
    form: Form,
    /// Positions that no row may leave NULL: the primary key.
    key: Box<[usize]>,
    /// Positions that a row which is there may not leave NULL.
    not_null: Box<[usize]>,
    names: Box<[Box<str>]>,
    /// Bytes of the arena and rows of the batch before: room for the next one is made at once.
    before: (usize, usize),
}

/// Most bytes of room that are made for a batch before they are needed: what a few thousand usual rows take.
const ROOM_MAX: usize = 1 << 20;

/// The same in rows.
const ROWS_MAX: usize = 4096;

#[derive(Clone, Debug)]
enum Form {
    Records(Box<RecordWriter>),
    Rows(RowLayout),
    Text(RowText),
    Count,
}

impl Encoder {
    /// An encoder for `sink`, whose rows are those of `project`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Definition`] for types that the sink's formats do not have.
    pub fn new(sink: &SinkPlan, project: &ProjectPlan) -> Result<Self> {
        let form = match &sink.connector {
            SinkConnector::Print { identifier, .. } => Form::Text(RowText::new(identifier, project)),
            SinkConnector::Blackhole => Form::Count,
            SinkConnector::UpsertKafka(kafka) => {
                Form::Records(Box::new(RecordWriter::new(kafka, sink, project)?))
            }
            SinkConnector::Mysql(_) => Form::Rows(project.layout()),
        };
        Ok(Self::of(form, sink, project))
    }

    /// An encoder that packs rows by the layout of `project` whatever the connector: for tests and faces.
    #[must_use]
    pub fn packing(sink: &SinkPlan, project: &ProjectPlan) -> Self {
        Self::of(Form::Rows(project.layout()), sink, project)
    }

    fn of(form: Form, sink: &SinkPlan, project: &ProjectPlan) -> Self {
        let columns = project.columns.iter().enumerate();
        Self {
            form,
            key: sink.primary_key.clone().into(),
            not_null: columns.filter(|(_, column)| !column.ty.nullable).map(|(i, _)| i).collect(),
            names: project.columns.iter().map(|column| column.name.as_str().into()).collect(),
            before: (0, 0),
        }
    }

    /// Adds a row to `out`. A row that is gone may have its key columns alone (`-D` of an upsert sink).
    ///
    /// # Errors
    /// A NULL that the sink's table does not allow, a value that the format cannot hold. `out` may then
    /// hold bytes of the row, but not the row.
    pub fn encode(
        &mut self,
        kind: RowKind,
        row: &[Datum<'_>],
        out: &mut OutputBatch,
    ) -> Result<(), RowFault> {
        self.check(kind, row)?;
        let OutputBatch { arena, payload } = out;
        if arena.capacity() == 0 {
            arena.reserve(self.before.0.min(ROOM_MAX));
        }
        match &mut self.form {
            Form::Records(writer) => {
                let record = writer.write(kind, row, arena)?;
                if !matches!(payload, Payload::Records(_)) {
                    *payload = Payload::Records(Vec::with_capacity(self.before.1.min(ROWS_MAX)));
                }
                if let Payload::Records(records) = payload {
                    records.push(record);
                    self.before.1 = records.len();
                }
            }
            Form::Rows(layout) => {
                let start = arena.len();
                layout.pack(row, arena);
                let record = RowRecord { kind, row: Slice::since(arena, start) };
                match payload {
                    Payload::Rows(rows) => rows.push(record),
                    other => *other = Payload::Rows(vec![record]),
                }
            }
            Form::Text(text) => {
                text.write_line(kind, row, arena);
                match payload {
                    Payload::Text { rows } => *rows += 1,
                    other => *other = Payload::Text { rows: 1 },
                }
            }
            Form::Count => match payload {
                Payload::Count(rows) => *rows += 1,
                other => *other = Payload::Count(1),
            },
        }
        self.before.0 = arena.len();
        Ok(())
    }

    /// Adds a row that is there to `out`, straight from its cells, where the sink's form and all its values allow that;
    /// else false, and `out` is as before: [`Encoder::encode`] then says what there is to say. What is added is what
    /// that would add.
    #[inline]
    pub fn encode_cells(&mut self, kind: RowKind, row: &impl Cells, out: &mut OutputBatch) -> bool {
        let Form::Records(writer) = &mut self.form else { return false };
        let OutputBatch { arena, payload: Payload::Records(records) } = out else { return false };
        let null = |column: &usize| row.cell(*column) == Cell::Null;
        if !kind.is_addition() || self.not_null.iter().any(null) || self.key.iter().any(null) {
            return false;
        }
        let Some(record) = writer.write_cells(kind, row, arena) else { return false };
        records.push(record);
        self.before = (arena.len(), records.len());
        true
    }

    fn check(&self, kind: RowKind, row: &[Datum<'_>]) -> Result<(), RowFault> {
        let null = |column: &&usize| row.get(**column).is_none_or(Datum::is_null);
        if let Some(column) = self.key.iter().find(null) {
            return Err(self.null_fault(*column, "NULL for a PRIMARY KEY column of the sink"));
        }
        if kind.is_addition()
            && let Some(column) = self.not_null.iter().find(null)
        {
            return Err(self.null_fault(*column, "NULL for a column that the sink declares NOT NULL"));
        }
        Ok(())
    }

    fn null_fault(&self, column: usize, detail: &str) -> RowFault {
        RowFault::new(Reason::NotNull, detail)
            .in_column(self.names.get(column).map_or("", |name| name))
            .remedy("select a value that is never NULL (COALESCE), or filter the row with where")
    }
}
