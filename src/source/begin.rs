//! Where a partition begins: pure decisions from what the group has committed and what the log holds.

use crate::error::{Error, Result};
use crate::plan::{SourceKind, Startup};

/// What is known about a partition when it is assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Committed offset of the group.
    pub committed: Option<i64>,
    /// Oldest offset of the log.
    pub low: i64,
    /// One past the newest offset that may be read.
    pub high: i64,
    /// First offset at or after the startup timestamp, if the mode needs it.
    pub at_timestamp: Option<i64>,
    /// The partition appeared after the job had begun.
    pub is_new: bool,
}

/// Where reading begins, and below which offset records are silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begin {
    pub start: i64,
    pub silent_below: i64,
    /// Below, and not silent: a key that state does not know may have been sent. Records of it that were processed
    /// before the last stop may be gone, compacted away by what came meanwhile. Nothing for a job that begins.
    pub doubt_below: Option<i64>,
    /// The committed offset, unless it is no offset of this log.
    pub committed: Option<i64>,
}

/// Decides for one partition; `name` is for messages.
///
/// # Errors
/// An append-only source without committed offset and without `auto.offset.reset`.
pub(super) fn begin(
    kind: SourceKind,
    startup: &Startup,
    partition: i32,
    known: Known,
    name: &str,
) -> Result<Begin> {
    let committed = known.committed.filter(|&offset| belongs(offset, known, name));
    if kind == SourceKind::UpsertKafka {
        warn_of_lost(committed.unwrap_or(known.low), known.low, name);
        return Ok(Begin {
            start: known.low,
            silent_below: committed.unwrap_or(0),
            doubt_below: committed.map(|_| known.high),
            committed,
        });
    }
    let start = match (committed, known.committed) {
        (Some(offset), _) => offset,
        // Made anew since: the mode is for a job that begins, and this one goes on.
        (None, Some(_)) => known.low,
        (None, None) => first_start(startup, partition, known, name)?,
    };
    warn_of_lost(start, known.low, name);
    Ok(Begin { start: start.max(known.low), silent_below: 0, doubt_below: None, committed })
}

/// Records from `next` on were not read yet, and the log begins at `low`.
fn warn_of_lost(next: i64, low: i64, name: &str) {
    if next < low {
        tracing::warn!(
            partition = name,
            lost = low - next,
            help = super::RETENTION_HELP,
            "records were deleted from the topic before they were read"
        );
    }
}

/// A committed offset beyond the end: the topic was made anew, nothing in it was processed.
fn belongs(committed: i64, known: Known, name: &str) -> bool {
    if known.high < committed {
        tracing::warn!(
            partition = name,
            committed,
            end = known.high,
            "the committed offset is beyond the end of the partition: the topic was made anew; reading all of it"
        );
    }
    committed <= known.high
}

/// Flink's `scan.startup.mode` for a job that begins; partitions that appear later are read from
/// their beginning whatever the mode (Flink C.5).
fn first_start(startup: &Startup, partition: i32, known: Known, name: &str) -> Result<i64> {
    Ok(match startup {
        _ if known.is_new => known.low,
        Startup::Earliest | Startup::GroupOffsets { reset_to_earliest: Some(true) } => known.low,
        Startup::Latest | Startup::GroupOffsets { reset_to_earliest: Some(false) } => known.high,
        Startup::GroupOffsets { reset_to_earliest: None } => {
            return Err(Error::external(format!(
                "{name}: the group has no committed offset; set properties.auto.offset.reset to earliest or \
                 latest, or choose another scan.startup.mode"
            )));
        }
        Startup::Timestamp(_) => known.at_timestamp.unwrap_or(known.high),
        Startup::SpecificOffsets(offsets) => {
            let given = offsets.iter().find(|(number, _)| *number == partition);
            given.map_or(known.low, |(_, offset)| *offset)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Known = Known { committed: None, low: 10, high: 50, at_timestamp: Some(30), is_new: false };

    fn append(startup: &Startup, known: Known) -> Result<i64> {
        begin(SourceKind::Kafka, startup, 0, known, "t[0]").map(|begin| begin.start)
    }

    #[test]
    fn an_upsert_source_is_always_read_from_the_beginning() {
        let known = Known { committed: Some(40), ..KNOWN };
        let got = begin(SourceKind::UpsertKafka, &Startup::Latest, 0, known, "t[0]").unwrap();
        assert_eq!(got, Begin { start: 10, silent_below: 40, doubt_below: Some(50), committed: Some(40) });
    }

    #[test]
    fn a_job_that_begins_has_no_doubts() {
        let got = begin(SourceKind::UpsertKafka, &Startup::Latest, 0, KNOWN, "t[0]").unwrap();
        assert_eq!(got, Begin { start: 10, silent_below: 0, doubt_below: None, committed: None });
    }

    #[test]
    fn a_topic_made_anew_is_not_silent() {
        let known = Known { committed: Some(51), ..KNOWN };
        let got = begin(SourceKind::UpsertKafka, &Startup::Latest, 0, known, "t[0]").unwrap();
        assert_eq!(got, Begin { start: 10, silent_below: 0, doubt_below: None, committed: None });
    }

    /// A job that goes on skips nothing, whatever the mode says about its first start.
    #[test]
    fn an_append_only_topic_made_anew_is_read_from_its_beginning() {
        let known = Known { committed: Some(51), ..KNOWN };
        for startup in [
            Startup::Latest,
            Startup::Timestamp(1),
            Startup::GroupOffsets { reset_to_earliest: Some(false) },
            Startup::GroupOffsets { reset_to_earliest: None },
        ] {
            let got = begin(SourceKind::Kafka, &startup, 0, known, "t[0]").unwrap();
            assert_eq!(got, Begin { start: 10, silent_below: 0, doubt_below: None, committed: None });
        }
    }

    #[test]
    fn each_mode_begins_where_flink_begins() {
        let reset = |reset_to_earliest| Startup::GroupOffsets { reset_to_earliest };
        assert_eq!(append(&Startup::Earliest, KNOWN).unwrap(), 10);
        assert_eq!(append(&Startup::Latest, KNOWN).unwrap(), 50);
        assert_eq!(append(&Startup::Timestamp(1), KNOWN).unwrap(), 30);
        assert_eq!(append(&Startup::SpecificOffsets(vec![(0, 42)]), KNOWN).unwrap(), 42);
        assert_eq!(append(&Startup::SpecificOffsets(vec![(1, 42)]), KNOWN).unwrap(), 10);
        assert_eq!(append(&reset(Some(true)), KNOWN).unwrap(), 10);
        assert_eq!(append(&reset(Some(false)), KNOWN).unwrap(), 50);
        assert!(append(&reset(None), KNOWN).is_err());
    }

    #[test]
    fn committed_offsets_go_before_the_mode_and_new_partitions_begin_at_their_beginning() {
        assert_eq!(append(&Startup::Latest, Known { committed: Some(20), ..KNOWN }).unwrap(), 20);
        assert_eq!(append(&Startup::Latest, Known { committed: Some(2), ..KNOWN }).unwrap(), 10);
        assert_eq!(append(&Startup::Latest, Known { is_new: true, ..KNOWN }).unwrap(), 10);
    }
}
