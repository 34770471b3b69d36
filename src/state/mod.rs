//! Keyed state: what a shard remembers of every primary key.
//!
//! Two things, written at two moments. ChangelogNormalize writes the **last
//! row** of a key as soon as a record is read. Emission writes **what the sink
//! was sent** for it when the row's lookups are done, which may be several
//! batches later. An entry whose row was deleted therefore lives on until the
//! deletion has been emitted.
//!
//! [`KeyedState`] is what the data path needs of a backend; [`MemoryState`]
//! keeps everything in this process and is rebuilt from the topic on
//! assignment.

mod memory;
mod packed;
mod sent;

pub use memory::{MemoryState, Shape};
pub use sent::{SentMark, SentRows, SharedRow};

use crate::clock::Millis;
use crate::model::PartitionId;

/// A primary key with its hash, so that it is hashed once per row.
#[derive(Clone, Copy, Debug)]
pub struct StateKey<'a> {
    /// Of [`KeyedState::hash`].
    pub hash: u64,
    /// The packed key.
    pub bytes: &'a [u8],
}

/// Where an entry stands. Good until the entry is replaced or removed; [`KeyedState::find_near`] takes an
/// older one as a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Address of the entry.
    at: u32,
    /// How often all addresses had changed.
    generation: u32,
}

/// What is known of a key.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The partition its row came from.
    pub partition: PartitionId,
    /// The last row; `None` after a delete that is not emitted yet.
    pub row: Option<&'a [u8]>,
    /// When the row was last written; 0 unless the state keeps times.
    pub written: Millis,
    /// What the sink was sent.
    pub sent: SentMark,
}

/// A row to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewRow<'a> {
    /// The partition it came from.
    pub partition: PartitionId,
    /// The packed row.
    pub row: &'a [u8],
    /// When it is written.
    pub now: Millis,
}

/// Size of the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Keys that have a row.
    pub keys: u64,
    /// Bytes of rows, keys and tables.
    pub bytes: u64,
}

/// State of one shard. Single-threaded: a shard owns its state.
pub trait KeyedState: Send + std::fmt::Debug {
    /// Hash of a packed key.
    fn hash(&self, key: &[u8]) -> u64;

    /// Where a key of this hash is, without looking at any entry: a hint for [`KeyedState::find_near`].
    fn guess(&self, hash: u64) -> Option<Place>;

    /// Touches the entries at these places, so that they are near when they are looked at.
    fn fetch(&self, places: &[Place]);

    /// The entry of a key.
    fn find(&self, key: StateKey<'_>) -> Option<Place>;

    /// As [`KeyedState::find`], looking at `hint` first; and what is known of the key.
    fn find_near(&self, hint: Option<Place>, key: StateKey<'_>) -> Option<(Place, Entry<'_>)>;

    /// What is known; `None` if the place is not an entry's any more.
    fn entry(&self, place: Place) -> Option<Entry<'_>>;

    /// Stores a key that has no entry; nothing was sent for it.
    fn insert(&mut self, key: StateKey<'_>, row: NewRow<'_>) -> Place;

    /// An entry without a row, for what is about to be marked as sent: the row was deleted since, and that
    /// deletion is still to be emitted.
    fn insert_rowless(&mut self, key: StateKey<'_>, partition: PartitionId) -> Place;

    /// Stores a new last row; what was sent stays. Returns where the entry stands from now on.
    fn replace(&mut self, place: Place, row: NewRow<'_>) -> Place;

    /// The row is gone; what was sent stays until it is emitted.
    fn clear_row(&mut self, place: Place, now: Millis);

    /// Removes an entry.
    fn remove(&mut self, place: Place);

    /// Notes what was sent. `Nothing` removes an entry that has no row.
    fn mark(&mut self, place: Place, sent: SentMark);

    /// The rows that were sent, for sinks that need them again.
    fn sent_rows(&self, place: Place) -> Option<SentRows<'_>>;

    /// Notes the rows that were sent, and marks the entry as sent.
    fn set_sent_rows(&mut self, place: Place, rows: SentRows<'_>);

    /// Drops every key of these partitions.
    fn drop_partitions(&mut self, partitions: &[PartitionId]);

    /// Looks at some entries and removes those last written before `limit`; called again and again it
    /// visits all.
    fn sweep(&mut self, limit: Millis);

    /// Size of the state.
    fn counts(&self) -> StateCounts;
}
