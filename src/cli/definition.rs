//! The argument that names a definition, and the way from it to a plan.

use std::path::PathBuf;

use crate::config::{Definition, DefinitionSource, Fault, References, Span, effective, load};
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
        self.compile(&self.load()?)
    }

    /// The plan and the definition as people may see it, or every fault.
    pub fn plan_with_text(&self) -> Result<(Plan, String), Vec<Fault>> {
        let definition = self.load()?;
        let (plan, _) = self.compile(&definition)?;
        Ok((plan, effective(&definition)))
    }

    fn load(&self) -> Result<Definition, Vec<Fault>> {
        load(&DefinitionSource::from(self.path.as_path()), &References::process())
    }

    fn compile(&self, definition: &Definition) -> Result<(Plan, PlanSql), Vec<Fault>> {
        let compiled = compile_with_sql(definition)?;
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
