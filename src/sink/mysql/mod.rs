//! `mysql` as a sink: the last row of each key, in batches, each batch one transaction.
//!
//! A shard's writer collects rows in a [`buffer::Buffer`]; a full one becomes a
//! job for the shard's task ([`task`]), which commits all jobs that queued up
//! while the last transaction ran in one transaction of few statements. An
//! epoch is durable when the transaction with its last row is committed.
//!
//! Within a transaction deletes come before upserts: a row that takes over a
//! unique value, or a key that the column's collation holds for the same, must
//! find the deleted row gone. (Flink sends upserts first and loses the row.)

mod buffer;
mod privileges;
mod rows;
mod statements;
mod task;
mod transaction;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::db::mysql::writable;
use crate::db::{ColumnInfo, Connections, Databases, Index, LiveTable, Mysql, time_zone, wait_for};
use crate::error::{Error, Kind, Result, TablePart};
use crate::model::{DataType, RowLayout, ShardId};
use crate::plan::{MysqlSink, Plan, SinkPlan};

use super::{Environment, SinkCounts, Writer};
use rows::Columns;
use statements::Statements;

/// What a MySQL sink is asked to write.
#[derive(Clone, Debug)]
pub struct MysqlSinkSpec {
    /// Name in the definition.
    pub table: String,
    /// Server, table and flush settings.
    pub sink: MysqlSink,
    /// Columns of the output row: names in the table, declared types.
    pub columns: Vec<(String, DataType)>,
    /// Positions of the primary key in `columns`; empty: rows are only inserted.
    pub primary_key: Vec<usize>,
    /// `time-zone` of the definition: what TIMESTAMP(p) means in a MySQL TIMESTAMP column.
    pub time_zone: String,
}

impl MysqlSinkSpec {
    /// What `plan` asks of its MySQL sink.
    #[must_use]
    pub fn new(plan: &Plan, sink: &MysqlSink) -> Self {
        let SinkPlan { table, primary_key, .. } = &plan.sink;
        Self {
            table: table.clone(),
            sink: sink.clone(),
            columns: plan
                .project
                .columns
                .iter()
                .map(|column| (column.name.clone(), column.ty.clone()))
                .collect(),
            primary_key: primary_key.clone(),
            time_zone: plan.options.time_zone.clone(),
        }
    }
}

/// A MySQL table, open for all shards of the process.
pub struct MysqlTableSink {
    shared: Arc<Shared>,
    notes: Vec<String>,
}

/// What the shards' writers and tasks share.
struct Shared {
    table: String,
    connections: Arc<Connections<Mysql>>,
    clock: Clock,
    counts: Arc<SinkCounts>,
    columns: Columns,
    statements: Statements,
    /// `sink.buffer-flush.max-rows`; 0: no count trigger.
    flush_rows: usize,
    /// `sink.buffer-flush.interval`; zero: no timer.
    flush_interval: Duration,
    max_retries: u32,
}

impl MysqlTableSink {
    /// Connects and compares what is to be written with the live table. A
    /// server that cannot be reached is waited for until the process stops.
    ///
    /// # Errors
    /// [`Kind::External`] when the server refuses, or when the table, a column, a type or the key is not as declared.
    pub fn open(spec: &MysqlSinkSpec, environment: &Environment) -> Result<Self> {
        let go_on = || !environment.stopped();
        let connections = environment.databases.mysql.get(&spec.sink.table);
        let opening = wait_for(&environment.clock, &go_on, async || {
            Self::open_once(spec, &connections, &environment.clock, &environment.counts).await
        });
        let sink = environment.runtime.block_on(opening)?;
        for note in &sink.notes {
            tracing::warn!("{note}");
        }
        Ok(sink)
    }

    async fn open_once(
        spec: &MysqlSinkSpec,
        connections: &Arc<Connections<Mysql>>,
        clock: &Clock,
        counts: &Arc<SinkCounts>,
    ) -> Result<Self> {
        let zone = time_zone(&spec.time_zone)
            .ok_or_else(|| Error::new(Kind::Definition, format!("unknown time-zone {}", spec.time_zone)))?;
        let live = LiveTable::open(connections, &spec.sink.table, &spec.table).await?;
        let columns = Columns::new(&live, spec, &zone)?;
        check_required(&live, spec)?;
        let notes = check_key(&live, spec)?;
        let statements = Statements::new(&live.info, &columns.names(), &columns.key_placeholders());
        live.connection.give_back();
        let shared = Shared {
            table: spec.table.clone(),
            connections: Arc::clone(connections),
            clock: clock.clone(),
            counts: Arc::clone(counts),
            columns,
            statements,
            flush_rows: spec.sink.flush_rows,
            flush_interval: spec.sink.flush_interval,
            max_retries: spec.sink.max_retries,
        };
        Ok(Self { shared: Arc::new(shared), notes })
    }

