//! A thread shows that it lives, and how long it was kept waiting.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Millis;

/// When a thread last went round its loop. Zero: it has not begun.
#[derive(Debug, Default)]
pub struct Pulse {
    last: AtomicI64,
    waited: Elapsed,
}

impl Pulse {
    /// The thread lives now.
    pub fn beat(&self, now: Millis) {
        self.last.store(now, Ordering::Relaxed);
    }

    /// When it last did.
    #[must_use]
    pub fn last(&self) -> Millis {
        self.last.load(Ordering::Relaxed)
    }

    /// It waited so long for something that it writes to.
    pub fn wait(&self, time: Duration) {
        self.waited.add(time);
    }

    /// Time that it waited so.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited.total()
    }
}

/// Time that adds up, written by one thread and read by any.
#[derive(Debug, Default)]
pub struct Elapsed(AtomicU64);

impl Elapsed {
    /// Adds some.
    pub fn add(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}
