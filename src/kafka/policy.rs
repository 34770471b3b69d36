//! What the cluster keeps of a topic, and what a group has committed: asked once, for `lookaside check`.

use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::error::{Error, Result};
use crate::plan::KafkaClient;

use super::settings::questions;
use super::{ClientErrors, GroupContext, Topic, explain};

/// `cleanup.policy` of a topic; `None` where the cluster does not say.
///
/// # Errors
/// Missing rights, no answer.
pub async fn cleanup_policy(client: &KafkaClient, topic: &str, limit: Duration) -> Result<Option<String>> {
    let doing = format!("asking for the settings of topic {topic}");
    let wrong = |error: &KafkaError| explain(&doing, error);
    let admin: AdminClient<DefaultClientContext> =
        questions(client).create().map_err(|error| wrong(&error))?;
    let options = AdminOptions::new().request_timeout(Some(limit));
    let answer = admin.describe_configs([&ResourceSpecifier::Topic(topic)], &options).await;
    let answers = answer.map_err(|error| wrong(&error))?;
    let Some(answer) = answers.into_iter().next() else { return Ok(None) };
    let settings = answer.map_err(|code| wrong(&KafkaError::AdminOp(code)))?;
    let policy = settings.entry_map().get("cleanup.policy").and_then(|entry| entry.value.clone());
    Ok(policy)
}

/// How many partitions of the topics the group has committed an offset for. Joins nothing.
///
/// # Errors
/// The user has no rights on the group; no answer (transient).
pub fn committed_partitions(
    client: &KafkaClient,
    group: &str,
    topics: &[Topic],
    limit: Duration,
) -> Result<usize> {
    let doing = format!("asking for the committed offsets of group {group}");
    let wrong = |error: &KafkaError| -> Error { explain(&doing, error) };
    let errors = ClientErrors::new(&doing, crate::clock::Clock::system());
    let consumer: BaseConsumer<GroupContext> = super::consumer(client, group, None)
        .create_with_context(GroupContext::new(errors))
        .map_err(|error| wrong(&error))?;
    consumer.context().close();
    let mut partitions = TopicPartitionList::new();
    for topic in topics {
        topic.partitions.iter().for_each(|&partition| {
            partitions.add_partition(&topic.name, partition);
        });
    }
    let answer = consumer.committed_offsets(partitions, limit).map_err(|error| wrong(&error))?;
    let mut committed = 0;
    for element in answer.elements() {
        element.error().map_err(|error| wrong(&error))?;
        committed += usize::from(matches!(element.offset(), Offset::Offset(_)));
    }
    Ok(committed)
}
