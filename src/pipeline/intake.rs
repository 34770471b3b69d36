//! From records to changes in flight: decode, hand on what belongs elsewhere,
//! normalize, begin the lookups.

use std::collections::HashMap;
use std::ops::Range;

use bumpalo::Bump;

use crate::clock::Millis;
use crate::decode::{DecodedRows, Decoder, Op};
use crate::error::{DataFault, Result};
use crate::keygroup::{KeyGroups, KeyHasher};
use crate::model::{DataType, PartitionId, PartitionTable, Record, RecordBatch, ShardId, Slice};
use crate::normalize::{Arrival, Change, Incoming, Located, Origin, RecordFault};
use crate::plan::Plan;
use crate::route::Router;
use crate::state::Place;

use super::flight::{Flight, Sources};
use super::{Effect, PeerMessage, RowBatch, RowsIn, StreamRow, Worker};

/// The receiving end of a worker.
#[derive(Debug)]
pub(super) struct Intake {
    table: String,
    decoder: Decoder,
    router: Router,
    shards: u16,
    decoded: DecodedRows,
    /// Where the entries of a window of rows may stand, and scratch for looking.
    located: Vec<Located>,
    places: Vec<Place>,
    /// Rows of one batch for other shards, by shard.
    outbox: Vec<RowBatch>,
    /// How many releases were seen.
    generation: u64,
    /// At which of them a partition was last released.
    released: HashMap<PartitionId, u64>,
    scratch: Bump,
    pub counters: RowsIn,
}

/// Records that go through all stages together. What one stage has fetched from memory is still near for the
/// next; a thousand rows at a time would push each other out of the processor's caches.
const FLIGHT_ROWS: usize = 256;

/// Rows whose entries are fetched from memory together: many enough that the processor waits for them side by
/// side, few enough that they are still near when their turn comes.
const WINDOW: usize = 64;

/// The router of a plan's source.
///
/// # Errors
/// As [`KeyHasher::new`] and [`Router::new`].
pub fn router(plan: &Plan, groups: KeyGroups) -> Result<Router> {
    let key = plan.source.key_columns.iter().filter_map(|&at| plan.source.physical.get(at));
    let types: Vec<DataType> = key.map(|column| column.ty.clone()).collect();
    Router::new(&plan.source, KeyHasher::new(&types, plan.options.key_hash)?, groups)
}

impl Intake {
    pub fn new(plan: &Plan, groups: KeyGroups, partitions: PartitionTable) -> Result<Self> {
        let source = &plan.source;
        Ok(Self {
            table: source.table.clone(),
            decoder: Decoder::new(source, partitions)?,
            router: router(plan, groups)?,
            shards: groups.parallelism(),
            decoded: DecodedRows::default(),
            located: Vec::new(),
            places: Vec::new(),
            outbox: (0..groups.parallelism()).map(|_| RowBatch::default()).collect(),
            generation: 0,
            released: HashMap::new(),
            scratch: Bump::new(),
            counters: RowsIn::default(),
        })
    }

    pub fn table(&self) -> &str {
        &self.table
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub fn shards(&self) -> u16 {
        self.shards
    }

    pub fn release(&mut self, partitions: &[PartitionId]) {
        self.generation += 1;
        self.released.extend(partitions.iter().map(|&partition| (partition, self.generation)));
    }

    fn count(&mut self, op: Op) {
        match op {
            Op::Upsert => self.counters.upserts += 1,
            Op::Delete => self.counters.deletes += 1,
            Op::Insert => self.counters.inserts += 1,
        }
    }
}

impl Worker {
    /// Records of this shard, [`FLIGHT_ROWS`] at a time.
    ///
    /// # Errors
    /// As [`Worker::handle`].
    pub(super) fn take_records(
        &mut self,
        batch: &RecordBatch,
        now: Millis,
        effects: &mut Vec<Effect>,
    ) -> Result<()> {
        let count = batch.records.len();
        for first in (0..count).step_by(FLIGHT_ROWS) {
            if self.faulty {
                return Ok(());
            }
            self.take_range(batch, first..count.min(first + FLIGHT_ROWS), now, effects);
            self.emit_what_is_ready(effects)?;
        }
        Ok(())
    }

