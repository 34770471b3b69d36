//! Where one partition stands: pure bookkeeping of positions, silence, restore and end.

/// Progress of a rebuild, in offsets: an upper bound of records, since compacted topics have gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restore {
    /// Offsets read so far.
    pub done: i64,
    /// Offsets to read in all.
    pub total: i64,
}

/// What to do with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Take {
    /// Hand it over; silent ones rebuild state, and of those in doubt the key may have been sent unknown to it.
    Row { silent: bool, doubt: bool },
    /// Seen before, or at or after the stop offset.
    Ignore,
    /// The consumer is not where we are: read again from our position.
    Rewind,
    /// It was sent back again and again to no avail: our position may be gone from the log.
    Astray,
}

/// Up to where records are in doubt: a record that was processed before the last stop may be compacted away by a
/// later one of its key, as long as it has not been read again. So the end of the log counts as it is when all that
/// was there at the assignment has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// The end at the assignment, not reached yet.
    AtAssignment(i64),
    /// It is passed: up to where the log ends now.
    AsksForEnd,
    /// Up to here.
    Below(i64),
}

/// One assigned partition.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    /// Where reading began.
    start: i64,
    /// Next offset to hand over.
    next: i64,
    /// Records below are silent.
    silent_below: i64,
    doubt: Doubt,
    /// Where to end, exclusive.
    stop: Option<i64>,
    restoring: bool,
    ended: bool,
    /// An event that is no record came at `next`; librdkafka may have counted it as one.
    suspect: bool,
    /// Times that the consumer was sent back since the last record.
    rewinds: u32,
}

/// After so many rewinds without a record the log itself is looked at.
const REWINDS_MAX: u32 = 5;

impl Progress {
    /// Reading begins at `start`; records below `silent_below` are silent.
    pub(super) fn new(start: i64, silent_below: i64, stop: Option<i64>) -> Self {
        let mut progress = Self {
            start,
            next: start,
            silent_below,
            doubt: Doubt::Below(0),
            stop,
            restoring: start < silent_below,
            ended: false,
            suspect: false,
            rewinds: 0,
        };
        progress.ended = stop.is_some_and(|stop| stop <= start);
        progress
    }

    /// The job goes on, and the log ends at `end` now: records that are not silent are in doubt until then, and a
    /// little longer.
    pub(super) fn in_doubt_below(&mut self, end: i64) {
        self.doubt = Doubt::AtAssignment(end);
    }

    /// Whether it matters where the log ends now.
    pub(super) fn asks_for_end(&self) -> bool {
        match self.doubt {
            Doubt::AtAssignment(end) => end <= self.next,
            Doubt::AsksForEnd => true,
            Doubt::Below(_) => false,
        }
    }

    /// The log ends at `end` now.
    pub(super) fn log_ends(&mut self, end: i64) {
        self.doubt = Doubt::Below(end);
    }

    fn in_doubt(&mut self, offset: i64) -> bool {
        if matches!(self.doubt, Doubt::AtAssignment(end) if end <= offset) {
            self.doubt = Doubt::AsksForEnd;
        }
        !matches!(self.doubt, Doubt::Below(end) if end <= offset)
    }

    pub(super) fn record(&mut self, offset: i64) -> Take {
        if self.ended {
            return Take::Ignore;
        }
        if offset < self.next || (self.suspect && self.next < offset) {
            self.suspect = false;
            self.rewinds += 1;
            return if REWINDS_MAX < self.rewinds { Take::Astray } else { Take::Rewind };
        }
        self.suspect = false;
        self.rewinds = 0;
        if let Some(stop) = self.stop.filter(|stop| *stop <= offset) {
            self.reach(stop);
            return Take::Ignore;
        }
        self.reach(offset + 1);
        let silent = offset < self.silent_below;
        Take::Row { silent, doubt: !silent && self.in_doubt(offset) }
    }

    /// The end of the log is at `offset`: there is no record between our position and it.
    pub(super) fn end_of_partition(&mut self, offset: i64) {
        self.suspect = true;
        self.restoring = false;
        self.reach(self.stop.map_or(offset, |stop| stop.min(offset)));
    }

    /// Something else that is no record came.
    pub(super) fn disturbed(&mut self) {
        self.suspect = true;
    }

    /// The log was looked at, and begins at `low`.
    pub(super) fn log_begins(&mut self, low: i64) {
        self.suspect = false;
        self.rewinds = 0;
        self.reach(low);
    }

    fn reach(&mut self, next: i64) {
        self.next = self.next.max(next);
        self.ended = self.stop.is_some_and(|stop| stop <= self.next);
        self.restoring = self.restoring && !self.ended && self.next < self.silent_below;
    }

