//! Bytes to values and back: `json`, `csv` and `raw`.
//!
//! A [`Reader`] is made for a list of fields and gives their values row by row,
//! borrowed from the message where possible; what has to be built goes to the
//! caller's arena. A [`Writer`] appends a row's bytes to a buffer. Both take and
//! give what Flink's formats do, with one deliberate difference: a value that
//! Flink would silently alter is a fault, unless the definition says otherwise.

mod base64;
mod csv;
mod day;
mod fields;
mod json;
mod misfit;
mod moment;
mod number;
mod raw;
mod record;
mod word;

#[cfg(test)]
pub(crate) mod fixture;

pub use fields::{FieldSpec, Fields, recycle};
pub use record::{key_reader, key_writer, value_reader, value_writer};

use bumpalo::Bump;

use crate::error::{Error, Kind, Result, RowFault};
use crate::model::{Cells, Datum, Type, Value};
use crate::plan::Format;

use csv::{CsvReader, CsvWriter};
use json::{JsonReader, JsonWriter};
use raw::Raw;

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
    /// A reader of `fields` into rows of `width` columns, from messages that have `arity` fields in all (csv counts
    /// them). `lossy`: `value.lossy-conversion: flink`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Definition`] for types that the format does not have.
    pub fn new(
        format: &Format,
        fields: Vec<FieldSpec>,
        width: usize,
        arity: usize,
        lossy: bool,
    ) -> Result<Self> {
        let form = match format {
            Format::Json(options) => Reading::Json(JsonReader::new(options, fields, width, lossy)?),
            Format::Csv(options) => Reading::Csv(CsvReader::new(options, fields, (width, arity), lossy)?),
            Format::Raw(_) if arity != 1 => {
                let message = format!("the raw format holds exactly one column, here there are {arity}");
                return Err(Error::new(Kind::Definition, message));
            }
            Format::Raw(options) => Reading::Raw(Raw::new(*options, fields, width, lossy)?),
        };
        Ok(Self(form))
    }

    /// Calls `each` for every row of a message. Not for null messages.
    ///
    /// # Errors
    /// What is wrong with the message, by column where it is one; the first error of `each`.
    pub fn read<'a>(
        &mut self,
        bytes: &'a [u8],
        arena: &'a Bump,
        each: impl FnMut(Fields<'a>) -> Result<(), RowFault>,
    ) -> Result<Tally, RowFault> {
        match &mut self.0 {
            Reading::Json(reader) => reader.read(bytes, arena, each),
            Reading::Csv(reader) => reader.read(bytes, arena, each),
            Reading::Raw(reader) => reader.read(bytes, arena, each),
        }
    }

    /// The row that a null message is where it is one ([`Reader::takes_null`]): NULL in every column.
    pub fn null_row<'a>(&self, arena: &'a Bump) -> Fields<'a> {
        let width = if let Reading::Raw(raw) = &self.0 { raw.width() } else { 0 };
        Fields::none(width, arena)
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
            Format::Raw(options) => Writing::Raw(Raw::new(*options, fields, 0, false)?),
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

impl Writer {
    /// Appends the message of a row, where the format can write it from cells; else false, and nothing is appended.
    /// What is written is what [`Writer::write`] would write.
    #[inline]
    pub fn write_cells(&mut self, row: &impl Cells, out: &mut Vec<u8>) -> bool {
        match &mut self.0 {
            Writing::Json(writer) => writer.write_cells(row, out),
            Writing::Csv(_) | Writing::Raw(_) => false,
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
