//! Each stage of the data path by itself, on the rows of the benchmark's workload, per row.
//!
//! `cargo bench --bench stages` prints them; `cargo bench --bench stages -- decode` one of them. The stages are
//! called as a worker shard calls them, batch by batch, with everything that they keep from batch to batch. The time
//! is the thread's CPU time, so that a busy machine does not spoil the figures.

#![allow(
    missing_docs,
    clippy::expect_used,
    reason = "macros of criterion make undocumented functions; a benchmark that cannot be set up fails by panicking"
)]

#[path = "workload/orders.rs"]
#[expect(dead_code, reason = "shared with the whole-path benchmark, which uses all of it")]
mod orders;
#[path = "workload/random.rs"]
mod random;
#[path = "workload/tables.rs"]
mod tables;

use std::hint::black_box;
use std::sync::Arc;

use bumpalo::Bump;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rustix::time::{ClockId, clock_gettime};

use lookaside::config::{References, load_texts};
use lookaside::decode::{DecodedRows, Decoder, Op};
use lookaside::encode::Encoder;
use lookaside::keygroup::KeyGroups;
use lookaside::lookup::{DimensionRows, JoinBatch, LookupAnswer, LookupQuery, Lookups, Outgoing};
use lookaside::model::{
    Datum, Decimal, OutputBatch, PartitionTable, Record, RecordBatch, RowKind, ShardId, Slice, TopicPartition,
};
use lookaside::normalize::{Arrival, Changes, Incoming, Normalizer, Origin};
use lookaside::pipeline::{Effect, Input, Worker, router};
use lookaside::plan::{Plan, compile};
use lookaside::project::Projector;
use lookaside::state::{MemoryState, Shape};

use orders::{Orders, Users};

/// One allocator for all, as in the program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Rows of one pass: enough for 80,000 keys in state.
const ROWS: u64 = 200_000;
/// Records of a batch, as the source reads them under load.
const BATCH: usize = 2_000;
/// Any time will do: nothing expires.
const NOW: i64 = 1_748_736_000_000;