    fn take_range(
        &mut self,
        batch: &RecordBatch,
        range: Range<usize>,
        now: Millis,
        effects: &mut Vec<Effect>,
    ) {
        let records = batch.records.get(range.clone()).unwrap_or_default();
        let mut flight = self.flights.open(self.lookups.len(), now);
        self.intake.decoded.clear();
        self.intake.counters.records += records.len() as u64;
        let undecodable = self.intake.decoder.decode_range(batch, range, &mut self.intake.decoded).err();
        let RowsIn { skipped, dropped, bytes, .. } = &mut self.intake.counters;
        *skipped += self.intake.decoded.skipped;
        *dropped += self.intake.decoded.dropped;
        *bytes += records.iter().map(payload_bytes).sum::<u64>();
        self.hand_on(batch, effects);
        std::mem::swap(&mut flight.changes.arena, &mut self.intake.decoded.arena);
        let rows = std::mem::take(&mut self.intake.decoded.rows);
        for (at, row) in rows.iter().enumerate() {
            self.locate(at, rows.iter().skip(at).map(|row| row.key), &flight.changes.arena);
            let Some(record) = batch.records.get(row.record as usize) else { continue };
            self.intake.count(row.op);
            let origin = Origin { partition: record.partition, offset: record.offset };
            let row = StreamRow {
                op: row.op,
                key: row.key,
                row: row.row,
                origin,
                timestamp: record.timestamp,
                silent: record.silent,
                doubt: record.doubt,
            };
            if !self.take_row(row, at, &mut flight, now) {
                break;
            }
        }
        self.intake.decoded.rows = rows;
        if let (Some(fault), false) = (undecodable, self.faulty) {
            // What came before it goes out first, also what waits in a bundle.
            self.end_bundle(&mut flight, now);
            self.faulty = true;
            flight.fault.get_or_insert(fault);
        }
        self.launch(flight, now);
    }

    /// Gives rows whose value names a key of another shard to that shard, and takes them out of the batch.
    fn hand_on(&mut self, batch: &RecordBatch, effects: &mut Vec<Effect>) {
        let Intake { decoder, router, decoded, outbox, counters, generation, .. } = &mut self.intake;
        if decoded.key_mismatches.is_empty() {
            return;
        }
        let mismatches = std::mem::take(&mut decoded.key_mismatches);
        let mut gone = Vec::new();
        for mismatch in &mismatches {
            counters.key_mismatches += 1;
            if counters.key_mismatches.is_power_of_two()
                && let Some(fault) = decoder.mismatch(*mismatch, batch, decoded)
            {
                warn_of(&fault, counters.key_mismatches);
            }
            let Some(row) = decoded.rows.get(mismatch.row as usize) else { continue };
            let Some(record) = batch.records.get(row.record as usize) else { continue };
            let (_, shard) = router.shard_of_key(row.key.of(&decoded.arena));
            let Some(forwarded) = outbox.get_mut(usize::from(shard.0)).filter(|_| shard != self.shard) else {
                continue;
            };
            let key = Slice::append(&mut forwarded.arena, row.key.of(&decoded.arena));
            let bytes = Slice::append(&mut forwarded.arena, row.row.of(&decoded.arena));
            let origin = Origin { partition: record.partition, offset: record.offset };
            let Record { timestamp, silent, doubt, .. } = *record;
            forwarded.rows.push(StreamRow { op: row.op, key, row: bytes, origin, timestamp, silent, doubt });
            gone.push(mismatch.row);
        }
        counters.forwarded += gone.len() as u64;
        let mut at = 0;
        decoded.rows.retain(|_| {
            at += 1;
            gone.binary_search(&(at - 1)).is_err()
        });
        for (shard, rows) in (0_u16..).zip(outbox.iter_mut()).filter(|(_, rows)| !rows.rows.is_empty()) {
            let rows = std::mem::take(rows);
            let message = PeerMessage::Forwarded { generation: *generation, rows };
            effects.push(Effect::ToShard(ShardId(shard), message));
        }
    }

    pub(super) fn take_rows(&mut self, batch: RowBatch, now: Millis) {
        let mut flight = self.flights.open(self.lookups.len(), now);
        flight.changes.arena = batch.arena;
        for (at, row) in batch.rows.iter().enumerate() {
            self.locate(at, batch.rows.iter().skip(at).map(|row| row.key), &flight.changes.arena);
            let row = *row;
            self.intake.count(row.op);
            if !self.take_row(row, at, &mut flight, now) {
                break;
            }
        }
        self.launch(flight, now);
    }

    /// Rows of another shard, without those of partitions that were released since it sent them.
    pub(super) fn take_forwarded(&mut self, generation: u64, mut batch: RowBatch, now: Millis) {
        let released = &self.intake.released;
        batch.rows.retain(|row| released.get(&row.origin.partition).is_none_or(|&at| at <= generation));
        self.take_rows(batch, now);
    }

