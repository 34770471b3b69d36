//! The database side of lookups and SQL sinks.
//!
//! A definition says what it believes about a table; the live database knows.
//! At start the two are compared, and from then on the live column decides: a
//! key is converted to the column's own type before it is sent, exactly or not
//! at all, and rows are matched to keys by the database, with its collations
//! and its rules of padding. Many keys go in one statement, and the answer is
//! the one that a plain `SELECT … WHERE column = ?` gives for each key;
//! [`Dimension`] is the entry point. What differs between databases is a
//! [`Dialect`]: [`Mysql`] and [`Sqlite`].

mod answer;
mod ask;
mod connections;
mod dialect;
mod dimension;
mod distinct;
mod failure;
mod fit;
pub mod mysql;
mod number;
mod retry;
mod spec;
mod sqlite;
mod start;
mod statement;
mod table;
pub(crate) mod temporal;
mod zone;

pub use connections::{CONNECTIONS_MAX, Connections, Databases, Freshness, Known, Lease};
pub use dialect::{BatchForm, Bind, Dialect, Key, Part, Statement};
pub use dimension::{Dimension, DimensionTable};
pub use distinct::distinct_values;
pub use failure::Failure;
pub use mysql::Mysql;
pub use retry::pause_before;
pub use spec::{Access, DimensionSpec, Observer, STATEMENT_TIMEOUT, StatementReport};
pub use sqlite::Sqlite;
pub use start::{LiveTable, nearest, wait_for};
pub use table::{ColumnInfo, Index, TableInfo, quoted};
pub use zone::time_zone;
