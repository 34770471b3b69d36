//! The data path against Flink's traces, in every setting that must not make a difference.

mod job;
mod normalize;
