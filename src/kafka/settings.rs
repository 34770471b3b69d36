//! librdkafka's settings: what a definition says, on top of defaults that have reasons.

use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, ConsumerContext};

use crate::error::{Error, Kind, Result};
use crate::plan::KafkaClient;

use super::errors::explain;
use super::events::ClientErrors;

/// Defaults of every client; a definition may override them.
const COMMON: &[(&str, &str)] = &[
    // A row must not wait in the kernel for the answer to the row before it.
    ("socket.nagle.disable", "true"),
    // After an outage the job goes on within seconds; librdkafka's default is ten.
    ("reconnect.backoff.max.ms", "2000"),
];

/// Defaults of the consumer; a definition may override them.
const CONSUMER: &[(&str, &str)] = &[
    // Rows of aborted transactions are no rows.
    ("isolation.level", "read_committed"),
    // A replica that joins or leaves moves only the partitions that must move.
    ("partition.assignment.strategy", "cooperative-sticky"),
    // Once the local queue is full the fetcher sleeps this long; its default of one second
    // costs two thirds of the throughput.
    ("fetch.queue.backoff.ms", "5"),
    // Bound of what is fetched ahead, all partitions together: a quarter of a second at full speed.
    ("queued.max.messages.kbytes", "16384"),
    ("queued.min.messages", "50000"),
    // A member that was killed is replaced after this; five heartbeats.
    ("session.timeout.ms", "15000"),
];

/// What the offsets and the commit protocol rely on; no definition overrides it.
const CONSUMER_OWNED: &[(&str, &str)] = &[
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    // Ends of partitions, empty ones and those that end in a transaction's marker are seen.
    ("enable.partition.eof", "true"),
    // Where to go from a position that the log does not have. With `error` the partition would stand
    // still for good; from its beginning it comes back to our position, which the source sees to.
    ("auto.offset.reset", "earliest"),
];

/// Defaults of the producer; a definition may override them.
const PRODUCER: &[(&str, &str)] = &[
    // Retries neither duplicate nor reorder the rows of a partition.
    ("enable.idempotence", "true"),
    // Rows go out together when they come together: the wait is short because under load the
    // batch fills while the one before it is on the way.
    ("linger.ms", "2"),
    ("batch.size", "1000000"),
    // Bound of what waits for acknowledgement.
    ("queue.buffering.max.messages", "200000"),
    ("queue.buffering.max.kbytes", "65536"),
];

/// What delivery accounting relies on; no definition overrides it.
const PRODUCER_OWNED: &[(&str, &str)] = &[
    // An unreachable broker is waited for, however long: a row is never given up.
    ("message.timeout.ms", "0"),
    // A missing topic is a mistake to report, not one to create with defaults.
    ("allow.auto.create.topics", "false"),
];

/// Names that a producer does not know and would complain about.
const CONSUMER_ONLY_PREFIXES: &[&str] = &[
    "fetch.",
    "queued.",
    "session.",
    "heartbeat.",
    "max.poll.",
    "isolation.",
    "auto.offset.",
    "group.",
    "partition.assignment.",
    "enable.auto.",
    "auto.commit.",
    "check.crcs",
];

/// Names that a consumer does not know and would complain about.
const PRODUCER_ONLY_PREFIXES: &[&str] = &[
    "linger.",
    "batch.",
    "queue.buffering.",
    "message.timeout.",
    "delivery.timeout.",
    "request.required.",
    "request.timeout.",
    "acks",
    "compression.",
    "enable.idempotence",
    "enable.gapless.",
    "transaction",
    "retries",
    "message.send.",
    "partitioner",
    "sticky.",
];

fn begins_with(name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn base(client: &KafkaClient, defaults: &[(&str, &str)]) -> ClientConfig {
    let mut config = ClientConfig::new();
    for (name, value) in COMMON.iter().chain(defaults) {
        config.set(*name, *value);
    }
    config.set("bootstrap.servers", &client.bootstrap_servers);
    // `properties.debug` asks for librdkafka's own trace, which the log shows at level debug.
    let traced = client.settings.iter().any(|(name, _)| name == "debug");
    config.set_log_level(if traced { RDKafkaLogLevel::Debug } else { RDKafkaLogLevel::Info });
    config
}

fn owned(config: &mut ClientConfig, settings: &[(&str, &str)]) {
    for (name, value) in settings {
        config.set(*name, *value);
    }
}

/// Settings of the consumer group's member.
#[must_use]
pub fn consumer(client: &KafkaClient, group: &str, instance: Option<&str>) -> ClientConfig {
    let mut config = base(client, CONSUMER);
    for (name, value) in &client.settings {
        config.set(name, value.expose());
    }
    owned(&mut config, CONSUMER_OWNED);
    config.set("group.id", group);
    if config.get("client.id").is_none() {
        config.set("client.id", group);
    }
    if let Some(instance) = instance {
        config.set("group.instance.id", instance);
    }
    config
}

/// Settings of the sink's producer.
#[must_use]
pub fn producer(client: &KafkaClient, name: &str) -> ClientConfig {
    let mut config = base(client, PRODUCER);
    for (name, value) in &client.settings {
        if !begins_with(name, CONSUMER_ONLY_PREFIXES) {
            config.set(name, value.expose());
        }
    }
    owned(&mut config, PRODUCER_OWNED);
    // The sink hands a record over while the report of the one before is served, which still counts.
    if config.get("queue.buffering.max.messages") == Some("1") {
        config.set("queue.buffering.max.messages", "2");
    }
    if config.get("client.id").is_none() {
        config.set("client.id", name);
    }
    config
}

/// A client that asks about topics and offsets and reads nothing.
pub type Admin = BaseConsumer<AdminContext>;

/// Context of an [`Admin`] client.
pub struct AdminContext(ClientErrors);

impl ClientContext for AdminContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.0.log(level, facility, message);
    }

    fn error(&self, error: rdkafka::error::KafkaError, reason: &str) {
        self.0.record(&error, reason);
    }
}

