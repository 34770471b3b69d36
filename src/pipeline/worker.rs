//! A worker shard: inputs in, effects out.

use crate::clock::Millis;
use crate::encode::Encoder;
use crate::error::{DataFault, Error, Place, Result, RowFault};
use crate::keygroup::KeyGroups;
use crate::lookup::{Lookups, Outgoing, Resolved};
use crate::model::{Epoch, OutputBatch, PartitionId, PartitionTable, ShardId};
use crate::normalize::{Normalizer, Origin, RecordFault};
use crate::plan::{Encoding, Plan, SourceKind};
use crate::state::{MemoryState, Shape};

use super::align::Alignment;
use super::counters::Counters;
use super::emit::{Emission, Emitter};
use super::flight::{FLIGHTS_MAX, Flight, Flights, Item};
use super::intake::Intake;
use super::{Effect, Input, PeerMessage};

/// Bytes after which rows go to the sink, though their batch has more: a row that matches thousands of
/// dimension rows must not build one batch of them all.
const OUTPUT_BYTES: usize = 1 << 20;

/// One worker shard of a replica.
#[derive(Debug)]
pub struct Worker {
    pub(super) shard: ShardId,
    pub(super) partitions: PartitionTable,
    pub(super) normalizer: Option<Normalizer>,
    pub(super) lookups: Lookups,
    pub(super) emitter: Emitter,
    pub(super) flights: Flights,
    pub(super) align: Alignment,
    pub(super) intake: Intake,
    resolved: Vec<Resolved>,
    /// The next batch of output, in the form that the encoder gives it.
    output: OutputBatch,
    /// Bytes of an output row, of late.
    row_bytes: usize,
    /// A record that cannot be processed stands in line: nothing behind it is taken.
    pub(super) faulty: bool,
    /// The job ended here.
    failed: Option<Error>,
}

impl Worker {
    /// Shard `shard` of as many as `groups` says, with empty state and caches.
    ///
    /// # Errors
    /// A plan that cannot be built: [`crate::error::Kind::Definition`].
    pub fn new(plan: &Plan, shard: ShardId, groups: KeyGroups, partitions: PartitionTable) -> Result<Self> {
        let encoder = Encoder::new(&plan.sink, &plan.project)?;
        Self::with_encoder(plan, (shard, groups), partitions, encoder)
    }

    /// The same, but output rows come packed whatever the sink: for tests and faces.
    ///
    /// # Errors
    /// As [`Worker::new`].
    pub fn packing(
        plan: &Plan,
        shard: ShardId,
        groups: KeyGroups,
        partitions: PartitionTable,
    ) -> Result<Self> {
        let encoder = Encoder::packing(&plan.sink, &plan.project);
        Self::with_encoder(plan, (shard, groups), partitions, encoder)
    }

    fn with_encoder(
        plan: &Plan,
        (shard, groups): (ShardId, KeyGroups),
        partitions: PartitionTable,
        encoder: Encoder,
    ) -> Result<Self> {
        let shape = Shape {
            times: plan.normalize.as_ref().is_some_and(|normalize| normalize.ttl.is_some()),
            rows: plan.sink.encoding != Encoding::UpsertBySourceKey,
        };
        let normalizer = plan.normalize.as_ref().map(|normalize| {
            let state = Box::new(MemoryState::new(shape));
            Normalizer::new(normalize, &plan.source, state, partitions.clone())
        });
        let keyed = plan.source.kind == SourceKind::UpsertKafka;
        let forwards = keyed && plan.source.value_includes_key && !plan.source.key_mismatch_is_error;
        Ok(Self {
            shard,
            normalizer,
            lookups: Lookups::new(plan, shard, groups)?,
            emitter: Emitter::new(plan, encoder),
            flights: Flights::default(),
            align: Alignment::new(shard, groups.parallelism(), forwards),
            intake: Intake::new(plan, groups, partitions.clone())?,
            partitions,
            resolved: Vec::new(),
            output: OutputBatch::default(),
            row_bytes: 0,
            faulty: false,
            failed: None,
        })
    }

