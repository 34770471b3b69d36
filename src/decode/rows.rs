//! What decoding a batch gives.

use crate::model::Slice;

/// What a decoded row says about its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The key has this row from here on (upsert sources).
    Upsert,
    /// The key is gone (upsert sources).
    Delete,
    /// One more row (append-only sources).
    Insert,
}

/// One decoded row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodedRow {
    /// What it says.
    pub op: Op,
    /// Primary key, packed by `SourcePlan::key_layout`; empty for [`Op::Insert`].
    pub key: Slice,
    /// Stream row, packed by `SourcePlan::layout`; empty for [`Op::Delete`].
    pub row: Slice,
    /// Index of its record in the batch.
    pub record: u32,
}

/// A row whose value names another key than its record (`on-key-mismatch: value`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyMismatch {
    /// Index of the record in the batch.
    pub record: u32,
    /// Index of the row in [`DecodedRows::rows`]; its key is the value's.
    pub row: u32,
}

/// Rows in the order of their records. Reusable: [`DecodedRows::clear`] keeps the memory.
#[derive(Clone, Debug, Default)]
pub struct DecodedRows {
    /// Bytes of keys and rows.
    pub arena: Vec<u8>,
    /// The rows.
    pub rows: Vec<DecodedRow>,
    /// Rows whose value names another key than their record.
    pub key_mismatches: Vec<KeyMismatch>,
    /// Records without a row: empty values under `on-empty-value: skip`, null values of append-only sources.
    pub skipped: u64,
    /// Keys, values and rows dropped under `ignore-parse-errors`.
    pub dropped: u64,
}

impl DecodedRows {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.rows.clear();
        self.key_mismatches.clear();
        self.skipped = 0;
        self.dropped = 0;
    }
}
