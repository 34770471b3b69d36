//! What queued up while the last round was on its way leaves together.
//!
//! librdkafka's idempotent producer has one request per partition on its way.
//! Records that it is given meanwhile keep its thread turning without a pause
//! once they are older than `linger.ms`, which can cost as much processor time
//! as the rest of the path. So records wait here, and are handed over when
//! everything before them is acknowledged. The wait adapts by itself: a slow
//! broker gets larger rounds, a lone row leaves at once.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::model::{OutputBatch, Payload};

/// Largest rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Records.
    pub rows: usize,
    /// Bytes of keys and values.
    pub bytes: usize,
}

/// Part of a batch, to be handed over.
#[derive(Debug)]
pub(super) struct Piece {
    pub batch: Arc<OutputBatch>,
    /// Positions of its records.
    pub records: Range<usize>,
    /// What its delivery reports carry.
    pub ticket: usize,
}

#[derive(Debug)]
struct Waiting {
    batch: Arc<OutputBatch>,
    rows: usize,
    /// The first record that was not handed over.
    next: usize,
    row_bytes: usize,
    ticket: usize,
    /// Losses of partitions that its shard had heard of.
    losses: u64,
}

/// Batches that wait, in order, and the number of records on their way.
#[derive(Debug)]
pub(super) struct Rounds {
    limits: Limits,
    waiting: VecDeque<Waiting>,
    waiting_rows: u64,
    waiting_bytes: u64,
    in_flight: u64,
    /// Tickets of the records on their way, with their number.
    tickets: Vec<(usize, u64)>,
}

