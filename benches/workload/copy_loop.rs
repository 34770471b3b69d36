//! The floor: a program that consumes a topic and produces the same bytes to another, and does nothing else.
//!
//! It is what the `rdkafka` crate's safe interface gives: a `BaseConsumer` polled message by message, a
//! `ThreadedProducer` sent to message by message. It runs as a process of its own, started by the harness.

use std::time::Duration;

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};

use super::orders::PARTITIONS;
use super::topics::from_the_beginning;
use crate::Result;

/// How long the broker may be silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// Copies `source` to `sink`, up to the end that `source` has.
pub fn run(bootstrap: &str, source: &str, sink: &str) -> Result<()> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", "bench-copy-loop")
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        // The default of one second lets the loop starve whenever the local queue was full.
        .set("fetch.queue.backoff.ms", "5")
        .create()?;
    let producer: ThreadedProducer<DefaultProducerContext> = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("linger.ms", "20")
        .set("batch.size", "1000000")
        .set("queue.buffering.max.messages", "1000000")
        .create()?;
    consumer.assign(&from_the_beginning(source)?)?;
    let mut open = PARTITIONS;
    while open > 0 {
        match consumer.poll(PATIENCE) {
            None => return Err("the broker fell silent".into()),
            Some(Err(KafkaError::PartitionEOF(_))) => open -= 1,
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(message)) => copy(&message, sink, &producer)?,
        }
    }
    Ok(producer.flush(PATIENCE)?)
}

fn copy(
    message: &BorrowedMessage<'_>,
    sink: &str,
    producer: &ThreadedProducer<DefaultProducerContext>,
) -> Result<()> {
    let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(sink).partition(message.partition());
    record.key = message.key();
    record.payload = message.payload();
    loop {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                record = back;
                producer.poll(Duration::from_millis(10));
            }
            Err((error, _)) => return Err(error.into()),
        }
    }
}
