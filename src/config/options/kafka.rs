//! `kafka`: a topic read as an append-only stream (Flink: `KafkaDynamicTableFactory`).

use super::spec::Role::{self, Sink, Source};
use super::spec::{Choice, ConnectorSpec, Kind, OptionSpec};
use super::upsert_kafka::{BOUNDED_MODE, FIELDS_INCLUDE, LOSSY, SHARDS};

const SOURCE: &[Role] = &[Source];

pub(super) const CONNECTOR: ConnectorSpec = ConnectorSpec {
    name: "kafka",
    doc: "A Kafka topic as an append-only stream: every record is a row of its own.",
    roles: SOURCE,
    options: OPTIONS,
    formats: &[("key.", "key.format"), ("value.", "value.format"), ("", "format")],
    has_properties: true,
};

const STARTUP_MODE: Kind = Kind::Choice(&[
    Choice::of("earliest-offset"),
    Choice::of("latest-offset"),
    Choice::of("group-offsets"),
    Choice::of("timestamp"),
    Choice::of("specific-offsets"),
]);
const ON_EMPTY_VALUE: Kind = Kind::Choice(&[
    Choice::of("error"),
    Choice::of("skip"),
    Choice::refused("tombstone", "an append-only stream has no deletes"),
]);

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("topic", Kind::Text, SOURCE, "Topics, separated by ';'."),
    OptionSpec::new("topic-pattern", Kind::Text, SOURCE, "Regular expression over topic names, full match."),
    OptionSpec::new("format", Kind::Text, SOURCE, "Format of record values: json, csv or raw."),
    OptionSpec::new("value.format", Kind::Text, SOURCE, "Another name of format."),
    OptionSpec::new("key.format", Kind::Text, SOURCE, "Format of record keys; needs key.fields."),
    OptionSpec::new(
        "key.fields",
        Kind::Text,
        SOURCE,
        "Columns that stand in the record key, separated by ';'.",
    ),
    OptionSpec::new(
        "key.fields-prefix",
        Kind::AnyText,
        SOURCE,
        "Prefix of the key columns' names that record keys lack; needs value.fields-include EXCEPT_KEY.",
    )
    .default(""),
    OptionSpec::new("value.fields-include", FIELDS_INCLUDE, SOURCE, "Whether values repeat the key columns.")
        .default("ALL"),
    OptionSpec::new(
        "on-empty-value",
        ON_EMPTY_VALUE,
        SOURCE,
        "What a value of zero bytes is: an error, or nothing.",
    )
    .own()
    .default("error"),
    OptionSpec::new(
        "value.lossy-conversion",
        LOSSY,
        SOURCE,
        "When a value must be altered to fit its column: an error, or altered as Flink does.",
    )
    .own()
    .default("error"),
    OptionSpec::new("scan.startup.mode", STARTUP_MODE, SOURCE, "Where to begin without committed offsets.")
        .default("group-offsets"),
    OptionSpec::new(
        "scan.startup.specific-offsets",
        Kind::PartitionOffsets,
        SOURCE,
        "First offsets by partition; one topic only.",
    ),
    OptionSpec::new(
        "scan.startup.timestamp-millis",
        Kind::Integer(0, i64::MAX),
        SOURCE,
        "Begin at the first record at or after this time.",
    ),
    OptionSpec::new("scan.bounded.mode", BOUNDED_MODE, SOURCE, "Where the job ends.").default("unbounded"),
    OptionSpec::new(
        "scan.bounded.specific-offsets",
        Kind::PartitionOffsets,
        SOURCE,
        "End offsets by partition, exclusive; other partitions are not read.",
    ),
    OptionSpec::new(
        "scan.bounded.timestamp-millis",
        Kind::Integer(0, i64::MAX),
        SOURCE,
        "End at the first record at or after this time.",
    ),
    OptionSpec::new(
        "scan.topic-partition-discovery.interval",
        Kind::Duration(0),
        SOURCE,
        "Time between looks for new partitions; 0 looks never.",
    )
    .default("5 min"),
    OptionSpec::refused("scan.parallelism", SOURCE, SHARDS),
    OptionSpec::refused("sink.parallelism", &[Source, Sink], SHARDS),
    OptionSpec::refused(
        "sink.partitioner",
        &[Source, Sink],
        "a kafka table is a source here; write with upsert-kafka",
    ),
    OptionSpec::refused(
        "sink.delivery-guarantee",
        &[Source, Sink],
        "a kafka table is a source here; write with upsert-kafka",
    ),
    OptionSpec::refused(
        "sink.transactional-id-prefix",
        &[Source, Sink],
        "a kafka table is a source here; write with upsert-kafka",
    ),
];
