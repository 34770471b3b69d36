//! `lookaside validate`: every fault of a definition, without touching any other system.

use super::definition::DefinitionArg;
use super::output::{self, OutputFormat};
use super::{Exit, exit, output::faults_json};

/// Check a definition and report all its faults; nothing is connected to.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::help(&[Exit::Ok, Exit::Usage, Exit::Definition]))]
pub(super) struct Args {
    #[command(flatten)]
    definition: DefinitionArg,
}

pub(super) fn run(args: &Args, format: OutputFormat) -> Exit {
    match args.definition.plan() {
        Ok(plan) => {
            plan.notes.iter().for_each(|note| output::say(&format!("note: {note}")));
            match format {
                OutputFormat::Human => output::data(&format!("{}: valid", plan.name)),
                OutputFormat::Json => {
                    let mut document = faults_json(&[]);
                    document["name"] = plan.name.into();
                    document["notes"] = plan.notes.into();
                    output::json(&document);
                }
            }
            Exit::Ok
        }
        Err(faults) => {
            output::faults(&faults, format);
            Exit::Definition
        }
    }
}
