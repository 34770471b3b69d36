//! Alerts and dashboard ask only for metrics that exist, and each alert fires when it should and not otherwise.

use std::collections::BTreeSet;

use lookaside::config::{Node, Value, parse_yaml};
use serde_json::Value as Json;

use crate::{promql, promtool};

const ALERTS: &str = "helm/files/alerts.yaml";
const ALERT_TESTS: &str = "tests/alerts/alerts.test.yaml";
const DASHBOARD: &str = "helm/files/dashboard.json";
const RUNBOOK: &str = "https://github.com/lookaside/lookaside/blob/main/docs/troubleshooting.md#";

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(path: &str) -> Node {
    parse_yaml(path, &read(path)).unwrap_or_else(|faults| panic!("{path}: {faults:?}"))
}

fn get<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    let Value::Map(entries) = &node.value else { return None };
    entries.iter().find(|entry| entry.key.written == key).map(|entry| &entry.value)
}

fn list(node: Option<&Node>) -> &[Node] {
    match node.map(|node| &node.value) {
        Some(Value::List(nodes)) => nodes,
        _ => &[],
    }
}

fn text<'a>(node: &'a Node, key: &str) -> &'a str {
    match get(node, key).map(|node| &node.value) {
        Some(Value::Scalar(text)) => &text.written,
        _ => "",
    }
}

/// Every rule: recording rules and alerts.
fn rules(file: &Node) -> Vec<&Node> {
    list(get(file, "groups")).iter().flat_map(|group| list(get(group, "rules"))).collect()
}

/// Names of recording rules with the labels that they keep.
fn recorded(file: &Node) -> Vec<(String, Vec<String>)> {
    let rules = rules(file).into_iter().filter(|rule| get(rule, "record").is_some());
    let keep = |rule: &Node| (text(rule, "record").to_owned(), promql::read(text(rule, "expr")).labels);
    let mut records: Vec<_> = rules.map(keep).collect();
    // A rule over another rule keeps that one's labels.
    let first = records.first().map(|(_, labels)| labels.clone()).unwrap_or_default();
    records
        .iter_mut()
        .filter(|(_, labels)| labels.is_empty())
        .for_each(|(_, labels)| *labels = first.clone());
    records
}

#[test]
fn every_rule_asks_for_metrics_labels_and_values_that_exist() {
    let file = yaml(ALERTS);
    let recorded = recorded(&file);
    for rule in rules(&file) {
        let faults = promql::faults(text(rule, "expr"), &recorded);
        assert!(faults.is_empty(), "{}{}: {faults:#?}", text(rule, "alert"), text(rule, "record"));
    }
}

#[test]
fn every_alert_says_what_to_do_and_is_tested_both_ways() {
    let (file, tests) = (yaml(ALERTS), yaml(ALERT_TESTS));
    let anchors = headings(&read("docs/troubleshooting.md"));
    let alerts: Vec<_> = rules(&file).into_iter().filter(|rule| get(rule, "alert").is_some()).collect();
    assert!(15 < alerts.len());
    for alert in alerts {
        let name = text(alert, "alert");
        let notes = get(alert, "annotations").unwrap_or_else(|| panic!("{name} has no annotations"));
        assert!(!text(notes, "summary").is_empty() && !text(notes, "description").is_empty(), "{name}");
        let section = text(notes, "runbook_url").strip_prefix(RUNBOOK).unwrap_or_default();
        assert!(anchors.contains(section), "{name}: docs/troubleshooting.md has no section {section}");
        let severity = get(alert, "labels").map(|labels| text(labels, "severity")).unwrap_or_default();
        assert!(["critical", "warning", "info"].contains(&severity), "{name}: severity {severity}");

        let mut cases = list(get(&tests, "tests")).iter().filter(|case| text(case, "name") == name);
        let case = cases.next().unwrap_or_else(|| panic!("{name} has no test"));
        let asked = list(get(case, "promql_expr_test"));
        let firing = |test: &&Node| text(test, "expr").contains("firing");
        let fires = |test: &&Node| !list(get(test, "exp_samples")).is_empty();
        assert!(asked.iter().filter(firing).any(|test| fires(&test)), "{name}: no case in which it fires");
        assert!(
            asked.iter().filter(firing).any(|test| !fires(&test)),
            "{name}: no case in which it does not"
        );
        let series: Vec<&str> =
            list(get(case, "input_series")).iter().map(|series| text(series, "series")).collect();
        assert!(series.iter().any(|series| series.contains("job=\"good\"")), "{name}: nothing that is fine");
    }
}

/// What operators are told to look at exists.
#[test]
fn documents_name_only_metrics_that_exist() {
    let records: Vec<String> = recorded(&yaml(ALERTS)).into_iter().map(|(name, _)| name).collect();
    for document in
        ["metrics", "troubleshooting", "operations", "hashed-lookups", "key-groups", "flink-differences"]
    {
        let text = read(&format!("docs/{document}.md"));
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let words = text.split(|c: char| !is_name(c));
        // `lookaside::` begins the name of a module, as in a filter of the log.
        let words = words.filter(|word| !word.starts_with("lookaside::"));
        for word in words.filter(|word| word.starts_with("lookaside_") || word.starts_with("lookaside:")) {
            let histogram = lookaside::telemetry::names::ALL.iter().any(|metric| metric.name == word);
            let known =
                histogram || promql::find(word).is_some() || records.iter().any(|record| record == word);
            assert!(known, "docs/{document}.md: {word}");
        }
    }
}

