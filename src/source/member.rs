//! One member of the consumer group: joining, answering rebalances, committing, leaving.

use std::time::Duration;

use rdkafka::consumer::{Consumer, RebalanceProtocol};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::clock::{Clock, Millis};
use crate::error::{Error, Kind, Result};
use crate::kafka::{BatchConsumer, ClientErrors, GroupContext, GroupEvent, explain};
use crate::model::TopicPartition;
use crate::plan::SourcePlan;

use super::topics::list;

/// How long leaving the group may take. A coordinator that does not answer notices by itself
/// that we are gone, after the session timeout.
const LEAVE_TIMEOUT: Millis = 5_000;

/// Wait for the next event while leaving.
const LEAVE_POLL: Duration = Duration::from_millis(20);

/// Events served by one poll: rebalances, commits and errors come one per call.
const EVENTS_PER_POLL: usize = 8;

pub(super) struct Member {
    pub(super) consumer: BatchConsumer<GroupContext>,
    pub(super) errors: ClientErrors,
    clock: Clock,
}

impl Member {
    /// A member that has not subscribed yet.
    pub(super) fn new(
        plan: &SourcePlan,
        instance: Option<&str>,
        errors: ClientErrors,
        clock: Clock,
    ) -> Result<Self> {
        let config = crate::kafka::consumer(&plan.client, &plan.group_id, instance);
        let consumer = config
            .create_with_context(GroupContext::new(errors.clone()))
            .map_err(|error| explain(&format!("source {}", plan.table), &error))?;
        Ok(Self { consumer: BatchConsumer::new(consumer)?, errors, clock })
    }

    pub(super) fn subscribe(&self, topics: &[&str]) -> Result<()> {
        self.consumer.consumer().subscribe(topics).map_err(|error| explain("joining the group", &error))
    }

    /// Serves librdkafka's main queue.
    pub(super) fn poll(&self) -> Result<Vec<GroupEvent>> {
        for _ in 0..EVENTS_PER_POLL {
            match self.consumer.consumer().poll(Duration::ZERO) {
                None => break,
                Some(Ok(message)) => {
                    drop(message);
                    return Err(Error::bug("a message arrived outside of the data queue"));
                }
                Some(Err(error)) => self.check(&error)?,
            }
        }
        if let Some(error) = self.errors.fatal() {
            return Err(error);
        }
        Ok(self.consumer.consumer().context().take())
    }

    /// Errors were recorded when they came; what is fatal by its form alone is caught here.
    fn check(&self, error: &KafkaError) -> Result<()> {
        match error {
            KafkaError::MessageConsumptionFatal(_) => {
                let latest = self.errors.latest().unwrap_or_default();
                let message = format!("{} {latest}", explain("the group refuses this member", error));
                Err(Error::new(Kind::Fenced, message))
            }
            _ => Ok(()),
        }
    }

    fn is_cooperative(&self) -> bool {
        matches!(self.consumer.consumer().rebalance_protocol(), RebalanceProtocol::Cooperative)
    }

    /// Answers an assignment: each partition at its offset.
    pub(super) fn assign(&self, partitions: &[(TopicPartition, i64)]) -> Result<()> {
        let mut offsets = TopicPartitionList::new();
        for (partition, offset) in partitions {
            self.consumer.attach(&partition.topic, partition.partition)?;
            offsets
                .add_partition_offset(&partition.topic, partition.partition, Offset::Offset(*offset))
                .map_err(|error| explain("assigning partitions", &error))?;
        }
        let consumer = self.consumer.consumer();
        let assigned = if self.is_cooperative() {
            consumer.incremental_assign(&offsets)
        } else {
            consumer.assign(&offsets)
        };
        assigned.map_err(|error| explain("assigning partitions", &error))?;
        // A pause of an earlier assignment may have outlived it.
        let _ = consumer.resume(&offsets);
        Ok(())
    }

    /// Answers a revocation or a loss.
    pub(super) fn unassign(&self, partitions: &TopicPartitionList) -> Result<()> {
        let consumer = self.consumer.consumer();
        let done = if self.is_cooperative() {
            consumer.incremental_unassign(partitions)
        } else {
            consumer.unassign()
        };
        done.map_err(|error| explain("giving partitions back", &error))
    }

    /// Sends the consumer back to our positions. The answer is not waited for: records of the
    /// old position are outdated as soon as this returns.
    pub(super) fn seek(&self, positions: &[(TopicPartition, i64)]) -> Result<()> {
        let mut offsets = TopicPartitionList::new();
        for (partition, offset) in positions {
            offsets
                .add_partition_offset(&partition.topic, partition.partition, Offset::Offset(*offset))
                .map_err(|error| explain("going back to a position", &error))?;
        }
        if offsets.count() == 0 {
            return Ok(());
        }
        let sought = self.consumer.consumer().seek_partitions(offsets, Duration::ZERO);
        sought.map(drop).map_err(|error| explain("going back to a position", &error))
    }

    pub(super) fn pause(&self, partitions: &[TopicPartition]) -> Result<()> {
        if partitions.is_empty() {
            return Ok(());
        }
        self.consumer
            .consumer()
            .pause(&list(partitions))
            .map_err(|error| explain("pausing partitions", &error))
    }

    /// Sends a commit; the answer comes as [`GroupEvent::Committed`].
    pub(super) fn commit(&self, offsets: &[(TopicPartition, i64)]) -> Result<()> {
        let mut next = TopicPartitionList::new();
        for (partition, offset) in offsets {
            next.add_partition_offset(&partition.topic, partition.partition, Offset::Offset(*offset))
                .map_err(|error| explain("committing offsets", &error))?;
        }
        self.consumer.commit(&next).map_err(|error| explain("committing offsets", &error))
    }

    /// Leaves the group: its other members take over at once.
    pub(super) fn leave(self) {
        let consumer = self.consumer.consumer();
        consumer.unsubscribe();
        let give_up = self.clock.now() + LEAVE_TIMEOUT;
        while self.clock.now() < give_up {
            let _ = consumer.poll(LEAVE_POLL);
            let mut answered = false;
            for event in consumer.context().take() {
                match event {
                    GroupEvent::Revoke(partitions) | GroupEvent::Lost(partitions) => {
                        let _ = self.unassign(&partitions);
                        answered = true;
                    }
                    GroupEvent::Assign(_) => {
                        let _ = self.assign(&[]);
                    }
                    GroupEvent::Committed(_) => {}
                }
            }
            let left = consumer.assignment().map_or(true, |assigned| assigned.count() == 0);
            if answered || left {
                break;
            }
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // From here on nobody takes events: librdkafka's close would wait for answers for ever.
        self.consumer.consumer().context().close();
    }
}
