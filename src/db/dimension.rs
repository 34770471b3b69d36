//! A dimension table: keys in, rows out, aligned.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::tz::TimeZone;
use tokio::time::timeout;

use crate::clock::Stopwatch;
use crate::error::{Error, Kind, Result, TablePart};
use crate::model::RowLayout;
use crate::plan::{DimensionColumn, DimensionConnector};

use super::answer::{Reader, Rows};
use super::ask::{Asker, Group};
use super::dialect::{Dialect, Key};
use super::spec::{Access, DimensionSpec, StatementReport};
use super::statement::{BATCH_BYTES_MAX, Texts};
use super::{Connections, Failure, Freshness, LiveTable, Mysql, Sqlite, pause_before, time_zone};

/// What an operator does about a statement that failed.
const LOOKUP_HELP: &str = "see whether the database answers; rows wait meanwhile, nothing is lost, and the job stops \
                           after lookup.max-retries attempts";

/// One dimension table, ready to answer. Shared by all shards of a process.
pub enum Dimension {
    /// In a MySQL-protocol server.
    Mysql(DimensionTable<Mysql>),
    /// In a SQLite file.
    Sqlite(DimensionTable<Sqlite>),
}

impl Dimension {
    /// Connects and compares what is asked with the live table.
    ///
    /// # Errors
    /// [`Kind::Transient`] when the database is unreachable or busy: try again later.
    /// [`Kind::External`] when it refuses, or when a table, a column or a type is not as declared.
    pub async fn open(spec: &DimensionSpec, access: Access) -> Result<Self> {
        match &spec.source {
            DimensionConnector::Mysql(table) => {
                let connections = access.databases.mysql.get(table);
                DimensionTable::open(spec, table, connections, access).await.map(Self::Mysql)
            }
            DimensionConnector::Sqlite(table) => {
                let connections = access.databases.sqlite.get(table);
                DimensionTable::open(spec, table, connections, access).await.map(Self::Sqlite)
            }
        }
    }

    /// Things to say once at start: a missing index, a server without a batch form.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Mysql(table) => &table.notes,
            Self::Sqlite(table) => &table.notes,
        }
    }

    /// Whether lookups go by an index of the table.
    #[must_use]
    pub fn has_index(&self) -> bool {
        match self {
            Self::Mysql(table) => table.has_index,
            Self::Sqlite(table) => table.has_index,
        }
    }

    /// The statement that lookups send: one parameter, a JSON array of keys
    /// (or, on a server without a batch form, one plain select per key).
    #[must_use]
    pub fn statement(&self) -> String {
        match self {
            Self::Mysql(table) => table.statement(),
            Self::Sqlite(table) => table.statement(),
        }
    }

    /// The rows of each key, aligned with `keys` and in the order of the table's own key.
    /// Keys are packed by the layout of the lookup's key parts and hold no NULL.
    ///
    /// # Errors
    /// [`Kind::External`] after the last retry of a statement; [`Kind::Data`]
    /// for a value that its declared type cannot hold.
    pub async fn fetch(&self, keys: &[Box<[u8]>]) -> Result<Vec<Rows>> {
        match self {
            Self::Mysql(table) => table.fetch(keys).await,
            Self::Sqlite(table) => table.fetch(keys).await,
        }
    }
}

/// A dimension table in a database of one kind.
pub struct DimensionTable<D: Dialect> {
    table: String,
    connections: Arc<Connections<D>>,
    access: Access,
    max_retries: u32,
    asker: Asker<D::Key>,
    reader: Reader,
    has_index: bool,
    notes: Vec<String>,
}

/// How a statement ended, when nothing failed for good.
enum Outcome<R> {
    Answered(Vec<R>),
    /// The database cannot compare some key of the statement with the column.
    CollationConflict,
}

