//! What differs between the databases that dimension tables can be in.
//!
//! Everything else is one code: the pool of connections, the checks at start,
//! cutting keys into statements, retries, handing rows to their keys. A value
//! of a dialect is one database as one user, so it knows how to connect to it.

use std::future::Future;

use jiff::tz::TimeZone;

use crate::error::Error;
use crate::model::{Datum, Type};

use super::{Failure, TableInfo, table::ColumnInfo};

/// A kind of database, and one database of that kind.
pub trait Dialect: Sized + Send + Sync + 'static {
    /// Its name in messages.
    const NAME: &'static str;
    /// What in `url` says where it is, for messages.
    const ADDRESS: &'static str;
    /// A table as a plan names it.
    type Source: Send + Sync;
    /// An open connection.
    type Connection: Send;
    /// A row of a result.
    type Row: Send + Sync;
    /// What the rows of one result have in common.
    type Shape: Send + Sync;
    /// A live column that keys are compared with.
    type Key: Key;
    /// Tells whether connections that were opened before are still to the right database.
    type Identity: PartialEq + Send;

    /// The database that a table is in. Connects to nothing.
    fn new(source: &Self::Source) -> Self;

    /// Whether this is the database of `source`, reached as it says.
    fn serves(&self, source: &Self::Source) -> bool;

    /// Where it is, for messages: `MySQL at host:port/database`.
    fn place(&self) -> &str;

    /// Opens a connection.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, Failure>> + Send;

    /// What a connection that is opened now would be connected to.
    fn identity(&self) -> Self::Identity;

    /// Whether an idle connection still answers.
    fn answers(connection: &mut Self::Connection) -> impl Future<Output = bool> + Send;

    /// A failure at start, with what to do about it.
    fn start_error(&self, failure: &Failure) -> Error;

    /// What the database says about a table; without columns: there is none.
    fn describe(
        connection: &mut Self::Connection,
        source: &Self::Source,
    ) -> impl Future<Output = Result<TableInfo, Failure>> + Send;

    /// Names of the tables beside this one.
    fn neighbours(
        connection: &mut Self::Connection,
        table: &TableInfo,
    ) -> impl Future<Output = Result<Vec<String>, Failure>> + Send;

    /// Whether values of a live column can be read as the declared type.
    ///
    /// # Errors
    /// The declared types that can.
    fn readable(column: &ColumnInfo, declared: &Type) -> Result<(), &'static str>;

    /// Whether a live column can hold values that the declared type cannot, so that a row may stop the job.
    fn holds_more(column: &ColumnInfo, declared: &Type) -> bool;

    /// How values of the declared type are compared with a live column.
    ///
    /// # Errors
    /// Why it cannot be a lookup key.
    fn key(column: &ColumnInfo, declared: &Type, zone: &TimeZone) -> Result<Self::Key, String>;

    /// The statement that takes all keys as one JSON array; `None`: some key column has no such form.
    fn batch(form: &BatchForm<'_>, key: &[Self::Key]) -> Option<String>;

    /// Whether the statement of a lookup reads the whole table.
    fn scans(
        connection: &mut Self::Connection,
        table: &TableInfo,
        key: &[Self::Key],
        statement: &Statement,
    ) -> impl Future<Output = Result<bool, Failure>> + Send;

    /// A column's text as its bytes, so that no collation takes two for one.
    fn bytes_of(column: &str) -> String;

    /// Sends a statement and reads its answer to the end.
    fn fetch(
        connection: &mut Self::Connection,
        statement: &Statement,
    ) -> impl Future<Output = Result<Vec<Self::Row>, Failure>> + Send;

    /// What the rows of a result have in common, taken from one of them.
    fn shape(row: &Self::Row) -> Self::Shape;

    /// The number in the first column.
    fn number(row: &Self::Row, shape: &Self::Shape) -> Option<i128>;

    /// Column `at` as the declared type.
    ///
    /// # Errors
    /// What was met, for a value that the declared type cannot hold.
    fn value<'r>(
        row: &'r Self::Row,
        at: usize,
        shape: &Self::Shape,
        declared: &Type,
        zone: &TimeZone,
    ) -> Result<Datum<'r>, String>;
}

/// A live column that a key part is compared with.
pub trait Key: Send + Sync {
    /// Name as the database spells it.
    fn name(&self) -> &str;

    /// How a placeholder is compared in a plain statement.
    fn placeholder(&self) -> String;

    /// Converts a value of the declared type; a value of a kind that cannot come is absent.
    fn convert(&self, value: Datum<'_>) -> Part;

    /// Whether a unique index over the column tells apart whatever the comparison tells apart.
    fn is_exact(&self) -> bool {
        true
    }
}

/// A key part, ready for a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// No row can have it.
    Absent,
    /// In a batch or alone.
    Value {
        /// What a placeholder is given.
        bind: Bind,
        /// Whether it may travel in a batch.
        batched: bool,
    },
}

impl Part {
    /// A value that JSON carries unchanged.
    pub(super) fn batched(bind: Bind) -> Self {
        Self::Value { bind, batched: true }
    }

    /// A value that is compared by a plain statement.
    pub(super) fn alone(bind: Bind) -> Self {
        Self::Value { bind, batched: false }
    }
}

/// What a placeholder is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Bind {
    /// NULL, which equals nothing.
    Null,
    /// An integer.
    Signed(i64),
    /// An integer beyond the signed ones.
    Unsigned(u64),
    /// A binary float.
    Double(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Bind {
    /// Bytes that it takes in a packet, roughly.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Null | Self::Signed(_) | Self::Unsigned(_) | Self::Double(_) => 8,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

/// A statement with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Its text.
    pub sql: String,
    /// What its placeholders are given.
    pub binds: Vec<Bind>,
    /// Whether the connection keeps it prepared.
    pub kept: bool,
}

impl Statement {
    /// A statement that is sent again and again.
    pub(super) fn kept(sql: String, binds: Vec<Bind>) -> Self {
        Self { sql, binds, kept: true }
    }

    /// A statement that is sent once.
    pub(super) fn once(sql: String, binds: Vec<Bind>) -> Self {
        Self { sql, binds, kept: false }
    }
}

/// The parts of a batch statement that are the same everywhere.
pub struct BatchForm<'a> {
    /// The table, quoted.
    pub source: &'a str,
    /// `, d.a, d.b` for the fetched columns of the table `d`.
    pub fetched: &'a str,
    /// ` ORDER BY …`, or nothing.
    pub order: &'a str,
}
