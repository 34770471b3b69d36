//! Records and typed rows on their way into the workers, in batches.

use std::sync::Arc;

use crate::decode::Op;
use crate::error::{Error, Place, Result, RowFault};
use crate::model::{Header, PartitionId, Record, RowKind, ShardId, Slice, TopicPartition, Value};
use crate::normalize::Origin;
use crate::plan::{Plan, SourceKind, Topics};

use super::super::{Input, StreamRow};
use super::{Driver, Order, table};

/// A record to feed.
#[derive(Clone, Copy, Debug)]
pub struct Fed<'a> {
    /// Partition of the source's topic.
    pub partition: i32,
    /// Record key; `None` is null.
    pub key: Option<&'a [u8]>,
    /// Record value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// Timestamp in milliseconds, -1 for none.
    pub timestamp: i64,
    /// Headers.
    pub headers: &'a [Header],
    /// Below the committed offset: rebuilds state, emits nothing.
    pub silent: bool,
}

impl Driver {
    /// The id of a partition of the source's topic.
    #[must_use]
    pub fn partition(&self, partition: i32) -> PartitionId {
        let topic = match &self.plan.source.topics {
            Topics::List(topics) => topics.first().map_or("", String::as_str),
            Topics::Pattern(pattern) => pattern,
        };
        self.partitions.intern(&TopicPartition { topic: Arc::from(topic), partition })
    }

    /// Feeds a typed row of the stream: `+I` and `+U` upsert, `-U` and `-D` delete.
    ///
    /// # Errors
    /// As [`Driver::settle`].
    pub fn feed_row(&mut self, kind: RowKind, row: &[Value], partition: i32) -> Result<()> {
        self.feed_typed(kind, row, partition, (false, false))
    }

    /// Feeds a typed row from below the committed offset: it rebuilds state.
    ///
    /// # Errors
    /// As [`Driver::settle`].
    pub fn rebuild_row(&mut self, kind: RowKind, row: &[Value], partition: i32) -> Result<()> {
        self.feed_typed(kind, row, partition, (true, false))
    }

    /// Feeds a typed row that came while the job stood still: its key may have been sent and compacted away.
    ///
    /// # Errors
    /// As [`Driver::settle`].
    pub fn doubtful_row(&mut self, kind: RowKind, row: &[Value], partition: i32) -> Result<()> {
        self.feed_typed(kind, row, partition, (false, true))
    }

    fn feed_typed(
        &mut self,
        kind: RowKind,
        row: &[Value],
        partition: i32,
        (silent, doubt): (bool, bool),
    ) -> Result<()> {
        let partition = self.partition(partition);
        let bytes = table::packed(&self.plan.source.layout(), row);
        let op = match self.plan.source.kind {
            SourceKind::Kafka => Op::Insert,
            SourceKind::UpsertKafka if kind.is_addition() => Op::Upsert,
            SourceKind::UpsertKafka => Op::Delete,
        };
        let values: Vec<Value> = self.primary_key.iter().filter_map(|&at| row.get(at).cloned()).collect();
        let key = if op == Op::Insert {
            Vec::new()
        } else {
            table::packed(&self.plan.source.key_layout(), &values)
        };
        let shard = match op {
            Op::Insert => ShardId((partition.0 % u32::from(self.setting.shards)) as u16),
            _ => self.router.shard_of_key(&key).1,
        };
        let offset = self.next_offset(partition);
        // Rows and records are batches of their own: what was fed first is handed over first.
        if self.records.iter().any(|batch| !batch.records.is_empty()) {
            self.hand_over()?;
        }
        let Some(batch) = self.fed.get_mut(usize::from(shard.0)) else { return Ok(()) };
        let key = Slice::append(&mut batch.arena, &key);
        let row = Slice::append(&mut batch.arena, &bytes);
        let origin = Origin { partition, offset };
        batch.rows.push(StreamRow { op, key, row, origin, timestamp: -1, silent, doubt });
        self.count_fed()
    }

    /// Feeds a record as Kafka has it.
    ///
    /// # Errors
    /// A key that cannot be read, and as [`Driver::settle`].
    pub fn feed(&mut self, record: Fed<'_>) -> Result<()> {
        let partition = self.partition(record.partition);
        let offset = self.next_offset(partition);
        let mut routed = Vec::new();
        let place = |plan: &Plan, fault: RowFault| {
            let topic = self.partitions.name(partition).map(|name| name.topic.to_string());
            let (table, topic) = (plan.source.table.clone(), topic.unwrap_or_default());
            Error::from(fault.at(Place { table, topic, partition: record.partition, offset }))
        };
        let to = match self.router.route(partition, record.key, &mut routed) {
            Ok(to) => to,
            Err(fault) => {
                let fault = place(&self.plan, fault);
                // What was read before it is processed first, whatever the size of the batch.
                self.settle()?;
                return Err(fault);
            }
        };
        if self.fed.iter().any(|batch| !batch.rows.is_empty()) {
            self.hand_over()?;
        }
        let Some(batch) = self.records.get_mut(usize::from(to.shard.0)) else { return Ok(()) };
        let key = record.key.map(|key| Slice::append(&mut batch.arena, key));
        let value = record.value.map(|value| Slice::append(&mut batch.arena, value));
        let routed_key = Slice::append(&mut batch.arena, to.key.of(&routed));
        batch.records.push(Record {
            partition,
            offset,
            timestamp: record.timestamp,
            timestamp_type: 1,
            key,
            value,
            routed_key,
            group: to.group,
            silent: record.silent,
            doubt: false,
            headers: (!record.headers.is_empty()).then(|| record.headers.into()),
        });
        self.count_fed()
    }

    fn next_offset(&mut self, partition: PartitionId) -> i64 {
        let next = self.offsets.entry(partition).or_insert(0);
        *next += 1;
        *next - 1
    }

    fn count_fed(&mut self) -> Result<()> {
        self.fed_count += 1;
        if self.fed_count < self.setting.batch {
            return Ok(());
        }
        self.hand_over()?;
        if let Order::Seeded(_) = self.setting.order {
            for _ in 0..self.next_random(4) {
                self.one_event()?;
            }
            return Ok(());
        }
        self.settle()
    }

    /// Gives what was fed to the workers.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        self.fed_count = 0;
        for shard in 0..self.workers.len() {
            let (rows, records) =
                (std::mem::take(&mut self.fed[shard]), std::mem::take(&mut self.records[shard]));
            if !records.records.is_empty() {
                while !self.workers[shard].can_accept() && self.one_event()? {}
                self.give(shard, Input::Records(records))?;
            }
            if !rows.rows.is_empty() {
                while !self.workers[shard].can_accept() && self.one_event()? {}
                self.give(shard, Input::Rows(rows))?;
            }
        }
        Ok(())
    }
}
