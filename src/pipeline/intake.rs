//! From records to changes in flight: decode, hand on what belongs elsewhere,
//! normalize, begin the lookups.

use std::collections::HashMap;

use bumpalo::Bump;

use crate::clock::Millis;
use crate::error::Result;
use crate::keygroup::KeyGroups;
use crate::model::{PartitionId, RecordBatch};
use crate::normalize::{Arrival, Change, Incoming, RecordFault};
use crate::plan::Plan;

use super::flight::{Flight, Sources};
use super::{DecodedRow, Effect, RowBatch, RowOp, RowsIn, Worker};

/// The receiving end of a worker.
#[derive(Debug)]
pub(super) struct Intake {
    table: String,
    groups: KeyGroups,
    /// How many releases were seen.
    generation: u64,
    /// At which of them a partition was last released.
    released: HashMap<PartitionId, u64>,
    scratch: Bump,
    pub counters: RowsIn,
}

impl Intake {
    pub fn new(plan: &Plan, groups: KeyGroups) -> Result<Self> {
        Ok(Self {
            table: plan.source.table.clone(),
            groups,
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
        self.groups.parallelism()
    }

    pub fn release(&mut self, partitions: &[PartitionId]) {
        self.generation += 1;
        self.released.extend(partitions.iter().map(|&partition| (partition, self.generation)));
    }

    fn count(&mut self, op: RowOp) {
        match op {
            RowOp::Upsert => self.counters.upserts += 1,
            RowOp::Delete => self.counters.deletes += 1,
            RowOp::Insert => self.counters.inserts += 1,
        }
    }
}

impl Worker {
    pub(super) fn take_records(&mut self, _batch: &RecordBatch, _now: Millis, _effects: &mut Vec<Effect>) {}

    pub(super) fn take_rows(&mut self, batch: RowBatch, now: Millis) {
        let mut flight = self.flights.open(self.lookups.len(), now);
        flight.changes.arena = batch.arena;
        for row in batch.rows {
            self.intake.count(row.op);
            if !self.take_row(row, &mut flight, now) {
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
        let Some(normalizer) = &mut self.normalizer else { return };
        let mut flight = self.flights.open(self.lookups.len(), now);
        if let Err(fault) = normalizer.flush(now, &mut flight.changes) {
            self.note_fault(fault, &mut flight);
        }
        self.launch(flight, now);
    }

    /// Takes one row; false after one that cannot be processed.
    fn take_row(&mut self, row: DecodedRow, flight: &mut Flight, now: Millis) -> bool {
        if self.faulty {
            return false;
        }
        let DecodedRow { op, key, row: bytes, origin, timestamp, silent } = row;
        let incoming = match op {
            RowOp::Upsert => Incoming::Upsert,
            RowOp::Delete => Incoming::Delete,
            RowOp::Insert => {
                flight.changes.list.push(Change::appended(bytes, origin));
                return true;
            }
        };
        let Some(normalizer) = &mut self.normalizer else { return true };
        let arrival = Arrival { incoming, key, row: bytes, origin };
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
        flight.fault = Some(Box::new(self.placed(fault)));
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
                self.intake.scratch.reset();
                let passes = !filters
                    || match projector.stream_row_passes(row.of(&flight.changes.arena), &self.intake.scratch)
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
