//! The source's thread: reads, splits, hands over, and coordinates commits.
//!
//! One loop owns the consumer and the commit protocol, so no decision about
//! offsets ever races with a rebalance. Nothing in it blocks for long: a full
//! shard stops the reading, never the polling of the group.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::{SendTimeoutError, Sender, TrySendError};

use crate::clock::{Clock, Millis, Stopwatch};
use crate::commit::{Action, Event, Protocol};
use crate::error::{Error, Kind, Result};
use crate::model::{PartitionId, PartitionTable};
use crate::sink::{Ack, AckReceiver};
use crate::source::{Happening, Source, Splitter};

use super::board::{Board, PartitionView, State};
use super::shard::{Control, Data};
use super::shutdown::Shutdown;

/// Wait for records when there are none; acknowledgements and ticks are seen this late at most.
const READ_WAIT: Duration = Duration::from_millis(10);

/// Wait for a shard that is full, and for acknowledgements while draining.
const FULL_WAIT: Duration = Duration::from_millis(2);

/// Longest drain of revoked partitions. Longer, and the rest of the group waits for nothing: the job ends, and what
/// is not done by then is left to the next owner. Far below `max.poll.interval.ms`.
const REVOKE_TIMEOUT: Millis = 30_000;

/// A failed commit comes again after this: a coordinator that moves needs a moment.
const COMMIT_AGAIN: Millis = 500;

/// A commit without an answer counts as failed after this; librdkafka answers much earlier.
const COMMIT_TIMEOUT: Millis = 60_000;

/// What an operator does about partitions that are lost again and again.
const LOST_HELP: &str = "look for pauses of the process or the network that are longer than \
                         properties.session.timeout.ms, and raise that if they are usual";

/// What an operator does about a drain that takes too long.
const DRAIN_HELP: &str = "look at the lookups and the sink: what they do not answer holds the drain up";

/// How often positions are put on the board.
const PUBLISH: Millis = 500;

/// How often a rebuild is mentioned in the log.
const RESTORE_LOG: Millis = 5_000;

/// One shard, seen from the source.
pub(super) struct Lane {
    pub data: Sender<Data>,
    pub control: Sender<Control>,
    /// What the shard had no room for, in order. Holds one read's batches and the barriers behind them.
    pub pending: VecDeque<Data>,
}

/// How the source is connected.
pub(super) struct Wires {
    pub lanes: Vec<Lane>,
    pub acks: AckReceiver,
    pub shutdown: Shutdown,
    /// Set when the process gives up: nothing that is left counts.
    pub abort: Arc<AtomicBool>,
    /// How often all partitions were lost: told to sinks.
    pub losses: Arc<AtomicU64>,
    /// Why the source has failed: told before it leaves the group, which takes a while.
    pub failed: Arc<OnceLock<Error>>,
    pub clock: Clock,
    pub table: PartitionTable,
    pub commit_interval: Duration,
}

pub(super) struct Driver<C> {
    source: Source,
    splitter: Splitter,
    protocol: Protocol,
    wires: Wires,
    board: Arc<Board<C>>,
    next_tick: Millis,
    /// Partitions being drained, and until when.
    revoking: Option<(Vec<PartitionId>, Millis)>,
    /// When the commit under way counts as failed.
    commit_until: Option<Millis>,
    /// When it was asked for.
    commit_since: Millis,
    /// When the sink last acknowledged something.
    last_durable: Option<Millis>,
    finishing: bool,
    /// The final epoch is over; whether it was committed.
    finished: Option<bool>,
    closed: bool,
    publish_at: Millis,
    restore_log_at: Millis,
    state: State,
}

impl<C: Clone + Send> Driver<C> {
    pub(super) fn new(source: Source, splitter: Splitter, wires: Wires, board: Arc<Board<C>>) -> Self {
        let shards = u16::try_from(wires.lanes.len()).unwrap_or(u16::MAX);
        let now = wires.clock.now();
        Self {
            source,
            splitter,
            protocol: Protocol::new(shards),
            wires,
            board,
            next_tick: now,
            revoking: None,
            commit_until: None,
            commit_since: now,
            last_durable: None,
            finishing: false,
            finished: None,
            closed: false,
            publish_at: now,
            restore_log_at: now + RESTORE_LOG,
            state: State::Starting,
        }
    }

