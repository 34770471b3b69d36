//! Readings of the last minutes, from which rates and charts are made.
//!
//! A reading comes every second. Rates are those of the last few seconds: a
//! shard puts its counters up twice a second, so a shorter time would show
//! that beat and not the stream. Charts have a point every few readings.

use std::collections::VecDeque;

use super::reading::{LookupReading, Reading};

/// Readings behind a rate, the newest included: five seconds.
const RECENT: usize = 6;

/// Readings between two points of a chart.
pub(super) const STRIDE: u64 = 5;

/// Points of a chart: ten minutes.
const POINTS: usize = 120;

/// Points behind what is said of the last minute.
const MINUTE: usize = 12;

/// The readings. Bounded: a few hundred bytes per lookup and shard for each point.
#[derive(Debug, Default)]
pub(super) struct History {
    recent: VecDeque<Reading>,
    points: VecDeque<Reading>,
    /// Records by key group at each of the last minute's points.
    groups: VecDeque<Vec<u64>>,
    count: u64,
}

/// A reading and an earlier one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<'a> {
    pub from: &'a Reading,
    pub to: &'a Reading,
}

impl History {
    /// Adds a reading; `groups` is asked for when it is a point.
    pub(super) fn add(&mut self, reading: Reading, groups: impl FnOnce() -> Vec<u64>) {
        if self.count.is_multiple_of(STRIDE) {
            push(&mut self.points, reading.clone(), POINTS + 1);
            push(&mut self.groups, groups(), MINUTE + 1);
        }
        self.count += 1;
        push(&mut self.recent, reading, RECENT);
    }

    /// Records of the busiest shard over the mean, in the last minute; 0 without load.
    pub(super) fn shard_skew(&self) -> f64 {
        self.minute().map_or(0.0, |span| {
            let pairs = span.to.shards.iter().zip(&span.from.shards);
            skew(pairs.map(|(to, from)| to.records.saturating_sub(from.records)))
        })
    }

    /// Records of the busiest key group over the mean, in the last minute; 0 without load.
    pub(super) fn group_skew(&self) -> f64 {
        skew(self.group_load().into_iter())
    }

    /// The last seconds; `None` before there are two readings.
    pub(super) fn recent(&self) -> Option<Span<'_>> {
        Span::new(self.recent.front()?, self.recent.back()?)
    }

    /// The last minute, or what there is of it.
    pub(super) fn minute(&self) -> Option<Span<'_>> {
        let from = self.points.len().saturating_sub(MINUTE);
        Span::new(self.points.get(from)?, self.recent.back()?)
    }

    /// The spans between the points of a chart, oldest first.
    pub(super) fn spans(&self) -> impl Iterator<Item = Span<'_>> {
        self.points.iter().zip(self.points.iter().skip(1)).filter_map(|(from, to)| Span::new(from, to))
    }

    /// Records of the last minute by key group; empty before there are any.
    pub(super) fn group_load(&self) -> Vec<u64> {
        let (Some(from), Some(to)) = (self.groups.front(), self.groups.back()) else { return Vec::new() };
        to.iter().zip(from).map(|(to, from)| to.saturating_sub(*from)).collect()
    }
}

fn push<T>(list: &mut VecDeque<T>, item: T, max: usize) {
    list.push_back(item);
    if max < list.len() {
        list.pop_front();
    }
}

impl<'a> Span<'a> {
    /// `None` if no time lies between the two.
    fn new(from: &'a Reading, to: &'a Reading) -> Option<Self> {
        (from.at < to.at).then_some(Self { from, to })
    }

    fn seconds(self) -> f64 {
        (self.to.at - self.from.at) as f64 / 1000.0
    }

    /// Growth of a total per second.
    pub(super) fn rate(self, total: impl Fn(&Reading) -> u64) -> f64 {
        total(self.to).saturating_sub(total(self.from)) as f64 / self.seconds()
    }

    /// Part of the time that a total of durations has grown by, from 0 to 1.
    pub(super) fn share(self, total: impl Fn(&Reading) -> std::time::Duration) -> f64 {
        let grown = total(self.to).saturating_sub(total(self.from)).as_secs_f64();
        (grown / self.seconds()).clamp(0.0, 1.0)
    }

