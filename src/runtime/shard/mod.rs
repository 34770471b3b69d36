//! The thread of one shard: takes what comes, lets the worker handle it, carries out the effects.
//!
//! Two queues lead here. *Data* (records, barriers, releases) comes from the
//! source, is bounded, and is left alone while the worker cannot take more:
//! that is the back-pressure. *Control* (answers, other shards, losses) is
//! always read, so no two shards ever wait for each other.

mod load;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, TrySendError, select};

use crate::clock::{Clock, Millis, Stopwatch};
use crate::error::Result;
use crate::model::{Epoch, PartitionId, RecordBatch, ShardId};
use crate::pipeline::{Effect, Input, LookupAnswer, LookupQuery, PeerMessage};
use crate::sink::Writer;

use crate::runtime::board::{Board, ShardView, lock};

use load::GroupLoad;

/// Batches that may wait for a shard: enough that it never runs dry between two reads of the
/// source, few enough that a row waits a few milliseconds at most.
pub const DATA_QUEUE: usize = 8;

/// Messages that may wait for a shard besides data. Each batch in flight causes a few; a sender
/// that finds the queue full keeps its message and takes no more data meanwhile.
pub(in crate::runtime) const CONTROL_QUEUE: usize = 1_024;

/// Longest sleep: the thread shows that it lives, and publishes its counters.
const REST: Millis = 500;

/// Sleep while messages to another shard wait for room there.
const RETRY: Millis = 1;

/// From the source.
#[derive(Debug)]
pub(in crate::runtime) enum Data {
    Records(RecordBatch),
    Barrier(Epoch),
    /// Everything of these partitions that was queued before has come by.
    /// The number says how often all partitions have been lost so far.
    Release(Vec<PartitionId>, u64),
}

/// From anywhere, never held back.
#[derive(Debug)]
pub(in crate::runtime) enum Control {
    Answer(LookupAnswer),
    Peer(ShardId, PeerMessage),
    /// These partitions are gone: drop their queued records as they come, until [`Data::Release`],
    /// which every shard gets in the same order.
    Discard(Vec<PartitionId>),
}

/// What a shard thread drives: [`crate::pipeline::Worker`], or a stand-in in tests.
pub(in crate::runtime) trait Work: Send {
    /// What it counts.
    type Counters: Clone + Send;

    fn handle(&mut self, input: Input, now: Millis, effects: &mut Vec<Effect>) -> Result<()>;
    fn can_accept(&self) -> bool;
    fn deadline(&self) -> Option<Millis>;
    fn counters(&self) -> Self::Counters;
}

/// Asks the database and sends the answer to the shard's control queue.
pub(in crate::runtime) trait Ask: Send {
    fn ask(&self, shard: ShardId, query: LookupQuery);
}

/// How a shard is connected.
pub(in crate::runtime) struct Lines {
    pub data: Receiver<Data>,
    pub control: Receiver<Control>,
    /// Control queues of all shards, by number.
    pub peers: Vec<Sender<Control>>,
    pub ask: Box<dyn Ask>,
    /// Set when the process gives up: nothing that is left counts.
    pub abort: Arc<AtomicBool>,
    pub clock: Clock,
}

pub(in crate::runtime) struct Shard<W: Work> {
    id: ShardId,
    work: W,
    writer: Box<dyn Writer>,
    lines: Lines,
    board: Arc<Board<W::Counters>>,
    effects: Vec<Effect>,
    /// Messages for which another shard has no room yet, in order.
    outbox: VecDeque<(ShardId, PeerMessage)>,
    discarding: HashSet<PartitionId>,
    load: GroupLoad,
    publish_at: Millis,
}

/// What came next.
enum Next {
    Data(Data),
    Control(Control),
    Nothing,
    /// The source is gone and the queue is empty.
    Over,
}

impl<W: Work> Shard<W> {
    pub(in crate::runtime) fn new(
        id: ShardId,
        work: W,
        writer: Box<dyn Writer>,
        lines: Lines,
        board: Arc<Board<W::Counters>>,
    ) -> Self {
        let load = GroupLoad::new(board.groups.range(id));
        Self {
            id,
            work,
            writer,
            lines,
            board,
            load,
            effects: Vec::new(),
            outbox: VecDeque::new(),
            discarding: HashSet::new(),
            publish_at: 0,
        }
    }

    /// Runs until the source has closed the data queue, or the process gives up.
    pub(in crate::runtime) fn run(mut self) -> Result<()> {
        loop {
            if self.lines.abort.load(Ordering::Relaxed) {
                return Ok(());
            }
            let now = self.lines.clock.now();
            self.publish(now);
            self.empty_outbox();
            self.alarms(now)?;
            match self.next(now) {
                Next::Data(data) => self.data(data)?,
                Next::Control(control) => self.control(control)?,
                Next::Nothing => {}
                Next::Over => {
                    self.publish_at = 0;
                    self.publish(now);
                    return Ok(());
                }
            }
        }
    }

