//! What the sink was sent for a key: one mark, or the rows themselves.

use std::sync::Arc;

/// A packed dimension row, shared with the lookup cache. `None`: padded with NULLs.
pub type SharedRow = Option<Arc<[u8]>>;

/// Whether something was sent for a key and not retracted since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentMark {
    /// Nothing stands in the sink.
    Nothing,
    /// A row stands in the sink.
    Sent,
    /// The row was rebuilt from the topic: a row may stand in the sink.
    Unknown,
}

/// The joined rows that stand in the sink for one key.
#[derive(Clone, Copy, Debug)]
pub struct SentRows<'a> {
    /// The stream row that all of them share.
    pub stream: &'a [u8],
    /// Dimension rows: as many per joined row as there are lookups.
    pub dimensions: &'a [SharedRow],
    /// Number of joined rows.
    pub rows: u32,
}

/// The owned form. The stream row is most of the time the state's own row of
/// that key and is not kept twice.
#[derive(Debug, Default)]
pub(super) struct KeptRows {
    /// `None`: equal to the row of the entry.
    pub stream: Option<Box<[u8]>>,
    pub dimensions: Box<[SharedRow]>,
    pub rows: u32,
}

impl KeptRows {
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.stream.as_ref().map_or(0, |row| row.len())
            + size_of_val::<[SharedRow]>(&self.dimensions)
    }
}

/// Kept rows by number, with the holes used again.
#[derive(Debug, Default)]
pub(super) struct Slab {
    slots: Vec<KeptRows>,
    free: Vec<u32>,
}

impl Slab {
    pub fn put(&mut self, rows: KeptRows) -> u32 {
        if let Some(at) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(at as usize)
        {
            *slot = rows;
            return at;
        }
        let at = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push(rows);
        at
    }

    pub fn get(&self, at: u32) -> Option<&KeptRows> {
        self.slots.get(at as usize)
    }

    pub fn get_mut(&mut self, at: u32) -> Option<&mut KeptRows> {
        self.slots.get_mut(at as usize)
    }

    pub fn take(&mut self, at: u32) -> KeptRows {
        let Some(slot) = self.slots.get_mut(at as usize) else { return KeptRows::default() };
        self.free.push(at);
        std::mem::take(slot)
    }
}
