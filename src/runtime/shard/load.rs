//! Records by key group: what shows whether keys are spread evenly.
//!
//! The shard counts in plain numbers of its own, one addition per record, and
//! puts them up now and then; nobody else writes, so no lock is needed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::keygroup::GroupRange;
use crate::model::RecordBatch;

/// Records of one shard by key group, since it began.
#[derive(Debug)]
pub(super) struct GroupLoad {
    first: u16,
    counts: Box<[u64]>,
}

impl GroupLoad {
    pub(super) fn new(range: GroupRange) -> Self {
        Self { first: range.first, counts: vec![0; range.len()].into() }
    }

    /// Counts the records of a batch; those of other shards' groups (records without a key) have no place.
    pub(super) fn add(&mut self, batch: &RecordBatch) {
        for record in &batch.records {
            let at = usize::from(record.group.wrapping_sub(self.first));
            if let Some(count) = self.counts.get_mut(at) {
                *count += 1;
            }
        }
    }

    /// Puts the counts up.
    pub(super) fn publish(&self, board: &[AtomicU64]) {
        for (count, place) in self.counts.iter().zip(board) {
            place.store(*count, Ordering::Relaxed);
        }
    }
}
