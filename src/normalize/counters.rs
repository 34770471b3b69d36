//! What normalization counts.

/// Totals since the shard began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NormalizeCounters {
    /// `+I`.
    pub inserts: u64,
    /// `-U` and `+U`.
    pub updates: u64,
    /// `-D`.
    pub deletes: u64,
    /// Equal rows.
    pub equal: u64,
    /// Deletes of unknown keys.
    pub unknown_deletes: u64,
    /// Rows that fail the filter while nothing was stored for their key.
    pub filtered: u64,
    /// Rows whose key fails the key filter.
    pub key_filtered: u64,
    /// Records that a later one of the same bundle replaced.
    pub bundled: u64,
    /// Records that rebuilt state.
    pub rebuilt: u64,
}

impl NormalizeCounters {
    /// Changes by kind.
    #[must_use]
    pub fn changes(&self) -> [(&'static str, u64); 3] {
        [("insert", self.inserts), ("update", self.updates), ("delete", self.deletes)]
    }

    /// Rows that gave no change, by reason.
    #[must_use]
    pub fn suppressed(&self) -> [(&'static str, u64); 6] {
        [
            ("no_change", self.equal),
            ("unknown_delete", self.unknown_deletes),
            ("filtered", self.filtered),
            ("key_filtered", self.key_filtered),
            ("bundled", self.bundled),
            ("silent", self.rebuilt),
        ]
    }
}

impl std::ops::AddAssign for NormalizeCounters {
    fn add_assign(&mut self, other: Self) {
        self.inserts += other.inserts;
        self.updates += other.updates;
        self.deletes += other.deletes;
        self.equal += other.equal;
        self.unknown_deletes += other.unknown_deletes;
        self.filtered += other.filtered;
        self.key_filtered += other.key_filtered;
        self.bundled += other.bundled;
        self.rebuilt += other.rebuilt;
    }
}
