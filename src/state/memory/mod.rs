//! State in this process: hash tables of boxed entries.
//!
//! The table is cut into segments by the key's hash. A segment that is full
//! doubles alone, so growth moves a few thousand entries at a time instead of
//! stopping the shard for all of them, and old and new table never stand in
//! memory together for more than one segment.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use crate::clock::Millis;
use crate::model::PartitionId;

use super::packed::{Form, NO_SLOT};
use super::sent::{KeptRows, Slab};
use super::{Entry, KeyedState, NewRow, Place, SentMark, SentRows, StateCounts, StateKey};

/// Segments of the table: a million keys give 4,000 per segment, moved in well under a millisecond.
const SEGMENTS: usize = 256;
/// The segment comes from bits that `hashbrown` uses neither for the bucket nor for its tag.
const SEGMENT_SHIFT: u32 = 40;
/// Buckets looked at by one call of `sweep`: a few microseconds.
const SWEEP_BUCKETS: usize = 256;

/// What every entry keeps besides key, row and partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Shape {
    /// The time of the last write: with `state.ttl`.
    pub times: bool,
    /// The rows that were sent: for sinks that need them again.
    pub rows: bool,
}

/// State in memory.
#[derive(Debug)]
pub struct MemoryState {
    form: Form,
    hasher: RandomState,
    segments: Vec<HashTable<Box<[u8]>>>,
    kept: Slab,
    keys: u64,
    bytes: usize,
    sweep_at: Place,
}

impl MemoryState {
    /// Empty state.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self {
            form: Form::new(shape),
            hasher: RandomState::default(),
            segments: std::iter::repeat_with(HashTable::new).take(SEGMENTS).collect(),
            kept: Slab::default(),
            keys: 0,
            bytes: 0,
            sweep_at: Place { segment: 0, bucket: 0 },
        }
    }

    fn bytes_at(&self, place: Place) -> Option<&[u8]> {
        let segment = self.segments.get(place.segment as usize)?;
        segment.get_bucket(place.bucket as usize).map(|entry| &**entry)
    }

    fn entry_mut(&mut self, place: Place) -> Option<&mut Box<[u8]>> {
        self.segments.get_mut(place.segment as usize)?.get_bucket_mut(place.bucket as usize)
    }

    /// Before the row of an entry changes: what was sent keeps the old one.
    fn keep_stream_row(&mut self, place: Place, new: &[u8]) {
        let Some(entry) = self.bytes_at(place) else { return };
        let Some(slot) = self.form.slot(entry) else { return };
        let old = self.form.row_bytes(entry);
        if old == new || self.kept.get(slot).is_none_or(|kept| kept.stream.is_some()) {
            return;
        }
        let old: Box<[u8]> = old.into();
        self.bytes += old.len();
        if let Some(kept) = self.kept.get_mut(slot) {
            kept.stream = Some(old);
        }
    }

    /// Drops the kept rows of an entry.
    fn forget_rows(&mut self, place: Place) {
        let form = self.form;
        let Some(entry) = self.entry_mut(place) else { return };
        let Some(slot) = form.slot(entry) else { return };
        form.set_slot(entry, NO_SLOT);
        self.bytes -= self.kept.take(slot).bytes().min(self.bytes);
    }

    /// Accounts for an entry that is about to go.
    fn account_removed(&mut self, entry: &[u8]) {
        if Form::has_row(entry) {
            self.keys -= 1;
        }
        self.bytes -= entry.len().min(self.bytes);
        if let Some(slot) = self.form.slot(entry) {
            self.bytes -= self.kept.take(slot).bytes().min(self.bytes);
        }
    }
}

fn segment_of(hash: u64) -> u32 {
    (hash >> SEGMENT_SHIFT) as u32 % SEGMENTS as u32
}

impl KeyedState for MemoryState {
    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    fn guess(&self, hash: u64) -> Option<Place> {
        let segment = segment_of(hash);
        let bucket = self.segments.get(segment as usize)?.find_bucket_index(hash, |_| true)?;
        Some(Place { segment, bucket: u32::try_from(bucket).ok()? })
    }

    /// Each level of all entries before the next level of the first: the processor then has many reads of
    /// memory under way at a time, instead of waiting for each.
    fn fetch(&self, places: &[Place]) {
        let entries = || places.iter().filter_map(|&place| self.bytes_at(place));
        let lengths: usize = entries().map(<[u8]>::len).sum();
        let bytes: usize = entries().filter_map(<[u8]>::first).map(|&byte| usize::from(byte)).sum();
        std::hint::black_box(lengths ^ bytes);
    }

    fn find(&self, key: StateKey<'_>) -> Option<Place> {
        let segment = segment_of(key.hash);
        let table = self.segments.get(segment as usize)?;
        let bucket = table.find_bucket_index(key.hash, |entry| self.form.key(entry) == key.bytes)?;
        Some(Place { segment, bucket: u32::try_from(bucket).ok()? })
    }

    fn find_near(&self, hint: Option<Place>, key: StateKey<'_>) -> Option<Place> {
        let near =
            hint.filter(|&place| self.bytes_at(place).is_some_and(|entry| self.form.key(entry) == key.bytes));
        near.or_else(|| self.find(key))
    }

