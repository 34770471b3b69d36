//! Pauses between the attempts at one statement.

use std::time::Duration;

/// Longest pause: a server that comes back is used within this time.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The pause before retry number `retry`, counted from 1: none, 1 s, 2 s, … (Flink: E.5, `1000 ms * attempt`).
#[must_use]
pub fn pause_before(retry: u32) -> Duration {
    Duration::from_secs(retry.saturating_sub(1).into()).min(PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_bound() {
        let pauses: Vec<u64> = (1..=4).map(|retry| pause_before(retry).as_secs()).collect();
        assert_eq!(pauses, [0, 1, 2, 3]);
        assert_eq!(pause_before(u32::MAX), PAUSE_MAX);
    }
}
