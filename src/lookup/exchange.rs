//! Keys travel to the shard that owns them, rows stay: one message per batch
//! and owner, and one back.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use crate::model::{ShardId, Slice};

use super::messages::{Ask, AskedKey};
use super::{Outcome, Reply};

/// Questions of one batch, gathered per owner.
#[derive(Debug, Default)]
pub(super) struct Gather {
    groups: Vec<Group>,
    index: HashTable<Entry>,
    hasher: RandomState,
}

/// What goes to one owner.
#[derive(Debug)]
pub(super) struct Group {
    pub owner: ShardId,
    pub ask: Ask,
    /// The answer's number in the batch, for each key.
    pub numbers: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u64,
    group: u32,
    position: u32,
}

impl Gather {
    /// Adds a key; returns the number of its answer, which is `next` if the batch has not asked for it yet.
    pub fn add(&mut self, owner: ShardId, key: &[u8], next: u32) -> u32 {
        let hash = self.hasher.hash_one(key);
        let groups = &mut self.groups;
        let found = self.index.find(hash, |entry| {
            groups.get(entry.group as usize).is_some_and(|group| group.is_at(entry.position, key))
        });
        if let Some(entry) = found
            && let Some(group) = groups.get_mut(entry.group as usize)
            && let Some(asked) = group.ask.keys.get_mut(entry.position as usize)
            && let Some(number) = group.numbers.get(entry.position as usize)
        {
            asked.rows = asked.rows.saturating_add(1);
            return *number;
        }
        let at = groups.iter().position(|group| group.owner == owner).unwrap_or_else(|| {
            groups.push(Group { owner, ask: Ask::default(), numbers: Vec::new() });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(at) else { return next };
        let position = u32::try_from(group.ask.keys.len()).unwrap_or(u32::MAX);
        let key = Slice::append(&mut group.ask.arena, key);
        group.ask.keys.push(AskedKey { key, rows: 1 });
        group.numbers.push(next);
        let group = u32::try_from(at).unwrap_or(u32::MAX);
        self.index.insert_unique(hash, Entry { hash, group, position }, |entry| entry.hash);
        next
    }

    /// The messages of the batch; the next batch begins empty.
    pub fn take(&mut self) -> Vec<Group> {
        self.index.clear();
        std::mem::take(&mut self.groups)
    }
}

impl Group {
    fn is_at(&self, position: u32, key: &[u8]) -> bool {
        self.ask.keys.get(position as usize).is_some_and(|asked| asked.key.of(&self.ask.arena) == key)
    }
}

/// A question of another shard that is not answered in full.
#[derive(Debug)]
struct Open {
    outcomes: Vec<Outcome>,
    waiting: usize,
}

/// Questions of other shards. Bounded by their batches in flight.
#[derive(Debug, Default)]
pub(super) struct Served(HashMap<(ShardId, u64), Open>);

impl Served {
    /// Takes a question with what is known; returns the reply if that is all.
    pub fn open(&mut self, shard: ShardId, id: u64, outcomes: Vec<Outcome>) -> Option<Reply> {
        let waiting = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Waiting)).count();
        if waiting == 0 {
            return Some(Reply { id, outcomes });
        }
        self.0.insert((shard, id), Open { outcomes, waiting });
        None
    }

    /// Notes one answer; returns the reply if it was the last.
    pub fn resolve(&mut self, shard: ShardId, id: u64, position: u32, outcome: Outcome) -> Option<Reply> {
        let open = self.0.get_mut(&(shard, id))?;
        let slot = open.outcomes.get_mut(position as usize)?;
        if matches!(slot, Outcome::Waiting) {
            *slot = outcome;
            open.waiting -= 1;
        }
        if open.waiting != 0 {
            return None;
        }
        let outcomes = self.0.remove(&(shard, id))?.outcomes;
        Some(Reply { id, outcomes })
    }
}