    /// Takes an input at time `now` and appends what is to be done.
    ///
    /// # Errors
    /// A record that cannot be processed ([`crate::error::Kind::Data`], or [`crate::error::Kind::External`] for
    /// a lookup that failed after all retries), once every row before it has been emitted: the job stops there.
    /// Effects appended before the error stand; later calls do nothing but
    /// return it again.
    pub fn handle(&mut self, input: Input, now: Millis, effects: &mut Vec<Effect>) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        match input {
            Input::Answer(answer) => self.lookups.answered(answer, now, &mut self.resolved),
            Input::Peer(from, PeerMessage::Lookup(message)) => {
                self.lookups.peer(from, message, now, &mut self.resolved);
            }
            Input::Peer(from, message) => self.align.receive(from, message),
            Input::Release(partitions) => self.release(&partitions),
            Input::Tick => self.tick(now),
            own => self.align.hold(own),
        }
        let result = self.take_what_may_be_taken(now, effects).and_then(|()| {
            self.resolve(now);
            self.emit_what_is_ready(effects)
        });
        self.failed = result.as_ref().err().cloned();
        effects.extend(self.lookups.outgoing().map(|outgoing| match outgoing {
            Outgoing::Query(query) => Effect::Query(query),
            Outgoing::ToShard(shard, message) => Effect::ToShard(shard, PeerMessage::Lookup(message)),
        }));
        let oldest = self.flights.oldest().unwrap_or(now).min(now);
        if let Some(normalizer) = &mut self.normalizer {
            normalizer.sweep(oldest);
        }
        result
    }

    /// Whether records are welcome. They are taken in any case; this is how the shard says that it is full.
    #[must_use]
    pub fn can_accept(&self) -> bool {
        !self.faulty && self.failed.is_none() && !self.align.is_aligning() && self.flights.len() < FLIGHTS_MAX
    }

    /// When [`Input::Tick`] is due, if nothing else happens.
    #[must_use]
    pub fn deadline(&self) -> Option<Millis> {
        self.normalizer.as_ref().and_then(Normalizer::deadline)
    }

    /// What was counted.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let normalizer = self.normalizer.as_ref();
        Counters {
            rows_in: self.intake.counters,
            normalize: normalizer.map(Normalizer::counters).unwrap_or_default(),
            lookups: self.lookups.counters(),
            unmatched: self.emitter.unmatched(),
            rows_out: self.emitter.rows_out(),
            state: normalizer.map(Normalizer::state_counts).unwrap_or_default(),
            in_flight: self.flights.len() as u64,
        }
    }

    /// Own input and rows of peers, as far as epochs allow.
    fn take_what_may_be_taken(&mut self, now: Millis, effects: &mut Vec<Effect>) -> Result<()> {
        loop {
            if let Some(message) = self.align.next_message(self.intake.generation()) {
                if let PeerMessage::Forwarded { generation, rows } = message {
                    self.take_forwarded(generation, rows, now);
                }
            } else if let Some(epoch) = self.align.complete() {
                self.flush_bundle(now);
                self.flights.push_barrier(epoch);
            } else if let Some(input) = self.align.next_waiting() {
                match input {
                    Input::Records(batch) => self.take_records(&batch, now, effects)?,
                    Input::Rows(rows) => self.take_rows(rows, now),
                    Input::Barrier(epoch) => self.begin_epoch_end(epoch, effects),
                    _ => {}
                }
            } else {
                return Ok(());
            }
        }
    }

    fn begin_epoch_end(&mut self, epoch: Epoch, effects: &mut Vec<Effect>) {
        self.align.begin(epoch);
        if self.align.forwards() {
            let others = (0..self.intake.shards()).map(ShardId).filter(|&shard| shard != self.shard);
            effects.extend(others.map(|shard| Effect::ToShard(shard, PeerMessage::ForwardedAll(epoch))));
        }
    }

    fn tick(&mut self, now: Millis) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.flush_bundle(now);
        }
    }

    fn release(&mut self, partitions: &[PartitionId]) {
        self.intake.release(partitions);
        if let Some(normalizer) = &mut self.normalizer {
            normalizer.release(partitions);
        }
        for flight in self.flights.iter_mut() {
            flight.release(partitions);
        }
        for input in self.align.waiting_mut() {
            match input {
                Input::Records(batch) => {
                    batch.records.retain(|record| !partitions.contains(&record.partition));
                }
                Input::Rows(batch) => {
                    batch.rows.retain(|row| !partitions.contains(&row.origin.partition));
                }
                _ => {}
            }
        }
    }

    /// Hands answers to their batches, and takes these further.
    fn resolve(&mut self, now: Millis) {
        for Resolved { batch, number, outcome } in self.resolved.drain(..) {
            let Some(flight) = self.flights.find_mut(batch) else { continue };
            flight.join.resolve(number, outcome);
            if !flight.join.is_waiting() {
                self.lookups.advance(&mut flight.join, &flight.changes.arena, now);
            }
        }
    }

    /// Emits batches from the front of the line until one waits.
    pub(super) fn emit_what_is_ready(&mut self, effects: &mut Vec<Effect>) -> Result<()> {
        loop {
            match self.flights.front() {
                Some(Item::Flight(flight)) if !flight.join.is_done() => return Ok(()),
                None => return Ok(()),
                Some(_) => {}
            }
            match self.flights.pop() {
                Some(Item::Flight(flight)) => {
                    self.emit_flight(&flight, effects)?;
                    self.flights.recycle(flight);
                }
                Some(Item::Barrier(epoch)) => effects.push(Effect::Passed(epoch)),
                None => return Ok(()),
            }
        }
    }

    /// Emits a batch, up to its fault if it has one.
    fn emit_flight(&mut self, flight: &Flight, effects: &mut Vec<Effect>) -> Result<()> {
        let mut out = std::mem::take(&mut self.output);
        let room = OUTPUT_BYTES.checked_div(self.row_bytes).unwrap_or(0).min(flight.changes.list.len());
        out.reserve(room, self.row_bytes);
        let result = self.emit_changes(flight, &mut out, effects);
        self.output = out.successor();
        if let Some(bytes) = out.arena.len().checked_div(usize::try_from(out.rows()).unwrap_or(0)) {
            self.row_bytes = bytes;
            effects.push(Effect::Output(out));
        }
        result?;
        flight.fault.clone().map_or(Ok(()), Err)
    }

    fn emit_changes(
        &mut self,
        flight: &Flight,
        out: &mut OutputBatch,
        effects: &mut Vec<Effect>,
    ) -> Result<()> {
        let mut rows = JoinedRows { next: 0 };
        for (change, sources) in flight.changes.list.iter().zip(&flight.sources) {
            let after = rows.of(flight, sources.after);
            let before = rows.of(flight, sources.before);
            if sources.dropped {
                continue;
            }
            let mut looked_up = [sources.after, sources.before].into_iter().flatten();
            if flight.join.has_faults()
                && let Some(fault) = looked_up.find_map(|source| flight.join.fault(source))
            {
                return Err(self.placed_error(change.origin, fault.clone()));
            }
            let emission =
                Emission { change, arena: &flight.changes.arena, join: &flight.join, after, before };
            let state = self.normalizer.as_mut().map(Normalizer::state_mut);
            if let Err(fault) = self.emitter.emit(&emission, state, out) {
                return Err(self.placed_error(change.origin, fault));
            }
            if OUTPUT_BYTES <= out.arena.len() {
                let next = out.successor();
                effects.push(Effect::Output(std::mem::replace(out, next)));
            }
        }
        Ok(())
    }

    fn placed_error(&self, origin: Origin, fault: RowFault) -> Error {
        Error::from(self.placed(RecordFault { origin, fault }))
    }

    /// The fault with the place of its record.
    pub(super) fn placed(&self, fault: RecordFault) -> DataFault {
        let name = self.partitions.name(fault.origin.partition);
        fault.fault.at(Place {
            table: self.intake.table().to_owned(),
            topic: name.as_ref().map(|name| name.topic.to_string()).unwrap_or_default(),
            partition: name.map_or(-1, |name| name.partition),
            offset: fault.origin.offset,
        })
    }
}

/// Walks through the joined rows of a batch, which come in the order of their stream rows.
struct JoinedRows {
    next: usize,
}

impl JoinedRows {
    fn of(&mut self, flight: &Flight, source: Option<u32>) -> std::ops::Range<usize> {
        let start = self.next;
        while source.is_some() && flight.join.source(self.next) == source {
            self.next += 1;
        }
        start..self.next
    }
}
