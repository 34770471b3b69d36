//! `lookaside keygroups`: where keys go, how evenly they spread, and which setting would spread them better.
//!
//! Keys come from the command line, a file, the source topic of a definition or
//! a dimension table of it (`text`, `declared`, `topic`, `column`). They are
//! placed as a job would place them (`placing`), and shown (`human`, `json`).

mod column;
mod declared;
mod human;
mod json;
mod keys;
mod placing;
mod text;
mod topic;

use std::path::PathBuf;

use crate::config::Fault;
use crate::error::{Error, Kind};
use crate::keygroup::{KeyHash, MAX_PARALLELISM_LIMIT};

use super::output::{self, OutputFormat};
use super::{Exit, exit};
use placing::{Asked, Contender, Report};

/// Keys that are read when `--limit` is not given: spread is known long before, and so many can
/// still be looked through.
const LIMIT_DEFAULT: u32 = 100_000;

/// Most keys of one run: some hundred bytes of memory each.
const LIMIT_MAX: u32 = 1_000_000;

const EXAMPLES: &str = "Examples:
  lookaside keygroups --key-hash java --type INT --parallelism 6 --max-parallelism 128 0 1 2 3 4 5
  lookaside keygroups --type BIGINT --keys customers.txt --parallelism 8 --compare 8:360,12,16
  lookaside keygroups --type INT --type STRING --keys - < pairs.csv
  lookaside keygroups --definition job.yaml --source
  lookaside keygroups --definition job.yaml --table users --column id

A key of one type is the text as it stands; a key of several types is a csv line or a JSON array.
A composite key that begins with a minus sign goes behind --, or into a JSON array.";

/// What it can end with.
const CODES: &[Exit] = &[Exit::Ok, Exit::Usage, Exit::Definition, Exit::External, Exit::Data, Exit::Internal];

/// Show key group and shard of keys, the load of each shard, and the settings that spread these keys best.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", exit::help(CODES)))]
#[command(group = clap::ArgGroup::new("keys from").required(true).args(["key", "keys", "definition"]))]
#[command(group = clap::ArgGroup::new("of the definition").args(["source", "table"]))]
pub(super) struct Args {
    /// Keys; one that is given twice counts twice.
    #[arg(value_name = "KEY", allow_negative_numbers = true, required = false)]
    key: Vec<String>,
    /// Read keys from a file, or - for standard input: one per line, empty lines are skipped.
    #[arg(long, value_name = "FILE|-")]
    keys: Option<PathBuf>,
    /// Type of the keys, as in a definition; once per column of a composite key. Flink hashes by type.
    #[arg(
        long = "type",
        value_name = "TYPE",
        required_unless_present = "definition",
        conflicts_with = "definition"
    )]
    types: Vec<String>,
    /// Key text that stands for NULL.
    #[arg(long, value_name = "TEXT", default_value = "null", conflicts_with = "definition")]
    null_literal: String,
    /// Read keys that a definition names; its parallelism, max-parallelism and key-hash are taken too.
    #[arg(long, value_name = "FILE|DIR|-", requires = "of the definition")]
    definition: Option<PathBuf>,
    /// The distinct keys that are in the definition's source topic now.
    #[arg(long, requires = "definition")]
    source: bool,
    /// The distinct lookup keys that are in a dimension table of the definition now: its name or alias.
    #[arg(long, value_name = "NAME", requires = "definition")]
    table: Option<String>,
    /// Column of the dimension table, more than once for several; without it, those of the lookup's hash.
    #[arg(long = "column", value_name = "NAME", requires = "table")]
    columns: Vec<String>,
    /// Most keys that are read from a file, a topic or a table.
    #[arg(long, value_name = "KEYS", default_value_t = LIMIT_DEFAULT,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(LIMIT_MAX)))]
    limit: u32,
    /// Hash of keys: Flink's SQL exchange (default), or DataStream keyBy.
    #[arg(long, value_enum, value_name = "HASH")]
    key_hash: Option<HashName>,
    /// Worker shards; default: one per core.
    #[arg(long, value_name = "SHARDS", value_parser = parallelism())]
    parallelism: Option<u16>,
    /// Key groups; default: Flink's rule for the parallelism.
    #[arg(long, value_name = "GROUPS", value_parser = parallelism())]
    max_parallelism: Option<u16>,
    /// Settings to show beside: parallelism, or parallelism:max-parallelism.
    #[arg(long, value_name = "P[:M],…", value_delimiter = ',')]
    compare: Vec<Contender>,
}

/// `--key-hash`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum HashName {
    /// Flink's SQL exchange.
    FlinkSql,
    /// DataStream keyBy: Java's hashCode.
    Java,
}

impl From<HashName> for KeyHash {
    fn from(name: HashName) -> Self {
        match name {
            HashName::FlinkSql => Self::FlinkSql,
            HashName::Java => Self::Java,
        }
    }
}

fn parallelism() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=i64::from(MAX_PARALLELISM_LIMIT))
}

/// Why there is no report.
enum Failure {
    /// The definition is invalid.
    Definition(Vec<Fault>),
    /// Everything else.
    Error(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

pub(super) fn run(args: &Args, format: OutputFormat) -> Exit {
    match report(args) {
        Ok(report) => {
            match format {
                OutputFormat::Human => output::data(&human::render(&report)),
                OutputFormat::Json => output::json(&json::render(&report)),
            }
            Exit::Ok
        }
        Err(Failure::Definition(faults)) => {
            output::faults(&faults, format);
            Exit::Definition
        }
        Err(Failure::Error(error)) => {
            let said = output::error(&error, None, format);
            // Nobody waits for a server behind a command that answers once.
            if error.kind() == Kind::Transient { Exit::External } else { said }
        }
    }
}

fn report(args: &Args) -> Result<Report, Failure> {
    let mut asked = Asked {
        key_hash: args.key_hash.map(KeyHash::from),
        parallelism: args.parallelism,
        max_parallelism: args.max_parallelism,
    };
    let limit = args.limit as usize;
    let keys = match &args.definition {
        None => text::read(args, limit)?,
        Some(path) => {
            let (definition, plan) = declared::load(path)?;
            asked = asked.or_else(&plan.options);
            match &args.table {
                None => topic::read(&plan, limit)?,
                Some(name) => {
                    let column = declared::columns(&definition, &plan, name, &args.columns)?;
                    column::read(&column, &plan.options.time_zone, limit)?
                }
            }
        }
    };
    let report = Report::new(keys, asked, &args.compare);
    Ok(report.map_err(|error| match error.kind() {
        // A type without a hash: it was the command line that named it.
        Kind::Definition if args.definition.is_none() => usage(error.to_string()),
        _ => error,
    })?)
}

/// An error about the command line.
fn usage(message: impl Into<String>) -> Error {
    Error::new(Kind::Usage, message)
}
