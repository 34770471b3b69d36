//! What the threads of a running job put up for others to see.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Millis;
use crate::keygroup::KeyGroups;
use crate::model::{ShardId, TopicPartition};
use crate::source::Restore;
use crate::telemetry::{Elapsed, Histogram, Pulse};

/// What the job is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Connecting and checking.
    #[default]
    Starting,
    /// Joining the group, or rebuilding the state of assigned partitions.
    Restoring,
    /// Everything that is assigned is restored.
    Running,
    /// Asked to stop: finishing what was read.
    Draining,
    /// Over.
    Stopped,
}

impl State {
    /// Every state, in the order in which a job goes through them.
    pub const ALL: [Self; 5] =
        [Self::Starting, Self::Restoring, Self::Running, Self::Draining, Self::Stopped];

    /// The word in status and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Restoring => "restoring",
            Self::Running => "running",
            Self::Draining => "draining",
            Self::Stopped => "stopped",
        }
    }
}

/// Where an assigned partition stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionView {
    /// Its name.
    pub name: TopicPartition,
    /// Next offset to read.
    pub position: i64,
    /// Committed offset of the group.
    pub committed: Option<i64>,
    /// One past the newest offset, as of the newest fetch.
    pub end: Option<i64>,
    /// Timestamp of a record in the newest read that had any.
    pub timestamp: Option<Millis>,
    /// Progress of the rebuild, until it is over.
    pub restore: Option<Restore>,
}

impl PartitionView {
    /// Records between our position and the end.
    #[must_use]
    pub fn lag(&self) -> Option<i64> {
        self.end.map(|end| (end - self.position).max(0))
    }
}

/// The source's part of the board.
#[derive(Clone, Debug, Default)]
pub struct SourceView {
    /// What the job is doing.
    pub state: State,
    /// Assigned partitions.
    pub partitions: Vec<PartitionView>,
    /// Times that partitions were assigned, revoked and lost.
    pub rebalances: [u64; 3],
    /// Commits that were acknowledged, and that failed.
    pub commits: [u64; 2],
    /// When the last commit was acknowledged.
    pub last_commit: Option<Millis>,
    /// Time from asking for a commit to its acknowledgement.
    pub commit_seconds: Histogram,
    /// Epochs that are not done.
    pub open_epochs: usize,
    /// When a shard's part of the sink last acknowledged an epoch.
    pub last_durable: Option<Millis>,
    /// A shard's queue is full and nothing is read.
    pub backpressured: bool,
}

/// A shard's part of the board.
#[derive(Debug)]
pub struct ShardView<C> {
    pub(super) pulse: Arc<Pulse>,
    pub(super) records: AtomicU64,
    pub(super) queued: AtomicU64,
    pub(super) busy: Elapsed,
    pub(super) held: Elapsed,
    /// Records by key group, from the first that the shard owns.
    pub(super) groups: Box<[AtomicU64]>,
    pub(super) counters: Mutex<Option<C>>,
}

impl<C> ShardView<C> {
    fn new(groups: usize) -> Self {
        Self {
            pulse: Arc::default(),
            records: AtomicU64::new(0),
            queued: AtomicU64::new(0),
            busy: Elapsed::default(),
            held: Elapsed::default(),
            groups: (0..groups).map(|_| AtomicU64::new(0)).collect(),
            counters: Mutex::new(None),
        }
    }
}

impl<C: Clone> ShardView<C> {
    /// Records handed to the shard.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    /// Batches that wait in its queue.
    #[must_use]
    pub fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

    /// Time it spent computing.
    #[must_use]
    pub fn busy(&self) -> Duration {
        self.busy.total()
    }

    /// Time it took no records although it had some: its batches in flight waited for lookups, or another
    /// shard had no room for its messages. Counted when a wait is over.
    #[must_use]
    pub fn held(&self) -> Duration {
        self.held.total()
    }

    /// Time it waited for the sink to take rows.
    #[must_use]
    pub fn waited_for_sink(&self) -> Duration {
        self.pulse.waited()
    }

    /// Records by key group, from the first that it owns.
    #[must_use]
    pub fn groups(&self) -> Vec<u64> {
        self.groups.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    /// When its thread last went round its loop; 0 before it began.
    #[must_use]
    pub fn last_pulse(&self) -> Millis {
        self.pulse.last()
    }

    /// Its newest counters.
    #[must_use]
    pub fn counters(&self) -> Option<C> {
        lock(&self.counters).clone()
    }
}

/// The whole board. One per process, made before the job is.
#[derive(Debug)]
pub struct Board<C> {
    pub(super) source: Mutex<SourceView>,
    pub(super) pulse: Pulse,
    /// Of the I/O runtime.
    pub(super) io: Pulse,
    /// Time that the source read nothing because a shard's queue was full.
    pub(super) backpressure: Elapsed,
    pub(super) groups: KeyGroups,
    pub(super) shards: Vec<ShardView<C>>,
}

impl<C: Clone> Board<C> {
    pub(super) fn new(groups: KeyGroups) -> Self {
        let shards = (0..groups.parallelism()).map(ShardId);
        Self {
            source: Mutex::default(),
            pulse: Pulse::default(),
            io: Pulse::default(),
            backpressure: Elapsed::default(),
            groups,
            shards: shards.map(|shard| ShardView::new(groups.range(shard).len())).collect(),
        }
    }

    /// Time that the source read nothing because a shard's queue was full.
    #[must_use]
    pub fn backpressured(&self) -> Duration {
        self.backpressure.total()
    }

    /// The source's part, now.
    #[must_use]
    pub fn source(&self) -> SourceView {
        lock(&self.source).clone()
    }

    /// The shards' parts.
    #[must_use]
    pub fn shards(&self) -> &[ShardView<C>] {
        &self.shards
    }

    /// When the source's thread last went round its loop; 0 before it began.
    #[must_use]
    pub fn source_pulse(&self) -> Millis {
        self.pulse.last()
    }

    /// The threads of the source and the shards are about to be started: one that never goes round its loop stands
    /// still from now on.
    pub(super) fn begin(&self, now: Millis) {
        self.pulse.beat(now);
        self.shards.iter().for_each(|shard| shard.pulse.beat(now));
    }

    /// When each thread and the I/O runtime last showed that they live; who has not begun is left out.
    #[must_use]
    pub fn pulses(&self) -> Vec<(String, Millis)> {
        let shards = self.shards.iter().enumerate();
        let shards = shards.map(|(number, shard)| (format!("shard {number}"), shard.pulse.last()));
        let others = [("source".to_owned(), self.pulse.last()), ("I/O runtime".to_owned(), self.io.last())];
        others.into_iter().chain(shards).filter(|(_, last)| *last != 0).collect()
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut SourceView)) {
        change(&mut lock(&self.source));
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_never_goes_round_its_loop_is_seen_to_stand_still() {
        let board: Board<()> = Board::new(KeyGroups::new(2, None).unwrap());
        assert_eq!(board.pulses(), [], "nothing is expected of a job that still connects");
        board.begin(7);
        let names = ["source", "shard 0", "shard 1"];
        assert_eq!(board.pulses(), names.map(|name| (name.to_owned(), 7)));
    }
}
