//! The bounded queues of a replica, for `explain`.

use crate::pipeline::FLIGHTS_MAX;
use crate::plan::explain::Channel;

use super::shard::{CONTROL_QUEUE, DATA_QUEUE};

/// What lies between the threads of a replica, and how much it holds.
#[must_use]
pub fn channels() -> Vec<Channel> {
    vec![
        Channel { between: "source to shard", capacity: DATA_QUEUE, unit: "batches per shard" },
        Channel {
            between: "lookups and shards to shard",
            capacity: CONTROL_QUEUE,
            unit: "messages per shard",
        },
        Channel { between: "normalization to emission", capacity: FLIGHTS_MAX, unit: "batches per shard" },
    ]
}
