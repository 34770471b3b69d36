//! Kafka clients: librdkafka's settings, its batch calls, and what its errors mean.
//!
//! Messages are read and written by the thousand: one call into librdkafka per
//! batch instead of one per message, which is worth more CPU time than the
//! rest of the path (`batch`, the only file of the crate with `unsafe` code).
//! Everything else uses the safe API of the `rdkafka` crate.

mod batch;
mod errors;
mod events;
mod library;
mod murmur;
mod policy;
mod scan;
mod settings;
mod topics;

pub use batch::{BatchConsumer, BatchProducer, MESSAGES_PER_READ, Message, Outgoing, Scratch};
pub use errors::{explain, kind_of, kind_of_code};
pub use events::{ClientErrors, GroupContext, GroupEvent};
pub use library::Library;
pub use murmur::partition_of;
pub use policy::{cleanup_policy, committed_partitions};
pub use scan::Scan;
pub use settings::{Admin, admin, consumer, producer, verify_reader, verify_writer};
pub use topics::{Topic, brokers, check_topic, describe, list_topics, wait_for};
