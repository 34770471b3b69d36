//! One stream through the workers of one replica, as a source would hand it to them, with a database in memory.
//!
//! Records come in reads, split by the router as in the program. After each read the shards' messages are delivered,
//! then statements are answered in the order in which they were sent, until nothing is on its way: a database that answers
//! between two reads. Time stands still, so nothing expires.

use std::collections::VecDeque;
use std::sync::Arc;

use lookaside::config::{References, load_texts};
use lookaside::keygroup::KeyGroups;
use lookaside::lookup::LookupCounters;
use lookaside::model::{Datum, PartitionTable, Record, RecordBatch, ShardId, Slice, TopicPartition};
use lookaside::pipeline::{Effect, Input, LookupAnswer, LookupQuery, PeerMessage, Worker, router};
use lookaside::plan::{Plan, compile};
use lookaside::route::Router;

use super::random::Random;

/// Any time will do.
const NOW: i64 = 1_748_736_000_000;

/// How the lookup is set up.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Worker shards of the replica.
    pub shards: u16,
    /// `lookup.enable_hash`.
    pub hashed: bool,
    /// `lookup.partial-cache.max-rows`.
    pub max_rows: u64,
}

/// Orders with ids of their own, whose users follow Zipf's law with exponent 1.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Orders.
    pub rows: u64,
    /// Distinct users; each is in the dimension table.
    pub users: u32,
    /// Orders of one read.
    pub read: u64,
}

/// Sends the stream through a replica; what each shard has counted.
pub fn measure(setting: Setting, stream: Stream) -> Vec<LookupCounters> {
    let plan = plan(setting);
    let mut replica = Replica::new(&plan, setting.shards);
    let (zipf, mut random) = (Zipf::new(stream.users), Random::new(7));
    let mut next = 0;
    while next < stream.rows {
        let end = (next + stream.read).min(stream.rows);
        replica.read((next..end).map(|order| (order, zipf.rank(random.fraction()))));
        next = end;
    }
    let counted = replica.workers.iter().map(|worker| worker.counters().lookups[0]);
    counted.collect()
}

fn plan(setting: Setting) -> Plan {
    let Setting { hashed, max_rows, .. } = setting;
    let text = format!(
        "name: hashed-lookups
tables:
  orders:
    connector: upsert-kafka
    topic: orders
    properties.bootstrap.servers: localhost:9092
    key.format: json
    value.format: json
    columns: [order_id BIGINT NOT NULL, user_id INT, PRIMARY KEY (order_id) NOT ENFORCED]
  users:
    connector: mysql
    url: mysql://localhost:3306/shop
    table-name: users
    columns: [id INT NOT NULL, name STRING, PRIMARY KEY (id) NOT ENFORCED]
    lookup.enable_hash: {hashed}
    lookup.cache: PARTIAL
    lookup.partial-cache.max-rows: {max_rows}
  enriched: {{connector: blackhole}}
pipeline:
  from: orders
  lookup: [{{table: users, as: u, condition: u.id = orders.user_id}}]
  select: [orders.order_id, u.name]
  into: enriched
"
    );
    let references = References::new(|_| None, |path| Err(format!("{path} is not there")));
    let definition = load_texts(&[("hashed-lookups.yaml".to_owned(), text)], &references);
    compile(&definition.expect("the definition is read")).expect("the definition is valid")
}

/// Ranks by Zipf's law: rank r has weight 1 / (r + 1).
struct Zipf {
    cumulated: Vec<f64>,
}

impl Zipf {
    fn new(ranks: u32) -> Self {
        let mut sum = 0.0;
        let cumulated = (1..=ranks).map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        });
        Self { cumulated: cumulated.collect() }
    }

    fn rank(&self, fraction: f64) -> usize {
        let sum = self.cumulated.last().copied().unwrap_or_default();
        self.cumulated.partition_point(|below| *below <= fraction * sum)
    }
}

