//! `upsert-kafka` as a sink: batches of records into one producer, delivery reports counted per epoch.
//!
//! All shards share one producer, so that the records of a partition leave
//! together whichever shard made them. Order per key holds because a key
//! belongs to one shard, which hands its records over in order. A thread of
//! its own receives the delivery reports.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext};

use crate::clock::{Clock, Millis};
use crate::error::{Error, Kind, Reason, Result};
use crate::kafka::{self, BatchProducer, ClientErrors, Outgoing, Scratch, explain};
use crate::model::{EncodedRecord, Epoch, OutputBatch, Payload, ShardId};
use crate::plan::KafkaSink;

use super::acks::{Acks, Deliveries, Ticket};
use super::buffered::Buffered;
use super::rounds::{Limits, Rounds};
use super::{Environment, SinkCounts, Writer};

/// Records that may wait for acknowledgement before shards wait for room: several rounds, so that no
/// shard stands still while one is on its way.
const UNACKNOWLEDGED_MAX: u64 = 150_000;

/// Bytes that may wait, likewise.
const WAITING_BYTES_MAX: u64 = 48 << 20;

/// Records of one round: handed over well before `linger.ms` is over, so that each partition's share leaves as
/// one request.
const ROUND_ROWS: usize = 5_000;

/// Bytes of one round: below `batch.size`, for the same reason.
const ROUND_BYTES: usize = 900_000;

/// Wait for room, or for a delivery report: short against a batch's trip to the broker.
const WAIT: Duration = Duration::from_millis(1);

/// How long the report thread sleeps when there is nothing to report.
const POLL: Duration = Duration::from_millis(100);

/// How often the number of records that wait is put up; each shard does so with every batch.
const COUNT_EVERY: Millis = 500;

/// How often the number of partitions is asked for again; Java's `metadata.max.age.ms`.
const METADATA_AGE: Duration = Duration::from_secs(300);

/// The topic, open for all shards.
pub struct KafkaTopicSink {
    shared: Arc<Shared>,
    buffer: Option<(usize, Duration)>,
    poller: Option<JoinHandle<()>>,
}

struct Shared {
    topic: String,
    producer: BatchProducer<Reports>,
    partitions: AtomicI32,
    errors: ClientErrors,
    closing: AtomicBool,
    clock: Clock,
    rounds: Mutex<Rounds>,
    /// Held while a round is handed over: rounds keep their order.
    sending: Mutex<Scratch>,
    /// Of the writers: set when the process gives up, and no further round begins.
    stop: OnceLock<Arc<AtomicBool>>,
    /// How often all partitions were lost.
    losses: Arc<AtomicU64>,
    counts: Arc<SinkCounts>,
}

/// Context of the producer: receives the delivery reports.
struct Reports {
    topic: String,
    errors: ClientErrors,
    /// By shard.
    deliveries: Vec<Arc<Deliveries>>,
    acks: Acks,
    /// Records of the round on its way that are not acknowledged.
    outstanding: AtomicU64,
    /// A record was refused.
    refused: AtomicBool,
    /// The sink, to begin the next round.
    sink: OnceLock<Weak<Shared>>,
    counts: Arc<SinkCounts>,
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.errors.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.errors.record(&error, reason);
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, _ticket: usize) {
        if let Err((error, message)) = result {
            self.counts.error();
            self.acks.failed(rejection(&self.topic, error, message.key()));
            self.refused.store(true, Ordering::Relaxed);
        }
        if self.outstanding.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end_round();
        }
    }
}

impl Reports {
    fn acknowledged(&self, word: usize, rows: u64) {
        let Ok(ticket) = Ticket::unpack(word) else { return };
        if let Some(deliveries) = self.deliveries.get(usize::from(ticket.shard.0)) {
            deliveries.delivered(ticket.slot, rows);
        }
    }

    /// Every record of the round is reported. If all were taken, the next round goes; otherwise nothing more is
    /// acknowledged, and the job ends.
    fn end_round(&self) {
        let Some(sink) = self.sink.get().and_then(Weak::upgrade) else { return };
        if self.refused.load(Ordering::Relaxed) {
            return;
        }
        let more = lock(&sink.rounds).end(|ticket, rows| self.acknowledged(ticket, rows));
        if more && let Err(error) = sink.send_round() {
            self.acks.failed(error);
        }
    }
}

