//! `sink.buffer-flush.*`: the last row of each key until enough rows came, or
//! enough time has passed, or the epoch ends.
//!
//! Flink (F.3) counts the rows that came, not the keys. Without a primary key
//! every row is kept, in order.

use std::time::Duration;

use hashbrown::HashMap;

use crate::clock::Millis;
use crate::model::Slice;

/// Rows of one job, also when `max-rows` is 0 or larger: one transaction stays short.
pub(super) const ROWS_MAX: usize = 10_000;

/// Bytes of one job, replaced rows included.
pub(super) const BYTES_MAX: usize = 4 << 20;

/// What a key's last row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The row is to be there.
    Upsert,
    /// No row of the key is to be there.
    Delete,
}

/// Rows of one flush: one per key, in the order of their keys' first arrival.
#[derive(Debug, Default)]
pub(super) struct Rows {
    arena: Vec<u8>,
    rows: Vec<(Change, Slice)>,
}

impl Rows {
    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The packed rows of one kind of change.
    pub(super) fn of(&self, change: Change) -> Vec<&[u8]> {
        let kind = self.rows.iter().filter(|(kind, _)| *kind == change);
        kind.map(|(_, row)| row.of(&self.arena)).collect()
    }
}

/// Collects rows.
pub(super) struct Buffer {
    max_rows: usize,
    interval: Duration,
    positions: HashMap<Box<[u8]>, usize, foldhash::fast::RandomState>,
    rows: Rows,
    /// Rows that came since the last flush.
    taken: usize,
    deadline: Option<Millis>,
}

impl Buffer {
    /// `max_rows` 0: only the bounds of a job count; `interval` zero: no timer.
    pub(super) fn new(max_rows: usize, interval: Duration) -> Self {
        let max_rows = if max_rows == 0 { ROWS_MAX } else { max_rows.min(ROWS_MAX) };
        Self {
            max_rows,
            interval,
            positions: HashMap::default(),
            rows: Rows::default(),
            taken: 0,
            deadline: None,
        }
    }

    /// Adds a row; the rows of a job if that fills it. `key` is `None` without a primary key.
    pub(super) fn add(
        &mut self,
        change: Change,
        key: Option<&[u8]>,
        row: &[u8],
        now: Millis,
    ) -> Option<Rows> {
        let row = (change, Slice::append(&mut self.rows.arena, row));
        let known = key.and_then(|key| self.positions.get(key)).and_then(|at| self.rows.rows.get_mut(*at));
        match known {
            Some(old) => *old = row,
            None => {
                if let Some(key) = key {
                    self.positions.insert(key.into(), self.rows.rows.len());
                }
                self.rows.rows.push(row);
            }
        }
        self.taken += 1;
        if !self.interval.is_zero() {
            let interval = i64::try_from(self.interval.as_millis()).unwrap_or(i64::MAX);
            self.deadline.get_or_insert(now.saturating_add(interval));
        }
        let full = self.max_rows <= self.taken || BYTES_MAX <= self.rows.arena.len();
        full.then(|| self.flush()).flatten()
    }

    /// Everything that is buffered, `None` if that is nothing.
    pub(super) fn flush(&mut self) -> Option<Rows> {
        self.deadline = None;
        self.taken = 0;
        self.positions.clear();
        let rows = std::mem::take(&mut self.rows);
        (!rows.rows.is_empty()).then_some(rows)
    }

    /// When the interval of the oldest row is over.
    pub(super) fn deadline(&self) -> Option<Millis> {
        self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(max_rows: usize) -> Buffer {
        Buffer::new(max_rows, Duration::from_secs(1))
    }

    fn add(buffer: &mut Buffer, change: Change, key: &str, row: &str) -> Option<Rows> {
        buffer.add(change, Some(key.as_bytes()), row.as_bytes(), 0)
    }

    #[test]
    fn the_last_row_of_a_key_wins_and_rows_count_not_keys() {
        let mut buffer = buffer(4);
        assert!(add(&mut buffer, Change::Upsert, "a", "a1").is_none());
        assert!(add(&mut buffer, Change::Delete, "a", "a").is_none());
        assert!(add(&mut buffer, Change::Upsert, "b", "b1").is_none());
        let rows = add(&mut buffer, Change::Upsert, "a", "a2").unwrap();
        assert_eq!(rows.of(Change::Upsert), [b"a2".as_slice(), b"b1".as_slice()]);
        assert!(rows.of(Change::Delete).is_empty());
        assert!(buffer.flush().is_none());
    }

    #[test]
    fn without_a_key_every_row_is_kept() {
        let mut buffer = buffer(3);
        for row in ["x", "x"] {
            assert!(buffer.add(Change::Upsert, None, row.as_bytes(), 0).is_none());
        }
        assert_eq!(buffer.flush().unwrap().of(Change::Upsert).len(), 2);
    }

    #[test]
    fn the_interval_counts_from_the_oldest_row_and_may_be_off() {
        let mut timed = buffer(10);
        assert_eq!(timed.deadline(), None);
        timed.add(Change::Upsert, None, b"x", 100);
        timed.add(Change::Upsert, None, b"x", 900);
        assert_eq!(timed.deadline(), Some(1100));
        timed.flush();
        assert_eq!(timed.deadline(), None);
        let mut untimed = Buffer::new(10, Duration::ZERO);
        untimed.add(Change::Upsert, None, b"x", 100);
        assert_eq!(untimed.deadline(), None);
    }

    #[test]
    fn a_job_is_bounded_in_rows_and_bytes() {
        let mut unlimited = buffer(0);
        let flushed =
            (0..ROWS_MAX).filter(|_| unlimited.add(Change::Upsert, None, b"x", 0).is_some()).count();
        assert_eq!(flushed, 1);
        let big = vec![0; BYTES_MAX / 2];
        assert!(add(&mut unlimited, Change::Upsert, "hot", std::str::from_utf8(&big).unwrap()).is_none());
        assert!(add(&mut unlimited, Change::Upsert, "hot", std::str::from_utf8(&big).unwrap()).is_some());
    }
}
