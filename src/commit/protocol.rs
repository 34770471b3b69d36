//! The decisions: when a barrier, a commit and a release are due.

use crate::model::{Epoch, PartitionId, ShardId};

use super::epochs::{Epochs, Offsets};

/// How often the last commit of a job that ends is tried.
const LAST_COMMIT_TRIES: u32 = 3;

/// Something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The commit interval has passed.
    Tick,
    /// A shard has passed the epoch's barrier, and its part of the sink has acknowledged everything before it.
    Done(ShardId, Epoch),
    /// Partitions go to another member once we let them go.
    Revoke(Vec<PartitionId>),
    /// Partitions belong to someone else already.
    Lost(Vec<PartitionId>),
    /// The commit of the last [`Action::Commit`] was acknowledged.
    Committed,
    /// It failed; the offsets come again with a later commit.
    CommitFailed,
    /// Nothing more will be handed over: end of input, or a request to stop.
    Finish,
}

/// Something to do, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send the barrier of this epoch to every shard, behind everything handed over so far.
    Barrier(Epoch),
    /// Commit these next offsets; answer with [`Event::Committed`] or [`Event::CommitFailed`].
    Commit(Vec<(PartitionId, i64)>),
    /// Drop the state of these partitions and give them back to the group.
    Release(Vec<PartitionId>),
    /// The final epoch is over.
    Finished {
        /// Whether its offsets were committed.
        committed: bool,
    },
}

/// The protocol's state. One per process.
#[derive(Debug)]
pub struct Protocol {
    epochs: Epochs,
    /// Next offset per partition, as handed to the shards.
    handed: Offsets,
    /// Something was handed over since the last barrier.
    dirty: bool,
    /// Offsets of epochs that are done.
    safe: Offsets,
    /// Newest epoch that is done, with all before it.
    done: Epoch,
    /// Offsets whose commit was acknowledged.
    committed: Offsets,
    /// The commit that is under way.
    committing: Option<Offsets>,
    /// Partitions to release once this epoch is done and committed; `None` until there is room for it.
    releases: Vec<(Option<Epoch>, Vec<PartitionId>)>,
    /// The last epoch (`None` until there is room for it), once the end is known, and the tries left for its commit.
    finish: Option<(Option<Epoch>, u32)>,
    finished: bool,
}

impl Protocol {
    /// A protocol for `shards` shards.
    #[must_use]
    pub fn new(shards: u16) -> Self {
        Self {
            epochs: Epochs::new(usize::from(shards)),
            handed: Offsets::new(),
            dirty: false,
            safe: Offsets::new(),
            done: Epoch(0),
            committed: Offsets::new(),
            committing: None,
            releases: Vec::new(),
            finish: None,
            finished: false,
        }
    }

    /// A partition is ours; `committed` is what the group has committed for it.
    pub fn assigned(&mut self, partition: PartitionId, committed: Option<i64>) {
        self.forget(partition);
        if let Some(offset) = committed {
            self.committed.insert(partition, offset);
        }
    }

    /// Everything of `partition` below `next` was handed over.
    pub fn handed(&mut self, partition: PartitionId, next: i64) {
        let known = self.handed.get(&partition).or_else(|| self.committed.get(&partition));
        // Below the committed offset state is rebuilt: a commit would move the group backwards.
        if known.is_none_or(|&known| known < next) {
            self.handed.insert(partition, next);
            self.dirty = true;
        }
    }

    /// Offset that the group has committed for `partition`, as far as we know.
    #[must_use]
    pub fn committed(&self, partition: PartitionId) -> Option<i64> {
        self.committed.get(&partition).copied()
    }

    /// Whether rows of these partitions may be on their way still: they were handed over, and no epoch that is done
    /// covers them.
    #[must_use]
    pub fn is_unsettled(&self, partitions: &[PartitionId]) -> bool {
        partitions.iter().any(|partition| {
            let settled = self.safe.get(partition).or_else(|| self.committed.get(partition));
            self.handed.get(partition).is_some_and(|handed| settled.is_none_or(|settled| settled < handed))
        })
    }

    /// Whether there are partitions besides these.
    #[must_use]
    pub fn has_others(&self, partitions: &[PartitionId]) -> bool {
        self.handed.keys().any(|partition| !partitions.contains(partition))
    }

    /// Epochs that are on their way.
    #[must_use]
    pub fn open_epochs(&self) -> usize {
        self.epochs.len()
    }

