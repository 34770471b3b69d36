//! Why a text is not a value of its column's type.

use crate::error::{Reason, RowFault};
use crate::model::Type;

/// A value that a column cannot take: cheap to make, since `ignore-parse-errors` throws most away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// From the closed list.
    pub reason: Reason,
    /// What is wrong, as the end of a sentence: "is not a number".
    pub what: &'static str,
}

/// Longest part of a bad value that a message repeats, in characters.
const SHOWN_MAX: usize = 60;

impl Misfit {
    /// The text is not of the type's form at all.
    pub(super) fn malformed(what: &'static str) -> Self {
        Self { reason: Reason::Malformed, what }
    }

    /// The text is a value, but not of this type's range.
    pub(super) fn out_of_range(what: &'static str) -> Self {
        Self { reason: Reason::ValueOutOfRange, what }
    }

    /// Flink would take the value and silently make it another.
    pub(super) fn lossy(what: &'static str) -> Self {
        Self { reason: Reason::LossyConversion, what }
    }

    /// The fault of a column: what was met, of which type it should be, what to do.
    pub(super) fn fault(self, column: &str, ty: &Type, met: &str) -> RowFault {
        let fault =
            RowFault::new(self.reason, format!("{} as {ty}: {}", shown(met), self.what)).in_column(column);
        match self.reason {
            Reason::LossyConversion => fault
                .remedy("correct the producer or the column's type, or set value.lossy-conversion: flink"),
            Reason::ValueOutOfRange => fault.remedy("correct the producer or widen the column's type"),
            _ => fault.remedy("correct the producer or the column's type"),
        }
    }
}

/// The value as a message shows it: in quotes, cut at [`SHOWN_MAX`].
pub(super) fn shown(met: &str) -> String {
    match met.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("`{}…`", &met[..end]),
        None => format!("`{met}`"),
    }
}