    /// Runs until the input ends, a stop is asked for, or something fails; then leaves the group.
    pub(super) fn run(mut self) -> Result<()> {
        let outcome = self.work();
        if let Err(error) = &outcome {
            let _ = self.wires.failed.set(error.clone());
            // Before others get the partitions: what still waits for the sink must not go out after their rows.
            self.wires.abort.store(true, Ordering::SeqCst);
        }
        self.publish(true);
        let Self { source, wires, .. } = self;
        // The shards end when their queues are closed.
        drop(wires);
        source.leave();
        outcome
    }

    fn work(&mut self) -> Result<()> {
        loop {
            let now = self.wires.clock.now();
            self.board.pulse.beat(now);
            if self.wires.abort.load(Ordering::Relaxed) || self.closed {
                return Ok(());
            }
            self.serve_group()?;
            self.serve_sink()?;
            self.timers(now)?;
            let has_room = self.flush();
            if let Some(committed) = self.finished {
                if !committed {
                    tracing::warn!("the last commit failed: the newest rows will be processed again");
                }
                return Ok(());
            }
            self.end_of_job()?;
            if self.finishing {
                self.wait_for_ack()?;
            } else if has_room {
                self.read()?;
            } else {
                self.wait_for_room();
            }
            self.publish(false);
        }
    }

    fn serve_group(&mut self) -> Result<()> {
        for happening in self.source.poll()? {
            match happening {
                Happening::Assigned(partitions) => self.assigned(&partitions),
                Happening::Revoke(partitions) => {
                    self.board.update(|view| view.rebalances[1] += 1);
                    tracing::info!(partitions = %self.names(&partitions), "revoked: draining");
                    self.revoking = Some((partitions.clone(), self.wires.clock.now() + REVOKE_TIMEOUT));
                    self.step(Event::Revoke(partitions))?;
                }
                Happening::Lost(partitions) => {
                    self.board.update(|view| view.rebalances[2] += 1);
                    let unsettled = self.protocol.is_unsettled(&partitions);
                    if unsettled && self.protocol.has_others(&partitions) {
                        return Err(self.overdue("lost", &partitions, LOST_HELP));
                    }
                    tracing::warn!(
                        partitions = %self.names(&partitions), help = LOST_HELP,
                        "lost: the group has given them up for this member"
                    );
                    // Sinks leave out what waits, and what comes from shards that have not heard of it yet.
                    if !self.protocol.has_others(&partitions) {
                        self.wires.losses.fetch_add(1, Ordering::SeqCst);
                    }
                    self.step(Event::Lost(partitions))?;
                }
                Happening::Committed(true) => self.committed()?,
                // The event follows when it is time to try again.
                Happening::Committed(false) => self.commit_failed(),
            }
        }
        Ok(())
    }

    fn assigned(&mut self, partitions: &[crate::source::AssignedPartition]) {
        self.board.update(|view| view.rebalances[0] += 1);
        if partitions.is_empty() {
            return;
        }
        let ids: Vec<_> = partitions.iter().map(|partition| partition.id).collect();
        tracing::info!(partitions = %self.names(&ids), "assigned");
        for partition in partitions {
            self.protocol.assigned(partition.id, partition.committed);
            if let Some(begins_at) = partition.begins_at {
                self.protocol.handed(partition.id, begins_at);
            }
        }
        // Whatever an earlier time with these partitions left behind.
        let losses = self.wires.losses.load(Ordering::SeqCst);
        self.send_all(|| Data::Release(ids.clone(), losses));
        self.publish_at = 0;
    }

    fn committed(&mut self) -> Result<()> {
        self.commit_until = None;
        let now = self.wires.clock.now();
        let took = Duration::from_millis(u64::try_from(now - self.commit_since).unwrap_or(0));
        self.board.update(|view| {
            view.commits[0] += 1;
            view.last_commit = Some(now);
            view.commit_seconds.observe(took);
        });
        self.step(Event::Committed)
    }

    fn commit_failed(&mut self) {
        self.board.update(|view| view.commits[1] += 1);
        self.commit_until = Some(self.wires.clock.now() + COMMIT_AGAIN);
    }

