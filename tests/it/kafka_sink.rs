//! The upsert-kafka sink on a real broker: where records go, and when they count as safe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lookaside::clock::Clock;
use lookaside::db::Databases;
use lookaside::error::{Error, Kind, Result};
use lookaside::model::{EncodedRecord, Epoch, Header, OutputBatch, Payload, RowKind, ShardId, Slice};
use lookaside::plan::{Format, KafkaClient, KafkaSink, RawOptions, Secret};
use lookaside::sink::{Ack, AckReceiver, Acks, Environment, KafkaTopicSink, Writer};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::{stack, topic};

const LIMIT: Duration = Duration::from_secs(20);

struct Bench {
    sink: KafkaTopicSink,
    environment: Environment,
    acks: AckReceiver,
    _runtime: tokio::runtime::Runtime,
}

fn plan(topic: &str) -> KafkaSink {
    let raw = Format::Raw(RawOptions { big_endian: true });
    KafkaSink {
        topic: topic.to_owned(),
        client: KafkaClient { bootstrap_servers: stack::kafka(), settings: Vec::new() },
        key_format: raw.clone(),
        value_format: raw,
        value_includes_key: false,
        key_prefix: String::new(),
        timestamp_column: None,
        headers_column: None,
        value_columns: Vec::new(),
        buffer: None,
    }
}

impl Bench {
    fn open(plan: &KafkaSink) -> Result<Self> {
        let runtime = tokio::runtime::Runtime::new().expect("runtime");
        let (acks, receiver) = Acks::line(2);
        let environment = Environment {
            losses: Arc::default(),
            name: "sink-test".to_owned(),
            shards: 2,
            acks,
            clock: Clock::system(),
            runtime: runtime.handle().clone(),
            databases: Databases::default(),
            stop: Arc::new(AtomicBool::new(false)),
            pulse: Arc::default(),
            counts: Arc::default(),
        };
        let sink = KafkaTopicSink::open("sink", plan, &environment)?;
        Ok(Self { sink, environment, acks: receiver, _runtime: runtime })
    }

    fn writer(&self, shard: u16) -> Box<dyn Writer> {
        self.sink.writer(ShardId(shard), &self.environment).expect("writer")
    }

    /// Waits for the next acknowledgement.
    fn ack(&self) -> Result<(u16, u64)> {
        match self.acks.recv_timeout(LIMIT).expect("an acknowledgement") {
            Ack::Durable(shard, epoch) => Ok((shard.0, epoch.0)),
            Ack::Failed(error) => Err(error),
            Ack::Closed => panic!("closed"),
        }
    }
}

fn batch(rows: &[(&str, Option<&str>)]) -> OutputBatch {
    let mut arena = Vec::new();
    let records = rows.iter().map(|(key, value)| EncodedRecord {
        kind: if value.is_some() { RowKind::UpdateAfter } else { RowKind::Delete },
        key: Slice::append(&mut arena, key.as_bytes()),
        value: value.map(|value| Slice::append(&mut arena, value.as_bytes())),
        timestamp: None,
        headers: None,
    });
    let records = records.collect();
    OutputBatch { arena, payload: Payload::Records(records) }
}

/// librdkafka's `murmur2` partitioner is documented as Java-compatible; the sink has its own.
#[test]
fn records_go_where_a_java_producer_puts_them() {
    let (ours, theirs) = (topic::unique("ours"), topic::unique("theirs"));
    topic::create(&ours, 7);
    topic::create(&theirs, 7);
    let keys: Vec<String> = (0..1_000).map(|i| format!("{{\"order_id\":{}}}", i * 7_919)).collect();
    let rows: Vec<_> = keys.iter().map(|key| (key.as_str(), Some("v"))).collect();
    let bench = Bench::open(&plan(&ours)).expect("sink");
    let mut writer = bench.writer(0);
    writer.write(batch(&rows)).expect("write");
    writer.end_epoch(Epoch(1)).expect("end");
    assert_eq!(bench.ack().expect("ack"), (0, 1));
    let reference = topic::Writer::new(&theirs);
    keys.iter().for_each(|key| reference.send(key, Some("v")));
    reference.flush();
    let places = |topic: &str| {
        let mut places: Vec<_> =
            topic::read_all(topic).into_iter().map(|entry| (entry.key, entry.partition)).collect();
        places.sort();
        places
    };
    assert_eq!(places(&ours), places(&theirs));
}

