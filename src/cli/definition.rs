//! The argument that names a definition, and the way from it to a plan.

use std::path::PathBuf;

use crate::config::{DefinitionSource, Fault, References, load};
use crate::plan::{Plan, PlanSql, compile_with_sql};

/// Where the definition stands.
#[derive(Debug, clap::Args)]
pub(super) struct DefinitionArg {
    /// A definition: a file, a folder whose *.yaml and *.yml files are merged, or - for standard input.
    #[arg(value_name = "FILE|DIR|-")]
    pub path: PathBuf,
}

impl DefinitionArg {
    /// The plan, or every fault.
    pub fn plan(&self) -> Result<Plan, Vec<Fault>> {
        self.plan_with_sql().map(|(plan, _)| plan)
    }

    /// The plan with the SQL of its expressions, or every fault.
    pub fn plan_with_sql(&self) -> Result<(Plan, PlanSql), Vec<Fault>> {
        let definition = load(&DefinitionSource::from(self.path.as_path()), &References::process())?;
        compile_with_sql(&definition)
    }
}
