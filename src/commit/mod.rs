//! When offsets may be committed: a pure protocol, no clock and no I/O.
//!
//! Records are handed to the shards; every so often a *barrier* follows them
//! through all queues. Everything between two barriers is an *epoch*. When
//! every shard has passed an epoch's barrier and the sink has acknowledged
//! what came before it, the epoch is *done*; when all epochs up to it are
//! done, the offsets that were handed over before its barrier are committed.
//! So an offset is committed only after every row below it is safe.
//!
//! Partitions that go to another member get a last epoch of their own:
//! barrier, commit, then release. Partitions that were lost are forgotten:
//! their offsets are never committed again. [`Protocol::step`] takes what
//! happened and says what to do.

mod epochs;
mod protocol;

pub use epochs::EPOCHS_MAX;
pub use protocol::{Action, Event, Protocol};

#[cfg(test)]
mod tests;
