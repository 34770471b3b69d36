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

    /// What was counted since `earlier`, which is a former state of the same histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut grown = self.clone();
        for (mine, theirs) in grown.counts.iter_mut().zip(earlier.counts) {
            *mine = mine.saturating_sub(theirs);
        }
        grown.count = self.count.saturating_sub(earlier.count);
        grown.sum = (self.sum - earlier.sum).max(0.0);
        grown
    }

    /// An estimate in seconds of the duration that the share `q` of all durations stays below; `None` if there
    /// are none. Within a bucket durations count as evenly spread; those beyond the last bound as the last bound.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let rank = q.clamp(0.0, 1.0) * self.count as f64;
        let (mut below, mut lower) = (0.0, 0.0);
        for (bound, count) in BOUNDS.iter().zip(self.counts) {
            let count = count as f64;
            if rank <= below + count && 0.0 < count {
                return Some(lower + (bound - lower) * (rank - below) / count);
            }
            below += count;
            lower = *bound;
        }
        Some(lower)
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
    fn quantiles_are_those_of_the_time_since() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        (0..50).for_each(|_| histogram.observe(Duration::from_secs(10)));
        let before = histogram.clone();
        (0..100).for_each(|_| histogram.observe(Duration::from_micros(700)));
        histogram.observe(Duration::from_secs(60));
        let grown = histogram.since(&before);
        assert_eq!(grown.count(), 101);
        let median = grown.quantile(0.5).unwrap();
        assert!((0.0004..=0.0008).contains(&median), "{median}");
        assert_eq!(grown.quantile(1.0), Some(26.2144), "beyond the last bound");
        assert!(histogram.quantile(0.9).unwrap() > 5.0);
    }

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