/// Why a record was refused, for the operator.
fn rejection(topic: &str, error: &KafkaError, key: Option<&[u8]>) -> Error {
    let key = key.map(|key| format!(" the record with key {}", shown(key))).unwrap_or_default();
    let refused = explain(&format!("writing{key} to topic {topic}"), error);
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::MessageSizeTooLarge) => Error::new(
            Kind::Data,
            format!(
                "{refused} ({}); raise max.message.bytes of the topic and properties.message.max.bytes",
                Reason::SinkRejected
            ),
        ),
        _ if refused.kind() == Kind::Transient => Error::new(Kind::External, refused.to_string()),
        _ => refused,
    }
}

/// Bytes of a key that a message shows.
const SHOWN_KEY_BYTES: usize = 200;

fn shown(key: &[u8]) -> String {
    let (start, rest) = key.split_at_checked(SHOWN_KEY_BYTES).unwrap_or((key, &[]));
    let more = if rest.is_empty() { "" } else { "…" };
    format!("{}{more}", String::from_utf8_lossy(start))
}

impl KafkaTopicSink {
    /// Connects and checks the topic.
    ///
    /// # Errors
    /// The topic does not exist, or the cluster refuses.
    pub fn open(table: &str, plan: &KafkaSink, environment: &Environment) -> Result<Self> {
        let clock = &environment.clock;
        let errors = ClientErrors::new(&format!("sink {table}"), clock.clone());
        let admin = kafka::admin(&plan.client, errors.clone())?;
        let go_on = || !environment.stopped();
        let topic = kafka::wait_for(&errors, clock, &go_on, || kafka::check_topic(&admin, &plan.topic))
            .map_err(|error| error.in_table(table, &format!("sink {table}")))?;
        let shards = (0..environment.shards).map(ShardId);
        let reports = Reports {
            topic: plan.topic.clone(),
            errors: errors.clone(),
            deliveries: shards.map(|shard| Deliveries::new(shard, environment.acks.clone())).collect(),
            acks: environment.acks.clone(),
            outstanding: AtomicU64::new(0),
            refused: AtomicBool::new(false),
            sink: OnceLock::new(),
            counts: Arc::clone(&environment.counts),
        };
        let producer = kafka::producer(&plan.client, &environment.name)
            .create_with_context(reports)
            .map_err(|error| explain(&format!("sink {table}"), &error))?;
        let shared = Arc::new(Shared {
            topic: plan.topic.clone(),
            producer: BatchProducer::new(producer, &plan.topic)?,
            partitions: AtomicI32::new(i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX)),
            errors,
            closing: AtomicBool::new(false),
            clock: clock.clone(),
            rounds: Mutex::new(Rounds::new(limits(plan))),
            sending: Mutex::new(Scratch::default()),
            stop: OnceLock::new(),
            losses: Arc::clone(&environment.losses),
            counts: Arc::clone(&environment.counts),
        });
        let _ = shared.producer.producer().context().sink.set(Arc::downgrade(&shared));
        let poller = std::thread::Builder::new()
            .name("sink-reports".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || poll_reports(&shared)
            })
            .map_err(|error| Error::bug(format!("starting a thread: {error}")))?;
        Ok(Self { shared, buffer: plan.buffer, poller: Some(poller) })
    }

    /// The writer of one shard.
    ///
    /// # Errors
    /// A shard that the environment did not announce (a bug).
    pub fn writer(&self, shard: ShardId, environment: &Environment) -> Result<Box<dyn Writer>> {
        let reports = self.shared.producer.producer().context();
        let deliveries = reports.deliveries.get(usize::from(shard.0)).map(Arc::clone);
        let _ = self.shared.stop.set(Arc::clone(&environment.stop));
        let writer = KafkaWriter {
            shared: Arc::clone(&self.shared),
            deliveries: deliveries.ok_or_else(|| Error::bug("a writer for an unknown shard"))?,
            shard,
            environment: environment.clone(),
            epoch: Epoch(1),
            losses: environment.losses(),
            dropped: false,
        };
        match self.buffer {
            None => Ok(Box::new(writer)),
            Some(limits) => Ok(Box::new(Buffered::new(Box::new(writer), limits, environment.clone()))),
        }
    }
}

impl Drop for KafkaTopicSink {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        if let Some(poller) = self.poller.take() {
            let _ = poller.join();
        }
    }
}

