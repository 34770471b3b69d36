//! `properties.*`: settings of Kafka's Java client under librdkafka's names.
//!
//! Most names are the same in both. The rest is translated, noted (it steers
//! something that only the Java client has) or refused with what to write
//! instead. A name that neither client knows is a slip.

/// Which client a setting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Both.
    Both,
    /// Readers.
    Consumer,
    /// Writers.
    Producer,
}

/// What becomes of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// librdkafka has it under this name.
    As(&'static str),
    /// librdkafka has it under this name in KiB; the Java client counts bytes.
    AsKibibytes(&'static str),
    /// It does nothing here; a note at start says why.
    Noted(&'static str),
    /// It is refused.
    Refused(&'static str),
    /// It says who the client is or whom it trusts; these are translated together.
    Security,
}

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name behind `properties.`.
    pub name: &'static str,
    /// Which client it is for.
    pub side: Side,
    /// What becomes of it.
    pub treatment: Treatment,
}

use super::security;

use Side::{Both, Consumer, Producer};
use Treatment::{As, AsKibibytes, Noted, Refused};

const JAVA: &str = "only the Java client uses it";
const DECODING: &str = "formats decode keys and values, not the client";
const OFFSETS: &str = "offsets are committed with the rows they stand for, never by the client";
const BATCHES: &str = "batches have bounds of their own";
const OWN: &str = "set by the program itself";
const TRANSACTIONS: &str = "not supported yet: it belongs to exactly-once delivery";
const COOPERATIVE: &str = "partitions are always assigned by 'cooperative-sticky'";
const PARTITIONER: &str = "records go to the partition of their key, as every Kafka producer does by default";
const EVENTS: &str = "the program itself watches the client";

/// Settings that are not simply librdkafka's, under the names of Kafka's Java client.
const JAVA_PROPERTIES: &[(&str, Side, Treatment)] = &[
    ("key.deserializer", Consumer, Noted(DECODING)),
    ("value.deserializer", Consumer, Noted(DECODING)),
    ("key.serializer", Producer, Noted(DECODING)),
    ("value.serializer", Producer, Noted(DECODING)),
    ("enable.auto.commit", Consumer, Noted(OFFSETS)),
    ("auto.commit.interval.ms", Consumer, Noted(OFFSETS)),
    ("max.poll.records", Consumer, Noted(BATCHES)),
    ("partition.assignment.strategy", Consumer, Refused(COOPERATIVE)),
    ("fetch.max.wait.ms", Consumer, As("fetch.wait.max.ms")),
    ("request.timeout.ms", Both, As("socket.timeout.ms")),
    ("receive.buffer.bytes", Both, As("socket.receive.buffer.bytes")),
    ("send.buffer.bytes", Both, As("socket.send.buffer.bytes")),
    ("socket.connection.setup.timeout.max.ms", Both, Noted(JAVA)),
    ("buffer.memory", Producer, AsKibibytes("queue.buffering.max.kbytes")),
    ("max.request.size", Producer, As("message.max.bytes")),
    ("max.block.ms", Producer, Noted("a full queue holds the job back and loses nothing")),
    ("partitioner.class", Producer, Refused(PARTITIONER)),
    ("partitioner.ignore.keys", Producer, Refused(PARTITIONER)),
    ("partitioner", Producer, Refused(PARTITIONER)),
    ("transactional.id", Producer, Refused(TRANSACTIONS)),
    ("transaction.timeout.ms", Producer, Refused(TRANSACTIONS)),
    ("interceptor.classes", Both, Noted(JAVA)),
    ("metric.reporters", Both, Noted(JAVA)),
    ("metrics.num.samples", Both, Noted(JAVA)),
    ("metrics.recording.level", Both, Noted(JAVA)),
    ("metrics.sample.window.ms", Both, Noted(JAVA)),
    ("auto.include.jmx.reporter", Both, Noted(JAVA)),
    ("default.api.timeout.ms", Consumer, Noted(JAVA)),
    ("exclude.internal.topics", Consumer, Noted(JAVA)),
    ("internal.leave.group.on.close", Consumer, Noted(JAVA)),
    ("register.consumer.metrics", Consumer, Noted(JAVA)),
    ("client.id.prefix", Both, Noted("client ids are made from the name of the job")),
    (
        "flink.partition-discovery.interval-millis",
        Consumer,
        Refused("write scan.topic-partition-discovery.interval"),
    ),
    ("topic", Both, Refused("write the option 'topic'")),
    ("enable.auto.offset.store", Consumer, Refused(OWN)),
    ("enable.partition.eof", Consumer, Refused(OWN)),
    ("statistics.interval.ms", Both, Refused(OWN)),
    ("enabled_events", Both, Refused(EVENTS)),
    ("log_level", Both, Refused("log.level of the settings decides")),
    (
        "group.protocol",
        Consumer,
        Refused("the group always uses the classic protocol, whose assignments are cooperative"),
    ),
    ("group.remote.assignor", Consumer, Refused(COOPERATIVE)),
];

/// Settings that have the same name and meaning in librdkafka, for both clients.
const SAME_BOTH: &[&str] = &[
    "allow.auto.create.topics",
    "api.version.fallback.ms",
    "api.version.request",
    "api.version.request.timeout.ms",
    "broker.address.family",
    "broker.address.ttl",
    "broker.version.fallback",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "connections.max.idle.ms",
    "debug",
    "enable.metrics.push",
    "log.connection.close",
    "max.in.flight",
    "message.copy.max.bytes",
    "message.max.bytes",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "receive.message.max.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "socket.connection.setup.timeout.ms",
    "socket.keepalive.enable",
    "socket.max.fails",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.sparse",
];

/// The same, for readers.
const SAME_CONSUMER: &[&str] = &[
    "auto.offset.reset",
    "check.crcs",
    "coordinator.query.interval.ms",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "group.id",
    "group.instance.id",
    "heartbeat.interval.ms",
    "isolation.level",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "session.timeout.ms",
];

/// The same, for writers.
const SAME_PRODUCER: &[&str] = &[
    "acks",
    "batch.num.messages",
    "batch.size",
    "compression.codec",
    "compression.level",
    "compression.type",
    "delivery.timeout.ms",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "linger.ms",
    "max.in.flight.requests.per.connection",
    "message.send.max.retries",
    "message.timeout.ms",
    "queue.buffering.backpressure.threshold",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queue.buffering.max.ms",
    "request.required.acks",
    "retries",
    "sticky.partitioning.linger.ms",
];

/// Settings that take one of a few words.
const WORDS: &[(&str, &[&str])] = &[
    ("broker.address.family", &["any", "v4", "v6"]),
    ("client.dns.lookup", &["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"]),
    ("compression.codec", CODECS),
    ("compression.type", CODECS),
    ("isolation.level", &["read_committed", "read_uncommitted"]),
];
const CODECS: &[&str] = &["none", "gzip", "snappy", "lz4", "zstd"];

/// The words that a setting takes, under librdkafka's name; `None`: it takes others too.
#[must_use]
pub fn words(name: &str) -> Option<&'static [&'static str]> {
    WORDS.iter().find(|(known, _)| *known == name).map(|(_, words)| *words)
}

/// What is known of the setting `name` (without `properties.`).
#[must_use]
pub fn property(name: &str) -> Option<Property> {
    if let Some((name, side, treatment)) = JAVA_PROPERTIES.iter().find(|(known, ..)| *known == name) {
        return Some(Property { name, side: *side, treatment: *treatment });
    }
    if let Some((name, treatment)) = security::property(name) {
        return Some(Property { name, side: Both, treatment });
    }
    let same = [(SAME_BOTH, Both), (SAME_CONSUMER, Consumer), (SAME_PRODUCER, Producer)];
    same.into_iter().find_map(|(names, side)| {
        let name = names.iter().find(|known| **known == name)?;
        Some(Property { name, side, treatment: As(name) })
    })
}

/// Every name, for the nearest one.
pub fn property_names() -> impl Iterator<Item = &'static str> {
    let java = JAVA_PROPERTIES.iter().map(|(name, ..)| *name);
    let own = ["bootstrap.servers"];
    java.chain(SAME_BOTH.iter().chain(SAME_CONSUMER).chain(SAME_PRODUCER).copied())
        .chain(security::names())
        .chain(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_stands_in_two_lists() {
        let mut names: Vec<_> = property_names().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn java_names_are_translated() {
        assert_eq!(property("fetch.max.wait.ms").map(|found| found.treatment), Some(As("fetch.wait.max.ms")));
        assert_eq!(property("linger.ms").map(|found| found.side), Some(Producer));
        assert_eq!(property("no.such.thing"), None);
    }
}
