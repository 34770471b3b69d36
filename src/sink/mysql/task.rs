//! One shard's task: queued jobs become transactions, committed epochs are announced.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::Receiver;

use crate::clock::Stopwatch;
use crate::db::{Failure, Freshness, pause_before};
use crate::error::{Error, Result};
use crate::model::{Epoch, ShardId};
use crate::sink::Environment;

use super::Shared;
use super::buffer::Rows;
use super::transaction::{Trouble, transaction};

/// Jobs that one transaction takes.
const TRANSACTION_JOBS_MAX: usize = 8;

/// What an operator does about a transaction that failed.
const WRITE_HELP: &str = "see whether the database answers; rows wait meanwhile, nothing is lost, and the job stops \
                          after sink.max-retries attempts";

/// What a writer hands to its task.
pub(super) enum Job {
    /// Rows to write, and the losses of partitions that their shard had heard of.
    Rows(Rows, u64),
    /// Nothing more of this epoch will come.
    End(Epoch),
}

/// Why a task ended before its writer; empty while it runs, and after a stop.
#[derive(Clone, Default)]
pub(super) struct Gone(Arc<Mutex<Option<Error>>>);

impl Gone {
    pub(super) fn result(&self) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    fn set(&self, error: Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

/// Carries jobs out until the writer is gone, the process stops, or a transaction fails for good.
pub(super) async fn run(
    shared: Arc<Shared>,
    shard: ShardId,
    environment: Environment,
    mut queue: Receiver<Job>,
    gone: Gone,
) {
    let mut jobs = Vec::with_capacity(TRANSACTION_JOBS_MAX);
    while 0 < queue.recv_many(&mut jobs, TRANSACTION_JOBS_MAX).await {
        let (mut rows, mut epochs, lost) = (Vec::new(), Vec::new(), environment.losses());
        for job in jobs.drain(..) {
            match job {
                Job::Rows(more, losses) if lost <= losses => rows.push(more),
                // Other replicas' to write by now.
                Job::Rows(..) => {}
                Job::End(ended) => epochs.push(ended),
            }
        }
        // The rows may be another replica's to write by now.
        if environment.given_up() {
            return;
        }
        match shared.commit(&rows, lost, &environment).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                gone.set(error.clone());
                environment.acks.failed(error);
                return;
            }
        }
        for epoch in epochs {
            environment.acks.durable(shard, epoch);
        }
    }
}

impl Shared {
    /// Commits rows, or leaves them to their partitions' new owners if these were lost meanwhile; again after each failure as often as `sink.max-retries` says; false: the process stops.
    async fn commit(&self, jobs: &[Rows], losses: u64, environment: &Environment) -> Result<bool> {
        let mut retry = 0;
        loop {
            let freshness = if retry == 0 { Freshness::Any } else { Freshness::New };
            let watch = Stopwatch::start();
            let outcome = transaction(self, jobs, freshness).await;
            if !jobs.is_empty() {
                self.counts.transaction(watch.elapsed());
            }
            let failure = match outcome {
                Ok(()) => {
                    self.counts.acknowledged(jobs.iter().map(Rows::len).sum());
                    return Ok(true);
                }
                Err(trouble) => {
                    self.counts.error();
                    match trouble {
                        Trouble::Row(error) => return Err(error),
                        Trouble::Database(failure) => failure,
                    }
                }
            };
            if failure.is_connection_loss() {
                self.connections.distrust_idle();
            }
            if environment.given_up() {
                return Ok(false);
            }
            if environment.losses() != losses {
                return Ok(true);
            }
            if self.max_retries <= retry {
                return Err(self.given_up(retry + 1, &failure));
            }
            retry += 1;
            self.counts.retry();
            let pause = pause_before(retry);
            tracing::warn!(
                table = self.table, attempt = retry, ?pause, error = %failure, help = WRITE_HELP,
                "writing failed, trying again"
            );
            self.clock.sleep(pause).await;
        }
    }

    fn given_up(&self, attempts: u32, failure: &Failure) -> Error {
        let times = if attempts == 1 { "attempt" } else { "attempts" };
        Error::external(format!(
            "table {}: writing failed after {attempts} {times} (sink.max-retries = {}), MySQL at {}: {failure}",
            self.table,
            self.max_retries,
            self.connections.database().address()
        ))
    }
}
