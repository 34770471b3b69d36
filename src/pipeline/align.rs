//! Epochs across shards that hand rows on to each other.
//!
//! A row whose value names another key than its record is handed on to the
//! shard that owns that key. A barrier therefore ends a shard's epoch only
//! when every other shard has said that nothing of that epoch is on its way;
//! until then the shard's own next records wait, and so do rows of peers that
//! are an epoch ahead. Flink: aligned checkpoint barriers.

use std::collections::VecDeque;

use crate::model::{Epoch, ShardId};

use super::{Input, PeerMessage};

/// Epochs of one shard, and what waits for them.
#[derive(Debug)]
pub(super) struct Alignment {
    own: ShardId,
    /// Whether rows can be handed on at all.
    forwards: bool,
    /// The last epoch that each peer has finished handing on.
    heard: Vec<Option<Epoch>>,
    /// The last epoch that all have.
    aligned: Option<Epoch>,
    /// The epoch whose barrier came.
    pending: Option<Epoch>,
    /// Own input behind that barrier. Bounded: the shard accepts no records while it aligns.
    waiting: VecDeque<Input>,
    /// Messages per peer. Bounded by what a peer hands on in one epoch.
    inbox: Vec<VecDeque<PeerMessage>>,
}

impl Alignment {
    pub fn new(own: ShardId, shards: u16, forwards: bool) -> Self {
        let shards = usize::from(shards);
        Self {
            own,
            forwards: forwards && 1 < shards,
            heard: vec![None; shards],
            aligned: None,
            pending: None,
            waiting: VecDeque::new(),
            inbox: (0..shards).map(|_| VecDeque::new()).collect(),
        }
    }

    /// Whether a row can belong to another shard than its record.
    pub fn forwards(&self) -> bool {
        self.forwards
    }

    /// Whether a barrier waits for the other shards.
    pub fn is_aligning(&self) -> bool {
        self.pending.is_some()
    }

    pub fn begin(&mut self, epoch: Epoch) {
        self.pending = Some(epoch);
    }

    /// The epoch that is complete now, if one is; it begins the next.
    pub fn complete(&mut self) -> Option<Epoch> {
        let epoch = self.pending?;
        let own = usize::from(self.own.0);
        let all = self.heard.iter().enumerate().all(|(i, heard)| i == own || Some(epoch) <= *heard);
        if self.forwards && !all {
            return None;
        }
        self.aligned = Some(epoch);
        self.pending.take()
    }

    pub fn hold(&mut self, input: Input) {
        self.waiting.push_back(input);
    }

    /// Own input that may be taken now.
    pub fn next_waiting(&mut self) -> Option<Input> {
        if self.is_aligning() { None } else { self.waiting.pop_front() }
    }

    /// Input that waits, to be looked through when partitions go.
    pub fn waiting_mut(&mut self) -> impl Iterator<Item = &mut Input> {
        self.waiting.iter_mut()
    }

    pub fn receive(&mut self, from: ShardId, message: PeerMessage) {
        if let Some(inbox) = self.inbox.get_mut(usize::from(from.0)) {
            inbox.push_back(message);
        }
    }

    /// A message of a peer that may be taken now: of this epoch, and from before no release that this shard
    /// (at `generation`) has yet to see.
    pub fn next_message(&mut self, generation: u64) -> Option<PeerMessage> {
        let aligned = self.aligned;
        for (inbox, heard) in self.inbox.iter_mut().zip(&mut self.heard) {
            if *heard > aligned {
                continue;
            }
            match inbox.front() {
                Some(PeerMessage::Forwarded { generation: sent_at, .. }) if generation < *sent_at => {}
                Some(PeerMessage::ForwardedAll(epoch)) => {
                    *heard = Some(*epoch);
                    return inbox.pop_front();
                }
                Some(_) => return inbox.pop_front(),
                None => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::RowBatch;
    use super::*;

    fn rows() -> PeerMessage {
        PeerMessage::Forwarded { generation: 0, rows: RowBatch::default() }
    }

    #[test]
    fn an_epoch_ends_when_every_peer_has_handed_on_its_rows() {
        let mut align = Alignment::new(ShardId(0), 3, true);
        align.begin(Epoch(1));
        assert_eq!(align.complete(), None);
        align.receive(ShardId(1), PeerMessage::ForwardedAll(Epoch(1)));
        align.receive(ShardId(1), rows());
        assert!(matches!(align.next_message(0), Some(PeerMessage::ForwardedAll(_))));
        assert!(align.next_message(0).is_none(), "rows of the next epoch wait");
        assert_eq!(align.complete(), None);
        align.receive(ShardId(2), rows());
        align.receive(ShardId(2), PeerMessage::ForwardedAll(Epoch(1)));
        assert!(matches!(align.next_message(0), Some(PeerMessage::Forwarded { .. })));
        assert!(matches!(align.next_message(0), Some(PeerMessage::ForwardedAll(_))));
        assert_eq!(align.complete(), Some(Epoch(1)));
        assert!(matches!(align.next_message(0), Some(PeerMessage::Forwarded { .. })));
        assert!(align.next_message(0).is_none());
    }

    #[test]
    fn rows_from_after_a_release_wait_for_it() {
        let mut align = Alignment::new(ShardId(0), 2, true);
        align.receive(ShardId(1), PeerMessage::Forwarded { generation: 1, rows: RowBatch::default() });
        assert!(align.next_message(0).is_none());
        assert!(align.next_message(1).is_some());
    }

    #[test]
    fn a_shard_that_is_alone_or_never_hands_on_waits_for_nobody() {
        for mut align in [Alignment::new(ShardId(0), 1, true), Alignment::new(ShardId(0), 4, false)] {
            align.begin(Epoch(7));
            assert_eq!(align.complete(), Some(Epoch(7)));
            assert!(!align.is_aligning());
        }
    }
}