    pub(super) fn next(&self) -> i64 {
        self.next
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn restore(&self) -> Option<Restore> {
        let total = self.silent_below - self.start;
        self.restoring.then_some(Restore { done: self.next - self.start, total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Take = Take::Row { silent: false, doubt: false };
    const SILENT: Take = Take::Row { silent: true, doubt: false };
    const DOUBT: Take = Take::Row { silent: false, doubt: true };

    #[test]
    fn records_below_the_committed_offset_are_silent() {
        let mut p = Progress::new(0, 2, None);
        assert_eq!(p.restore(), Some(Restore { done: 0, total: 2 }));
        assert_eq!(p.record(0), SILENT);
        assert_eq!(p.restore(), Some(Restore { done: 1, total: 2 }));
        assert_eq!(p.record(1), SILENT);
        assert_eq!(p.restore(), None);
        assert_eq!(p.record(2), ROW);
    }

    #[test]
    fn records_are_in_doubt_up_to_where_the_log_ended_when_they_were_read() {
        let mut p = Progress::new(0, 2, None);
        p.in_doubt_below(4);
        assert_eq!([p.record(1), p.record(2)], [SILENT, DOUBT]);
        assert!(!p.asks_for_end());
        assert_eq!([p.record(3), p.record(4)], [DOUBT, DOUBT]);
        assert!(p.asks_for_end());
        p.log_ends(6);
        assert_eq!([p.record(5), p.record(6)], [DOUBT, ROW]);
        assert!(!p.asks_for_end());
        let mut idle = Progress::new(0, 0, None);
        idle.in_doubt_below(1);
        idle.record(0);
        assert!(idle.asks_for_end(), "what comes later is not in doubt");
    }

    #[test]
    fn gaps_do_not_stop_a_restore() {
        let mut compacted = Progress::new(0, 5, None);
        assert_eq!(compacted.record(1), SILENT);
        assert_eq!(compacted.record(7), ROW);
        assert_eq!(compacted.restore(), None);
        let mut marker_at_the_end = Progress::new(0, 5, None);
        assert_eq!(marker_at_the_end.record(3), SILENT);
        marker_at_the_end.end_of_partition(5);
        assert_eq!((marker_at_the_end.restore(), marker_at_the_end.next()), (None, 5));
        let mut emptied = Progress::new(0, 5, None);
        emptied.end_of_partition(5);
        assert_eq!(emptied.restore(), None);
    }

    #[test]
    fn nothing_is_handed_over_twice() {
        let mut p = Progress::new(0, 0, None);
        assert_eq!([0, 1, 0, 2].map(|offset| p.record(offset)), [ROW, ROW, Take::Rewind, ROW]);
    }

    /// A position that the log no longer has sends the consumer to the beginning, time and again.
    #[test]
    fn a_consumer_that_stays_astray_is_noticed() {
        let mut p = Progress::new(7, 0, None);
        let takes: Vec<_> = (0..6).map(|_| p.record(0)).collect();
        assert_eq!(takes[..5], [Take::Rewind; 5]);
        assert_eq!(takes[5], Take::Astray);
        p.log_begins(0);
        assert_eq!((p.next(), p.record(7)), (7, ROW));
    }

    /// librdkafka's position moves past the end-of-partition event as if it were a record.
    #[test]
    fn a_record_skipped_after_an_event_is_fetched_again() {
        let mut p = Progress::new(0, 0, None);
        p.record(0);
        p.end_of_partition(1);
        assert_eq!(p.record(2), Take::Rewind);
        assert_eq!(p.next(), 1);
        assert_eq!(p.record(1), ROW);
        assert_eq!(p.record(2), ROW);
    }

    #[test]
    fn a_real_gap_after_an_event_is_taken_the_second_time() {
        let mut p = Progress::new(0, 0, None);
        p.record(0);
        p.disturbed();
        assert_eq!(p.record(2), Take::Rewind);
        assert_eq!(p.record(2), ROW);
    }

    #[test]
    fn stop_offsets_are_exclusive_and_reached_through_gaps() {
        let mut p = Progress::new(0, 0, Some(2));
        assert_eq!([p.record(0), p.record(1)], [ROW, ROW]);
        assert!(p.is_ended());
        assert_eq!(p.record(2), Take::Ignore);
        let mut gap = Progress::new(0, 0, Some(2));
        assert_eq!(gap.record(0), ROW);
        assert!(!gap.is_ended());
        assert_eq!(gap.record(4), Take::Ignore);
        assert_eq!((gap.is_ended(), gap.next()), (true, 2));
        let mut end = Progress::new(0, 0, Some(2));
        end.end_of_partition(1);
        assert!(!end.is_ended());
        end.end_of_partition(3);
        assert_eq!((end.is_ended(), end.next()), (true, 2));
        assert!(Progress::new(5, 0, Some(5)).is_ended());
    }
}
