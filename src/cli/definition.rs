//! The argument that names a definition, and the way from it to a plan.

use std::path::PathBuf;

use crate::config::{DefinitionSource, Fault, References, Span, load};
use crate::keygroup::KeyGroups;
use crate::model::{PartitionTable, ShardId};
use crate::pipeline::{self, Worker};
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
        let compiled = compile_with_sql(&definition)?;
        self.check_types(&compiled.0)?;
        Ok(compiled)
    }

    /// Formats refuse types that they do not have only when readers and writers are built from them.
    fn check_types(&self, plan: &Plan) -> Result<(), Vec<Fault>> {
        let built = KeyGroups::new(1, None).and_then(|groups| {
            pipeline::router(plan, groups)?;
            Worker::new(plan, ShardId(0), groups, PartitionTable::default())
        });
        let whole = Span::file(&self.path.display().to_string());
        built.map(|_| ()).map_err(|error| vec![Fault::new(&whole, error.to_string())])
    }
}
