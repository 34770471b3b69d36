//! The whole path on a real broker and a real database, beside the floor and beside Flink.
//!
//! `make bench` runs it. Each contestant does the same work in a process of its own, on two sizes of the same
//! stream; the difference of the CPU times is the marginal cost of a row. Every sink topic is checked against an
//! independent fold of the input, so that no figure stands on a wrong result. Then the contestants that enrich run
//! once more at a steady rate for latency.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark lives in real time, reads its settings from the environment and reports on the terminal"
)]

/// Whether the sink topic holds the right result.
mod check;
/// Who is measured and how each is started.
mod contestants;
/// The floor, as a process of its own.
mod copy_loop;
/// The input: topic and tables.
mod generate;
/// Append to append at a steady rate.
mod latency;
/// The order stream, as bytes from a seed.
mod orders;
/// Seeded random numbers.
mod random;
/// The report.
mod results;
/// The environment.
mod settings;
/// What the dimension tables hold.
mod tables;
/// Topics: make, fill, read, remove.
mod topics;

use std::process::ExitCode;

use check::Expected;
use contestants::{Contestant, Job, Length};
use generate::Database;
use orders::{Orders, Users};
use results::{Results, Run};
use settings::Settings;
use topics::Broker;

/// One allocator for Rust and for librdkafka's C, as in the program under test.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Faults of a benchmark are told to the one who runs it.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["copy-loop", bootstrap, source, sink] => copy_loop::run(bootstrap, source, sink).map(|()| true),
        // What `cargo bench` passes; under `cargo test` there is nothing to measure.
        [.., "--bench"] => measure_all(),
        _ => {
            println!("workload: run by `make bench`");
            Ok(true)
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The servers and the input.
struct Stage<'a> {
    settings: &'a Settings,
    broker: Broker,
    database: Database,
    users: Users,
    /// Names this run's topics, so that two runs on one broker do not meet.
    label: String,
}

/// Returns whether every contestant did its work.
fn measure_all() -> Result<bool> {
    let settings = Settings::from_environment()?;
    for contestant in &settings.contestants {
        contestant.prepare(&settings)?;
    }
    let mut stage = Stage {
        broker: Broker::new(&settings.kafka)?,
        database: Database::connect(&settings.mysql)?,
        users: Users::new(),
        label: format!("bench-{}", std::process::id()),
        settings: &settings,
    };
    let mut results = Results::new(&settings);
    stage.database.fill_tables()?;
    stage.bounded_runs(&mut results)?;
    stage.latency_runs(&mut results);
    let table = results.publish()?;
    println!("\n{table}");
    Ok(!results.failed())
}

/// A topic of orders and what it amounts to.
struct Input {
    topic: String,
    rows: u64,
    expected: Expected,
}

impl Stage<'_> {
    fn bounded_runs(&mut self, results: &mut Results<'_>) -> Result<()> {
        let (small, large) = self.settings.sizes;
        for rows in [small, large] {
            let topic = format!("{}-orders-{rows}", self.label);
            println!("{rows} rows: writing the topic");
            generate::fill_topic(&self.broker, &topic, &self.users, rows)?;
            let expected = Expected::fold(Orders::new(&self.users, rows));
            let input = Input { topic, rows, expected };
            // Contestants take turns, so that a slow spell of the machine does not fall on one of them alone.
            for repeat in 0..self.settings.repeats {
                for &contestant in &self.settings.contestants {
                    let outcome = self.bounded_run(contestant, &input, repeat);
                    let figures = results.of(contestant);
                    match outcome {
                        Ok(run) if rows == small => figures.small.push(run),
                        Ok(run) => figures.large.push(run),
                        Err(error) => {
                            println!("{rows} rows: {} FAILED: {error}", contestant.name());
                            figures.faults.push(format!("{rows} rows: {error}"));
                        }
                    }
                }
            }
            self.broker.delete(&input.topic)?;
        }
        Ok(())
    }

    fn bounded_run(&mut self, contestant: Contestant, input: &Input, repeat: usize) -> Result<Run> {
        let rows = input.rows;
        let sink = format!("{}-{}-{rows}-{repeat}", self.label, contestant.name());
        self.broker.create(&sink, false)?;
        let before = self.database.selects()?;
        let label = format!("{rows}-{repeat}");
        let job = Job { source: &input.topic, sink: &sink, label: &label, length: Length::Rows(rows) };
        let outcome = contestants::start(contestant, self.settings, &job)?.wait();
        let statements = self.database.selects()? - before;
        let checked =
            outcome.and_then(|cost| Ok((cost, input.expected.check(&self.broker, &sink, contestant)?)));
        self.broker.delete(&sink)?;
        let (cost, sink) = checked?;
        println!(
            "{rows} rows: {}: {:.1} CPU-s, {:.1} s, {:.0} MB, {statements} statements; {} records, {} tombstones, \
             {} live keys, all right",
            contestant.name(),
            cost.cpu_s,
            cost.wall_s,
            cost.peak_rss_mb,
            sink.records,
            sink.tombstones,
            sink.live_keys,
        );
        Ok(Run { cost, statements, sink })
    }

    fn latency_runs(&self, results: &mut Results<'_>) {
        let settings = self.settings;
        if settings.latency_seconds == 0 {
            return;
        }
        for &contestant in settings.contestants.iter().filter(|contestant| contestant.enriches()) {
            println!("latency: {}", contestant.name());
            let label = format!("{}-{}", self.label, contestant.name());
            match latency::run(contestant, settings, &self.broker, &self.users, &label) {
                Ok(latency) => results.of(contestant).latency = Some(latency),
                Err(error) => {
                    println!("latency: {} FAILED: {error}", contestant.name());
                    results.of(contestant).faults.push(format!("latency: {error}"));
                }
            }
        }
    }
}
