//! ChangelogNormalize: upserts and tombstones become `+I`, `-U`/`+U` and `-D`.
//!
//! The topic says what a key is now; a changelog says what happened to it. The
//! difference is the row before, kept in state. An update that changes nothing
//! is no change, a delete carries the stored row, a delete of a key without a
//! row is silent, and a filter turns updates into deletes and inserts
//! ([`decide`]). What went out for the row before is none of this module's
//! business: emission looks that up when the row's lookups are done.
//!
//! Arrival order alone counts; event time and Kafka timestamps do not.

mod counters;
mod bundle;
mod decide;

pub use counters::NormalizeCounters;
pub use decide::{Decision, Incoming, Suppressed, decide};

use bumpalo::Bump;

use crate::clock::Millis;
use crate::error::{Reason, RowFault};
use crate::expr::{Columns, EvalError, Expression};
use crate::model::{Datum, PartitionId, PartitionTable, RowLayout, Slice};
use crate::plan::{NormalizePlan, PackedFilter, SourcePlan};
use crate::state::{KeyedState, NewRow, Place, SentMark, StateCounts, StateKey};

use bundle::{Bundle, Bundled};

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its partition.
    pub partition: PartitionId,
    /// Its offset.
    pub offset: i64,
}

/// A decoded record, its key and row in the arena of [`Changes`].
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// What it says.
    pub incoming: Incoming,
    /// Packed primary key.
    pub key: Slice,
    /// Packed stream row; of a delete it does not count.
    pub row: Slice,
    /// Where it stands.
    pub origin: Origin,
    /// Of [`Normalizer::locate`].
    pub located: Located,
    /// If state does not know its key, a row of it may have been sent all the same; it is taken back by its key.
    pub doubt: bool,
}

/// Hash of a key, and where its entry stood. Locating all keys of a batch before the first is processed lets
/// the processor fetch many entries at a time instead of waiting for each.
#[derive(Clone, Copy, Debug)]
pub struct Located {
    hash: u64,
    place: Option<Place>,
}

/// What happened to a key.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Packed primary key; empty for append-only sources.
    pub key: Slice,
    /// Its hash in the state.
    pub hash: u64,
    /// Where its entry stood.
    pub place: Option<Place>,
    /// The row from now on; `None` after a delete.
    pub after: Option<Slice>,
    /// The row before, where emission may need it: of deletes, and where it is not known what was sent.
    pub before: Option<Slice>,
    /// What was sent before does not count: the state had expired.
    pub fresh: bool,
    /// It is not known what was sent for the row before; a sink that needs old rows looks `before` up again.
    /// Without a `place`: nor is the key known, and `before` holds what it says.
    pub doubt: bool,
    /// The record that caused it.
    pub origin: Origin,
}

impl Change {
    /// A row of an append-only source: nothing went before, and nothing is kept.
    #[must_use]
    pub fn appended(row: Slice, origin: Origin) -> Self {
        Self {
            key: Slice::default(),
            hash: 0,
            place: None,
            after: Some(row),
            before: None,
            fresh: false,
            doubt: false,
            origin,
        }
    }

    /// State does not know the key, and a row of it may have been sent; `before` has the key alone.
    fn taken_back(key: Slice, hash: u64, before: Slice, origin: Origin) -> Self {
        Self { key, hash, place: None, after: None, before: Some(before), fresh: false, doubt: true, origin }
    }
}

/// Changes in order, with the bytes they point into.
#[derive(Debug, Default)]
pub struct Changes {
    /// Keys and rows.
    pub arena: Vec<u8>,
    /// The changes.
    pub list: Vec<Change>,
}

/// A record that cannot be processed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFault {
    /// Which record.
    pub origin: Origin,
    /// What is wrong with it.
    pub fault: RowFault,
}

/// ChangelogNormalize of one shard, with its state.
#[derive(Debug)]
pub struct Normalizer {
    state: Box<dyn KeyedState>,
    layout: RowLayout,
    key_layout: RowLayout,
    /// Positions of the key columns in the stream row.
    primary_key: Vec<usize>,
    key_filter: Option<Expression>,
    filter: Option<PackedFilter>,
    ttl: Option<Millis>,
    bundle: Option<Bundle>,
    partitions: PartitionTable,
    scratch: Bump,
    counters: NormalizeCounters,
}

