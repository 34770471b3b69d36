//! The command line: one file per command, and this dispatcher.
//!
//! Data goes to standard output, everything else to standard error, so that
//! output can be piped. Every command takes `--output json`.

mod definition;
mod demo;
mod explain;
mod exit;
mod keygroups;
mod output;
mod run;
mod schema;
pub mod test;
mod validate;

pub use exit::Exit;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use output::OutputFormat;

/// Enriches an upsert-kafka stream through cached MySQL lookups.
#[derive(Debug, Parser)]
#[command(name = "lookaside", version, after_help = exit::HELP, max_term_width = 110)]
struct Cli {
    /// What results look like on standard output.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Demo(demo::Args),
    Validate(validate::Args),
    Explain(explain::Args),
    Schema(schema::Args),
    Keygroups(Box<keygroups::Args>),
    Test(test::Args),
}

/// Runs the command that the process was started with.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(message) => return exit::usage(&message),
    };
    let exit = match &cli.command {
        Command::Run(args) => run::run(args, cli.output),
        Command::Demo(args) => demo::run(args, cli.output),
        Command::Validate(args) => validate::run(args, cli.output),
        Command::Explain(args) => explain::run(args, cli.output),
        Command::Schema(args) => schema::run(args, cli.output),
        Command::Keygroups(args) => keygroups::run(args, cli.output),
        Command::Test(args) => test::run(args, cli.output),
    };
    exit.into()
}
