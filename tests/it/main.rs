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
/// Prometheus' own checker.
mod promtool;
/// What a PromQL query asks for.
mod promql;
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
/// Listeners of the broker with logins and TLS.
mod security;
/// A headless Chromium.
mod browser;
/// A job that only exists in what the page is told of it.
mod fixture;

/// Golden cases in the format of `lookaside test`.
mod cases;
/// Tables that say where each case of Flink's own tests and each difference from Flink is shown.
mod conformance;

/// The whole path on real servers: replicas that come, go and die.
mod end_to_end;

/// How a job ends: drained, given up, or aborted.
mod stopping;
/// Probes, the port, streams whose clients do not read.
mod health;
/// The page in a real browser.
mod page;
/// What watching a job costs it.
mod page_cost;
/// The pictures in the documents.
mod screenshots;
/// Cases against the real servers (`lookaside test --live`), and cases of Flink that only a broker can show.
mod live_cases;

/// The examples of the repository, started for real.
mod examples;
/// The demo, which needs nothing.
mod demo;

/// The image of the Dockerfile.
mod image;
/// The example with everything around it, `compose.yaml`.
mod compose;
/// A live scrape against the list of metrics, and the list against its document.
mod metrics;
/// Alerts and dashboard against the list of metrics, and each alert when it fires.
mod monitoring;

/// Bad data and refusing systems, with exit codes.
mod bad_input;

/// Key groups, against vectors that Flink printed.
mod keygroups;
/// The command that shows where keys go: from arguments, files, topics and tables.
mod keygroups_command;
/// Faults of definitions as a user sees them, and what a valid definition comes to.
mod definitions;
/// Broken definitions with their golden messages, through the real binary.
mod broken;
/// Commands of the program: streams and exit codes.
mod commands;
/// What all commands have in common.
mod command_line;
/// Types that formats cannot hold are blamed where they stand.
mod format_types;
/// Files and folders that may not be read or written.
mod no_permission;
/// What `lookaside init` writes is valid, whatever is asked for.
mod starters;
/// Passwords are printed nowhere.
mod canary;
/// Pages that are generated from the program are those of the program.
mod reference;
/// Every code block of the documentation is run or validated.
mod docs;

/// The source on the real broker: groups, rebuilds, beginnings, ends.
mod kafka_source;
/// The upsert-kafka sink on the real broker: placement, acknowledgements, refusals.
mod kafka_sink;

/// Logins and TLS on the real broker.
mod kafka_security;
/// Compressed batches on the real broker.
mod kafka_codecs;
/// Hashed against unhashed lookups, as the document says.
mod hashed_lookups;

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

/// The Helm chart through the real Helm, and its definitions through the program.
mod chart;

/// Batched lookups in a SQLite file: the answer of a batch is that of plain selects.
mod sqlite_lookup;
/// Values of a SQLite file, read as the declared types.
mod sqlite_values;
/// A file that is missing, locked, replaced or not as declared.
mod sqlite_faults;
/// `lookaside check` on a table of a SQLite file.
mod check;
