//! State in this process: hash tables of addresses over an arena of entries.
//!
//! The table is cut into segments by the key's hash. A segment that is full
//! doubles alone, so growth moves a few thousand slots at a time instead of
//! stopping the shard for all of them, and old and new table never stand in
//! memory together for more than one segment. A slot has four bytes of the
//! key's hash beside the address: growth reads no entry, and a lookup reads
//! one. All entries of dropped partitions go at once, by moving the others to
//! a new arena.

mod arena;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use crate::clock::Millis;
use crate::model::PartitionId;

use super::packed::{Form, NO_SLOT};
use super::sent::{KeptRows, Slab};
use arena::{Address, Arena};

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

/// An entry in the table.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Of [`slot_hash`].
    hash: u32,
    at: Address,
}

/// State in memory.
#[derive(Debug)]
pub struct MemoryState {
    form: Form,
    hasher: RandomState,
    segments: Vec<HashTable<Slot>>,
    entries: Arena,
    /// How often the addresses were given anew.
    generation: u32,
    kept: Slab,
    keys: u64,
    /// Bytes of kept rows.
    kept_bytes: usize,
    /// Segment and bucket.
    sweep_at: (usize, usize),
}

impl MemoryState {
    /// Empty state.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self {
            form: Form::new(shape),
            hasher: RandomState::default(),
            segments: std::iter::repeat_with(HashTable::new).take(SEGMENTS).collect(),
            entries: Arena::default(),
            generation: 0,
            kept: Slab::default(),
            keys: 0,
            kept_bytes: 0,
            sweep_at: (0, 0),
        }
    }

    fn read<'a>(&self, entry: &'a [u8], row: &'a [u8]) -> Entry<'a> {
        Entry {
            partition: Form::partition(entry),
            row: Form::has_row(entry).then_some(row),
            written: self.form.written(entry),
            sent: Form::sent(entry),
        }
    }

    fn place(&self, at: Address) -> Place {
        Place { at, generation: self.generation }
    }

    fn bytes_at(&self, place: Place) -> Option<&[u8]> {
        if place.generation != self.generation {
            return None;
        }
        self.entries.get(place.at)
    }

    fn entry_mut(&mut self, place: Place) -> Option<&mut [u8]> {
        if place.generation != self.generation {
            return None;
        }
        self.entries.get_mut(place.at)
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
        self.kept_bytes += old.len();
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
        self.drop_kept(slot);
    }

    /// The slot of an entry that has moved.
    fn readdress(&mut self, from: Address, to: Address) {
        let Some(entry) = self.entries.get(to) else { return };
        let hash = self.hasher.hash_one(self.form.key(entry));
        let Some(segment) = self.segments.get_mut(segment_of(hash)) else { return };
        if let Some(slot) = segment.find_mut(table_hash(slot_hash(hash)), |slot| slot.at == from) {
            slot.at = to;
        }
    }

    fn drop_kept(&mut self, slot: u32) {
        self.kept_bytes -= self.kept.take(slot).bytes().min(self.kept_bytes);
    }

    /// Accounts for an entry that goes, and gives its room back.
    fn discard(&mut self, at: Address) {
        let Some(entry) = self.entries.get(at) else { return };
        let (had_row, slot) = (Form::has_row(entry), self.form.slot(entry));
        self.keys -= u64::from(had_row);
        if let Some(slot) = slot {
            self.drop_kept(slot);
        }
        self.entries.free(at);
    }

    /// Moves every entry to a new arena, so that the room of those that are gone goes back to the system.
    fn move_entries(&mut self) {
        let mut moved = Arena::default();
        for slot in self.segments.iter_mut().flat_map(HashTable::iter_mut) {
            let Some(entry) = self.entries.get(slot.at) else { continue };
            slot.at = moved.allocate(entry.len());
            if let Some(copy) = moved.get_mut(slot.at) {
                copy.copy_from_slice(entry);
            }
        }
        self.entries = moved;
        self.generation = self.generation.wrapping_add(1);
    }
}

fn segment_of(hash: u64) -> usize {
    (hash >> SEGMENT_SHIFT) as usize % SEGMENTS
}

/// What a slot keeps of the hash of its key.
fn slot_hash(hash: u64) -> u32 {
    hash as u32
}

/// The hash that the table works with: it takes the bucket from the low bits and a tag from the highest.
fn table_hash(slot_hash: u32) -> u64 {
    u64::from(slot_hash) << 32 | u64::from(slot_hash)
}

impl KeyedState for MemoryState {
    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    fn guess(&self, hash: u64) -> Option<Place> {
        let own = slot_hash(hash);
        let slot = self.segments.get(segment_of(hash))?.find(table_hash(own), |slot| slot.hash == own)?;
        Some(self.place(slot.at))
    }

    /// The ends of every entry: one may span two lines of the processor's cache.
    fn fetch(&self, places: &[Place]) {
        let entries = || places.iter().filter_map(|&place| self.bytes_at(place));
        let ends = |entry: &[u8]| entry.first().copied().unwrap_or(0) ^ entry.last().copied().unwrap_or(0);
        std::hint::black_box(entries().fold(0, |all, entry| all ^ ends(entry)));
    }