    /// Whether nothing is on its way and nothing is left to commit.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.epochs.is_empty() && !self.dirty && self.committing.is_none() && self.due().is_empty()
    }

    /// Takes what happened and appends what to do.
    pub fn step(&mut self, event: Event, actions: &mut Vec<Action>) {
        match event {
            Event::Tick if self.dirty && !self.epochs.is_full() && self.finish.is_none() => {
                self.barrier(actions);
            }
            Event::Tick => {}
            Event::Done(shard, epoch) => {
                if let Some((epoch, offsets)) = self.epochs.done(shard, epoch) {
                    self.done = epoch;
                    self.safe.extend(offsets);
                }
            }
            Event::Revoke(partitions) => self.releases.push((None, partitions)),
            Event::Lost(partitions) => self.lose(&partitions, actions),
            Event::Committed => {
                self.committed.extend(self.committing.take().into_iter().flatten());
            }
            Event::CommitFailed => self.commit_failed(),
            Event::Finish if self.finish.is_none() => self.finish = Some((None, LAST_COMMIT_TRIES)),
            Event::Finish => {}
        }
        self.open_last_epochs(actions);
        self.follow_up(actions);
    }

    /// Opens the epoch that partitions which leave, or the end, wait for. Sinks count on it that no more epochs are
    /// open than [`EPOCHS_MAX`](super::EPOCHS_MAX), so it waits for room itself: it could only end behind the others.
    fn open_last_epochs(&mut self, actions: &mut Vec<Action>) {
        let releases = self.releases.iter().any(|(epoch, _)| epoch.is_none());
        let finish = matches!(self.finish, Some((None, _)));
        if self.epochs.is_full() || !(releases || finish) {
            return;
        }
        let opened = self.barrier(actions);
        for (epoch, _) in &mut self.releases {
            epoch.get_or_insert(opened);
        }
        if let Some((epoch, _)) = &mut self.finish {
            epoch.get_or_insert(opened);
        }
    }

    /// Whether an epoch is done, with all before it.
    fn is_over(&self, epoch: Option<Epoch>) -> bool {
        epoch.is_some_and(|epoch| epoch <= self.done)
    }

    fn barrier(&mut self, actions: &mut Vec<Action>) -> Epoch {
        self.dirty = false;
        let epoch = self.epochs.open(&self.handed);
        actions.push(Action::Barrier(epoch));
        epoch
    }

    fn lose(&mut self, partitions: &[PartitionId], actions: &mut Vec<Action>) {
        for partition in partitions {
            self.forget(*partition);
        }
        for (_, leaving) in &mut self.releases {
            leaving.retain(|partition| !partitions.contains(partition));
        }
        self.releases.retain(|(_, leaving)| !leaving.is_empty());
        actions.push(Action::Release(partitions.to_vec()));
    }

    fn forget(&mut self, partition: PartitionId) {
        self.epochs.forget(partition);
        self.handed.remove(&partition);
        self.safe.remove(&partition);
        self.committed.remove(&partition);
        if let Some(committing) = &mut self.committing {
            committing.remove(&partition);
        }
    }

    /// A commit failed. What waits for it does not wait for ever: partitions that leave go without
    /// (their next owner emits a few rows again), and the last commit is tried a few times.
    fn commit_failed(&mut self) {
        self.committing = None;
        let over = self.releases.iter().filter(|(epoch, _)| self.is_over(*epoch));
        let leaving: Vec<_> = over.flat_map(|(_, leaving)| leaving).copied().collect();
        self.safe.retain(|partition, _| !leaving.contains(partition));
        if self.finish.is_some_and(|(epoch, _)| self.is_over(epoch))
            && let Some((_, tries)) = &mut self.finish
        {
            *tries = tries.saturating_sub(1);
        }
    }

    /// Offsets that are safe and not committed.
    fn due(&self) -> Offsets {
        let news = |(partition, offset): &(&PartitionId, &i64)| {
            self.committed.get(*partition).is_none_or(|committed| committed < *offset)
        };
        self.safe.iter().filter(news).map(|(partition, offset)| (*partition, *offset)).collect()
    }

    /// Whether the last commit may be tried once more.
    fn may_commit(&self) -> bool {
        self.finish.is_none_or(|(_, tries)| 0 < tries)
    }

    fn follow_up(&mut self, actions: &mut Vec<Action>) {
        if self.committing.is_some() || self.finished {
            return;
        }
        let due = self.due();
        if !due.is_empty() && self.may_commit() {
            actions
                .push(Action::Commit(due.iter().map(|(partition, offset)| (*partition, *offset)).collect()));
            self.committing = Some(due);
            return;
        }
        let releases = std::mem::take(&mut self.releases);
        let (ready, waiting) = releases.into_iter().partition::<Vec<_>, _>(|(epoch, _)| self.is_over(*epoch));
        self.releases = waiting;
        for (_, partitions) in ready {
            for partition in &partitions {
                self.forget(*partition);
            }
            actions.push(Action::Release(partitions));
        }
        if self.finish.is_some_and(|(epoch, _)| self.is_over(epoch)) {
            self.finished = true;
            actions.push(Action::Finished { committed: due.is_empty() });
        }
    }
}
