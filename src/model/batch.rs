//! The unit everything moves in.
//!
//! A batch owns one arena of bytes; its records point into it. Making a batch
//! costs a few allocations, whatever the number of records.

use super::{PartitionId, RowKind};

/// A range of a batch's arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Slice {
    start: u32,
    end: u32,
}

impl Slice {
    /// No bytes.
    pub const EMPTY: Self = Self { start: 0, end: 0 };

    /// The bytes of this range; empty if the arena does not have them.
    #[must_use]
    pub fn of(self, arena: &[u8]) -> &[u8] {
        arena.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Appends `bytes` to the arena and returns their range.
    pub fn append(arena: &mut Vec<u8>, bytes: &[u8]) -> Self {
        let start = arena.len();
        arena.extend_from_slice(bytes);
        Self::since(arena, start)
    }

    /// The range from `start` to the arena's end: for bytes written in place.
    #[must_use]
    pub fn since(arena: &[u8], start: usize) -> Self {
        Self { start: position(start), end: position(arena.len()) }
    }

    /// Number of bytes.
    #[must_use]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether the range has no bytes.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Batches are bounded far below 4 GiB (`source::BATCH_BYTES_MAX`).
fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// One header of a Kafka record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Header name.
    pub key: String,
    /// Header value; null is legal.
    pub value: Option<Vec<u8>>,
}

/// One record as it came from Kafka.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where it stands.
    pub partition: PartitionId,
    /// Where it stands.
    pub offset: i64,
    /// Kafka's timestamp in milliseconds, -1 if it has none.
    pub timestamp: i64,
    /// 0 none, 1 create time, 2 log append time.
    pub timestamp_type: u8,
    /// Record key; `None` is a null key.
    pub key: Option<Slice>,
    /// Record value; `None` is a tombstone.
    pub value: Option<Slice>,
    /// The primary key packed by the router from the record key (empty for append-only sources).
    pub routed_key: Slice,
    /// Key group of that key; 0 without a key.
    pub group: u16,
    /// Below the committed offset: rebuilds state, emits nothing.
    pub silent: bool,
    /// A row of its key may have been sent although state does not know the key: the job goes on, and compaction may
    /// have removed the record behind that row since.
    pub doubt: bool,
    /// Headers, read only when a metadata column wants them.
    pub headers: Option<Box<[Header]>>,
}

/// Records of one source table for one shard, in topic order per partition.
#[derive(Clone, Debug, Default)]
pub struct RecordBatch {
    /// Bytes of keys, values and routed keys.
    pub arena: Vec<u8>,
    /// The records.
    pub records: Vec<Record>,
}

/// Encoded rows on the way to a sink.
#[derive(Clone, Debug, Default)]
pub struct OutputBatch {
    /// Bytes that the payload's slices point into.
    pub arena: Vec<u8>,
    /// The rows.
    pub payload: Payload,
}

/// The form a sink wants its rows in.
#[derive(Clone, Debug)]
pub enum Payload {
    /// Keys and values for Kafka.
    Records(Vec<EncodedRecord>),
    /// Packed rows of the sink's layout, for SQL sinks and for tests.
    Rows(Vec<RowRecord>),
    /// Lines of text ready to print, each with its line feed; the arena holds nothing else.
    Text {
        /// Number of lines.
        rows: u64,
    },
    /// Nothing but the number of rows.
    Count(u64),
}

impl Default for Payload {
    fn default() -> Self {
        Self::Count(0)
    }
}

/// One record for Kafka.
#[derive(Clone, Debug)]
pub struct EncodedRecord {
    /// What the row was.
    pub kind: RowKind,
    /// Record key.
    pub key: Slice,
    /// Record value; `None` is a tombstone.
    pub value: Option<Slice>,
    /// Writable metadata `timestamp`.
    pub timestamp: Option<i64>,
    /// Writable metadata `headers`.
    pub headers: Option<Box<[Header]>>,
}

/// One packed row with its kind.
#[derive(Clone, Copy, Debug)]
pub struct RowRecord {
    /// What the row says about its key.
    pub kind: RowKind,
    /// The row, packed by the sink's layout.
    pub row: Slice,
}

/// A point of an [`OutputBatch`] to go back to.
#[derive(Clone, Copy, Debug)]
pub struct OutputMark {
    arena: usize,
    rows: u64,
}

impl OutputBatch {
    /// An empty batch of the same form.
    #[must_use]
    pub fn successor(&self) -> Self {
        let payload = match &self.payload {
            Payload::Records(_) => Payload::Records(Vec::new()),
            Payload::Rows(_) => Payload::Rows(Vec::new()),
            Payload::Text { .. } => Payload::Text { rows: 0 },
            Payload::Count(_) => Payload::Count(0),
        };
        Self { arena: Vec::new(), payload }
    }

    /// Makes room for `rows` more rows of `bytes` bytes each, so that a batch of the usual size does not grow
    /// by copying.
    pub fn reserve(&mut self, rows: usize, bytes: usize) {
        self.arena.reserve(rows.saturating_mul(bytes));
        match &mut self.payload {
            Payload::Records(records) => records.reserve(rows),
            Payload::Rows(kept) => kept.reserve(rows),
            Payload::Text { .. } | Payload::Count(_) => {}
        }
    }

    /// The batch as it is now.
    #[must_use]
    pub fn mark(&self) -> OutputMark {
        OutputMark { arena: self.arena.len(), rows: self.rows() }
    }

    /// Takes back what was added since `mark`: all rows of a change go out, or none.
    pub fn roll_back(&mut self, mark: OutputMark) {
        self.arena.truncate(mark.arena);
        let rows = usize::try_from(mark.rows).unwrap_or(usize::MAX);
        match &mut self.payload {
            Payload::Records(records) => records.truncate(rows),
            Payload::Rows(kept) => kept.truncate(rows),
            Payload::Text { rows } | Payload::Count(rows) => *rows = mark.rows,
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        match &self.payload {
            Payload::Records(records) => records.len() as u64,
            Payload::Rows(rows) => rows.len() as u64,
            Payload::Text { rows } | Payload::Count(rows) => *rows,
        }
    }
}
