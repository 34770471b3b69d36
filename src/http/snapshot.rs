//! What the page shows, as of now: one JSON document, complete in itself, so
//! that a stream may skip any of them and a page that reconnects needs no more.

use serde::Serialize;

use crate::clock::Millis;
use crate::model::ShardId;
use crate::plan::{LookupPlan, SourceKind};
use crate::runtime::{Job, PartitionView, SourceView};
use crate::telemetry::Problem;

use super::history::{History, STRIDE, Span};
use super::reading::{LookupReading, Reading, ShardReading};

/// Shards and partitions that are listed one by one; of more, the busiest.
const LISTED_MAX: usize = 64;

/// Cells of the strip of key groups over all shards; with more groups a cell stands for several.
const CELLS_MAX: usize = 1_024;

/// The document.
#[derive(Debug, Serialize)]
pub(super) struct Snapshot<'a> {
    pub version: &'static str,
    pub name: &'a str,
    pub now: Millis,
    pub started: Millis,
    pub state: &'static str,
    pub ready: bool,
    /// What is waited for, when it is not ready.
    pub reason: Option<String>,
    pub cores: Option<f64>,
    pub resident_bytes: Option<f64>,
    pub source: Source<'a>,
    pub normalize: Option<Normalize>,
    pub lookups: Vec<Lookup<'a>>,
    pub sink: Sink<'a>,
    pub shards: Shards,
    pub partitions: Partitions,
    pub problems: Vec<Problem>,
    /// Seconds between two points of a chart.
    pub chart_seconds: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Source<'a> {
    table: &'a str,
    connector: &'static str,
    rows: u64,
    rows_per_second: f64,
    bytes_per_second: f64,
    /// Part of the time that nothing was read because a shard was full.
    backpressure: f64,
    chart: Vec<f64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Normalize {
    changes: u64,
    changes_per_second: f64,
    suppressed: u64,
    keys: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Lookup<'a> {
    alias: &'a str,
    table: &'a str,
    connector: &'static str,
    join: &'static str,
    /// Which shards keep a key's entry: one (`hashed`), each its own (`per shard`), none (`no cache`).
    cache: &'static str,
    rows_per_second: f64,
    /// Of the last seconds, and since the beginning.
    hit_rate: Option<f64>,
    hits: u64,
    negative_hits: u64,
    coalesced: u64,
    misses: u64,
    no_key: u64,
    entries: u64,
    capacity: u64,
    expired: u64,
    evicted: u64,
    statements: u64,
    statements_per_second: f64,
    keys_per_statement: Option<f64>,
    errors: u64,
    /// Of the last minute.
    p50: Option<f64>,
    p99: Option<f64>,
    chart: Vec<Option<f64>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Sink<'a> {
    table: &'a str,
    connector: &'static str,
    rows: u64,
    rows_per_second: f64,
    /// Part of the shards' time that they waited for the sink.
    backpressure: f64,
    commits: u64,
    commit_failures: u64,
    last_commit: Option<Millis>,
    chart: Vec<f64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Shards {
    count: usize,
    /// Busiest over mean of the last minute; 0 without load.
    skew: f64,
    group_skew: f64,
    /// Part of the shards' time that they took no rows because rows before waited for lookups.
    held: f64,
    groups: u16,
    /// Whether rows go to shards by key group; append-only sources have no key.
    keyed: bool,
    groups_per_cell: usize,
    list: Vec<Shard>,
}

#[derive(Debug, Serialize)]
pub(super) struct Shard {
    number: u16,
    records: u64,
    records_per_second: f64,
    queued: u64,
    /// Parts of the last seconds.
    busy: f64,
    held: f64,
    sink: f64,
    keys: u64,
    first_group: u16,
    last_group: u16,
    /// Records of the last minute by cell.
    cells: Vec<u64>,
    #[serde(skip)]
    load: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Partitions {
    count: usize,
    lag: i64,
    list: Vec<Partition>,
}

#[derive(Debug, Serialize)]
pub(super) struct Partition {
    topic: String,
    partition: i32,
    position: i64,
    committed: Option<i64>,
    end: Option<i64>,
    lag: Option<i64>,
    /// Part of the rebuild that is done, while it goes on.
    restored: Option<f64>,
}

/// The parts of a job that a snapshot is made of.
pub(super) struct Parts<'a> {
    pub job: &'a Job,
    pub view: SourceView,
    pub history: &'a History,
    pub reading: Reading,
}

impl<'a> Parts<'a> {
    fn recent(&self) -> Option<Span<'_>> {
        self.history.recent()
    }

    fn rate(&self, total: impl Fn(&Reading) -> u64) -> f64 {
        self.recent().map_or(0.0, |span| rounded(span.rate(total)))
    }

    fn chart(&self, total: impl Fn(&Reading) -> u64 + Copy) -> Vec<f64> {
        self.history.spans().map(|span| rounded(span.rate(total))).collect()
    }

    pub(super) fn cores(&self) -> Option<f64> {
        self.recent().and_then(Span::cores).map(fraction)
    }

    pub(super) fn source(&self) -> Source<'a> {
        let plan = &self.job.plan().source;
        let connector = match plan.kind {
            SourceKind::UpsertKafka => "upsert-kafka",
            SourceKind::Kafka => "kafka",
        };
        Source {
            table: &plan.table,
            connector,
            rows: self.reading.rows_in,
            rows_per_second: self.rate(|reading| reading.rows_in),
            bytes_per_second: self.rate(|reading| reading.bytes_in),
            backpressure: self.recent().map_or(0.0, |span| fraction(span.share(|r| r.backpressured))),
            chart: self.chart(|reading| reading.rows_in),
        }
    }

    pub(super) fn normalize(&self) -> Option<Normalize> {
        self.job.plan().normalize.as_ref().map(|_| Normalize {
            changes: self.reading.changes,
            changes_per_second: self.rate(|reading| reading.changes),
            suppressed: self.reading.suppressed,
            keys: self.reading.state_keys,
            bytes: self.reading.state_bytes,
        })
    }

    pub(super) fn lookups(&self) -> Vec<Lookup<'a>> {
        let plans = self.job.plan().lookups.iter().zip(&self.reading.lookups);
        plans.enumerate().map(|(at, (plan, counts))| self.lookup(at, plan, counts)).collect()
    }

    fn lookup(&self, at: usize, plan: &'a LookupPlan, counts: &LookupReading) -> Lookup<'a> {
        let total = |read: fn(&LookupReading) -> u64| {
            move |reading: &Reading| reading.lookups.get(at).map_or(0, read)
        };
        let minute = self.history.minute();
        let milli = |seconds: f64| (seconds * 1e6).round() / 1e6;
        Lookup {
            alias: &plan.alias,
            table: &plan.table,
            connector: plan.connector.name(),
            join: plan.join.name(),
            cache: match plan.cache {
                None => "no cache",
                Some(_) if plan.hash => "hashed",
                Some(_) => "per shard",
            },
            rows_per_second: self.rate(total(|lookup| lookup.asked() + lookup.no_key)),
            hit_rate: self.recent().and_then(|span| span.hit_rate(at)).map(fraction),
            hits: counts.hits,
            negative_hits: counts.negative_hits,
            coalesced: counts.coalesced,
            misses: counts.misses,
            no_key: counts.no_key,
            entries: counts.cached,
            capacity: counts.capacity,
            expired: counts.expired,
            evicted: counts.evicted,
            statements: counts.statements,
            statements_per_second: self.rate(total(|lookup| lookup.statements)),
            keys_per_statement: minute.and_then(|span| span.keys_per_statement(at)).map(rounded),
            errors: counts.errors,
            p50: minute.and_then(|span| span.latency(at, 0.5)).map(milli),
            p99: minute.and_then(|span| span.latency(at, 0.99)).map(milli),
            chart: self.history.spans().map(|span| span.hit_rate(at).map(fraction)).collect(),
        }
    }

    pub(super) fn sink(&self) -> Sink<'a> {
        let plan = &self.job.plan().sink;
        let shards = self.reading.shards.len().max(1) as u32;
        let waited = |reading: &Reading| {
            reading.shards.iter().map(|shard| shard.sink).sum::<std::time::Duration>() / shards
        };
        Sink {
            table: &plan.table,
            connector: plan.connector.name(),
            rows: self.reading.rows_out,
            rows_per_second: self.rate(|reading| reading.rows_out),
            backpressure: self.recent().map_or(0.0, |span| fraction(span.share(waited))),
            commits: self.view.commits[0],
            commit_failures: self.view.commits[1],
            last_commit: self.view.last_commit,
            chart: self.chart(|reading| reading.rows_out),
        }
    }

    pub(super) fn shards(&self) -> Shards {
        let groups = self.job.groups();
        let loads = self.history.group_load();
        let groups_per_cell = usize::from(groups.max_parallelism()).div_ceil(CELLS_MAX);
        let shard = |(number, now): (u16, &ShardReading)| {
            let range = groups.range(ShardId(number));
            let own = loads.get(usize::from(range.first)..=usize::from(range.last)).unwrap_or_default();
            let rate = self.rate(|reading| shard_of(reading, number).map_or(0, |shard| shard.records));
            let share = |time: fn(&ShardReading) -> std::time::Duration| {
                let total = |reading: &Reading| shard_of(reading, number).map(time).unwrap_or_default();
                self.recent().map_or(0.0, |span| fraction(span.share(total)))
            };
            let minute = self.history.minute();
            let records = |reading: &Reading| shard_of(reading, number).map_or(0, |shard| shard.records);
            Shard {
                number,
                records: now.records,
                records_per_second: rate,
                queued: now.queued,
                busy: share(|shard| shard.busy),
                held: share(|shard| shard.held),
                sink: share(|shard| shard.sink),
                keys: now.keys,
                first_group: range.first,
                last_group: range.last,
                cells: own.chunks(groups_per_cell).map(|cell| cell.iter().sum()).collect(),
                load: minute.map_or(0, |span| records(span.to).saturating_sub(records(span.from))),
            }
        };
        let all: Vec<Shard> = (0_u16..).zip(&self.reading.shards).map(shard).collect();
        Shards {
            count: all.len(),
            skew: fraction(self.history.shard_skew()),
            group_skew: fraction(self.history.group_skew()),
            held: fraction(all.iter().map(|shard| shard.held).sum::<f64>() / all.len().max(1) as f64),
            groups: groups.max_parallelism(),
            keyed: self.job.plan().normalize.is_some(),
            groups_per_cell,
            list: most(all, |shard| shard.load, |shard| i64::from(shard.number)),
        }
    }

    pub(super) fn partitions(&self) -> Partitions {
        let all: Vec<Partition> = self.view.partitions.iter().map(Partition::from).collect();
        Partitions {
            count: all.len(),
            lag: all.iter().filter_map(|partition| partition.lag).sum(),
            list: most(
                all,
                |partition| partition.lag.map_or(0, i64::unsigned_abs),
                |partition| partition.partition.into(),
            ),
        }
    }
}

