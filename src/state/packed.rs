//! One entry as one slice of bytes:
//! `[flags][partition][last write?][kept rows?][key length][key][row]`.
//!
//! The two optional parts are there or not for a whole table
//! ([`super::Shape`]), so a key costs what its plan needs and no more.

use crate::clock::Millis;
use crate::model::PartitionId;

use super::{NewRow, SentMark, Shape};

/// The row was deleted; its bytes are still there for what was sent.
const NO_ROW: u8 = 1;
/// Two bits of [`SentMark`].
const SENT_SHIFT: u32 = 1;
const SENT_MASK: u8 = 0b110;
/// No kept rows.
pub(super) const NO_SLOT: u32 = u32::MAX;
const PARTITION: usize = 1;
const AFTER_PARTITION: usize = 5;
/// Key lengths below this take one byte, others this byte and four more.
const LONG_KEY: u8 = 255;

/// How the entries of one table are laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    written: Option<usize>,
    slot: Option<usize>,
    key: usize,
}

impl Form {
    pub fn new(shape: Shape) -> Self {
        let mut at = AFTER_PARTITION;
        let written = shape.times.then_some(at);
        at += if shape.times { 8 } else { 0 };
        let slot = shape.rows.then_some(at);
        at += if shape.rows { 4 } else { 0 };
        Self { written, slot, key: at }
    }

    /// Bytes of an entry.
    pub fn len(&self, key: &[u8], row: &[u8]) -> usize {
        self.key + if key.len() < usize::from(LONG_KEY) { 1 } else { 5 } + key.len() + row.len()
    }

    /// Writes a new entry for which nothing was sent; `entry` has the bytes that [`Form::len`] says.
    pub fn write(&self, entry: &mut [u8], key: &[u8], new: NewRow<'_>) {
        entry[0] = 0;
        if let Some(at) = self.slot {
            entry[at..at + 4].copy_from_slice(&NO_SLOT.to_le_bytes());
        }
        let mut at = self.key;
        match u8::try_from(key.len()) {
            Ok(short) if short < LONG_KEY => entry[at] = short,
            _ => {
                entry[at] = LONG_KEY;
                let len = u32::try_from(key.len()).unwrap_or(u32::MAX);
                entry[at + 1..at + 5].copy_from_slice(&len.to_le_bytes());
                at += 4;
            }
        }
        at += 1;
        entry[at..at + key.len()].copy_from_slice(key);
        self.write_row(entry, at + key.len(), new);
    }

    /// Puts another row into an entry that has just the room for it, from `at` on.
    pub fn write_row(&self, entry: &mut [u8], at: usize, new: NewRow<'_>) {
        entry[at..].copy_from_slice(new.row);
        entry[0] &= !NO_ROW;
        entry[PARTITION..AFTER_PARTITION].copy_from_slice(&new.partition.0.to_le_bytes());
        self.set_written(entry, new.now);
    }

    pub fn clear_row(&self, entry: &mut [u8], now: Millis) {
        entry[0] |= NO_ROW;
        self.set_written(entry, now);
    }

    fn set_written(&self, entry: &mut [u8], now: Millis) {
        if let Some(at) = self.written {
            entry[at..at + 8].copy_from_slice(&now.to_le_bytes());
        }
    }

    pub fn key<'a>(&self, entry: &'a [u8]) -> &'a [u8] {
        let (start, len) = self.key_range(entry);
        entry.get(start..start + len).unwrap_or_default()
    }

    fn key_range(&self, entry: &[u8]) -> (usize, usize) {
        match entry.get(self.key) {
            Some(&LONG_KEY) => (self.key + 5, number(entry, self.key + 1) as usize),
            Some(&len) => (self.key + 1, usize::from(len)),
            None => (entry.len(), 0),
        }
    }

    /// Key and row.
    pub fn split<'a>(&self, entry: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let (start, len) = self.key_range(entry);
        entry.get(start..).and_then(|rest| rest.split_at_checked(len)).unwrap_or_default()
    }

    /// Whether rows that were sent are kept.
    pub fn keeps_rows(&self) -> bool {
        self.slot.is_some()
    }

    /// Where the row begins.
    pub fn row_start(&self, entry: &[u8]) -> usize {
        let (start, len) = self.key_range(entry);
        start + len
    }

    /// The bytes of the last row, also after it was cleared.
    pub fn row_bytes<'a>(&self, entry: &'a [u8]) -> &'a [u8] {
        entry.get(self.row_start(entry)..).unwrap_or_default()
    }

    pub fn has_row(entry: &[u8]) -> bool {
        entry.first().is_some_and(|flags| flags & NO_ROW == 0)
    }

    pub fn partition(entry: &[u8]) -> PartitionId {
        PartitionId(number(entry, PARTITION))
    }

    pub fn written(&self, entry: &[u8]) -> Millis {
        let bytes = self.written.and_then(|at| entry.get(at..)?.first_chunk());
        bytes.map_or(0, |bytes| Millis::from_le_bytes(*bytes))
    }

    pub fn sent(entry: &[u8]) -> SentMark {
        match entry.first().map_or(0, |flags| (flags & SENT_MASK) >> SENT_SHIFT) {
            0 => SentMark::Nothing,
            1 => SentMark::Sent,
            _ => SentMark::Unknown,
        }
    }

    pub fn set_sent(entry: &mut [u8], sent: SentMark) {
        let bits: u8 = match sent {
            SentMark::Nothing => 0,
            SentMark::Sent => 1,
            SentMark::Unknown => 2,
        };
        entry[0] = entry[0] & !SENT_MASK | bits << SENT_SHIFT;
    }

    /// Number of the kept rows.
    pub fn slot(&self, entry: &[u8]) -> Option<u32> {
        self.slot.map(|at| number(entry, at)).filter(|&slot| slot != NO_SLOT)
    }

    pub fn set_slot(&self, entry: &mut [u8], slot: u32) {
        if let Some(at) = self.slot {
            entry[at..at + 4].copy_from_slice(&slot.to_le_bytes());
        }
    }
}

fn number(entry: &[u8], at: usize) -> u32 {
    entry.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
