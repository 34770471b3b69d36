//! The database side of lookups and SQL sinks.
//!
//! A definition says what it believes about a table; the live database knows.
//! At start the two are compared ([`catalog`], [`compatibility`]), and from then
//! on the live column decides: a key is converted to the column's own type
//! before it is sent, exactly or not at all, and rows are matched to keys by
//! the server, with its collations and its rules of padding. Many keys go in
//! one statement, and the answer is the one that a plain
//! `SELECT … WHERE column = ?` gives for each key; [`MysqlDimension`] is the entry point.
//!
//! SQL is the subset that MySQL 8 and MariaDB 10.6 both accept.

mod answer;
mod ask;
pub mod catalog;
mod cells;
pub mod compatibility;
mod connections;
mod dimension;
mod distinct;
mod failure;
mod key;
mod retry;
mod spec;
mod start;
mod statement;
pub(crate) mod temporal;
mod zone;

pub(crate) use cells::instant as zoned_instant;
pub use connections::{CONNECTIONS_MAX, Connections, Databases, Freshness, Lease};
pub use dimension::MysqlDimension;
pub use distinct::distinct_values;
pub use failure::Failure;
pub(crate) use key::{Bind, KeyColumn, Part};
pub use retry::pause_before;
pub use spec::{Access, DimensionSpec, Observer, STATEMENT_TIMEOUT, StatementReport};
pub use start::{LiveTable, nearest, wait_for};
pub(crate) use statement::quoted;
pub use zone::time_zone;
