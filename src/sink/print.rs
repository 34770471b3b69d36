//! `print`: the changelog as text on standard output or standard error.
//!
//! The encoder has made the lines; a whole batch is written under one lock, so
//! lines of two shards never mix. On a terminal the kinds of rows are coloured;
//! `NO_COLOR` and every other reader get the bare text. A reader that goes away
//! (`| head`) ends the job cleanly.

use std::io::{self, ErrorKind, Write};

use anstream::{AutoStream, ColorChoice};

use crate::error::{Error, Result};
use crate::model::{Epoch, OutputBatch, ShardId};

use super::{Acks, Writer};

pub(super) struct Print {
    standard_error: bool,
    /// Bytes of `print-identifier` and what stands behind it, if kinds are coloured.
    coloured: Option<usize>,
    shard: ShardId,
    acks: Acks,
    closed: bool,
}

impl Print {
    pub(super) fn new(standard_error: bool, prefix: usize, shard: ShardId, acks: Acks) -> Self {
        let choice = match standard_error {
            true => AutoStream::choice(&io::stderr()),
            false => AutoStream::choice(&io::stdout()),
        };
        let coloured = (choice != ColorChoice::Never).then_some(prefix);
        Self { standard_error, coloured, shard, acks, closed: false }
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
        let written = match self.coloured {
            Some(prefix) => self.put(&painted(&batch.arena, prefix)),
            None => self.put(&batch.arena),
        };
        match written {
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

/// The lines with the kind of each row in its colour: green comes, yellow changes, red goes.
fn painted(text: &[u8], prefix: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 2);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let (before, row) = line.split_at_checked(prefix).unwrap_or((&[], line));
        let (kind, rest) = row.split_at_checked(2).unwrap_or((&[], row));
        let colour: &[u8] = match (kind, rest.first()) {
            (b"+I", Some(b'[')) => b"\x1b[32m",
            (b"-U" | b"+U", Some(b'[')) => b"\x1b[33m",
            (b"-D", Some(b'[')) => b"\x1b[31m",
            // A value with a line feed in it goes on here.
            _ => {
                out.extend_from_slice(line);
                continue;
            }
        };
        for part in [before, colour, kind, b"\x1b[0m", rest] {
            out.extend_from_slice(part);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::painted;

    fn shown(text: &str, prefix: usize) -> String {
        String::from_utf8(painted(text.as_bytes(), prefix)).unwrap().replace('\x1b', "^")
    }

    #[test]
    fn kinds_are_coloured_and_nothing_else() {
        assert_eq!(shown("+I[1]\n-U[1]\n-D[+I]\n", 0), "^[32m+I^[0m[1]\n^[33m-U^[0m[1]\n^[31m-D^[0m[+I]\n");
        assert_eq!(shown("ID> +U[1]\n", 4), "ID> ^[33m+U^[0m[1]\n");
        assert_eq!(shown("+I[a\nb]\n", 0), "^[32m+I^[0m[a\nb]\n");
        assert_eq!(shown("x", 4), "x");
    }
}
