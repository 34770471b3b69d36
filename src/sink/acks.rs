//! How a sink says that an epoch is durable, and counts what is not yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use crate::commit::EPOCHS_MAX;
use crate::error::{Error, Result};
use crate::model::{Epoch, ShardId};

/// What a sink tells the coordinator.
#[derive(Debug)]
pub enum Ack {
    /// Everything that the shard wrote in this epoch is durable. Each epoch is announced, in whatever order: an
    /// empty one may be before one that still waits, and says nothing about it.
    Durable(ShardId, Epoch),
    /// A row was refused after it was taken.
    Failed(Error),
    /// The reader of the output is gone (a closed pipe): the job ends, and nothing is wrong.
    Closed,
}

/// The sink's end of the line to the coordinator. Clones share it.
#[derive(Clone, Debug)]
pub struct Acks(Sender<Ack>);

/// The coordinator's end.
pub type AckReceiver = Receiver<Ack>;

impl Acks {
    /// A line with room for every answer that `shards` shards can owe at a time (open epochs),
    /// and a failure or two: a sink never waits for the coordinator.
    #[must_use]
    pub fn line(shards: u16) -> (Self, AckReceiver) {
        let (sender, receiver) = bounded(usize::from(shards) * (EPOCHS_MAX + 2) + 16);
        (Self(sender), receiver)
    }

    /// Everything that `shard` wrote in `epoch` is durable.
    pub fn durable(&self, shard: ShardId, epoch: Epoch) {
        self.send(Ack::Durable(shard, epoch));
    }

    /// A row was refused after it was taken: the job stops.
    pub fn failed(&self, error: Error) {
        self.send(Ack::Failed(error));
    }

    /// Nobody reads the output any more: the job ends.
    pub fn closed(&self) {
        self.send(Ack::Closed);
    }

    fn send(&self, ack: Ack) {
        // Full: only repeated failures can fill it, and the first of them is in. Closed: the job is over.
        if let Err(TrySendError::Full(Ack::Durable(shard, epoch))) = self.0.try_send(ack) {
            tracing::error!(?shard, ?epoch, "no room for an acknowledgement");
        }
    }
}

/// Slots of [`Deliveries`]: more than epochs can be on their way.
const SLOTS: usize = EPOCHS_MAX * 2;
const _: () = assert!(SLOTS.is_power_of_two());

/// Counts, for one shard, the rows of each epoch that are not acknowledged yet, without a lock:
/// the shard adds per batch, whoever receives delivery reports subtracts.
///
/// A slot starts at one, the writer's own share, taken back when the epoch
/// ends. So the count reaches zero exactly once, and whoever takes it there
/// announces the epoch.
#[derive(Debug)]
pub struct Deliveries {
    shard: ShardId,
    acks: Acks,
    slots: [Slot; SLOTS],
}

#[derive(Debug)]
struct Slot {
    open: AtomicU64,
    epoch: AtomicU64,
}

impl Deliveries {
    /// Nothing on its way.
    #[must_use]
    pub fn new(shard: ShardId, acks: Acks) -> Arc<Self> {
        let slots = std::array::from_fn(|_| Slot { open: AtomicU64::new(1), epoch: AtomicU64::new(0) });
        Arc::new(Self { shard, acks, slots })
    }

    fn slot(&self, index: usize) -> &Slot {
        &self.slots[index % SLOTS]
    }

    /// The slot of an epoch: what a ticket carries.
    #[must_use]
    pub fn slot_of(epoch: Epoch) -> usize {
        usize::try_from(epoch.0 % SLOTS as u64).unwrap_or(0)
    }

    /// `rows` more are on their way in this slot's epoch.
    pub fn sent(&self, slot: usize, rows: u64) {
        self.slot(slot).open.fetch_add(rows, Ordering::Relaxed);
    }

    /// `rows` were acknowledged.
    pub fn delivered(&self, slot: usize, rows: u64) {
        let slot = self.slot(slot);
        if slot.open.fetch_sub(rows, Ordering::AcqRel) == rows {
            self.complete(slot);
        }
    }

    /// No further row of `epoch` will be sent.
    pub fn end(&self, epoch: Epoch) {
        let slot = self.slot(Self::slot_of(epoch));
        slot.epoch.store(epoch.0, Ordering::Relaxed);
        if slot.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.complete(slot);
        }
    }

    /// Zero rows are on their way and none will come: the slot is free for a later epoch.
    fn complete(&self, slot: &Slot) {
        let epoch = Epoch(slot.epoch.load(Ordering::Relaxed));
        slot.open.store(1, Ordering::Release);
        self.acks.durable(self.shard, epoch);
    }
}

/// What a delivery report carries back: shard and slot in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Which shard sent the row.
    pub shard: ShardId,
    /// Slot of its epoch.
    pub slot: usize,
}

impl Ticket {
    /// As a word that librdkafka carries along.
    #[must_use]
    pub fn pack(self) -> usize {
        usize::from(self.shard.0) * SLOTS + self.slot
    }

    /// The ticket in a word made by [`Ticket::pack`].
    ///
    /// # Errors
    /// A word that was not (a bug).
    pub fn unpack(word: usize) -> Result<Self> {
        let shard = u16::try_from(word / SLOTS).map_err(|_| Error::bug("a foreign delivery report"))?;
        Ok(Self { shard: ShardId(shard), slot: word % SLOTS })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durable(acks: &AckReceiver) -> Vec<Epoch> {
        acks.try_iter()
            .map(|ack| match ack {
                Ack::Durable(_, epoch) => epoch,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn an_epoch_is_durable_when_ended_and_delivered_in_either_order() {
        let (acks, line) = Acks::line(1);
        let deliveries = Deliveries::new(ShardId(0), acks);
        let (one, two) = (Deliveries::slot_of(Epoch(1)), Deliveries::slot_of(Epoch(2)));
        deliveries.sent(one, 2);
        deliveries.delivered(one, 2);
        assert_eq!(durable(&line), []);
        deliveries.sent(one, 1);
        deliveries.end(Epoch(1));
        deliveries.sent(two, 1);
        deliveries.delivered(two, 1);
        assert_eq!(durable(&line), []);
        deliveries.delivered(one, 1);
        assert_eq!(durable(&line), [Epoch(1)]);
        deliveries.end(Epoch(2));
        assert_eq!(durable(&line), [Epoch(2)]);
    }

    #[test]
    fn slots_are_used_again_and_empty_epochs_are_durable_at_once() {
        let (acks, line) = Acks::line(1);
        let deliveries = Deliveries::new(ShardId(0), acks);
        for epoch in (1..=3 * SLOTS as u64).map(Epoch) {
            deliveries.end(epoch);
            assert_eq!(durable(&line), [epoch]);
        }
    }

    #[test]
    fn tickets_survive_the_trip() {
        for ticket in
            [Ticket { shard: ShardId(0), slot: 0 }, Ticket { shard: ShardId(u16::MAX), slot: SLOTS - 1 }]
        {
            assert_eq!(Ticket::unpack(ticket.pack()).unwrap(), ticket);
        }
    }
}
