//! A dimension table in MySQL: keys in, rows out, aligned.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::tz::TimeZone;
use sqlx::AssertSqlSafe;
use sqlx::mysql::{MySqlConnection, MySqlRow};
use tokio::time::timeout;

use crate::clock::Stopwatch;
use crate::error::{Error, Kind, Result};
use crate::model::RowLayout;
use crate::plan::DimensionColumn;

use super::answer::{Reader, Rows};
use super::ask::{Asker, Group};
use super::compatibility::{holds_more, readable};
use super::key::KeyColumn;
use super::spec::{Access, DimensionSpec, StatementReport};
use super::statement::{BATCH_BYTES_MAX, Texts};
use super::{Connections, Failure, Freshness, LiveTable, pause_before, time_zone};

/// What an operator does about a statement that failed.
const LOOKUP_HELP: &str = "see whether the database answers; rows wait meanwhile, nothing is lost, and the job stops \
                           after lookup.max-retries attempts";

/// One dimension table, ready to answer. Shared by all shards of a process.
pub struct MysqlDimension {
    table: String,
    connections: Arc<Connections>,
    access: Access,
    max_retries: u32,
    asker: Asker,
    reader: Reader,
    notes: Vec<String>,
}

/// How a statement ended, when nothing failed for good.
enum Outcome {
    Answered(Vec<MySqlRow>),
    /// The server cannot compare some key of the statement with the column.
    CollationConflict,
}

impl MysqlDimension {
    /// Connects and compares what is asked with the live table.
    ///
    /// # Errors
    /// [`Kind::Transient`] when the server is unreachable or busy: try again later.
    /// [`Kind::External`] when it refuses, or when a table, a column or a type is not as declared.
    pub async fn open(spec: &DimensionSpec, access: Access) -> Result<Self> {
        let zone = time_zone(&access.time_zone)
            .ok_or_else(|| Error::new(Kind::Definition, format!("unknown time-zone {}", access.time_zone)))?;
        let connections = access.databases.get(&spec.source);
        let mut live = LiveTable::open(&connections, &spec.source, &spec.table).await?;
        let key = key_columns(&live, spec, &zone)?;
        let names = fetched_names(&live, spec)?;
        let mut texts = Texts::new(&live.info, &names, &key);
        let mut notes = index_notes(&live, &key, &spec.table);
        notes.extend(width_notes(&live, spec));
        let probed = probe(&mut live.connection, &texts).await;
        let in_table =
            |failure: Failure| connections.start_error(&failure).context(&format!("table {}", spec.table));
        if let Some(objection) = probed.map_err(in_table)? {
            texts.batch = None;
            notes.push(format!(
                "table {}: the server ({}) does not take many keys at once ({objection}): \
                 keys are asked by UNION of plain selects",
                spec.table, live.info.server
            ));
        }
        let bytes_max = BATCH_BYTES_MAX.min((live.info.packet_max / 2).max(1));
        live.connection.give_back();
        let key_layout = RowLayout::new(spec.key.iter().map(|part| &part.ty));
        let layout = RowLayout::new(spec.columns.iter().map(|column| &column.ty));
        Ok(Self {
            table: spec.table.clone(),
            connections: Arc::clone(&connections),
            access,
            max_retries: spec.max_retries,
            asker: Asker { key_layout, key, texts, bytes_max },
            reader: Reader { table: spec.table.clone(), columns: spec.columns.clone(), layout, zone },
            notes,
        })
    }

    /// Things to say once at start: a missing index, a server without JSON_TABLE.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The statement that lookups send: one parameter, a JSON array of keys
    /// (or, on a server without JSON_TABLE, one plain select per key).
    #[must_use]
    pub fn statement(&self) -> String {
        self.asker.texts.batch.clone().unwrap_or_else(|| self.asker.texts.plain(1))
    }

    /// The rows of each key, aligned with `keys` and in the order of the table's own key.
    /// Keys are packed by the layout of the lookup's key parts and hold no NULL.
    ///
    /// # Errors
    /// [`Kind::External`] after the last retry of a statement; [`Kind::Data`]
    /// for a value that its declared type cannot hold.
    pub async fn fetch(&self, keys: &[Box<[u8]>]) -> Result<Vec<Rows>> {
        let mut answer: Vec<Rows> = vec![Vec::new(); keys.len()];
        let mut groups = VecDeque::from(self.asker.groups(keys));
        while let Some(group) = groups.pop_front() {
            match self.run(&group).await? {
                Outcome::Answered(rows) => self.reader.place(&rows, &group.positions, &mut answer)?,
                Outcome::CollationConflict if group.is_single() => {}
                // Asked one by one, only the keys that the column cannot be compared with are absent.
                Outcome::CollationConflict => {
                    groups.extend(group.positions.iter().filter_map(|at| self.asker.single(*at, keys)));
                }
            }
        }
        Ok(answer)
    }

