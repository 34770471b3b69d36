//! How long the units of time are, and which kind of value has them.

use super::TimeUnit;

/// Milliseconds of units that always last the same.
const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

impl TimeUnit {
    /// Milliseconds of a unit that always lasts the same, from MILLISECOND to WEEK.
    pub(crate) fn fixed_millis(self) -> Option<i64> {
        match self {
            Self::Week => Some(7 * DAY),
            Self::Day => Some(DAY),
            Self::Hour => Some(HOUR),
            Self::Minute => Some(MINUTE),
            Self::Second => Some(SECOND),
            Self::Millisecond => Some(1),
            _ => None,
        }
    }

    /// Months of a unit that is counted in months.
    pub(crate) fn months(self) -> Option<i64> {
        match self {
            Self::Month => Some(1),
            Self::Quarter => Some(3),
            Self::Year => Some(12),
            Self::Decade => Some(120),
            Self::Century => Some(1200),
            Self::Millennium => Some(12_000),
            _ => None,
        }
    }

    /// Whether a TIME has this field.
    pub(crate) fn is_of_clock(self) -> bool {
        matches!(
            self,
            Self::Hour
                | Self::Minute
                | Self::Second
                | Self::Millisecond
                | Self::Microsecond
                | Self::Nanosecond
        )
    }
}