    fn next(&self, now: Millis) -> Next {
        if let Ok(control) = self.lines.control.try_recv() {
            return Next::Control(control);
        }
        let open = self.outbox.is_empty() && self.work.can_accept();
        if open {
            match self.lines.data.try_recv() {
                Ok(data) => return Next::Data(data),
                Err(TryRecvError::Disconnected) => return Next::Over,
                Err(TryRecvError::Empty) => {}
            }
        }
        let wait = Duration::from_millis(self.wait(now));
        if !open {
            let watch = Stopwatch::start();
            let received = self.lines.control.recv_timeout(wait);
            if !self.lines.data.is_empty() {
                self.view().held.add(watch.elapsed());
            }
            return match received {
                Ok(control) => Next::Control(control),
                Err(RecvTimeoutError::Timeout) => Next::Nothing,
                Err(RecvTimeoutError::Disconnected) => Next::Over,
            };
        }
        select! {
            recv(self.lines.control) -> control => control.map_or(Next::Over, Next::Control),
            recv(self.lines.data) -> data => data.map_or(Next::Over, Next::Data),
            default(wait) => Next::Nothing,
        }
    }

    /// Milliseconds until something is due.
    fn wait(&self, now: Millis) -> u64 {
        let rest = if self.outbox.is_empty() { REST } else { RETRY };
        let due = [self.work.deadline(), self.writer.deadline()].into_iter().flatten().min();
        u64::try_from(due.map_or(rest, |due| (due - now).clamp(0, rest))).unwrap_or(0)
    }

    fn alarms(&mut self, now: Millis) -> Result<()> {
        if self.work.deadline().is_some_and(|deadline| deadline <= now) {
            self.handle(Input::Tick, now)?;
        }
        if self.writer.deadline().is_some_and(|deadline| deadline <= now) {
            self.writer.tick(now)?;
        }
        Ok(())
    }

    fn data(&mut self, data: Data) -> Result<()> {
        let now = self.lines.clock.now();
        match data {
            Data::Records(mut batch) => {
                if !self.discarding.is_empty() {
                    batch.records.retain(|record| !self.discarding.contains(&record.partition));
                }
                let records = batch.records.len() as u64;
                self.load.add(&batch);
                self.view().records.fetch_add(records, Ordering::Relaxed);
                self.handle(Input::Records(batch), now)
            }
            Data::Barrier(epoch) => self.handle(Input::Barrier(epoch), now),
            Data::Release(partitions, losses) => {
                self.discarding.retain(|partition| !partitions.contains(partition));
                self.handle(Input::Release(partitions), now)?;
                self.writer.heard(losses);
                Ok(())
            }
        }
    }

    fn control(&mut self, control: Control) -> Result<()> {
        let now = self.lines.clock.now();
        match control {
            Control::Answer(answer) => self.handle(Input::Answer(answer), now),
            Control::Peer(from, message) => self.handle(Input::Peer(from, message), now),
            Control::Discard(partitions) => {
                self.discarding.extend(&partitions);
                Ok(())
            }
        }
    }

    fn handle(&mut self, input: Input, now: Millis) -> Result<()> {
        let waited = self.view().pulse.waited();
        let watch = Stopwatch::start();
        let handled = self.work.handle(input, now, &mut self.effects);
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Query(query) => self.lines.ask.ask(self.id, query),
                Effect::ToShard(to, message) => self.send(to, message),
                Effect::Output(batch) => self.writer.write(batch)?,
                Effect::Passed(epoch) => self.writer.end_epoch(epoch)?,
            }
        }
        self.effects = effects;
        let waited = self.view().pulse.waited().saturating_sub(waited);
        self.view().busy.add(watch.elapsed().saturating_sub(waited));
        // Rows before a fault have been written by now; what has not been committed comes again.
        handled
    }

    /// Never blocks; order is kept for each receiver, because all of them wait behind the first
    /// that has no room.
    fn send(&mut self, to: ShardId, message: PeerMessage) {
        self.outbox.push_back((to, message));
        self.empty_outbox();
    }

    fn empty_outbox(&mut self) {
        while let Some((to, message)) = self.outbox.pop_front() {
            let Some(peer) = self.lines.peers.get(usize::from(to.0)) else { continue };
            if let Err(TrySendError::Full(Control::Peer(_, message))) =
                peer.try_send(Control::Peer(self.id, message))
            {
                self.outbox.push_front((to, message));
                return;
            }
        }
    }

    fn view(&self) -> &ShardView<W::Counters> {
        &self.board.shards[usize::from(self.id.0)]
    }

    fn publish(&mut self, now: Millis) {
        self.view().pulse.beat(now);
        self.view().queued.store(self.lines.data.len() as u64, Ordering::Relaxed);
        if self.publish_at <= now {
            *lock(&self.view().counters) = Some(self.work.counters());
            self.load.publish(&self.view().groups);
            self.publish_at = now + REST;
        }
    }
}

#[cfg(test)]
mod tests;
