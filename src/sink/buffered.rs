//! `sink.buffer-flush.*` of `upsert-kafka`: of several rows of a key only the last one leaves.

use std::time::Duration;

use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::model::{Epoch, OutputBatch, Payload};

use super::reduce::Buffer;
use super::{Environment, Writer};

/// A writer behind [`Buffer`].
pub(super) struct Buffered {
    writer: Box<dyn Writer>,
    buffer: Buffer,
    environment: Environment,
}

impl Buffered {
    /// Buffers up to so many rows for so long.
    pub(super) fn new(
        writer: Box<dyn Writer>,
        (rows, interval): (usize, Duration),
        environment: Environment,
    ) -> Self {
        Self { writer, buffer: Buffer::new(rows, interval), environment }
    }

    fn flush(&mut self) -> Result<()> {
        self.buffer.flush().map_or(Ok(()), |batch| self.writer.write(batch))
    }
}

impl Writer for Buffered {
    fn write(&mut self, batch: OutputBatch) -> Result<()> {
        let Payload::Records(records) = &batch.payload else {
            return Err(Error::bug("the Kafka sink was given no records"));
        };
        let now = self.environment.clock.now();
        for record in records {
            if let Some(full) = self.buffer.add(record, &batch.arena, now) {
                self.writer.write(full)?;
            }
        }
        Ok(())
    }

    fn heard(&mut self, losses: u64) {
        let _ = self.buffer.flush();
        self.writer.heard(losses);
    }

    fn end_epoch(&mut self, epoch: Epoch) -> Result<()> {
        self.flush()?;
        self.writer.end_epoch(epoch)
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