fn shard_of(reading: &Reading, number: u16) -> Option<&ShardReading> {
    reading.shards.get(usize::from(number))
}

impl From<&PartitionView> for Partition {
    fn from(view: &PartitionView) -> Self {
        let restored =
            |restore: crate::source::Restore| fraction(restore.done as f64 / restore.total.max(1) as f64);
        Self {
            topic: view.name.topic.to_string(),
            partition: view.name.partition,
            position: view.position,
            committed: view.committed,
            end: view.end,
            lag: view.lag(),
            restored: view.restore.map(restored),
        }
    }
}

/// The [`LISTED_MAX`] items with the largest `weight`, in `order`.
fn most<T>(mut items: Vec<T>, weight: impl Fn(&T) -> u64, order: impl Fn(&T) -> i64) -> Vec<T> {
    if LISTED_MAX < items.len() {
        items.sort_by_key(|item| std::cmp::Reverse(weight(item)));
        items.truncate(LISTED_MAX);
    }
    items.sort_by_key(|item| order(item));
    items
}

/// Seconds between points of charts.
pub(super) const CHART_SECONDS: u64 = STRIDE;

/// Rates to one tenth: more digits are noise.
fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// Shares and ratios to a thousandth.
fn fraction(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_the_busiest_are_listed_in_order() {
        let items: Vec<(i64, u64)> = (0..200).map(|number| (number, (number as u64 * 37) % 200)).collect();
        let listed = most(items, |item| item.1, |item| item.0);
        assert_eq!(listed.len(), LISTED_MAX);
        assert!(listed.iter().all(|item| 136 <= item.1));
        assert!(listed.is_sorted_by_key(|item| item.0));
        assert_eq!(most(vec![3, 1, 2], |_| 0, |item| *item), [1, 2, 3]);
    }
}
