//! A direct-mapped table in front of a shard's cache: one slot per hash value,
//! the newcomer takes it. Only its shard touches it, so there is no lock.

use std::sync::Arc;

use super::Answer;

/// Most slots: 640 kB per lookup and shard, and the hot part of a skewed key set.
const SLOTS_MAX: u64 = 16_384;
/// Caches with fewer keys go without: there the order of use must be exact, which only `moka` sees.
const KEYS_MIN: u64 = 1_024;
/// Every so many hits of a slot the cache behind is told that the key is in use.
const TOUCH_EVERY: u32 = 64;

#[derive(Debug)]
pub(super) struct Front {
    slots: Box<[Option<Slot>]>,
}

#[derive(Debug)]
pub(super) struct Slot {
    hash: u64,
    pub answer: Arc<Answer>,
    /// The batch that asked last, and the number of the answer within it.
    run: u64,
    number: u32,
    hits: u32,
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

    pub fn is_due_for_touch(&mut self) -> bool {
        self.hits = self.hits.wrapping_add(1);
        self.hits.is_multiple_of(TOUCH_EVERY)
    }
}

impl Front {
    /// A front for a cache of `keys` keys, if it is worth one.
    pub fn for_keys(keys: u64) -> Option<Self> {
        let slots = keys.next_power_of_two().min(SLOTS_MAX);
        (KEYS_MIN <= keys).then(|| Self { slots: (0..slots).map(|_| None).collect() })
    }

    fn slot_mut(&mut self, hash: u64) -> Option<&mut Option<Slot>> {
        let at = hash as usize & (self.slots.len() - 1);
        self.slots.get_mut(at)
    }

    pub fn find(&mut self, hash: u64, key: &[u8]) -> Option<&mut Slot> {
        let slot = self.slot_mut(hash)?.as_mut()?;
        (slot.hash == hash && *slot.answer.key == *key).then_some(slot)
    }

    pub fn put(&mut self, hash: u64, answer: Arc<Answer>, run: u64, number: u32) {
        if let Some(slot) = self.slot_mut(hash) {
            *slot = Some(Slot { hash, answer, run, number, hits: 0 });
        }
    }
}
