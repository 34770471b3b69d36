//! From Kafka records to stream rows.
//!
//! A record of an upsert source is an upsert of its value or, if the value is
//! null, a delete of its key; a record of an append-only source is a row. The
//! value's copy of the key columns counts (`value.fields-include: ALL`), or the
//! record key's (`EXCEPT_KEY`). Only the columns that something reads are
//! decoded; each row comes out packed, with its packed key. Flink:
//! `DynamicKafkaDeserializationSchema`.

mod assemble;
mod metadata;
mod rows;

#[cfg(test)]
mod tests;

pub use rows::{DecodedRow, DecodedRows, KeyMismatch, Op};

use std::ops::Range;

use bumpalo::Bump;

use crate::error::{DataFault, Place, Reason, Result, RowFault};
use crate::format::{self, Fields, Reader};
use crate::model::{Datum, PartitionTable, Record, RecordBatch, Slice};
use crate::plan::{EmptyValue, SourceKind, SourcePlan};

use assemble::{Assembly, Source};
use metadata::MetadataReader;

/// Bytes that one record usually needs while it is decoded.
const ARENA_BYTES: usize = 8 << 10;

/// Decodes the records of one source.
#[derive(Debug)]
pub struct Decoder {
    table: String,
    kind: SourceKind,
    on_empty_value: EmptyValue,
    value: Reader,
    /// Reads `key.fields` of an append-only source; the key of an upsert source is read by the router.
    key: Option<Reader>,
    assembly: Assembly,
    metadata: MetadataReader,
    arena: Bump,
}

impl Decoder {
    /// A decoder for the records of `source`.
    ///
    /// # Errors
    /// Columns of types that their format does not have.
    pub fn new(source: &SourcePlan, partitions: PartitionTable) -> Result<Self> {
        let value = format::value_reader(source)?;
        let key = match source.kind {
            SourceKind::UpsertKafka => None,
            SourceKind::Kafka => format::key_reader(source)?,
        };
        let assembly = Assembly::new(source);
        let needed = assembly.metadata_needed();
        Ok(Self {
            table: source.table.clone(),
            kind: source.kind,
            on_empty_value: source.on_empty_value,
            value,
            key,
            assembly,
            metadata: MetadataReader::new(needed.into_iter(), partitions),
            arena: Bump::with_capacity(ARENA_BYTES),
        })
    }

    /// Decodes every record of a batch; rows are added to `out`.
    ///
    /// # Errors
    /// The first record that cannot be decoded, as an [`crate::error::Error`] with its [`DataFault`]; `out` then
    /// holds the rows before it.
    pub fn decode_batch(&mut self, batch: &RecordBatch, out: &mut DecodedRows) -> Result<()> {
        self.decode_range(batch, 0..batch.records.len(), out)
    }

    /// The same for some records of a batch.
    ///
    /// # Errors
    /// As [`Decoder::decode_batch`].
    pub fn decode_range(
        &mut self,
        batch: &RecordBatch,
        range: Range<usize>,
        out: &mut DecodedRows,
    ) -> Result<()> {
        let records = batch.records.iter().enumerate().take(range.end).skip(range.start);
        for (i, record) in records {
            let index = u32::try_from(i).unwrap_or(u32::MAX);
            self.decode(index, record, &batch.arena, out).map_err(|fault| fault.at(self.place(record)))?;
        }
        Ok(())
    }

    /// Decodes one record, the `index`th of its batch; its rows are added to `out`.
    ///
    /// # Errors
    /// What is wrong with the record; `out` is then as before.
    pub fn decode(
        &mut self,
        index: u32,
        record: &Record,
        arena: &[u8],
        out: &mut DecodedRows,
    ) -> Result<(), RowFault> {
        let (bytes, rows, mismatches) = (out.arena.len(), out.rows.len(), out.key_mismatches.len());
        let decoded = self.decode_record(index, record, arena, out);
        if decoded.is_err() {
            out.arena.truncate(bytes);
            out.rows.truncate(rows);
            out.key_mismatches.truncate(mismatches);
        }
        decoded
    }

    /// Where a record stands.
    pub fn place(&mut self, record: &Record) -> Place {
        let name = self.metadata.name(record.partition);
        Place {
            topic: name.map_or_else(String::new, |name| name.topic.to_string()),
            partition: name.map_or(-1, |name| name.partition),
            table: self.table.clone(),
            offset: record.offset,
        }
    }