impl Rounds {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            waiting: VecDeque::new(),
            waiting_rows: 0,
            waiting_bytes: 0,
            in_flight: 0,
            tickets: Vec::new(),
        }
    }

    /// Takes a batch of records of a shard that has heard of so many losses of partitions; true if a round may begin.
    pub fn add(&mut self, batch: OutputBatch, ticket: usize, losses: u64) -> bool {
        let rows = match &batch.payload {
            Payload::Records(records) => records.len(),
            _ => 0,
        };
        if let Some(row_bytes) = batch.arena.len().checked_div(rows) {
            self.waiting_rows += rows as u64;
            self.waiting_bytes += (row_bytes * rows) as u64;
            self.waiting.push_back(Waiting {
                batch: Arc::new(batch),
                rows,
                next: 0,
                row_bytes,
                ticket,
                losses,
            });
        }
        self.in_flight == 0
    }

    /// Every record of the round was acknowledged: tells so for each ticket. True if another round may begin.
    pub fn end(&mut self, mut acknowledged: impl FnMut(usize, u64)) -> bool {
        self.in_flight = 0;
        self.tickets.drain(..).for_each(|(ticket, rows)| acknowledged(ticket, rows));
        !self.waiting.is_empty()
    }

    /// Drops what waits of shards that had not heard of the last of so many losses: written now, it could replace newer rows of the
    /// partitions' new owners. It counts as acknowledged; its offsets are never committed.
    pub fn forget(&mut self, losses: u64, mut acknowledged: impl FnMut(usize, u64)) {
        if self.waiting.iter().all(|waiting| losses <= waiting.losses) {
            return;
        }
        let (old, own): (VecDeque<_>, _) =
            self.waiting.drain(..).partition(|waiting| waiting.losses < losses);
        self.waiting = own;
        for waiting in old {
            let rows = (waiting.rows - waiting.next) as u64;
            self.waiting_rows -= rows;
            self.waiting_bytes -= rows * waiting.row_bytes as u64;
            acknowledged(waiting.ticket, rows);
        }
    }

    /// The next round, which counts as on its way from now on; nothing while another is.
    pub fn begin(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if self.in_flight != 0 {
            return pieces;
        }
        let (mut rows, mut bytes) = (self.limits.rows.max(1), self.limits.bytes);
        while let Some(front) = self.waiting.front_mut() {
            // A record that is larger than a whole round is a round.
            let fitting = bytes.checked_div(front.row_bytes).unwrap_or(rows).min(rows);
            let least = usize::from(pieces.is_empty());
            let count = (front.rows - front.next).min(fitting.max(least));
            if count == 0 {
                break;
            }
            let records = front.next..front.next + count;
            pieces.push(Piece { batch: Arc::clone(&front.batch), records, ticket: front.ticket });
            self.tickets.push((front.ticket, count as u64));
            front.next += count;
            rows -= count;
            bytes = bytes.saturating_sub(count * front.row_bytes);
            self.waiting_rows -= count as u64;
            self.waiting_bytes -= (count * front.row_bytes) as u64;
            self.in_flight += count as u64;
            if front.next < front.rows {
                break;
            }
            self.waiting.pop_front();
        }
        pieces
    }

    /// Records of the round that is on its way.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Records that wait or are on their way.
    pub fn rows(&self) -> u64 {
        self.waiting_rows + self.in_flight
    }

    /// Bytes of the records that wait.
    pub fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EncodedRecord, RowKind, Slice};

    fn batch(rows: usize) -> OutputBatch {
        let record = || EncodedRecord {
            kind: RowKind::Insert,
            key: Slice::default(),
            value: None,
            timestamp: None,
            headers: None,
        };
        let records = std::iter::repeat_with(record).take(rows).collect();
        OutputBatch { arena: vec![0; rows * 100], payload: Payload::Records(records) }
    }

    fn taken(rounds: &mut Rounds) -> Vec<(usize, Range<usize>)> {
        rounds.begin().into_iter().map(|piece| (piece.ticket, piece.records)).collect()
    }

    #[test]
    fn a_lone_batch_leaves_at_once_and_what_comes_meanwhile_leaves_together() {
        let mut rounds = Rounds::new(Limits { rows: 100, bytes: 1 << 20 });
        assert!(rounds.add(batch(3), 1, 0));
        assert_eq!(taken(&mut rounds), [(1, 0..3)]);
        assert!(!rounds.add(batch(4), 1, 0) && !rounds.add(batch(5), 2, 0));
        assert_eq!((taken(&mut rounds), rounds.rows()), (vec![], 12));
        let mut acknowledged = Vec::new();
        assert!(rounds.end(|ticket, rows| acknowledged.push((ticket, rows))));
        assert_eq!(acknowledged, [(1, 3)]);
        assert_eq!(taken(&mut rounds), [(1, 0..4), (2, 0..5)]);
        assert!(!rounds.end(|ticket, rows| acknowledged.push((ticket, rows))), "nothing waits");
        assert_eq!(acknowledged, [(1, 3), (1, 4), (2, 5)]);
        assert_eq!((rounds.rows(), rounds.waiting_bytes()), (0, 0));
    }

    #[test]
    fn rounds_have_a_largest_size_and_keep_the_order() {
        let mut rounds = Rounds::new(Limits { rows: 10, bytes: 1 << 20 });
        rounds.add(batch(8), 1, 0);
        rounds.add(batch(14), 2, 0);
        assert_eq!(taken(&mut rounds), [(1, 0..8), (2, 0..2)]);
        rounds.end(|_, _| {});
        assert_eq!(taken(&mut rounds), [(2, 2..12)]);
        rounds.end(|_, _| {});
        assert_eq!(taken(&mut rounds), [(2, 12..14)]);
    }

    #[test]
    fn what_waits_when_partitions_are_lost_is_forgotten() {
        let mut rounds = Rounds::new(Limits { rows: 10, bytes: 1 << 20 });
        rounds.add(batch(14), 1, 0);
        rounds.add(batch(3), 2, 0);
        rounds.add(batch(2), 1, 1);
        assert_eq!(taken(&mut rounds), [(1, 0..10)]);
        let mut acknowledged = Vec::new();
        rounds.forget(0, |ticket, rows| acknowledged.push((ticket, rows)));
        assert_eq!((acknowledged.len(), rounds.rows()), (0, 19), "nothing was lost yet");
        rounds.forget(1, |ticket, rows| acknowledged.push((ticket, rows)));
        assert_eq!((acknowledged, rounds.rows()), (vec![(1, 4), (2, 3)], 12));
        rounds.end(|_, _| {});
        assert_eq!(taken(&mut rounds), [(1, 0..2)]);
        assert_eq!(rounds.waiting_bytes(), 0);
    }

    #[test]
    fn bytes_bound_a_round_but_never_stop_it() {
        let mut rounds = Rounds::new(Limits { rows: 1_000, bytes: 250 });
        rounds.add(batch(4), 1, 0);
        assert_eq!(taken(&mut rounds), [(1, 0..2)]);
        rounds.end(|_, _| {});
        let mut small = Rounds::new(Limits { rows: 1_000, bytes: 10 });
        small.add(batch(2), 1, 0);
        assert_eq!(taken(&mut small), [(1, 0..1)]);
    }
}
