//! A live scrape against the list of metrics, both ways; the list against its document.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lookaside::telemetry::names::{ALL, Kind, Metric, Values};
use lookaside::telemetry::reference;

use crate::database::Database;
use crate::replica::Replica;
use crate::topic::{self, Writer};
use crate::{promql, promtool, stack};

const DOCUMENT: &str = "docs/metrics.md";

/// `make docs` writes it.
#[test]
fn the_document_is_the_list() {
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(DOCUMENT, reference()).expect(DOCUMENT);
    }
    let written = std::fs::read_to_string(DOCUMENT).unwrap_or_default();
    assert!(written == reference(), "{DOCUMENT} is not what src/telemetry/names.rs says: run make docs");
}

/// One sample of a scrape.
#[derive(Debug)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// A scrape: samples, and what `# TYPE` and `# HELP` say.
struct Scrape {
    text: String,
    samples: Vec<Sample>,
    types: BTreeMap<String, String>,
    helps: BTreeMap<String, String>,
}

impl Scrape {
    fn of(replica: &Replica) -> Self {
        let (code, text) = replica.get("/metrics").expect("an answer");
        assert_eq!(code, 200);
        let (mut samples, mut types, mut helps) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for line in text.lines() {
            if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
                assert!(
                    types.insert(name.to_owned(), kind.to_owned()).is_none(),
                    "{name} stands there twice"
                );
            } else if let Some((name, help)) =
                line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' '))
            {
                helps.insert(name.to_owned(), help.to_owned());
            } else {
                samples.push(sample(line));
            }
        }
        Self { text, samples, types, helps }
    }

    /// Sum of the series with these labels.
    fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let fits = |sample: &&Sample| {
            sample.name == name
                && labels.iter().all(|(label, value)| sample.labels.get(*label).is_some_and(|v| v == value))
        };
        self.samples.iter().filter(fits).map(|sample| sample.value).sum()
    }

    fn series(&self) -> BTreeSet<String> {
        self.samples.iter().map(|sample| format!("{} {:?}", sample.name, sample.labels)).collect()
    }
}

fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no sample: {line}"));
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    let pair = |text: &str| {
        let (label, value) = text.split_once('=').unwrap_or_else(|| panic!("no label: {line}"));
        (label.to_owned(), value.trim_matches('"').to_owned())
    };
    let labels = labels.trim_end_matches('}').split(',').filter(|text| !text.is_empty()).map(pair);
    let value = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
    Sample { name: name.to_owned(), labels: labels.collect(), value }
}

/// A job with everything that has metrics of its own: keyed state, a hashed and an unhashed lookup, a SQL sink.
struct World {
    folder: tempfile::TempDir,
    definition: PathBuf,
    source: String,
    database: Database,
}

impl World {
    fn new() -> Self {
        let source = topic::unique("metrics");
        topic::create(&source, 2);
        let database = Database::new("metrics");
        database.run("CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20))");
        database.run("CREATE TABLE regions (id INT PRIMARY KEY, region VARCHAR(20))");
        database.run("CREATE TABLE enriched (id INT PRIMARY KEY, name VARCHAR(20), region VARCHAR(20))");
        database.run("INSERT INTO users VALUES (0, 'zero'), (1, 'one'), (2, 'two')");
        database.run("INSERT INTO regions VALUES (0, 'north'), (1, 'south'), (2, 'east'), (3, 'west')");
        let table = |name: &str, columns: &str| {
            format!(
                "{{connector: mysql, url: 'mysql://{}/{}', username: root, password: '', table-name: {name}, \
                 columns: [{columns}, PRIMARY KEY (id) NOT ENFORCED]",
                stack::mysql(),
                database.name
            )
        };
        let (users, regions) =
            (table("users", "id INT, name STRING"), table("regions", "id INT, region STRING"));
        let enriched = table("enriched", "id INT NOT NULL, name STRING, region STRING");
        let text = format!(
            "name: {source}
tables:
  orders:
    connector: upsert-kafka
    topic: {source}
    properties.bootstrap.servers: {}
    key.format: json
    value.format: json
    columns: [id INT NOT NULL, user_id INT, PRIMARY KEY (id) NOT ENFORCED]
  users: {users}, lookup.enable_hash: true, lookup.cache: PARTIAL, lookup.partial-cache.max-rows: 100}}
  regions: {regions}, lookup.cache: PARTIAL, lookup.partial-cache.max-rows: 100}}
  enriched: {enriched}, sink.buffer-flush.interval: 100 ms}}
