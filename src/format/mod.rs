//! Bytes to values and back: `json`, `csv` and `raw`.
//!
//! A [`Reader`] is made for a list of fields and gives their values row by row,
//! borrowed from the message where possible; what has to be built goes to the
//! caller's arena. A [`Writer`] appends a row's bytes to a buffer. Both take and
//! give what Flink's formats do, with one deliberate difference: a value that
//! Flink would silently alter is a fault, unless the definition says otherwise.

mod base64;
mod csv;
mod json;
mod misfit;
mod moment;
mod number;

use crate::model::{DataType, Datum};

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSpec {
    /// Name, for formats with names and for messages.
    pub name: String,
    /// Where it is: for a reader, its position in the message (csv); for a writer, its position in the row.
    pub position: usize,
    /// Its type.
    pub ty: DataType,
}

/// What a message says about a field; `None`: the message does not have it.
pub type Cell<'a> = Option<Datum<'a>>;

/// What became of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rows that were read.
    pub rows: u32,
    /// Rows or messages dropped under `ignore-parse-errors`.
    pub dropped: u32,
}
