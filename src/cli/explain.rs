//! `lookaside explain`: the resolved plan as a tree.

use std::thread;

use super::Exit;
use super::definition::DefinitionArg;
use super::output::{self, OutputFormat};
use crate::plan::explain::{Capacities, explain};
use crate::runtime::channels;

/// Show what a definition comes to: operators, kinds of change on the edges, lookup keys, filters, shards.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    definition: DefinitionArg,
}

pub(super) fn run(args: &Args, format: OutputFormat) -> Exit {
    match args.definition.plan_with_sql() {
        Ok((plan, sql)) => {
            let explanation = explain(&plan, &sql, &capacities());
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