    /// Ends the mini-batch.
    pub(super) fn flush_bundle(&mut self, now: Millis) {
        let mut flight = self.flights.open(self.lookups.len(), now);
        self.end_bundle(&mut flight, now);
        self.launch(flight, now);
    }

    fn end_bundle(&mut self, flight: &mut Flight, now: Millis) {
        let Some(normalizer) = &mut self.normalizer else { return };
        if let Err(fault) = normalizer.flush(now, &mut flight.changes) {
            self.note_fault(fault, flight);
        }
    }

    /// Looks for the entries of the next rows' keys, when the ones before are used up.
    fn locate(&mut self, at: usize, keys: impl Iterator<Item = Slice>, arena: &[u8]) {
        if !at.is_multiple_of(WINDOW) {
            return;
        }
        let Intake { located, places, .. } = &mut self.intake;
        if let Some(normalizer) = &self.normalizer {
            normalizer.locate(keys.take(WINDOW).map(|key| key.of(arena)), located, places);
        }
    }

    /// Takes the row at position `at` of its batch; false after one that cannot be processed.
    fn take_row(&mut self, row: StreamRow, at: usize, flight: &mut Flight, now: Millis) -> bool {
        if self.faulty {
            return false;
        }
        let StreamRow { op, key, row: bytes, origin, timestamp, silent, doubt } = row;
        // What cannot be taken back by its key alone cannot be taken back here.
        let doubt = doubt && !self.emitter.remembers();
        let incoming = match op {
            Op::Upsert => Incoming::Upsert,
            Op::Delete => Incoming::Delete,
            Op::Insert => {
                flight.changes.list.push(Change::appended(bytes, origin));
                return true;
            }
        };
        let (Some(normalizer), Some(&located)) = (&mut self.normalizer, self.intake.located.get(at % WINDOW))
        else {
            return true;
        };
        let arrival = Arrival { incoming, key, row: bytes, origin, located, doubt };
        let result = if silent {
            // State expires by when a row was written, which for a row of the past its timestamp tells best.
            let written = if timestamp < 0 { now } else { timestamp.min(now) };
            normalizer.rebuild(arrival, written, &flight.changes.arena)
        } else {
            normalizer.push(arrival, now, &mut flight.changes)
        };
        match result {
            Ok(()) => true,
            Err(fault) => {
                self.note_fault(fault, flight);
                false
            }
        }
    }

    /// The job ends at this record, behind the changes that the flight has.
    fn note_fault(&mut self, fault: RecordFault, flight: &mut Flight) {
        self.faulty = true;
        flight.fault = Some(self.placed(fault).into());
    }

    /// Begins the lookups of a batch and puts it in line.
    fn launch(&mut self, mut flight: Box<Flight>, now: Millis) {
        self.list_sources(&mut flight);
        if flight.is_empty() {
            self.flights.recycle(flight);
            return;
        }
        self.lookups.start(&mut flight.join, &flight.changes.arena, now);
        self.flights.push(flight);
    }

    /// Chooses the rows that are looked up: new rows that pass `where` so far, and old rows of which nobody
    /// knows what was sent, for sinks that need them.
    fn list_sources(&mut self, flight: &mut Flight) {
        let projector = self.emitter.projector();
        let filters = projector.filters_stream_rows();
        for (i, change) in flight.changes.list.iter().enumerate() {
            let mut sources = Sources::default();
            if let Some(row) = change.after {
                let passes = !filters
                    || match projector
                        .stream_row_passes(row.of(&flight.changes.arena), &mut self.intake.scratch)
                    {
                        Ok(passes) => passes,
                        Err(fault) => {
                            let fault = RecordFault { origin: change.origin, fault };
                            flight.changes.list.truncate(i);
                            self.note_fault(fault, flight);
                            return;
                        }
                    };
                sources.after = passes.then(|| flight.join.push(row));
            }
            if change.doubt && self.emitter.remembers() {
                sources.before = change.before.map(|row| flight.join.push(row));
            }
            flight.sources.push(sources);
        }
    }
}

/// Bytes of a record's key and value.
fn payload_bytes(record: &Record) -> u64 {
    [record.key, record.value].into_iter().flatten().map(|slice| slice.len() as u64).sum()
}

/// Said at the first, second, fourth, eighth … row, so that a topic full of them does not fill the log.
fn warn_of(fault: &DataFault, count: u64) {
    tracing::warn!(table = fault.place.table, count, "{fault}");
}
