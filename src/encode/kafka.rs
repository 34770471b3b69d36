//! Rows as Kafka records: the primary key as the record key, the row or a
//! tombstone as the value. Flink: `DynamicKafkaRecordSerializationSchema`.

use crate::error::{Reason, Result, RowFault};
use crate::format::{self, Writer};
use crate::model::{Cells, Datum, EncodedRecord, Header, RowKind, Slice, Value, nested};
use crate::plan::{KafkaSink, ProjectPlan, SinkPlan};

/// Encodes records.
#[derive(Clone, Debug)]
pub(super) struct RecordWriter {
    key: Writer,
    value: Writer,
    timestamp_column: Option<usize>,
    headers_column: Option<usize>,
}

impl RecordWriter {
    pub(super) fn new(kafka: &KafkaSink, sink: &SinkPlan, project: &ProjectPlan) -> Result<Self> {
        Ok(Self {
            key: format::key_writer(kafka, sink, project)?,
            value: format::value_writer(kafka, sink, project)?,
            timestamp_column: kafka.timestamp_column,
            headers_column: kafka.headers_column,
        })
    }

    /// Appends key and value to `arena`. A row that is gone (`-D`, `-U`) has a null value.
    pub(super) fn write(
        &mut self,
        kind: RowKind,
        row: &[Datum<'_>],
        arena: &mut Vec<u8>,
    ) -> Result<EncodedRecord, RowFault> {
        let start = arena.len();
        if !self.key.write(row, arena)? {
            return Err(RowFault::new(Reason::NotNull, "NULL as the record key of the sink"));
        }
        let key = Slice::since(arena, start);
        let start = arena.len();
        let value = if kind.is_addition() && self.value.write(row, arena)? {
            Some(Slice::since(arena, start))
        } else {
            None
        };
        Ok(EncodedRecord { kind, key, value, timestamp: self.timestamp(row), headers: self.headers(row) })
    }

    /// The same for a row that is there, from its cells; `None` if it cannot be written from them.
    #[inline]
    pub(super) fn write_cells(
        &mut self,
        kind: RowKind,
        row: &impl Cells,
        arena: &mut Vec<u8>,
    ) -> Option<EncodedRecord> {
        if self.timestamp_column.is_some() || self.headers_column.is_some() {
            return None;
        }
        let start = arena.len();
        if !self.key.write_cells(row, arena) {
            return None;
        }
        let key = Slice::since(arena, start);
        let middle = arena.len();
        if !self.value.write_cells(row, arena) {
            arena.truncate(start);
            return None;
        }
        let value = Some(Slice::since(arena, middle));
        Some(EncodedRecord { kind, key, value, timestamp: None, headers: None })
    }

    fn timestamp(&self, row: &[Datum<'_>]) -> Option<i64> {
        match row.get(self.timestamp_column?)? {
            Datum::Timestamp(at) => Some(at.millis),
            _ => None,
        }
    }

    fn headers(&self, row: &[Datum<'_>]) -> Option<Box<[Header]>> {
        let Datum::Nested(bytes) = row.get(self.headers_column?)? else { return None };
        match nested::decode(bytes)? {
            Value::Map(entries) => Some(entries.into_iter().filter_map(header).collect()),
            Value::Array(rows) => Some(rows.into_iter().filter_map(header_row).collect()),
            _ => None,
        }
    }
}

/// One entry of `headers`, or of `header-list`; those without a name are left out.
fn header((key, value): (Value, Value)) -> Option<Header> {
    let Value::Str(key) = key else { return None };
    let value = match value {
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    };
    Some(Header { key, value })
}

fn header_row(row: Value) -> Option<Header> {
    let Value::Row(fields) = row else { return None };
    let mut fields = fields.into_iter();
    header((fields.next()?, fields.next().unwrap_or(Value::Null)))
}
