//! Topics of the benchmark: made, filled, read to their end, measured, removed.

use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{Offset, TopicPartitionList};
use tokio::runtime::Runtime;

use super::orders::{Order, PARTITIONS, partition_of};
use crate::Result;

/// How long the broker may take for one request.
const PATIENCE: Duration = Duration::from_secs(30);

/// The broker, as the harness uses it.
pub struct Broker {
    /// `host:port`.
    pub address: String,
    admin: AdminClient<DefaultClientContext>,
    runtime: Runtime,
}

/// A record as a reader of a topic sees it.
pub struct Record<'a> {
    /// Where it is.
    pub partition: i32,
    /// The key's bytes; empty where there is no key.
    pub key: &'a [u8],
    /// `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// Milliseconds since 1970: the append time where the topic says so.
    pub time_ms: i64,
}

impl Broker {
    /// A connection to the broker; nothing is sent yet.
    pub fn new(address: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let admin = client(address).create()?;
        Ok(Self { address: address.to_owned(), admin, runtime })
    }

    /// Makes an empty topic; with `append_time` its records carry the time at which the broker stored them.
    pub fn create(&self, topic: &str, append_time: bool) -> Result<()> {
        let kind = if append_time { "LogAppendTime" } else { "CreateTime" };
        let topic =
            NewTopic::new(topic, PARTITIONS, TopicReplication::Fixed(1)).set("message.timestamp.type", kind);
        let made = self.runtime.block_on(self.admin.create_topics([&topic], &AdminOptions::new()))?;
        for one in made {
            one.map_err(|(topic, code)| format!("topic {topic} could not be made: {code}"))?;
        }
        Ok(())
    }

    /// Removes a topic; one that is not there is as good.
    pub fn delete(&self, topic: &str) -> Result<()> {
        for one in self.runtime.block_on(self.admin.delete_topics(&[topic], &AdminOptions::new()))? {
            match one {
                Ok(_) | Err((_, RDKafkaErrorCode::UnknownTopicOrPartition)) => {}
                Err((topic, code)) => {
                    return Err(format!("topic {topic} could not be removed: {code}").into());
                }
            }
        }
        Ok(())
    }

    /// How many records were ever appended to the topic.
    pub fn appended(&self, topic: &str) -> Result<i64> {
        let mut sum = 0;
        for partition in 0..PARTITIONS {
            sum += self.admin.inner().fetch_watermarks(topic, partition, PATIENCE)?.1;
        }
        Ok(sum)
    }

    /// Reads the topic from its beginning to its end, partition by partition in order.
    pub fn scan(&self, topic: &str, mut visit: impl FnMut(Record<'_>) -> Result<()>) -> Result<()> {
        let mut config = client(&self.address);
        config
            .set("group.id", "bench-check")
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", "true");
        let consumer: BaseConsumer = config.set("fetch.queue.backoff.ms", "5").create()?;
        consumer.assign(&from_the_beginning(topic)?)?;
        let mut open = PARTITIONS;
        while open > 0 {
            match consumer.poll(PATIENCE) {
                None => return Err(format!("topic {topic} could not be read to its end").into()),
                Some(Err(KafkaError::PartitionEOF(_))) => open -= 1,
                Some(Err(error)) => return Err(error.into()),
                Some(Ok(message)) => visit(Record {
                    partition: message.partition(),
                    key: message.key().unwrap_or_default(),
                    value: message.payload(),
                    time_ms: message.timestamp().to_millis().unwrap_or_default(),
                })?,
            }
        }
        Ok(())
    }
}

/// All partitions of a benchmark topic, first record first.
pub fn from_the_beginning(topic: &str) -> Result<TopicPartitionList> {
    let mut list = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        list.add_partition_offset(topic, partition, Offset::Beginning)?;
    }
    Ok(list)
}

fn client(address: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", address);
    config
}

/// Writes orders to a topic, each to the partition of its key.
pub struct Writer<'a> {
    topic: &'a str,
    producer: BaseProducer,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl<'a> Writer<'a> {
    /// A producer that keeps the order of its records whatever happens; `linger_ms` trades requests for delay.
    pub fn new(broker: &Broker, topic: &'a str, linger_ms: u32) -> Result<Self> {
        let mut config = client(&broker.address);
        config.set("enable.idempotence", "true").set("compression.type", "none");
        config.set("linger.ms", linger_ms.to_string()).set("batch.size", "1000000");
        config.set("queue.buffering.max.messages", "200000");
        Ok(Self { topic, producer: config.create()?, key: Vec::new(), value: Vec::new() })
    }

    /// Queues one record, waiting while the queue is full.
    pub fn write(&mut self, order: &Order) -> Result<()> {
        self.key.clear();
        self.value.clear();
        order.write_key(&mut self.key);
        order.write_value(&mut self.value);
        let mut record = BaseRecord::to(self.topic).key(&self.key).partition(partition_of(&self.key));
        if order.values.is_some() {
            record = record.payload(&self.value);
        }
        loop {
            match self.producer.send(record) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                    record = back;
                    self.producer.poll(Duration::from_millis(10));
                }
                Err((error, _)) => return Err(error.into()),
            }
        }
    }

    /// Serves acknowledgements without waiting.
    pub fn tend(&self) {
        self.producer.poll(Duration::ZERO);
    }

    /// Waits until everything is stored.
    pub fn finish(self) -> Result<()> {
        Ok(self.producer.flush(PATIENCE)?)
    }
}
