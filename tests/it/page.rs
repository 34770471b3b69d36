//! The page in a real browser: its numbers are those of `/metrics`, it fits a phone, and nothing in it runs that is
//! not its own.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::browser::Browser;
use crate::database::Database;
use crate::replica::Replica;
use crate::topic::{self, Writer};
use crate::{fixture, stack};

/// Markup that would show itself if it ran. No quotes: it stands in YAML, SQL and JSON.
const MARKUP: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>";

/// A secret that must be nowhere.
const CANARY: &str = "canary-5f1c";

/// A job with two lookups whose sink table and whose rows carry markup.
struct World {
    folder: tempfile::TempDir,
    source: String,
    definition: PathBuf,
    database: Database,
}

impl Drop for World {
    fn drop(&mut self) {
        self.database.run(&format!("DROP USER '{}'", self.source));
    }
}

impl World {
    fn new(name: &str) -> Self {
        let (source, sink) = (topic::unique(name), topic::unique(&format!("{name}-sink")));
        topic::create(&source, 3);
        topic::create(&sink, 3);
        let database = Database::new(&name.replace('-', "_"));
        for table in ["users", "regions"] {
            database.run(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, name VARCHAR(200))"));
            let rows: Vec<String> = (0..400).map(|id| format!("({id}, '{MARKUP}')")).collect();
            database.run(&format!("INSERT INTO {table} VALUES {}", rows.join(",")));
        }
        database.run(&format!("CREATE USER '{source}' IDENTIFIED BY '{CANARY}'"));
        database.run(&format!("GRANT ALL ON {}.* TO '{source}'", database.name));
        let folder = tempfile::tempdir().expect("folder");
        let definition = folder.path().join("definition.yaml");
        std::fs::write(folder.path().join("password"), CANARY).expect("password");
        std::fs::write(&definition, definition_text(&source, &sink, &database.name, &folder))
            .expect("definition");
        Self { folder, source, definition, database }
    }

    fn start(&self) -> Replica {
        let mut replica = Replica::start(self.folder.path(), "replica", &self.definition);
        replica.wait_ready();
        replica
    }

