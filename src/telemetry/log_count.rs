//! How many errors and warnings were logged. The log is one per process, and so are its counts.

use std::sync::atomic::{AtomicU64, Ordering};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

static ERRORS: AtomicU64 = AtomicU64::new(0);
static WARNINGS: AtomicU64 = AtomicU64::new(0);

/// Counts what passes the log's filter.
pub(super) struct CountLines;

impl<S: Subscriber> Layer<S> for CountLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        match *event.metadata().level() {
            Level::ERROR => ERRORS.fetch_add(1, Ordering::Relaxed),
            Level::WARN => WARNINGS.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }
}

/// Lines so far, by the level's name in metrics.
#[must_use]
pub fn log_lines() -> [(&'static str, u64); 2] {
    [("error", ERRORS.load(Ordering::Relaxed)), ("warn", WARNINGS.load(Ordering::Relaxed))]
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::prelude::*;

    use super::*;

    #[test]
    fn errors_and_warnings_are_counted_and_nothing_else() {
        let before = log_lines();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(CountLines), || {
            tracing::error!("one");
            tracing::warn!("two");
            tracing::warn!("three");
            tracing::info!("four");
        });
        let counted = log_lines().map(|(_, lines)| lines);
        assert!(before[0].1 < counted[0] && before[1].1 + 1 < counted[1], "{before:?} {counted:?}");
    }
}
