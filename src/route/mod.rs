//! From a record key to the shard that owns it.
//!
//! Routing reads the record key alone, so that the costly decoding of values
//! runs in the shards: key bytes → primary key, packed → hash → key group →
//! shard. The packed key travels with the record and is not decoded again.
//! Append-only sources have no key: their records stay in the order of their
//! partition, on one shard.

#[cfg(test)]
mod tests;

use bumpalo::Bump;
use smallvec::SmallVec;

use crate::error::{Error, Reason, Result, RowFault};
use crate::format::{self, Fields, Reader};
use crate::keygroup::{KeyGroups, KeyHasher};
use crate::model::{Datum, PartitionId, RowLayout, ShardId, Slice};
use crate::plan::{SourceKind, SourcePlan};

/// Key columns that need no allocation.
const USUAL_KEY_COLUMNS: usize = 8;

/// Where a record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routed {
    /// The primary key, packed by `SourcePlan::key_layout`. Empty for append-only sources, and for a record key
    /// that `key.*.ignore-parse-errors` drops: such a record gives no row.
    pub key: Slice,
    /// Key group of the key; 0 without a key.
    pub group: u16,
    /// The shard.
    pub shard: ShardId,
}

/// Routes the records of one source.
#[derive(Debug)]
pub struct Router {
    form: Form,
    groups: KeyGroups,
}

#[derive(Debug)]
enum Form {
    Keyed(Box<Keyed>),
    ByPartition,
}

#[derive(Debug)]
struct Keyed {
    reader: Reader,
    names: Vec<String>,
    layout: RowLayout,
    hasher: KeyHasher,
    arena: Bump,
}

impl Router {
    /// A router for the records of `source`; `hasher` is for the types of its key columns.
    ///
    /// # Errors
    /// Key columns of types that the key format does not have.
    pub fn new(source: &SourcePlan, hasher: KeyHasher, groups: KeyGroups) -> Result<Self> {
        if source.kind == SourceKind::Kafka {
            return Ok(Self { form: Form::ByPartition, groups });
        }
        let Some(reader) = format::key_reader(source)? else {
            return Err(Error::bug(format!("table {} has no key columns to route by", source.table)));
        };
        let name = |&i: &usize| source.physical.get(i).map(|column| column.name.clone());
        let keyed = Keyed {
            reader,
            names: source.key_columns.iter().filter_map(name).collect(),
            layout: source.key_layout(),
            hasher,
            arena: Bump::new(),
        };
        Ok(Self { form: Form::Keyed(Box::new(keyed)), groups })
    }

    /// The place of a record with this key; its packed key is appended to `arena`.
    ///
    /// # Errors
    /// A null key, a key that cannot be read, a key column without a value.
    pub fn route(
        &mut self,
        partition: PartitionId,
        key: Option<&[u8]>,
        arena: &mut Vec<u8>,
    ) -> Result<Routed, RowFault> {
        let Form::Keyed(keyed) = &mut self.form else {
            let shard = partition.0 % u32::from(self.groups.parallelism());
            return Ok(Routed { key: Slice::default(), group: 0, shard: ShardId(shard as u16) });
        };
        let Some((key, hash)) = keyed.read(key.ok_or_else(null_key)?, arena)? else {
            return Ok(Routed { key: Slice::default(), group: 0, shard: ShardId(0) });
        };
        let group = self.groups.group(hash);
        Ok(Routed { key, group, shard: self.groups.shard(group) })
    }

    /// Key group and shard of a packed primary key: for a row whose value names another key than its record.
    pub fn shard_of_key(&mut self, packed: &[u8]) -> (u16, ShardId) {
        let Form::Keyed(keyed) = &mut self.form else { return (0, ShardId(0)) };
        let Keyed { layout, hasher, .. } = &mut **keyed;
        let key: SmallVec<[Datum<'_>; USUAL_KEY_COLUMNS]> =
            (0..layout.len()).map(|i| layout.get(packed, i)).collect();
        let group = self.groups.group(hasher.hash(&key));
        (group, self.groups.shard(group))
    }
}

impl Keyed {
    /// Packs the key of a record and hashes it; `None` if the format drops it.
    fn read(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<(Slice, i32)>, RowFault> {
        let Self { reader, names, layout, hasher, arena } = self;
        format::recycle(arena);
        let arena = &*arena;
        let mut found = None;
        let tally = reader.read(bytes, arena, |key| {
            check(&key, names)?;
            let start = out.len();
            layout.pack(key.values, out);
            found = Some((Slice::since(out, start), hasher.hash(key.values)));
            Ok(())
        });
        let tally = tally.map_err(in_the_key)?;
        if tally.rows > 1 {
            let detail = format!("record key: {} keys where one is expected", tally.rows);
            return Err(RowFault::new(Reason::Malformed, detail).remedy("correct the producer"));
        }
        Ok(found)
    }
}

/// Every column of a primary key has a value.
fn check(key: &Fields<'_>, names: &[String]) -> Result<(), RowFault> {
    let Some(missing) = key.values.iter().position(Datum::is_null) else { return Ok(()) };
    let detail = if key.is_present(missing) {
        "NULL for a PRIMARY KEY column"
    } else {
        "a PRIMARY KEY column is not in it"
    };
    Err(RowFault::new(Reason::NotNull, detail)
        .in_column(names.get(missing).map_or("", |name| name))
        .remedy("the record key must hold every PRIMARY KEY column: correct the producer or the PRIMARY KEY"))
}

fn in_the_key(mut fault: RowFault) -> RowFault {
    fault.detail = format!("record key: {}", fault.detail);
    fault
}

fn null_key() -> RowFault {
    RowFault::new(Reason::NullKey, "the record has no key, so no row can be kept for it")
        .remedy("produce records with a key, or read the topic with connector: kafka if it is append-only")
}
