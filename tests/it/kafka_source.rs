//! The source on a real broker: groups without gaps, rebuilds, beginnings and ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lookaside::clock::{Clock, Millis};
use lookaside::error::{Kind, Result, RowFault};
use lookaside::model::{PartitionId, PartitionTable, ShardId, Slice};
use lookaside::plan::{
    Bounded, EmptyValue, Format, KafkaClient, RawOptions, SourceKind, SourcePlan, Startup, Topics,
};
use lookaside::source::{Destination, Environment, Happening, Route, Source, Splitter};
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::{stack, topic};

const LIMIT: Duration = Duration::from_secs(40);

fn plan(topic: &str, kind: SourceKind) -> SourcePlan {
    SourcePlan {
        table: "t".to_owned(),
        kind,
        topics: Topics::List(vec![topic.to_owned()]),
        discovery: Millis::MAX,
        client: KafkaClient { bootstrap_servers: stack::kafka(), settings: Vec::new() },
        group_id: format!("group-of-{topic}"),
        startup: Startup::Earliest,
        bounded: Bounded::Unbounded,
        key_format: None,
        value_format: Format::Raw(RawOptions { big_endian: true }),
        value_includes_key: true,
        key_prefix: String::new(),
        physical_arity: 1,
        physical: Vec::new(),
        key_columns: Vec::new(),
        columns: Vec::new(),
        key_mismatch_is_error: false,
        on_empty_value: EmptyValue::Error,
        lossy_conversion: false,
    }
}

/// Every record goes to the only shard, without a key.
struct ToOneShard;

impl Route for ToOneShard {
    fn route(
        &mut self,
        _partition: PartitionId,
        _key: Option<&[u8]>,
        _arena: &mut Vec<u8>,
    ) -> Result<Destination, RowFault> {
        Ok(Destination { shard: ShardId(0), group: 0, key: Slice::default() })
    }
}

/// A member of the group that commits what it has read, as the runtime does.
struct Member {
    source: Source,
    splitter: Splitter,
    table: PartitionTable,
    /// Partition and offset of each record, and whether it was silent.
    rows: Vec<(i32, i64, bool)>,
    owned: BTreeSet<i32>,
    next: BTreeMap<i32, i64>,
}

impl Member {
    fn open(plan: &SourcePlan) -> Result<Self> {
        let table = PartitionTable::default();
        let environment = Environment {
            clock: Clock::system(),
            table: table.clone(),
            instance: None,
            stop: Arc::new(AtomicBool::new(false)),
        };
        let source = Source::open(plan, environment)?;
        let splitter = Splitter::new(Box::new(ToOneShard), 1, false);
        Ok(Self { source, splitter, table, rows: Vec::new(), owned: BTreeSet::new(), next: BTreeMap::new() })
    }

    fn new(plan: &SourcePlan) -> Self {
        Self::open(plan).expect("source")
    }

    fn number(&self, id: PartitionId) -> i32 {
        self.table.name(id).expect("known").partition
    }

    fn step(&mut self) -> Result<()> {
        for happening in self.source.poll()? {
            match happening {
                Happening::Assigned(partitions) => {
                    for partition in partitions {
                        let number = self.number(partition.id);
                        self.owned.insert(number);
                        if let Some(begin) = partition.begins_at {
                            self.next.insert(number, begin);
                        }
                    }
                }
                Happening::Revoke(partitions) => {
                    self.commit();
                    for partition in &partitions {
                        self.owned.remove(&self.number(*partition));
                        self.next.remove(&self.number(*partition));
                    }
                    self.source.release(&partitions)?;
                }
                Happening::Lost(partitions) => panic!("lost {partitions:?}"),
                Happening::Committed(ok) => assert!(ok, "commit"),
            }
        }
        self.source.read(Duration::from_millis(5), &mut self.splitter)?;
        for (shard, batch) in self.splitter.take() {
            assert_eq!(shard, ShardId(0));
            for record in batch.records {
                let number = self.table.name(record.partition).expect("known").partition;
                self.rows.push((number, record.offset, record.silent));
            }
        }
        for (id, next) in self.source.touched().to_vec() {
            self.next.insert(self.number(id), next);
        }
        Ok(())
    }