    fn serve_sink(&mut self) -> Result<()> {
        while let Ok(ack) = self.wires.acks.try_recv() {
            self.ack(ack)?;
        }
        Ok(())
    }

    fn ack(&mut self, ack: Ack) -> Result<()> {
        match ack {
            Ack::Durable(shard, epoch) => {
                self.last_durable = Some(self.wires.clock.now());
                self.step(Event::Done(shard, epoch))
            }
            Ack::Failed(error) => Err(error),
            Ack::Closed => {
                tracing::info!("the reader of the output has gone: the job ends");
                self.closed = true;
                // Shards may wait for each other's barriers, which nobody hands on any more.
                self.wires.abort.store(true, Ordering::SeqCst);
                Ok(())
            }
        }
    }

    fn timers(&mut self, now: Millis) -> Result<()> {
        if self.commit_until.is_some_and(|until| until <= now) {
            self.commit_until = None;
            self.step_quietly(Event::CommitFailed);
        }
        if self.next_tick <= now {
            let interval = i64::try_from(self.wires.commit_interval.as_millis()).unwrap_or(i64::MAX);
            self.next_tick = now.saturating_add(interval.max(1));
            self.step_quietly(Event::Tick);
        }
        if let Some((partitions, _)) = self.revoking.take_if(|(_, until)| *until <= now) {
            if self.protocol.is_unsettled(&partitions) {
                return Err(self.overdue("not drained in time", &partitions, DRAIN_HELP));
            }
            // All of it is written; what the broker has not said is that it is committed.
            self.step_quietly(Event::Lost(partitions));
        }
        Ok(())
    }

    /// The end of a job whose partitions belong to someone else while rows of theirs are on their way, between rows of
    /// partitions that stay: queues of the sink cannot be told which of them to forget, and written late they would
    /// replace newer rows of the next owner.
    fn overdue(&self, what: &str, partitions: &[PartitionId], help: &str) -> Error {
        Error::transient(format!(
            "partitions {what}: {}: rows of theirs are on their way to the sink, and the job ends so that these do not \
             replace newer ones of the next owner; a restart goes on, and nothing is lost; {help}",
            self.names(partitions)
        ))
    }

    /// For events whose actions report failures as later events.
    fn step_quietly(&mut self, event: Event) {
        if let Err(error) = self.step(event) {
            tracing::error!("{error}");
        }
    }

    fn step(&mut self, event: Event) -> Result<()> {
        let mut actions = Vec::new();
        self.protocol.step(event, &mut actions);
        for action in actions {
            match action {
                Action::Barrier(epoch) => self.send_all(|| Data::Barrier(epoch)),
                Action::Commit(offsets) => self.commit(&offsets),
                Action::Release(partitions) => self.release(&partitions)?,
                Action::Finished { committed } => self.finished = Some(committed),
            }
        }
        Ok(())
    }

    fn commit(&mut self, offsets: &[(PartitionId, i64)]) {
        // Writers that give up leave rows out: what they say from then on counts no more.
        if self.wires.abort.load(Ordering::SeqCst) {
            return;
        }
        self.commit_since = self.wires.clock.now();
        self.commit_until = Some(self.commit_since + COMMIT_TIMEOUT);
        if let Err(error) = self.source.commit(offsets) {
            tracing::warn!("{error}");
            self.commit_failed();
        }
    }

    fn release(&mut self, partitions: &[PartitionId]) -> Result<()> {
        self.revoking.take_if(|(leaving, _)| leaving.iter().any(|partition| partitions.contains(partition)));
        for lane in &mut self.wires.lanes {
            // Control is always read, so this waits for a moment at most.
            let discard = Control::Discard(partitions.to_vec());
            if let Err(SendTimeoutError::Timeout(_)) = lane.control.send_timeout(discard, FULL_WAIT * 500) {
                return Err(Error::bug("a shard does not answer"));
            }
        }
        let losses = self.wires.losses.load(Ordering::SeqCst);
        self.send_all(|| Data::Release(partitions.to_vec(), losses));
        tracing::info!(partitions = %self.names(partitions), "released");
        self.publish_at = 0;
        self.source.release(partitions)
    }

    fn send_all(&mut self, make: impl Fn() -> Data) {
        for lane in &mut self.wires.lanes {
            lane.pending.push_back(make());
        }
        self.flush();
    }