    /// Sends a statement, again after each failure, as often as `lookup.max-retries` says.
    async fn run(&self, group: &Group) -> Result<Outcome> {
        let mut retry = 0;
        loop {
            let freshness = if retry == 0 { Freshness::Any } else { Freshness::New };
            let failure = match self.attempt(group, freshness).await {
                Ok(rows) => return Ok(Outcome::Answered(rows)),
                Err(failure) if failure.is_collation_conflict() => return Ok(Outcome::CollationConflict),
                Err(failure) => failure,
            };
            if failure.is_connection_loss() {
                self.connections.distrust_idle();
            }
            if self.max_retries <= retry {
                return Err(self.given_up(retry + 1, &failure));
            }
            retry += 1;
            let pause = pause_before(retry);
            tracing::warn!(
                table = self.table, attempt = retry, ?pause, error = %failure, help = LOOKUP_HELP,
                "lookup failed, trying again"
            );
            self.access.clock.sleep(pause).await;
        }
    }

    async fn attempt(&self, group: &Group, freshness: Freshness) -> Result<Vec<MySqlRow>, Failure> {
        let watch = Stopwatch::start();
        let result = self.send(group, freshness).await;
        (self.access.observer)(StatementReport {
            keys: group.positions.len(),
            rows: result.as_ref().map_or(0, Vec::len),
            elapsed: watch.elapsed(),
            failed: result.as_ref().is_err_and(|failure| !failure.is_collation_conflict()),
        });
        result
    }

    async fn send(&self, group: &Group, freshness: Freshness) -> Result<Vec<MySqlRow>, Failure> {
        let mut lease = self.connections.lease(freshness).await?;
        let limit = self.access.statement_timeout;
        let query = group.query().fetch_all(&mut *lease);
        let rows = timeout(limit, query).await.map_err(|_| Failure::timeout("statement", limit))??;
        lease.give_back();
        Ok(rows)
    }

    fn given_up(&self, attempts: u32, failure: &Failure) -> Error {
        let times = if attempts == 1 { "attempt" } else { "attempts" };
        Error::external(format!(
            "table {}: lookup failed after {attempts} {times} (lookup.max-retries = {}), MySQL at {}: {failure}",
            self.table,
            self.max_retries,
            self.connections.address()
        ))
    }
}

fn key_columns(live: &LiveTable<'_>, spec: &DimensionSpec, zone: &TimeZone) -> Result<Vec<KeyColumn>> {
    let mut key = Vec::with_capacity(spec.key.len());
    for part in &spec.key {
        let column = live.typed_column(&part.name, &part.ty, readable)?;
        let converted = KeyColumn::new(column, &part.ty.kind, zone);
        key.push(converted.map_err(|why| live.refusal(&format!("has key column `{}`: {why}", part.name)))?);
    }
    Ok(key)
}

/// The database's own spelling of the fetched columns, whose types must fit.
fn fetched_names(live: &LiveTable<'_>, spec: &DimensionSpec) -> Result<Vec<String>> {
    let columns = spec.columns.iter();
    columns.map(|column| Ok(live.typed_column(&column.name, &column.ty, readable)?.name.clone())).collect()
}

/// A warning when no index of the table begins with a key column.
fn index_notes(live: &LiveTable<'_>, key: &[KeyColumn], table: &str) -> Vec<String> {
    let is_key = |name: &String| key.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    if live.info.indexes.iter().any(|index| index.columns.first().is_some_and(is_key)) {
        return Vec::new();
    }
    let names: Vec<&str> = key.iter().map(|column| column.name.as_str()).collect();
    let names = names.join(", ");
    vec![format!(
        "table {table}: no index of `{}`.`{}` begins with a lookup key column, so each lookup reads the whole table; \
         create an index on ({names})",
        live.info.schema, live.info.name
    )]
}

/// A note for each fetched column that can hold values its declared type cannot.
fn width_notes(live: &LiveTable<'_>, spec: &DimensionSpec) -> Vec<String> {
    let wide = |column: &&DimensionColumn| {
        live.info
            .column(&column.name)
            .filter(|info| holds_more(info, &column.ty.kind))
            .map(|info| &info.column_type)
    };
    let columns = spec.columns.iter().filter_map(|column| Some((column, wide(&column)?)));
    let note = |(column, live_type): (&DimensionColumn, &String)| {
        format!(
            "table {}: column `{}` is {live_type} in MySQL and declared {}: a value that does not fit stops the job",
            spec.table, column.name, column.ty.kind
        )
    };
    columns.map(note).collect()
}

/// Sends the statements with no keys, so that a missing privilege is found at
/// start; the server's objection when it takes the plain statement alone.
async fn probe(connection: &mut MySqlConnection, texts: &Texts) -> Result<Option<String>, Failure> {
    let Some(batch) = &texts.batch else {
        return texts.probe_plain(connection).await.map(|()| None);
    };
    let query = sqlx::query(AssertSqlSafe(batch.clone())).bind("[]").fetch_all(&mut *connection).await;
    match query.map_err(Failure::from) {
        Ok(_) => Ok(None),
        Err(failure) if failure.code().is_some() => {
            texts.probe_plain(connection).await?;
            Ok(Some(failure.to_string()))
        }
        Err(failure) => Err(failure),
    }
}
