//! The list of metrics as a document: `docs/metrics.md` is this text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Histogram;
use super::names::{Label, Metric, SECTIONS, Section, Values};

const HEAD: &str = "# Metrics

<!-- Written by `make docs` from src/telemetry/names.rs. Do not edit. -->

`/metrics` answers in Prometheus' text format. A scrape costs the data path nothing: shards own plain counters and put them
up twice a second. Counters start at 0 with the process, and every series of a closed list is there from the start.

[alerts.yaml](../helm/files/alerts.yaml) has alerts on these metrics, [dashboard.json](../helm/files/dashboard.json) a Grafana
dashboard, and [troubleshooting](troubleshooting.md) says what to do about them.
";

/// The document.
#[must_use]
pub fn reference() -> String {
    let mut text = HEAD.to_owned();
    for section in SECTIONS {
        push_section(&mut text, section);
    }
    push_labels(&mut text);
    let bounds: Vec<String> = Histogram::default().buckets().map(|(bound, _)| format!("{bound}")).collect();
    let _ = write!(
        text,
        "\n## Buckets\n\nEvery histogram has these upper bounds, in seconds: {}, +Inf.\n",
        bounds.join(", ")
    );
    text
}

fn push_section(text: &mut String, section: &Section) {
    let _ = write!(
        text,
        "\n## {}\n\n| metric | type | unit | labels | help |\n|---|---|---|---|---|\n",
        section.title
    );
    for Metric { name, kind, unit, labels, help } in section.metrics {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{}`", label.name)).collect();
        let labels = if labels.is_empty() { "–".to_owned() } else { labels.join(" ") };
        let _ = writeln!(text, "| `{name}` | {} | {unit} | {labels} | {help} |", kind.name());
    }
}

/// One line per label and source of its values, with the metrics that carry it when a name has several.
fn push_labels(text: &mut String) {
    text.push_str(
        "\n## Labels\n\nValues come from the definition or from a closed list, never from data: \
         the number of series is known before the first row.\n\n| label | on | values |\n|---|---|---|\n",
    );
    let mut lines: BTreeMap<&str, Vec<(Values, Vec<&str>)>> = BTreeMap::new();
    for metric in SECTIONS.iter().flat_map(|section| section.metrics) {
        for Label { name, values } in metric.labels {
            let known = lines.entry(name).or_default();
            match known.iter_mut().find(|(same, _)| same == values) {
                Some((_, metrics)) => metrics.push(metric.name),
                None => known.push((*values, vec![metric.name])),
            }
        }
    }
    for (label, sources) in lines {
        let one = sources.len() == 1;
        for (values, metrics) in sources {
            let on = if one { "all".to_owned() } else { family(&metrics) };
            let values = match values {
                Values::Of(what) => what.to_owned(),
                Values::OneOf(list) => {
                    list.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" ")
                }
            };
            let _ = writeln!(text, "| `{label}` | {on} | {values} |");
        }
    }
}

fn family(metrics: &[&str]) -> String {
    metrics.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}