    /// Cores in use.
    pub(super) fn cores(self) -> Option<f64> {
        Some((self.to.cpu? - self.from.cpu?).max(0.0) / self.seconds())
    }

    /// Rows answered by the cache out of those that asked; `None` if none asked.
    pub(super) fn hit_rate(self, lookup: usize) -> Option<f64> {
        let (from, to) = (self.from.lookups.get(lookup)?, self.to.lookups.get(lookup)?);
        let grown = |count: fn(&LookupReading) -> u64| count(to).saturating_sub(count(from)) as f64;
        let asked = grown(LookupReading::asked);
        (0.0 < asked).then(|| grown(|lookup| lookup.hits) / asked)
    }

    /// Keys per statement; `None` without statements.
    pub(super) fn keys_per_statement(self, lookup: usize) -> Option<f64> {
        let (from, to) = (self.from.lookups.get(lookup)?, self.to.lookups.get(lookup)?);
        let statements = to.statements.saturating_sub(from.statements);
        (statements != 0).then(|| to.keys.saturating_sub(from.keys) as f64 / statements as f64)
    }

    /// Seconds that the share `q` of the statements stayed below.
    pub(super) fn latency(self, lookup: usize, q: f64) -> Option<f64> {
        let (from, to) = (self.from.lookups.get(lookup)?, self.to.lookups.get(lookup)?);
        to.seconds.since(&from.seconds).quantile(q)
    }
}

/// The busiest over the mean: 1 is even, 0 for no load.
fn skew(load: impl ExactSizeIterator<Item = u64>) -> f64 {
    let count = load.len();
    let (sum, busiest) = load.fold((0_u64, 0), |(sum, most), load| (sum + load, most.max(load)));
    if sum == 0 { 0.0 } else { busiest as f64 * count as f64 / sum as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(second: i64, rows_in: u64, hits: u64, misses: u64) -> Reading {
        let lookups = vec![LookupReading { hits, misses, ..LookupReading::default() }];
        Reading { at: second * 1000, rows_in, lookups, ..Reading::default() }
    }

    #[test]
    fn a_rate_is_that_of_the_last_five_seconds() {
        let mut history = History::default();
        assert!(history.recent().is_none());
        for second in 0..100 {
            // 10 rows a second, from the 90th second on 100.
            let rows = second * 10 + (second.max(90) - 90) * 90;
            history.add(reading(second as i64, rows, second, second), Vec::new);
        }
        let recent = history.recent().unwrap();
        assert!((recent.rate(|reading| reading.rows_in) - 100.0).abs() < 1e-9);
        assert_eq!(recent.hit_rate(0), Some(0.5));
        assert_eq!(recent.hit_rate(1), None, "no such lookup");
        let minute = history.minute().unwrap();
        assert_eq!((minute.from.at, minute.to.at), (40_000, 99_000));
    }

    #[test]
    fn charts_and_memory_are_bounded() {
        let mut history = History::default();
        for second in 0..5_000 {
            history.add(reading(second, 0, 0, 0), || vec![second as u64, 3]);
        }
        assert_eq!(history.spans().count(), POINTS);
        assert!(history.spans().all(|span| span.hit_rate(0).is_none()), "nobody asked");
        assert_eq!(history.group_load(), [60, 0]);
        assert_eq!((history.recent.len(), history.groups.len()), (RECENT, MINUTE + 1));
    }

    #[test]
    fn a_total_that_begins_anew_is_no_negative_rate() {
        let mut history = History::default();
        history.add(reading(0, 100, 50, 50), Vec::new);
        history.add(reading(1, 10, 5, 5), Vec::new);
        assert_eq!(history.recent().unwrap().rate(|reading| reading.rows_in), 0.0);
    }

    #[test]
    fn skew_is_the_busiest_over_the_mean() {
        assert_eq!(skew([10, 10].into_iter()), 1.0);
        assert_eq!(skew([30, 0, 0].into_iter()), 3.0);
        assert_eq!(skew([0, 0].into_iter()), 0.0);
        assert_eq!(skew(std::iter::empty::<u64>()), 0.0);
    }
}
