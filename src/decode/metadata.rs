//! Readable metadata of a Kafka record as column values. Flink: `KafkaDynamicSource.ReadableMetadata`.

use bumpalo::Bump;
use hashbrown::HashMap;

use crate::model::{
    Datum, Header, PartitionId, PartitionTable, Record, Timestamp, TopicPartition, Value, nested,
};
use crate::plan::Metadata;

/// A value per entry of [`Metadata::ALL`]; those that nothing needs stay NULL.
pub(super) type Values<'a> = [Datum<'a>; Metadata::ALL.len()];

/// What a table reads that needs none.
static NOTHING: Values<'static> = [Datum::Null; Metadata::ALL.len()];

/// Makes the metadata that a table needs.
#[derive(Clone, Debug)]
pub(super) struct MetadataReader {
    needed: [bool; Metadata::ALL.len()],
    /// Whether anything is needed.
    any: bool,
    partitions: PartitionTable,
    /// Names by [`PartitionId`], so that the shared table is asked once per partition.
    names: Vec<Option<TopicPartition>>,
}

/// Position in [`Metadata::ALL`].
pub(super) fn position(metadata: Metadata) -> usize {
    Metadata::ALL.iter().position(|one| *one == metadata).unwrap_or(0)
}

impl MetadataReader {
    pub(super) fn new(needed: impl Iterator<Item = usize>, partitions: PartitionTable) -> Self {
        let mut flags = [false; Metadata::ALL.len()];
        for i in needed {
            if let Some(flag) = flags.get_mut(i) {
                *flag = true;
            }
        }
        Self { needed: flags, any: flags.contains(&true), partitions, names: Vec::new() }
    }

    /// Topic and partition of a record.
    pub(super) fn name(&mut self, partition: PartitionId) -> Option<&TopicPartition> {
        let index = partition.0 as usize;
        if self.names.get(index).is_none_or(Option::is_none) {
            let name = self.partitions.name(partition)?;
            if self.names.len() <= index {
                self.names.resize(index + 1, None);
            }
            *self.names.get_mut(index)? = Some(name);
        }
        self.names.get(index)?.as_ref()
    }

    /// The metadata of a record.
    pub(super) fn read<'a>(&'a mut self, record: &Record, arena: &'a Bump) -> &'a Values<'a> {
        if !self.any {
            return &NOTHING;
        }
        let values = arena.alloc([Datum::Null; Metadata::ALL.len()]);
        let needed = self.needed;
        let name = self.name(record.partition);
        for ((metadata, needed), value) in Metadata::ALL.into_iter().zip(needed).zip(values.iter_mut()) {
            if needed {
                *value = one(metadata, record, name, arena);
            }
        }
        values
    }
}

fn one<'a>(
    metadata: Metadata,
    record: &Record,
    name: Option<&'a TopicPartition>,
    arena: &'a Bump,
) -> Datum<'a> {
    let headers = record.headers.as_deref().unwrap_or_default();
    match metadata {
        Metadata::Topic => Datum::Str(name.map_or("", |name| &name.topic)),
        Metadata::Partition => Datum::Int(name.map_or(-1, |name| name.partition).into()),
        Metadata::Headers => nested(&header_map(headers), arena),
        Metadata::HeaderList => nested(&header_list(headers), arena),
        // The client library does not hand it out; the column is nullable.
        Metadata::LeaderEpoch => Datum::Null,
        Metadata::Offset => Datum::Int(record.offset),
        Metadata::Timestamp => Datum::Timestamp(Timestamp::from_millis(record.timestamp)),
        Metadata::TimestampType => Datum::Str(match record.timestamp_type {
            1 => "CreateTime",
            2 => "LogAppendTime",
            _ => "NoTimestampType",
        }),
    }
}

fn nested<'a>(value: &Value, arena: &'a Bump) -> Datum<'a> {
    let mut bytes = Vec::new();
    nested::encode(value, &mut bytes);
    Datum::Nested(arena.alloc_slice_copy(&bytes))
}

fn bytes_of(header: &Header) -> Value {
    header.value.as_ref().map_or(Value::Null, |bytes| Value::Bytes(bytes.clone()))
}

/// The last of a repeated name wins.
fn header_map(headers: &[Header]) -> Value {
    let mut entries: Vec<(Value, Value)> = Vec::with_capacity(headers.len());
    let mut positions: HashMap<&str, usize, foldhash::fast::RandomState> = HashMap::default();
    for header in headers {
        let position = *positions.entry(&header.key).or_insert(entries.len());
        match entries.get_mut(position) {
            Some(entry) => entry.1 = bytes_of(header),
            None => entries.push((Value::Str(header.key.clone()), bytes_of(header))),
        }
    }
    Value::Map(entries)
}

fn header_list(headers: &[Header]) -> Value {
    let row = |header: &Header| Value::Row(vec![Value::Str(header.key.clone()), bytes_of(header)]);
    Value::Array(headers.iter().map(row).collect())
}
