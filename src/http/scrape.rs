//! The counters of a running job as samples of the metrics in `telemetry::names`.

use sha2::{Digest, Sha256};

use crate::clock::{Millis, Stopwatch};
use crate::model::ShardId;
use crate::pipeline::{Counters, FLIGHTS_MAX};
use crate::plan::Plan;
use crate::runtime::{DATA_QUEUE, SourceView, State};
use crate::telemetry::{Page, Sample, log_lines, names};

use super::observe::Watch;
use super::process;

/// Names of row kinds in labels, in the order of `RowKind::ALL`.
const KINDS: [&str; 4] = ["insert", "update_before", "update_after", "delete"];

/// Tells definitions apart: the same on every replica that runs the same one with the same program.
/// Secrets have no printable form, so a new password is no new definition.
pub(super) fn digest(plan: &Plan) -> String {
    let digest = Sha256::digest(format!("{plan:?}").as_bytes());
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

fn seconds(millis: Millis) -> f64 {
    millis as f64 / 1000.0
}

impl Watch {
    /// All metrics now.
    pub(super) fn scrape(&self) -> Page {
        let watch = Stopwatch::start();
        let source = self.job.board().source();
        let mut samples = Vec::new();
        self.instance_samples(&source, &mut samples);
        self.source_samples(&source, &mut samples);
        commit_samples(&source, &mut samples);
        let total = self.shard_samples(&mut samples);
        self.stage_samples(&total, &mut samples);
        self.statement_samples(&mut samples);
        self.sink_samples(&source, &total, &mut samples);
        process::samples(&mut samples);
        samples.push(Sample::number(&names::SCRAPE_SECONDS, [], watch.elapsed().as_secs_f64()));
        Page::new(samples)
    }

    fn instance_samples(&self, source: &SourceView, samples: &mut Vec<Sample>) {
        samples.push(Sample::count(&names::BUILD, [env!("CARGO_PKG_VERSION")], 1));
        samples.push(Sample::count(&names::DEFINITION, [&self.digest], 1));
        samples.push(Sample::count(&names::READY, [], self.is_ready(source).into()));
        for state in State::ALL {
            let now = u64::from(state == source.state);
            samples.push(Sample::count(&names::INSTANCE_STATE, [state.name()], now));
        }
        for (level, lines) in log_lines() {
            samples.push(Sample::count(&names::LOG_LINES, [level], lines));
        }
    }

    fn source_samples(&self, source: &SourceView, samples: &mut Vec<Sample>) {
        let table = self.job.plan().source.table.as_str();
        samples.push(Sample::count(&names::SOURCE_ASSIGNED, [table], source.partitions.len() as u64));
        samples.push(Sample::count(&names::SOURCE_PAUSED, [table], source.backpressured.into()));
        let stood = self.job.board().backpressured().as_secs_f64();
        samples.push(Sample::number(&names::SOURCE_BACKPRESSURE, [table], stood));
        let pulse = seconds(self.job.board().source_pulse());
        samples.push(Sample::number(&names::SOURCE_PROGRESS, [table], pulse));
        for view in &source.partitions {
            let partition = view.name.partition.to_string();
            let labels = [table, &*view.name.topic, partition.as_str()];
            let mut gauge = |metric, value: Option<i64>| {
                samples.extend(value.map(|value| Sample::number(metric, labels, value as f64)));
            };
            gauge(&names::SOURCE_POSITION, Some(view.position));
            gauge(&names::SOURCE_COMMITTED, view.committed);
            gauge(&names::SOURCE_END, view.end);
            gauge(&names::SOURCE_LAG, view.lag());
            let left = view.restore.map_or(0, |restore| restore.total - restore.done);
            gauge(&names::RESTORE_REMAINING, Some(left));
            let newest = view.timestamp.map(seconds);
            samples.extend(newest.map(|newest| Sample::number(&names::SOURCE_TIMESTAMP, labels, newest)));
        }
        for (reason, count) in ["assigned", "revoked", "lost"].into_iter().zip(source.rebalances) {
            samples.push(Sample::count(&names::REBALANCES, [reason], count));
        }
    }

    fn shard_samples(&self, samples: &mut Vec<Sample>) -> Counters {
        let mut total = Counters::default();
        let shards = self.job.board().shards();
        for (number, shard) in (0_u16..).zip(shards) {
            let name = number.to_string();
            let label = [name.as_str()];
            samples.push(Sample::count(&names::SHARD_RECORDS, label, shard.records()));
            samples.push(Sample::count(&names::SHARD_QUEUE, label, shard.queued()));
            samples.push(Sample::count(&names::SHARD_QUEUE_CAPACITY, label, DATA_QUEUE as u64));
            samples.push(Sample::count(&names::SHARD_FLIGHTS_CAPACITY, label, FLIGHTS_MAX as u64));
            samples.push(Sample::number(&names::SHARD_BUSY, label, shard.busy().as_secs_f64()));
            samples.push(Sample::number(&names::SHARD_HELD, label, shard.held().as_secs_f64()));
            samples.push(Sample::number(&names::SHARD_SINK, label, shard.waited_for_sink().as_secs_f64()));
            samples.push(Sample::number(&names::SHARD_PROGRESS, label, seconds(shard.last_pulse())));
            let groups = self.job.groups().range(ShardId(number)).len();
            samples.push(Sample::count(&names::SHARD_KEY_GROUPS, label, groups as u64));
            let counters = shard.counters().unwrap_or_else(|| self.none_yet());
            samples.push(Sample::count(&names::SHARD_FLIGHTS, label, counters.in_flight));
            self.keyed_samples(&name, &counters, samples);
            total += &counters;
        }
        // Nothing at all is spread evenly.
        let skew = |ratio: f64| if ratio == 0.0 { 1.0 } else { ratio };
        let history = self.history();
        samples.push(Sample::number(&names::SHARD_SKEW, [], skew(history.shard_skew())));
        samples.push(Sample::number(&names::KEY_GROUP_SKEW, [], skew(history.group_skew())));
        total
    }

    /// What a shard has counted before it began: series exist before the first event.
    fn none_yet(&self) -> Counters {
        Counters { lookups: vec![Default::default(); self.job.plan().lookups.len()], ..Counters::default() }
    }

    fn keyed_samples(&self, shard: &str, counters: &Counters, samples: &mut Vec<Sample>) {
        let plan = self.job.plan();
        if plan.normalize.is_some() {
            let labels = [plan.source.table.as_str(), shard];
            samples.push(Sample::count(&names::STATE_KEYS, labels, counters.state.keys));
            samples.push(Sample::count(&names::STATE_BYTES, labels, counters.state.bytes));
        }
        for (lookup, count) in plan.lookups.iter().zip(&counters.lookups) {
            let table = lookup.alias.as_str();
            let results = [
                ("hit", count.hits),
                ("coalesced", count.coalesced),
                ("miss", count.misses),
                ("no_key", count.no_key + count.pre_filtered),
            ];
            for (result, value) in results {
                samples.push(Sample::count(&names::LOOKUPS, [table, shard, result], value));
            }
            let labels = [table, shard];
            let asked = count.hits + count.coalesced + count.misses;
            let ratio = if asked == 0 { 0.0 } else { count.hits as f64 / asked as f64 };
            samples.push(Sample::number(&names::LOOKUP_HIT_RATIO, labels, ratio));
            samples.push(Sample::count(&names::CACHE_NEGATIVE_HITS, labels, count.negative_hits));
            samples.push(Sample::count(&names::CACHE_EXPIRED, labels, count.expired));
            samples.push(Sample::count(&names::CACHE_EVICTIONS, labels, count.evicted));
            samples.push(Sample::count(&names::CACHE_ENTRIES, labels, count.cached));
            samples.push(Sample::count(&names::CACHE_CAPACITY, labels, count.capacity));
        }
    }

    fn stage_samples(&self, total: &Counters, samples: &mut Vec<Sample>) {
        let table = self.job.plan().source.table.as_str();
        let rows = &total.rows_in;
        let ops = [("upsert", rows.upserts), ("delete", rows.deletes), ("insert", rows.inserts)];
        for (op, count) in ops {
            samples.push(Sample::count(&names::SOURCE_RECORDS, [table, op], count));
        }
        samples.push(Sample::count(&names::SOURCE_KEY_MISMATCHES, [table], rows.key_mismatches));
        samples.push(Sample::count(&names::SOURCE_FORWARDED, [table], rows.forwarded));
        samples.push(Sample::count(&names::SOURCE_BYTES, [table], rows.bytes));
        let skipped = [("empty_value", rows.skipped), ("parse_error", rows.dropped)];
        for (reason, count) in skipped {
            samples.push(Sample::count(&names::SOURCE_SKIPPED, [table, reason], count));
        }
        let normalize = &total.normalize;
        for (kind, count) in normalize.changes() {
            samples.push(Sample::count(&names::CHANGES, [table, kind], count));
        }
        for (reason, count) in normalize.suppressed() {
            samples.push(Sample::count(&names::SUPPRESSED, [table, reason], count));
        }
        samples.push(Sample::count(&names::UNMATCHED, [table], total.unmatched));
    }

    fn statement_samples(&self, samples: &mut Vec<Sample>) {
        for (lookup, count) in self.job.plan().lookups.iter().zip(self.job.statements().counts()) {
            let labels = [lookup.alias.as_str()];
            let hashed = lookup.hash && lookup.cache.is_some() && !lookup.hash_order.is_empty();
            samples.push(Sample::count(&names::LOOKUP_HASHED, labels, hashed.into()));
            samples.push(Sample::count(&names::LOOKUP_STATEMENTS, labels, count.statements));
            samples.push(Sample::count(&names::LOOKUP_KEYS, labels, count.keys));
            samples.push(Sample::count(&names::LOOKUP_ROWS, labels, count.rows));
            samples.push(Sample::count(&names::LOOKUP_ERRORS, labels, count.errors));
            samples.push(Sample::count(&names::LOOKUP_WAITING, labels, count.in_flight));
            samples.push(Sample::distribution(&names::LOOKUP_SECONDS, labels, count.seconds));
        }
    }

    fn sink_samples(&self, source: &SourceView, total: &Counters, samples: &mut Vec<Sample>) {
        let sink = self.job.plan().sink.table.as_str();
        for (kind, count) in KINDS.into_iter().zip(total.rows_out) {
            samples.push(Sample::count(&names::SINK_ROWS, [sink, kind], count));
        }
        let counts = self.job.sink_counts().totals();
        samples.push(Sample::count(&names::SINK_WAITING, [sink], counts.waiting));
        samples.push(Sample::count(&names::SINK_ERRORS, [sink], counts.errors));
        samples.push(Sample::count(&names::SINK_STATEMENTS, [sink], counts.statements));
        samples.push(Sample::count(&names::SINK_RETRIES, [sink], counts.retries));
        samples.push(Sample::distribution(&names::SINK_SECONDS, [sink], counts.transactions));
        let success = source.last_durable.map_or(0.0, seconds);
        samples.push(Sample::number(&names::SINK_SUCCESS, [sink], success));
    }
}

fn commit_samples(source: &SourceView, samples: &mut Vec<Sample>) {
    for (outcome, count) in ["ok", "failed"].into_iter().zip(source.commits) {
        samples.push(Sample::count(&names::COMMITS, [outcome], count));
    }
    samples.push(Sample::distribution(&names::COMMIT_SECONDS, [], source.commit_seconds.clone()));
    let last = source.last_commit.map_or(0.0, seconds);
    samples.push(Sample::number(&names::LAST_COMMIT, [], last));
    samples.push(Sample::count(&names::EPOCHS_OPEN, [], source.open_epochs as u64));
}
