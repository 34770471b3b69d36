//! A histogram with fixed buckets, owned by one writer and merged by readers.

use std::time::Duration;

/// Upper bounds in seconds: from 100 µs, doubling, to about 26 s. A statement
/// faster than the first is a local one; one slower than the last has timed out.
const BOUNDS: [f64; 19] = [
    0.0001, 0.0002, 0.0004, 0.0008, 0.0016, 0.0032, 0.0064, 0.0128, 0.0256, 0.0512, 0.1024, 0.2048, 0.4096,
    0.8192, 1.6384, 3.2768, 6.5536, 13.1072, 26.2144,
];

/// Counts of durations by bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    /// Counts one duration.
    pub fn observe(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.counts[bucket] += 1;
        }
        self.count += 1;
        self.sum += seconds;
    }

    /// Adds what another histogram counted.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the durations in seconds.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Upper bound and cumulative count of each bucket.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        BOUNDS.iter().zip(self.counts).scan(0, |total, (bound, count)| {
            *total += count;
            Some((*bound, *total))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let mut histogram = Histogram::default();
        for millis in [0, 1, 100, 60_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        let counts: Vec<u64> = histogram.buckets().map(|(_, count)| count).collect();
        assert_eq!(counts[0], 1);
        assert_eq!(counts[4], 2, "1 ms is within 1.6 ms");
        assert_eq!(counts[18], 3, "a minute is beyond the last bound");
        assert_eq!(histogram.count(), 4);
    }
}
