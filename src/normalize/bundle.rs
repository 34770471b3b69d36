//! Mini-batch: the last record of each key waits until the bundle is full, old
//! enough, or a barrier comes. Flink: `KeyedMapBundleOperator`; the survivors
//! leave in the order in which their keys first arrived, where Flink takes the
//! order of a hash map.

use hashbrown::HashTable;

use crate::clock::Millis;
use crate::model::{PartitionId, Slice};
use crate::plan::MiniBatch;

use super::{Incoming, Origin};

/// The last record of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bundled {
    pub incoming: Incoming,
    pub hash: u64,
    pub key: Slice,
    pub row: Slice,
    pub origin: Origin,
    /// Of any record of the key that this one stands for.
    pub doubt: bool,
}

/// One bundle at a time.
#[derive(Debug)]
pub(super) struct Bundle {
    plan: MiniBatch,
    pub arena: Vec<u8>,
    pub rows: Vec<Bundled>,
    index: HashTable<u32>,
    inputs: usize,
    first: Millis,
}

impl Bundle {
    pub fn new(plan: MiniBatch) -> Self {
        Self { plan, arena: Vec::new(), rows: Vec::new(), index: HashTable::new(), inputs: 0, first: 0 }
    }

    /// Takes a record in place of an earlier one of its key. Returns the partition of the earlier one if
    /// it was another: nothing is taken then.
    pub fn push(&mut self, row: Bundled, key: &[u8], bytes: &[u8], now: Millis) -> Result<(), PartitionId> {
        let (rows, arena) = (&mut self.rows, &mut self.arena);
        let earlier = self
            .index
            .find(row.hash, |&i| rows.get(i as usize).is_some_and(|earlier| earlier.key.of(arena) == key));
        if let Some(earlier) = earlier.and_then(|&i| rows.get_mut(i as usize)) {
            if earlier.origin.partition != row.origin.partition {
                return Err(earlier.origin.partition);
            }
            let doubt = earlier.doubt || row.doubt;
            *earlier = Bundled { key: earlier.key, row: Slice::append(arena, bytes), doubt, ..row };
        } else {
            let at = u32::try_from(rows.len()).unwrap_or(u32::MAX);
            let key = Slice::append(arena, key);
            rows.push(Bundled { key, row: Slice::append(arena, bytes), ..row });
            self.index.insert_unique(row.hash, at, |&i| rows.get(i as usize).map_or(0, |row| row.hash));
        }
        if self.inputs == 0 {
            self.first = now;
        }
        self.inputs += 1;
        Ok(())
    }

    /// Whether the bundle ends by the number of its inputs.
    pub fn is_full(&self) -> bool {
        self.plan.size <= self.inputs
    }

    /// When the bundle ends by its age.
    pub fn deadline(&self) -> Option<Millis> {
        let latency = i64::try_from(self.plan.latency.as_millis()).unwrap_or(i64::MAX);
        (self.inputs != 0).then(|| self.first.saturating_add(latency))
    }

    /// Discards the records of these partitions.
    pub fn release(&mut self, partitions: &[PartitionId]) {
        if self.rows.iter().all(|row| !partitions.contains(&row.origin.partition)) {
            return;
        }
        self.rows.retain(|row| !partitions.contains(&row.origin.partition));
        self.inputs = self.rows.len();
        let rows = &self.rows;
        self.index.clear();
        for (i, row) in rows.iter().enumerate() {
            let at = u32::try_from(i).unwrap_or(u32::MAX);
            self.index.insert_unique(row.hash, at, |&i| rows.get(i as usize).map_or(0, |row| row.hash));
        }
    }

    /// Begins the next bundle.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.rows.clear();
        self.index.clear();
        self.inputs = 0;
    }
}
