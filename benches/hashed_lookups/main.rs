//! A lookup with `lookup.enable_hash` and without, on one Zipf stream: hit rate, cached rows and statements per shard.
//!
//! `cargo bench --bench hashed_lookups` writes the table of `docs/hashed-lookups.md`. The workers are those of the
//! program, the database is a function in memory: nothing here depends on the speed of the machine.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a benchmark reads its arguments, reports on the terminal, and fails by panicking"
)]

/// One setting, measured.
mod measure;
/// Seeded random numbers.
#[path = "../workload/random.rs"]
#[expect(dead_code, reason = "shared with the whole-path benchmark, which uses all of it")]
mod random;
/// The table of the document.
mod table;

use std::process::ExitCode;

use measure::{Setting, Stream, measure};

/// Shards that are compared.
const SHARDS: [u16; 4] = [1, 2, 4, 8];

/// The stream that the document speaks of, in reads as the source makes them under load.
const STREAM: Stream = Stream { rows: 500_000, users: 100_000, read: 2_000 };

/// `max-rows`: a tenth of the users, and all of them.
const MAX_ROWS: [u64; 2] = [10_000, 100_000];

const DOCUMENT: &str = "docs/hashed-lookups.md";

fn main() -> ExitCode {
    // What `cargo bench` passes; under `cargo test` there is nothing to measure.
    if std::env::args().next_back().as_deref() != Some("--bench") {
        println!("hashed_lookups: run by `make bench`");
        return ExitCode::SUCCESS;
    }
    let mut text = String::new();
    for max_rows in MAX_ROWS {
        let settings = SHARDS.into_iter().flat_map(|shards| [false, true].map(|hashed| (shards, hashed)));
        let runs: Vec<_> = settings
            .map(|(shards, hashed)| {
                let setting = Setting { shards, hashed, max_rows };
                (setting, measure(setting, STREAM))
            })
            .collect();
        text.push_str(&table::table(max_rows, STREAM.users, &runs));
    }
    println!("{text}");
    match table::publish(DOCUMENT, &text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hashed_lookups: {DOCUMENT}: {error}");
            ExitCode::FAILURE
        }
    }
}
