//! The whole path on the real broker and database: replicas come, go and die,
//! and the sink topic's compacted view equals an independent fold of the input.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::database::Database;
use crate::replica::Replica;
use crate::topic::{self, Writer};

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

const USERS: u64 = 500;
const PRODUCTS: u64 = 200;

/// Every 50th user and every 20th product is missing.
fn user_name(id: u64) -> Option<String> {
    (id < USERS && !id.is_multiple_of(50)).then(|| format!("user-{id}"))
}

fn product_title(id: u64) -> Option<String> {
    (id < PRODUCTS && !id.is_multiple_of(20)).then(|| format!("product-{id}"))
}

/// One order as the stream has it.
#[derive(Clone, Copy)]
struct Order {
    user: u64,
    product: u64,
    amount: u64,
}

struct World {
    folder: tempfile::TempDir,
    source: String,
    sink: String,
    database: Database,
    writer: Writer,
    random: Random,
    /// The independent fold: live orders by id.
    orders: BTreeMap<u64, Order>,
    sent: u64,
}

impl World {
    fn new(name: &str) -> Self {
        let (source, sink) = (topic::unique(name), topic::unique(&format!("{name}-sink")));
        topic::create(&source, 4);
        topic::create(&sink, 4);
        let database = Database::new(&name.replace('-', "_"));
        fill(&database, "users", "name", USERS, user_name);
        fill(&database, "products", "title", PRODUCTS, product_title);
        let (writer, random) = (Writer::new(&source), Random(0x9E37_79B9_7F4A_7C15));
        let folder = tempfile::tempdir().expect("folder");
        Self { folder, source, sink, database, writer, random, orders: BTreeMap::new(), sent: 0 }
    }

    /// The definition of this world's job.
    fn definition(&self) -> PathBuf {
        let address = crate::stack::mysql();
        let (source, sink, database) = (&self.source, &self.sink, &self.database.name);
        let kafka = crate::stack::kafka();
        let text = format!(
            "name: {source}
tables:
  orders:
    connector: upsert-kafka
    topic: {source}
    properties.bootstrap.servers: {kafka}
    properties.session.timeout.ms: 6000
    key.format: json
    value.format: json
    columns: [order_id BIGINT NOT NULL, user_id INT, product_id INT, amount BIGINT, PRIMARY KEY (order_id) NOT ENFORCED]
  users:
    connector: mysql
    url: mysql://{address}/{database}
    username: root
    password: ''
    table-name: users
    columns: [id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED]
    lookup.enable_hash: true
    lookup.cache: PARTIAL
    lookup.partial-cache.max-rows: 100
    lookup.partial-cache.expire-after-write: 1 min
  products:
    connector: mysql
    url: mysql://{address}/{database}
    username: root
    password: ''
    table-name: products
    columns: [id INT, title STRING, PRIMARY KEY (id) NOT ENFORCED]
    lookup.cache: PARTIAL
    lookup.partial-cache.max-rows: 1000
  enriched:
    connector: upsert-kafka
    topic: {sink}
    properties.bootstrap.servers: {kafka}
    key.format: json
    value.format: json
    columns: [order_id BIGINT NOT NULL, name STRING, title STRING, amount BIGINT, PRIMARY KEY (order_id) NOT ENFORCED]
pipeline:
  from: orders
  lookup:
  - {{table: users, as: u, type: left, condition: u.id = orders.user_id}}
  - {{table: products, as: p, condition: p.id = orders.product_id}}
  select: [orders.order_id, u.name, p.title, orders.amount]
  into: enriched
options: {{commit.interval: 500 ms}}
"
        );
        let path = self.folder.path().join("definition.yaml");
        std::fs::write(&path, text).expect("definition");
        path
    }

    /// Sends `count` random upserts and tombstones over `keys` order ids.
    fn send(&mut self, count: u64, keys: u64) {
        for _ in 0..count {
            let id = self.random.below(keys);
            if self.random.below(10) == 0 {
                self.delete(id);
            } else {
                let (user, product) = (self.random.below(USERS + 20), self.random.below(PRODUCTS));
                self.upsert(id, Order { user, product, amount: self.sent });
            }
        }
        self.writer.flush();
    }

