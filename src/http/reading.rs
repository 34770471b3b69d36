//! What the counters of a job say at one moment: totals since it began.

use std::time::Duration;

use crate::clock::Millis;
use crate::pipeline::Counters;
use crate::runtime::Job;
use crate::telemetry::Histogram;

use super::process;

/// One reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reading {
    pub at: Millis,
    /// Records that were decoded, and their bytes.
    pub rows_in: u64,
    pub bytes_in: u64,
    /// Changes out of normalization, and rows that gave none.
    pub changes: u64,
    pub suppressed: u64,
    pub state_keys: u64,
    pub state_bytes: u64,
    pub rows_out: u64,
    /// Time that the source read nothing because a shard's queue was full.
    pub backpressured: Duration,
    pub lookups: Vec<LookupReading>,
    pub shards: Vec<ShardReading>,
    /// CPU time of the process, where the system tells.
    pub cpu: Option<f64>,
}

/// One lookup, over all shards.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LookupReading {
    pub hits: u64,
    pub negative_hits: u64,
    pub coalesced: u64,
    pub misses: u64,
    pub no_key: u64,
    pub cached: u64,
    pub capacity: u64,
    pub expired: u64,
    pub evicted: u64,
    pub statements: u64,
    pub keys: u64,
    pub rows: u64,
    pub errors: u64,
    pub seconds: Histogram,
}

/// One shard.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ShardReading {
    pub records: u64,
    pub queued: u64,
    pub busy: Duration,
    pub held: Duration,
    pub sink: Duration,
    pub keys: u64,
    pub bytes: u64,
}

impl Reading {
    /// Reads the counters of `job`.
    pub(super) fn of(job: &Job, at: Millis) -> Self {
        let mut reading = Self { at, backpressured: job.board().backpressured(), ..Self::default() };
        reading.cpu = process::cpu_seconds();
        reading.lookups = job.statements().counts().into_iter().map(statements).collect();
        for view in job.board().shards() {
            let counters = view.counters().unwrap_or_default();
            reading.shards.push(ShardReading {
                records: view.records(),
                queued: view.queued(),
                busy: view.busy(),
                held: view.held(),
                sink: view.waited_for_sink(),
                keys: counters.state.keys,
                bytes: counters.state.bytes,
            });
            reading.add(&counters);
        }
        reading
    }

    fn add(&mut self, counters: &Counters) {
        let rows = &counters.rows_in;
        self.rows_in += rows.upserts + rows.deletes + rows.inserts;
        self.bytes_in += rows.bytes;
        self.changes += counters.normalize.changes().iter().map(|(_, count)| count).sum::<u64>();
        self.suppressed += counters.normalize.suppressed().iter().map(|(_, count)| count).sum::<u64>();
        self.state_keys += counters.state.keys;
        self.state_bytes += counters.state.bytes;
        self.rows_out += counters.rows_out.iter().sum::<u64>();
        for (sum, lookup) in self.lookups.iter_mut().zip(&counters.lookups) {
            sum.hits += lookup.hits;
            sum.negative_hits += lookup.negative_hits;
            sum.coalesced += lookup.coalesced;
            sum.misses += lookup.misses;
            sum.no_key += lookup.no_key + lookup.pre_filtered;
            sum.cached += lookup.cached;
            sum.capacity += lookup.capacity;
            sum.expired += lookup.expired;
            sum.evicted += lookup.evicted;
        }
    }
}

fn statements(counts: crate::runtime::StatementCounts) -> LookupReading {
    LookupReading {
        statements: counts.statements,
        keys: counts.keys,
        rows: counts.rows,
        errors: counts.errors,
        seconds: counts.seconds,
        ..LookupReading::default()
    }
}

impl LookupReading {
    /// Rows that asked for a key.
    pub(super) fn asked(&self) -> u64 {
        self.hits + self.coalesced + self.misses
    }
}

/// Records by key group, in the order of the groups.
pub(super) fn groups(job: &Job) -> Vec<u64> {
    job.board().shards().iter().flat_map(crate::runtime::ShardView::groups).collect()
}
