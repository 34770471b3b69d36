//! `mysql` and `jdbc`: a table of a MySQL-protocol server (Flink: `JdbcConnectorOptions`).

use super::spec::Role::{self, Dimension, Sink};
use super::spec::{Choice, ConnectorSpec, Kind, OptionSpec};

const BOTH: &[Role] = &[Dimension, Sink];
const LOOKUP: &[Role] = &[Dimension];

pub(super) const MYSQL: ConnectorSpec = ConnectorSpec {
    name: "mysql",
    doc: "A table of a MySQL-protocol server, to look up in or to write to.",
    roles: BOTH,
    options: OPTIONS,
    formats: &[],
    has_properties: false,
};

pub(super) const JDBC: ConnectorSpec =
    ConnectorSpec { name: "jdbc", doc: "The same as mysql, for a jdbc:mysql: url.", ..MYSQL };

const SCAN: &str = "only a scan of the whole table uses it";
const DRIVER: &str = "only a Java client uses it";
const FULL: &str = "not supported yet: it belongs to lookup.cache FULL";

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "url",
        Kind::Text,
        BOTH,
        "mysql://host:port/database, or jdbc:mysql://host:port/database with the driver's parameters.",
    )
    .required(),
    OptionSpec::new("table-name", Kind::Text, BOTH, "The table, possibly database.table.").required(),
    OptionSpec::new("username", Kind::Text, BOTH, "User; given together with password, or neither."),
    OptionSpec::new("password", Kind::Secret, BOTH, "Password; given together with username, or neither."),
    OptionSpec::new(
        "connection.max-retry-timeout",
        Kind::Duration(1_000),
        BOTH,
        "Longest wait for a connection.",
    )
    .default("60 s"),
    OptionSpec::new(
        "lookup.enable_hash",
        Kind::Boolean,
        LOOKUP,
        "Each key is cached by one shard alone: memory for more keys, at the price of a hop between shards.",
    )
    .flink("hint LOOKUP('shuffle'='true')")
    .default("false"),
    OptionSpec::new(
        "lookup.cache",
        Kind::Choice(&[
            Choice::of("NONE"),
            Choice::of("PARTIAL"),
            Choice::refused("FULL", "not supported yet; PARTIAL is"),
        ]),
        LOOKUP,
        "Whether looked-up rows are cached.",
    )
    .default("NONE"),
    OptionSpec::new(
        "lookup.partial-cache.max-rows",
        Kind::Integer(1, i64::MAX),
        LOOKUP,
        "Keys that the cache holds, per table and replica.",
    ),
    OptionSpec::new(
        "lookup.partial-cache.expire-after-write",
        Kind::Duration(1),
        LOOKUP,
        "Time after which a cached key is asked for again.",
    ),
    OptionSpec::new(
        "lookup.partial-cache.expire-after-access",
        Kind::Duration(1),
        LOOKUP,
        "Time without use after which a cached key is dropped.",
    ),
    OptionSpec::new(
        "lookup.partial-cache.cache-missing-key",
        Kind::Boolean,
        LOOKUP,
        "Whether absence is cached.",
    )
    .default("true"),
    OptionSpec::new(
        "lookup.partial-cache.missing-key-expire-after-write",
        Kind::Duration(1),
        LOOKUP,
        "Time after which a key that had no row is asked for again; absent: as expire-after-write.",
    )
    .own(),
    OptionSpec::new(
        "lookup.cache.max-rows",
        Kind::Integer(-1, i64::MAX),
        LOOKUP,
        "Older name of lookup.partial-cache.max-rows; given together with lookup.cache.ttl.",
    ),
    OptionSpec::new(
        "lookup.cache.ttl",
        Kind::Duration(1),
        LOOKUP,
        "Older name of lookup.partial-cache.expire-after-write; given together with lookup.cache.max-rows.",
    ),
    OptionSpec::new(
        "lookup.cache.caching-missing-key",
        Kind::Boolean,
        LOOKUP,
        "Older name of lookup.partial-cache.cache-missing-key.",
    ),
    OptionSpec::new(
        "lookup.max-retries",
        Kind::Integer(0, 1_000),
        LOOKUP,
        "Retries after the first try, each on a fresh connection; then the job stops.",
    )
    .default("3"),
    OptionSpec::new(
        "sink.buffer-flush.max-rows",
        Kind::Integer(0, 1_000_000),
        &[Sink],
        "Rows that are written together; 0 sets no limit but time.",
    )
    .default("100"),
    OptionSpec::new(
        "sink.buffer-flush.interval",
        Kind::Duration(0),
        &[Sink],
        "Longest time that rows wait to be written; 0 sets no limit but rows.",
    )
    .default("1 s"),
    OptionSpec::new(
        "sink.max-retries",
        Kind::Integer(0, 1_000),
        &[Sink],
        "Retries of a write; then the job stops.",
    )
    .default("3"),
    OptionSpec::noted("driver", BOTH, DRIVER),
    OptionSpec::noted("compatible-mode", BOTH, DRIVER),
    OptionSpec::noted("scan.partition.column", BOTH, SCAN),
    OptionSpec::noted("scan.partition.num", BOTH, SCAN),
    OptionSpec::noted("scan.partition.lower-bound", BOTH, SCAN),
    OptionSpec::noted("scan.partition.upper-bound", BOTH, SCAN),
    OptionSpec::noted("scan.fetch-size", BOTH, SCAN),
    OptionSpec::noted("scan.auto-commit", BOTH, SCAN),
    OptionSpec::noted("filter.handling.policy", BOTH, SCAN),
    OptionSpec::refused("scan.parallelism", BOTH, super::upsert_kafka::SHARDS),
    OptionSpec::refused("sink.parallelism", BOTH, super::upsert_kafka::SHARDS),
    OptionSpec::refused(
        "lookup.async",
        LOOKUP,
        "not an option: lookups never block other keys, and the order of rows is kept",
    ),
    OptionSpec::refused("lookup.full-cache.reload-strategy", LOOKUP, FULL),
    OptionSpec::refused("lookup.full-cache.periodic-reload.interval", LOOKUP, FULL),
    OptionSpec::refused("lookup.full-cache.periodic-reload.schedule-mode", LOOKUP, FULL),
    OptionSpec::refused("lookup.full-cache.timed-reload.iso-time", LOOKUP, FULL),
    OptionSpec::refused("lookup.full-cache.timed-reload.interval-in-days", LOOKUP, FULL),
];
