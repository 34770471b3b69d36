//! What lookups send to the database, counted per lookup of the plan.

use std::sync::Mutex;

use crate::db::StatementReport;
use crate::telemetry::Histogram;

use super::board::lock;

/// Totals of one lookup.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatementCounts {
    /// Statements sent, retries included.
    pub statements: u64,
    /// Keys in them.
    pub keys: u64,
    /// Rows that came back.
    pub rows: u64,
    /// Statements that failed.
    pub errors: u64,
    /// Time of the statements.
    pub seconds: Histogram,
}

/// Totals of every lookup; one lock per statement, none per row.
#[derive(Debug)]
pub struct Statements(Vec<Mutex<StatementCounts>>);

impl Statements {
    pub(super) fn new(lookups: usize) -> Self {
        Self((0..lookups).map(|_| Mutex::default()).collect())
    }

    pub(super) fn observe(&self, lookup: usize, report: StatementReport) {
        let Some(counts) = self.0.get(lookup) else { return };
        let mut counts = lock(counts);
        counts.statements += 1;
        counts.keys += report.keys as u64;
        counts.rows += report.rows as u64;
        counts.errors += u64::from(report.failed);
        counts.seconds.observe(report.elapsed);
    }

    /// Totals now, by lookup.
    #[must_use]
    pub fn counts(&self) -> Vec<StatementCounts> {
        self.0.iter().map(|counts| lock(counts).clone()).collect()
    }
}
