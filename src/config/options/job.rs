//! `options` of a definition: what Flink sets for the whole job.

use super::spec::{Choice, Kind, OptionSpec};

/// Largest number of key groups (Flink: `KeyGroupRangeAssignment.UPPER_BOUND_MAX_PARALLELISM`).
pub const MAX_PARALLELISM: i64 = 32_768;

/// Every option.
pub const JOB_OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "parallelism",
        Kind::Integer(1, MAX_PARALLELISM),
        &[],
        "Worker shards; absent: one per core.",
    )
    .flink("parallelism.default"),
    OptionSpec::new(
        "max-parallelism",
        Kind::Integer(1, MAX_PARALLELISM),
        &[],
        "Key groups; absent: Flink's rule for the parallelism.",
    )
    .flink("pipeline.max-parallelism"),
    OptionSpec::new(
        "key-hash",
        Kind::Choice(&[Choice::of("flink-sql"), Choice::of("java")]),
        &[],
        "Hash of keys: that of Flink's SQL exchange, or of DataStream keyBy.",
    )
    .own()
    .default("flink-sql"),
    OptionSpec::new(
        "state.ttl",
        Kind::Duration(0),
        &[],
        "Time after which a key without change is forgotten; 0: never.",
    )
    .flink("table.exec.state.ttl")
    .default("0 s"),
    OptionSpec::new(
        "mini-batch.enabled",
        Kind::Boolean,
        &[],
        "Only the last change of a key per bundle counts.",
    )
    .flink("table.exec.mini-batch.enabled")
    .default("false"),
    OptionSpec::new("mini-batch.allow-latency", Kind::Duration(0), &[], "Longest time that a bundle waits.")
        .flink("table.exec.mini-batch.allow-latency")
        .default("0 ms"),
    OptionSpec::new("mini-batch.size", Kind::Integer(-1, 10_000_000), &[], "Input rows of a bundle.")
        .flink("table.exec.mini-batch.size")
        .default("-1"),
    OptionSpec::new(
        "time-zone",
        Kind::Text,
        &[],
        "Zone of the session: an IANA name, or an offset such as GMT+08:00.",
    )
    .flink("table.local-time-zone")
    .default("UTC"),
    OptionSpec::new("commit.interval", Kind::Duration(1), &[], "Time between commits.")
        .flink("execution.checkpointing.interval")
        .default("1 s"),
    OptionSpec::new(
        "on-error",
        Kind::Choice(&[
            Choice::of("fail"),
            Choice::refused("dead-letter", "not supported yet"),
            Choice::refused("skip", "not supported yet"),
        ]),
        &[],
        "What a row that cannot be processed does to the job.",
    )
    .own()
    .default("fail"),
];
