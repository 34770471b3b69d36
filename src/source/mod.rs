//! Reading the source table: a member of a consumer group that knows where every partition stands.
//!
//! **Rebuild.** State lives in memory. An upsert partition that is assigned is
//! read from its beginning; records below the committed offset are *silent*:
//! they build state and emit nothing. The partition is *restored* when its
//! position reaches the committed offset, or the end of the log.
//!
//! **Positions.** librdkafka pauses and resumes partitions around every
//! rebalance, and its own idea of a position moves past events that are no
//! records (end of partition, fetch errors). So positions are kept here, from
//! records that were handed over, and the consumer is sent back to them after
//! every rebalance and whenever a record seems to be missing.
//!
//! **Bounded runs** end when every partition has reached its stop offset; ends
//! of partitions count, so gaps of compaction and of transactions do not matter.

mod begin;
mod group;
mod member;
mod progress;
mod split;
mod topics;
mod visit;

/// What an operator does about records that were gone before they were read.
const RETENTION_HELP: &str = "let the topic keep its records for longer than the job may stand still";

pub use group::{AssignedPartition, Environment, Happening, PartitionStatus, Source};
pub use progress::Restore;
pub use split::{BATCH_BYTES_MAX, Destination, Route, Splitter};
pub use topics::resolve;
