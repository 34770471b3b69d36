//! `print`: rows as text on standard output (Flink: `PrintTableSinkFactory`).

use super::spec::Role::{self, Sink};
use super::spec::{ConnectorSpec, Kind, OptionSpec};

const SINK: &[Role] = &[Sink];

pub(super) const CONNECTOR: ConnectorSpec = ConnectorSpec {
    name: "print",
    doc: "Every row as a line of text, +I[…], -U[…], +U[…], -D[…].",
    roles: SINK,
    options: OPTIONS,
    formats: &[],
    has_properties: false,
};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("print-identifier", Kind::AnyText, SINK, "Text in front of every line.").default(""),
    OptionSpec::new("standard-error", Kind::Boolean, SINK, "Write to standard error.").default("false"),
    OptionSpec::refused("sink.parallelism", SINK, super::upsert_kafka::SHARDS),
];