impl Normalizer {
    /// A normalizer for the rows of `source` over an empty or restored state.
    #[must_use]
    pub fn new(
        plan: &NormalizePlan,
        source: &SourcePlan,
        state: Box<dyn KeyedState>,
        partitions: PartitionTable,
    ) -> Self {
        Self {
            partitions,
            state,
            layout: source.layout(),
            key_layout: source.key_layout(),
            primary_key: plan.primary_key.clone(),
            key_filter: plan.key_filter.clone(),
            filter: plan.filter.clone().map(|filter| PackedFilter::new(filter, source.layout())),
            ttl: plan.ttl.map(|ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)),
            bundle: plan.mini_batch.map(Bundle::new),
            scratch: Bump::new(),
            counters: NormalizeCounters::default(),
        }
    }

    /// Takes a record; what it changes is appended to `out`, now or when its bundle ends.
    ///
    /// # Errors
    /// The key is known from another partition, or a filter has no value for the row.
    pub fn push(&mut self, arrival: Arrival, now: Millis, out: &mut Changes) -> Result<(), RecordFault> {
        let here = |fault| RecordFault { origin: arrival.origin, fault };
        if !self.key_passes(arrival.key.of(&out.arena)).map_err(here)? {
            self.counters.key_filtered += 1;
            return Ok(());
        }
        let Some(bundle) = &mut self.bundle else { return self.apply(arrival, now, out).map_err(here) };
        let Arrival { incoming, key, row, origin, located, doubt } = arrival;
        let bundled = Bundled { incoming, hash: located.hash, key, row, origin, doubt };
        let before = bundle.rows.len();
        bundle
            .push(bundled, key.of(&out.arena), row.of(&out.arena), now)
            .map_err(|other| here(two_partitions(&self.partitions, other, origin)))?;
        self.counters.bundled += u64::from(bundle.rows.len() == before);
        if bundle.is_full() { self.flush(now, out) } else { Ok(()) }
    }

    /// Ends the bundle.
    ///
    /// # Errors
    /// As [`Normalizer::push`], for any record of the bundle.
    pub fn flush(&mut self, now: Millis, out: &mut Changes) -> Result<(), RecordFault> {
        let Some(mut bundle) = self.bundle.take() else { return Ok(()) };
        let mut result = Ok(());
        for row in &bundle.rows {
            let key = Slice::append(&mut out.arena, row.key.of(&bundle.arena));
            let bytes = Slice::append(&mut out.arena, row.row.of(&bundle.arena));
            let located = Located { hash: row.hash, place: None };
            let Bundled { incoming, origin, doubt, .. } = *row;
            let arrival = Arrival { incoming, key, row: bytes, origin, located, doubt };
            let here = |fault| RecordFault { origin, fault };
            result = self.apply(arrival, now, out).map_err(here);
            if result.is_err() {
                break;
            }
        }
        bundle.clear();
        self.bundle = Some(bundle);
        result
    }

    /// When the bundle must end.
    #[must_use]
    pub fn deadline(&self) -> Option<Millis> {
        self.bundle.as_ref().and_then(Bundle::deadline)
    }

    /// Hashes the packed keys of some rows and fetches their entries from memory, all of them together.
    pub fn locate<'a>(
        &self,
        keys: impl Iterator<Item = &'a [u8]>,
        located: &mut Vec<Located>,
        places: &mut Vec<Place>,
    ) {
        located.clear();
        located.extend(keys.map(|key| {
            let hash = self.state.hash(key);
            Located { hash, place: self.state.guess(hash) }
        }));
        places.clear();
        places.extend(located.iter().filter_map(|located| located.place));
        self.state.fetch(places);
    }

    fn apply(&mut self, arrival: Arrival, now: Millis, out: &mut Changes) -> Result<(), RowFault> {
        let Arrival { incoming, key, row, origin, located: Located { hash, place }, doubt } = arrival;
        let (found, known) =
            self.state.find_near(place, StateKey { hash, bytes: key.of(&out.arena) }).unzip();
        let expired = known.is_some_and(|entry| is_expired(self.ttl, entry.written, now));
        let previous = known.filter(|_| !expired).and_then(|entry| Some((entry, entry.row?)));
        if let Some((entry, _)) = previous
            && entry.partition != origin.partition
        {
            return Err(two_partitions(&self.partitions, entry.partition, origin));
        }
        let current = row.of(&out.arena);
        let (filter, scratch) = (self.filter.as_ref(), &mut self.scratch);
        let passes = || holds(filter, current, scratch);
        let decision = decide(incoming, previous.map(|(_, row)| row), current, self.ttl.is_some(), passes)?;
        let forgotten = doubt && found.is_none();
        let doubt = previous.is_some_and(|(entry, _)| entry.sent == SentMark::Unknown);
        let kept = match decision {
            Decision::Delete => previous.map(|(_, row)| row),
            Decision::Update if doubt => previous.map(|(_, row)| row),
            _ => None,
        };
        let before = kept.map(|row| Slice::append(&mut out.arena, row));
        let place = match decision {
            Decision::Suppress(_) if forgotten => {
                self.counters.deletes += 1;
                let before = self.key_alone(key, &mut out.arena);
                out.list.push(Change::taken_back(key, hash, before, origin));
                return Ok(());
            }
            Decision::Suppress(why) => {
                self.count_suppressed(why);
                return Ok(());
            }
            Decision::Insert | Decision::Update => {
                let new = NewRow { partition: origin.partition, row: row.of(&out.arena), now };
                let place = self.store(found, StateKey { hash, bytes: key.of(&out.arena) }, new);
                if forgotten {
                    self.state.mark(place, SentMark::Unknown);
                }
                Some(place)
            }
            Decision::Delete => {
                if let Some(place) = found {
                    self.state.clear_row(place, now);
                }
                found
            }
        };
        self.count(decision);
        let after = (decision != Decision::Delete).then_some(row);
        out.list.push(Change { key, hash, place, after, before, fresh: expired, doubt, origin });
        Ok(())
    }

    /// A stream row of which only the key is known: all that taking it back needs.
    fn key_alone(&self, key: Slice, arena: &mut Vec<u8>) -> Slice {
        let mut packed = Vec::new();
        let row = KeyColumns { layout: &self.key_layout, key: key.of(arena), positions: &self.primary_key };
        let values: Vec<Datum<'_>> = (0..self.layout.len()).map(|column| row.datum(column)).collect();
        self.layout.pack(&values, &mut packed);
        Slice::append(arena, &packed)
    }

    fn store(&mut self, found: Option<Place>, key: StateKey<'_>, row: NewRow<'_>) -> Place {
        match found {
            Some(place) => self.state.replace(place, row),
            None => self.state.insert(key, row),
        }
    }

    /// Takes a record below the committed offset: the state follows, nothing is emitted, and what was sent
    /// for the key is not known.
    ///
    /// # Errors
    /// As [`Normalizer::push`].
    pub fn rebuild(&mut self, arrival: Arrival, now: Millis, arena: &[u8]) -> Result<(), RecordFault> {
        let here = |fault| RecordFault { origin: arrival.origin, fault };
        self.apply_silently(arrival, now, arena).map_err(here)
    }

    fn apply_silently(&mut self, arrival: Arrival, now: Millis, arena: &[u8]) -> Result<(), RowFault> {
        let Arrival { incoming, key, row, origin, located, doubt: _ } = arrival;
        let current = row.of(arena);
        self.counters.rebuilt += 1;
        if !self.key_passes(key.of(arena))? {
            return Ok(());
        }
        let key = StateKey { hash: located.hash, bytes: key.of(arena) };
        let (found, known) = self.state.find_near(located.place, key).unzip();
        let previous = known.filter(|entry| !is_expired(self.ttl, entry.written, now));
        if let Some(entry) = previous
            && entry.row.is_some()
            && entry.partition != origin.partition
        {
            return Err(two_partitions(&self.partitions, entry.partition, origin));
        }
        let (filter, scratch) = (self.filter.as_ref(), &mut self.scratch);
        let passes = || holds(filter, current, scratch);
        let row = previous.and_then(|entry| entry.row);
        let decision = decide(incoming, row, current, self.ttl.is_some(), passes)?;
        match (decision, found) {
            (Decision::Insert | Decision::Update, _) => {
                let new = NewRow { partition: origin.partition, row: current, now };
                let place = self.store(found, key, new);
                self.state.mark(place, SentMark::Unknown);
            }
            (Decision::Delete, Some(place)) => self.state.remove(place),
            (Decision::Suppress(_) | Decision::Delete, _) => {}
        }
        Ok(())
    }

    /// Whether the key filter holds: over the key alone, so that it says the same of a delete as of the
    /// upserts before it.
    fn key_passes(&mut self, key: &[u8]) -> Result<bool, RowFault> {
        let Some(filter) = &self.key_filter else { return Ok(true) };
        self.scratch.reset();
        let row = KeyColumns { layout: &self.key_layout, key, positions: &self.primary_key };
        filter.holds(&row, &self.scratch).map_err(in_where)
    }

    /// Drops the state of these partitions, and what waits of them in the bundle.
    pub fn release(&mut self, partitions: &[PartitionId]) {
        if let Some(bundle) = &mut self.bundle {
            bundle.release(partitions);
        }
        self.state.drop_partitions(partitions);
    }

    /// Removes some expired state. `oldest` is when the oldest change that is not emitted yet was made:
    /// what such changes have written stays.
    pub fn sweep(&mut self, oldest: Millis) {
        if let Some(ttl) = self.ttl {
            self.state.sweep(oldest.saturating_sub(ttl).saturating_add(1));
        }
    }

    /// The state, for emission.
    pub fn state_mut(&mut self) -> &mut (dyn KeyedState + 'static) {
        &mut *self.state
    }

    /// The state, to look at.
    #[must_use]
    pub fn state(&self) -> &dyn KeyedState {
        &*self.state
    }

    /// How often each decision was taken.
    #[must_use]
    pub fn counters(&self) -> NormalizeCounters {
        self.counters
    }

    /// Size of the state.
    #[must_use]
    pub fn state_counts(&self) -> StateCounts {
        self.state.counts()
    }

    fn count(&mut self, decision: Decision) {
        match decision {
            Decision::Insert => self.counters.inserts += 1,
            Decision::Update => self.counters.updates += 1,
            Decision::Delete => self.counters.deletes += 1,
            Decision::Suppress(why) => self.count_suppressed(why),
        }
    }

    fn count_suppressed(&mut self, why: Suppressed) {
        match why {
            Suppressed::Equal => self.counters.equal += 1,
            Suppressed::UnknownDelete => self.counters.unknown_deletes += 1,
            Suppressed::Filtered => self.counters.filtered += 1,
        }
    }
}