    fn find(&self, key: StateKey<'_>) -> Option<Place> {
        let own = slot_hash(key.hash);
        let is_it = |slot: &Slot| {
            slot.hash == own
                && self.entries.get(slot.at).is_some_and(|entry| self.form.key(entry) == key.bytes)
        };
        let slot = self.segments.get(segment_of(key.hash))?.find(table_hash(own), is_it)?;
        Some(self.place(slot.at))
    }

    fn find_near(&self, hint: Option<Place>, key: StateKey<'_>) -> Option<(Place, Entry<'_>)> {
        if let Some(place) = hint
            && let Some(entry) = self.bytes_at(place)
            && let (found, row) = self.form.split(entry)
            && found == key.bytes
        {
            return Some((place, self.read(entry, row)));
        }
        let place = self.find(key)?;
        Some((place, self.entry(place)?))
    }

    fn entry(&self, place: Place) -> Option<Entry<'_>> {
        let entry = self.bytes_at(place)?;
        Some(self.read(entry, self.form.row_bytes(entry)))
    }

    fn insert(&mut self, key: StateKey<'_>, row: NewRow<'_>) -> Place {
        let at = self.entries.allocate(self.form.len(key.bytes, row.row));
        if let Some(entry) = self.entries.get_mut(at) {
            self.form.write(entry, key.bytes, row);
        }
        self.keys += 1;
        let hash = slot_hash(key.hash);
        if let Some(segment) = self.segments.get_mut(segment_of(key.hash)) {
            segment.insert_unique(table_hash(hash), Slot { hash, at }, |slot| table_hash(slot.hash));
        }
        self.place(at)
    }

    fn insert_rowless(&mut self, key: StateKey<'_>, partition: PartitionId) -> Place {
        // Never swept: the deletion that is still to be emitted removes it.
        let place = self.insert(key, NewRow { partition, row: &[], now: Millis::MAX });
        self.clear_row(place, Millis::MAX);
        place
    }

    fn replace(&mut self, place: Place, row: NewRow<'_>) -> Place {
        let form = self.form;
        if form.keeps_rows() {
            self.keep_stream_row(place, row.row);
        }
        let Some(entry) = self.bytes_at(place) else { return place };
        let (had_row, start, len) = (Form::has_row(entry), form.row_start(entry), entry.len());
        self.keys += u64::from(!had_row);
        let mut at = place.at;
        if len != start + row.row.len() {
            at = self.entries.resize(place.at, start + row.row.len(), start);
        }
        if let Some(entry) = self.entries.get_mut(at) {
            form.write_row(entry, start, row);
        }
        if at != place.at {
            self.readdress(place.at, at);
        }
        self.place(at)
    }

    fn clear_row(&mut self, place: Place, now: Millis) {
        let form = self.form;
        let Some(entry) = self.entry_mut(place) else { return };
        let had_row = Form::has_row(entry);
        form.clear_row(entry, now);
        self.keys -= u64::from(had_row);
    }

    fn remove(&mut self, place: Place) {
        let Some(entry) = self.bytes_at(place) else { return };
        let hash = self.hasher.hash_one(self.form.key(entry));
        let Some(segment) = self.segments.get_mut(segment_of(hash)) else { return };
        if let Ok(slot) = segment.find_entry(table_hash(slot_hash(hash)), |slot| slot.at == place.at) {
            slot.remove();
        }
        self.discard(place.at);
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
        self.kept_bytes += kept.bytes();
        let slot = self.kept.put(kept);
        let form = self.form;
        if let Some(entry) = self.entry_mut(place) {
            form.set_slot(entry, slot);
            Form::set_sent(entry, SentMark::Sent);
        }
    }

    fn drop_partitions(&mut self, partitions: &[PartitionId]) {
        let mut segments = std::mem::take(&mut self.segments);
        let mut dropped = false;
        for table in &mut segments {
            let all = table.len();
            table.retain(|slot| {
                let entry = self.entries.get(slot.at);
                let keep = entry.is_some_and(|entry| !partitions.contains(&Form::partition(entry)));
                if !keep {
                    self.discard(slot.at);
                }
                keep
            });
            if table.len() < all {
                dropped = true;
                table.shrink_to_fit(|slot| table_hash(slot.hash));
            }
        }
        self.segments = segments;
        // Moving copies all that is left: for partitions that held nothing there is no room to win.
        if dropped {
            self.move_entries();
        }
    }

    fn sweep(&mut self, limit: Millis) {
        let (mut segment, mut bucket) = self.sweep_at;
        for _ in 0..SWEEP_BUCKETS {
            let Some(table) = self.segments.get(segment) else {
                (segment, bucket) = (0, 0);
                break;
            };
            if table.num_buckets() <= bucket || table.is_empty() {
                (segment, bucket) = (segment + 1, 0);
                continue;
            }
            if let Some(at) = table.get_bucket(bucket).map(|slot| slot.at)
                && self.entries.get(at).is_some_and(|entry| self.form.written(entry) < limit)
            {
                self.remove(self.place(at));
            }
            bucket += 1;
        }
        self.sweep_at = (segment, bucket);
    }

    fn counts(&self) -> StateCounts {
        let tables: usize = self.segments.iter().map(HashTable::allocation_size).sum();
        StateCounts { keys: self.keys, bytes: (self.entries.allocated() + self.kept_bytes + tables) as u64 }
    }
}

#[cfg(test)]
mod tests;
