//! Every cached answer of one lookup in one shard, by key.
//!
//! Only its shard touches it, so a hit costs a hash and a comparison, with no
//! lock and no shared counter.

use std::sync::Arc;

use hashbrown::HashTable;

use crate::clock::Millis;

use super::Answer;

#[derive(Debug, Default)]
pub(super) struct Index {
    slots: HashTable<Slot>,
}

#[derive(Debug)]
pub(super) struct Slot {
    hash: u64,
    pub answer: Arc<Answer>,
    /// The batch that asked last, and the number of the answer within it.
    run: u64,
    number: u32,
    /// When the cache behind was last told that the key is in use.
    pub touched: Millis,
}

impl Slot {
    /// The answer's number in batch `run`, if that batch has it; otherwise it will have it as `next`.
    pub fn number_in(&mut self, run: u64, next: u32) -> Option<u32> {
        if self.run == run {
            return Some(self.number);
        }
        (self.run, self.number) = (run, next);
        None
    }
}

/// Where an answer stands: good until the next insertion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(u32);

impl Index {
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn find(&mut self, hash: u64, key: &[u8]) -> Option<&mut Slot> {
        self.slots.find_mut(hash, |slot| slot.hash == hash && *slot.answer.key == *key)
    }

    /// The same, looking at `place` first.
    pub fn find_near(&mut self, place: Option<Place>, hash: u64, key: &[u8]) -> Option<&mut Slot> {
        let near = |slot: &Slot| slot.hash == hash && *slot.answer.key == *key;
        match place {
            Some(Place(at)) if self.slots.get_bucket(at as usize).is_some_and(near) => {
                self.slots.get_bucket_mut(at as usize)
            }
            _ => self.find(hash, key),
        }
    }

    /// Where an answer with this hash stands.
    pub fn place(&self, hash: u64) -> Option<Place> {
        let at = self.slots.find_bucket_index(hash, |slot| slot.hash == hash)?;
        u32::try_from(at).ok().map(Place)
    }

    /// The answer at a place.
    pub fn answer(&self, place: Place) -> Option<&Answer> {
        self.slots.get_bucket(place.0 as usize).map(|slot| &*slot.answer)
    }

    /// Keeps an answer in place of an older one of its key.
    pub fn put(&mut self, hash: u64, answer: &Arc<Answer>, now: Millis) {
        let slot = Slot { hash, answer: answer.clone(), run: 0, number: 0, touched: now };
        match self.find(hash, &answer.key) {
            Some(old) => *old = slot,
            None => {
                self.slots.insert_unique(hash, slot, |slot| slot.hash);
            }
        }
    }

    /// Drops this very answer, if it is still there.
    pub fn remove(&mut self, hash: u64, answer: &Arc<Answer>) {
        if let Ok(entry) = self.slots.find_entry(hash, |slot| Arc::ptr_eq(&slot.answer, answer)) {
            entry.remove();
        }
    }
}
