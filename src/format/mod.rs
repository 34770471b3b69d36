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
mod raw;
mod record;

#[cfg(test)]
pub(crate) mod fixture;

pub use record::{key_reader, key_writer, value_reader, value_writer};

use bumpalo::Bump;

use crate::error::{Result, RowFault};
use crate::model::{DataType, Datum, Type, Value};
use crate::plan::Format;

use csv::{CsvReader, CsvWriter};
use json::{JsonReader, JsonWriter};
use raw::Raw;

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

/// Reads messages of one format.
#[derive(Clone, Debug)]
pub struct Reader(Reading);

#[derive(Clone, Debug)]
enum Reading {
    Json(JsonReader),
    Csv(CsvReader),
    Raw(Raw),
}

impl Reader {
    /// A reader of `fields` from messages that have `arity` fields in all (csv counts them).
    /// `lossy`: `value.lossy-conversion: flink`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Definition`] for types that the format does not have.
    pub fn new(format: &Format, fields: Vec<FieldSpec>, arity: usize, lossy: bool) -> Result<Self> {
        Ok(Self(match format {
            Format::Json(options) => Reading::Json(JsonReader::new(options, fields, lossy)?),
            Format::Csv(options) => Reading::Csv(CsvReader::new(options, fields, arity, lossy)?),
            Format::Raw(options) => Reading::Raw(Raw::new(*options, fields, lossy)?),
        }))
    }

    /// Calls `each` for every row of a message, with a cell per field. Not for null messages.
    ///
    /// # Errors
    /// What is wrong with the message, by column where it is one; the first error of `each`.
    pub fn read<'a>(
        &mut self,
        bytes: &'a [u8],
        arena: &'a Bump,
        each: impl FnMut(&[Cell<'a>]) -> Result<(), RowFault>,
    ) -> Result<Tally, RowFault> {
        match &mut self.0 {
            Reading::Json(reader) => reader.read(bytes, arena, each),
            Reading::Csv(reader) => reader.read(bytes, arena, each),
            Reading::Raw(reader) => reader.read(bytes, arena, each),
        }
    }

    /// Whether a message of no bytes is a value of this format (raw text and bytes).
    #[must_use]
    pub fn takes_empty(&self) -> bool {
        matches!(&self.0, Reading::Raw(raw) if raw.takes_empty())
    }

    /// Whether a null message is a row that holds NULL (raw), and not no row.
    #[must_use]
    pub fn takes_null(&self) -> bool {
        matches!(self.0, Reading::Raw(_))
    }
}

/// Writes messages of one format.
#[derive(Clone, Debug)]
pub struct Writer(Writing);

#[derive(Clone, Debug)]
enum Writing {
    Json(JsonWriter),
    Csv(Box<CsvWriter>),
    Raw(Raw),
}

impl Writer {
    /// A writer of `fields`, in this order, of rows in which they stand at their positions.
    ///
    /// # Errors
    /// [`crate::error::Kind::Definition`] for types that the format does not have.
    pub fn new(format: &Format, fields: Vec<FieldSpec>) -> Result<Self> {
        Ok(Self(match format {
            Format::Json(options) => Writing::Json(JsonWriter::new(options, fields)?),
            Format::Csv(options) => Writing::Csv(Box::new(CsvWriter::new(options, fields)?)),
            Format::Raw(options) => Writing::Raw(Raw::new(*options, fields, false)?),
        }))
    }

    /// Appends the message of a row; false if the message is null (raw, NULL) and nothing was appended.
    ///
    /// # Errors
    /// A value that the format cannot hold.
    pub fn write(&mut self, row: &[Datum<'_>], out: &mut Vec<u8>) -> Result<bool, RowFault> {
        match &mut self.0 {
            Writing::Json(writer) => writer.write(row, out).map(|()| true),
            Writing::Csv(writer) => {
                writer.write(row, out);
                Ok(true)
            }
            Writing::Raw(writer) => Ok(writer.write(row, out)),
        }
    }
}

/// A value of type `ty` from the text that csv would hold for it: keys on the command line.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_text(text: &str, ty: &Type) -> Result<Value, RowFault> {
    let arena = Bump::new();
    csv::parse_text(text, ty, &arena).map(Value::from).map_err(|misfit| misfit.fault("key", ty, text))
}
