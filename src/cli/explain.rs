//! `lookaside explain`: the resolved plan as a tree.

use std::thread;

use super::definition::DefinitionArg;
use super::output::{self, OutputFormat};
use super::{Exit, exit};
use crate::plan::explain::{Capacities, explain};
use crate::runtime::channels;

/// Show what a definition comes to: operators, kinds of change on the edges, lookup keys, filters, shards.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::help(&[Exit::Ok, Exit::Usage, Exit::Definition]))]
pub(super) struct Args {
    #[command(flatten)]
    definition: DefinitionArg,
}

pub(super) fn run(args: &Args, format: OutputFormat) -> Exit {
    match args.definition.load() {
        Ok(loaded) => {
            let explanation = explain(&loaded.plan, &loaded.sql, &capacities());
            match format {
                OutputFormat::Human => output::data(&explanation.to_text()),
                OutputFormat::Json => output::json(&explanation.to_json()),
            }
            Exit::Ok
        }
        Err(faults) => {
            output::faults(&faults, format);
            Exit::Definition
        }
    }
}

fn capacities() -> Capacities {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Capacities { default_parallelism: u16::try_from(cores).unwrap_or(u16::MAX), channels: channels() }
}