pipeline:
  from: orders
  lookup:
  - {{table: users, as: u, condition: u.id = orders.user_id}}
  - {{table: regions, as: r, type: left, condition: r.id = orders.user_id}}
  select: [orders.id, u.name, r.region]
  into: enriched
options: {{commit.interval: 100 ms, parallelism: 2}}
",
            stack::kafka()
        );
        let folder = tempfile::tempdir().expect("folder");
        let definition = folder.path().join("definition.yaml");
        std::fs::write(&definition, text).expect("definition");
        Self { folder, definition, source, database }
    }
}

/// Type, help and labels of every series are those of the list; a label takes only values that it may take.
fn check_against_the_list(scrape: &Scrape, world: &World) {
    for sample in &scrape.samples {
        let metric =
            promql::find(&sample.name).unwrap_or_else(|| panic!("{} is not in the list", sample.name));
        assert_eq!(
            scrape.types.get(metric.name).map(String::as_str),
            Some(metric.kind.name()),
            "{}",
            metric.name
        );
        assert_eq!(scrape.helps.get(metric.name).map(String::as_str), Some(metric.help), "{}", metric.name);
        let mut expected: BTreeSet<&str> = metric.labels.iter().map(|label| label.name).collect();
        if sample.name.ends_with("_bucket") && metric.kind == Kind::Histogram {
            expected.insert("le");
        }
        let labels: BTreeSet<&str> = sample.labels.keys().map(String::as_str).collect();
        assert_eq!(labels, expected, "{}", sample.name);
        for label in metric.labels {
            let value = &sample.labels[label.name];
            let fits = match label.values {
                Values::OneOf(values) => values.contains(&value.as_str()),
                Values::Of(_) => comes_from_the_definition(label.name, value, world),
            };
            assert!(fits, "{}: {}={value}", sample.name, label.name);
        }
    }
}

fn comes_from_the_definition(label: &str, value: &str, world: &World) -> bool {
    match label {
        "table" => ["orders", "u", "r"].contains(&value),
        "sink" => value == "enriched",
        "shard" | "partition" => ["0", "1"].contains(&value),
        "topic" => value == world.source,
        "version" => value == env!("CARGO_PKG_VERSION"),
        "hash" => value.len() == 12,
        other => panic!("where do values of {other} come from?"),
    }
}

#[test]
fn a_live_scrape_is_the_list_and_the_numbers_are_right() {
    let world = World::new();
    let mut replica = Replica::start(world.folder.path(), "metrics", &world.definition);
    replica.wait_ready();
    let before = Scrape::of(&replica);
    check_against_the_list(&before, &world);
    let writer = Writer::new(&world.source);
    // 300 orders of users 0 to 3, and user 3 is in no table; then each of the last 50 is sent again, and 20 are deleted.
    let send = |id: i32| {
        let value = format!("{{\"id\":{id},\"user_id\":{}}}", id % 4);
        writer.send(&format!("{{\"id\":{id}}}"), Some(&value));
    };
    (0..300).chain(250..300).for_each(send);
    (0..20).for_each(|id| writer.send(&format!("{{\"id\":{id}}}"), None));
    writer.flush();
    let after = wait_for(
        &replica,
        &[
            ("lookaside_source_committed_offset", 370.0),
            ("lookaside_sink_rows_total", 240.0),
            ("lookaside_state_keys", 280.0),
            ("lookaside_sink_unacknowledged_rows", 0.0),
        ],
    );
    check_against_the_list(&after, &world);
    check_numbers(&after);
    assert_eq!(
        world.database.rows("SELECT CAST(COUNT(*) AS CHAR) FROM enriched"),
        [[Some("210".to_owned())]]
    );
    every_metric_is_there(&after);
    no_series_comes_from_data(&before, &after);
    let Some(checked) = promtool::run(&["check", "metrics"], &after.text) else { return };
    let said = promtool::said(&checked);
    assert!(checked.status.success() && said.trim().is_empty(), "{said}");
    replica.signal("TERM");
    assert_eq!(replica.wait_exit(Duration::from_secs(30)).code(), Some(0), "{}", replica.log_text());
}

