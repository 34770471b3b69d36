//! The four kinds of a changelog row.

use std::fmt;

/// What a changelog row says about its key. Flink: `RowKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowKind {
    /// `+I`: the key was not there.
    Insert,
    /// `-U`: the row that an update replaces.
    UpdateBefore,
    /// `+U`: the row that an update puts in its place.
    UpdateAfter,
    /// `-D`: the key is gone.
    Delete,
}

impl RowKind {
    /// All kinds, in Flink's byte order.
    pub const ALL: [Self; 4] = [Self::Insert, Self::UpdateBefore, Self::UpdateAfter, Self::Delete];

    /// `+I`, `-U`, `+U` or `-D`.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Insert => "+I",
            Self::UpdateBefore => "-U",
            Self::UpdateAfter => "+U",
            Self::Delete => "-D",
        }
    }

    /// The kind with this symbol.
    #[must_use]
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.symbol() == symbol)
    }

    /// Whether the row is there after the change (`+I`, `+U`).
    #[must_use]
    pub fn is_addition(self) -> bool {
        matches!(self, Self::Insert | Self::UpdateAfter)
    }
}

impl fmt::Display for RowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}
