//! What lookups send to the database, counted per lookup of the plan.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Requests that wait for their answer now.
    pub in_flight: u64,
}

/// Totals of every lookup; one lock per statement, none per row.
#[derive(Debug)]
pub struct Statements(Vec<Lookup>);

#[derive(Debug, Default)]
struct Lookup {
    counts: Mutex<StatementCounts>,
    in_flight: AtomicU64,
}

impl Statements {
    pub(super) fn new(lookups: usize) -> Self {
        Self((0..lookups).map(|_| Lookup::default()).collect())
    }

    pub(super) fn observe(&self, lookup: usize, report: StatementReport) {
        let Some(lookup) = self.0.get(lookup) else { return };
        let mut counts = lock(&lookup.counts);
        counts.statements += 1;
        counts.keys += report.keys as u64;
        counts.rows += report.rows as u64;
        counts.errors += u64::from(report.failed);
        counts.seconds.observe(report.elapsed);
    }

    /// A request of a shard leaves for the database.
    pub(super) fn asked(&self, lookup: usize) {
        if let Some(lookup) = self.0.get(lookup) {
            lookup.in_flight.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// It was answered, or has failed for good.
    pub(super) fn answered(&self, lookup: usize) {
        if let Some(lookup) = self.0.get(lookup) {
            lookup.in_flight.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Totals now, by lookup.
    #[must_use]
    pub fn counts(&self) -> Vec<StatementCounts> {
        let now = |lookup: &Lookup| StatementCounts {
            in_flight: lookup.in_flight.load(Ordering::Relaxed),
            ..lock(&lookup.counts).clone()
        };
        self.0.iter().map(now).collect()
    }
}
