//! A point in time with nanoseconds, local or absolute by its type.

/// Milliseconds since 1970-01-01 00:00:00 and nanoseconds within the millisecond.
///
/// For `TIMESTAMP` the millisecond counts local time, for `TIMESTAMP_LTZ` UTC.
/// Flink: `TimestampData`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// Milliseconds since the epoch, floored.
    pub millis: i64,
    /// 0 ..= 999_999.
    pub nanos: u32,
}

/// Digits kept by precision 3 to 9 of the nanoseconds within a millisecond.
const KEEP: [u32; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

impl Timestamp {
    /// A point with no part below the millisecond.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self { millis, nanos: 0 }
    }

    /// The same point cut to `precision` fraction digits (never rounded).
    #[must_use]
    pub fn truncate(self, precision: u8) -> Self {
        if precision >= 3 {
            let unit = KEEP[usize::from(precision.min(9) - 3)];
            return Self { millis: self.millis, nanos: self.nanos / unit * unit };
        }
        let unit = 10_i64.pow(u32::from(3 - precision));
        Self { millis: self.millis.saturating_sub(self.millis.rem_euclid(unit)), nanos: 0 }
    }

    /// Nanoseconds within the second, 0 ..= 999_999_999.
    #[must_use]
    pub fn nano_of_second(self) -> u32 {
        let millis = u32::try_from(self.millis.rem_euclid(1000)).unwrap_or(0);
        millis * 1_000_000 + self.nanos
    }

    /// Whole seconds since the epoch, floored.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.millis.div_euclid(1000)
    }
}
