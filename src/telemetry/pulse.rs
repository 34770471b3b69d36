//! A thread shows that it lives.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::clock::Millis;

/// When a thread last went round its loop. Zero: it has not begun.
#[derive(Debug, Default)]
pub struct Pulse(AtomicI64);

impl Pulse {
    /// The thread lives now.
    pub fn beat(&self, now: Millis) {
        self.0.store(now, Ordering::Relaxed);
    }

    /// When it last did.
    #[must_use]
    pub fn last(&self) -> Millis {
        self.0.load(Ordering::Relaxed)
    }
}
