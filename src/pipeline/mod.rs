//! The whole data path of one worker shard, as a state machine.
//!
//! A [`Worker`] owns everything one shard owns: its keyed state, its caches
//! and its batches in flight. It does no I/O and reads no clock of its own:
//! something calls [`Worker::handle`] with an [`Input`] and carries out the
//! [`Effect`]s that come back. In production that is a thread of `runtime`; in
//! tests and in `lookaside test` it is a loop that answers lookups from memory.

mod align;
mod counters;
pub mod driver;
mod emit;
mod flight;
mod intake;
mod messages;
mod worker;

pub use counters::{Counters, RowsIn};
pub use flight::FLIGHTS_MAX;
pub use intake::router;
pub use messages::{Effect, Input, PeerMessage, RowBatch, StreamRow};
pub use worker::Worker;

pub use crate::lookup::{DimensionRows, LookupAnswer, LookupKey, LookupQuery};

#[cfg(test)]
mod tests;
