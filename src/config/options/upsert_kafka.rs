//! `upsert-kafka`: a topic read and written as a changelog by key (Flink: `UpsertKafkaDynamicTableFactory`).

use super::spec::Role::{self, Sink, Source};
use super::spec::{Choice, ConnectorSpec, Kind, OptionSpec};

const BOTH: &[Role] = &[Source, Sink];

pub(super) const CONNECTOR: ConnectorSpec = ConnectorSpec {
    name: "upsert-kafka",
    doc: "A Kafka topic as a changelog: the record key is the primary key, a null value is a delete.",
    roles: BOTH,
    options: OPTIONS,
    formats: &[("key.", "key.format"), ("value.", "value.format")],
    has_properties: true,
};

/// `value.fields-include`.
pub(super) const FIELDS_INCLUDE: Kind = Kind::Choice(&[Choice::of("ALL"), Choice::of("EXCEPT_KEY")]);
/// `on-empty-value` of a table that has deletes.
const ON_EMPTY_VALUE: Kind =
    Kind::Choice(&[Choice::of("error"), Choice::of("skip"), Choice::of("tombstone")]);
/// `value.lossy-conversion`.
pub(super) const LOSSY: Kind = Kind::Choice(&[Choice::of("error"), Choice::of("flink")]);
/// `scan.bounded.mode`.
pub(super) const BOUNDED_MODE: Kind = Kind::Choice(&[
    Choice::of("unbounded"),
    Choice::of("latest-offset"),
    Choice::of("group-offsets"),
    Choice::of("timestamp"),
    Choice::of("specific-offsets"),
]);
const DELIVERY: Kind = Kind::Choice(&[
    Choice::of("at-least-once"),
    Choice::refused("exactly-once", "not supported yet; at-least-once is"),
    Choice::of("none"),
]);
pub(super) const SHARDS: &str =
    "not an option of a table: 'parallelism' under 'options' sets the number of worker shards";
const TRANSACTIONS: &str = "not supported yet: it belongs to exactly-once delivery";

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("topic", Kind::Text, BOTH, "Topic; a source may name several, separated by ';'."),
    OptionSpec::new("topic-pattern", Kind::Text, &[Source], "Regular expression over topic names, full match."),
    OptionSpec::new("key.format", Kind::Text, BOTH, "Format of record keys: json, csv or raw.").required(),
    OptionSpec::new("value.format", Kind::Text, BOTH, "Format of record values: json, csv or raw.").required(),
    OptionSpec::new(
        "key.fields-prefix",
        Kind::AnyText,
        BOTH,
        "Prefix of the key columns' names that record keys lack; needs value.fields-include EXCEPT_KEY.",
    )
    .default(""),
    OptionSpec::new("value.fields-include", FIELDS_INCLUDE, BOTH, "Whether values repeat the key columns.")
        .default("ALL"),
    OptionSpec::new(
        "on-key-mismatch",
        Kind::Choice(&[Choice::of("value"), Choice::of("error")]),
        &[Source],
        "When key and value disagree: the value's copy counts (as in Flink, with a warning), or the job stops.",
    ).own()
    .default("value"),
    OptionSpec::new(
        "on-empty-value",
        ON_EMPTY_VALUE,
        &[Source],
        "What a value of zero bytes is: an error, nothing, or a delete.",
    ).own()
    .default("error"),
    OptionSpec::new(
        "value.lossy-conversion",
        LOSSY,
        &[Source],
        "When a value must be altered to fit its column: an error, or altered as Flink does.",
    ).own()
    .default("error"),
    OptionSpec::new("scan.bounded.mode", BOUNDED_MODE, &[Source], "Where the job ends.").default("unbounded"),
    OptionSpec::new(
        "scan.bounded.specific-offsets",
        Kind::PartitionOffsets,
        &[Source],
        "End offsets by partition, exclusive; other partitions are not read.",
    ),
    OptionSpec::new(
        "scan.bounded.timestamp-millis",
        Kind::Integer(0, i64::MAX),
        &[Source],
        "End at the first record at or after this time.",
    ),
    OptionSpec::new(
        "scan.topic-partition-discovery.interval",
        Kind::Duration(0),
        &[Source],
        "Time between looks for new partitions; 0 looks never.",
    )
    .default("5 min"),
    OptionSpec::new(
        "sink.buffer-flush.max-rows",
        Kind::Integer(0, 1_000_000),
        &[Sink],
        "Distinct keys that are held back and reduced to their last row; 0 holds back none.",
    )
    .default("0"),
    OptionSpec::new(
        "sink.buffer-flush.interval",
        Kind::Duration(0),
        &[Sink],
        "Longest time that rows are held back; 0 holds back none.",
    )
    .default("0 s"),
    OptionSpec::new("sink.delivery-guarantee", DELIVERY, &[Sink], "What a restart may do to the sink; none is taken as at-least-once, the least that is given.")
        .default("at-least-once"),
    OptionSpec::refused("sink.transactional-id-prefix", &[Sink], TRANSACTIONS),
    OptionSpec::refused("sink.transaction-naming-strategy", &[Sink], TRANSACTIONS),
    OptionSpec::refused("sink.parallelism", &[Sink], SHARDS),
    OptionSpec::refused("scan.parallelism", &[Source], SHARDS),
    OptionSpec::refused(
        "sink.partitioner",
        &[Sink],
        "records go to the partition of their key, as every Kafka producer does by default",
    ),
    OptionSpec::refused("key.fields", BOTH, "the key columns are those of PRIMARY KEY"),
    OptionSpec::refused("format", BOTH, "key.format and value.format are given apart"),
    OptionSpec::refused(
        "scan.startup.mode",
        &[Source],
        "upsert-kafka reads from the earliest offset, because a changelog has no meaning without its beginning",
    ),
    OptionSpec::refused("scan.startup.specific-offsets", &[Source], "upsert-kafka reads from the earliest offset"),
    OptionSpec::refused("scan.startup.timestamp-millis", &[Source], "upsert-kafka reads from the earliest offset"),
];
