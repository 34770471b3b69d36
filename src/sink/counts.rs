//! What a sink counts: per batch, statement or transaction, never per row.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::telemetry::Histogram;

/// Shared by the shards' writers and whoever watches them.
#[derive(Debug, Default)]
pub struct SinkCounts {
    waiting: AtomicU64,
    statements: AtomicU64,
    retries: AtomicU64,
    errors: AtomicU64,
    transactions: Mutex<Histogram>,
}

/// A sink's counts at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SinkTotals {
    /// Rows taken and not acknowledged.
    pub waiting: u64,
    /// Statements sent.
    pub statements: u64,
    /// Transactions tried again.
    pub retries: u64,
    /// Writes that were refused or failed.
    pub errors: u64,
    /// Time of each transaction.
    pub transactions: Histogram,
}

impl SinkCounts {
    /// So many rows more wait for the acknowledgement.
    pub(super) fn took(&self, rows: usize) {
        self.waiting.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// So many fewer.
    pub(super) fn acknowledged(&self, rows: usize) {
        self.waiting.fetch_sub(rows as u64, Ordering::Relaxed);
    }

    /// So many rows wait, where the client itself counts.
    pub(super) fn waits(&self, rows: u64) {
        self.waiting.store(rows, Ordering::Relaxed);
    }

    pub(super) fn statement(&self) {
        self.statements.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn transaction(&self, time: Duration) {
        self.transactions.lock().unwrap_or_else(PoisonError::into_inner).observe(time);
    }

    /// The counts now.
    #[must_use]
    pub fn totals(&self) -> SinkTotals {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SinkTotals {
            waiting: number(&self.waiting),
            statements: number(&self.statements),
            retries: number(&self.retries),
            errors: number(&self.errors),
            transactions: self.transactions.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
