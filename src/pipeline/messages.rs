//! What goes into a worker and what comes out.

use std::sync::Arc;

use crate::error::Error;
use crate::model::{Epoch, OutputBatch, PartitionId, RecordBatch, ShardId};

/// A lookup key, packed by the layout of the lookup's key parts (`LookupPlan::key`, constants included).
pub type LookupKey = Box<[u8]>;

/// The rows of one lookup key, each packed by the layout of `LookupPlan::columns`,
/// in the order of the dimension table's key.
pub type DimensionRows = Vec<Arc<[u8]>>;

/// Something happens to a worker.
#[derive(Debug)]
pub enum Input {
    /// Records of this shard, in topic order per partition.
    Records(RecordBatch),
    /// The database answered (or gave up after its retries).
    Answer(LookupAnswer),
    /// Another shard of this replica.
    Peer(ShardId, PeerMessage),
    /// All records of the epoch were handed over.
    Barrier(Epoch),
    /// The partitions are gone (revoked or lost): their state is dropped, and what is in flight of them is discarded.
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
    /// Every output of this epoch, and of those before, has been given as [`Effect::Output`].
    Passed(Epoch),
}

/// Keys that no cache answers: one statement.
#[derive(Debug)]
pub struct LookupQuery {
    /// Index of the lookup in `Plan::lookups`.
    pub lookup: usize,
    /// Number of this query within the worker.
    pub id: u64,
    /// Distinct keys without NULLs.
    pub keys: Vec<LookupKey>,
}

/// The answer to a [`LookupQuery`].
#[derive(Debug)]
pub struct LookupAnswer {
    /// Index of the lookup in `Plan::lookups`.
    pub lookup: usize,
    /// Number of the query.
    pub id: u64,
    /// Rows of each key, aligned with the query's keys; the error after the last retry.
    pub rows: Result<Vec<DimensionRows>, Error>,
}

/// Between two shards of one replica. The engine adds what it needs.
#[derive(Debug)]
pub enum PeerMessage {
    /// Every row of this epoch that the sender hands on to the receiver has been handed on.
    ForwardedAll(Epoch),
}
