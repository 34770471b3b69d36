//! A running job as the HTTP face shows it: probes and the status document.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::clock::{Clock, Millis};
use crate::model::ShardId;
use crate::runtime::{Job, PartitionView, SourceView, State};
use crate::telemetry::{Page, Problems};

use super::Observable;
use super::history::History;
use super::process;
use super::reading::{self, Reading};
use super::scrape;
use super::snapshot::{self, Parts, Snapshot};

/// Watches a job.
#[derive(Debug)]
pub struct Watch {
    pub(super) job: Arc<Job>,
    pub(super) clock: Clock,
    /// Of the resolved definition.
    pub(super) digest: String,
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
        let digest = scrape::digest(job.plan());
        Self { job, clock, digest, started, stall_timeout, definition, problems, history }
    }

    pub(super) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seconds without a sign of life.
    fn silence(&self, last: Millis) -> Duration {
        Duration::from_millis(u64::try_from(self.clock.now() - last).unwrap_or(0))
    }

    pub(super) fn is_ready(&self, source: &SourceView) -> bool {
        source.state == State::Running && !self.job.is_stopping()
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
        self.scrape()
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
