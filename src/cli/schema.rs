//! `lookaside schema`: the JSON Schema of definitions, for editors.

use super::output::{self, OutputFormat};
use super::{Exit, exit};

/// Print the JSON Schema (draft 2020-12) of definitions, for editors and checks.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::help(&[Exit::Ok, Exit::Usage]))]
pub(super) struct Args {}

pub(super) fn run(_args: &Args, _format: OutputFormat) -> Exit {
    // The schema is JSON whatever form of output is asked for.
    output::json(&crate::config::json_schema());
    Exit::Ok
}