/// Flink: `StateTtlConfig`, updated on creation and write, never returned when expired.
fn is_expired(ttl: Option<Millis>, written: Millis, now: Millis) -> bool {
    ttl.is_some_and(|ttl| written.saturating_add(ttl) <= now)
}

fn holds(filter: Option<&PackedFilter>, row: &[u8], scratch: &mut Bump) -> Result<bool, RowFault> {
    filter.map_or(Ok(true), |filter| filter.holds(row, scratch).map_err(in_where))
}

fn in_where(error: EvalError) -> RowFault {
    RowFault::new(error.reason, format!("where: {}", error.detail))
}

/// A stream row of which only the key is known.
struct KeyColumns<'a> {
    layout: &'a RowLayout,
    key: &'a [u8],
    positions: &'a [usize],
}

impl Columns for KeyColumns<'_> {
    fn datum(&self, index: usize) -> Datum<'_> {
        let column = self.positions.iter().position(|&at| at == index);
        column.map_or(Datum::Null, |column| self.layout.get(self.key, column))
    }
}

fn two_partitions(partitions: &PartitionTable, first: PartitionId, second: Origin) -> RowFault {
    let name = |id| partitions.name(id).map_or_else(|| format!("#{}", id.0), |name| name.to_string());
    let (first, second) = (name(first), name(second.partition));
    RowFault::new(Reason::KeyInTwoPartitions, format!("the key was seen in {first} and now in {second}")).remedy(
        "let the producer partition by the record key, with one partitioner and a fixed number of partitions",
    )
}

#[cfg(test)]
mod tests;
