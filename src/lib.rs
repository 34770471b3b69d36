//! Lookaside: upsert-kafka in, changelog normalized, enriched through cached
//! MySQL lookups, written to a sink. `ARCHITECTURE.md` has the map.
//!
//! The order of the `mod` lines below is the layering: a module names only
//! modules of the groups above its own, and modules of one group never name
//! each other. `tests/it/layering.rs` enforces both rules.

pub mod clock;
pub mod error;

pub mod model;

pub mod expr;
pub mod keygroup;

pub mod commit;
pub mod telemetry;

pub mod config;

pub mod plan;

pub mod db;
pub mod format;
pub mod kafka;
pub mod state;

pub mod route;
pub mod decode;
pub mod normalize;
pub mod lookup;
pub mod project;
pub mod encode;

pub mod sink;
pub mod source;

pub mod pipeline;

pub mod runtime;

pub mod http;

pub mod cli;
