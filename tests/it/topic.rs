//! Topics of a test's own on the real broker: create, fill, read back.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::stack;

/// A name that no other test uses.
pub fn unique(name: &str) -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let random = RandomState::new().build_hasher().finish();
    format!("{name}-{:08x}", random as u32)
}

/// Creates topic `name` with so many partitions.
pub fn create(name: &str, partitions: i32) {
    create_with(name, partitions, &[]);
}

/// Creates a topic with settings such as `message.timestamp.type`.
pub fn create_with(name: &str, partitions: i32, settings: &[(&str, &str)]) {
    let admin: AdminClient<_> =
        ClientConfig::new().set("bootstrap.servers", stack::kafka()).create().expect("admin client");
    let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
    for (key, value) in settings {
        topic = topic.set(key, value);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let results =
        runtime
            .block_on(admin.create_topics(
                [&topic],
                &AdminOptions::new().operation_timeout(Some(Duration::from_secs(20))),
            ))
            .expect("create topics");
    for result in results {
        result.expect("create topic");
    }
    // The broker answers before its metadata shows the topic.
    for _ in 0..200 {
        let metadata = admin.inner().fetch_metadata(Some(name), Duration::from_secs(10));
        let shown = metadata.is_ok_and(|metadata| {
            metadata.topics().first().is_some_and(|topic| {
                topic.partitions().len() == usize::try_from(partitions).unwrap_or(0)
                    && topic.partitions().iter().all(|partition| 0 <= partition.leader())
            })
        });
        if shown {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("topic {name} does not show in the broker's metadata");
}

/// Takes every record out of the topic; offsets go on.
pub fn forget_records(name: &str) {
    let admin: AdminClient<_> =
        ClientConfig::new().set("bootstrap.servers", stack::kafka()).create().expect("admin client");
    let metadata = admin.inner().fetch_metadata(Some(name), Duration::from_secs(10)).expect("metadata");
    let mut ends = TopicPartitionList::new();
    for partition in metadata.topics().first().expect("topic").partitions() {
        ends.add_partition_offset(name, partition.id(), Offset::End).expect("an offset");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let deleted =
        runtime.block_on(admin.delete_records(&ends, &AdminOptions::new())).expect("delete records");
    assert!(deleted.elements().iter().all(|element| element.error().is_ok()));
}

/// A producer for test input.
pub struct Writer {
    producer: BaseProducer,
    topic: String,
}

impl Writer {
    /// Writes to `topic`.
    pub fn new(topic: &str) -> Self {
        let producer = ClientConfig::new()
            .set("bootstrap.servers", stack::kafka())
            .set("linger.ms", "5")
            .set("partitioner", "murmur2_random")
            .create()
            .expect("producer");
        Self { producer, topic: topic.to_owned() }
    }

    /// Sends one record, by its key's partition.
    pub fn send(&self, key: &str, value: Option<&str>) {
        self.send_to(None, Some(key.as_bytes()), value.map(str::as_bytes));
    }

    /// Sends one record to a given partition; a key of `None` is a null key.
    pub fn send_to(&self, partition: Option<i32>, key: Option<&[u8]>, value: Option<&[u8]>) {
        loop {
            let mut record = BaseRecord::<[u8], [u8]>::to(&self.topic);
            record.partition = partition;
            record.key = key;
            record.payload = value;
            match self.producer.send(record) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                    self.producer.poll(Duration::from_millis(10));
                }
                Err((error, _)) => panic!("producing to {}: {error}", self.topic),
            }
        }
        self.producer.poll(Duration::ZERO);
    }

    /// Sends one record with a timestamp in milliseconds.
    pub fn send_at(&self, partition: i32, timestamp: i64, key: &[u8], value: &[u8]) {
        let record = BaseRecord::<[u8], [u8]>::to(&self.topic).key(key).payload(value);
        let record = record.partition(partition).timestamp(timestamp);
        self.producer.send(record).map_err(|(error, _)| error).expect("producing");
        self.producer.poll(Duration::ZERO);
    }

    /// Waits until everything is in the topic.
    pub fn flush(&self) {
        self.producer.flush(Duration::from_secs(30)).expect("flush");
    }
}

/// One record read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Partition it stands in.
    pub partition: i32,
    /// Key text.
    pub key: String,
    /// Value text; `None` is a tombstone.
    pub value: Option<String>,
}

/// Everything in the topic now, in order per partition.
pub fn read_all(topic: &str) -> Vec<Entry> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", stack::kafka())
        .set("group.id", unique("reader"))
        .set("enable.auto.commit", "false")
        .create()
        .expect("consumer");
    let metadata = consumer.fetch_metadata(Some(topic), Duration::from_secs(10)).expect("metadata");
    let partitions = metadata.topics().first().expect("topic").partitions().len();
    let (mut assignment, mut missing) = (TopicPartitionList::new(), 0);
    for partition in 0..i32::try_from(partitions).expect("few partitions") {
        let (low, high) =
            consumer.fetch_watermarks(topic, partition, Duration::from_secs(10)).expect("watermarks");
        missing += high - low;
        assignment.add_partition_offset(topic, partition, Offset::Beginning).expect("assignment");
    }
    consumer.assign(&assignment).expect("assign");
    let (mut entries, deadline) = (Vec::new(), Instant::now() + Duration::from_secs(60));
    while 0 < missing && Instant::now() < deadline {
        let Some(message) = consumer.poll(Duration::from_millis(200)) else { continue };
        let message = message.expect("message");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        entries.push(Entry {
            partition: message.partition(),
            key: message.key().map(text).unwrap_or_default(),
            value: message.payload().map(text),
        });
        missing -= 1;
    }
    entries
}

/// What a reader of the compacted topic sees: the last value of each key, without deleted keys.
pub fn compacted(entries: &[Entry]) -> BTreeMap<String, String> {
    let mut view = BTreeMap::new();
    for entry in entries {
        match &entry.value {
            Some(value) => view.insert(entry.key.clone(), value.clone()),
            None => view.remove(&entry.key),
        };
    }
    view
}
