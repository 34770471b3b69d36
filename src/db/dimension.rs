//! A dimension table in MySQL: keys in, rows out, aligned.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use sqlx::AssertSqlSafe;
use sqlx::mysql::{MySqlConnection, MySqlRow};
use tokio::time::timeout;

use crate::clock::{Clock, Stopwatch};
use crate::error::{Error, Kind, Result};
use crate::model::{Datum, RowLayout};
use crate::plan::{DimensionColumn, DimensionConnector, LookupPlan};

use super::cells::{self, Wire};
use super::compatibility::readable;
use super::key::{Bind, KeyColumn, Part};
use super::statement::{BATCH_BYTES_MAX, BATCH_KEYS_MAX, PLAIN_SIZES, Texts, push_json_key};
use super::{Connections, Databases, Failure, Freshness, LiveTable, pause_before, time_zone};

/// Longest time that one statement may take before its connection is given up.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Rows of one dimension key, each packed by the layout of the fetched columns.
type Rows = Vec<Arc<[u8]>>;

/// What one statement did, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementReport {
    /// Keys that were asked.
    pub keys: usize,
    /// Rows that came back.
    pub rows: usize,
    /// From asking for a connection to the last row, or to the failure.
    pub elapsed: Duration,
    /// Whether it failed.
    pub failed: bool,
}

/// Told about each statement that is sent.
pub type Observer = Arc<dyn Fn(StatementReport) + Send + Sync>;

/// What a dimension table needs besides its plan.
#[derive(Clone)]
pub struct Access {
    /// The databases of this process.
    pub databases: Databases,
    /// Times the pauses between attempts.
    pub clock: Clock,
    /// `time-zone` of the definition: what a MySQL TIMESTAMP shows as TIMESTAMP(p).
    pub time_zone: String,
    /// Told about each statement that is sent.
    pub observer: Observer,
    /// Longest time of one statement, usually [`STATEMENT_TIMEOUT`].
    pub statement_timeout: Duration,
}

impl Access {
    /// Access with the usual time limit and nobody who listens.
    #[must_use]
    pub fn new(databases: Databases, clock: Clock, time_zone: &str) -> Self {
        Self {
            databases,
            clock,
            time_zone: time_zone.to_owned(),
            observer: Arc::new(|_| ()),
            statement_timeout: STATEMENT_TIMEOUT,
        }
    }
}

/// One dimension table, ready to answer. Shared by all shards of a process.
pub struct MysqlDimension {
    table: String,
    connections: Arc<Connections>,
    access: Access,
    max_retries: u32,
    key_layout: RowLayout,
    key: Vec<KeyColumn>,
    layout: RowLayout,
    columns: Vec<DimensionColumn>,
    zone: TimeZone,
    texts: Texts,
    batch_bytes: usize,
    notes: Vec<String>,
}

/// Keys that go in one statement, and where their rows belong.
struct Group {
    sql: String,
    binds: Vec<Bind>,
    /// For each key of the statement, its position in the caller's list.
    positions: Vec<usize>,
    batched: bool,
}

/// How a statement ended, when nothing failed for good.
enum Outcome {
    Answered(Vec<MySqlRow>),
    /// The server cannot compare some key of the statement with the column.
    CollationConflict,
}

impl MysqlDimension {
    /// Connects and compares the plan with the live table.
    ///
    /// # Errors
    /// [`Kind::Transient`] when the server is unreachable or busy: try again later.
    /// [`Kind::External`] when it refuses, or when a table, a column or a type is not as declared.
    pub async fn open(lookup: &LookupPlan, access: Access) -> Result<Self> {
        let DimensionConnector::Mysql(table) = &lookup.connector;
        let zone = time_zone(&access.time_zone)
            .ok_or_else(|| Error::new(Kind::Definition, format!("unknown time-zone {}", access.time_zone)))?;
        let connections = access.databases.get(table);
        let mut live = LiveTable::open(&connections, table, &lookup.table).await?;
        let key = key_columns(&live, lookup, &zone)?;
        let names = fetched_names(&live, lookup)?;
        let mut texts = Texts::new(&live.info, &names, &key);
        let mut notes = index_notes(&live, &key, &lookup.table);
        if let Some(batch) = &texts.batch
            && !has_batch_form(&mut live.connection, batch).await.map_err(|failure| {
                connections.start_error(&failure).context(&format!("table {}", lookup.table))
            })?
        {
            texts.batch = None;
            notes.push(format!(
                "table {}: the server ({}) has no JSON_TABLE: keys are asked by UNION of plain selects",
                lookup.table, live.info.server
            ));
        }
        let batch_bytes = BATCH_BYTES_MAX.min((live.info.packet_max / 2).max(1));
        live.connection.give_back();
        Ok(Self {
            table: lookup.table.clone(),
            connections: Arc::clone(&connections),
            access,
            max_retries: lookup.max_retries,
            key_layout: RowLayout::new(lookup.key.iter().map(|part| &part.ty)),
            key,
            layout: RowLayout::new(lookup.columns.iter().map(|column| &column.ty)),
            columns: lookup.columns.clone(),
            zone,
            texts,
            batch_bytes,
            notes,
        })
    }

