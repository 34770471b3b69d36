//! A running job as the HTTP face shows it: probes, metrics and the status document.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::clock::{Clock, Millis};
use crate::model::ShardId;
use crate::pipeline::Counters;
use crate::runtime::{Job, PartitionView, SourceView, State};
use crate::telemetry::{Page, Problems, Sample, names};

use super::Observable;
use super::history::History;
use super::process;
use super::reading::{self, Reading};
use super::snapshot::{self, Parts, Snapshot};

/// Names of row kinds in labels, in the order of `RowKind::ALL`.
const KINDS: [&str; 4] = ["insert", "update_before", "update_after", "delete"];

/// Watches a job.
#[derive(Debug)]
pub struct Watch {
    job: Arc<Job>,
    clock: Clock,
    started: Millis,
    stall_timeout: Duration,
    definition: String,
    problems: Problems,
    history: Mutex<History>,
}

/// What the HTTP face shows besides the job itself.
#[derive(Debug)]
pub struct Showing {
    /// The definition as people may see it.
    pub definition: String,
    /// The last warnings and errors.
    pub problems: Problems,
    /// A thread that has not shown itself for so long stands still.
    pub stall_timeout: Duration,
}

impl Watch {
    /// Watches `job`.
    #[must_use]
    pub fn new(job: Arc<Job>, clock: Clock, showing: Showing) -> Self {
        let Showing { definition, problems, stall_timeout } = showing;
        let (started, history) = (clock.now(), Mutex::default());
        Self { job, clock, started, stall_timeout, definition, problems, history }
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seconds without a sign of life.
    fn silence(&self, last: Millis) -> Duration {
        Duration::from_millis(u64::try_from(self.clock.now() - last).unwrap_or(0))
    }

    fn is_ready(&self, source: &SourceView) -> bool {
        source.state == State::Running && !self.job.is_stopping()
    }

    fn source_samples(&self, source: &SourceView, samples: &mut Vec<Sample>) {
        let table = self.job.plan().source.table.as_str();
        samples.push(Sample::count(&names::SOURCE_ASSIGNED, [table], source.partitions.len() as u64));
        samples.push(Sample::count(&names::SOURCE_PAUSED, [table], source.backpressured.into()));
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
            gauge(
                &names::RESTORE_REMAINING,
                Some(view.restore.map_or(0, |restore| restore.total - restore.done)),
            );
        }
        for (reason, count) in ["assigned", "revoked", "lost"].into_iter().zip(source.rebalances) {
            samples.push(Sample::count(&names::REBALANCES, [reason], count));
        }
        for (outcome, count) in ["ok", "failed"].into_iter().zip(source.commits) {
            samples.push(Sample::count(&names::COMMITS, [outcome], count));
        }
        let last = source.last_commit.map_or(0.0, |at| at as f64 / 1000.0);
        samples.push(Sample::number(&names::LAST_COMMIT, [], last));
    }

    fn shard_samples(&self, samples: &mut Vec<Sample>) -> Counters {
        let mut total = Counters::default();
        for (number, shard) in (0_u16..).zip(self.job.board().shards()) {
            let name = number.to_string();
            let label = [name.as_str()];
            samples.push(Sample::count(&names::SHARD_RECORDS, label, shard.records()));
            samples.push(Sample::count(&names::SHARD_QUEUE, label, shard.queued()));
            samples.push(Sample::number(&names::SHARD_BUSY, label, shard.busy().as_secs_f64()));
            let groups = self.job.groups().range(ShardId(number)).len();
            samples.push(Sample::count(&names::SHARD_KEY_GROUPS, label, groups as u64));
            let Some(counters) = shard.counters() else { continue };
            self.keyed_samples(&name, &counters, samples);
            total += &counters;
        }
        total
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
            samples.push(Sample::count(&names::CACHE_ENTRIES, labels, count.cached));
            let rows = lookup.cache.and_then(|cache| cache.max_rows).unwrap_or(0);
            let capacity = rows / u64::from(self.job.groups().parallelism());
            samples.push(Sample::count(&names::CACHE_CAPACITY, labels, capacity));
        }
    }

    fn stage_samples(&self, total: &Counters, samples: &mut Vec<Sample>) {
        let plan = self.job.plan();
        let (table, sink) = (plan.source.table.as_str(), plan.sink.table.as_str());
        let rows = &total.rows_in;
        let ops = [("upsert", rows.upserts), ("delete", rows.deletes), ("insert", rows.inserts)];
        for (op, count) in ops {
            samples.push(Sample::count(&names::SOURCE_RECORDS, [table, op], count));
        }
        samples.push(Sample::count(&names::SOURCE_KEY_MISMATCHES, [table], rows.key_mismatches));
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
        for (kind, count) in KINDS.into_iter().zip(total.rows_out) {
            samples.push(Sample::count(&names::SINK_ROWS, [sink, kind], count));
        }
        for (lookup, count) in plan.lookups.iter().zip(self.job.statements().counts()) {
            let labels = [lookup.alias.as_str()];
            samples.push(Sample::count(&names::LOOKUP_STATEMENTS, labels, count.statements));
            samples.push(Sample::count(&names::LOOKUP_KEYS, labels, count.keys));
            samples.push(Sample::count(&names::LOOKUP_ROWS, labels, count.rows));
            samples.push(Sample::count(&names::LOOKUP_ERRORS, labels, count.errors));
            samples.push(Sample::distribution(&names::LOOKUP_SECONDS, labels, count.seconds));
        }
    }
}

