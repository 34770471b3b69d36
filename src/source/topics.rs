//! Which topics and partitions the source has, and where each is to end.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::error::{Error, Kind, Result, TablePart};
use crate::kafka::{self, Admin, GroupContext, Topic, explain};
use crate::model::TopicPartition;
use crate::plan::{Bounded, Topics};

/// A question about offsets may take this long; then it is asked again.
pub(super) const ASK: Duration = Duration::from_secs(5);

/// The topics that the definition names.
///
/// # Errors
/// A topic that is missing, a pattern that matches none, no answer (transient).
pub fn resolve(admin: &Admin, topics: &Topics) -> Result<Vec<Topic>> {
    match topics {
        Topics::List(names) => names.iter().map(|name| kafka::check_topic(admin, name)).collect(),
        Topics::Pattern(pattern) => {
            let regex = regex::Regex::new(&format!("^(?:{pattern})$"))
                .map_err(|error| Error::new(Kind::Definition, format!("topic-pattern: {error}")))?;
            let found = kafka::list_topics(admin, |name| regex.is_match(name))?;
            if found.is_empty() {
                let what =
                    format!("no topic matches the pattern {pattern}; create one, or correct the pattern");
                return Err(Error::external(what).about(TablePart::option("topic-pattern")));
            }
            Ok(found)
        }
    }
}

/// Every partition of the topics.
pub(super) fn partitions(topics: &[Topic]) -> Vec<TopicPartition> {
    let of = |topic: &Topic| {
        let name: std::sync::Arc<str> = topic.name.as_str().into();
        topic
            .partitions
            .clone()
            .into_iter()
            .map(move |partition| TopicPartition { topic: name.clone(), partition })
    };
    topics.iter().flat_map(of).collect()
}

/// A list for librdkafka.
pub(super) fn list<'a>(partitions: impl IntoIterator<Item = &'a TopicPartition>) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for partition in partitions {
        list.add_partition(&partition.topic, partition.partition);
    }
    list
}

/// Oldest offset and one past the newest offset that may be read.
pub(super) fn watermarks(
    consumer: &BaseConsumer<GroupContext>,
    partition: &TopicPartition,
) -> Result<(i64, i64)> {
    consumer
        .fetch_watermarks(&partition.topic, partition.partition, ASK)
        .map_err(|error| explain(&format!("asking for the offsets of {partition}"), &error))
}

/// The group's committed offsets; partitions without one are left out.
pub(super) fn committed(
    consumer: &BaseConsumer<GroupContext>,
    partitions: &[TopicPartition],
) -> Result<BTreeMap<TopicPartition, i64>> {
    if partitions.is_empty() {
        return Ok(BTreeMap::new());
    }
    let answer = consumer
        .committed_offsets(list(partitions), ASK)
        .map_err(|error| explain("asking for the committed offsets of the group", &error))?;
    offsets(&answer, "asking for the committed offset of")
}

/// First offsets at or after `timestamp`; partitions without one are left out.
pub(super) fn at_timestamp(
    consumer: &BaseConsumer<GroupContext>,
    partitions: &[TopicPartition],
    timestamp: i64,
) -> Result<BTreeMap<TopicPartition, i64>> {
    if partitions.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut query = TopicPartitionList::new();
    for partition in partitions {
        query
            .add_partition_offset(&partition.topic, partition.partition, Offset::Offset(timestamp))
            .map_err(|error| explain("asking for offsets by time", &error))?;
    }
    let answer = consumer
        .offsets_for_times(query, ASK)
        .map_err(|error| explain("asking for offsets by time", &error))?;
    offsets(&answer, "asking for an offset by time of")
}

fn offsets(answer: &TopicPartitionList, doing: &str) -> Result<BTreeMap<TopicPartition, i64>> {
    let mut found = BTreeMap::new();
    for element in answer.elements() {
        let name = TopicPartition { topic: element.topic().into(), partition: element.partition() };
        element.error().map_err(|error| explain(&format!("{doing} {name}"), &error))?;
        if let Offset::Offset(offset) = element.offset() {
            found.insert(name, offset);
        }
    }
    Ok(found)
}

/// Where each of `partitions` is to end, exclusive; nothing for an unbounded run.
///
/// # Errors
/// No committed offset where the bound is one; no answer (transient).
pub(super) fn stops(
    consumer: &BaseConsumer<GroupContext>,
    bounded: &Bounded,
    partitions: &[TopicPartition],
) -> Result<BTreeMap<TopicPartition, i64>> {
    let ends = || -> Result<BTreeMap<TopicPartition, i64>> {
        partitions.iter().map(|p| Ok((p.clone(), watermarks(consumer, p)?.1))).collect()
    };
    match bounded {
        Bounded::Unbounded => Ok(BTreeMap::new()),
        Bounded::Latest => ends(),
        Bounded::Timestamp(timestamp) => {
            // Flink: where no record is that late, the end at start is the bound.
            let mut stops = ends()?;
            stops.extend(at_timestamp(consumer, partitions, *timestamp)?);
            Ok(stops)
        }
        Bounded::GroupOffsets => {
            let stops = committed(consumer, partitions)?;
            match partitions.iter().find(|partition| !stops.contains_key(partition)) {
                None => Ok(stops),
                Some(partition) => Err(Error::external(format!(
                    "scan.bounded.mode is group-offsets, but the group has no committed offset for {partition}; commit one \
                     there, or choose another scan.bounded.mode"
                ))),
            }
        }
        Bounded::SpecificOffsets(offsets) => {
            let stop = |p: &TopicPartition| offsets.iter().find(|(number, _)| *number == p.partition);
            // Flink: partitions that are not listed are not read.
            Ok(partitions.iter().map(|p| (p.clone(), stop(p).map_or(0, |(_, offset)| *offset))).collect())
        }
    }
}
