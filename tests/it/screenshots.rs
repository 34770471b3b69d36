//! The pictures in `docs/`, taken from a real job. Not part of a test run:
//! `cargo test --test it pictures -- --ignored` takes some minutes and replaces them.

use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions};

use crate::browser::Browser;
use crate::database::Database;
use crate::replica::Replica;
use crate::stack;
use crate::topic::{self, Writer};

/// Long enough that the charts have a shape.
const LENGTH: Duration = Duration::from_secs(330);

/// Topics with the names that readers are to see.
const TOPICS: [&str; 2] = ["orders", "enriched-orders"];

/// A picture in the documents is not to weigh more.
const BYTES_MAX: usize = 200_000;

fn remove_topics() {
    let admin: AdminClient<_> =
        ClientConfig::new().set("bootstrap.servers", stack::kafka()).create().expect("admin client");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let _ = runtime.block_on(admin.delete_topics(&TOPICS, &AdminOptions::new()));
    std::thread::sleep(Duration::from_secs(2));
}

fn definition(database: &str) -> String {
    let (kafka, mysql) = (stack::kafka(), stack::mysql());
    let table = |name: &str, columns: &str, cache: &str| {
        format!(
            "  {name}:
    connector: mysql
    url: mysql://{mysql}/{database}
    username: root
    password: ${{env:MYSQL_PASSWORD:-}}
    table-name: {name}
    columns: [{columns}]
{cache}"
        )
    };
    let cache = |rows: u32| format!("    lookup.cache: PARTIAL\n    lookup.partial-cache.max-rows: {rows}\n");
    format!(
        "name: order-enrichment
tables:
  orders:
    connector: upsert-kafka
    topic: {}
    properties.bootstrap.servers: {kafka}
    key.format: json
    value.format: json
    columns: [order_id BIGINT NOT NULL, user_id INT, product_id INT, amount BIGINT, PRIMARY KEY (order_id) NOT ENFORCED]
{}{}  enriched:
    connector: upsert-kafka
    topic: {}
    properties.bootstrap.servers: {kafka}
    key.format: json
    value.format: json
    columns: [order_id BIGINT NOT NULL, name STRING, title STRING, amount BIGINT, PRIMARY KEY (order_id) NOT ENFORCED]
pipeline:
  from: orders
  lookup:
  - {{table: users, as: u, type: left, condition: u.id = orders.user_id}}
  - {{table: products, as: p, condition: p.id = orders.product_id}}
  where: orders.amount >= 0
  select: [orders.order_id, u.name, p.title, orders.amount]
  into: enriched
options: {{parallelism: 4}}
",
        TOPICS[0],
        table("users", "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED", &(cache(20_000) + "    lookup.enable_hash: true\n")),
        table("products", "id INT, title STRING, PRIMARY KEY (id) NOT ENFORCED", &cache(5_000)),
        TOPICS[1],
    )
}

fn fill(database: &Database, table: &str, column: &str, count: u32) {
    database.run(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, {column} VARCHAR(40))"));
    for first in (0..count).step_by(5_000) {
        let rows: Vec<String> =
            (first..count.min(first + 5_000)).map(|id| format!("({id}, '{column} {id}')")).collect();
        database.run(&format!("INSERT INTO {table} VALUES {}", rows.join(",")));
    }
}

/// Orders that are placed, changed and cancelled, more of them now and then; some users buy often, one order is
/// changed all the time.
fn write_orders(until: Instant) {
    let writer = Writer::new(TOPICS[0]);
    let (mut random, mut order, begun) = (0x9E37_79B9_7F4A_7C15_u64, 0_u64, Instant::now());
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    while Instant::now() < until {
        let wave = 1.0 + 0.35 * (begun.elapsed().as_secs_f64() / 25.0).sin();
        for _ in 0..(60.0 * wave) as u64 {
            order += 1;
            let id = if below(25) == 0 { 17 } else { order - below(order.min(20_000)) };
            if below(40) == 0 {
                writer.send(&format!(r#"{{"order_id":{id}}}"#), None);
                continue;
            }
            let often = below(60_000) + 1;
            let oftener = below(often) + 1;
            let user = below(oftener);
            let value = format!(
                r#"{{"order_id":{id},"user_id":{user},"product_id":{},"amount":{}}}"#,
                below(4_000),
                below(10_000)
            );
            writer.send(&format!(r#"{{"order_id":{id}}}"#), Some(&value));
        }
        writer.flush();
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[ignore = "replaces the pictures in docs/"]
fn pictures_for_the_docs() {
    let mut browser = Browser::start().expect("a browser");
    remove_topics();
    TOPICS.iter().for_each(|topic| topic::create(topic, 4));
    let database = Database::new("pictures");
    fill(&database, "users", "name", 60_000);
    fill(&database, "products", "title", 4_000);
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("definition.yaml");
    std::fs::write(&path, definition(&database.name)).expect("definition");
    let mut replica = Replica::start(folder.path(), "replica", &path);
    replica.wait_ready();
    let until = Instant::now() + LENGTH;
    let orders = std::thread::spawn(move || write_orders(until));
    std::thread::sleep(LENGTH.saturating_sub(Duration::from_secs(45)));
    for (name, scheme, width, height, phone) in [
        ("page-light", "light", 1280, 1330, false),
        ("page-dark", "dark", 1280, 1330, false),
        ("page-phone", "light", 360, 1100, true),
    ] {
        browser.prefer(scheme);
        browser.resize(width, height, phone);
        browser.open(&format!("http://{}/", replica.http));
        browser.wait_for("'ready' in document.documentElement.dataset");
        std::thread::sleep(Duration::from_secs(2));
        let picture = browser.screenshot();
        assert!(picture.len() < BYTES_MAX, "{name}: {} bytes", picture.len());
        std::fs::write(format!("docs/{name}.png"), picture).expect("picture");
    }
    orders.join().expect("orders");
    replica.signal("TERM");
    replica.wait_exit(Duration::from_secs(30));
    remove_topics();
}
