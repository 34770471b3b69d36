//! Batches between normalization and emission, in order.
//!
//! Several are under way, each waiting for its own lookups, but they are
//! emitted strictly in the order in which they were normalized: so what is
//! known to be sent for a key is right whenever the next change of that key is
//! emitted.

use std::collections::VecDeque;

use crate::clock::Millis;
use crate::error::Error;
use crate::lookup::JoinBatch;
use crate::model::{Epoch, PartitionId};
use crate::normalize::Changes;

/// Batches in flight above which a shard accepts no more records: enough to hide a lookup behind the
/// normalization of what follows, few enough that memory and the time to drain stay small.
pub const FLIGHTS_MAX: usize = 8;
/// Emptied batches kept for their buffers.
const SPARE_MAX: usize = FLIGHTS_MAX;
/// A batch whose buffers are larger than this is given back rather than kept: after a row that matched thousands of
/// dimension rows.
const SPARE_BYTES_MAX: usize = 4 << 20;

/// Which joined rows belong to a change: numbers of its stream rows in the [`JoinBatch`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sources {
    pub after: Option<u32>,
    pub before: Option<u32>,
    /// Of a partition that is gone: nothing is emitted.
    pub dropped: bool,
}

/// One batch.
#[derive(Debug, Default)]
pub(super) struct Flight {
    pub id: u64,
    pub changes: Changes,
    /// One per change.
    pub sources: Vec<Sources>,
    pub join: JoinBatch,
    /// A record after the last change that cannot be processed: the job ends there.
    pub fault: Option<Error>,
    /// When it was normalized.
    pub started: Millis,
}

impl Flight {
    /// Whether it has nothing to emit.
    pub fn is_empty(&self) -> bool {
        self.changes.list.is_empty() && self.fault.is_none()
    }

    /// Marks the changes of these partitions as dropped.
    pub fn release(&mut self, partitions: &[PartitionId]) {
        for (change, sources) in self.changes.list.iter().zip(&mut self.sources) {
            sources.dropped |= partitions.contains(&change.origin.partition);
        }
    }
}

/// What stands in line.
#[derive(Debug)]
pub(super) enum Item {
    Flight(Box<Flight>),
    Barrier(Epoch),
}

/// The line, and emptied batches to use again.
#[derive(Debug, Default)]
pub(super) struct Flights {
    line: VecDeque<Item>,
    count: usize,
    #[expect(clippy::vec_box, reason = "batches move in and out of the line; the box is what is kept")]
    spare: Vec<Box<Flight>>,
    next: u64,
}

impl Flights {
    /// An empty batch for `lookups` lookups.
    pub fn open(&mut self, lookups: usize, now: Millis) -> Box<Flight> {
        let mut flight = self.spare.pop().unwrap_or_default();
        self.next += 1;
        flight.id = self.next;
        flight.started = now;
        flight.changes.arena.clear();
        flight.changes.list.clear();
        flight.sources.clear();
        flight.join.reset(self.next, lookups);
        flight.fault = None;
        flight
    }

    pub fn push(&mut self, flight: Box<Flight>) {
        self.count += 1;
        self.line.push_back(Item::Flight(flight));
    }

    pub fn push_barrier(&mut self, epoch: Epoch) {
        self.line.push_back(Item::Barrier(epoch));
    }

    pub fn front(&self) -> Option<&Item> {
        self.line.front()
    }

    pub fn pop(&mut self) -> Option<Item> {
        let item = self.line.pop_front();
        self.count -= usize::from(matches!(item, Some(Item::Flight(_))));
        item
    }

    /// Keeps the buffers of a batch that is done.
    pub fn recycle(&mut self, mut flight: Box<Flight>) {
        // Answers go back to the cache alone.
        flight.join.reset(0, 0);
        let bytes = flight.changes.arena.capacity() + flight.join.spare_bytes();
        if self.spare.len() < SPARE_MAX && bytes <= SPARE_BYTES_MAX {
            self.spare.push(flight);
        }
    }

    /// The batch with this number.
    pub fn find_mut(&mut self, id: u64) -> Option<&mut Flight> {
        self.iter_mut().find(|flight| flight.id == id)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flight> {
        self.line.iter_mut().filter_map(|item| match item {
            Item::Flight(flight) => Some(&mut **flight),
            Item::Barrier(_) => None,
        })
    }

    /// Number of batches in flight.
    pub fn len(&self) -> usize {
        self.count
    }

    /// When the oldest batch in flight was normalized.
    pub fn oldest(&self) -> Option<Millis> {
        self.line.iter().find_map(|item| match item {
            Item::Flight(flight) => Some(flight.started),
            Item::Barrier(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Slice;

    #[test]
    fn large_buffers_are_given_back() {
        let kept_of = |rows: usize| {
            let mut flights = Flights::default();
            let mut flight = flights.open(1, 0);
            (0..rows).for_each(|_| _ = flight.join.push(Slice::EMPTY));
            flights.recycle(flight);
            flights.open(1, 0).join.spare_bytes()
        };
        assert!((1..SPARE_BYTES_MAX).contains(&kept_of(256)));
        assert_eq!(kept_of(1_000_000), 0);
    }
}
