//! What will run: the definition, validated and resolved.
//!
//! A [`Plan`] is immutable, holds no secret in a printable field, and says for
//! each stage of the data path exactly what it needs to know. `compile` makes
//! it from a definition and reports every fault at once.
//!
//! **Columns.** The stream row holds the columns that something reads (Flink:
//! projection push-down below ChangelogNormalize). Expressions after the
//! source see one flat list of columns, the *joined row*: the stream row's
//! columns first, then the fetched columns of each lookup in turn
//! ([`Plan::segments`]).

mod compile;
mod dimension;
pub mod explain;
mod filter;
mod joined;
mod lookups;
mod sinks;
mod sources;
mod sql;

pub use compile::{compile, compile_with_sql};
pub use dimension::{DimensionConnector, MysqlTable, Secret, SqliteTable};
pub use filter::PackedFilter;
pub use joined::{JoinedLayout, JoinedRow, PackedRow, PlainRow};
pub use lookups::{CachePlan, Comparison, DimensionColumn, JoinKind, KeyPart, KeySource, LookupPlan};
pub use sinks::{Encoding, KafkaSink, MysqlSink, SinkConnector, SinkPlan};
pub use sources::{
    Bounded, ColumnSource, CsvOptions, EmptyValue, Format, JsonOptions, KafkaClient, MapNullKey, Metadata,
    PhysicalColumn, RawOptions, SourceKind, SourcePlan, Startup, StreamColumn, TimestampFormat, Topics,
};
pub use sql::{LookupSql, PlanSql};

use std::time::Duration;

use crate::expr::Expression;
use crate::keygroup::KeyHash;
use crate::model::{DataType, RowLayout};

/// A whole pipeline, ready to be built.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Application id: consumer group and client ids.
    pub name: String,
    /// Where rows come from and how they are decoded.
    pub source: SourcePlan,
    /// Keyed state; `None` for append-only sources.
    pub normalize: Option<NormalizePlan>,
    /// Lookups in order.
    pub lookups: Vec<LookupPlan>,
    /// What is left of `where` after push-down; over the joined row.
    pub filter: Option<Expression>,
    /// The output row.
    pub project: ProjectPlan,
    /// Where rows go.
    pub sink: SinkPlan,
    /// Options of the definition.
    pub options: Options,
    /// Things to say once at start (accepted options that do nothing here, …).
    pub notes: Vec<String>,
}

impl Plan {
    /// Number of columns of each segment of the joined row: the stream, then each lookup.
    #[must_use]
    pub fn segments(&self) -> Vec<usize> {
        let lookups = self.lookups.iter().map(|lookup| lookup.columns.len());
        std::iter::once(self.source.columns.len()).chain(lookups).collect()
    }
}

/// ChangelogNormalize of one upsert source.
#[derive(Clone, Debug)]
pub struct NormalizePlan {
    /// Positions of the primary key in the stream row, in declared order.
    pub primary_key: Vec<usize>,
    /// Predicates over primary-key columns alone: applied before the state (Flink: below the exchange).
    pub key_filter: Option<Expression>,
    /// The other predicates over the stream row: the operator's own filter (B.3).
    pub filter: Option<Expression>,
    /// `state.ttl`; `None` never expires.
    pub ttl: Option<Duration>,
    /// Mini-batch, when enabled.
    pub mini_batch: Option<MiniBatch>,
}

/// `mini-batch.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MiniBatch {
    /// `mini-batch.allow-latency`.
    pub latency: Duration,
    /// `mini-batch.size`: input rows per bundle.
    pub size: usize,
}

/// The output row.
#[derive(Clone, Debug)]
pub struct ProjectPlan {
    /// Columns in the sink's order.
    pub columns: Vec<OutputColumn>,
}

impl ProjectPlan {
    /// How output rows are packed.
    #[must_use]
    pub fn layout(&self) -> RowLayout {
        RowLayout::new(self.columns.iter().map(|column| &column.ty))
    }
}

/// One column of the output row.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// Name in the sink.
    pub name: String,
    /// Type in the sink.
    pub ty: DataType,
    /// Its value, over the joined row, already widened to `ty`.
    pub value: Expression,
}

/// `options` of the definition.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker shards; `None` takes the number of cores.
    pub parallelism: Option<u16>,
    /// Key groups; `None` takes Flink's default for the parallelism.
    pub max_parallelism: Option<u16>,
    /// Which of Flink's hashes.
    pub key_hash: KeyHash,
    /// Session zone.
    pub time_zone: String,
    /// Time between commits.
    pub commit_interval: Duration,
}
