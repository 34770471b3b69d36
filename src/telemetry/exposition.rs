//! Samples become the text form that Prometheus scrapes.

use std::collections::BTreeMap;

use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram as ProtoHistogram, LabelPair, MetricFamily, MetricType,
};
use prometheus::{Encoder, TextEncoder};

use crate::error::{Error, Result};

use super::Histogram;
use super::names::{Kind, Metric};

/// One value of one metric.
#[derive(Clone, Debug)]
pub struct Sample {
    metric: &'static Metric,
    labels: Vec<String>,
    value: Measure,
}

#[derive(Clone, Debug)]
enum Measure {
    Number(f64),
    Distribution(Box<Histogram>),
}

impl Sample {
    /// A counter's or gauge's value; `labels` in the order of the metric's label names.
    pub fn number<const N: usize>(metric: &'static Metric, labels: [&str; N], value: f64) -> Self {
        Self { metric, labels: labels.map(str::to_owned).to_vec(), value: Measure::Number(value) }
    }

    /// A counter's or gauge's whole value.
    pub fn count<const N: usize>(metric: &'static Metric, labels: [&str; N], value: u64) -> Self {
        Self::number(metric, labels, value as f64)
    }

    /// A histogram's value.
    pub fn distribution<const N: usize>(
        metric: &'static Metric,
        labels: [&str; N],
        value: Histogram,
    ) -> Self {
        let value = Measure::Distribution(Box::new(value));
        Self { metric, labels: labels.map(str::to_owned).to_vec(), value }
    }

    fn proto(&self) -> prometheus::proto::Metric {
        let mut metric = prometheus::proto::Metric::default();
        let pairs = self.metric.labels.iter().zip(&self.labels).map(|(label, value)| {
            let mut pair = LabelPair::default();
            pair.set_name(label.name.to_owned());
            pair.set_value(value.clone());
            pair
        });
        metric.set_label(pairs.collect());
        match (&self.value, self.metric.kind) {
            (Measure::Number(value), Kind::Counter) => {
                let mut counter = Counter::default();
                counter.set_value(*value);
                metric.set_counter(counter);
            }
            (Measure::Number(value), _) => {
                let mut gauge = Gauge::default();
                gauge.set_value(*value);
                metric.set_gauge(gauge);
            }
            (Measure::Distribution(value), _) => metric.set_histogram(proto_histogram(value)),
        }
        metric
    }
}

fn proto_histogram(value: &Histogram) -> ProtoHistogram {
    let mut histogram = ProtoHistogram::default();
    let buckets = value.buckets().map(|(bound, count)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound);
        bucket.set_cumulative_count(count);
        bucket
    });
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(value.count());
    histogram.set_sample_sum(value.sum());
    histogram
}

/// The samples of one scrape.
#[derive(Debug, Default)]
pub struct Page {
    samples: Vec<Sample>,
}

impl Page {
    /// A page of these samples.
    #[must_use]
    pub fn new(samples: Vec<Sample>) -> Self {
        Self { samples }
    }

    /// The value of a counter or gauge, for faces that show single numbers.
    #[must_use]
    pub fn value(&self, metric: &Metric, labels: &[&str]) -> Option<f64> {
        self.samples.iter().find_map(|sample| match &sample.value {
            Measure::Number(value) if sample.metric.name == metric.name && sample.labels == labels => {
                Some(*value)
            }
            _ => None,
        })
    }

    /// Prometheus text, format 0.0.4.
    ///
    /// # Errors
    /// [`crate::error::Kind::Bug`] if the encoder refuses a family.
    pub fn into_text(self) -> Result<String> {
        let mut families: BTreeMap<&str, MetricFamily> = BTreeMap::new();
        for sample in &self.samples {
            let family = families.entry(sample.metric.name).or_insert_with(|| empty_family(sample.metric));
            family.mut_metric().push(sample.proto());
        }
        let families: Vec<MetricFamily> = families.into_values().collect();
        let bug = |error: prometheus::Error| Error::bug(format!("writing metrics: {error}"));
        let mut text = Vec::new();
        TextEncoder::new().encode(&families, &mut text).map_err(bug)?;
        String::from_utf8(text).map_err(|error| Error::bug(format!("writing metrics: {error}")))
    }
}

fn empty_family(metric: &Metric) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(metric.name.to_owned());
    family.set_help(metric.help.to_owned());
    family.set_field_type(match metric.kind {
        Kind::Counter => MetricType::COUNTER,
        Kind::Gauge => MetricType::GAUGE,
        Kind::Histogram => MetricType::HISTOGRAM,
    });
    family
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;

    #[test]
    fn samples_become_prometheus_text() {
        let mut seconds = Histogram::default();
        seconds.observe(std::time::Duration::from_millis(1));
        let page = Page::new(vec![
            Sample::count(&names::LOOKUPS, ["users", "0", "hit"], 3),
            Sample::count(&names::LOOKUPS, ["users", "0", "miss"], 1),
            Sample::distribution(&names::LOOKUP_SECONDS, ["users"], seconds),
        ]);
        assert_eq!(page.value(&names::LOOKUPS, &["users", "0", "miss"]), Some(1.0));
        let text = page.into_text().expect("text");
        assert!(text.contains("# TYPE lookaside_lookups_total counter\n"), "{text}");
        assert!(
            text.contains("lookaside_lookups_total{table=\"users\",shard=\"0\",result=\"hit\"} 3\n"),
            "{text}"
        );
        assert!(
            text.contains("lookaside_lookup_statement_seconds_bucket{table=\"users\",le=\"+Inf\"} 1\n"),
            "{text}"
        );
    }
}
