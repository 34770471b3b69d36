//! What a dimension table is asked for, with what, and who hears of it.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::plan::{DimensionColumn, DimensionConnector, KeyPart, LookupPlan};

use super::Databases;

/// Longest time that one statement may take before its connection is given up.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// What one statement did, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementReport {
    /// Keys that were asked.
    pub keys: usize,
    /// Rows that came back.
    pub rows: usize,
    /// From asking for a connection to the last row, or to the failure.
    pub elapsed: Duration,
    /// Whether it failed.
    pub failed: bool,
}

/// Told about each statement that is sent.
pub type Observer = Arc<dyn Fn(StatementReport) + Send + Sync>;

/// What a dimension table needs besides its plan.
#[derive(Clone)]
pub struct Access {
    /// The databases of this process.
    pub databases: Databases,
    /// Times the pauses between attempts.
    pub clock: Clock,
    /// `time-zone` of the definition: what a MySQL TIMESTAMP shows as TIMESTAMP(p).
    pub time_zone: String,
    /// Told about each statement that is sent.
    pub observer: Observer,
    /// Longest time of one statement, usually [`STATEMENT_TIMEOUT`].
    pub statement_timeout: Duration,
}

impl Access {
    /// Access with the usual time limit and nobody who listens.
    #[must_use]
    pub fn new(databases: Databases, clock: Clock, time_zone: &str) -> Self {
        Self {
            databases,
            clock,
            time_zone: time_zone.to_owned(),
            observer: Arc::new(|_| ()),
            statement_timeout: STATEMENT_TIMEOUT,
        }
    }
}

/// What is asked of a dimension table: the part of a lookup that the database sees.
#[derive(Clone, Debug)]
pub struct DimensionSpec {
    /// Name in the definition.
    pub table: String,
    /// Database and table.
    pub source: DimensionConnector,
    /// Columns that keys are compared with, and their declared types.
    pub key: Vec<DimensionColumn>,
    /// Fetched columns and their declared types.
    pub columns: Vec<DimensionColumn>,
    /// `lookup.max-retries`: retries after the first try.
    pub max_retries: u32,
}

impl From<&LookupPlan> for DimensionSpec {
    fn from(lookup: &LookupPlan) -> Self {
        let part = |part: &KeyPart| DimensionColumn { name: part.column.clone(), ty: part.ty.clone() };
        Self {
            table: lookup.table.clone(),
            source: lookup.connector.clone(),
            key: lookup.key.iter().map(part).collect(),
            columns: lookup.columns.clone(),
            max_retries: lookup.max_retries,
        }
    }
}