fn poll_reports(shared: &Shared) {
    let producer = shared.producer.producer();
    let mut asked = shared.clock.now();
    let mut counted = asked;
    while !shared.closing.load(Ordering::SeqCst) {
        producer.poll(POLL);
        if let Some(error) = shared.errors.fatal() {
            producer.context().acks.failed(error);
        }
        if COUNT_EVERY <= shared.clock.now() - counted {
            counted = shared.clock.now();
            shared.counts.waits(lock(&shared.rounds).rows());
        }
        let age = i64::try_from(METADATA_AGE.as_millis()).unwrap_or(i64::MAX);
        if age < shared.clock.now() - asked {
            asked = shared.clock.now();
            refresh_partitions(shared);
        }
    }
}

/// A topic that got more partitions is written to all of them, as by Java producers.
fn refresh_partitions(shared: &Shared) {
    let client = shared.producer.producer().client();
    let Ok(metadata) = client.fetch_metadata(Some(&shared.topic), POLL * 10) else { return };
    let count = metadata.topics().first().map_or(0, |topic| topic.partitions().len());
    if let Ok(count) = i32::try_from(count)
        && 0 < count
    {
        shared.partitions.store(count, Ordering::Relaxed);
    }
}

/// One shard's end.
struct KafkaWriter {
    shared: Arc<Shared>,
    deliveries: Arc<Deliveries>,
    shard: ShardId,
    environment: Environment,
    /// The epoch that rows belong to now.
    epoch: Epoch,
    /// Losses of partitions that the shard has heard of.
    losses: u64,
    /// Rows were left out because the process stops: no epoch is announced any more.
    dropped: bool,
}

impl KafkaWriter {
    /// Waits until few enough records are unacknowledged; false when the process stops meanwhile.
    fn wait_for_room(&self) -> bool {
        loop {
            let (rows, bytes) = {
                let rounds = lock(&self.shared.rounds);
                (rounds.rows(), rounds.waiting_bytes())
            };
            self.shared.counts.waits(rows);
            if rows < UNACKNOWLEDGED_MAX && bytes < WAITING_BYTES_MAX {
                return true;
            }
            if self.environment.stopped() {
                return false;
            }
            self.environment.wait(WAIT);
        }
    }
}

/// The rounds of which two fit the producer's queue, whatever a definition makes of it: the next round is handed
/// over while the last report of the one before is served, and librdkafka counts that one's records until then.
fn limits(plan: &KafkaSink) -> Limits {
    let setting = |name: &str| {
        let found = plan.client.settings.iter().find(|(known, _)| known == name);
        found.and_then(|(_, value)| value.expose().parse::<usize>().ok())
    };
    // librdkafka: 0 is no limit.
    let queue = setting("queue.buffering.max.messages").filter(|rows| *rows != 0).map(|rows| rows / 2);
    let rows = [queue, setting("batch.num.messages")].into_iter().flatten();
    let kbytes = setting("queue.buffering.max.kbytes").map(|kbytes| kbytes.saturating_mul(1024) / 2);
    let bytes = [kbytes, setting("batch.size")].into_iter().flatten();
    Limits { rows: rows.fold(ROUND_ROWS, usize::min), bytes: bytes.fold(ROUND_BYTES, usize::min) }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Hands the next round to the producer, if the last one is acknowledged. The queue has room for it then
    /// ([`limits`]), so this never waits. Once the process gives up nothing leaves: what waits may be another
    /// replica's to write by now.
    fn send_round(&self) -> Result<()> {
        let mut scratch = lock(&self.sending);
        if self.stop.get().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Ok(());
        }
        let (round, rows) = {
            let reports = self.producer.producer().context();
            let losses = self.losses.load(Ordering::SeqCst);
            let mut rounds = lock(&self.rounds);
            rounds.forget(losses, |ticket, rows| reports.acknowledged(ticket, rows));
            (rounds.begin(), rounds.in_flight())
        };
        if !round.is_empty() {
            self.producer.producer().context().outstanding.store(rows, Ordering::Release);
        }
        for piece in &round {
            let Payload::Records(records) = &piece.batch.payload else { continue };
            let records = records.get(piece.records.clone()).unwrap_or_default();
            self.send(&piece.batch.arena, records, piece.ticket, &mut scratch)?;
        }
        Ok(())
    }

    fn send(
        &self,
        arena: &[u8],
        records: &[EncodedRecord],
        ticket: usize,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let plain = |record: &EncodedRecord| record.timestamp.is_none() && record.headers.is_none();
        for run in records.chunk_by(|a, b| plain(a) == plain(b)) {
            if run.first().is_some_and(plain) {
                self.send_batch(arena, run, ticket, scratch)?;
            } else {
                run.iter().try_for_each(|record| self.send_one(arena, record, ticket))?;
            }
        }
        Ok(())
    }

    fn send_batch(
        &self,
        arena: &[u8],
        records: &[EncodedRecord],
        ticket: usize,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let partitions = self.partitions.load(Ordering::Relaxed);
        let outgoing = records.iter().map(|record| {
            let key = record.key.of(arena);
            let value = record.value.map(|value| value.of(arena));
            Outgoing { key, value, partition: kafka::partition_of(key, partitions) }
        });
        let sent = self.producer.send(outgoing, ticket, scratch);
        sent.map_err(|(refused, error)| {
            let key = records.get(refused).map(|record| record.key.of(arena));
            rejection(&self.topic, &error, key)
        })
    }

    /// The batch call knows neither headers nor timestamps.
    fn send_one(&self, arena: &[u8], record: &EncodedRecord, ticket: usize) -> Result<()> {
        let partitions = self.partitions.load(Ordering::Relaxed);
        let key = record.key.of(arena);
        let mut message = BaseRecord::<[u8], [u8], usize>::with_opaque_to(&self.topic, ticket)
            .partition(kafka::partition_of(key, partitions))
            .key(key);
        message.payload = record.value.map(|value| value.of(arena));
        message.timestamp = record.timestamp;
        message.headers = record.headers.as_deref().map(native_headers);
        let sent = self.producer.producer().send(message);
        sent.map_err(|(error, _)| rejection(&self.topic, &error, Some(key)))
    }
}

