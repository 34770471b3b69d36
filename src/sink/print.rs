//! `print`: the changelog as text on standard output or standard error.
//!
//! The encoder has made the lines; a whole batch is written under one lock, so
//! lines of two shards never mix. A reader that goes away (`| head`) ends the
//! job cleanly.

use std::io::{self, ErrorKind, Write};

use crate::error::{Error, Result};
use crate::model::{Epoch, OutputBatch, ShardId};

use super::{Acks, Writer};

pub(super) struct Print {
    standard_error: bool,
    shard: ShardId,
    acks: Acks,
    closed: bool,
}

impl Print {
    pub(super) fn new(standard_error: bool, shard: ShardId, acks: Acks) -> Self {
        Self { standard_error, shard, acks, closed: false }
    }

    fn put(&self, text: &[u8]) -> io::Result<()> {
        if self.standard_error {
            return io::stderr().lock().write_all(text);
        }
        let mut out = io::stdout().lock();
        out.write_all(text)?;
        out.flush()
    }
}

impl Writer for Print {
    fn write(&mut self, batch: OutputBatch) -> Result<()> {
        if self.closed || batch.arena.is_empty() {
            return Ok(());
        }
        match self.put(&batch.arena) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                self.acks.closed();
                Ok(())
            }
            Err(error) => Err(Error::external(format!("print: {error}"))),
        }
    }

    fn end_epoch(&mut self, epoch: Epoch) -> Result<()> {
        // What nobody read is not committed.
        if !self.closed {
            self.acks.durable(self.shard, epoch);
        }
        Ok(())
    }
}
