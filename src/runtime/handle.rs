//! What others may know of a running job, at no cost to it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::{Clock, Millis};
use crate::db::{Observer, StatementReport};
use crate::pipeline::Counters;
use crate::plan::Plan;
use crate::telemetry::Page;

use super::board::{Board, PartitionView, State};
use super::report::{self, Statements};

/// A thread that has not gone round its loop for this long stands still. Waiting for Kafka, for a
/// database, for a full queue: all of these go round. Blocking calls take seconds at most.
const STALL: Duration = Duration::from_secs(60);

/// A running job, seen from outside. Made before the job runs; clones see the same job.
#[derive(Clone)]
pub struct Handle {
    pub(super) board: Arc<Board<Counters>>,
    pub(super) statements: Arc<[Statements]>,
    names: Arc<Names>,
    clock: Clock,
}

/// Names of the definition, for labels.
pub(super) struct Names {
    pub job: String,
    pub source: String,
    pub sink: String,
    pub lookups: Vec<Lookup>,
}

/// A lookup and how many keys each shard's cache of it may hold.
pub(super) struct Lookup {
    pub table: String,
    pub capacity: Option<u64>,
}

/// Number of worker shards of a plan on this machine.
#[must_use]
pub fn shards_of(plan: &Plan) -> u16 {
    let cores = || {
        std::thread::available_parallelism().map_or(1, |cores| u16::try_from(cores.get()).unwrap_or(u16::MAX))
    };
    plan.options.parallelism.unwrap_or_else(cores).max(1)
}

impl Handle {
    /// A handle for a job that will run `plan`.
    #[must_use]
    pub fn new(plan: &Plan, clock: Clock) -> Self {
        let shards = shards_of(plan);
        let lookups = plan.lookups.iter().map(|lookup| Lookup {
            table: lookup.table.clone(),
            capacity: lookup.cache.and_then(|cache| cache.max_rows).map(|rows| rows / u64::from(shards)),
        });
        let names = Names {
            job: plan.name.clone(),
            source: plan.source.table.clone(),
            sink: plan.sink.table.clone(),
            lookups: lookups.collect(),
        };
        Self {
            board: Arc::new(Board::new(shards)),
            statements: plan.lookups.iter().map(|_| Statements::default()).collect(),
            names: Arc::new(names),
            clock,
        }
    }

    /// What the job is doing.
    #[must_use]
    pub fn state(&self) -> State {
        self.board.source().state
    }

    /// Whether every thread goes round its loop.
    ///
    /// # Errors
    /// The thread that stands still.
    pub fn liveness(&self) -> Result<(), String> {
        let now = self.clock.now();
        let shards = self.board.shards().iter().enumerate();
        let shards = shards.map(|(number, shard)| (format!("shard {number}"), shard.pulse.last()));
        let mut threads = std::iter::once(("source".to_owned(), self.board.pulse.last())).chain(shards);
        match threads.find(|(_, last)| stalled(*last, now)) {
            Some((name, last)) => Err(format!("{name} has stood still for {} s", (now - last) / 1_000)),
            None => Ok(()),
        }
    }

    /// Whether the job does its work: a member of the group, everything assigned is restored, not draining.
    ///
    /// # Errors
    /// What is waited for.
    pub fn readiness(&self) -> Result<(), String> {
        let view = self.board.source();
        match view.state {
            State::Running => Ok(()),
            State::Restoring => Err(view
                .partitions
                .iter()
                .find_map(restoring)
                .unwrap_or_else(|| "joining the group".to_owned())),
            other => Err(other.name().to_owned()),
        }
    }

    /// The status document.
    #[must_use]
    pub fn status(&self) -> Value {
        let view = self.board.source();
        let partitions: Vec<_> = view.partitions.iter().map(partition).collect();
        let shards = self.board.shards().iter().enumerate().map(|(number, shard)| {
            let counters = shard.counters().unwrap_or_default();
            json!({
                "shard": number,
                "records": shard.records(),
                "queued_batches": shard.queued(),
                "busy_seconds": shard.busy().as_secs_f64(),
                "batches_in_flight": counters.in_flight,
                "state_keys": counters.state.keys,
                "state_bytes": counters.state.bytes,
            })
        });
        json!({
            "name": self.names.job,
            "version": env!("CARGO_PKG_VERSION"),
            "state": view.state.name(),
            "ready": self.readiness().is_ok(),
            "source": self.names.source,
            "sink": self.names.sink,
            "partitions": partitions,
            "shards": shards.collect::<Vec<_>>(),
            "backpressured": view.backpressured,
            "commits": {"ok": view.commits[0], "failed": view.commits[1]},
            "last_commit_ms": view.last_commit,
            "rebalances": {"assigned": view.rebalances[0], "revoked": view.rebalances[1], "lost": view.rebalances[2]},
        })
    }

    /// All metrics now.
    #[must_use]
    pub fn metrics(&self) -> Page {
        report::page(&self.names, &self.board, &self.statements, self.readiness().is_ok())
    }

    /// Counts the statements of lookup number `lookup`.
    pub(super) fn observer(&self, lookup: usize) -> Observer {
        let statements = Arc::clone(&self.statements);
        Arc::new(move |report: StatementReport| {
            if let Some(own) = statements.get(lookup) {
                own.add(report);
            }
        })
    }
}

fn stalled(last: Millis, now: Millis) -> bool {
    last != 0 && i64::try_from(STALL.as_millis()).is_ok_and(|stall| stall < now - last)
}

fn restoring(partition: &PartitionView) -> Option<String> {
    let restore = partition.restore?;
    Some(format!("restoring {}: {} of {} offsets", partition.name, restore.done, restore.total))
}

fn partition(view: &PartitionView) -> Value {
    json!({
        "topic": &*view.name.topic,
        "partition": view.name.partition,
        "position": view.position,
        "committed": view.committed,
        "end": view.end,
        "lag": view.lag(),
        "restore": view.restore.map(|restore| json!({"done": restore.done, "total": restore.total})),
    })
}
