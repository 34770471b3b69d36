//! Builds a job from its plan and runs it: threads, queues, commits, the end.
//!
//! ```text
//! source thread ── data queues ──▶ shard threads ──▶ sink
//!   reads, splits,                  │        ▲
//!   commits                 queries ▼        │ answers
//!                                 I/O threads (lookups)
//! ```
//!
//! Whatever fails first ends the job, with the exit code of its kind. A stop
//! that is asked for drains: what was read is finished, acknowledged and
//! committed before the group is left.

mod board;
mod channels;
mod driver;
mod job;
mod lookups;
mod routing;
mod shard;
mod shutdown;
mod statements;

pub use board::{Board, PartitionView, ShardView, SourceView, State};
pub use channels::channels;
pub use job::{Environment, Job};
pub use shard::DATA_QUEUE;
pub use shutdown::Shutdown;
pub use statements::{StatementCounts, Statements};