    /// Hands over what is pending; whether all of it went.
    fn flush(&mut self) -> bool {
        let mut all = true;
        for lane in &mut self.wires.lanes {
            while let Some(data) = lane.pending.pop_front() {
                if let Err(TrySendError::Full(data)) = lane.data.try_send(data) {
                    lane.pending.push_front(data);
                    all = false;
                    break;
                }
            }
        }
        all
    }

    fn wait_for_room(&mut self) {
        let Some(lane) = self.wires.lanes.iter_mut().find(|lane| !lane.pending.is_empty()) else { return };
        let Some(data) = lane.pending.pop_front() else { return };
        let watch = Stopwatch::start();
        if let Err(SendTimeoutError::Timeout(data)) = lane.data.send_timeout(data, FULL_WAIT) {
            lane.pending.push_front(data);
        }
        self.board.backpressure.add(watch.elapsed());
    }

    fn wait_for_ack(&mut self) -> Result<()> {
        match self.wires.acks.recv_timeout(FULL_WAIT) {
            Ok(ack) => self.ack(ack),
            Err(_) => Ok(()),
        }
    }

    fn read(&mut self) -> Result<()> {
        let read = self.source.read(READ_WAIT, &mut self.splitter);
        for (shard, batch) in self.splitter.take() {
            if let Some(lane) = self.wires.lanes.get_mut(usize::from(shard.0)) {
                lane.pending.push_back(Data::Records(batch));
            }
        }
        read?;
        for (partition, next) in self.source.touched() {
            self.protocol.handed(*partition, *next);
        }
        Ok(())
    }

    fn end_of_job(&mut self) -> Result<()> {
        if self.finishing {
            return Ok(());
        }
        let asked = self.wires.shutdown.is_requested();
        if asked || self.source.is_at_end()? {
            let why = if asked { "asked to stop" } else { "every partition has reached its end" };
            tracing::info!("{why}: finishing what was read");
            self.finishing = true;
            self.step(Event::Finish)?;
        }
        Ok(())
    }

    fn publish(&mut self, last: bool) {
        let now = self.wires.clock.now();
        if now < self.publish_at && !last {
            return;
        }
        self.publish_at = now + PUBLISH;
        let state = match (last, self.finishing, self.source.is_restored()) {
            (true, ..) => State::Stopped,
            (false, true, _) => State::Draining,
            (false, false, true) => State::Running,
            (false, false, false) => State::Restoring,
        };
        let views = self.source.status().into_iter().map(|status| PartitionView {
            committed: self.protocol.committed(status.id),
            name: status.name,
            position: status.position,
            end: status.end,
            timestamp: status.timestamp,
            restore: status.restore,
        });
        let partitions: Vec<_> = views.collect();
        self.log_progress(now, state, &partitions);
        let backpressured = self.wires.lanes.iter().any(|lane| !lane.pending.is_empty());
        self.board.update(|view| {
            view.state = state;
            view.partitions = partitions;
            view.backpressured = backpressured;
            view.open_epochs = self.protocol.open_epochs();
            view.last_durable = self.last_durable;
        });
        self.state = state;
    }

    fn log_progress(&mut self, now: Millis, state: State, partitions: &[PartitionView]) {
        if state != self.state {
            tracing::info!(state = state.name(), partitions = partitions.len(), "state of the job");
        }
        if state != State::Restoring || now < self.restore_log_at {
            return;
        }
        self.restore_log_at = now + RESTORE_LOG;
        let (mut done, mut total) = (0, 0);
        for restore in partitions.iter().filter_map(|partition| partition.restore) {
            done += restore.done;
            total += restore.total;
        }
        if 0 < total {
            tracing::info!(done, total, "rebuilding state: offsets read");
        }
    }

    fn names(&self, partitions: &[PartitionId]) -> String {
        let names = partitions.iter().filter_map(|id| self.wires.table.name(*id));
        names.map(|name| name.to_string()).collect::<Vec<_>>().join(" ")
    }
}

/// The error that a job ends with: what kept failing in passing is a system that refuses, by now.
pub(super) fn settled(error: Error) -> Error {
    match error.kind() {
        Kind::Transient => Error::new(Kind::External, error.to_string()),
        _ => error,
    }
}
