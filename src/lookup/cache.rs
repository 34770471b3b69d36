//! `lookup.cache: PARTIAL`: the answers of one lookup in one shard.
//!
//! Two structures share the entries. An [`Index`] that only this shard touches
//! answers: a hit costs a hash and a comparison. `moka` bounds the number of
//! keys and chooses which ones go (least recently used); it hears of insertions,
//! and of uses while the cache is nearly full, but not of every hit, which
//! would cost several hundred nanoseconds. It reads the machine's clock, so
//! expiry is decided here, against the time that the caller gives: an entry
//! carries when it was written and last used.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use moka::notification::RemovalCause;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use smallvec::SmallVec;

use crate::clock::Millis;
use crate::plan::CachePlan;

use super::index::{Found, Index, Place};

/// Keys per table and replica when the definition bounds the time alone: enough for any dimension that
/// fits, and expired entries of others make room by not being used.
const KEYS_DEFAULT: u64 = 1_000_000;
/// Caches of fewer keys tell `moka` of every use, so that what goes is exactly the least recently used.
const EXACT_BELOW: u64 = 1_024;
/// Larger ones tell it of a key once while so many new keys come as are this part of all: a key moves towards
/// eviction only as others come, so one in use is never among the oldest.
const TOUCHES_PER_TURNOVER: u64 = 16;

/// The rows of one key, after the condition on the dimension side.
#[derive(Debug)]
pub struct Answer {
    /// The packed key. Most are short: beside the rest, one place in memory to fetch instead of two.
    pub key: SmallVec<[u8; 16]>,
    /// Packed rows; none: the dimension has no such row.
    pub rows: SmallVec<[Arc<[u8]>; 1]>,
    pub(super) written: Millis,
}

impl Answer {
    /// An answer that came at `now`.
    pub(super) fn new(key: &[u8], rows: SmallVec<[Arc<[u8]>; 1]>, now: Millis) -> Self {
        Self { key: SmallVec::from_slice(key), rows, written: now }
    }
}

/// An answer as a key of `moka`, so that the key's bytes are not kept twice.
#[derive(Debug)]
struct ByKey(Arc<Answer>);

impl Borrow<[u8]> for ByKey {
    fn borrow(&self) -> &[u8] {
        &self.0.key
    }
}

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for ByKey {}

impl Hash for ByKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (*self.0.key).hash(state);
    }
}

/// What the cache knows of a key.
#[derive(Debug)]
pub(super) enum Probe<'a> {
    /// An answer that is still good.
    Hit(Found<'a>),
    /// The same, and the batch has it already under this number; whether it says that there is no row.
    Known(u32, bool),
    /// Nothing.
    Miss {
        /// There was an answer, but its time is over.
        expired: bool,
    },
}

/// A packed key and its hash in this cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredKey<'a> {
    pub key: &'a [u8],
    pub hash: u64,
    /// Where to look first.
    pub place: Option<Place>,
}

/// Times after which an answer is not good any more.
#[derive(Clone, Copy, Debug)]
struct Expiry {
    write: Option<Millis>,
    access: Option<Millis>,
    missing: Option<Millis>,
}

impl Expiry {
    fn is_over(self, index: &Index, place: Place, now: Millis) -> bool {
        let past = |since: Option<Millis>, limit: Option<Millis>| {
            limit.is_some_and(|limit| since.is_none_or(|since| since.saturating_add(limit) <= now))
        };
        past(index.written(place), self.write)
            || (self.access.is_some() && past(index.used(place), self.access))
            || (self.missing.is_some()
                && index.found(place).is_some_and(|found| found.is_empty())
                && past(index.written(place), self.missing))
    }
}

/// Answers of one lookup in one shard.
#[derive(Debug)]
pub(super) struct PartialCache {
    index: Index,
    bound: Cache<ByKey, Arc<Answer>, RandomState>,
    /// What `moka` has let go of, to be taken out of the index.
    evicted: Arc<Mutex<Vec<Arc<Answer>>>>,
    /// How many of these were let go because the cache was full.
    evictions: Arc<AtomicU64>,
    keys: u64,
    /// New keys between two touches.
    touch_every: u32,
    hasher: RandomState,
    expiry: Expiry,
    cache_missing_key: bool,
}

