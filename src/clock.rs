//! The only place that asks what time it is or waits.
//!
//! Everything that expires, retries or measures takes a [`Clock`], so that a
//! test (and `lookaside test`) can hold time still and move it by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type Millis = i64;

/// A source of time. Cheap to clone; all clones tell the same time.
#[derive(Clone, Debug)]
pub struct Clock(Inner);

#[derive(Clone, Debug)]
enum Inner {
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Inner::System)
    }

    /// A clock that stands still until [`Clock::advance`] moves it.
    #[must_use]
    pub fn manual(start: Millis) -> Self {
        Self(Inner::Manual(Arc::new(AtomicI64::new(start))))
    }

    /// Wall-clock time in milliseconds.
    #[must_use]
    pub fn now(&self) -> Millis {
        match &self.0 {
            Inner::System => system_millis(),
            Inner::Manual(time) => time.load(Ordering::SeqCst),
        }
    }

    /// Moves a manual clock forward; a system clock is left alone.
    pub fn advance(&self, by: Duration) {
        if let Inner::Manual(time) = &self.0 {
            time.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
        }
    }

    /// Waits for `duration` on a task; a manual clock moves forward instead.
    #[expect(clippy::disallowed_methods, reason = "the one place that sleeps")]
    pub async fn sleep(&self, duration: Duration) {
        match &self.0 {
            Inner::System => tokio::time::sleep(duration).await,
            Inner::Manual(_) => self.advance(duration),
        }
    }

    /// Waits for `duration` on an OS thread; a manual clock moves forward instead.
    #[expect(clippy::disallowed_methods, reason = "the one place that sleeps")]
    pub fn sleep_blocking(&self, duration: Duration) {
        match &self.0 {
            Inner::System => std::thread::sleep(duration),
            Inner::Manual(_) => self.advance(duration),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
fn system_millis() -> Millis {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A monotonic start point, for durations that go to metrics.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the monotonic clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
