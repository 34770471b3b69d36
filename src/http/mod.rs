//! What a replica says over HTTP.
//!
//! | path | answer |
//! |---|---|
//! | `/metrics` | Prometheus text |
//! | `/livez` | 200 while the program makes progress: what a restart can fix |
//! | `/readyz` | 200 once every assigned partition's state is rebuilt, until draining begins |
//! | `/api/v1/status` | JSON: state, partitions with positions and lag, restore progress, shards |
//!
//! No answer asks Kafka or the database: a probe must not fail because a
//! dependency is slow.

mod observe;
mod process;
mod scrape;
mod server;
mod skew;

pub use observe::Watch;
pub use server::{Server, serve};

use crate::telemetry::Page;

/// A running replica, seen from outside.
pub trait Observable: Send + Sync + 'static {
    /// `Err` says which part stands still.
    fn liveness(&self) -> Result<(), String>;

    /// `Err` says what is waited for.
    fn readiness(&self) -> Result<(), String>;

    /// All metrics now.
    fn metrics(&self) -> Page;

    /// The status document.
    fn status(&self) -> serde_json::Value;
}
