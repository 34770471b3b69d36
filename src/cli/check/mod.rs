//! `lookaside check`: every external system of a definition, tried without changing anything.
//!
//! Where `validate` reads the definition alone, `check` asks the servers that it
//! names: is the topic there, do its newest records decode, does the database
//! have the columns, may the user write. Each answer is a [`Finding`] that says
//! where in the definition it belongs and what to do.

mod database;
mod finding;
mod kafka;
mod replica;
mod sample;

use std::time::Duration;

use serde_json::json;

use crate::clock::Clock;
use crate::config::parse_duration;
use crate::db::Databases;
use crate::error::{Error, Result};
use crate::plan::SinkConnector;

use super::definition::{DefinitionArg, Loaded};
use super::output::{self, OutputFormat};
use super::{Exit, exit};
use finding::{Finding, Report, Status};

/// Longest wait for a server when `--timeout` is not given: far beyond a slow start, short for a human.
const TIMEOUT: &str = "10 s";

/// Newest records of each partition that are decoded when `--samples` is not given.
const SAMPLES: u16 = 5;

/// Try every external system of a definition and say per finding what to do; nothing is changed.
///
/// Kafka: brokers, topics, rights on the group, whether the newest records decode. Databases: connection, password,
/// table, columns, types, an index on the lookup key, the right to write. Whether the user may write to a sink's topic
/// shows when a record is written alone, so that is not tried. A warning alone ends with 0.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::help(&[Exit::Ok, Exit::Finding, Exit::Usage, Exit::Definition]))]
pub(super) struct Args {
    #[command(flatten)]
    definition: DefinitionArg,
    /// Longest wait for one answer of a server.
    #[arg(long, value_name = "DURATION", default_value = TIMEOUT, value_parser = parse_duration)]
    timeout: Duration,
    /// Newest records of each partition to decode; 0 decodes none.
    #[arg(long, value_name = "RECORDS", default_value_t = SAMPLES)]
    samples: u16,
    /// A running replica to ask as well, whether it is ready.
    #[arg(long, value_name = "URL", value_parser = replica::parse_address)]
    replica: Option<replica::Address>,
}

/// What every check needs.
struct Checks<'a> {
    loaded: &'a Loaded,
    runtime: tokio::runtime::Runtime,
    databases: Databases,
    clock: Clock,
    timeout: Duration,
    samples: u16,
}

pub(super) fn run(args: &Args, format: OutputFormat) -> Exit {
    let loaded = match args.definition.load() {
        Ok(loaded) => loaded,
        Err(faults) => {
            output::faults(&faults, format);
            return Exit::Definition;
        }
    };
    let report = match Checks::new(&loaded, args).map(|checks| checks.all(args.replica.as_ref())) {
        Ok(report) => report,
        Err(error) => return output::error(&error, None, format),
    };
    match format {
        OutputFormat::Human => output::data(&report.to_text()),
        OutputFormat::Json => {
            let mut document = report.to_json();
            document["name"] = json!(loaded.plan.name);
            output::json(&document);
        }
    }
    if report.has_failed() { Exit::Finding } else { Exit::Ok }
}

impl<'a> Checks<'a> {
    fn new(loaded: &'a Loaded, args: &Args) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self {
            loaded,
            runtime: runtime.map_err(|error| Error::bug(format!("starting the runtime: {error}")))?,
            databases: Databases::default(),
            clock: Clock::system(),
            timeout: args.timeout,
            samples: args.samples,
        })
    }

    fn all(&self, replica: Option<&replica::Address>) -> Report {
        let mut report = Report::default();
        let plan = &self.loaded.plan;
        report.begin(&format!("source {}", plan.source.table));
        self.source(&mut report);
        for lookup in &plan.lookups {
            let alias =
                if lookup.alias == lookup.table { String::new() } else { format!(" AS {}", lookup.alias) };
            report.begin(&format!("lookup {}{alias}", lookup.table));
            self.dimension(lookup, &mut report);
        }
        report.begin(&format!("sink {}", plan.sink.table));
        match &plan.sink.connector {
            SinkConnector::UpsertKafka(sink) => self.kafka_sink(sink, &mut report),
            SinkConnector::Mysql(sink) => self.mysql_sink(sink, &mut report),
            SinkConnector::Print { .. } | SinkConnector::Blackhole => {
                report.add(Finding::new(Status::Ok, "needs no other system"));
            }
        }
        if let Some(replica) = replica {
            report.begin("replica");
            self.replica(replica, &mut report);
        }
        report
    }

    /// A finding that something went wrong, with its place.
    fn failed(&self, error: &Error) -> Finding {
        Finding { place: self.loaded.place(error), ..Finding::new(Status::Failed, error.to_string()) }
    }
}