impl PartialCache {
    /// The share of one of `shards` shards.
    pub fn new(plan: &CachePlan, shards: u16) -> Self {
        let keys = plan.max_rows.unwrap_or(KEYS_DEFAULT).div_ceil(u64::from(shards.max(1))).max(1);
        let hasher = RandomState::default();
        let evicted = Arc::new(Mutex::new(Vec::new()));
        let evictions = Arc::new(AtomicU64::new(0));
        let (going, full) = (evicted.clone(), evictions.clone());
        let bound = Cache::builder()
            .max_capacity(keys)
            .eviction_policy(EvictionPolicy::lru())
            .eviction_listener(move |_, answer: Arc<Answer>, cause| {
                full.fetch_add(u64::from(cause == RemovalCause::Size), Ordering::Relaxed);
                going.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
            })
            .build_with_hasher(hasher.clone());
        let millis = |duration: Option<std::time::Duration>| {
            duration.map(|duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
        };
        Self {
            index: Index::new(),
            bound,
            evicted,
            evictions,
            keys,
            touch_every: u32::try_from(keys / TOUCHES_PER_TURNOVER).unwrap_or(u32::MAX / 2),
            hasher,
            expiry: Expiry {
                write: millis(plan.expire_after_write),
                access: millis(plan.expire_after_access),
                missing: millis(plan.missing_key_ttl),
            },
            cache_missing_key: plan.cache_missing_key,
        }
    }

    /// Hash of a packed key.
    pub fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Where an entry of this hash stands: to be fetched, and for [`PartialCache::probe`] to begin with.
    pub fn place(&self, hash: u64) -> Option<Place> {
        self.index.place(hash)
    }

    /// Touches the entries at these places, so that the processor fetches many of them from memory at a time.
    pub fn fetch(&self, places: impl Iterator<Item = Place>) {
        self.index.fetch(places);
    }

    /// Looks a key up. `run` is the number of the batch that asks, not 0; if the answer is long and the batch has
    /// not got it yet, it will keep it under the number `next`.
    pub fn probe(&mut self, stored: StoredKey<'_>, run: u64, next: u32, now: Millis) -> Probe<'_> {
        let StoredKey { key, hash, place } = stored;
        let Some(place) = self.index.find(place, hash, key) else { return Probe::Miss { expired: false } };
        if self.expiry.is_over(&self.index, place, now) {
            if let Some(answer) = self.index.found(place).map(|found| Arc::clone(found.answer)) {
                self.index.remove(hash, &answer);
            }
            self.bound.invalidate(key);
            return Probe::Miss { expired: true };
        }
        if self.expiry.access.is_some() {
            self.index.use_at(place, now);
        }
        let is_exact = self.keys < EXACT_BELOW;
        let is_tight = is_exact || self.keys - self.keys / 8 <= self.index.len() as u64;
        if is_tight && (is_exact || self.index.touch(place, self.touch_every)) {
            let _ = self.bound.get(key);
        }
        if let Some(is_empty) = self.index.found(place).filter(Found::is_long).map(|found| found.is_empty())
            && let Some(number) = self.index.number_in(place, run, next)
        {
            return Probe::Known(number, is_empty);
        }
        self.index.found(place).map_or(Probe::Miss { expired: false }, Probe::Hit)
    }

    /// Keeps an answer; [`PartialCache::settle`] is called after a number of them.
    pub fn put(&mut self, answer: &Arc<Answer>) {
        if !answer.rows.is_empty() || self.cache_missing_key {
            self.index.put(self.hasher.hash_one(&*answer.key), answer);
            self.bound.insert(ByKey(answer.clone()), answer.clone());
        }
    }

    /// Evicts what is too much. After each statement rather than when `moka` gets round to it, so that the
    /// bound holds at every moment that counts.
    pub fn settle(&mut self) {
        self.bound.run_pending_tasks();
        let mut evicted = self.evicted.lock().unwrap_or_else(PoisonError::into_inner);
        for answer in evicted.drain(..) {
            self.index.remove(self.hasher.hash_one(&*answer.key), &answer);
        }
    }

    /// Keys that were let go because the cache was full.
    pub fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }

    /// Number of keys that it may hold.
    pub fn capacity(&self) -> u64 {
        self.keys
    }

    /// Number of keys.
    pub fn len(&self) -> u64 {
        self.index.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const UNBOUNDED: CachePlan = CachePlan {
        max_rows: None,
        expire_after_write: None,
        expire_after_access: None,
        cache_missing_key: true,
        missing_key_ttl: None,
    };

    fn probe<'a>(cache: &'a mut PartialCache, key: &str, (run, next): (u64, u32), now: Millis) -> Probe<'a> {
        let key = key.as_bytes();
        let hash = cache.hash(key);
        let stored = StoredKey { key, hash, place: cache.place(hash) };
        cache.fetch(stored.place.into_iter());
        cache.probe(stored, run, next, now)
    }

    fn answer(key: &str, rows: usize, now: Millis) -> Arc<Answer> {
        let rows = (0..rows).map(|_| Arc::from(&b"row"[..])).collect();
        Arc::new(Answer::new(key.as_bytes(), rows, now))
    }

    fn put(cache: &mut PartialCache, key: &str, rows: usize, now: Millis) {
        cache.put(&answer(key, rows, now));
        cache.settle();
    }

    fn hits(cache: &mut PartialCache, key: &str, now: Millis) -> bool {
        matches!(probe(cache, key, (1, 0), now), Probe::Hit(_) | Probe::Known(..))
    }