    /// Things to say once at start: a missing index, a server without JSON_TABLE.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The rows of each key, aligned with `keys` and in the order of the table's own key.
    /// Keys are packed by the layout of the lookup's key parts and hold no NULL.
    ///
    /// # Errors
    /// [`Kind::External`] after the last retry of a statement; [`Kind::Data`]
    /// for a value that its declared type cannot hold.
    pub async fn fetch(&self, keys: &[Box<[u8]>]) -> Result<Vec<Rows>> {
        let mut answer: Vec<Rows> = vec![Vec::new(); keys.len()];
        let mut groups = VecDeque::from(self.groups(keys));
        while let Some(group) = groups.pop_front() {
            match self.run(&group).await? {
                Outcome::Answered(rows) => self.place(&rows, &group, &mut answer)?,
                // Asked one by one, only the keys that the column cannot be compared with are absent.
                Outcome::CollationConflict if group.batched || 1 < group.positions.len() => {
                    groups.extend(group.positions.iter().filter_map(|at| self.single(*at, keys)));
                }
                Outcome::CollationConflict => {}
            }
        }
        Ok(answer)
    }

    fn single(&self, position: usize, keys: &[Box<[u8]>]) -> Option<Group> {
        let (parts, _) = self.convert(keys.get(position)?)?;
        self.plain_groups(vec![(position, parts)]).pop()
    }

    /// Cuts the keys into statements; keys that no row can have are in none.
    fn groups(&self, keys: &[Box<[u8]>]) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut alone: Vec<(usize, Vec<Bind>)> = Vec::new();
        let (mut json, mut positions) = (String::new(), Vec::new());
        for (position, key) in keys.iter().enumerate() {
            let Some((parts, batched)) = self.convert(key) else { continue };
            match &self.texts.batch {
                Some(sql) if batched => {
                    push_json_key(&mut json, &parts);
                    positions.push(position);
                    if self.batch_bytes <= json.len() || BATCH_KEYS_MAX <= positions.len() {
                        groups.push(batch_group(sql, &mut json, &mut positions));
                    }
                }
                _ => alone.push((position, parts)),
            }
        }
        if let Some(sql) = &self.texts.batch
            && !positions.is_empty()
        {
            groups.push(batch_group(sql, &mut json, &mut positions));
        }
        groups.extend(self.plain_groups(alone));
        groups
    }

    fn plain_groups(&self, mut keys: Vec<(usize, Vec<Bind>)>) -> Vec<Group> {
        let mut groups = Vec::new();
        while let Some(size) = self.plain_size(&keys) {
            let (mut binds, mut positions) = (Vec::new(), Vec::new());
            for (number, (position, parts)) in keys.drain(..size).enumerate() {
                binds.push(Bind::Signed(number as i64 + 1));
                binds.extend(parts);
                positions.push(position);
            }
            groups.push(Group { sql: self.texts.plain(size), binds, positions, batched: false });
        }
        groups
    }

    /// How many keys the next plain statement takes: the largest size that there are keys for and that fits a packet.
    fn plain_size(&self, keys: &[(usize, Vec<Bind>)]) -> Option<usize> {
        let fits = |size: &usize| {
            let bytes = |(_, parts): &(usize, Vec<Bind>)| parts.iter().map(Bind::bytes).sum::<usize>();
            *size == 1 || keys.iter().take(*size).map(bytes).sum::<usize>() <= self.batch_bytes
        };
        PLAIN_SIZES.into_iter().find(|size| *size <= keys.len() && fits(size))
    }

    /// The parts of a key, and whether all of them may travel in a batch; `None`: no row can have it.
    fn convert(&self, key: &[u8]) -> Option<(Vec<Bind>, bool)> {
        let (mut parts, mut all_batched) = (Vec::with_capacity(self.key.len()), true);
        for (i, column) in self.key.iter().enumerate() {
            match column.convert(self.key_layout.get(key, i)) {
                Part::Absent => return None,
                Part::Value { bind, batched } => {
                    all_batched &= batched;
                    parts.push(bind);
                }
            }
        }
        Some((parts, all_batched))
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
            tracing::warn!(table = self.table, attempt = retry, ?pause, error = %failure, "lookup failed, trying again");
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
            failed: result.is_err(),
        });
        result
    }

    async fn send(&self, group: &Group, freshness: Freshness) -> Result<Vec<MySqlRow>, Failure> {
        let mut lease = self.connections.lease(freshness).await?;
        let limit = self.access.statement_timeout;
        let query = bound(&group.sql, &group.binds).fetch_all(&mut *lease);
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

    /// Packs the rows of a statement and hands each to its key.
    fn place(&self, rows: &[MySqlRow], group: &Group, answer: &mut [Rows]) -> Result<()> {
        let Some(first) = rows.first() else { return Ok(()) };
        let wires = Wire::of_row(first);
        let number_wire = wires.first().copied().unwrap_or(Wire::Signed);
        let mut packed = Vec::new();
        for row in rows {
            let number = cells::raw(row, 0).and_then(|bytes| cells::integer(number_wire, bytes));
            let at = number.and_then(|number| group.positions.get(usize::try_from(number - 1).ok()?));
            let place = at.and_then(|at| answer.get_mut(*at));
            let place = place.ok_or_else(|| Error::bug("a lookup row came back without its key"))?;
            packed.clear();
            self.pack(row, &wires, &mut packed)?;
            place.push(Arc::from(packed.as_slice()));
        }
        Ok(())
    }

    fn pack(&self, row: &MySqlRow, wires: &[Wire], packed: &mut Vec<u8>) -> Result<()> {
        let mut values = Vec::with_capacity(self.columns.len());
        for (i, column) in self.columns.iter().enumerate() {
            let wire = wires.get(i + 1).copied().unwrap_or(Wire::Bytes);
            let value = match cells::raw(row, i + 1) {
                None => Datum::Null,
                Some(bytes) => cells::read(wire, &column.ty.kind, bytes, &self.zone)
                    .map_err(|met| self.misfit(column, &met))?,
            };
            if value.is_null() && !column.ty.nullable {
                return Err(self.misfit(column, "NULL, or a date that is none, for a NOT NULL column"));
            }
            values.push(value);
        }
        self.layout.pack(&values, packed);
        Ok(())
    }

    fn misfit(&self, column: &DimensionColumn, met: &str) -> Error {
        Error::new(
            Kind::Data,
            format!(
                "table {}, column {}: {met} (value_out_of_range); \
                 correct the row in MySQL, or declare the column as wide as it is there",
                self.table, column.name
            ),
        )
    }
}