    /// What to say about a row whose value names another key than its record.
    pub fn mismatch(
        &mut self,
        mismatch: KeyMismatch,
        batch: &RecordBatch,
        rows: &DecodedRows,
    ) -> Option<DataFault> {
        let record = batch.records.get(mismatch.record as usize)?;
        let row = rows.rows.get(mismatch.row as usize)?;
        let fault = self.assembly.mismatch(record.routed_key.of(&batch.arena), row.key.of(&rows.arena));
        Some(fault.at(self.place(record)))
    }

    fn decode_record(
        &mut self,
        index: u32,
        record: &Record,
        arena: &[u8],
        out: &mut DecodedRows,
    ) -> Result<(), RowFault> {
        let upsert = self.kind == SourceKind::UpsertKafka;
        if upsert && record.routed_key.is_empty() {
            out.dropped += 1;
            return Ok(());
        }
        let value = match record.value.map(|value| value.of(arena)) {
            Some([]) if self.on_empty_value != EmptyValue::Error => {
                if upsert && self.on_empty_value == EmptyValue::Tombstone {
                    delete(index, record, arena, out);
                } else {
                    out.skipped += 1;
                }
                return Ok(());
            }
            Some([]) if !self.value.takes_empty() => return Err(empty_value(upsert)),
            Some(value) => Some(value),
            None if upsert => {
                delete(index, record, arena, out);
                return Ok(());
            }
            None if self.value.takes_null() => None,
            None => {
                out.skipped += 1;
                return Ok(());
            }
        };
        self.decode_value(index, record, (arena, value), out)
    }

    fn decode_value(
        &mut self,
        index: u32,
        record: &Record,
        (batch, value): (&[u8], Option<&[u8]>),
        out: &mut DecodedRows,
    ) -> Result<(), RowFault> {
        let Self { value: reader, key, assembly, metadata, arena, .. } = self;
        format::recycle(arena);
        let arena = &*arena;
        let key_values = match key {
            None => &[],
            Some(reader) => match key_values(reader, record.key.map(|key| key.of(batch)), arena)? {
                Some(values) => values,
                None => {
                    out.dropped += 1;
                    return Ok(());
                }
            },
        };
        let metadata = metadata.read(record, arena);
        let source =
            Source { record: index, routed_key: record.routed_key.of(batch), key_values, metadata, arena };
        let Some(value) = value else {
            return assembly.row(reader.null_row(arena), source, out);
        };
        let tally = reader.read(value, arena, |fields| assembly.row(fields, source, out))?;
        out.dropped += u64::from(tally.dropped);
        Ok(())
    }
}

fn delete(index: u32, record: &Record, arena: &[u8], out: &mut DecodedRows) {
    let key = Slice::append(&mut out.arena, record.routed_key.of(arena));
    out.rows.push(DecodedRow { op: Op::Delete, key, row: Slice::default(), record: index });
}

/// The fields of the record key; `None` if the format drops it.
fn key_values<'a>(
    reader: &mut Reader,
    key: Option<&'a [u8]>,
    arena: &'a Bump,
) -> Result<Option<&'a [Datum<'a>]>, RowFault> {
    let Some(key) = key else {
        if reader.takes_null() {
            return Ok(Some(reader.null_row(arena).values));
        }
        return Err(RowFault::new(Reason::NullKey, "the record has no key, and key.fields reads it")
            .remedy("produce records with a key, or take key.format and key.fields out of the definition"));
    };
    let mut found = None;
    let read = reader.read(key, arena, |Fields { values, .. }| {
        found = Some(&*values);
        Ok(())
    });
    read.map_err(|mut fault| {
        fault.detail = format!("record key: {}", fault.detail);
        fault
    })?;
    Ok(found)
}

fn empty_value(upsert: bool) -> RowFault {
    let (detail, remedy) = if upsert {
        (
            "empty value; a delete is a null value (console producer: null.marker)",
            "for producers that cannot send null there is on-empty-value: skip or tombstone",
        )
    } else {
        ("empty value", "correct the producer, or set on-empty-value: skip")
    };
    RowFault::new(Reason::EmptyValue, detail).remedy(remedy)
}
