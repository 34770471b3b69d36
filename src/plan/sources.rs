//! Resolved source tables.

use crate::clock::Millis;
use crate::expr::Expression;
use crate::model::{DataType, RowLayout};

use super::Secret;

/// A Kafka source, resolved.
#[derive(Clone, Debug)]
pub struct SourcePlan {
    /// Name in the definition.
    pub table: String,
    /// Upsert or append-only.
    pub kind: SourceKind,
    /// What to read.
    pub topics: Topics,
    /// `scan.topic-partition-discovery.interval`: between two looks for topics that match a pattern; `Millis::MAX`
    /// looks never.
    pub discovery: Millis,
    /// Broker addresses and client settings.
    pub client: KafkaClient,
    /// Consumer group.
    pub group_id: String,
    /// Where to begin without committed offsets (`kafka` only; upsert-kafka always rebuilds from the start).
    pub startup: Startup,
    /// Where to end.
    pub bounded: Bounded,
    /// Format of record keys; `None`: the key is not read.
    pub key_format: Option<Format>,
    /// Format of record values.
    pub value_format: Format,
    /// `value.fields-include: ALL` (true) or `EXCEPT_KEY`.
    pub value_includes_key: bool,
    /// `key.fields-prefix`: cut from the names of key columns inside the record key; empty: none.
    pub key_prefix: String,
    /// Number of physical columns that the table declares, needed or not: how many fields a csv line has.
    pub physical_arity: usize,
    /// Physical columns that something needs, in declared order; what nothing reads is left out
    /// (primary-key columns are always here).
    pub physical: Vec<PhysicalColumn>,
    /// Positions in `physical` of the columns in the record key, in key order
    /// (upsert-kafka: the primary key in declared order; kafka: `key.fields`).
    pub key_columns: Vec<usize>,
    /// The stream row: what is kept and what expressions see.
    pub columns: Vec<StreamColumn>,
    /// `on-key-mismatch: error`.
    pub key_mismatch_is_error: bool,
    /// `on-empty-value`.
    pub on_empty_value: EmptyValue,
    /// `value.lossy-conversion: flink`.
    pub lossy_conversion: bool,
}

impl SourcePlan {
    /// How stream rows are packed.
    #[must_use]
    pub fn layout(&self) -> RowLayout {
        RowLayout::new(self.columns.iter().map(|column| &column.ty))
    }

    /// How primary keys are packed: the types of `key_columns`.
    #[must_use]
    pub fn key_layout(&self) -> RowLayout {
        RowLayout::new(self.key_columns.iter().filter_map(|&i| self.physical.get(i)).map(|column| &column.ty))
    }
}

/// Which connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// `upsert-kafka`: keyed, normalized.
    UpsertKafka,
    /// `kafka` with an insert-only format.
    Kafka,
}

/// `on-empty-value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyValue {
    /// Stop (default); raw STRING and BYTES read an empty value.
    Error,
    /// Ignore the record.
    Skip,
    /// Treat it as a delete.
    Tombstone,
}

/// `topic` or `topic-pattern`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topics {
    /// A fixed list.
    List(Vec<String>),
    /// A regular expression over topic names, full match.
    Pattern(String),
}

/// `properties.*`, translated to librdkafka's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaClient {
    /// `bootstrap.servers`.
    pub bootstrap_servers: String,
    /// Settings in librdkafka's names; secrets are redacted in Debug.
    pub settings: Vec<(String, Secret)>,
}

/// `scan.startup.mode` and its companions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Startup {
    /// Committed offsets; `reset` from `properties.auto.offset.reset` (`None`: fail).
    GroupOffsets {
        /// Where to begin without a committed offset: true = earliest, false = latest.
        reset_to_earliest: Option<bool>,
    },
    /// From the beginning.
    Earliest,
    /// From the end.
    Latest,
    /// The first record at or after this time.
    Timestamp(i64),
    /// Given offsets by partition.
    SpecificOffsets(Vec<(i32, i64)>),
}

/// `scan.bounded.mode` and its companions. Stop offsets are exclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bounded {
    /// Never ends.
    Unbounded,
    /// The end offsets at start.
    Latest,
    /// The committed offsets at start.
    GroupOffsets,
    /// The first record at or after this time.
    Timestamp(i64),
    /// Given offsets by partition; other partitions are not read.
    SpecificOffsets(Vec<(i32, i64)>),
}

