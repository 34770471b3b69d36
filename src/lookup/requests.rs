//! Misses of one lookup on their way to the database.
//!
//! A key is asked for once, however many rows and batches want it. Keys wait
//! only while all connections of this shard are busy: what queued up meanwhile
//! leaves together as one statement.

use std::collections::VecDeque;

use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::model::ShardId;

use super::{LookupKey, LookupQuery};

/// Keys in one statement: larger ones gain nothing measurable and hold a connection longer.
pub(super) const KEYS_PER_STATEMENT: usize = 512;
/// Statements under way per shard and table: one runs while the next is being answered.
pub(super) const STATEMENTS_IN_FLIGHT: usize = 2;

/// Who wants the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    /// A batch of this shard; the answer's number in it.
    Batch { batch: u64, number: u32 },
    /// A question of another shard; the key's position in it.
    Peer { shard: ShardId, ask: u64, position: u32 },
}

#[derive(Debug)]
pub(super) struct Request {
    pub key: LookupKey,
    hash: u64,
    pub waiters: SmallVec<[Waiter; 2]>,
}

/// How a key was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It goes to the database.
    New,
    /// It was under way; the waiter joined.
    Joined,
    /// It was under way, and this batch waits for it already under the returned number.
    Twin(u32),
}

/// Requests by key, by age, and by statement.
#[derive(Debug, Default)]
pub(super) struct Requests {
    slots: Vec<Option<Request>>,
    free: Vec<u32>,
    by_key: HashTable<u32>,
    /// Not sent yet. Bounded by the rows of the batches in flight here and in the other shards.
    queue: VecDeque<u32>,
    flying: SmallVec<[(u64, Vec<u32>); STATEMENTS_IN_FLIGHT]>,
    /// Without a cache a batch must not join a request that was sent before it asked.
    forget_sent: bool,
}

impl Requests {
    pub fn new(cached: bool) -> Self {
        Self { forget_sent: !cached, ..Self::default() }
    }

    pub fn take(&mut self, key: &[u8], hash: u64, waiter: Waiter) -> Taken {
        let slots = &mut self.slots;
        let found = self.by_key.find(hash, |&at| is_at(slots, at, key)).copied();
        if let Some(request) = found.and_then(|at| slots.get_mut(at as usize)?.as_mut()) {
            if let (Some(Waiter::Batch { batch: last, number }), Waiter::Batch { batch, .. }) =
                (request.waiters.last().copied(), waiter)
                && last == batch
            {
                return Taken::Twin(number);
            }
            request.waiters.push(waiter);
            return Taken::Joined;
        }
        let request = Request { key: key.into(), hash, waiters: SmallVec::from_slice(&[waiter]) };
        let at = self.store(request);
        let slots = &self.slots;
        self.by_key.insert_unique(hash, at, |&at| hash_at(slots, at));
        self.queue.push_back(at);
        Taken::New
    }

    fn store(&mut self, request: Request) -> u32 {
        if let Some(at) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(at as usize)
        {
            *slot = Some(request);
            return at;
        }
        self.slots.push(Some(request));
        u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
    }

    /// The next statement, if keys wait and a connection's share is free.
    pub fn next_query(&mut self, lookup: usize, id: u64) -> Option<LookupQuery> {
        if self.queue.is_empty() || STATEMENTS_IN_FLIGHT <= self.flying.len() {
            return None;
        }
        let count = self.queue.len().min(KEYS_PER_STATEMENT);
        let sent: Vec<u32> = self.queue.drain(..count).collect();
        let mut keys = Vec::with_capacity(sent.len());
        for &at in &sent {
            if let Some(Some(request)) = self.slots.get(at as usize) {
                keys.push(request.key.clone());
            }
            if self.forget_sent {
                self.unlink(at);
            }
        }
        self.flying.push((id, sent));
        Some(LookupQuery { lookup, id, keys })
    }

    /// The requests of an answered statement, in the order of its keys.
    pub fn answered(&mut self, id: u64) -> Option<Vec<Request>> {
        let at = self.flying.iter().position(|(flying, _)| *flying == id)?;
        let (_, sent) = self.flying.remove(at);
        let mut requests = Vec::with_capacity(sent.len());
        for at in sent {
            if !self.forget_sent {
                self.unlink(at);
            }
            if let Some(request) = self.slots.get_mut(at as usize).and_then(Option::take) {
                self.free.push(at);
                requests.push(request);
            }
        }
        Some(requests)
    }

    fn unlink(&mut self, at: u32) {
        let hash = hash_at(&self.slots, at);
        if let Ok(entry) = self.by_key.find_entry(hash, |&other| other == at) {
            entry.remove();
        }
    }
}

fn is_at(slots: &[Option<Request>], at: u32, key: &[u8]) -> bool {
    slots.get(at as usize).and_then(Option::as_ref).is_some_and(|request| *request.key == *key)
}

fn hash_at(slots: &[Option<Request>], at: u32) -> u64 {
    slots.get(at as usize).and_then(Option::as_ref).map_or(0, |request| request.hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(batch: u64, number: u32) -> Waiter {
        Waiter::Batch { batch, number }
    }

    fn take(requests: &mut Requests, key: u32, waiter: Waiter) -> Taken {
        requests.take(&key.to_le_bytes(), u64::from(key), waiter)
    }

    #[test]
    fn a_key_is_asked_for_once() {
        let mut requests = Requests::new(true);
        assert_eq!(take(&mut requests, 1, batch(1, 0)), Taken::New);
        assert_eq!(take(&mut requests, 1, batch(1, 9)), Taken::Twin(0));
        assert_eq!(take(&mut requests, 1, batch(2, 5)), Taken::Joined);
        assert_eq!(requests.next_query(0, 1).unwrap().keys.len(), 1);
        assert_eq!(take(&mut requests, 1, batch(3, 0)), Taken::Joined, "also when it was sent");
        assert!(requests.next_query(0, 2).is_none());
        let answered = requests.answered(1).unwrap();
        assert_eq!(answered[0].waiters.as_slice(), &[batch(1, 0), batch(2, 5), batch(3, 0)]);
        assert_eq!(take(&mut requests, 1, batch(4, 0)), Taken::New);
        assert!(requests.answered(1).is_none());
    }

    #[test]
    fn without_a_cache_nobody_joins_what_was_sent() {
        let mut requests = Requests::new(false);
        take(&mut requests, 1, batch(1, 0));
        requests.next_query(0, 1).unwrap();
        assert_eq!(take(&mut requests, 1, batch(2, 0)), Taken::New);
        requests.next_query(0, 2).unwrap();
        assert_eq!(requests.answered(2).unwrap()[0].waiters.as_slice(), &[batch(2, 0)]);
        assert_eq!(requests.answered(1).unwrap()[0].waiters.as_slice(), &[batch(1, 0)]);
    }

    #[test]
    fn what_queued_up_leaves_together_within_bounds() {
        let mut requests = Requests::new(true);
        for key in 0..1300 {
            take(&mut requests, key, batch(1, key));
        }
        let sizes: Vec<usize> =
            (0..4).filter_map(|id| requests.next_query(0, id)).map(|query| query.keys.len()).collect();
        assert_eq!(sizes, [512, 512], "two at a time");
        requests.answered(0).unwrap();
        assert_eq!(requests.next_query(0, 9).unwrap().keys.len(), 276);
    }
}
