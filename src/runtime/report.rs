//! From counters to metrics: what `/metrics` answers.

use std::sync::Mutex;

use crate::db::StatementReport;
use crate::lookup::LookupCounters;
use crate::pipeline::Counters;
use crate::telemetry::{Histogram, Page, Sample, names};

use super::board::{Board, SourceView, lock};
use super::handle::Names;

/// Statements of one lookup.
#[derive(Debug, Default)]
pub(super) struct Statements(Mutex<Counted>);

#[derive(Clone, Debug, Default)]
struct Counted {
    sent: u64,
    keys: u64,
    rows: u64,
    failed: u64,
    seconds: Histogram,
}

impl Statements {
    pub(super) fn add(&self, report: StatementReport) {
        let mut counted = lock(&self.0);
        counted.sent += 1;
        counted.keys += report.keys as u64;
        counted.rows += report.rows as u64;
        counted.failed += u64::from(report.failed);
        counted.seconds.observe(report.elapsed);
    }
}

/// Every metric of a job.
pub(super) fn page(labels: &Names, board: &Board<Counters>, statements: &[Statements], ready: bool) -> Page {
    let view = board.source();
    let counters: Vec<_> = board.shards().iter().map(|shard| shard.counters().unwrap_or_default()).collect();
    let mut samples = Vec::new();
    process(&mut samples, ready);
    source(&mut samples, labels, &view);
    rows(&mut samples, labels, &counters);
    for (number, (shard, counters)) in board.shards().iter().zip(&counters).enumerate() {
        let label = number.to_string();
        let label = label.as_str();
        samples.push(Sample::count(&names::SHARD_RECORDS, [label], shard.records()));
        samples.push(Sample::count(&names::SHARD_QUEUE, [label], shard.queued()));
        samples.push(Sample::number(&names::SHARD_BUSY, [label], shard.busy().as_secs_f64()));
        samples.push(Sample::count(&names::STATE_KEYS, [&labels.source, label], counters.state.keys));
        samples.push(Sample::count(&names::STATE_BYTES, [&labels.source, label], counters.state.bytes));
        for (lookup, counted) in labels.lookups.iter().zip(&counters.lookups) {
            caches(&mut samples, &lookup.table, label, counted);
            let capacity = lookup.capacity.unwrap_or(0);
            samples.push(Sample::count(&names::CACHE_CAPACITY, [&lookup.table, label], capacity));
        }
    }
    for (lookup, statements) in labels.lookups.iter().zip(statements) {
        let counted = lock(&statements.0).clone();
        let table = lookup.table.as_str();
        samples.push(Sample::count(&names::LOOKUP_STATEMENTS, [table], counted.sent));
        samples.push(Sample::count(&names::LOOKUP_KEYS, [table], counted.keys));
        samples.push(Sample::count(&names::LOOKUP_ROWS, [table], counted.rows));
        samples.push(Sample::count(&names::LOOKUP_ERRORS, [table], counted.failed));
        samples.push(Sample::distribution(&names::LOOKUP_SECONDS, [table], counted.seconds));
    }
    Page::new(samples)
}

fn source(samples: &mut Vec<Sample>, labels: &Names, view: &SourceView) {
    let table = labels.source.as_str();
    samples.push(Sample::count(&names::SOURCE_ASSIGNED, [table], view.partitions.len() as u64));
    samples.push(Sample::count(&names::SOURCE_PAUSED, [table], u64::from(view.backpressured)));
    for (reason, count) in ["assigned", "revoked", "lost"].into_iter().zip(view.rebalances) {
        samples.push(Sample::count(&names::REBALANCES, [reason], count));
    }
    for (outcome, count) in ["ok", "failed"].into_iter().zip(view.commits) {
        samples.push(Sample::count(&names::COMMITS, [outcome], count));
    }
    if let Some(time) = view.last_commit {
        samples.push(Sample::number(&names::LAST_COMMIT, [], time as f64 / 1_000.0));
    }
    for partition in &view.partitions {
        let number = partition.name.partition.to_string();
        let place = [table, &*partition.name.topic, number.as_str()];
        samples.push(Sample::number(&names::SOURCE_POSITION, place, partition.position as f64));
        for (metric, value) in [
            (&names::SOURCE_LAG, partition.lag()),
            (&names::SOURCE_END, partition.end),
            (&names::SOURCE_COMMITTED, partition.committed),
        ] {
            if let Some(value) = value {
                samples.push(Sample::number(metric, place, value as f64));
            }
        }
        let remaining = partition.restore.map_or(0, |restore| restore.total - restore.done);
        samples.push(Sample::number(&names::RESTORE_REMAINING, place, remaining as f64));
    }
}