impl ConsumerContext for AdminContext {}

/// Whether librdkafka takes the settings of a table that is read.
///
/// # Errors
/// A setting that it refuses.
pub fn verify_reader(client: &KafkaClient) -> Result<()> {
    verify(&consumer(client, "verify", None))
}

/// Whether librdkafka takes the settings of a table that is written to.
///
/// # Errors
/// A setting that it refuses.
pub fn verify_writer(client: &KafkaClient) -> Result<()> {
    verify(&producer(client, "verify"))
}

fn verify(config: &ClientConfig) -> Result<()> {
    config.create_native_config().map(drop).map_err(|error| explain("the Kafka client", &error))
}

/// Settings of a client that asks questions.
pub(super) fn questions(client: &KafkaClient) -> ClientConfig {
    let mut config = base(client, &[]);
    for (name, value) in &client.settings {
        if !begins_with(name, CONSUMER_ONLY_PREFIXES) && !begins_with(name, PRODUCER_ONLY_PREFIXES) {
            config.set(name, value.expose());
        }
    }
    config
}

/// A client for questions; what goes wrong in the background lands in `errors`.
///
/// # Errors
/// A setting that librdkafka refuses.
pub fn admin(client: &KafkaClient, errors: ClientErrors) -> Result<Admin> {
    check_files(client)?;
    questions(client)
        .create_with_context(AdminContext(errors))
        .map_err(|error| explain(&format!("connecting to {}", client.bootstrap_servers), &error))
}

/// Settings that name a file, with the name that Kafka's Java client has for it.
const FILES: &[(&str, &str)] = &[
    ("ssl.ca.location", "ssl.truststore.location"),
    ("ssl.certificate.location", "ssl.keystore.location"),
    ("ssl.key.location", "ssl.keystore.location"),
    ("ssl.keystore.location", "ssl.keystore.location"),
    ("ssl.crl.location", "ssl.crl.location"),
    ("https.ca.location", "https.ca.location"),
];

/// A value in place of a file: librdkafka looks in the usual places.
const PROBE: &str = "probe";

/// Says which file cannot be read, and why: OpenSSL's messages name neither.
fn check_files(client: &KafkaClient) -> Result<()> {
    for (name, value) in &client.settings {
        let Some((_, java)) = FILES.iter().find(|(own, _)| own == name) else { continue };
        let path = value.expose();
        if path != PROBE
            && let Err(error) = std::fs::File::open(path)
        {
            return Err(Error::new(
                Kind::Definition,
                format!("properties.{java}: {path} cannot be read: {error}"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Secret;

    fn client(settings: &[(&str, &str)]) -> KafkaClient {
        let settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))).collect();
        KafkaClient { bootstrap_servers: "localhost:9092".to_owned(), settings }
    }

    #[test]
    fn a_definition_overrides_defaults_but_not_what_commits_rely_on() {
        let client = client(&[
            ("isolation.level", "read_uncommitted"),
            ("enable.auto.commit", "true"),
            ("auto.offset.reset", "latest"),
        ]);
        let config = consumer(&client, "job", Some("job-0"));
        assert_eq!(config.get("isolation.level"), Some("read_uncommitted"));
        assert_eq!(config.get("enable.auto.commit"), Some("false"));
        assert_eq!(config.get("auto.offset.reset"), Some("earliest"));
        assert_eq!(config.get("group.instance.id"), Some("job-0"));
    }

    #[test]
    fn a_producer_is_not_given_consumer_settings() {
        let client =
            client(&[("session.timeout.ms", "9000"), ("message.timeout.ms", "5"), ("linger.ms", "50")]);
        let config = producer(&client, "job");
        assert_eq!(config.get("session.timeout.ms"), None);
        assert_eq!(config.get("message.timeout.ms"), Some("0"));
        assert_eq!(config.get("linger.ms"), Some("50"));
    }

    /// Of a queue of one the sink would wait for ever.
    #[test]
    fn a_producers_queue_has_room_for_two() {
        let queue = |size| {
            let config = producer(&client(&[("queue.buffering.max.messages", size)]), "job");
            config.get("queue.buffering.max.messages").map(str::to_owned)
        };
        assert_eq!(["1", "2", "0"].map(queue), ["2", "2", "0"].map(|size| Some(size.to_owned())));
    }

    #[test]
    fn librdkafka_accepts_the_defaults() {
        let client = client(&[]);
        assert!(consumer(&client, "job", None).create_native_config().is_ok());
        assert!(producer(&client, "job").create_native_config().is_ok());
    }
}
