//! Where rows come from and who owns them: partitions, epochs, shards.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, RwLock};

/// A topic and one of its partitions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// Topic name.
    pub topic: Arc<str>,
    /// Partition number.
    pub partition: i32,
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.topic, self.partition)
    }
}

/// A small number that stands for a [`TopicPartition`] within this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartitionId(pub u32);

/// A worker shard of this replica, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShardId(pub u16);

/// A unit of commit, counted from 1 in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub u64);

/// Gives every partition that was ever seen its [`PartitionId`]. Clones share the table.
#[derive(Clone, Debug, Default)]
pub struct PartitionTable(Arc<RwLock<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    ids: HashMap<TopicPartition, PartitionId>,
    names: Vec<TopicPartition>,
}

impl PartitionTable {
    /// The id of a partition, new if it was not seen before.
    #[must_use]
    pub fn intern(&self, name: &TopicPartition) -> PartitionId {
        if let Some(id) = self.lock_read(|inner| inner.ids.get(name).copied()) {
            return id;
        }
        let mut inner = self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(id) = inner.ids.get(name) {
            return *id;
        }
        let id = PartitionId(u32::try_from(inner.names.len()).unwrap_or(u32::MAX));
        inner.names.push(name.clone());
        inner.ids.insert(name.clone(), id);
        id
    }

    /// The partition with this id.
    #[must_use]
    pub fn name(&self, id: PartitionId) -> Option<TopicPartition> {
        self.lock_read(|inner| inner.names.get(id.0 as usize).cloned())
    }

    fn lock_read<R>(&self, read: impl FnOnce(&Inner) -> R) -> R {
        read(&self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