/// CPU time of the measuring thread, in nanoseconds.
struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = i64;
    type Value = i64;

    fn start(&self) -> i64 {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    }

    fn end(&self, started: i64) -> i64 {
        self.start() - started
    }

    fn add(&self, a: &i64, b: &i64) -> i64 {
        a + b
    }

    fn zero(&self) -> i64 {
        0
    }

    fn to_f64(&self, nanoseconds: &i64) -> f64 {
        *nanoseconds as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

const DEFINITION: &str = include_str!("workload/order-enrichment.yaml");

fn plan() -> Plan {
    let variable = |name: &str| {
        let value = match name {
            "BENCH_DATABASE_URL" => "mysql://localhost:3306/bench",
            "BENCH_BOUNDED_MODE" => "unbounded",
            "BENCH_KAFKA" => "localhost:9092",
            _ => name,
        };
        Some(value.to_owned())
    };
    let references = References::new(variable, |path| Err(format!("{path} is not there")));
    let definition = load_texts(&[("order-enrichment.yaml".to_owned(), DEFINITION.to_owned())], &references);
    compile(&definition.expect("the definition is read")).expect("the definition is valid")
}

/// The topic's records as the router leaves them, one shard, with amounts raised by `cents`.
fn record_batches(plan: &Plan, partitions: &PartitionTable, cents: u64) -> Vec<RecordBatch> {
    let groups = KeyGroups::new(1, None).expect("one shard is legal");
    let mut router = router(plan, groups).expect("the key can be hashed");
    let users = Users::new();
    let mut offsets = [0; orders::PARTITIONS as usize];
    let mut batches = vec![RecordBatch::default()];
    for mut order in Orders::new(&users, ROWS) {
        if let Some(values) = &mut order.values {
            values.cents += cents;
        }
        if batches.last().is_none_or(|batch| batch.records.len() == BATCH) {
            batches.push(RecordBatch::default());
        }
        let Some(batch) = batches.last_mut() else { continue };
        let start = batch.arena.len();
        order.write_key(&mut batch.arena);
        let key = Slice::since(&batch.arena, start);
        let start = batch.arena.len();
        order.write_value(&mut batch.arena);
        let value = order.values.is_some().then(|| Slice::since(&batch.arena, start));
        let bytes = key.of(&batch.arena).to_vec();
        let number = orders::partition_of(&bytes);
        let partition = partitions.intern(&TopicPartition { topic: Arc::from("orders"), partition: number });
        let routed = router.route(partition, Some(&bytes), &mut batch.arena).expect("keys are well-formed");
        let offset = &mut offsets[number as usize];
        batch.records.push(Record {
            partition,
            offset: *offset,
            timestamp: NOW,
            timestamp_type: 1,
            key: Some(key),
            value,
            routed_key: routed.key,
            group: routed.group,
            silent: false,
            doubt: false,
            headers: None,
        });
        *offset += 1;
    }
    batches
}

fn decoded_batches(plan: &Plan, partitions: &PartitionTable, batches: &[RecordBatch]) -> Vec<DecodedRows> {
    let mut decoder = Decoder::new(&plan.source, partitions.clone()).expect("the columns can be decoded");
    let decode = |batch: &RecordBatch| {
        let mut rows = DecodedRows::default();
        decoder.decode_batch(batch, &mut rows).expect("values are well-formed");
        rows
    };
    batches.iter().map(decode).collect()
}

/// Record key → primary key → hash → key group → shard.
fn key_group(c: &mut Criterion<CpuTime>) {
    let plan = plan();
    let partitions = PartitionTable::default();
    let batches = record_batches(&plan, &partitions, 0);
    let mut router = router(&plan, KeyGroups::new(2, None).expect("legal")).expect("the key can be hashed");
    let mut packed = Vec::new();
    let mut group = c.benchmark_group("key group");
    group.throughput(Throughput::Elements(BATCH as u64));
    let batch = &batches[batches.len() / 2];
    group.bench_function("key group", |b| {
        b.iter(|| {
            packed.clear();
            for record in &batch.records {
                let key = record.key.map(|key| key.of(&batch.arena));
                let routed = router.route(record.partition, key, &mut packed);
                black_box(routed.expect("keys are well-formed"));
            }
        });
    });
}

/// Value bytes → packed row.
fn decode(c: &mut Criterion<CpuTime>) {
    let plan = plan();
    let partitions = PartitionTable::default();
    let batches = record_batches(&plan, &partitions, 0);
    let mut decoder = Decoder::new(&plan.source, partitions).expect("the columns can be decoded");
    let mut rows = DecodedRows::default();
    let mut group = c.benchmark_group("decode");
    group.throughput(Throughput::Elements(BATCH as u64));
    let batch = &batches[batches.len() / 2];
    group.bench_function("decode", |b| {
        b.iter(|| {
            rows.clear();
            decoder.decode_batch(batch, &mut rows).expect("values are well-formed");
            black_box(rows.rows.len())
        });
    });
}

/// Packed row and state → change; the state grows from nothing to 80,000 keys.
fn normalize(c: &mut Criterion<CpuTime>) {
    let plan = plan();
    let partitions = PartitionTable::default();
    let batches = record_batches(&plan, &partitions, 0);
    let decoded = decoded_batches(&plan, &partitions, &batches);
    let normalize = plan.normalize.as_ref().expect("an upsert source is normalized");
    let setup = || {
        let state = Box::new(MemoryState::new(Shape { times: false, rows: false }));
        let normalizer = Normalizer::new(normalize, &plan.source, state, partitions.clone());
        let arenas: Vec<Changes> =
            decoded.iter().map(|rows| Changes { arena: rows.arena.clone(), list: Vec::new() }).collect();
        (normalizer, arenas)
    };
    let mut group = c.benchmark_group("normalize");
    group.throughput(Throughput::Elements(ROWS)).sample_size(10);
    let (mut located, mut places) = (Vec::new(), Vec::new());
    group.bench_function("normalize", |b| {
        b.iter_batched(
            setup,
            |(mut normalizer, mut arenas)| {
                for ((batch, rows), changes) in batches.iter().zip(&decoded).zip(&mut arenas) {
                    let keys = rows.rows.iter().map(|row| row.key.of(&changes.arena));
                    normalizer.locate(keys, &mut located, &mut places);
                    for (row, &located) in rows.rows.iter().zip(&located) {
                        let record = &batch.records[row.record as usize];
                        let incoming = if row.op == Op::Delete { Incoming::Delete } else { Incoming::Upsert };
                        let origin = Origin { partition: record.partition, offset: record.offset };
                        let arrival =
                            Arrival { incoming, key: row.key, row: row.row, origin, located, doubt: false };
                        normalizer.push(arrival, NOW, changes).expect("no key is in two partitions");
                    }
                }
                (normalizer, arenas)
            },
            BatchSize::PerIteration,
        );
    });
}

/// The packed row of a dimension table, as the database would give it.
fn dimension_row(plan: &Plan, lookup: usize, key: &[u8]) -> DimensionRows {
    let lookup = &plan.lookups[lookup];
    let Datum::Int(id) = lookup.key_layout().get(key, 0) else { return Vec::new() };
    let id = u32::try_from(id).expect("ids are small");
    let mut packed = Vec::new();
    let found = match lookup.table.as_str() {
        "users" => tables::user(id).map(|user| {
            lookup.layout().pack(&[Datum::Str(&user.name), Datum::Int(user.level)], &mut packed);
        }),
        _ => tables::product(id).map(|product| {
            let price = Datum::Decimal(Decimal::new(i128::from(product.cents), 2));
            lookup.layout().pack(&[Datum::Str(&product.title), price], &mut packed);
        }),
    };
    found.map(|()| Arc::from(packed)).into_iter().collect()
}

fn answer(plan: &Plan, query: &LookupQuery) -> LookupAnswer {
    let rows = query.keys.iter().map(|key| dimension_row(plan, query.lookup, key)).collect();
    LookupAnswer { lookup: query.lookup, id: query.id, rows: Ok(rows) }
}

/// Two lookups per row, all answered by the cache.
fn cached_lookup(c: &mut Criterion<CpuTime>) {
    let plan = plan();
    let partitions = PartitionTable::default();
    let batches = record_batches(&plan, &partitions, 0);
    let decoded = decoded_batches(&plan, &partitions, &batches);
    let groups = KeyGroups::new(1, None).expect("one shard is legal");
    let mut lookups = Lookups::new(&plan, ShardId(0), groups).expect("the keys can be built");
    let mut join = JoinBatch::default();
    let mut resolved = Vec::new();
    let mut id = 0;
    let mut run = |lookups: &mut Lookups, join: &mut JoinBatch, rows: &DecodedRows| {
        id += 1;
        join.reset(id, lookups.len());
        for row in rows.rows.iter().filter(|row| row.op == Op::Upsert) {
            join.push(row.row);
        }
        lookups.start(join, &rows.arena, NOW);
    };
    for rows in &decoded {
        run(&mut lookups, &mut join, rows);
        while !join.is_done() {
            let queries: Vec<Outgoing> = lookups.outgoing().collect();
            for outgoing in queries {
                let Outgoing::Query(query) = outgoing else { continue };
                lookups.answered(answer(&plan, &query), NOW, &mut resolved);
            }
            for answered in resolved.drain(..) {
                join.resolve(answered.number, answered.outcome);
            }
            lookups.advance(&mut join, &rows.arena, NOW);
        }
    }
    let mut group = c.benchmark_group("cached lookup");
    group.throughput(Throughput::Elements(BATCH as u64));
    let mut next = decoded.iter().cycle();
    group.bench_function("cached lookup", |b| {
        b.iter(|| {
            let Some(rows) = next.next() else { return };
            run(&mut lookups, &mut join, rows);
            assert!(join.is_done(), "every key is in the cache");
        });
    });
}

/// Joined row → output row → key and value bytes.
fn encode(c: &mut Criterion<CpuTime>) {
    let plan = plan();
    let partitions = PartitionTable::default();
    let batches = record_batches(&plan, &partitions, 0);
    let decoded = decoded_batches(&plan, &partitions, &batches);
    let rows = &decoded[decoded.len() / 2];
    let layout = plan.source.layout();
    let column =
        |name: &str| plan.source.columns.iter().position(|column| column.name == name).expect("a column");
    let ids = [column("user_id"), column("product_id")];
    let upserts = rows.rows.iter().filter(|row| row.op == Op::Upsert);
    let parts: Vec<[Vec<u8>; 3]> = upserts
        .map(|row| {
            let stream = row.row.of(&rows.arena);
            let dimension = |lookup: usize| {
                let mut key = Vec::new();
                plan.lookups[lookup].key_layout().pack(&[layout.get(stream, ids[lookup])], &mut key);
                dimension_row(&plan, lookup, &key).first().map(|row| row.to_vec()).unwrap_or_default()
            };
            [stream.to_vec(), dimension(0), dimension(1)]
        })
        .collect();
    let projector = Projector::new(&plan);
    let mut encoder = Encoder::new(&plan.sink, &plan.project).expect("the columns can be encoded");
    let mut arena = Bump::new();
    let mut group = c.benchmark_group("encode");
    group.throughput(Throughput::Elements(parts.len() as u64));
    group.bench_function("encode", |b| {
        b.iter(|| {
            let mut out = OutputBatch::default();
            for [stream, user, product] in &parts {
                arena.reset();
                let parts = arena.alloc([&stream[..], user, product]);
                let plain = projector.plain(parts);
                if plain.is_some_and(|row| encoder.encode_cells(RowKind::UpdateAfter, &row, &mut out)) {
                    continue;
                }
                let row = projector.filtered(parts, &arena).expect("no column can fail");
                let row = row.expect("every row passes");
                encoder.encode(RowKind::UpdateAfter, row, &mut out).expect("every value can be written");
            }
            out
        });
    });
}

/// Everything a worker shard does, from record bytes to record bytes: its cache knows every key, its state every
/// order, and every row is new.
fn shard(c: &mut Criterion<CpuTime>) {
    let plan = plan();
    let partitions = PartitionTable::default();
    let before = record_batches(&plan, &partitions, 0);
    let after = record_batches(&plan, &partitions, 1);
    let groups = KeyGroups::new(1, None).expect("one shard is legal");
    let feed = |worker: &mut Worker, batches: Vec<RecordBatch>| {
        let (mut effects, mut rows) = (Vec::new(), 0);
        for batch in batches {
            worker.handle(Input::Records(batch), NOW, &mut effects).expect("no record is faulty");
            while let Some(effect) = effects.pop() {
                match effect {
                    Effect::Query(query) => {
                        let answered = Input::Answer(answer(&plan, &query));
                        worker.handle(answered, NOW, &mut effects).expect("no answer is faulty");
                    }
                    Effect::Output(out) => rows += black_box(out).rows(),
                    _ => {}
                }
            }
        }
        rows
    };
    let setup = || {
        let mut worker =
            Worker::new(&plan, ShardId(0), groups, partitions.clone()).expect("the plan can be built");
        feed(&mut worker, before.clone());
        (worker, after.clone())
    };
    let mut group = c.benchmark_group("shard");
    group.throughput(Throughput::Elements(ROWS)).sample_size(10);
    group.bench_function("shard", |b| {
        b.iter_batched(
            setup,
            |(mut worker, batches)| {
                assert!(feed(&mut worker, batches) > ROWS * 99 / 100, "rows are missing");
                worker
            },
            BatchSize::PerIteration,
        );
    });
}

criterion_group! {
    name = stages;
    config = Criterion::default().with_measurement(CpuTime);
    targets = key_group, decode, normalize, cached_lookup, encode, shard
}
criterion_main!(stages);
