//! What a replica says over HTTP.
//!
//! | path | answer |
//! |---|---|
//! | `/` | the page |
//! | `/metrics` | Prometheus text |
//! | `/livez` | 200 while every thread makes progress: what a restart can fix |
//! | `/readyz` | 200 once every assigned partition's state is rebuilt, until draining begins |
//! | `/api/v1/status` | JSON: state, partitions with positions and lag, restore progress, shards |
//! | `/api/v1/snapshot` | JSON: what the page shows |
//! | `/api/v1/events` | the same as a stream of server-sent events, one per second |
//! | `/api/v1/definition` | the definition that runs, with its defaults, secrets hidden |
//!
//! No answer asks Kafka or the database: a probe must not fail because a
//! dependency is slow. The server has a thread of its own, so that neither a
//! page slows lookups down nor a stuck I/O runtime silences the probes.

mod assets;
mod events;
mod headers;
mod history;
mod listener;
mod observe;
mod process;
mod reading;
mod scrape;
mod server;
mod snapshot;

pub use observe::{Showing, Watch};
pub use server::{Server, Serving};

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

    /// A second has passed: time for a reading of the counters.
    fn tick(&self);

    /// What the page shows, as JSON on one line.
    fn snapshot(&self) -> String;

    /// The definition as people may see it.
    fn definition(&self) -> String;
}
