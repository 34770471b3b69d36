//! One lookup in one shard: conditions, key, cache, requests.

use bumpalo::Bump;
use foldhash::fast::RandomState;
use smallvec::SmallVec;
use std::hash::BuildHasher;
use std::sync::Arc;

use crate::clock::Millis;
use crate::error::{Error, Kind, Reason, Result, RowFault};
use crate::expr::Expression;
use crate::keygroup::{KeyGroups, KeyHash, KeyHasher};
use crate::model::{DataType, Datum, ShardId};
use crate::plan::{JoinKind, JoinedLayout, JoinedRow, LookupPlan, PackedFilter};

use super::cache::{PartialCache, Probe, StoredKey};
use super::index::{Found, Place};
use super::key::KeyBuilder;
use super::requests::{Request, Requests, Taken, Waiter};
use super::{Answer, LookupCounters, Outcome, fault_in};

/// One lookup.
#[derive(Debug)]
pub(super) struct Step {
    pub table: String,
    pub join: JoinKind,
    pub pre_filter: Option<Expression>,
    pub residual: Option<Expression>,
    pub key: KeyBuilder,
    pub owner: Option<Owner>,
    pub requests: Requests,
    pub counters: LookupCounters,
    dimension_filter: Option<PackedFilter>,
    cache: Option<PartialCache>,
    hasher: RandomState,
    max_retries: u32,
}

/// Which shard keeps a key's entry, with `lookup.enable_hash`. Flink: `LOOKUP` hint `shuffle`.
#[derive(Debug)]
pub(super) struct Owner {
    groups: KeyGroups,
    hasher: KeyHasher,
    /// Positions in the key, in the order of the equalities in the condition.
    order: Vec<usize>,
}

impl Owner {
    /// Only a cache has something to gain from it, and constants alone are no hash.
    fn new(plan: &LookupPlan, groups: KeyGroups, hash: KeyHash) -> Result<Option<Self>> {
        if !plan.hash || plan.cache.is_none() || plan.hash_order.is_empty() || groups.parallelism() == 1 {
            return Ok(None);
        }
        let parts = plan.hash_order.iter().filter_map(|&at| plan.key.get(at));
        let types: Vec<DataType> = parts.map(|part| part.ty.clone()).collect();
        let hasher = KeyHasher::new(&types, hash)
            .map_err(|error| error.context(&format!("table {}, lookup.enable_hash", plan.table)))?;
        Ok(Some(Self { groups, hasher, order: plan.hash_order.clone() }))
    }

    pub fn shard(&mut self, key: &[Datum<'_>]) -> ShardId {
        let columns: SmallVec<[Datum<'_>; 4]> =
            self.order.iter().map(|&at| key.get(at).copied().unwrap_or(Datum::Null)).collect();
        self.groups.shard(self.groups.group(self.hasher.hash(&columns)))
    }
}

/// What a question for a key led to.
#[derive(Debug)]
pub(super) enum Asking<'a> {
    /// Answered from the cache.
    Hit(Found<'a>),
    /// The batch has this answer, or waits for it, under this number.
    Known(u32),
    /// On the way.
    Waiting,
}

impl Step {
    pub fn new(plan: &LookupPlan, joined: &JoinedLayout, groups: KeyGroups, hash: KeyHash) -> Result<Self> {
        let key = KeyBuilder::new(plan, joined).map_err(|fault| {
            Error::new(Kind::Definition, format!("table {}: {}", plan.table, fault.detail))
        })?;
        Ok(Self {
            table: plan.table.clone(),
            join: plan.join,
            pre_filter: plan.pre_filter.clone(),
            residual: plan.residual.clone(),
            key,
            owner: Owner::new(plan, groups, hash)?,
            requests: Requests::new(plan.cache.is_some()),
            counters: LookupCounters::default(),
            dimension_filter: plan
                .dimension_filter
                .clone()
                .map(|filter| PackedFilter::new(filter, plan.layout())),
            cache: plan.cache.map(|cache| PartialCache::new(&cache, groups.parallelism())),
            hasher: RandomState::default(),
            max_retries: plan.max_retries,
        })
    }

    /// Hash of a packed key in the cache.
    pub fn hash(&self, key: &[u8]) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.hash(key))
    }

    /// Where the cache has an entry of this hash.
    pub fn place(&self, hash: u64) -> Option<Place> {
        self.cache.as_ref()?.place(hash)
    }

    /// Fetches what the cache has at these places from memory.
    pub fn fetch(&self, places: impl Iterator<Item = Place>) {
        if let Some(cache) = &self.cache {
            cache.fetch(places);
        }
    }

