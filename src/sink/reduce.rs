//! `sink.buffer-flush.*`: the last record of each key within a time or a number of keys.
//!
//! Flink: `ReducingUpsertWriter`. A record is sent when the number of distinct
//! buffered keys reaches the limit, when the interval has passed, and at the
//! end of each epoch. An insert and a delete of the same key leave one
//! tombstone. Where Flink sends in the order of a hash map, keys go out in the
//! order of their first arrival.

use std::time::Duration;

use hashbrown::HashMap;

use crate::clock::Millis;
use crate::model::{EncodedRecord, OutputBatch, Payload, Slice};

/// Arena bytes after which records that were replaced are dropped, at the latest when live
/// records are less than half of it.
const COMPACT_ABOVE: usize = 1 << 20;

/// The newest record of each key.
pub(super) struct Buffer {
    max_rows: usize,
    interval: Duration,
    positions: HashMap<Box<[u8]>, usize, foldhash::fast::RandomState>,
    records: Vec<EncodedRecord>,
    arena: Vec<u8>,
    live: usize,
    deadline: Option<Millis>,
}

impl Buffer {
    pub(super) fn new(max_rows: usize, interval: Duration) -> Self {
        Self {
            max_rows,
            interval,
            positions: HashMap::default(),
            records: Vec::new(),
            arena: Vec::new(),
            live: 0,
            deadline: None,
        }
    }

    /// Adds a record of `batch`; the buffered records if that fills it.
    pub(super) fn add(&mut self, record: &EncodedRecord, arena: &[u8], now: Millis) -> Option<OutputBatch> {
        let key = record.key.of(arena);
        let mut kept = record.clone();
        kept.key = Slice::append(&mut self.arena, key);
        kept.value = record.value.map(|value| Slice::append(&mut self.arena, value.of(arena)));
        self.live += size(&kept);
        if let Some(&position) = self.positions.get(key) {
            if let Some(old) = self.records.get_mut(position) {
                self.live -= size(old);
                *old = kept;
            }
            self.compact();
            return None;
        }
        self.positions.insert(key.into(), self.records.len());
        self.records.push(kept);
        let interval = i64::try_from(self.interval.as_millis()).unwrap_or(i64::MAX);
        self.deadline.get_or_insert(now.saturating_add(interval));
        (self.max_rows <= self.records.len()).then(|| self.flush()).flatten()
    }

    /// Everything that is buffered, `None` if that is nothing.
    pub(super) fn flush(&mut self) -> Option<OutputBatch> {
        self.deadline = None;
        self.positions.clear();
        self.live = 0;
        let records = std::mem::take(&mut self.records);
        let arena = std::mem::take(&mut self.arena);
        (!records.is_empty()).then_some(OutputBatch { arena, payload: Payload::Records(records) })
    }

    /// When the interval of the oldest record is over.
    pub(super) fn deadline(&self) -> Option<Millis> {
        self.deadline
    }

    /// A hot key must not grow the arena for ever.
    fn compact(&mut self) {
        if self.arena.len() < COMPACT_ABOVE || self.arena.len() < 2 * self.live {
            return;
        }
        let mut arena = Vec::with_capacity(self.live);
        for record in &mut self.records {
            record.key = Slice::append(&mut arena, record.key.of(&self.arena));
            record.value = record.value.map(|value| Slice::append(&mut arena, value.of(&self.arena)));
        }
        self.arena = arena;
    }
}

fn size(record: &EncodedRecord) -> usize {
    record.key.len() + record.value.map_or(0, Slice::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RowKind;

    struct Feed(Buffer);

    impl Feed {
        fn add(
            &mut self,
            key: &str,
            value: Option<&str>,
            now: Millis,
        ) -> Option<Vec<(String, Option<String>)>> {
            let mut arena = Vec::new();
            let key = Slice::append(&mut arena, key.as_bytes());
            let value = value.map(|value| Slice::append(&mut arena, value.as_bytes()));
            let kind = if value.is_some() { RowKind::UpdateAfter } else { RowKind::Delete };
            let record = EncodedRecord { kind, key, value, timestamp: None, headers: None };
            self.0.add(&record, &arena, now).map(texts)
        }
    }

    fn texts(batch: OutputBatch) -> Vec<(String, Option<String>)> {
        let text = |slice: Slice| String::from_utf8(slice.of(&batch.arena).to_vec()).unwrap();
        let Payload::Records(records) = &batch.payload else { panic!("records") };
        records.iter().map(|record| (text(record.key), record.value.map(text))).collect()
    }

    fn pair(key: &str, value: Option<&str>) -> (String, Option<String>) {
        (key.to_owned(), value.map(str::to_owned))
    }

    /// Flink C.3: distinct keys count, the last row of a key wins, insert and delete leave a tombstone.
    #[test]
    fn the_last_row_of_each_key_goes_out_when_enough_keys_are_there() {
        let mut feed = Feed(Buffer::new(3, Duration::from_secs(1)));
        assert_eq!(feed.add("a", Some("1"), 0), None);
        assert_eq!(feed.add("a", Some("2"), 0), None);
        assert_eq!(feed.add("b", Some("1"), 0), None);
        assert_eq!(feed.add("b", None, 0), None);
        let out = feed.add("c", Some("1"), 0).unwrap();
        assert_eq!(out, [pair("a", Some("2")), pair("b", None), pair("c", Some("1"))]);
        assert!(feed.0.flush().is_none());
    }

    #[test]
    fn the_interval_counts_from_the_oldest_record() {
        let mut feed = Feed(Buffer::new(10, Duration::from_secs(1)));
        assert_eq!(feed.0.deadline(), None);
        feed.add("a", Some("1"), 100);
        feed.add("b", Some("1"), 900);
        assert_eq!(feed.0.deadline(), Some(1_100));
        assert_eq!(texts(feed.0.flush().unwrap()).len(), 2);
        assert_eq!(feed.0.deadline(), None);
    }

    #[test]
    fn a_hot_key_does_not_grow_the_buffer() {
        let mut feed = Feed(Buffer::new(10, Duration::from_secs(1)));
        let value = "x".repeat(1_000);
        for _ in 0..10_000 {
            feed.add("a", Some(&value), 0);
        }
        assert!(feed.0.arena.len() < 2 * COMPACT_ABOVE, "{}", feed.0.arena.len());
        assert_eq!(texts(feed.0.flush().unwrap()), [pair("a", Some(&value))]);
    }
}
