//! The data path against Flink's traces, in every setting that must not make a difference.

mod job;
mod joins;
mod model;
mod normalize;
mod order;
mod retractions;
