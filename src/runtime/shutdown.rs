//! The request to stop: by a signal, or by whoever started the job.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::{Error, Result};

/// Exit code when a second signal asks to stop at once.
const ABORTED: i32 = 130;

/// A request to stop that all clones share.
#[derive(Clone, Debug, Default)]
pub struct Shutdown(Arc<AtomicBool>);

impl Shutdown {
    /// No request yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens to SIGTERM and SIGINT: the first asks to drain, the second ends the process
    /// at once with exit code 130.
    ///
    /// # Errors
    /// The system refuses a handler (a bug).
    pub fn on_signals() -> Result<Self> {
        let shutdown = Self::new();
        for signal in [SIGTERM, SIGINT] {
            // In this order: the first signal finds the flag unset, the second finds it set.
            flag::register_conditional_shutdown(signal, ABORTED, Arc::clone(&shutdown.0))
                .and_then(|_| flag::register(signal, Arc::clone(&shutdown.0)))
                .map_err(|error| Error::bug(format!("handling signals: {error}")))?;
        }
        Ok(shutdown)
    }

    /// Asks to stop.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether anyone has asked to stop.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// The flag itself, for waits that know nothing of shutdowns.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