fn native_headers(headers: &[crate::model::Header]) -> OwnedHeaders {
    headers.iter().fold(OwnedHeaders::new_with_capacity(headers.len()), |list, header| {
        list.insert(rdkafka::message::Header { key: &header.key, value: header.value.as_deref() })
    })
}

impl Writer for KafkaWriter {
    fn write(&mut self, batch: OutputBatch) -> Result<()> {
        let Payload::Records(records) = &batch.payload else {
            return Err(Error::bug("the Kafka sink was given no records"));
        };
        if records.is_empty() || self.dropped {
            return Ok(());
        }
        if !self.wait_for_room() {
            self.dropped = true;
            return Ok(());
        }
        if self.losses < self.environment.losses() {
            return Ok(());
        }
        let slot = Deliveries::slot_of(self.epoch);
        let ticket = Ticket { shard: self.shard, slot }.pack();
        self.deliveries.sent(slot, records.len() as u64);
        if lock(&self.shared.rounds).add(batch, ticket, self.losses) {
            self.shared.send_round()?;
        }
        Ok(())
    }

    fn heard(&mut self, losses: u64) {
        self.losses = losses;
    }

    fn end_epoch(&mut self, epoch: Epoch) -> Result<()> {
        if self.dropped {
            return Ok(());
        }
        self.deliveries.end(epoch);
        self.epoch = Epoch(epoch.0 + 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Format, KafkaClient, RawOptions, Secret};

    fn limits_with(settings: &[(&str, &str)]) -> (usize, usize) {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value)));
        let raw = Format::Raw(RawOptions { big_endian: true });
        let Limits { rows, bytes } = limits(&KafkaSink {
            topic: "t".to_owned(),
            client: KafkaClient {
                bootstrap_servers: "localhost:9092".to_owned(),
                settings: settings.collect(),
            },
            key_format: raw.clone(),
            value_format: raw,
            value_includes_key: false,
            key_prefix: String::new(),
            timestamp_column: None,
            headers_column: None,
            value_columns: Vec::new(),
            buffer: None,
        });
        (rows, bytes)
    }

    #[test]
    fn two_rounds_fit_the_queue() {
        assert_eq!(limits_with(&[]), (ROUND_ROWS, ROUND_BYTES));
        assert_eq!(limits_with(&[("queue.buffering.max.messages", "100")]).0, 50);
        assert_eq!(limits_with(&[("queue.buffering.max.messages", "0")]).0, ROUND_ROWS, "no limit");
        assert_eq!(limits_with(&[("queue.buffering.max.kbytes", "100")]).1, 51_200);
    }

    #[test]
    fn a_long_key_is_shown_by_its_beginning() {
        assert_eq!(shown(br#"{"id":1}"#), r#"{"id":1}"#);
        let long = shown(&[b'x'; 1_000]);
        assert_eq!((long.chars().count(), long.ends_with('…')), (SHOWN_KEY_BYTES + 1, true));
    }
}
