//! Load of the busiest shard over the mean, in the last minute or so.
//!
//! Shards only count; how much each did lately is the difference of two looks.
//! Looks are taken when someone scrapes, so the window is as long as the time
//! between scrapes, and a minute or a little more where they are frequent.

use std::collections::VecDeque;

use crate::clock::Millis;

/// How far back the window reaches.
const WINDOW: Millis = 60_000;

/// Looks are no closer than this, so that many scrapers do not fill the list: 13 at most.
const APART: Millis = 5_000;

/// What each shard had counted at some moments.
#[derive(Debug, Default)]
pub(super) struct SkewWindow {
    looks: VecDeque<(Millis, Vec<u64>)>,
}

impl SkewWindow {
    /// The ratio since the oldest look of the window; 1 when nothing was done.
    pub(super) fn ratio(&mut self, records: &[u64], now: Millis) -> f64 {
        // The oldest look that stays is the newest one outside the window.
        while self.looks.get(1).is_some_and(|(at, _)| *at <= now - WINDOW) {
            self.looks.pop_front();
        }
        let zero = vec![0; records.len()];
        let before = self.looks.front().map_or(&zero, |(_, before)| before);
        let done: Vec<u64> =
            records.iter().zip(before).map(|(now, before)| now.saturating_sub(*before)).collect();
        if self.looks.back().is_none_or(|(at, _)| APART <= now - at) {
            self.looks.push_back((now, records.to_vec()));
        }
        over_mean(&done)
    }
}

/// The largest over the mean; 1 for nothing at all.
fn over_mean(loads: &[u64]) -> f64 {
    let (sum, most) = (loads.iter().sum::<u64>(), loads.iter().copied().max().unwrap_or(0));
    if sum == 0 { 1.0 } else { most as f64 * loads.len() as f64 / sum as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_over_the_mean() {
        assert!((over_mean(&[3, 1, 1, 1]) - 2.0).abs() < 1e-9);
        assert!((over_mean(&[0, 0]) - 1.0).abs() < 1e-9);
        assert!((over_mean(&[]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_was_long_ago_does_not_count() {
        let mut window = SkewWindow::default();
        assert!((window.ratio(&[100, 0], 0) - 2.0).abs() < 1e-9, "since the start");
        assert!((window.ratio(&[100, 100], 30_000) - 2.0).abs() < 1e-9, "shard 1 alone since 0");
        assert!((window.ratio(&[200, 200], 90_000) - 1.0).abs() < 1e-9, "both since 30 s");
        assert!((window.ratio(&[200, 200], 151_000) - 1.0).abs() < 1e-9, "nobody since 90 s");
    }

    #[test]
    fn frequent_scrapes_do_not_shorten_the_window_or_fill_the_list() {
        let mut window = SkewWindow::default();
        window.ratio(&[0, 0], 0);
        for second in 1..=600 {
            window.ratio(&[second * 10, second * 30], i64::try_from(second).unwrap() * 1_000);
        }
        assert!(window.looks.len() <= 14, "{}", window.looks.len());
        assert!((window.ratio(&[6_010, 18_030], 601_000) - 1.5).abs() < 0.01);
    }
}