#[test]
fn an_epoch_is_acknowledged_per_shard_when_everything_of_it_is_in_the_topic() {
    let name = topic::unique("acks");
    topic::create(&name, 2);
    let bench = Bench::open(&plan(&name)).expect("sink");
    let (mut first, mut second) = (bench.writer(0), bench.writer(1));
    first.write(batch(&[("a", Some("1")), ("b", Some("1"))])).expect("write");
    second.end_epoch(Epoch(1)).expect("end");
    assert_eq!(bench.ack().expect("ack"), (1, 1), "an empty epoch is safe at once");
    first.end_epoch(Epoch(1)).expect("end");
    assert_eq!(bench.ack().expect("ack"), (0, 1));
    assert_eq!(topic::read_all(&name).len(), 2);
    first.write(batch(&[("a", None)])).expect("write");
    first.end_epoch(Epoch(2)).expect("end");
    assert_eq!(bench.ack().expect("ack"), (0, 2));
    let view = topic::compacted(&topic::read_all(&name));
    assert_eq!(view.into_iter().collect::<Vec<_>>(), [("b".to_owned(), "1".to_owned())]);
}

/// They belong to other replicas, which may have written newer rows.
#[test]
fn rows_of_a_shard_that_has_not_heard_of_a_loss_are_left_out() {
    let (plain, buffered) = (topic::unique("lost-rows"), topic::unique("lost-rows-buffered"));
    for (name, buffer) in [(plain, None), (buffered, Some((100, Duration::from_secs(60))))] {
        topic::create(&name, 1);
        let bench = Bench::open(&KafkaSink { buffer, ..plan(&name) }).expect("sink");
        let (mut first, mut second) = (bench.writer(0), bench.writer(1));
        first.write(batch(&[("a", Some("1"))])).expect("write");
        first.end_epoch(Epoch(1)).expect("end");
        assert_eq!(bench.ack().expect("ack"), (0, 1));
        second.write(batch(&[("b", Some("before"))])).expect("write");
        bench.environment.losses.store(1, Ordering::SeqCst);
        first.write(batch(&[("a", Some("late"))])).expect("write");
        first.heard(1);
        second.heard(1);
        first.write(batch(&[("c", Some("2"))])).expect("write");
        first.end_epoch(Epoch(2)).expect("end");
        second.end_epoch(Epoch(1)).expect("end");
        let mut acks = [bench.ack().expect("ack"), bench.ack().expect("ack")];
        acks.sort_unstable();
        assert_eq!(acks, [(0, 2), (1, 1)], "what is left out counts as written");
        let mut view: Vec<_> = topic::compacted(&topic::read_all(&name)).into_iter().collect();
        view.retain(|(key, _)| key != "b" || buffer.is_some());
        assert_eq!(view, [("a".to_owned(), "1".to_owned()), ("c".to_owned(), "2".to_owned())]);
    }
}

#[test]
fn order_is_kept_when_plain_records_and_records_with_headers_alternate() {
    let name = topic::unique("headers");
    topic::create(&name, 1);
    let bench = Bench::open(&plan(&name)).expect("sink");
    let mut rows = batch(&[("a", Some("1")), ("a", Some("2")), ("a", None), ("a", Some("4"))]);
    if let Payload::Records(records) = &mut rows.payload {
        records[1].timestamp = Some(1_700_000_000_123);
        let headers = [
            Header { key: "trace".to_owned(), value: Some(b"xyz".to_vec()) },
            Header { key: "empty".to_owned(), value: None },
        ];
        records[2].headers = Some(Box::new(headers));
    }
    let mut writer = bench.writer(0);
    writer.write(rows).expect("write");
    writer.end_epoch(Epoch(1)).expect("end");
    bench.ack().expect("ack");
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", stack::kafka())
        .set("group.id", topic::unique("reader"))
        .create()
        .expect("consumer");
    let mut assignment = TopicPartitionList::new();
    assignment.add_partition_offset(&name, 0, Offset::Beginning).expect("assignment");
    consumer.assign(&assignment).expect("assign");
    let (mut read, deadline) = (Vec::new(), Instant::now() + LIMIT);
    while read.len() < 4 {
        assert!(Instant::now() < deadline);
        if let Some(message) = consumer.poll(Duration::from_millis(100)) {
            read.push(message.expect("message").detach());
        }
    }
    let values: Vec<_> = read.iter().map(|message| message.payload().map(<[u8]>::to_vec)).collect();
    assert_eq!(values, [Some(b"1".to_vec()), Some(b"2".to_vec()), None, Some(b"4".to_vec())]);
    assert_eq!(read[1].timestamp().to_millis(), Some(1_700_000_000_123));
    let headers = read[2].headers().expect("headers");
    assert_eq!(headers.get(0).value, Some(b"xyz".as_slice()));
    assert_eq!((headers.get(1).key, headers.get(1).value), ("empty", None));
}

