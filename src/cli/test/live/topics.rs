//! Topics of a live case: records go into the source's, and come out of the sink's.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Header as KafkaHeader, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer, ProducerContext, ThreadedProducer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::clock::Stopwatch;
use crate::error::{Error, Result};
use crate::kafka::{self, explain};
use crate::model::{Header, RowKind};
use crate::plan::{KafkaClient, KafkaSink, SourcePlan, Topics};

use super::super::output::{Form, Row, SentRecord};
use super::super::records::SourceRecord;

/// Longest time of one question to the cluster.
const ASK_MAX: Duration = Duration::from_secs(10);
/// Longest time until a record is in its topic.
const PRODUCE_MAX: Duration = Duration::from_secs(30);
/// Longest time until what is in the sink's topic is read.
const READ_MAX: Duration = Duration::from_secs(30);

/// First offset that is not of interest yet, by partition.
pub(super) type Ends = BTreeMap<i32, i64>;

/// Where a record of the case stands in the topic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stands {
    pub partition: i32,
    pub offset: i64,
}

/// The source's topic, and how far the job has come.
pub(super) struct SourceTopic {
    topic: String,
    producer: ThreadedProducer<Deliveries>,
    group: BaseConsumer,
}

/// Offsets of delivered records, by the number that they were sent with.
#[derive(Debug, Default)]
struct Deliveries(std::sync::Mutex<BTreeMap<usize, Result<Stands>>>);

impl rdkafka::ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, number: usize) {
        let stands = match result {
            Ok(message) => Ok(Stands { partition: message.partition(), offset: message.offset() }),
            Err((error, _)) => Err(explain("producing a record", error)),
        };
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(number, stands);
    }
}

impl SourceTopic {
    /// Connects; the topic must exist.
    ///
    /// # Errors
    /// A pattern of topics, settings that are refused, a topic that is not there.
    pub(super) fn open(source: &SourcePlan) -> Result<Self> {
        let topic = match &source.topics {
            Topics::List(topics) => topics.first().cloned().unwrap_or_default(),
            Topics::Pattern(_) => {
                return Err(Error::external("a live case needs a topic by name, not a topic-pattern"));
            }
        };
        let doing = "connecting to the source's cluster";
        let mut config = kafka::producer(&source.client, "lookaside-test");
        config.set("partitioner", "murmur2_random");
        let producer =
            config.create_with_context(Deliveries::default()).map_err(|error| explain(doing, &error))?;
        let group = consumer(&source.client, &source.group_id)?;
        let opened = Self { topic, producer, group };
        opened.ends()?;
        Ok(opened)
    }

    /// Ends of the topic's partitions.
    ///
    /// # Errors
    /// No answer, no topic.
    pub(super) fn ends(&self) -> Result<Ends> {
        ends(&self.group, &self.topic)
    }

    /// Puts records into the topic, in order, and says where they stand.
    ///
    /// # Errors
    /// The broker does not take one.
    pub(super) fn produce(&self, records: &[SourceRecord]) -> Result<Vec<Stands>> {
        let delivered =
            || self.producer.context().0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        delivered().clear();
        for (number, record) in records.iter().enumerate() {
            self.send(number, record)?;
        }
        self.producer.flush(PRODUCE_MAX).map_err(|error| explain("producing records", &error))?;
        let stands = std::mem::take(&mut *delivered());
        stands.into_values().collect()
    }

    fn send(&self, number: usize, record: &SourceRecord) -> Result<()> {
        let mut outgoing = BaseRecord::<[u8], [u8], usize>::with_opaque_to(&self.topic, number);
        outgoing.key = record.key.as_deref();
        outgoing.payload = record.value.as_deref();
        outgoing.partition = record.partition;
        outgoing.timestamp = record.timestamp;
        if !record.headers.is_empty() {
            let insert = |all: OwnedHeaders, Header { key, value }: &Header| {
                all.insert(KafkaHeader { key, value: value.as_ref() })
            };
            outgoing.headers = Some(record.headers.iter().fold(OwnedHeaders::new(), insert));
        }
        self.producer.send(outgoing).map_err(|(error, _)| explain("producing a record", &error))
    }

