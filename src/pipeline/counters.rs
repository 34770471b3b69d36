//! What a worker has counted since it began.

use crate::lookup::LookupCounters;
use crate::normalize::NormalizeCounters;
use crate::state::StateCounts;

/// A snapshot of a worker's counters. Totals since the worker began; sizes as of now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Rows that came in, by what they say.
    pub rows_in: RowsIn,
    /// What normalization made of them.
    pub normalize: NormalizeCounters,
    /// One per lookup of the plan.
    pub lookups: Vec<LookupCounters>,
    /// Changes whose new row gave no output row: inner join without a match, or `where`.
    pub unmatched: u64,
    /// Rows for the sink, by kind in the order of `RowKind::ALL`.
    pub rows_out: [u64; 4],
    /// Size of the keyed state.
    pub state: StateCounts,
    /// Batches between normalization and emission.
    pub in_flight: u64,
}

/// Rows that came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowsIn {
    /// Records, decodable or not.
    pub records: u64,
    /// Rows that say what a key is now.
    pub upserts: u64,
    /// Rows that say that a key is gone.
    pub deletes: u64,
    /// Rows of append-only sources.
    pub inserts: u64,
    /// Rows whose value names another key than their record.
    pub key_mismatches: u64,
    /// Of these, rows handed on to the shard that owns the key.
    pub forwarded: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Empty values that the definition says to skip.
    pub skipped: u64,
    /// Keys, values and rows dropped under `ignore-parse-errors`.
    pub dropped: u64,
}

/// The sum over shards; lookups are left out, because their counts are shown by shard.
impl std::ops::AddAssign<&Self> for Counters {
    fn add_assign(&mut self, other: &Self) {
        self.rows_in += other.rows_in;
        self.normalize += other.normalize;
        self.unmatched += other.unmatched;
        self.rows_out.iter_mut().zip(other.rows_out).for_each(|(sum, rows)| *sum += rows);
        self.state.keys += other.state.keys;
        self.state.bytes += other.state.bytes;
        self.in_flight += other.in_flight;
    }
}

impl std::ops::AddAssign for RowsIn {
    fn add_assign(&mut self, other: Self) {
        self.records += other.records;
        self.upserts += other.upserts;
        self.deletes += other.deletes;
        self.inserts += other.inserts;
        self.key_mismatches += other.key_mismatches;
        self.forwarded += other.forwarded;
        self.bytes += other.bytes;
        self.skipped += other.skipped;
        self.dropped += other.dropped;
    }
}