    /// Flink: `DefaultLookupCacheTest`, expire after write.
    #[test]
    fn an_entry_expires_after_it_was_written_used_or_not() {
        let plan = CachePlan { expire_after_write: Some(Duration::from_millis(100)), ..UNBOUNDED };
        let mut cache = PartialCache::new(&plan, 1);
        put(&mut cache, "a", 1, 0);
        assert!(hits(&mut cache, "a", 50) && hits(&mut cache, "a", 99));
        assert!(matches!(probe(&mut cache, "a", (1, 0), 100), Probe::Miss { expired: true }));
        assert!(matches!(probe(&mut cache, "a", (1, 0), 100), Probe::Miss { expired: false }));
    }

    /// Flink: `DefaultLookupCacheTest`, expire after access.
    #[test]
    fn an_entry_lives_as_long_as_it_is_used() {
        let plan = CachePlan { expire_after_access: Some(Duration::from_millis(100)), ..UNBOUNDED };
        let mut cache = PartialCache::new(&plan, 1);
        put(&mut cache, "a", 1, 0);
        for now in [90, 180, 270] {
            assert!(hits(&mut cache, "a", now), "at {now}");
        }
        assert!(!hits(&mut cache, "a", 370));
    }

    /// Flink: `DefaultLookupCacheTest`, maximum size.
    #[test]
    fn the_bound_counts_keys_and_the_least_recently_used_goes() {
        let mut cache = PartialCache::new(&CachePlan { max_rows: Some(2), ..UNBOUNDED }, 1);
        put(&mut cache, "a", 5, 0);
        put(&mut cache, "b", 1, 0);
        assert!(hits(&mut cache, "a", 0));
        put(&mut cache, "c", 1, 0);
        assert_eq!(cache.len(), 2);
        assert!(hits(&mut cache, "a", 0) && hits(&mut cache, "c", 0) && !hits(&mut cache, "b", 0));
    }

    #[test]
    fn the_bound_is_divided_among_the_shards() {
        let mut cache = PartialCache::new(&CachePlan { max_rows: Some(5), ..UNBOUNDED }, 2);
        for key in ["a", "b", "c", "d"] {
            put(&mut cache, key, 1, 0);
        }
        assert_eq!(cache.len(), 3);
    }

    /// Flink: `DefaultLookupCacheTest`, missing keys; the own time is ours.
    #[test]
    fn absent_keys_are_cached_on_request_and_for_their_own_time() {
        let mut off = PartialCache::new(&CachePlan { cache_missing_key: false, ..UNBOUNDED }, 1);
        put(&mut off, "a", 0, 0);
        assert!(!hits(&mut off, "a", 0));
        let short = CachePlan { missing_key_ttl: Some(Duration::from_millis(10)), ..UNBOUNDED };
        let mut on = PartialCache::new(&short, 1);
        put(&mut on, "a", 0, 0);
        put(&mut on, "b", 1, 0);
        assert!(hits(&mut on, "a", 9) && !hits(&mut on, "a", 10) && hits(&mut on, "b", 1000));
    }

    #[test]
    fn a_batch_that_has_a_long_answer_is_told_its_number() {
        let mut cache = PartialCache::new(&UNBOUNDED, 1);
        put(&mut cache, "a", 3, 0);
        assert!(matches!(probe(&mut cache, "a", (7, 3), 0), Probe::Hit(_)));
        assert!(matches!(probe(&mut cache, "a", (7, 4), 0), Probe::Known(3, false)));
        assert!(matches!(probe(&mut cache, "a", (8, 0), 0), Probe::Hit(_)), "another batch has not got it");
        put(&mut cache, "b", 1, 0);
        assert!(matches!(probe(&mut cache, "b", (7, 5), 0), Probe::Hit(_)));
        assert!(matches!(probe(&mut cache, "b", (7, 6), 0), Probe::Hit(_)), "a short one is copied instead");
    }

    #[test]
    fn a_large_cache_keeps_what_is_in_use() {
        let mut cache = PartialCache::new(&CachePlan { max_rows: Some(2_000), ..UNBOUNDED }, 1);
        for i in 0..20_000_i64 {
            put(&mut cache, &i.to_string(), 1, i);
            if 100 <= i {
                assert!(hits(&mut cache, "7", i), "used all the time, at {i}");
            }
        }
        assert_eq!((cache.len(), cache.evictions(), cache.capacity()), (2_000, 18_000, 2_000));
        assert!(hits(&mut cache, "19999", 20_000) && !hits(&mut cache, "8", 20_000));
        assert_eq!(cache.bound.entry_count(), 2_000);
    }

    #[test]
    fn a_newer_answer_takes_the_place_of_the_older() {
        let mut cache = PartialCache::new(&UNBOUNDED, 1);
        put(&mut cache, "a", 1, 0);
        put(&mut cache, "a", 3, 1);
        let Probe::Hit(answer) = probe(&mut cache, "a", (1, 0), 1) else { panic!("no answer") };
        assert_eq!(answer.answer.rows.len(), 3);
        assert_eq!((cache.len(), cache.evictions()), (1, 0));
    }
}