    /// Whether the job has committed everything below `ends`: every row of it is in the sink.
    ///
    /// # Errors
    /// No answer.
    pub(super) fn is_past(&self, ends: &Ends) -> Result<bool> {
        let mut list = TopicPartitionList::new();
        for partition in ends.keys() {
            list.add_partition(&self.topic, *partition);
        }
        let committed = self.group.committed_offsets(list, ASK_MAX);
        let committed = committed.map_err(|error| explain("asking for committed offsets", &error))?;
        Ok(ends.iter().all(|(partition, end)| {
            let found = committed.find_partition(&self.topic, *partition).map(|found| found.offset());
            matches!(found, Some(Offset::Offset(offset)) if *end <= offset)
        }))
    }
}

/// The sink's topic.
pub(super) struct SinkTopic {
    topic: String,
    consumer: BaseConsumer,
    next: Ends,
}

impl SinkTopic {
    /// Connects, and leaves out what is there now.
    ///
    /// # Errors
    /// No answer, no topic.
    pub(super) fn open(sink: &KafkaSink) -> Result<Self> {
        let consumer = consumer(&sink.client, "lookaside-test-reader")?;
        let next = ends(&consumer, &sink.topic)?;
        Ok(Self { topic: sink.topic.clone(), consumer, next })
    }

    /// Records since the last call, in order per partition.
    ///
    /// # Errors
    /// No answer; records that cannot be read.
    pub(super) fn read(&mut self) -> Result<Vec<Row>> {
        let failed = |error: KafkaError| explain("reading the sink's topic", &error);
        let ends = ends(&self.consumer, &self.topic)?;
        let mut list = TopicPartitionList::new();
        for (partition, next) in &self.next {
            list.add_partition_offset(&self.topic, *partition, Offset::Offset(*next)).map_err(failed)?;
        }
        self.consumer.assign(&list).map_err(failed)?;
        let (mut rows, watch) = (Vec::new(), Stopwatch::start());
        while self.next != ends {
            if READ_MAX < watch.elapsed() {
                return Err(Error::external(format!("topic {} cannot be read to its end", self.topic)));
            }
            match self.consumer.poll(Duration::from_millis(100)) {
                None => {}
                Some(Err(KafkaError::PartitionEOF(partition))) => {
                    // Behind the last record there may be marks of transactions.
                    let end = ends.get(&partition).copied().unwrap_or_default();
                    self.next.insert(partition, end);
                }
                Some(message) => {
                    let message = message.map_err(failed)?;
                    self.next.insert(message.partition(), message.offset() + 1);
                    rows.push(row(&message));
                }
            }
        }
        Ok(rows)
    }
}

fn row<M: Message>(message: &M) -> Row {
    let headers = message.headers().map(|headers| {
        let header = |header: KafkaHeader<'_, &[u8]>| Header {
            key: header.key.to_owned(),
            value: header.value.map(<[u8]>::to_vec),
        };
        headers.iter().map(header).collect()
    });
    let key = message.key().unwrap_or_default().to_vec();
    let record = SentRecord {
        key: key.clone(),
        value: message.payload().map(<[u8]>::to_vec),
        timestamp: message.timestamp().to_millis(),
        headers: headers.unwrap_or_default(),
    };
    let kind = if record.value.is_some() { RowKind::UpdateAfter } else { RowKind::Delete };
    Row { kind, key, form: Form::Record(record) }
}

fn consumer(client: &KafkaClient, group: &str) -> Result<BaseConsumer> {
    let mut config: ClientConfig = kafka::consumer(client, group, None);
    config.set("client.id", "lookaside-test");
    config.create().map_err(|error| explain(&format!("connecting to {}", client.bootstrap_servers), &error))
}

fn ends(consumer: &BaseConsumer, topic: &str) -> Result<Ends> {
    let doing = format!("asking for topic {topic}");
    let failed = |error: KafkaError| explain(&doing, &error);
    let metadata = consumer.fetch_metadata(Some(topic), ASK_MAX).map_err(failed)?;
    let found = metadata.topics().iter().find(|found| found.name() == topic && found.error().is_none());
    let partitions = found.map(rdkafka::metadata::MetadataTopic::partitions).unwrap_or_default();
    if partitions.is_empty() {
        return Err(Error::external(format!("topic {topic} does not exist; a live case creates nothing")));
    }
    let end = |partition: i32| {
        let (_, high) = consumer.fetch_watermarks(topic, partition, ASK_MAX).map_err(failed)?;
        Ok((partition, high))
    };
    partitions.iter().map(|partition| end(partition.id())).collect()
}
