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

mod assembly;
mod board;
mod driver;
mod handle;
mod lookups;
mod report;
mod shard;
mod shutdown;
mod supervisor;
mod usage;

pub use board::{Board, PartitionView, ShardView, SourceView, State};
pub use handle::{Handle, shards_of};
pub use shutdown::Shutdown;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::error::{Kind, Result};
use crate::plan::Plan;

/// How a process runs its job.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Longest wait for rows on their way when a stop is asked for.
    pub shutdown_timeout: Duration,
    /// `group.instance.id`: this replica keeps its partitions across a restart.
    pub instance: Option<String>,
}

/// Runs a job until its input ends or a stop is asked for. Blocks; everything that can be
/// known meanwhile is in `handle`, which must have been made for the same plan.
///
/// # Errors
/// Whatever ended the job; the kind says the exit code. An unreachable broker or database is
/// waited for and is no error.
pub fn run(plan: &Plan, settings: &Settings, shutdown: &Shutdown, handle: &Handle) -> Result<()> {
    for note in &plan.notes {
        tracing::info!("{note}");
    }
    let abort = Arc::new(AtomicBool::new(false));
    let outcome = match assembly::assemble(plan, settings, shutdown, handle, Arc::clone(&abort)) {
        Ok(job) => supervisor::supervise(job, settings, shutdown, &abort),
        Err(error) if error.kind() == Kind::Transient && shutdown.is_requested() => Ok(()),
        Err(error) => Err(error),
    };
    handle.board.update(|view| view.state = State::Stopped);
    outcome
}

impl shard::Work for crate::pipeline::Worker {
    type Counters = crate::pipeline::Counters;

    fn handle(
        &mut self,
        input: crate::pipeline::Input,
        now: crate::clock::Millis,
        effects: &mut Vec<crate::pipeline::Effect>,
    ) -> Result<()> {
        Self::handle(self, input, now, effects)
    }

    fn can_accept(&self) -> bool {
        Self::can_accept(self)
    }

    fn deadline(&self) -> Option<crate::clock::Millis> {
        Self::deadline(self)
    }

    fn counters(&self) -> Self::Counters {
        Self::counters(self)
    }
}