    /// Asks for a key on behalf of `rows` rows. `run` numbers the batch that asks, `next` the answer.
    pub fn ask(&mut self, key: &[u8], question: Question, now: Millis) -> Asking<'_> {
        let Question { run, next, waiter, rows, hash, place } = question;
        let rows = u64::from(rows);
        let mut expired = false;
        match self.cache.as_mut().map(|cache| cache.probe(StoredKey { key, hash, place }, run, next, now)) {
            Some(Probe::Hit(found)) => {
                self.counters.hits += rows;
                self.counters.negative_hits += if found.is_empty() { rows } else { 0 };
                return Asking::Hit(found);
            }
            Some(Probe::Known(number, empty)) => {
                self.counters.hits += rows;
                self.counters.negative_hits += if empty { rows } else { 0 };
                return Asking::Known(number);
            }
            Some(Probe::Miss { expired: was_there }) => expired = was_there,
            None => {}
        }
        match self.requests.take(key, self.hasher.hash_one(key), waiter) {
            Taken::New => {
                self.counters.misses += 1;
                self.counters.expired += u64::from(expired);
                self.counters.coalesced += rows.saturating_sub(1);
                Asking::Waiting
            }
            Taken::Joined => {
                self.counters.coalesced += rows;
                Asking::Waiting
            }
            Taken::Twin(number) => {
                self.counters.coalesced += rows;
                Asking::Known(number)
            }
        }
    }

    /// Makes answers of what the database gave, and keeps them.
    pub fn receive(
        &mut self,
        requests: Vec<Request>,
        rows: Result<Vec<super::DimensionRows>>,
        now: Millis,
    ) -> Vec<(Outcome, SmallVec<[Waiter; 2]>)> {
        let count = requests.len();
        let rows = match rows {
            Ok(rows) if rows.len() == count => rows,
            Ok(rows) => {
                let error = Error::bug(format!("{} answers for {count} keys", rows.len()));
                return self.fail(requests, &error);
            }
            Err(error) => return self.fail(requests, &error),
        };
        let mut bump = Bump::new();
        let mut outcomes = Vec::with_capacity(count);
        for (request, rows) in requests.into_iter().zip(rows) {
            let outcome = match self.filtered(rows, &mut bump) {
                Ok(rows) => {
                    let answer = Arc::new(Answer::new(&request.key, rows, now));
                    if let Some(cache) = &mut self.cache {
                        cache.put(&answer);
                    }
                    Outcome::Rows(answer)
                }
                Err(fault) => Outcome::Failed(Arc::new(fault)),
            };
            outcomes.push((outcome, request.waiters));
        }
        if let Some(cache) = &mut self.cache {
            cache.settle();
        }
        outcomes
    }

    /// The rows that pass the condition on the dimension side.
    fn filtered(
        &self,
        rows: super::DimensionRows,
        bump: &mut Bump,
    ) -> Result<SmallVec<[Arc<[u8]>; 1]>, RowFault> {
        let Some(filter) = &self.dimension_filter else { return Ok(rows.into()) };
        let mut kept = SmallVec::new();
        for row in rows {
            if filter.holds(&row, bump).map_err(|error| fault_in(&self.table, error))? {
                kept.push(row);
            }
        }
        Ok(kept)
    }

    /// Nobody gets a row from a failed lookup; it is never taken for a miss, and never cached.
    fn fail(&mut self, requests: Vec<Request>, error: &Error) -> Vec<(Outcome, SmallVec<[Waiter; 2]>)> {
        self.counters.failures += 1;
        let table = &self.table;
        let fault = match error.kind() {
            // A value that does not fit its column comes back with every try.
            Kind::Data => RowFault::new(Reason::ValueOutOfRange, format!("lookup in table {table}: {error}"))
                .remedy("it was not tried again, for the same value would come back"),
            _ => {
                let times = match self.max_retries {
                    0 => "once".to_owned(),
                    retries => format!("{} times, last", u64::from(retries) + 1),
                };
                let detail = format!("lookup in table {table} failed {times}: {error}");
                RowFault::new(Reason::LookupFailed, detail).remedy(
                    "nothing was emitted for this row; bring the database back and start again, \
                     or raise lookup.max-retries",
                )
            }
        };
        let failed = Outcome::Failed(Arc::new(fault));
        requests.into_iter().map(|request| (failed.clone(), request.waiters)).collect()
    }

    /// Whether the row passes the condition on the stream side.
    pub fn pre_filter_holds(&self, row: &JoinedRow<'_>, bump: &Bump) -> Result<bool, RowFault> {
        let Some(filter) = &self.pre_filter else { return Ok(true) };
        filter.holds(row, bump).map_err(|error| fault_in(&self.table, error))
    }

    /// Whether the joined row passes the rest of the condition.
    pub fn residual_holds(&self, row: &JoinedRow<'_>, bump: &Bump) -> Result<bool, RowFault> {
        let Some(residual) = &self.residual else { return Ok(true) };
        residual.holds(row, bump).map_err(|error| fault_in(&self.table, error))
    }

    /// What was counted, with the size of the cache now.
    pub fn counters(&self) -> LookupCounters {
        let Some(cache) = &self.cache else { return self.counters };
        LookupCounters {
            cached: cache.len(),
            evicted: cache.evictions(),
            capacity: cache.capacity(),
            ..self.counters
        }
    }
}

/// Who asks, and for how many rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub run: u64,
    pub next: u32,
    pub waiter: Waiter,
    pub rows: u32,
    /// Of [`Step::hash`].
    pub hash: u64,
    /// Of [`Step::place`].
    pub place: Option<Place>,
}
