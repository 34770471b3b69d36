//! Resolved sinks.

use std::time::Duration;

use super::{Format, KafkaClient, MysqlTable};

/// Where rows go, and what they look like there.
#[derive(Clone, Debug)]
pub struct SinkPlan {
    /// Name in the definition.
    pub table: String,
    /// Which connector.
    pub connector: SinkConnector,
    /// Positions of the sink's primary key in the output row, in declared order; empty: none.
    pub primary_key: Vec<usize>,
    /// What the sink is sent.
    pub encoding: Encoding,
}

/// Which rows of the changelog a sink is sent, and so what must be remembered of earlier output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `+I -U +U -D`, each retraction the row that was sent (print, blackhole, rows).
    Retract,
    /// `+I +U -D` by key, and the key is a function of the source's primary key: whether anything
    /// was sent for it is one bit.
    UpsertBySourceKey,
    /// `+I +U -D` by key, and the key holds more than the source's: the rows that were sent are remembered.
    UpsertByOwnKey,
}

/// Which connector.
#[derive(Clone, Debug)]
pub enum SinkConnector {
    /// `print`.
    Print {
        /// `print-identifier`; empty: none.
        identifier: String,
        /// `standard-error`.
        standard_error: bool,
    },
    /// `blackhole`.
    Blackhole,
    /// `upsert-kafka`.
    UpsertKafka(Box<KafkaSink>),
    /// `mysql`.
    Mysql(MysqlSink),
}

impl SinkConnector {
    /// The connector's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Print { .. } => "print",
            Self::Blackhole => "blackhole",
            Self::UpsertKafka(_) => "upsert-kafka",
            Self::Mysql(_) => "mysql",
        }
    }
}

/// `upsert-kafka` as a sink.
#[derive(Clone, Debug)]
pub struct KafkaSink {
    /// Topic.
    pub topic: String,
    /// Broker addresses and client settings.
    pub client: KafkaClient,
    /// Format of record keys.
    pub key_format: Format,
    /// Format of record values.
    pub value_format: Format,
    /// `value.fields-include: ALL` (true) or `EXCEPT_KEY`.
    pub value_includes_key: bool,
    /// `key.fields-prefix`: stripped from key names.
    pub key_prefix: String,
    /// Output column that holds the writable metadata `timestamp`.
    pub timestamp_column: Option<usize>,
    /// Output column that holds the writable metadata `headers`.
    pub headers_column: Option<usize>,
    /// Output columns that go into the value, in order (without metadata).
    pub value_columns: Vec<usize>,
    /// `sink.buffer-flush.max-rows` and `.interval`: both, or neither.
    pub buffer: Option<(usize, Duration)>,
}

/// `mysql` as a sink.
#[derive(Clone, Debug)]
pub struct MysqlSink {
    /// Server and table.
    pub table: MysqlTable,
    /// `sink.buffer-flush.max-rows`; 0: no count trigger.
    pub flush_rows: usize,
    /// `sink.buffer-flush.interval`; zero: no timer.
    pub flush_interval: Duration,
    /// `sink.max-retries`.
    pub max_retries: u32,
}
