//! The options of every connector, as data: name, type, default, what it means, and where it applies.
//!
//! One table serves three readers: the check of what was written, the JSON
//! Schema, and whoever asks for a typed value. Names are Flink's; an option
//! that Flink has and Lookaside does not is in the table too, so that it is
//! refused by name and not as a slip of the keyboard.

mod blackhole;
mod check;
pub mod client;
mod effective;
mod formats;
mod job;
mod kafka;
mod lookup;
mod mysql;
mod print;
pub mod security;
mod spec;
mod sqlite;
mod typed;
mod upsert_kafka;

pub use check::{ConnectorUse, TableOptions, check_job, check_table};
pub use effective::EffectiveOption;
pub use formats::{FORMATS, FormatSpec, UNSUPPORTED_FORMATS};
pub use job::JOB_OPTIONS;
pub use spec::{Choice, ConnectorSpec, Flink, Kind, OptionSpec, Role, Support};
pub use typed::{Typed, unescape};

/// Every connector.
pub const CONNECTORS: &[ConnectorSpec] = &[
    upsert_kafka::CONNECTOR,
    kafka::CONNECTOR,
    mysql::MYSQL,
    mysql::JDBC,
    sqlite::CONNECTOR,
    print::CONNECTOR,
    blackhole::CONNECTOR,
];

/// Connectors of Flink that are not here, with what to say about them.
pub const UNSUPPORTED_CONNECTORS: &[(&str, &str)] = &[
    ("postgres", "not supported yet"),
    ("filesystem", "not supported yet"),
    ("mysql-cdc", "not supported yet: put the changes on a topic and read them with upsert-kafka"),
    ("elasticsearch-7", "not supported yet"),
    ("hbase-2.2", "not supported yet"),
    ("datagen", "not supported: rows come from Kafka"),
];

/// The connector of this name.
#[must_use]
pub fn connector(name: &str) -> Option<&'static ConnectorSpec> {
    CONNECTORS.iter().find(|connector| connector.name == name)
}