    /// Commits what was read and waits for the answer.
    fn commit(&mut self) {
        if self.next.is_empty() {
            return;
        }
        let id = |number: i32| {
            self.source.status().iter().find(|status| status.name.partition == number).map(|status| status.id)
        };
        let offsets: Vec<_> =
            self.next.iter().filter_map(|(number, next)| Some((id(*number)?, *next))).collect();
        self.source.commit(&offsets).expect("commit");
        let deadline = Instant::now() + LIMIT;
        while Instant::now() < deadline {
            match self.source.poll().expect("poll").as_slice() {
                [] => {}
                [Happening::Committed(true)] => return,
                other => panic!("{other:?} while committing"),
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("no answer to a commit");
    }

    fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + LIMIT;
        while !done(self) {
            assert!(
                Instant::now() < deadline,
                "{what}: {:?}, {} rows",
                self.source.status(),
                self.rows.len()
            );
            self.step().expect("step");
        }
    }

    fn run_to_end(mut self) -> Vec<(i32, i64, bool)> {
        let deadline = Instant::now() + LIMIT;
        while !self.source.is_at_end().expect("end") {
            assert!(Instant::now() < deadline, "no end: {:?}", self.source.status());
            self.step().expect("step");
        }
        self.commit();
        self.source.leave();
        self.rows
    }
}

/// Offsets by partition, each once and in order.
fn offsets(rows: &[(i32, i64, bool)]) -> BTreeMap<i32, Vec<i64>> {
    let mut by_partition = BTreeMap::<i32, Vec<i64>>::new();
    for (partition, offset, _) in rows {
        by_partition.entry(*partition).or_default().push(*offset);
    }
    by_partition
}

fn fill(name: &str, partitions: i32, each: i32) {
    let writer = topic::Writer::new(name);
    for partition in 0..partitions {
        for i in 0..each {
            writer.send_to(Some(partition), Some(format!("k{i}").as_bytes()), Some(b"v"));
        }
    }
    writer.flush();
}

/// Two members share four partitions while records keep coming; each offset is read once.
#[test]
fn two_members_read_every_offset_once_through_rebalances() {
    let name = topic::unique("group");
    topic::create(&name, 4);
    fill(&name, 4, 3_000);
    let plan = plan(&name, SourceKind::Kafka);
    let mut a = Member::new(&plan);
    a.until("all for one", |a| a.owned.len() == 4 && 12_000 <= a.rows.len());
    // Both stand at the ends of partitions, whose events librdkafka counts as records.
    let mut b = Member::new(&plan);
    let deadline = Instant::now() + LIMIT;
    while b.owned.len() != 2 || a.owned.len() != 2 {
        assert!(Instant::now() < deadline, "two each: {:?} {:?}", a.owned, b.owned);
        a.step().expect("a");
        b.step().expect("b");
    }
    fill(&name, 4, 500);
    while a.rows.len() + b.rows.len() < 14_000 {
        assert!(Instant::now() < deadline, "{} + {}", a.rows.len(), b.rows.len());
        a.step().expect("a");
        b.step().expect("b");
    }
    a.commit();
    let rows_of_a = std::mem::take(&mut a.rows);
    a.source.leave();
    b.until("all for the other", |b| b.owned.len() == 4);
    fill(&name, 4, 250);
    b.until("the rest", |b| 15_000 <= rows_of_a.len() + b.rows.len());
    let mut all = rows_of_a;
    all.extend(&b.rows);
    all.sort_unstable();
    let expected: BTreeMap<i32, Vec<i64>> = (0..4).map(|p| (p, (0..3_750).collect())).collect();
    assert_eq!(offsets(&all), expected);
    b.source.leave();
}

/// The end of a partition is an event at the position of the next record.
#[test]
fn no_record_is_skipped_when_a_rebalance_follows_the_end_of_a_partition() {
    let name = topic::unique("eof");
    topic::create(&name, 2);
    fill(&name, 2, 1);
    let plan = plan(&name, SourceKind::Kafka);
    let mut a = Member::new(&plan);
    a.until("the first", |a| a.rows.len() == 2);
    for round in 1..4 {
        // Time for the event to be read.
        let settle = Instant::now() + Duration::from_millis(300);
        while Instant::now() < settle {
            a.step().expect("a");
        }
        let mut b = Member::new(&plan);
        let deadline = Instant::now() + LIMIT;
        while b.owned.is_empty() || a.owned.len() != 1 {
            assert!(Instant::now() < deadline);
            a.step().expect("a");
            b.step().expect("b");
        }
        b.source.leave();
        a.until("all again", |a| a.owned.len() == 2);
        fill(&name, 2, 1);
        a.until("the next", |a| 2 * (round + 1) <= a.rows.len());
    }
    a.rows.sort_unstable();
    assert_eq!(offsets(&a.rows), BTreeMap::from([(0, vec![0, 1, 2, 3]), (1, vec![0, 1, 2, 3])]));
    a.source.leave();
}

#[test]
fn an_upsert_source_is_read_silently_up_to_the_committed_offset() {
    let name = topic::unique("rebuild");
    topic::create(&name, 1);
    fill(&name, 1, 5);
    let plan = plan(&name, SourceKind::UpsertKafka);
    let mut first = Member::new(&plan);
    first.until("five", |m| m.rows.len() == 5);
    assert!(first.rows.iter().all(|(.., silent)| !silent), "nothing was committed before");
    first.commit();
    first.source.leave();
    fill(&name, 1, 2);
    let mut second = Member::new(&plan);
    assert!(!second.source.is_restored());
    second.until("seven", |m| m.rows.len() == 7);
    let silent: Vec<_> = second.rows.iter().map(|(.., silent)| *silent).collect();
    assert_eq!(silent, [true, true, true, true, true, false, false]);
    assert!(second.source.is_restored());
    second.source.leave();
}

/// A transaction ends in a marker: an offset that no reader sees, here the last one.
fn in_transaction(name: &str, count: i32, commit: bool) {
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", stack::kafka())
        .set("transactional.id", topic::unique("tx"))
        .create()
        .expect("producer");
    producer.init_transactions(LIMIT).expect("init");
    producer.begin_transaction().expect("begin");
    for i in 0..count {
        let key = format!("k{i}");
        let record = BaseRecord::<str, str>::to(name).key(&key).payload("v").partition(0);
        producer.send(record).map_err(|(error, _)| error).expect("send");
    }
    producer.flush(LIMIT).expect("flush");
    if commit { producer.commit_transaction(LIMIT) } else { producer.abort_transaction(LIMIT) }.expect("end");
}

#[test]
fn markers_and_aborted_rows_hold_up_neither_restore_nor_end() {
    let name = topic::unique("markers");
    topic::create(&name, 1);
    in_transaction(&name, 3, true);
    in_transaction(&name, 2, false);
    let mut plan = plan(&name, SourceKind::UpsertKafka);
    plan.bounded = Bounded::Latest;
    // Offsets 0-2 and marker 3, then 4-5 and marker 6.
    assert_eq!(offsets(&Member::new(&plan).run_to_end()), BTreeMap::from([(0, vec![0, 1, 2])]));
    let again = Member::new(&plan).run_to_end();
    assert_eq!(again, [(0, 0, true), (0, 1, true), (0, 2, true)]);
    plan.bounded = Bounded::Unbounded;
    let mut open = Member::new(&plan);
    open.until("restored", |m| m.source.is_restored());
    assert_eq!(open.source.status().first().map(|status| status.position), Some(7));
    open.source.leave();
}

#[test]
fn every_bounded_mode_ends_where_flink_ends() {
    let name = topic::unique("bounded");
    topic::create(&name, 3);
    fill(&name, 2, 5);
    let bounded = |bounded: Bounded| {
        let mut plan = plan(&name, SourceKind::Kafka);
        plan.group_id = topic::unique("group");
        plan.bounded = bounded;
        offsets(&Member::new(&plan).run_to_end())
    };
    let all = BTreeMap::from([(0, vec![0, 1, 2, 3, 4]), (1, vec![0, 1, 2, 3, 4])]);
    assert_eq!(bounded(Bounded::Latest), all, "the third partition is empty");
    assert_eq!(bounded(Bounded::Timestamp(i64::from(i32::MAX) * 1_000)), all, "no record is that late");
    assert_eq!(bounded(Bounded::Timestamp(1)), BTreeMap::new(), "every record is later");
    assert_eq!(bounded(Bounded::SpecificOffsets(vec![(0, 2)])), BTreeMap::from([(0, vec![0, 1])]));
}

#[test]
fn a_bounded_run_by_group_offsets_needs_them() {
    let name = topic::unique("bounded-group");
    topic::create(&name, 1);
    fill(&name, 1, 3);
    let mut plan = plan(&name, SourceKind::Kafka);
    plan.bounded = Bounded::GroupOffsets;
    let error = Member::open(&plan).err().expect("no committed offset");
    assert_eq!(error.kind(), Kind::External, "{error}");
    plan.bounded = Bounded::Latest;
    Member::new(&plan).run_to_end();
    plan.bounded = Bounded::GroupOffsets;
    assert_eq!(Member::new(&plan).run_to_end(), []);
}

/// A member without partitions ends when the others have.
#[test]
fn a_bounded_run_ends_for_members_without_partitions() {
    let name = topic::unique("idle");
    topic::create(&name, 1);
    fill(&name, 1, 100);
    let mut plan = plan(&name, SourceKind::Kafka);
    plan.bounded = Bounded::Latest;
    let mut busy = Member::new(&plan);
    busy.until("some", |m| !m.rows.is_empty());
    let mut idle = Member::new(&plan);
    let settle = Instant::now() + Duration::from_secs(5);
    while Instant::now() < settle {
        busy.step().expect("busy");
        idle.step().expect("idle");
        assert!(idle.owned.is_empty() || busy.owned.is_empty());
    }
    let (busy, idle) = if busy.owned.is_empty() { (idle, busy) } else { (busy, idle) };
    busy.run_to_end();
    assert!(idle.run_to_end().is_empty());
}

#[test]
fn an_append_source_begins_where_flink_begins() {
    let name = topic::unique("startup");
    topic::create(&name, 1);
    fill(&name, 1, 4);
    let run = |startup: Startup, group: &str| {
        let mut plan = plan(&name, SourceKind::Kafka);
        plan.group_id = group.to_owned();
        plan.startup = startup;
        plan.bounded = Bounded::Latest;
        Member::new(&plan).run_to_end().len()
    };
    assert_eq!(run(Startup::Earliest, &topic::unique("g")), 4);
    assert_eq!(run(Startup::SpecificOffsets(vec![(0, 3)]), &topic::unique("g")), 1);
    let latest = topic::unique("g");
    assert_eq!(run(Startup::Latest, &latest), 0);
    fill(&name, 1, 2);
    assert_eq!(run(Startup::Latest, &latest), 2, "the job goes on where it began, though it saw no row");
    let none = GROUP_OFFSETS_WITHOUT_RESET;
    let mut plan = plan(&name, SourceKind::Kafka);
    plan.startup = none;
    let mut member = Member::new(&plan);
    let deadline = Instant::now() + LIMIT;
    let error = loop {
        assert!(Instant::now() < deadline);
        if let Err(error) = member.step() {
            break error;
        }
    };
    assert_eq!(error.kind(), Kind::External);
    assert!(error.to_string().contains("auto.offset.reset"), "{error}");
    member.source.leave();
}

const GROUP_OFFSETS_WITHOUT_RESET: Startup = Startup::GroupOffsets { reset_to_earliest: None };

#[test]
fn a_missing_topic_is_named_at_start() {
    let name = topic::unique("missing");
    let error = Member::open(&plan(&name, SourceKind::Kafka)).err().expect("missing");
    assert_eq!(error.kind(), Kind::External);
    assert!(error.to_string().contains(&name), "{error}");
    let near = format!("{name}-orders");
    topic::create(&near, 1);
    let error = Member::open(&plan(&format!("{name}-order"), SourceKind::Kafka)).err().expect("missing");
    assert!(error.to_string().ends_with(&format!("; did you mean '{near}'?")), "{error}");
    let mut pattern = plan(&name, SourceKind::Kafka);
    pattern.topics = Topics::Pattern(format!("{name}_.*"));
    let error = Member::open(&pattern).err().expect("no match");
    assert_eq!(error.kind(), Kind::External);
}

#[test]
fn a_pattern_matches_whole_names() {
    let name = topic::unique("pattern");
    for suffix in ["-a", "-b", "-a-not"] {
        topic::create(&format!("{name}{suffix}"), 1);
        fill(&format!("{name}{suffix}"), 1, 1);
    }
    let mut plan = plan(&name, SourceKind::Kafka);
    plan.topics = Topics::Pattern(format!("{name}-[ab]"));
    plan.bounded = Bounded::Latest;
    assert_eq!(Member::new(&plan).run_to_end().len(), 2);
}

#[test]
fn a_topic_that_comes_later_is_found_when_the_interval_is_over() {
    let name = topic::unique("late-topic");
    let [first, late] = ["a", "b"].map(|suffix| format!("{name}-{suffix}"));
    topic::create(&first, 1);
    fill(&first, 1, 1);
    let mut plan = plan(&name, SourceKind::Kafka);
    plan.topics = Topics::Pattern(format!("{name}-[ab]"));
    plan.discovery = 300;
    let mut member = Member::new(&plan);
    member.until("the first topic", |member| !member.rows.is_empty());
    topic::create(&late, 1);
    fill(&late, 1, 2);
    member.until("the late topic", |member| member.rows.len() == 3);
    member.source.leave();
}