/// The workers of one replica and what is on its way between them.
struct Replica<'a> {
    plan: &'a Plan,
    router: Router,
    partitions: PartitionTable,
    workers: Vec<Worker>,
    messages: VecDeque<(ShardId, ShardId, PeerMessage)>,
    statements: VecDeque<(ShardId, LookupQuery)>,
}

impl<'a> Replica<'a> {
    fn new(plan: &'a Plan, shards: u16) -> Self {
        let groups = KeyGroups::new(shards, None).expect("so many shards are legal");
        let partitions = PartitionTable::default();
        let worker = |shard| Worker::new(plan, ShardId(shard), groups, partitions.clone());
        Self {
            plan,
            router: router(plan, groups).expect("the key can be hashed"),
            workers: (0..shards).map(|shard| worker(shard).expect("the plan can be built")).collect(),
            partitions,
            messages: VecDeque::new(),
            statements: VecDeque::new(),
        }
    }

    fn read(&mut self, orders: impl Iterator<Item = (u64, usize)>) {
        let mut batches: Vec<RecordBatch> = self.workers.iter().map(|_| RecordBatch::default()).collect();
        let topic = TopicPartition { topic: Arc::from("orders"), partition: 0 };
        let partition = self.partitions.intern(&topic);
        let mut routed = Vec::new();
        for (order, user) in orders {
            let key = format!("{{\"order_id\":{order}}}");
            let value = format!("{{\"order_id\":{order},\"user_id\":{user}}}");
            routed.clear();
            let to = self
                .router
                .route(partition, Some(key.as_bytes()), &mut routed)
                .expect("keys are well-formed");
            let batch = &mut batches[usize::from(to.shard.0)];
            batch.records.push(Record {
                partition,
                offset: i64::try_from(order).expect("few orders"),
                timestamp: NOW,
                timestamp_type: 1,
                key: Some(Slice::append(&mut batch.arena, key.as_bytes())),
                value: Some(Slice::append(&mut batch.arena, value.as_bytes())),
                routed_key: Slice::append(&mut batch.arena, to.key.of(&routed)),
                group: to.group,
                silent: false,
                doubt: false,
                headers: None,
            });
        }
        for (shard, batch) in (0..).map(ShardId).zip(batches) {
            self.give(shard, Input::Records(batch));
        }
        self.settle();
    }

    fn give(&mut self, shard: ShardId, input: Input) {
        let mut effects = Vec::new();
        let worker = &mut self.workers[usize::from(shard.0)];
        worker.handle(input, NOW, &mut effects).expect("no record and no answer is faulty");
        for effect in effects {
            match effect {
                Effect::Query(query) => self.statements.push_back((shard, query)),
                Effect::ToShard(to, message) => self.messages.push_back((shard, to, message)),
                Effect::Output(_) | Effect::Passed(_) => {}
            }
        }
    }

    fn settle(&mut self) {
        loop {
            if let Some((from, to, message)) = self.messages.pop_front() {
                self.give(to, Input::Peer(from, message));
            } else if let Some((shard, query)) = self.statements.pop_front() {
                let answer = answer(self.plan, &query);
                self.give(shard, Input::Answer(answer));
            } else {
                return;
            }
        }
    }
}

/// Every user is there, and is called by its number.
fn answer(plan: &Plan, query: &LookupQuery) -> LookupAnswer {
    let (key_layout, layout) = (plan.lookups[0].key_layout(), plan.lookups[0].layout());
    let row = |key: &[u8]| {
        let Datum::Int(id) = key_layout.get(key, 0) else { panic!("the key is an INT") };
        let mut packed = Vec::new();
        layout.pack(&[Datum::Str(&format!("user-{id}"))], &mut packed);
        vec![Arc::from(packed)]
    };
    LookupAnswer {
        lookup: query.lookup,
        id: query.id,
        rows: Ok(query.keys.iter().map(|key| row(key)).collect()),
    }
}
