//! The encoder of a worker: the sink's own form, or packed rows for tests.

use crate::error::RowFault;
use crate::model::{Datum, OutputBatch, Payload, RowKind, RowLayout, RowRecord, Slice};

/// Writes output rows and counts them.
#[derive(Debug)]
pub(super) struct RowWriter {
    form: Form,
    /// By kind, in the order of [`RowKind::ALL`].
    pub rows: [u64; 4],
}

#[derive(Debug)]
enum Form {
    /// Packed rows of the sink's layout.
    Rows(RowLayout),
}

impl RowWriter {
    /// A writer of packed rows.
    pub fn rows(layout: RowLayout) -> Self {
        Self { form: Form::Rows(layout), rows: [0; 4] }
    }

    pub fn write(&mut self, kind: RowKind, row: &[Datum<'_>], out: &mut OutputBatch) -> Result<(), RowFault> {
        self.rows[kind as usize] += 1;
        match &mut self.form {
            Form::Rows(layout) => {
                let start = out.arena.len();
                layout.pack(row, &mut out.arena);
                let row = RowRecord { kind, row: Slice::since(&out.arena, start) };
                match &mut out.payload {
                    Payload::Rows(rows) => rows.push(row),
                    other => *other = Payload::Rows(vec![row]),
                }
                Ok(())
            }
        }
    }
}