    /// Tries what [`MysqlTableSink::open`] needs, and the rights to write, without writing: what is said at start.
    ///
    /// # Errors
    /// As [`MysqlTableSink::open`]; [`Kind::Transient`] when the server is unreachable.
    pub async fn check(spec: &MysqlSinkSpec, databases: &Databases, clock: &Clock) -> Result<Vec<String>> {
        let connections = databases.mysql.get(&spec.sink.table);
        let sink = Self::open_once(spec, &connections, clock, &Arc::default()).await?;
        privileges::check(spec, &connections).await?;
        Ok(sink.notes)
    }

    /// What was said at start: other unique indexes, keys whose collation takes different texts for one.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The writer of one shard; its task runs on the environment's runtime.
    #[must_use]
    pub fn writer(&self, shard: ShardId, environment: &Environment) -> Box<dyn Writer> {
        Box::new(writer::MysqlWriter::new(Arc::clone(&self.shared), shard, environment))
    }
}

/// A column that is not written must have a default.
fn check_required(live: &LiveTable<'_, Mysql>, spec: &MysqlSinkSpec) -> Result<()> {
    let written = |name: &str| spec.columns.iter().any(|(column, _)| column.eq_ignore_ascii_case(name));
    let unwritten = |column: &&ColumnInfo| !column.has_default && !written(&column.name);
    match live.info.columns.iter().find(unwritten) {
        Some(column) => Err(live.refusal(&format!(
            "has column `{}`, NOT NULL without a default, which the sink does not write; \
             add it to `columns` or give it a default",
            column.name
        ))),
        None => Ok(()),
    }
}

/// The declared key must be a unique index: `ON DUPLICATE KEY UPDATE` finds rows by those alone.
fn check_key(live: &LiveTable<'_, Mysql>, spec: &MysqlSinkSpec) -> Result<Vec<String>> {
    if spec.primary_key.is_empty() {
        return Ok(Vec::new());
    }
    let key: Vec<&str> = spec
        .primary_key
        .iter()
        .filter_map(|at| spec.columns.get(*at))
        .map(|(name, _)| name.as_str())
        .collect();
    let is_key = |name: &String| key.iter().any(|part| part.eq_ignore_ascii_case(name));
    let same = |index: &&Index| {
        index.unique && !index.partial && index.columns.len() == key.len() && index.columns.iter().all(is_key)
    };
    if !live.info.indexes.iter().any(|index| same(&index)) {
        let names = key.join(", ");
        let what = format!(
            "has no PRIMARY KEY or UNIQUE index on exactly ({names}), so rows would pile up instead of being \
             replaced; create one, or declare the key that the table has"
        );
        return Err(live.refusal(&what).about(TablePart::PrimaryKey));
    }
    let mut notes = Vec::new();
    for index in live.info.indexes.iter().filter(|index| index.unique && !same(index)) {
        notes.push(format!(
            "table {}: `{}` is a second unique index: a row that meets it replaces the row that holds its value, \
             whatever that row's key",
            spec.table, index.name
        ));
    }
    for name in key {
        let collation =
            live.info.column(name).and_then(|column| column.collation.as_deref()).unwrap_or_default();
        if !collation.is_empty() && !collation.ends_with("_bin") {
            notes.push(format!(
                "table {}: key column `{name}` has collation {collation}, for which different texts can be the same \
                 key; a collation that ends in _bin tells them apart",
                spec.table
            ));
        }
    }
    Ok(notes)
}

/// The layout of output rows.
fn layout_of(columns: &[(String, DataType)]) -> RowLayout {
    RowLayout::new(columns.iter().map(|(_, ty)| ty))
}

/// The live column of a written column, whose type must take the declared one.
fn written_column<'a>(
    live: &'a LiveTable<'_, Mysql>,
    (name, ty): &(String, DataType),
) -> Result<&'a ColumnInfo> {
    let column = live.typed_column(name, ty, writable)?;
    if column.generated {
        let what = format!(
            "has column `{name}` as a generated column, which cannot be written; leave it out of `columns`"
        );
        return Err(live.refusal(&what).about(TablePart::Column(name.clone())));
    }
    Ok(column)
}