/// Flink C.3: one record per key and flush.
#[test]
fn a_buffered_sink_sends_the_last_row_of_each_key_at_the_end_of_the_epoch() {
    let name = topic::unique("buffered");
    topic::create(&name, 1);
    let plan = KafkaSink { buffer: Some((100, Duration::from_secs(60))), ..plan(&name) };
    let bench = Bench::open(&plan).expect("sink");
    let mut writer = bench.writer(0);
    writer.write(batch(&[("a", Some("1")), ("b", Some("1")), ("a", Some("2"))])).expect("write");
    writer.write(batch(&[("b", None)])).expect("write");
    assert!(writer.deadline().is_some());
    writer.end_epoch(Epoch(1)).expect("end");
    bench.ack().expect("ack");
    let read: Vec<_> = topic::read_all(&name).into_iter().map(|entry| (entry.key, entry.value)).collect();
    assert_eq!(read, [("a".to_owned(), Some("2".to_owned())), ("b".to_owned(), None)]);
}

fn failure(result: Result<impl std::fmt::Debug>) -> Error {
    result.expect_err("a failure")
}

#[test]
fn a_missing_topic_is_named_at_start_and_not_created() {
    let name = topic::unique("absent");
    for _ in 0..2 {
        let error = failure(Bench::open(&plan(&name)).map(|_| ()));
        assert_eq!(error.kind(), Kind::External);
        assert!(error.to_string().contains(&name), "{error}");
    }
}

/// Refused by the broker: everything else of the epoch is delivered, the epoch never counts as safe.
#[test]
fn a_record_that_is_too_large_for_the_topic_stops_the_job() {
    let name = topic::unique("large");
    topic::create_with(&name, 1, &[("max.message.bytes", "2000")]);
    let bench = Bench::open(&plan(&name)).expect("sink");
    let mut writer = bench.writer(0);
    let large = "x".repeat(5_000);
    writer.write(batch(&[("a", Some(&large))])).expect("write");
    writer.end_epoch(Epoch(1)).expect("end");
    let error = failure(bench.ack());
    assert_eq!(error.kind(), Kind::Data);
    assert!(error.to_string().contains(&format!("the record with key a to topic {name}")), "{error}");
}

#[test]
fn a_record_that_is_too_large_for_the_client_stops_the_job() {
    let name = topic::unique("huge");
    topic::create(&name, 1);
    let mut plan = plan(&name);
    plan.client.settings = vec![("message.max.bytes".to_owned(), Secret::new("1000"))];
    let bench = Bench::open(&plan).expect("sink");
    let large = "x".repeat(5_000);
    let error = failure(bench.writer(0).write(batch(&[("a", Some("small")), ("b", Some(&large))])));
    assert_eq!(error.kind(), Kind::Data);
    assert!(error.to_string().contains(&format!("the record with key b to topic {name}")), "{error}");
}

/// Small queues: the next round is handed over while librdkafka still counts the last record of the one before.
#[test]
fn a_queue_of_few_records_does_not_hold_the_sink_up() {
    for (size, settings) in [("1", "1"), ("3", "1000"), ("0", "1000")] {
        let name = topic::unique("narrow");
        topic::create(&name, 2);
        let mut plan = plan(&name);
        plan.client.settings = vec![
            ("queue.buffering.max.messages".to_owned(), Secret::new(size)),
            ("batch.num.messages".to_owned(), Secret::new(settings)),
        ];
        let bench = Bench::open(&plan).expect("sink");
        let mut writer = bench.writer(0);
        let keys: Vec<String> = (0..20).map(|key| key.to_string()).collect();
        let rows: Vec<_> = keys.iter().map(|key| (key.as_str(), Some("v"))).collect();
        writer.write(batch(&rows)).expect("write");
        writer.end_epoch(Epoch(1)).expect("end");
        assert_eq!(bench.ack().expect("delivered"), (0, 1), "queue of {size}");
        assert_eq!(topic::read_all(&name).len(), rows.len());
    }
}

/// Rows that were left out because the process gave up never count as safe.
#[test]
fn an_epoch_whose_rows_were_left_out_is_never_announced() {
    let name = topic::unique("left-out");
    topic::create(&name, 1);
    let bench = Bench::open(&plan(&name)).expect("sink");
    let mut writer = bench.writer(0);
    let keys: Vec<String> = (0..150_000).map(|key| key.to_string()).collect();
    let rows: Vec<_> = keys.iter().map(|key| (key.as_str(), Some("v"))).collect();
    bench.environment.stop.store(true, Ordering::SeqCst);
    writer.write(batch(&rows)).expect("taken, not sent");
    writer.end_epoch(Epoch(1)).expect("end");
    writer.write(batch(&rows[..1])).expect("left out");
    bench.environment.stop.store(false, Ordering::SeqCst);
    writer.end_epoch(Epoch(2)).expect("end");
    assert!(bench.acks.recv_timeout(Duration::from_millis(500)).is_err());
    assert_eq!(topic::read_all(&name).len(), 0, "nothing leaves once the process gives up");
}