    fn upsert(&mut self, id: u64, order: Order) {
        let Order { user, product, amount } = order;
        let value =
            format!(r#"{{"order_id":{id},"user_id":{user},"product_id":{product},"amount":{amount}}}"#);
        self.writer.send(&key(id), Some(&value));
        self.orders.insert(id, order);
        self.sent += 1;
    }

    fn delete(&mut self, id: u64) {
        self.writer.send(&key(id), None);
        self.orders.remove(&id);
        self.sent += 1;
    }

    /// What the sink must hold: computed without the product.
    fn expected(&self) -> BTreeMap<String, String> {
        let rows = self.orders.iter().filter_map(|(id, order)| {
            let title = product_title(order.product)?;
            let name = user_name(order.user).map_or("null".to_owned(), |name| format!("\"{name}\""));
            let amount = order.amount;
            let value = format!(r#"{{"order_id":{id},"name":{name},"title":"{title}","amount":{amount}}}"#);
            Some((key(*id), value))
        });
        rows.collect()
    }

    /// Waits until the sink's compacted view is what it must be, and stays so.
    fn wait_for_view(&self, limit: Duration, replicas: &[&Replica]) {
        let (expected, deadline) = (self.expected(), Instant::now() + limit);
        loop {
            let view = topic::compacted(&topic::read_all(&self.sink));
            if view == expected {
                return;
            }
            if deadline < Instant::now() {
                let missing = expected.iter().filter(|(key, value)| view.get(*key) != Some(value)).take(5);
                let extra = view.iter().filter(|(key, _)| !expected.contains_key(*key)).take(5);
                let logs: Vec<String> = replicas.iter().map(|replica| replica.log_text()).collect();
                panic!(
                    "the view has {} rows, not {}; missing or wrong: {:?}; left over: {:?}\n{}",
                    view.len(),
                    expected.len(),
                    missing.collect::<Vec<_>>(),
                    extra.collect::<Vec<_>>(),
                    logs.join("\n---\n")
                );
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }
}

fn key(id: u64) -> String {
    format!(r#"{{"order_id":{id}}}"#)
}

fn fill(database: &Database, table: &str, column: &str, count: u64, name: impl Fn(u64) -> Option<String>) {
    database.run(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, {column} VARCHAR(64))"));
    let rows: Vec<String> =
        (0..count).filter_map(|id| name(id).map(|name| format!("({id},'{name}')"))).collect();
    database.run(&format!("INSERT INTO {table} VALUES {}", rows.join(",")));
}

#[test]
fn three_replicas_joining_and_leaving_give_the_result_of_one() {
    let mut world = World::new("e2e-group");
    let definition = world.definition();
    let folder = world.folder.path().to_owned();
    let mut first = Replica::start(&folder, "first", &definition);
    first.wait_ready();
    world.send(25_000, 8_000);
    let mut second = Replica::start(&folder, "second", &definition);
    world.send(20_000, 8_000);
    second.wait_ready();
    let mut third = Replica::start(&folder, "third", &definition);
    world.send(20_000, 8_000);
    third.wait_ready();
    second.signal("TERM");
    world.send(20_000, 8_000);
    assert_eq!(second.wait_exit(Duration::from_secs(30)).code(), Some(0), "{}", second.log_text());
    first.signal("TERM");
    world.send(15_000, 8_000);
    assert_eq!(first.wait_exit(Duration::from_secs(30)).code(), Some(0), "{}", first.log_text());
    assert_eq!(world.sent, 100_000);
    world.wait_for_view(Duration::from_secs(90), &[&third]);
    third.signal("TERM");
    assert_eq!(third.wait_exit(Duration::from_secs(30)).code(), Some(0), "{}", third.log_text());
    world.wait_for_view(Duration::from_secs(5), &[&third]);
}

#[test]
fn nothing_is_missing_or_left_over_after_kill_9_and_tombstones_for_older_keys() {
    let mut world = World::new("e2e-kill");
    let definition = world.definition();
    let folder = world.folder.path().to_owned();
    let mut victim = Replica::start(&folder, "victim", &definition);
    victim.wait_ready();
    world.send(30_000, 5_000);
    while topic::read_all(&world.sink).len() < 5_000 {
        std::thread::sleep(Duration::from_millis(50));
    }
    world.send(5_000, 5_000);
    victim.kill();
    world.send(5_000, 5_000);
    let mut heir = Replica::start(&folder, "heir", &definition);
    for id in (0..5_000).step_by(3) {
        world.delete(id);
    }
    world.writer.flush();
    heir.wait_ready();
    world.wait_for_view(Duration::from_secs(90), &[&heir]);
    world.send(5_000, 5_000);
    world.wait_for_view(Duration::from_secs(60), &[&heir]);
}
