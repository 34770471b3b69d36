//! One shard's end of the sink: collects rows and hands them to the shard's task.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, channel};

use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::model::{Epoch, OutputBatch, Payload, RowKind, ShardId};
use crate::sink::{Environment, Writer};

use super::Shared;
use super::buffer::{Buffer, Change, Rows};
use super::task::{Gone, Job, run};

/// Jobs that may wait for the task: each is bounded in rows and bytes, and a
/// shard that fills the queue waits, which pauses its partitions.
const JOBS_MAX: usize = 4;

/// Wait for room in the queue, short against a transaction.
const WAIT: Duration = Duration::from_millis(1);

pub(super) struct MysqlWriter {
    shared: Arc<Shared>,
    environment: Environment,
    buffer: Buffer,
    jobs: Sender<Job>,
    gone: Gone,
    /// A job was left out because the process stops: none may follow it, or its epoch would pass for durable.
    dropped: bool,
    /// Losses of partitions that the shard has heard of.
    losses: u64,
    key: Vec<u8>,
}

impl MysqlWriter {
    pub(super) fn new(shared: Arc<Shared>, shard: ShardId, environment: &Environment) -> Self {
        let (jobs, queue) = channel(JOBS_MAX);
        let gone = Gone::default();
        environment.runtime.spawn(run(Arc::clone(&shared), shard, environment.clone(), queue, gone.clone()));
        let buffer = Buffer::new(shared.flush_rows, shared.flush_interval);
        Self {
            shared,
            environment: environment.clone(),
            buffer,
            jobs,
            gone,
            dropped: false,
            losses: environment.losses(),
            key: Vec::new(),
        }
    }

    /// Hands a job over; waits while the queue is full, until the process stops.
    fn send(&mut self, mut job: Job) -> Result<()> {
        while !self.dropped {
            job = match self.jobs.try_send(job) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(job) | TrySendError::Closed(job)) => job,
            };
            let (ended, stopped) = (self.jobs.is_closed(), self.environment.stopped());
            if ended {
                self.gone.result()?;
            }
            if ended && !stopped {
                return Err(Error::bug("the task that writes to MySQL has ended: see above"));
            }
            self.dropped = stopped;
            if !stopped {
                self.environment.wait(WAIT);
            }
        }
        Ok(())
    }

    fn send_rows(&mut self, rows: Rows) -> Result<()> {
        self.shared.counts.took(rows.len());
        self.send(Job::Rows(rows, self.losses))
    }

    fn flush(&mut self) -> Result<()> {
        self.buffer.flush().map_or(Ok(()), |rows| self.send_rows(rows))
    }
}

impl Writer for MysqlWriter {
    fn write(&mut self, batch: OutputBatch) -> Result<()> {
        let Payload::Rows(rows) = &batch.payload else {
            return Err(Error::bug("the mysql sink was given no rows"));
        };
        let now = self.environment.clock.now();
        let keyed = !self.shared.columns.key.is_empty();
        for record in rows {
            let row = record.row.of(&batch.arena);
            let change = match record.kind {
                RowKind::Insert | RowKind::UpdateAfter => Change::Upsert,
                RowKind::Delete if keyed => Change::Delete,
                // The +U that follows replaces the row; a delete would wipe columns that others write.
                RowKind::UpdateBefore if keyed => continue,
                kind => return Err(Error::bug(format!("a sink without a primary key was given {kind}"))),
            };
            self.key.clear();
            self.shared.columns.pack_key(row, &mut self.key);
            let key = keyed.then_some(self.key.as_slice());
            if let Some(full) = self.buffer.add(change, key, row, now) {
                self.send_rows(full)?;
            }
        }
        Ok(())
    }

    fn heard(&mut self, losses: u64) {
        let _ = self.buffer.flush();
        self.losses = losses;
    }

    fn end_epoch(&mut self, epoch: Epoch) -> Result<()> {
        self.flush()?;
        self.send(Job::End(epoch))
    }

    fn deadline(&self) -> Option<Millis> {
        self.buffer.deadline()
    }

    fn tick(&mut self, now: Millis) -> Result<()> {
        if self.buffer.deadline().is_some_and(|deadline| deadline <= now) {
            self.flush()?;
        }
        Ok(())
    }
}