    /// Sends rows, tombstones, and rows whose value names another key than the record, with markup in both.
    fn send(&self, rows: u32) {
        let writer = Writer::new(&self.source);
        let key = |id: u32| format!(r#"{{"id":"{id}{MARKUP}"}}"#);
        for id in 0..rows {
            let value = format!(r#"{{"id":"{id}{MARKUP}","user_id":{},"region":{}}}"#, id % 500, id % 7);
            writer.send(&key(id), Some(&value));
            if id % 10 == 0 {
                writer.send(&key(id), None);
            }
        }
        writer.send(&key(1), Some(&format!(r#"{{"id":"other{MARKUP}","user_id":1,"region":1}}"#)));
        writer.flush();
    }
}

fn definition_text(source: &str, sink: &str, database: &str, folder: &tempfile::TempDir) -> String {
    let (kafka, mysql) = (stack::kafka(), stack::mysql());
    let password = folder.path().join("password");
    let table = |name: &str, rest: &str| {
        format!(
            "  {name}:
    connector: mysql
    url: mysql://{mysql}/{database}
    username: {source}
    password: ${{file:{}}}
    table-name: {name}
    columns: [id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED]
{rest}",
            password.display()
        )
    };
    let cache =
        "    lookup.cache: PARTIAL\n    lookup.partial-cache.max-rows: 300\n    lookup.enable_hash: true\n";
    format!(
        "name: {source}
tables:
  orders:
    connector: upsert-kafka
    topic: {source}
    properties.bootstrap.servers: {kafka}
    key.format: json
    value.format: json
    columns: [id STRING NOT NULL, user_id INT, region INT, PRIMARY KEY (id) NOT ENFORCED]
{}{}  '{MARKUP}':
    connector: upsert-kafka
    topic: {sink}
    properties.bootstrap.servers: {kafka}
    key.format: json
    value.format: json
    columns: [id STRING NOT NULL, user_name STRING, region_name STRING, PRIMARY KEY (id) NOT ENFORCED]
pipeline:
  from: orders
  lookup:
  - {{table: users, as: u, condition: u.id = orders.user_id}}
  - {{table: regions, type: left, condition: regions.id = orders.region}}
  select: [orders.id, u.name AS user_name, regions.name AS region_name]
  into: '{MARKUP}'
options: {{commit.interval: 300 ms, parallelism: 2}}
",
        table("users", cache),
        table("regions", "    lookup.cache: PARTIAL\n    lookup.partial-cache.expire-after-write: 1 h\n"),
    )
}

/// One line of `/metrics`: name, labels, value.
struct Series {
    name: String,
    labels: Vec<String>,
    value: f64,
}

/// Splits `name{a="b",c="d"}`; the texts of this test hold no comma and no escaped quote inside of values.
fn parts(selector: &str) -> (String, Vec<String>) {
    let (name, labels) = selector.split_once('{').unwrap_or((selector, ""));
    let labels = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty());
    (name.to_owned(), labels.map(str::to_owned).collect())
}

fn series(metrics: &str) -> Vec<Series> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    let line = |line: &str| {
        let (selector, value) = line.rsplit_once(' ')?;
        let (name, labels) = parts(selector);
        Some(Series { name, labels, value: value.parse().ok()? })
    };
    lines.filter_map(line).collect()
}

/// The sum of the series that a number on the page names; `None` if there are none.
fn sum(all: &[Series], selector: &str) -> Option<f64> {
    let (name, labels) = parts(selector);
    let matching =
        all.iter().filter(|one| one.name == name && labels.iter().all(|label| one.labels.contains(label)));
    let values: Vec<f64> = matching.map(|one| one.value).collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

/// Each number of the page with the metric that it claims to be.
fn numbers(browser: &mut Browser) -> Vec<(String, String)> {
    let found = browser.evaluate(
        "[...document.querySelectorAll('[data-metric]')].filter((e) => e.closest('[hidden]') === null) \
         .map((e) => [e.dataset.metric, e.textContent])",
    );
    serde_json::from_value(found).expect("pairs")
}

/// What the page shows beside what it should.
fn differences(browser: &mut Browser, replica: &Replica) -> Vec<String> {
    let shown = numbers(browser);
    assert!(35 <= shown.len(), "{} numbers", shown.len());
    let (_, metrics) = replica.get("/metrics").expect("metrics");
    let all = series(&metrics);
    let different = |(selector, text): &(String, String)| {
        let number = text.replace(',', "");
        let expected = sum(&all, selector);
        // A partition that has committed nothing has no such series.
        let equal = expected.map_or(text == "–", |expected| number.parse() == Ok(expected));
        (!equal).then(|| format!("{selector}: {text} on the page, {expected:?} in /metrics"))
    };
    shown.iter().filter_map(different).collect()
}

#[test]
fn numbers_equal_the_metrics_and_markup_in_rows_and_names_is_inert() {
    let Some(mut browser) = Browser::start() else { return };
    let world = World::new("page");
    let mut replica = world.start();
    let origin = format!("http://{}/", replica.http);
    browser.resize(1280, 900, false);
    browser.open(&origin);
    browser.wait_for("'ready' in document.documentElement.dataset");
    world.send(1_000);
    // Everything has gone through, and the counters of the last row have been put up.
    browser.wait_for("document.querySelector('[data-metric*=lag_records]').textContent === '0'");
    let rows = "lookaside_source_records_total{table=\\\"orders\\\"}";
    browser.wait_for(&format!("document.querySelector(\"[data-metric='{rows}']\").textContent === '1,101'"));
    let deadline = Instant::now() + Duration::from_secs(15);
    loop {
        // A commit may come between the two readings.
        let differences = differences(&mut browser, &replica);
        if differences.is_empty() {
            break;
        }
        assert!(Instant::now() < deadline, "{differences:#?}");
        std::thread::sleep(Duration::from_millis(300));
    }
    let text = browser.evaluate("document.body.innerText").to_string();
    assert!(text.contains("<script>alert(1)</script>"), "names are shown as they are: {text}");
    assert!(
        text.contains("key_mismatch") && text.contains(&format!("other{MARKUP}")),
        "a row's value: {text}"
    );
    browser.assert_quiet(&origin);
    assert_eq!(
        browser.evaluate("document.querySelectorAll('body script, body img[src=x]').length"),
        Json::from(0)
    );
    let definition = browser.evaluate("document.getElementById('definition-text').textContent").to_string();
    assert!(definition.contains("${file:") && definition.contains("# default"), "{definition}");
    let everything = browser.evaluate("document.documentElement.outerHTML").to_string();
    assert!(!everything.contains(CANARY), "a secret is on the page");
    replica.signal("TERM");
    assert_eq!(replica.wait_exit(Duration::from_secs(15)).code(), Some(0), "{}", replica.log_text());
    assert!(!replica.log_text().contains(CANARY), "a secret is in the log");
    browser.wait_for("document.getElementById('banner').textContent.startsWith('The process has ended')");
}

/// Width of what is wider than the window, with its place.
const OVERFLOW: &str = "(() => { \
    const width = document.documentElement.clientWidth; \
    const wide = [...document.querySelectorAll('body *')].filter((e) => !e.closest('pre') && !e.closest('.skip') \
        && e.getBoundingClientRect().right > width + 0.5).map((e) => `${e.tagName}.${e.className.baseVal ?? e.className}`); \
    return { scroll: document.documentElement.scrollWidth, width, wide: wide.slice(0, 5) }; })()";

#[test]
fn nothing_scrolls_sideways_on_a_phone_whatever_the_names() {
    let Some(mut browser) = Browser::start() else { return };
    let names = [
        "orders",
        "a_very_long_name_that_somebody_gave_to_a_table_without_a_thought_for_phones_0123456789",
        "طلبات🧾订单",
        MARKUP,
    ];
    for (name, lookups, shards, partitions) in
        [(names[0], 0, 1, 0), (names[1], 3, 2, 3), (names[2], 12, 64, 64), (names[3], 2, 128, 1)]
    {
        let serving = fixture::serve(
            &fixture::snapshot(name, lookups, shards, partitions),
            &format!("name: {name}\n").repeat(80),
        );
        let origin = format!("http://{}/", serving.address());
        for (width, phone) in [(360, true), (768, true), (1280, false), (2200, false)] {
            browser.resize(width, 800, phone);
            browser.open(&origin);
            browser.wait_for("'ready' in document.documentElement.dataset");
            let found = browser.evaluate(OVERFLOW);
            assert!(found["scroll"].as_u64() <= Some(width.into()), "{name} at {width}: {found}");
            assert_eq!(found["wide"], Json::Array(Vec::new()), "{name} at {width}: {found}");
        }
        browser.assert_quiet(&origin);
        // The page goes first: a stream that ends under it would be a complaint.
        browser.open("about:blank");
        browser.requests.clear();
        serving.finish();
    }
}

#[test]
fn a_page_too_many_says_so_and_comes_in_when_there_is_room() {
    let Some(mut browser) = Browser::start() else { return };
    let serving = fixture::serve(&fixture::snapshot("orders", 1, 2, 2), "name: orders\n");
    let open = || {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(serving.address()).expect("connect");
        stream.write_all(b"GET /api/v1/events HTTP/1.1\r\nHost: test\r\n\r\n").expect("request");
        let _ = stream.read(&mut [0; 64]).expect("answer");
        stream
    };
    let others: Vec<_> = (0..16).map(|_| open()).collect();
    browser.open(&format!("http://{}/", serving.address()));
    browser.wait_for("document.getElementById('banner').textContent.startsWith('16 event streams are open')");
    drop(others);
    browser
        .wait_for("'ready' in document.documentElement.dataset && document.getElementById('banner').hidden");
    browser.open("about:blank");
    serving.finish();
}