/// A physical column of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhysicalColumn {
    /// Name in the table.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// Position among all physical columns of the table: csv and raw read by position.
    pub ordinal: usize,
}

/// A column of the stream row.
#[derive(Clone, Debug)]
pub struct StreamColumn {
    /// Name in the table.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// Where its value comes from.
    pub source: ColumnSource,
}

/// Where a stream column's value comes from.
#[derive(Clone, Debug)]
pub enum ColumnSource {
    /// The physical column at this position of [`SourcePlan::physical`].
    Physical(usize),
    /// Kafka's record metadata.
    Metadata(Metadata),
    /// `name AS expression`; its scope is `physical` followed by [`Metadata::ALL`].
    Computed(Expression),
}

/// Readable metadata of a Kafka record (Flink: upsert-kafka "Available Metadata").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metadata {
    /// `topic` STRING NOT NULL.
    Topic,
    /// `partition` INT NOT NULL.
    Partition,
    /// `headers` MAP<STRING, BYTES> NOT NULL.
    Headers,
    /// `header-list` ARRAY<ROW<key STRING, value BYTES>> NOT NULL.
    HeaderList,
    /// `leader-epoch` INT.
    LeaderEpoch,
    /// `offset` BIGINT NOT NULL.
    Offset,
    /// `timestamp` TIMESTAMP_LTZ(3) NOT NULL.
    Timestamp,
    /// `timestamp-type` STRING NOT NULL.
    TimestampType,
}

impl Metadata {
    /// All of them, in a fixed order.
    pub const ALL: [Self; 8] = [
        Self::Topic,
        Self::Partition,
        Self::Headers,
        Self::HeaderList,
        Self::LeaderEpoch,
        Self::Offset,
        Self::Timestamp,
        Self::TimestampType,
    ];
}

/// How keys or values are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// `json`.
    Json(JsonOptions),
    /// `csv`.
    Csv(CsvOptions),
    /// `raw`: one column.
    Raw(RawOptions),
}

/// `json.timestamp-format.standard`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampFormat {
    /// `yyyy-MM-dd HH:mm:ss.f`.
    Sql,
    /// `yyyy-MM-ddTHH:mm:ss.f`.
    Iso8601,
}

/// What a MAP's null key becomes in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapNullKey {
    /// An error.
    Fail,
    /// The entry is left out.
    Drop,
    /// This text.
    Literal(String),
}

/// `json.*` (Flink D.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonOptions {
    /// `fail-on-missing-field`.
    pub fail_on_missing_field: bool,
    /// `ignore-parse-errors`.
    pub ignore_parse_errors: bool,
    /// `timestamp-format.standard`.
    pub timestamp_format: TimestampFormat,
    /// `map-null-key.mode` and `.literal`.
    pub map_null_key: MapNullKey,
    /// `encode.decimal-as-plain-number`; Lookaside's default is true.
    pub decimal_as_plain_number: bool,
    /// `encode.ignore-null-fields`.
    pub ignore_null_fields: bool,
}

/// `csv.*` (Flink D.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// `field-delimiter`.
    pub field_delimiter: char,
    /// `quote-character`; `None` when disabled.
    pub quote: Option<char>,
    /// `escape-character`.
    pub escape: Option<char>,
    /// `allow-comments`.
    pub allow_comments: bool,
    /// `ignore-parse-errors`.
    pub ignore_parse_errors: bool,
    /// `array-element-delimiter`.
    pub array_element_delimiter: String,
    /// `null-literal`.
    pub null_literal: Option<String>,
    /// `write-bigdecimal-in-scientific-notation`; Lookaside's default is false.
    pub decimal_in_scientific_notation: bool,
    /// `trim-spaces`.
    pub trim_spaces: bool,
    /// `ignore-trailing-unmappable`.
    pub ignore_trailing_unmappable: bool,
    /// `allow-trailing-comma`.
    pub allow_trailing_comma: bool,
    /// `fail-on-missing-columns`.
    pub fail_on_missing_columns: bool,
    /// `empty-string-as-null`.
    pub empty_string_as_null: bool,
}

/// `raw.*` (Flink D.3). The charset is always UTF-8; another is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawOptions {
    /// `endianness: big-endian`.
    pub big_endian: bool,
}