/// Anchors of the headings, as GitHub makes them.
fn headings(markdown: &str) -> BTreeSet<String> {
    let anchor = |title: &str| {
        let kept = title
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .collect::<String>();
        kept.replace(' ', "-")
    };
    let titles = markdown.lines().filter(|line| line.starts_with('#'));
    titles.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

#[test]
fn promtool_accepts_the_rules_and_each_alert_fires_and_does_not() {
    let Some(checked) = promtool::run(&["check", "rules", ALERTS], "") else { return };
    assert!(checked.status.success(), "{}", promtool::said(&checked));
    let compose = ["check", "config", "--syntax-only", "config/compose/prometheus.yml"];
    let Some(configured) = promtool::run(&compose, "") else { return };
    assert!(configured.status.success(), "{}", promtool::said(&configured));
    let Some(tested) = promtool::run(&["test", "rules", ALERT_TESTS], "") else { return };
    assert!(tested.status.success(), "{}", promtool::said(&tested));
}

/// Every query of the dashboard, with where it stands.
fn queries(dashboard: &Json) -> Vec<(String, String)> {
    let string = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().into_iter().flatten() {
            found.push((string(&panel["title"]), string(&target["expr"])));
        }
    }
    for annotation in dashboard["annotations"]["list"].as_array().expect("annotations") {
        if let Some(expression) = annotation["expr"].as_str() {
            found.push((string(&annotation["name"]), expression.to_owned()));
        }
    }
    for variable in dashboard["templating"]["list"].as_array().expect("variables") {
        let query = variable["query"]["query"].as_str().unwrap_or_default();
        if let Some(inside) = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')')) {
            let (selector, _) = inside.rsplit_once(',').expect("label_values(selector, label)");
            found.push((string(&variable["name"]), selector.to_owned()));
        }
    }
    found
}

fn dashboard() -> Json {
    serde_json::from_str(&read(DASHBOARD)).expect("the dashboard is JSON")
}

#[test]
fn every_query_of_the_dashboard_names_metrics_labels_and_values_that_exist() {
    let queries = queries(&dashboard());
    assert!(60 < queries.len());
    for (title, query) in &queries {
        let faults = promql::faults(query, &[]);
        assert!(faults.is_empty(), "{title}: {faults:#?}");
    }
    let asked: BTreeSet<String> =
        queries.iter().flat_map(|(_, query)| promql::read(query).metrics).map(|(name, _)| name).collect();
    let shown: BTreeSet<&str> =
        asked.iter().filter_map(|series| promql::find(series)).map(|metric| metric.name).collect();
    // Said by others in a better way, or for alerts alone.
    let unshown = [
        "lookaside_lookup_hit_ratio",
        "lookaside_source_last_progress_timestamp_seconds",
        "lookaside_shard_last_progress_timestamp_seconds",
        "lookaside_sink_last_success_timestamp_seconds",
        "process_virtual_memory_bytes",
        "process_max_fds",
    ];
    let all = lookaside::telemetry::names::ALL.iter().map(|metric| metric.name);
    let missing: Vec<&str> = all.filter(|name| !shown.contains(name) && !unshown.contains(name)).collect();
    assert!(missing.is_empty(), "in no panel: {missing:?}");
}

#[test]
fn the_dashboard_is_laid_out() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().expect("panels");
    let number = |panel: &Json, key: &str| panel["gridPos"][key].as_u64().expect("a place");
    let mut taken = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        let title = &panel["title"];
        assert!(ids.insert(panel["id"].as_u64()), "{title}: its id is taken");
        assert!(number(panel, "x") + number(panel, "w") <= 24, "{title} is too wide");
        for row in 0..number(panel, "h") {
            for column in 0..number(panel, "w") {
                let cell = (number(panel, "y") + row, number(panel, "x") + column);
                assert!(taken.insert(cell), "{title} lies on another panel");
            }
        }
        for target in panel["targets"].as_array().into_iter().flatten() {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
        }
    }
}

/// Whether the queries are PromQL at all: as rules, with what Grafana puts in place of its variables.
#[test]
fn promtool_reads_every_query_of_the_dashboard() {
    let mut rules = "groups:\n- name: dashboard\n  rules:\n".to_owned();
    for (at, (_, query)) in queries(&dashboard()).iter().enumerate() {
        let query = query.replace("$__rate_interval", "1m").replace("$__range", "1h");
        let query = serde_json::to_string(&query).expect("text");
        rules.push_str(&format!("  - {{record: 'dashboard:query:{at}', expr: {query}}}\n"));
    }
    let file = tempfile::NamedTempFile::with_suffix(".yaml").expect("file");
    std::fs::write(file.path(), rules).expect("rules");
    let path = file.path().to_str().expect("path");
    let Some(checked) = promtool::run(&["check", "rules", path], "") else { return };
    assert!(checked.status.success(), "{}", promtool::said(&checked));
}
