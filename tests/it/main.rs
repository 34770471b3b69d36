//! One integration binary: a line before each module says what belongs there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and lives in real time"
)]

/// The order of `mod` lines in `src/lib.rs` is the layering.
mod layering;

/// The benchmark's input has the shares and sizes that its results are read by.
mod workload;