fn bound<'q>(
    sql: &str,
    binds: &'q [Bind],
) -> sqlx::query::Query<'q, sqlx::MySql, sqlx::mysql::MySqlArguments> {
    let mut query = sqlx::query(AssertSqlSafe(sql.to_owned()));
    for bind in binds {
        query = match bind {
            Bind::Signed(value) => query.bind(*value),
            Bind::Unsigned(value) => query.bind(*value),
            Bind::Text(text) => query.bind(text.as_str()),
            Bind::Bytes(bytes) => query.bind(bytes.as_slice()),
        };
    }
    query
}

fn key_columns(live: &LiveTable<'_>, lookup: &LookupPlan, zone: &TimeZone) -> Result<Vec<KeyColumn>> {
    let mut key = Vec::with_capacity(lookup.key.len());
    for part in &lookup.key {
        let column = live.typed_column(&part.column, &part.ty, readable)?;
        let converted = KeyColumn::new(column, &part.ty.kind, zone);
        key.push(converted.map_err(|why| live.refusal(&format!("has key column `{}`: {why}", part.column)))?);
    }
    Ok(key)
}

/// The database's own spelling of the fetched columns, whose types must fit.
fn fetched_names(live: &LiveTable<'_>, lookup: &LookupPlan) -> Result<Vec<String>> {
    let columns = lookup.columns.iter();
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

/// Whether the server understands the batch statement: it is asked with no keys.
async fn has_batch_form(connection: &mut MySqlConnection, sql: &str) -> Result<bool, Failure> {
    /// Syntax error, unknown function, not supported (also in prepared statements).
    const NOT_UNDERSTOOD: [u16; 4] = [1064, 1305, 1235, 1295];
    let query = sqlx::query(AssertSqlSafe(sql.to_owned())).bind("[]").fetch_all(connection).await;
    match query.map_err(Failure::from) {
        Ok(_) => Ok(true),
        Err(failure) if failure.code().is_some_and(|code| NOT_UNDERSTOOD.contains(&code)) => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn batch_group(sql: &str, json: &mut String, positions: &mut Vec<usize>) -> Group {
    json.push(']');
    Group {
        sql: sql.to_owned(),
        binds: vec![Bind::Text(std::mem::take(json))],
        positions: std::mem::take(positions),
        batched: true,
    }
}
