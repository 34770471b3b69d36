//! What goes into a worker and what comes out.

use crate::decode::Op;
use crate::lookup::{LookupAnswer, LookupQuery, PeerLookup};
use crate::model::{Epoch, OutputBatch, PartitionId, RecordBatch, ShardId, Slice};
use crate::normalize::Origin;

/// Something happens to a worker.
#[derive(Debug)]
pub enum Input {
    /// Records of this shard, in topic order per partition.
    Records(RecordBatch),
    /// Decoded rows of this shard: changelogs that a topic cannot carry, in tests.
    Rows(RowBatch),
    /// The database answered (or gave up after its retries).
    Answer(LookupAnswer),
    /// Another shard of this replica.
    Peer(ShardId, PeerMessage),
    /// All records of the epoch were handed over.
    Barrier(Epoch),
    /// The partitions are gone (revoked or lost): their state is dropped, and what is in flight of them is
    /// discarded. Every shard is told, in the same order.
    Release(Vec<PartitionId>),
    /// Time may have passed a deadline ([`super::Worker::deadline`]).
    Tick,
}

/// What the caller does for a worker, in order.
#[derive(Debug)]
pub enum Effect {
    /// Ask the database; answer with [`Input::Answer`].
    Query(LookupQuery),
    /// Hand to another shard: [`Input::Peer`] there. Never blocks the sender; order is kept per pair of shards.
    ToShard(ShardId, PeerMessage),
    /// Rows for the sink.
    Output(OutputBatch),
    /// Every output of this epoch, and of those before, has been given as [`Effect::Output`], and none of
    /// a later one.
    Passed(Epoch),
}

/// Between two shards of one replica.
#[derive(Debug)]
pub enum PeerMessage {
    /// Keys asked for at their owner, and its answers.
    Lookup(PeerLookup),
    /// Rows whose value names a key of the receiver.
    Forwarded {
        /// How many releases the sender had seen.
        generation: u64,
        /// The rows.
        rows: RowBatch,
    },
    /// Every row of this epoch that the sender hands on to the receiver has been handed on.
    ForwardedAll(Epoch),
}

/// Decoded rows with the bytes they point into.
#[derive(Debug, Default)]
pub struct RowBatch {
    /// Keys and rows.
    pub arena: Vec<u8>,
    /// The rows.
    pub rows: Vec<StreamRow>,
}

/// One decoded row with its place.
#[derive(Clone, Copy, Debug)]
pub struct StreamRow {
    /// What it says.
    pub op: Op,
    /// Packed primary key; empty for append-only sources.
    pub key: Slice,
    /// Packed stream row.
    pub row: Slice,
    /// Where its record stands.
    pub origin: Origin,
    /// Kafka's timestamp, -1 if there is none.
    pub timestamp: i64,
    /// Rebuilds state, emits nothing.
    pub silent: bool,
    /// A row of its key may have been sent although state does not know the key.
    pub doubt: bool,
}
