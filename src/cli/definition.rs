//! The argument that names a definition, and the way from it to a plan.

use std::path::PathBuf;

use crate::config::{Definition, DefinitionSource, Fault, References, Span, load};
use crate::decode::Decoder;
use crate::error::{Error, Result as OneError};
use crate::kafka;
use crate::keygroup::KeyGroups;
use crate::model::{PartitionTable, ShardId};
use crate::pipeline::{self, Worker};
use crate::plan::{Plan, PlanSql, SinkConnector, compile_with_sql};

/// Where the definition stands.
#[derive(Debug, clap::Args)]
pub(super) struct DefinitionArg {
    /// A definition: a file, a folder whose *.yaml and *.yml files are merged, or - for standard input.
    #[arg(value_name = "FILE|DIR|-")]
    pub path: PathBuf,
}

/// A definition and what it comes to.
pub(super) struct Loaded {
    /// What was written.
    pub definition: Definition,
    /// What will run.
    pub plan: Plan,
    /// The SQL of its expressions.
    pub sql: PlanSql,
}

impl DefinitionArg {
    /// The plan, or every fault.
    pub fn plan(&self) -> Result<Plan, Vec<Fault>> {
        self.load().map(|loaded| loaded.plan)
    }

    /// The definition with its plan, or every fault.
    pub fn load(&self) -> Result<Loaded, Vec<Fault>> {
        let definition = load(&DefinitionSource::from(self.path.as_path()), &References::process())?;
        let (plan, sql) = compile_with_sql(&definition)?;
        let loaded = Loaded { definition, plan, sql };
        match build(&loaded.plan) {
            Ok(()) => Ok(loaded),
            Err(error) => {
                let span =
                    loaded.place(&error).unwrap_or_else(|| Span::file(&self.path.display().to_string()));
                Err(vec![Fault::new(&span, error.to_string())])
            }
        }
    }
}

/// What a plan alone does not show: readers and writers refuse the types that they do not have, and
/// librdkafka values of its settings.
fn build(plan: &Plan) -> OneError<()> {
    let groups = KeyGroups::new(1, None)?;
    kafka::verify_reader(&plan.source.client).map_err(|error| error.of_table(&plan.source.table))?;
    if let SinkConnector::UpsertKafka(sink) = &plan.sink.connector {
        kafka::verify_writer(&sink.client).map_err(|error| error.of_table(&plan.sink.table))?;
    }
    let source = |error: Error| error.in_table(&plan.source.table, &format!("table {}", plan.source.table));
    pipeline::router(plan, groups).map_err(source)?;
    Decoder::new(&plan.source, PartitionTable::default()).map_err(source)?;
    let worker = Worker::new(plan, ShardId(0), groups, PartitionTable::default());
    worker.map(drop).map_err(|error| error.in_table(&plan.sink.table, &format!("table {}", plan.sink.table)))
}

impl Loaded {
    /// Where in the definition an error belongs, when it belongs anywhere.
    pub fn place(&self, error: &Error) -> Option<Span> {
        self.definition.place(error.subject()?)
    }
}
