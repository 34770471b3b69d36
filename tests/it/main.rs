//! One integration binary: a line before each module says what belongs there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and lives in real time"
)]

/// Every scalar expression that Flink was asked for, against `tests/vectors/expressions.txt`.
mod expressions;
/// The order of `mod` lines in `src/lib.rs` is the layering.
mod layering;

/// Where the real servers are.
mod stack;
/// Topics of a test's own.
mod topic;
/// Databases of a test's own.
mod database;
/// The program as a process.
mod replica;
/// Keys and rows of dimension tables, asked for in every way.
mod lookup_keys;
/// A TCP proxy in front of a real server.
mod proxy;

/// Golden cases in the format of `lookaside test`.
mod cases;
/// Tables that say where each case of Flink's own tests and each difference from Flink is shown.
mod conformance;

/// The whole path on real servers: replicas that come, go and die.
mod end_to_end;

/// How a job ends: drained, given up, or aborted.
mod stopping;
/// Cases against the real servers (`lookaside test --live`), and cases of Flink that only a broker can show.
mod live_cases;

/// The examples of the repository, started for real.
mod examples;
/// The demo, which needs nothing.
mod demo;

/// Bad data and refusing systems, with exit codes.
mod bad_input;

/// Key groups, against vectors that Flink printed.
mod keygroups;
/// The command that shows where keys go: from arguments, files, topics and tables.
mod keygroups_command;
/// Faults of definitions as a user sees them, and what a valid definition comes to.
mod definitions;
/// Commands of the program: streams and exit codes.
mod commands;

/// The source on the real broker: groups, rebuilds, beginnings, ends.
mod kafka_source;
/// The upsert-kafka sink on the real broker: placement, acknowledgements, refusals.
mod kafka_sink;

/// The benchmark's input has the shares and sizes that its results are read by.
mod workload;

/// Batched lookups on the real database: the answer of a batch is that of plain selects.
mod mysql_lookup;
/// Values of the real database, read as the declared types.
mod mysql_values;
/// A database that refuses, breaks off or is not as declared.
mod mysql_faults;
/// The MySQL sink on the real database.
mod mysql_sink;

/// Batched lookups in a SQLite file: the answer of a batch is that of plain selects.
mod sqlite_lookup;
/// Values of a SQLite file, read as the declared types.
mod sqlite_values;
/// A file that is missing, locked, replaced or not as declared.
mod sqlite_faults;
