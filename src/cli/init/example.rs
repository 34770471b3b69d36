//! The example that a starter definition tells: names, columns and values of options.

use crate::config::options::{Kind, OptionSpec, Role};

/// A dimension table of the example.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dimension {
    /// Its name, in the definition and in the database.
    pub table: &'static str,
    /// Its name in the pipeline.
    pub alias: &'static str,
    /// The column of the stream that names a row of it.
    pub key: &'static str,
    /// What its name becomes in the sink.
    pub name: &'static str,
}

/// As many as can be asked for.
pub(super) const DIMENSIONS: [Dimension; 4] = [
    Dimension { table: "customers", alias: "c", key: "customer_id", name: "customer_name" },
    Dimension { table: "products", alias: "p", key: "product_id", name: "product_name" },
    Dimension { table: "stores", alias: "s", key: "store_id", name: "store_name" },
    Dimension { table: "carriers", alias: "r", key: "carrier_id", name: "carrier_name" },
];

/// Name of the source table.
pub(super) const SOURCE: &str = "orders";
/// Name of the sink table.
pub(super) const SINK: &str = "enriched";

/// Options that are worth a line although they can be left out, in this order: written out, with a value.
pub(super) const WRITTEN: &[&str] = &[
    "topic",
    "key.format",
    "value.format",
    "format",
    "scan.startup.mode",
    "username",
    "password",
    "lookup.cache",
    "lookup.partial-cache.max-rows",
    "lookup.partial-cache.expire-after-write",
];

/// Options that are shown as comments, in this order, for those connectors that have them.
pub(super) const OFFERED: &[&str] = &[
    "value.fields-include",
    "on-empty-value",
    "scan.bounded.mode",
    "lookup.enable_hash",
    "lookup.partial-cache.cache-missing-key",
    "lookup.max-retries",
    "sink.buffer-flush.max-rows",
    "sink.buffer-flush.interval",
    "print-identifier",
];

/// Options of the job that are shown as comments.
pub(super) const JOB_OFFERED: &[&str] = &["parallelism", "state.ttl", "time-zone"];

/// The value of an option of `table`, whose connector is `connector`; `None`: the table of options knows none, and neither does the example.
pub(super) fn value(
    spec: &OptionSpec,
    table: &str,
    role: Role,
    format: &str,
    connector: &str,
) -> Option<String> {
    let fixed = match (spec.name, role) {
        ("topic", Role::Sink) => "orders-enriched",
        ("topic", _) => "orders",
        ("table-name", _) => table,
        ("key.format" | "value.format" | "format", _) => format,
        ("scan.startup.mode", _) => "earliest-offset",
        ("url", _) if connector == "sqlite" => "sqlite:${env:SHOP_FILE:-shop.db}",
        ("url", _) if connector == "jdbc" => "jdbc:mysql://${env:MYSQL:-localhost:3306}/shop",
        ("url", _) => "mysql://${env:MYSQL:-localhost:3306}/shop",
        ("username", _) => "${env:MYSQL_USER:-root}",
        ("password", _) => "${env:MYSQL_PASSWORD:-root}",
        ("lookup.cache", _) => "PARTIAL",
        ("lookup.partial-cache.max-rows", _) => "100000",
        ("lookup.partial-cache.expire-after-write", _) => "10 min",
        ("parallelism", _) => "4",
        _ => return spec.default.map(str::to_owned).or_else(|| stand_in(spec)),
    };
    Some(fixed.to_owned())
}

/// A value of the option's type, for options that the example does not know.
fn stand_in(spec: &OptionSpec) -> Option<String> {
    match spec.kind {
        Kind::Text | Kind::AnyText | Kind::Secret => Some(spec.name.to_owned()),
        Kind::Boolean => Some("false".to_owned()),
        Kind::Integer(least, most) => Some(1.clamp(least, most).to_string()),
        Kind::Duration(_) => Some("1 min".to_owned()),
        Kind::Choice(words) => {
            words.iter().find(|word| word.refused.is_none()).map(|word| word.name.to_owned())
        }
        Kind::Character | Kind::PartitionOffsets => None,
    }
}
