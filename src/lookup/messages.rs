//! What leaves a shard's lookups and what comes back: questions to the
//! database, and between shards questions to the owner of a key.

use std::sync::Arc;

use crate::error::{Error, RowFault};
use crate::model::{ShardId, Slice};

use super::Answer;

/// A lookup key, packed by [`crate::plan::LookupPlan::key_layout`] (constants included).
pub type LookupKey = Box<[u8]>;

/// The rows of one lookup key, each packed by [`crate::plan::LookupPlan::layout`],
/// in the order of the dimension table's key.
pub type DimensionRows = Vec<Arc<[u8]>>;

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

/// What is known of one key that was asked for.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Nothing yet.
    Waiting,
    /// Its rows.
    Rows(Arc<Answer>),
    /// It cannot be answered.
    Failed(Arc<RowFault>),
}

/// Lookup traffic between two shards of one replica.
#[derive(Debug)]
pub enum PeerLookup {
    /// To the owner of the keys.
    Ask(Ask),
    /// Back from it.
    Reply(Reply),
}

/// Keys of one batch that one shard owns.
#[derive(Debug, Default)]
pub struct Ask {
    /// Index of the lookup in `Plan::lookups`.
    pub lookup: usize,
    /// Number of the question within the asking shard.
    pub id: u64,
    /// Bytes of the keys.
    pub arena: Vec<u8>,
    /// The distinct keys.
    pub keys: Vec<AskedKey>,
}

/// One key of an [`Ask`].
#[derive(Clone, Copy, Debug)]
pub struct AskedKey {
    /// Its bytes in the arena.
    pub key: Slice,
    /// How many rows of the batch want it.
    pub rows: u32,
}

/// The answer to an [`Ask`].
#[derive(Debug)]
pub struct Reply {
    /// Number of the question.
    pub id: u64,
    /// Aligned with its keys.
    pub outcomes: Vec<Outcome>,
}

/// What the lookups of a shard want done.
#[derive(Debug)]
pub enum Outgoing {
    /// Ask the database.
    Query(LookupQuery),
    /// Hand to another shard.
    ToShard(ShardId, PeerLookup),
}