impl<D: Dialect> DimensionTable<D> {
    async fn open(
        spec: &DimensionSpec,
        source: &D::Source,
        connections: Arc<Connections<D>>,
        access: Access,
    ) -> Result<Self> {
        let zone = time_zone(&access.time_zone)
            .ok_or_else(|| Error::new(Kind::Definition, format!("unknown time-zone {}", access.time_zone)))?;
        let mut live = LiveTable::open(&connections, source, &spec.table).await?;
        let key = key_columns(&live, spec, &zone)?;
        let names = fetched_names(&live, spec)?;
        let mut texts = Texts::new::<D>(&live.info, &names, &key);
        let in_table = |failure: Failure| {
            connections.start_error(&failure).in_table(&spec.table, &format!("table {}", spec.table))
        };
        let probed = probe::<D>(&mut live.connection, &texts).await.map_err(in_table)?;
        if probed.is_some() {
            texts.batch = None;
        }
        let has_index = is_indexed(&mut live, &key, &texts).await.map_err(in_table)?;
        let mut notes = if has_index { Vec::new() } else { vec![index_note(&live, &key, &spec.table)] };
        notes.extend(width_notes(&live, spec));
        notes.extend(probed.map(|objection| {
            format!(
                "table {}: the server ({}) does not take many keys at once ({objection}): \
                 keys are asked by UNION of plain selects",
                spec.table, live.info.server
            )
        }));
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
            has_index,
            notes,
        })
    }

    fn statement(&self) -> String {
        self.asker.texts.batch.clone().unwrap_or_else(|| self.asker.texts.plain(1))
    }

    async fn fetch(&self, keys: &[Box<[u8]>]) -> Result<Vec<Rows>> {
        let mut answer: Vec<Rows> = vec![Vec::new(); keys.len()];
        let mut groups = VecDeque::from(self.asker.groups(keys));
        while let Some(group) = groups.pop_front() {
            match self.run(&group).await? {
                Outcome::Answered(rows) => self.reader.place::<D>(&rows, &group.positions, &mut answer)?,
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
    async fn run(&self, group: &Group) -> Result<Outcome<D::Row>> {
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

    async fn attempt(&self, group: &Group, freshness: Freshness) -> Result<Vec<D::Row>, Failure> {
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

    async fn send(&self, group: &Group, freshness: Freshness) -> Result<Vec<D::Row>, Failure> {
        let mut lease = self.connections.lease(freshness).await?;
        let limit = self.access.statement_timeout;
        let fetching = timeout(limit, D::fetch(&mut lease, &group.statement));
        let rows = fetching.await.map_err(|_| Failure::timeout("statement", limit))??;
        lease.give_back();
        Ok(rows)
    }

    fn given_up(&self, attempts: u32, failure: &Failure) -> Error {
        let times = if attempts == 1 { "attempt" } else { "attempts" };
        Error::external(format!(
            "table {}: lookup failed after {attempts} {times} (lookup.max-retries = {}), {}: {failure}",
            self.table,
            self.max_retries,
            self.connections.database().place()
        ))
    }
}

fn key_columns<D: Dialect>(
    live: &LiveTable<'_, D>,
    spec: &DimensionSpec,
    zone: &TimeZone,
) -> Result<Vec<D::Key>> {
    let mut key = Vec::with_capacity(spec.key.len());
    for part in &spec.key {
        let column = live.typed_column(&part.name, &part.ty, D::readable)?;
        let converted = D::key(column, &part.ty.kind, zone);
        let refusal = |why: String| {
            live.refusal(&format!("has key column `{}`: {why}", part.name))
                .about(TablePart::Column(part.name.clone()))
        };
        key.push(converted.map_err(refusal)?);
    }
    Ok(key)
}

/// The database's own spelling of the fetched columns, whose types must fit.
fn fetched_names<D: Dialect>(live: &LiveTable<'_, D>, spec: &DimensionSpec) -> Result<Vec<String>> {
    let columns = spec.columns.iter();
    columns.map(|column| Ok(live.typed_column(&column.name, &column.ty, D::readable)?.name.clone())).collect()
}

/// Whether the statement of the lookup has an index to go by.
async fn is_indexed<D: Dialect>(
    live: &mut LiveTable<'_, D>,
    key: &[D::Key],
    texts: &Texts,
) -> Result<bool, Failure> {
    let statement = texts.probe_batch().unwrap_or_else(|| texts.probe_plain());
    Ok(!D::scans(&mut live.connection, &live.info, key, &statement).await?)
}

/// The warning when it has none.
fn index_note<D: Dialect>(live: &LiveTable<'_, D>, key: &[D::Key], table: &str) -> String {
    let names: Vec<&str> = key.iter().map(Key::name).collect();
    let names = names.join(", ");
    format!(
        "table {table}: no index of {} begins with a lookup key column, so each lookup reads the whole table; \
         create an index on ({names})",
        live.info.quoted_name()
    )
}

/// A note for each fetched column that can hold values its declared type cannot.
fn width_notes<D: Dialect>(live: &LiveTable<'_, D>, spec: &DimensionSpec) -> Vec<String> {
    let wide = |column: &&DimensionColumn| {
        live.info
            .column(&column.name)
            .filter(|info| D::holds_more(info, &column.ty.kind))
            .map(|info| &info.column_type)
    };
    let columns = spec.columns.iter().filter_map(|column| Some((column, wide(&column)?)));
    let note = |(column, live_type): (&DimensionColumn, &String)| {
        format!(
            "table {}: column `{}` is {live_type} in {} and declared {}: a value that does not fit stops the job",
            spec.table,
            column.name,
            D::NAME,
            column.ty.kind
        )
    };
    columns.map(note).collect()
}

/// Sends the statements with no keys, so that a missing privilege is found at
/// start; the database's objection when it takes the plain statement alone.
async fn probe<D: Dialect>(connection: &mut D::Connection, texts: &Texts) -> Result<Option<String>, Failure> {
    let Some(batch) = texts.probe_batch() else {
        return D::fetch(connection, &texts.probe_plain()).await.map(|_| None);
    };
    match D::fetch(connection, &batch).await {
        Ok(_) => Ok(None),
        Err(failure) if failure.code().is_some() => {
            D::fetch(connection, &texts.probe_plain()).await?;
            Ok(Some(failure.to_string()))
        }
        Err(failure) => Err(failure),
    }
}