/// Waits until these metrics have these sums.
fn wait_for(replica: &Replica, sums: &[(&str, f64)]) -> Scrape {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let scrape = Scrape::of(replica);
        let is_off = |(name, sum): &&(&str, f64)| (scrape.sum(name, &[]) - sum).abs() > 0.1;
        let Some((name, sum)) = sums.iter().find(is_off) else { return scrape };
        let found = scrape.sum(name, &[]);
        assert!(
            Instant::now() < deadline,
            "{name} is {found}, not {sum}\n{}\n{}",
            scrape.text,
            replica.log_text()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn every_metric_is_there(scrape: &Scrape) {
    let seen: BTreeSet<&str> = scrape
        .samples
        .iter()
        .filter_map(|sample| promql::find(&sample.name))
        .map(|metric| metric.name)
        .collect();
    let missing: Vec<&str> =
        ALL.iter().map(|metric: &&Metric| metric.name).filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "in the list and not in a scrape: {missing:?}");
}

/// The first row brings nothing but the offsets and times of partitions.
fn no_series_comes_from_data(before: &Scrape, after: &Scrape) {
    let new: Vec<String> = after.series().difference(&before.series()).cloned().collect();
    let is_partition =
        |series: &&String| series.starts_with("lookaside_source_") && series.contains("\"partition\"");
    assert!(new.iter().all(|series| is_partition(&series)), "new series: {new:#?}");
}

fn check_numbers(scrape: &Scrape) {
    let sum = |name: &str, labels: &[(&str, &str)]| scrape.sum(name, labels);
    assert_eq!(sum("lookaside_source_records_total", &[("op", "upsert")]), 350.0);
    assert_eq!(sum("lookaside_source_records_total", &[("op", "delete")]), 20.0);
    assert_eq!(sum("lookaside_shard_records_total", &[]), 370.0);
    assert_eq!(sum("lookaside_changes_total", &[("kind", "insert")]), 300.0);
    assert_eq!(sum("lookaside_changes_total", &[("kind", "delete")]), 20.0);
    assert_eq!(sum("lookaside_changes_suppressed_total", &[("reason", "no_change")]), 50.0);
    // A quarter of the orders has no user; their deletes give nothing either, and ask for nothing.
    assert_eq!(sum("lookaside_unmatched_changes_total", &[]), 75.0);
    assert_eq!(sum("lookaside_sink_rows_total", &[("kind", "insert")]), 225.0);
    assert_eq!(sum("lookaside_sink_rows_total", &[("kind", "delete")]), 15.0);
    assert_eq!(sum("lookaside_state_keys", &[]), 280.0);
    assert_eq!(sum("lookaside_lookups_total", &[("table", "u")]), 300.0);
    assert_eq!(sum("lookaside_lookups_total", &[("table", "r")]), 225.0);
    assert_eq!(
        sum("lookaside_cache_entries", &[("table", "u")]),
        4.0,
        "once per replica, the absent one too"
    );
    assert_eq!(sum("lookaside_cache_capacity_entries", &[("table", "u")]), 100.0);
    assert_eq!(sum("lookaside_lookup_hashed", &[("table", "u")]), 1.0);
    assert_eq!(sum("lookaside_lookup_hashed", &[("table", "r")]), 0.0);
    let statements = sum("lookaside_lookup_statements_total", &[("table", "u")]);
    assert!((1.0..=4.0).contains(&statements), "{statements}");
    assert_eq!(sum("lookaside_lookup_statement_keys_total", &[("table", "u")]), 4.0);
    assert_eq!(sum("lookaside_lookup_statement_rows_total", &[("table", "u")]), 3.0);
    assert_eq!(sum("lookaside_lookup_statement_seconds_count", &[("table", "u")]), statements);
    for zero in [
        "lookaside_source_lag_records",
        "lookaside_sink_unacknowledged_rows",
        "lookaside_lookup_errors_total",
    ] {
        assert_eq!(sum(zero, &[]), 0.0, "{zero}");
    }
    assert!(1.0 <= sum("lookaside_sink_transaction_seconds_count", &[]));
    assert!(1.0 <= sum("lookaside_sink_statements_total", &[]));
    assert!(1.0 <= sum("lookaside_commit_seconds_count", &[]));
    assert_eq!(sum("lookaside_instance_state", &[]), 1.0);
    assert_eq!(sum("lookaside_instance_state", &[("state", "running")]), 1.0);
    assert!((1.0..=2.0).contains(&sum("lookaside_shard_skew_ratio", &[])));
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs_f64();
    for time in ["lookaside_sink_last_success_timestamp_seconds", "lookaside_last_commit_timestamp_seconds"] {
        assert!((0.0..60.0).contains(&(now - sum(time, &[]))), "{time}");
    }
    for partition in ["0", "1"] {
        let time = sum("lookaside_source_last_record_timestamp_seconds", &[("partition", partition)]);
        assert!((-1.0..60.0).contains(&(now - time)), "partition {partition}: {time}");
    }
}