fn rows(samples: &mut Vec<Sample>, labels: &Names, counters: &[Counters]) {
    let table = labels.source.as_str();
    let sum = |of: fn(&Counters) -> u64| counters.iter().map(of).sum::<u64>();
    for (op, count) in [
        ("upsert", sum(|c| c.rows_in.upserts)),
        ("delete", sum(|c| c.rows_in.deletes)),
        ("insert", sum(|c| c.rows_in.inserts)),
    ] {
        samples.push(Sample::count(&names::SOURCE_RECORDS, [table, op], count));
    }
    samples.push(Sample::count(&names::SOURCE_KEY_MISMATCHES, [table], sum(|c| c.rows_in.key_mismatches)));
    for (kind, count) in [
        ("insert", sum(|c| c.normalize.inserts)),
        ("update", sum(|c| c.normalize.updates)),
        ("delete", sum(|c| c.normalize.deletes)),
    ] {
        samples.push(Sample::count(&names::CHANGES, [table, kind], count));
    }
    for (reason, count) in [
        ("no_change", sum(|c| c.normalize.equal)),
        ("unknown_delete", sum(|c| c.normalize.unknown_deletes)),
        ("filtered", sum(|c| c.normalize.filtered + c.normalize.key_filtered)),
        ("bundled", sum(|c| c.normalize.bundled)),
        ("silent", sum(|c| c.normalize.rebuilt)),
    ] {
        samples.push(Sample::count(&names::SUPPRESSED, [table, reason], count));
    }
    for (at, kind) in ["insert", "update_before", "update_after", "delete"].into_iter().enumerate() {
        let count = counters.iter().map(|c| c.rows_out[at]).sum();
        samples.push(Sample::count(&names::SINK_ROWS, [&labels.sink, kind], count));
    }
}

fn caches(samples: &mut Vec<Sample>, table: &str, shard: &str, counted: &LookupCounters) {
    for (result, count) in [
        ("hit", counted.hits),
        ("coalesced", counted.coalesced),
        ("miss", counted.misses),
        ("no_key", counted.no_key + counted.pre_filtered),
    ] {
        samples.push(Sample::count(&names::LOOKUPS, [table, shard, result], count));
    }
    let asked = counted.hits + counted.coalesced + counted.misses;
    if 0 < asked {
        let ratio = counted.hits as f64 / asked as f64;
        samples.push(Sample::number(&names::LOOKUP_HIT_RATIO, [table, shard], ratio));
    }
    samples.push(Sample::count(&names::CACHE_NEGATIVE_HITS, [table, shard], counted.negative_hits));
    samples.push(Sample::count(&names::CACHE_ENTRIES, [table, shard], counted.cached));
}

fn process(samples: &mut Vec<Sample>, ready: bool) {
    samples.push(Sample::count(&names::READY, [], u64::from(ready)));
    samples.push(Sample::count(&names::BUILD, [env!("CARGO_PKG_VERSION")], 1));
    let Some(usage) = super::usage::usage() else { return };
    samples.push(Sample::count(&names::RESIDENT, [], usage.resident_bytes));
    samples.push(Sample::number(&names::CPU, [], usage.cpu.as_secs_f64()));
    samples.push(Sample::count(&names::THREADS, [], usage.threads));
    samples.push(Sample::count(&names::FDS, [], usage.open_files));
}