impl Observable for Watch {
    fn liveness(&self) -> Result<(), String> {
        if self.job.board().source().state == State::Stopped {
            return Ok(());
        }
        let pulses = self.job.board().pulses();
        let silent = pulses.into_iter().find(|(_, last)| self.stall_timeout < self.silence(*last));
        silent.map_or(Ok(()), |(name, last)| {
            Err(format!("{name} stands still since {} s", self.silence(last).as_secs()))
        })
    }

    fn readiness(&self) -> Result<(), String> {
        let source = self.job.board().source();
        let restoring = |view: &PartitionView| {
            view.restore
                .map(|restore| format!("{}: {} of {} offsets", view.name, restore.done, restore.total))
        };
        match source.state {
            State::Running if self.job.is_stopping() => Err(State::Draining.name().to_owned()),
            State::Running => Ok(()),
            State::Restoring if source.partitions.iter().any(|view| view.restore.is_some()) => {
                let parts: Vec<String> = source.partitions.iter().filter_map(restoring).collect();
                Err(format!("restoring {}", parts.join(", ")))
            }
            State::Restoring => Err("joining the consumer group".to_owned()),
            state => Err(state.name().to_owned()),
        }
    }

    fn metrics(&self) -> Page {
        let source = self.job.board().source();
        let mut samples = vec![
            Sample::count(&names::BUILD, [env!("CARGO_PKG_VERSION")], 1),
            Sample::count(&names::READY, [], self.is_ready(&source).into()),
        ];
        self.source_samples(&source, &mut samples);
        let total = self.shard_samples(&mut samples);
        self.stage_samples(&total, &mut samples);
        process::samples(&mut samples);
        Page::new(samples)
    }

    fn status(&self) -> Json {
        let source = self.job.board().source();
        let plan = self.job.plan();
        let partitions = source.partitions.iter().map(|view| {
            json!({
                "topic": &*view.name.topic,
                "partition": view.name.partition,
                "position": view.position,
                "committed": view.committed,
                "end": view.end,
                "lag": view.lag(),
                "restore": view.restore.map(|restore| json!({"done": restore.done, "total": restore.total})),
            })
        });
        let shards = (0_u16..).zip(self.job.board().shards()).map(|(number, shard)| {
            let state = shard.counters().map(|counters| counters.state);
            json!({
                "shard": number,
                "records": shard.records(),
                "queued_batches": shard.queued(),
                "busy_seconds": shard.busy().as_secs_f64(),
                "key_groups": self.job.groups().range(ShardId(number)).len(),
                "state_keys": state.as_ref().map(|state| state.keys),
                "state_bytes": state.as_ref().map(|state| state.bytes),
            })
        });
        json!({
            "name": plan.name,
            "state": source.state.name(),
            "ready": self.is_ready(&source),
            "source": plan.source.table,
            "sink": plan.sink.table,
            "lookups": plan.lookups.iter().map(|lookup| lookup.alias.as_str()).collect::<Vec<_>>(),
            "partitions": partitions.collect::<Vec<_>>(),
            "shards": shards.collect::<Vec<_>>(),
            "commits": {"ok": source.commits[0], "failed": source.commits[1], "last_millis": source.last_commit},
            "rebalances": {
                "assigned": source.rebalances[0],
                "revoked": source.rebalances[1],
                "lost": source.rebalances[2],
            },
            "backpressured": source.backpressured,
        })
    }

    fn tick(&self) {
        let reading = Reading::of(&self.job, self.clock.now());
        self.history().add(reading, || reading::groups(&self.job));
    }

    fn snapshot(&self) -> String {
        let history = self.history();
        let now = self.clock.now();
        let view = self.job.board().source();
        let (state, ready) = (view.state.name(), self.is_ready(&view));
        let parts = Parts { job: &self.job, view, history: &history, reading: Reading::of(&self.job, now) };
        let snapshot = Snapshot {
            version: env!("CARGO_PKG_VERSION"),
            name: &self.job.plan().name,
            now,
            started: self.started,
            state,
            ready,
            reason: self.readiness().err(),
            cores: parts.cores(),
            resident_bytes: process::resident_bytes(),
            source: parts.source(),
            normalize: parts.normalize(),
            lookups: parts.lookups(),
            sink: parts.sink(),
            shards: parts.shards(),
            partitions: parts.partitions(),
            problems: self.problems.list(),
            chart_seconds: snapshot::CHART_SECONDS,
        };
        serde_json::to_string(&snapshot).unwrap_or_else(|error| {
            tracing::error!(%error, "the snapshot of the page could not be written");
            "{}".to_owned()
        })
    }

    fn definition(&self) -> String {
        self.definition.clone()
    }
}