    fn entry(&self, place: Place) -> Option<Entry<'_>> {
        let entry = self.bytes_at(place)?;
        Some(Entry {
            partition: Form::partition(entry),
            row: Form::has_row(entry).then(|| self.form.row_bytes(entry)),
            written: self.form.written(entry),
            sent: Form::sent(entry),
        })
    }

    fn insert(&mut self, key: StateKey<'_>, row: NewRow<'_>) -> Place {
        let entry = self.form.pack(key.bytes, row);
        self.keys += 1;
        self.bytes += entry.len();
        let segment = segment_of(key.hash);
        let (form, hasher) = (self.form, &self.hasher);
        let table = &mut self.segments[segment as usize];
        let inserted = table.insert_unique(key.hash, entry, |entry| hasher.hash_one(form.key(entry)));
        // 256 segments of 4 billion buckets are more than any memory holds.
        Place { segment, bucket: u32::try_from(inserted.bucket_index()).unwrap_or(u32::MAX) }
    }

    fn insert_rowless(&mut self, key: StateKey<'_>, partition: PartitionId) -> Place {
        // Never swept: the deletion that is still to be emitted removes it.
        let place = self.insert(key, NewRow { partition, row: &[], now: Millis::MAX });
        self.clear_row(place, Millis::MAX);
        place
    }

    fn replace(&mut self, place: Place, row: NewRow<'_>) {
        self.keep_stream_row(place, row.row);
        let form = self.form;
        let Some(entry) = self.entry_mut(place) else { return };
        let (had_row, before) = (Form::has_row(entry), entry.len());
        form.set_row(entry, row);
        let after = entry.len();
        self.keys += u64::from(!had_row);
        self.bytes = self.bytes + after - before;
    }

    fn clear_row(&mut self, place: Place, now: Millis) {
        let form = self.form;
        let Some(entry) = self.entry_mut(place) else { return };
        let had_row = Form::has_row(entry);
        form.clear_row(entry, now);
        self.keys -= u64::from(had_row);
    }

    fn remove(&mut self, place: Place) {
        let Some(table) = self.segments.get_mut(place.segment as usize) else { return };
        let Ok(found) = table.get_bucket_entry(place.bucket as usize) else { return };
        let (entry, _) = found.remove();
        self.account_removed(&entry);
    }

    fn mark(&mut self, place: Place, sent: SentMark) {
        if sent != SentMark::Sent {
            self.forget_rows(place);
        }
        let Some(entry) = self.entry_mut(place) else { return };
        Form::set_sent(entry, sent);
        if sent == SentMark::Nothing && !Form::has_row(entry) {
            self.remove(place);
        }
    }

    fn sent_rows(&self, place: Place) -> Option<SentRows<'_>> {
        let entry = self.bytes_at(place)?;
        let kept = self.kept.get(self.form.slot(entry)?)?;
        Some(SentRows {
            stream: kept.stream.as_deref().unwrap_or_else(|| self.form.row_bytes(entry)),
            dimensions: &kept.dimensions,
            rows: kept.rows,
        })
    }

    fn set_sent_rows(&mut self, place: Place, rows: SentRows<'_>) {
        self.forget_rows(place);
        let Some(entry) = self.bytes_at(place) else { return };
        let same = self.form.row_bytes(entry) == rows.stream;
        let kept = KeptRows {
            stream: (!same).then(|| rows.stream.into()),
            dimensions: rows.dimensions.into(),
            rows: rows.rows,
        };
        self.bytes += kept.bytes();
        let slot = self.kept.put(kept);
        let form = self.form;
        if let Some(entry) = self.entry_mut(place) {
            form.set_slot(entry, slot);
            Form::set_sent(entry, SentMark::Sent);
        }
    }

    fn drop_partitions(&mut self, partitions: &[PartitionId]) {
        let mut segments = std::mem::take(&mut self.segments);
        for table in &mut segments {
            table.retain(|entry| {
                let keep = !partitions.contains(&Form::partition(entry));
                if !keep {
                    self.account_removed(entry);
                }
                keep
            });
            if table.is_empty() {
                *table = HashTable::new();
            }
        }
        self.segments = segments;
    }

    fn sweep(&mut self, limit: Millis) {
        let mut at = self.sweep_at;
        for _ in 0..SWEEP_BUCKETS {
            let Some(table) = self.segments.get(at.segment as usize) else {
                at = Place { segment: 0, bucket: 0 };
                break;
            };
            if table.num_buckets() <= at.bucket as usize || table.is_empty() {
                at = Place { segment: at.segment + 1, bucket: 0 };
                continue;
            }
            if self.bytes_at(at).is_some_and(|entry| self.form.written(entry) < limit) {
                self.remove(at);
            }
            at.bucket += 1;
        }
        self.sweep_at = at;
    }

    fn counts(&self) -> StateCounts {
        let tables: usize = self.segments.iter().map(HashTable::allocation_size).sum();
        StateCounts { keys: self.keys, bytes: (self.bytes + tables) as u64 }
    }
}

#[cfg(test)]
mod tests;
