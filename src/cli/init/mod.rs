//! `lookaside init`: a commented definition to start from.
//!
//! What each line means comes from the option tables (`config::options`), so the
//! file says what `validate` checks. The example is always the same: orders are
//! read, dimension tables are looked up, and the result goes to a sink.

mod example;
mod template;

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use serde_json::json;

use crate::config::options::{CONNECTORS, ConnectorSpec, Role, connector};
use crate::error::{Error, Kind, io_reason};

use super::output::{self, OutputFormat};
use super::{Exit, exit};
use template::{Choice, definition};

/// `--dimension` for a definition without lookups.
const NONE: &str = "none";

/// Formats whose records are readable without more options.
const FORMATS: [&str; 2] = ["json", "csv"];

const EXAMPLES: &str = "Examples:
  lookaside init
  lookaside init job.yaml --source kafka --sink mysql
  lookaside init - --dimension mysql --dimension mysql --sink upsert-kafka";

/// Write a commented definition to start from, with the connectors asked for.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", exit::help(&[Exit::Ok, Exit::Usage])))]
pub(super) struct Args {
    /// File to write, or - for standard output.
    #[arg(value_name = "FILE|-", default_value = "lookaside.yaml")]
    path: PathBuf,
    /// Connector that rows come from.
    #[arg(long, value_name = "CONNECTOR", default_value = "upsert-kafka", value_parser = of_role(Role::Source))]
    source: String,
    /// Connector of a dimension table; once per table, or none.
    #[arg(
        long = "dimension",
        value_name = "CONNECTOR",
        default_value = "mysql",
        value_parser = PossibleValuesParser::new(names(Role::Dimension).chain([NONE]))
    )]
    dimensions: Vec<String>,
    /// Connector that rows go to.
    #[arg(long, value_name = "CONNECTOR", default_value = "print", value_parser = of_role(Role::Sink))]
    sink: String,
    /// Format of Kafka records.
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = PossibleValuesParser::new(FORMATS))]
    format: String,
    /// Overwrite the file if it is there.
    #[arg(long)]
    force: bool,
}

fn names(role: Role) -> impl Iterator<Item = &'static str> {
    CONNECTORS.iter().filter(move |connector| connector.roles.contains(&role)).map(|connector| connector.name)
}

fn of_role(role: Role) -> PossibleValuesParser {
    PossibleValuesParser::new(names(role))
}

pub(super) fn run(args: &Args, format: OutputFormat) -> Exit {
    match choice(args).and_then(|choice| write(args, &definition(&choice))) {
        Ok(text) => {
            say(args, &text, format);
            Exit::Ok
        }
        Err(error) => output::error(&error, None, format),
    }
}

fn choice(args: &Args) -> Result<Choice, Error> {
    let spec = |name: &String| -> Result<&'static ConnectorSpec, Error> {
        connector(name).ok_or_else(|| Error::bug(format!("connector {name} is offered and not known")))
    };
    let dimensions: Vec<_> = args.dimensions.iter().filter(|name| *name != NONE).map(spec).collect();
    if example::DIMENSIONS.len() < dimensions.len() {
        let most = example::DIMENSIONS.len();
        return Err(usage(format!(
            "--dimension is given {} times; at most {most} are written",
            dimensions.len()
        )));
    }
    Ok(Choice {
        source: spec(&args.source)?,
        dimensions: dimensions.into_iter().collect::<Result<_, _>>()?,
        sink: spec(&args.sink)?,
        format: args.format.clone(),
        file: args.path.display().to_string(),
    })
}

/// Writes the file, unless it goes to standard output; gives the text back.
fn write(args: &Args, text: &str) -> Result<String, Error> {
    if args.path != Path::new("-") {
        let path = args.path.display();
        create(&args.path, args.force, text).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => usage(format!("{path} exists already; --force overwrites it")),
            _ => usage(format!("{path} cannot be written: {}", io_reason(&error))),
        })?;
    }
    Ok(text.to_owned())
}

fn create(path: &Path, force: bool, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    options.open(path)?.write_all(text.as_bytes())
}

fn say(args: &Args, text: &str, format: OutputFormat) {
    let path = args.path.display().to_string();
    match format {
        OutputFormat::Json => {
            output::json(&json!({"path": (path != "-").then_some(path), "definition": text}));
        }
        OutputFormat::Human if path == "-" => output::data(text),
        OutputFormat::Human => output::say(&format!(
            "{path} is written; next: lookaside validate {path}, lookaside check {path}, lookaside run {path}"
        )),
    }
}

fn usage(message: String) -> Error {
    Error::new(Kind::Usage, message)
}
