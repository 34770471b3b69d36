//! From one read to one batch per shard.

use crate::error::{Place, Result, RowFault};
use crate::kafka::Message;
use crate::model::{PartitionId, Record, RecordBatch, ShardId, Slice};

/// Bytes of keys and values after which a batch is closed: bounds what one batch can hold in memory
/// (records come on top, one at a time) and keeps positions in the arena far below 4 GiB.
pub const BATCH_BYTES_MAX: usize = 16 << 20;

/// Where a record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The shard.
    pub shard: ShardId,
    /// Key group of its primary key; 0 without a key.
    pub group: u16,
    /// Its primary key, packed.
    pub key: Slice,
}

/// Which shard a record belongs to.
pub trait Route: Send {
    /// The destination of a record; its primary key is appended to `arena`.
    ///
    /// # Errors
    /// A key that cannot be read.
    fn route(
        &mut self,
        partition: PartitionId,
        key: Option<&[u8]>,
        arena: &mut Vec<u8>,
    ) -> Result<Destination, RowFault>;
}

/// Fills one batch per shard.
pub struct Splitter {
    route: Box<dyn Route>,
    /// `headers` or `header-list` is read by something.
    headers: bool,
    open: Vec<RecordBatch>,
    full: Vec<(ShardId, RecordBatch)>,
    routed: Vec<u8>,
}

impl Splitter {
    /// A splitter for `shards` shards; `headers`: whether records carry theirs along.
    #[must_use]
    pub fn new(route: Box<dyn Route>, shards: u16, headers: bool) -> Self {
        let open = (0..shards).map(|_| RecordBatch::default()).collect();
        Self { route, headers, open, full: Vec::new(), routed: Vec::new() }
    }

    /// Copies a record into the batch of its shard; it may be silent, or in doubt.
    pub(super) fn add(
        &mut self,
        partition: PartitionId,
        message: &Message<'_>,
        (silent, doubt): (bool, bool),
    ) -> Result<(), RowFault> {
        self.routed.clear();
        let Destination { shard, group, key: routed_key } =
            self.route.route(partition, message.key(), &mut self.routed)?;
        let last = self.open.len().saturating_sub(1);
        let Some(batch) = self.open.get_mut(usize::from(shard.0).min(last)) else { return Ok(()) };
        if BATCH_BYTES_MAX < batch.arena.len() {
            self.full.push((shard, std::mem::take(batch)));
        }
        let (timestamp, timestamp_type) = message.timestamp();
        let headers = self.headers.then(|| message.headers());
        let record = Record {
            partition,
            offset: message.offset(),
            timestamp,
            timestamp_type,
            key: message.key().map(|key| Slice::append(&mut batch.arena, key)),
            value: message.value().map(|value| Slice::append(&mut batch.arena, value)),
            routed_key: Slice::append(&mut batch.arena, routed_key.of(&self.routed)),
            group,
            silent,
            doubt,
            headers,
        };
        batch.records.push(record);
        Ok(())
    }

    /// Takes the batches, in the order in which each shard is to get them.
    pub fn take(&mut self) -> impl Iterator<Item = (ShardId, RecordBatch)> {
        let full = std::mem::take(&mut self.full);
        let rest = self.open.iter_mut().enumerate().filter(|(_, batch)| !batch.records.is_empty());
        let rest = rest.map(|(shard, batch)| {
            // The next batch will be much like this one.
            let next = RecordBatch {
                arena: Vec::with_capacity(batch.arena.len()),
                records: Vec::with_capacity(batch.records.len()),
            };
            (ShardId(u16::try_from(shard).unwrap_or(u16::MAX)), std::mem::replace(batch, next))
        });
        full.into_iter().chain(rest)
    }
}

/// Where a message stands, for a fault.
pub(super) fn place(table: &str, message: &Message<'_>) -> Place {
    Place {
        table: table.to_owned(),
        topic: message.topic().to_owned(),
        partition: message.partition(),
        offset: message.offset(),
    }
}
