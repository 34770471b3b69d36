//! Reading topics once, up to the present end, outside of any consumer group.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::clock::Stopwatch;
use crate::error::{Error, Result};
use crate::plan::KafkaClient;

use super::{BatchConsumer, ClientErrors, GroupContext, Message, Topic, explain};

/// A question about offsets may take this long.
const ASK_TIMEOUT: Duration = Duration::from_secs(5);

/// Wait for the next records; errors of the client are looked at this often.
const READ_WAIT: Duration = Duration::from_millis(100);

/// Without a record for this long the broker counts as gone: far more than a change of leader takes.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// What is still to be read: per topic and partition the offset at which the scan ends.
type Ends = BTreeMap<String, BTreeMap<i32, i64>>;

/// A bounded read of whole topics. Nothing is committed and no group is joined.
pub struct Scan {
    consumer: BatchConsumer<GroupContext>,
    errors: ClientErrors,
    ends: Ends,
}

impl Scan {
    /// Connects and takes note of where the topics end now. `group` is never joined; it is the name
    /// under which the broker checks rights.
    ///
    /// # Errors
    /// Settings that librdkafka refuses, missing rights, no answer (transient).
    pub fn open(client: &KafkaClient, group: &str, topics: &[Topic], errors: ClientErrors) -> Result<Self> {
        Self::newest(client, group, topics, errors, i64::MAX)
    }

    /// The same for the newest `count` offsets of each partition alone.
    ///
    /// # Errors
    /// As [`Scan::open`].
    pub fn newest(
        client: &KafkaClient,
        group: &str,
        topics: &[Topic],
        errors: ClientErrors,
        count: i64,
    ) -> Result<Self> {
        let consumer = super::consumer(client, group, None)
            .create_with_context(GroupContext::new(errors.clone()))
            .map_err(|error| explain(&format!("connecting to {}", client.bootstrap_servers), &error))?;
        let mut scan = Self { consumer: BatchConsumer::new(consumer)?, errors, ends: Ends::new() };
        let mut begin = TopicPartitionList::new();
        for topic in topics {
            for &partition in &topic.partitions {
                scan.add(&topic.name, partition, count, &mut begin)?;
            }
        }
        let assigned = scan.consumer.consumer().assign(&begin);
        assigned.map_err(|error| explain("assigning partitions", &error))?;
        Ok(scan)
    }

    fn add(&mut self, topic: &str, partition: i32, count: i64, begin: &mut TopicPartitionList) -> Result<()> {
        let (low, high) =
            self.consumer.consumer().fetch_watermarks(topic, partition, ASK_TIMEOUT).map_err(|error| {
                explain(&format!("asking for the offsets of {topic}[{partition}]"), &error)
            })?;
        if high <= low {
            return Ok(());
        }
        self.consumer.attach(topic, partition)?;
        begin
            .add_partition_offset(topic, partition, Offset::Offset(low.max(high.saturating_sub(count))))
            .map_err(|error| explain("assigning partitions", &error))?;
        self.ends.entry(topic.to_owned()).or_default().insert(partition, high);
        Ok(())
    }

    /// Visits every record, in order per partition, until `visit` breaks or the ends are reached.
    ///
    /// # Errors
    /// The first error of `visit`; a broker that refuses, or is silent for too long (transient).
    pub fn run(mut self, visit: &mut dyn FnMut(&Message<'_>) -> Result<ControlFlow<()>>) -> Result<()> {
        let mut silence = Stopwatch::start();
        let mut outcome = Ok(ControlFlow::Continue(()));
        while !self.ends.is_empty() && matches!(outcome, Ok(ControlFlow::Continue(()))) {
            // Errors come on this queue; they are recorded by the context.
            let _ = self.consumer.consumer().poll(Duration::ZERO);
            if let Some(error) = self.errors.fatal() {
                return Err(error);
            }
            let Self { consumer, ends, errors } = &mut self;
            let read = consumer.read(READ_WAIT, |message| {
                if matches!(outcome, Ok(ControlFlow::Continue(()))) {
                    outcome = step(ends, errors, message, visit);
                }
            });
            if 0 < read {
                silence = Stopwatch::start();
            } else if SILENCE_MAX < silence.elapsed() {
                return Err(self.silent());
            }
        }
        outcome.map(drop)
    }

    fn silent(&self) -> Error {
        let cause = self.errors.latest().map(|latest| format!(": {latest}")).unwrap_or_default();
        Error::transient(format!("Kafka sent nothing for {SILENCE_MAX:?}{cause}"))
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        self.consumer.consumer().context().close();
    }
}

/// Hands one record over, or takes note of what happened to its partition.
fn step(
    ends: &mut Ends,
    errors: &ClientErrors,
    message: &Message<'_>,
    visit: &mut dyn FnMut(&Message<'_>) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let (topic, partition) = (message.topic(), message.partition());
    let Some(end) = ends.get(topic).and_then(|ends| ends.get(&partition)).copied() else {
        return Ok(ControlFlow::Continue(()));
    };
    let (reached, flow) = match message.error() {
        None if end <= message.offset() => (true, ControlFlow::Continue(())),
        None => (end <= message.offset() + 1, visit(message)?),
        Some(RDKafkaErrorCode::PartitionEOF) => (true, ControlFlow::Continue(())),
        Some(RDKafkaErrorCode::AutoOffsetReset) => {
            return Err(Error::external(format!(
                "{topic}[{partition}]: records were deleted from the topic while it was read; try again"
            )));
        }
        Some(code) => {
            let detail = String::from_utf8_lossy(message.value().unwrap_or_default());
            errors.record(&KafkaError::MessageConsumption(code), &format!("{topic}[{partition}]: {detail}"));
            (false, ControlFlow::Continue(()))
        }
    };
    if reached && let Some(of_topic) = ends.get_mut(topic) {
        of_topic.remove(&partition);
        if of_topic.is_empty() {
            ends.remove(topic);
        }
    }
    Ok(flow)
}
