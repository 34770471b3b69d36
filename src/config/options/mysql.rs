//! `mysql` and `jdbc`: a table of a MySQL-protocol server (Flink: `JdbcConnectorOptions`).

use super::lookup::LOOKUP;
use super::spec::Role::{self, Dimension, Sink};
use super::spec::{ConnectorSpec, Kind, OptionSpec, joined};

const BOTH: &[Role] = &[Dimension, Sink];

pub(super) const MYSQL: ConnectorSpec = ConnectorSpec {
    name: "mysql",
    doc: "A table of a MySQL-protocol server, to look up in or to write to.",
    roles: BOTH,
    options: &OPTIONS,
    formats: &[],
    has_properties: false,
};

pub(super) const JDBC: ConnectorSpec =
    ConnectorSpec { name: "jdbc", doc: "The same as mysql, for a jdbc:mysql: url.", ..MYSQL };

const SCAN: &str = "only a scan of the whole table uses it";
const DRIVER: &str = "only a Java client uses it";

const OPTIONS: [OptionSpec; SERVER.len() + LOOKUP.len() + REST.len()] = joined(&[&SERVER, &LOOKUP, &REST]);

const SERVER: [OptionSpec; 5] = [
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
];

const REST: [OptionSpec; 14] = [
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
];
