//! The command line: one file per command, and this dispatcher.
//!
//! Data goes to standard output, everything else to standard error, so that
//! output can be piped. Every command takes `--output json`.

mod check;
mod completions;
mod config;
mod definition;
mod demo;
mod explain;
mod exit;
mod init;
mod keygroups;
mod output;
mod run;
mod schema;
mod settings;
pub mod test;
mod validate;
mod version;

pub use exit::Exit;

use std::process::ExitCode;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{CommandFactory, Parser, Subcommand};

use output::OutputFormat;

/// Colours of help and complaints, on terminals alone.
const STYLES: Styles = Styles::styled()
    .header(output::PLACE)
    .usage(output::PLACE)
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(output::FAINT)
    .error(output::BAD)
    .valid(output::GOOD)
    .invalid(output::DOUBTFUL);

/// Enriches an upsert-kafka stream through cached MySQL lookups.
#[derive(Debug, Parser)]
#[command(name = "lookaside", version, after_help = exit::help(&Exit::ALL), max_term_width = 110, styles = STYLES)]
struct Cli {
    /// What results look like on standard output: human or json.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    output: OutputFormat,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Init(Box<init::Args>),
    Validate(validate::Args),
    Explain(explain::Args),
    Check(check::Args),
    Run(run::Args),
    Test(test::Args),
    Keygroups(Box<keygroups::Args>),
    Config(config::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    Version(version::Args),
}

/// The command line as data, for the documentation and shell completions.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command that the process was started with.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(message) => return exit::usage(&message),
    };
    let exit = match &cli.command {
        Command::Demo(args) => demo::run(args, cli.output),
        Command::Init(args) => init::run(args, cli.output),
        Command::Validate(args) => validate::run(args, cli.output),
        Command::Explain(args) => explain::run(args, cli.output),
        Command::Check(args) => check::run(args, cli.output),
        Command::Run(args) => run::run(args, cli.output),
        Command::Test(args) => test::run(args, cli.output),
        Command::Keygroups(args) => keygroups::run(args, cli.output),
        Command::Config(args) => config::run(args, cli.output),
        Command::Schema(args) => schema::run(args, cli.output),
        Command::Completions(args) => completions::run(args, cli.output),
        Command::Version(args) => version::run(args, cli.output),
    };
    exit.into()
}
