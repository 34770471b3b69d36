//! The epochs that are on their way, oldest first.

use std::collections::{BTreeMap, VecDeque};

use crate::model::{Epoch, PartitionId, ShardId};

/// Epochs on their way at the same time. More would not help: while this many wait for slow
/// lookups or a slow sink, a new one could only wait behind them.
pub const EPOCHS_MAX: usize = 8;

/// Next offset of each partition.
pub(super) type Offsets = BTreeMap<PartitionId, i64>;

/// One epoch whose barrier is on its way.
#[derive(Debug)]
struct Open {
    epoch: Epoch,
    offsets: Offsets,
    waiting: Vec<bool>,
}

/// Epochs in order; the oldest that is not done holds back all after it.
#[derive(Debug)]
pub(super) struct Epochs {
    shards: usize,
    last: u64,
    open: VecDeque<Open>,
}

impl Epochs {
    pub(super) fn new(shards: usize) -> Self {
        Self { shards, last: 0, open: VecDeque::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn is_full(&self) -> bool {
        EPOCHS_MAX <= self.open.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Opens an epoch for everything that was handed over so far.
    pub(super) fn open(&mut self, handed: &Offsets) -> Epoch {
        self.last += 1;
        let epoch = Epoch(self.last);
        self.open.push_back(Open { epoch, offsets: handed.clone(), waiting: vec![true; self.shards] });
        epoch
    }

    /// A shard is done with an epoch: the offsets that became safe, if any epoch was completed by it.
    pub(super) fn done(&mut self, shard: ShardId, epoch: Epoch) -> Option<(Epoch, Offsets)> {
        let waits =
            self.open.iter_mut().find(|open| open.epoch == epoch)?.waiting.get_mut(shard.0 as usize)?;
        *waits = false;
        let mut newest = None;
        while self.open.front().is_some_and(|open| !open.waiting.contains(&true)) {
            newest = self.open.pop_front().map(|open| (open.epoch, open.offsets));
        }
        newest
    }

    /// Forgets the offsets of a partition in every epoch.
    pub(super) fn forget(&mut self, partition: PartitionId) {
        for open in &mut self.open {
            open.offsets.remove(&partition);
        }
    }
}
