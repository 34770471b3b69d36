//! Kinds of change that travel between two operators, in Flink's short names.

use std::fmt;

/// A set of row kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangelogMode {
    insert: bool,
    update_before: bool,
    update_after: bool,
    delete: bool,
}

impl ChangelogMode {
    /// `+I`.
    pub const APPEND: Self = Self { insert: true, update_before: false, update_after: false, delete: false };
    /// `+U -D`: what a topic that is read by key holds.
    pub const UPSERT_SOURCE: Self =
        Self { insert: false, update_before: false, update_after: true, delete: true };
    /// `+I +U -D`.
    pub const UPSERT: Self = Self { insert: true, ..Self::UPSERT_SOURCE };
    /// `+I -U +U -D`.
    pub const RETRACT: Self = Self { update_before: true, ..Self::UPSERT };

    /// The kinds as cases and printed rows write them.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        self.chosen(["+I", "-U", "+U", "-D"])
    }

    fn chosen(self, names: [&'static str; 4]) -> Vec<&'static str> {
        let kinds = [self.insert, self.update_before, self.update_after, self.delete];
        names.into_iter().zip(kinds).filter(|(_, there)| *there).map(|(name, _)| name).collect()
    }
}

impl fmt::Display for ChangelogMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.chosen(["I", "UB", "UA", "D"]).join(","))
    }
}
