//! What a PromQL query asks for: metrics, their matchers, and the labels it groups by.
//!
//! A scanner, not a parser: whether a query is well-formed is promtool's to say.
//! A name before a parenthesis is a function; a word of the language is none of
//! the two; any other name is a metric.

use lookaside::telemetry::names::{ALL, Kind, Metric, Values};

/// Words of the language that stand where a metric could.
const WORDS: [&str; 10] =
    ["and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring", "group_left"];
/// Of these, words with a list of labels behind.
const LISTS: [&str; 5] = ["by", "without", "on", "ignoring", "group_left"];
/// Labels that Prometheus adds to every series.
const ADDED: [&str; 4] = ["job", "instance", "namespace", "pod"];

/// What a query names.
#[derive(Debug, Default)]
pub struct Named {
    /// Metrics, each with its matchers: label, operator, value.
    pub metrics: Vec<(String, Vec<[String; 3]>)>,
    /// Labels in `by (…)`, `on (…)`.
    pub labels: Vec<String>,
}

/// Reads a query.
pub fn read(query: &str) -> Named {
    let mut named = Named::default();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        if first == '[' || first == '"' {
            let close = if first == '[' { ']' } else { '"' };
            rest = rest[1..].split_once(close).map_or("", |(_, after)| after);
        } else if first.is_ascii_alphabetic() || first == '_' || first == ':' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = take(name, after, &mut named);
        } else if first.is_ascii_digit() {
            // Numbers and durations; the letters of `5m` are no name.
            rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.');
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    named
}

/// Takes a name with what belongs to it; returns the rest.
fn take<'a>(name: &str, after: &'a str, named: &mut Named) -> &'a str {
    let after = after.trim_start();
    if LISTS.contains(&name) && after.starts_with('(') {
        let (list, rest) = after[1..].split_once(')').expect("a list of labels ends");
        let labels = list.split(',').map(str::trim).filter(|label| !label.is_empty());
        named.labels.extend(labels.map(str::to_owned));
        return rest;
    }
    // `sum by (table) (…)` and `sum(…)`: a function.
    let is_function = after.starts_with('(') || after.starts_with("by ") || after.starts_with("without ");
    if WORDS.contains(&name) || is_function {
        return after;
    }
    let (matchers, rest) = match after.strip_prefix('{') {
        Some(inside) => inside.split_once('}').expect("a selector ends"),
        None => ("", after),
    };
    let matcher = |text: &str| {
        let at = text.find(['=', '!']).unwrap_or_else(|| panic!("no operator in {text}"));
        let (label, value) = text.split_at(at);
        let (operator, value) = value.split_at(value.find('"').expect("a quoted value"));
        [label, operator, value.trim().trim_matches('"')].map(|part| part.trim().to_owned())
    };
    let matchers = matchers.split(',').map(str::trim).filter(|text| !text.is_empty()).map(matcher);
    named.metrics.push((name.to_owned(), matchers.collect()));
    rest
}

/// What is wrong with a query: a metric that does not exist, a label that it does not have, a value that the
/// label never takes. `recorded` are the names of recording rules with their labels.
pub fn faults(query: &str, recorded: &[(String, Vec<String>)]) -> Vec<String> {
    let named = read(query);
    let mut faults = Vec::new();
    let mut carried: Vec<&str> = ADDED.to_vec();
    if named.metrics.is_empty() && !query.starts_with("vector(") {
        faults.push(format!("no metric in {query}"));
    }
    for (name, matchers) in &named.metrics {
        if let Some((_, labels)) = recorded.iter().find(|(record, _)| record == name) {
            carried.extend(labels.iter().map(String::as_str));
            let unknown =
                |[label, ..]: &&[String; 3]| !labels.contains(label) && !ADDED.contains(&label.as_str());
            faults.extend(
                matchers.iter().filter(unknown).map(|[label, ..]| format!("{name} has no label {label}")),
            );
            continue;
        }
        let Some(metric) = find(name) else {
            faults.push(format!("there is no metric {name}"));
            continue;
        };
        carried.extend(metric.labels.iter().map(|label| label.name));
        if metric.kind == Kind::Histogram {
            carried.push("le");
        }
        faults.extend(matchers.iter().filter_map(|matcher| misfit(metric, matcher)));
    }
    let unknown = named.labels.iter().filter(|label| !carried.contains(&label.as_str()));
    faults.extend(unknown.map(|label| format!("nothing in {query} has a label {label}")));
    faults
}

/// The metric of a series: a histogram has three.
pub fn find(series: &str) -> Option<&'static Metric> {
    let known = |name: &str| ALL.iter().copied().find(|metric| metric.name == name);
    let histogram =
        |suffix| known(series.strip_suffix(suffix)?).filter(|metric| metric.kind == Kind::Histogram);
    let plain = known(series).filter(|metric| metric.kind != Kind::Histogram);
    plain.or_else(|| ["_bucket", "_sum", "_count"].into_iter().find_map(histogram))
}

fn misfit(metric: &Metric, [label, operator, value]: &[String; 3]) -> Option<String> {
    if ADDED.contains(&label.as_str()) {
        return None;
    }
    let Some(known) = metric.labels.iter().find(|known| known.name == label) else {
        return Some(format!("{} has no label {label}", metric.name));
    };
    let Values::OneOf(values) = known.values else { return None };
    let asked: Vec<&str> = if operator.contains('~') { value.split('|').collect() } else { vec![value] };
    let stray: Vec<&str> = asked.into_iter().filter(|asked| !values.contains(asked)).collect();
    (!stray.is_empty()).then(|| format!("{}: {label} is never {stray:?}", metric.name))
}

#[test]
fn queries_are_read() {
    let query =
        "sum by (table, le) (rate(a_total{x=\"1\", y=~\"b|c\"}[5m])) / on (z) b > 0.5e3 unless c offset 5m";
    let named = read(query);
    let names: Vec<&str> = named.metrics.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a_total", "b", "c"]);
    assert_eq!(named.metrics[0].1[1], ["y", "=~", "b|c"]);
    assert_eq!(named.labels, ["table", "le", "z"]);
    let wrong = [
        ("lookaside_nothing", "no metric"),
        ("lookaside_ready{table=\"x\"}", "no label table"),
        ("lookaside_commits_total{outcome=\"fine\"}", "never"),
        ("lookaside_lookup_statement_seconds", "no metric"),
        ("sum by (shard) (lookaside_ready)", "label shard"),
    ];
    for (query, word) in wrong {
        let faults = faults(query, &[]);
        assert!(faults.len() == 1 && faults[0].contains(word), "{query}: {faults:?}");
    }
    assert_eq!(
        faults("sum by (table, le) (rate(lookaside_lookup_statement_seconds_bucket[1m]))", &[]),
        [""; 0]
    );
}
