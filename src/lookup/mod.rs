//! Lookups: each stream row meets the rows of the dimension tables, in turn.
//!
//! A row first passes the condition on the stream side, then its key is built
//! and asked for: the cache answers, or a request under way, or the database.
//! Rows wait in their batch until the batch's last answer is there; several
//! batches wait at the same time. Then the answered rows pass the rest of the
//! condition, LEFT pads what has no match, and the batch goes to the next
//! lookup. Flink: `LookupJoinRunner`, with the cache of FLIP-221.
//!
//! With `lookup.enable_hash` a key is asked for at the shard that owns it, so
//! that each shard caches its own part of the table: keys travel, rows stay,
//! and so the order of a primary key is never at risk.
//!
//! Nothing here does I/O: questions leave as [`Outgoing`], answers come back
//! through [`Lookups::answered`] and [`Lookups::peer`].

mod batch;
mod cache;
mod counters;
mod exchange;
mod index;
mod key;
mod messages;
mod requests;
mod step;

pub use batch::{DimensionRef, JoinBatch};
pub use cache::Answer;
pub use counters::LookupCounters;
pub use messages::{
    Ask, AskedKey, DimensionRows, LookupAnswer, LookupKey, LookupQuery, Outcome, Outgoing, PeerLookup, Reply,
};

use std::collections::HashMap;
use std::sync::Arc;

use bumpalo::Bump;

use crate::clock::Millis;
use crate::error::{Result, RowFault};
use crate::expr::EvalError;
use crate::keygroup::KeyGroups;
use crate::model::{ShardId, Slice};
use crate::plan::{Encoding, JoinKind, JoinedLayout, JoinedRow, Plan};

use batch::{Answered, Asked, Row};
use exchange::{Gather, Served};
use index::Place;
use requests::Waiter;
use step::{Asking, Question, Step};

/// Rows whose cache entries are fetched from memory together. A fetch takes as long as a hundred
/// instructions or two, and a processor has ten to twenty of them under way at a time; what was fetched must
/// still be near when it is looked at.
const WINDOW: usize = 64;

/// What a row of the window asks for.
#[derive(Debug)]
enum Wanted {
    /// Nothing more: it makes no call.
    Asked(Asked),
    Key(WantedKey),
}

#[derive(Debug)]
struct WantedKey {
    bytes: Slice,
    hash: u64,
    /// Another shard has the key's entry.
    owner: Option<ShardId>,
    /// Where the cache has an entry of this hash.
    place: Option<Place>,
}

impl Wanted {
    fn key_mut(&mut self) -> Option<&mut WantedKey> {
        match self {
            Self::Key(key) if key.owner.is_none() => Some(key),
            Self::Key(_) | Self::Asked(_) => None,
        }
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::Key(key) => key.place,
            Self::Asked(_) => None,
        }
    }
}

/// An answer for a batch of this shard.
#[derive(Debug)]
pub struct Resolved {
    /// The batch.
    pub batch: u64,
    /// The answer's number in it.
    pub number: u32,
    /// The answer.
    pub outcome: Outcome,
}

/// All lookups of one shard.
#[derive(Debug)]
pub struct Lookups {
    shard: ShardId,
    layout: JoinedLayout,
    /// The sink is sent rows again that it was sent before.
    keeps: bool,
    steps: Vec<Step>,
    /// Questions to other shards: the batch, and the numbers of the answers in it.
    asked: HashMap<u64, (u64, Vec<u32>)>,
    served: Served,
    gather: Gather,
    outgoing: Vec<Outgoing>,
    /// Numbers batches, questions and statements.
    next: u64,
    scratch: Bump,
    /// Packed keys of a window of rows, and what each row wants.
    keys: Vec<u8>,
    window: Vec<Wanted>,
    rows: Vec<Row>,
    dimensions: Vec<DimensionRef>,
}

impl Lookups {
    /// The lookups of `plan` in shard `shard`, with empty caches.
    ///
    /// # Errors
    /// A constant key without a value, or a key type that cannot be hashed: [`crate::error::Kind::Definition`].
    pub fn new(plan: &Plan, shard: ShardId, groups: KeyGroups) -> Result<Self> {
        let layout = JoinedLayout::of(plan);
        let step = |lookup| Step::new(lookup, &layout, groups, plan.options.key_hash);
        Ok(Self {
            shard,
            steps: plan.lookups.iter().map(step).collect::<Result<_>>()?,
            layout,
            keeps: plan.sink.encoding != Encoding::UpsertBySourceKey,
            asked: HashMap::new(),
            served: Served::default(),
            gather: Gather::default(),
            outgoing: Vec::new(),
            next: 1,
            scratch: Bump::new(),
            keys: Vec::new(),
            window: Vec::new(),
            rows: Vec::new(),
            dimensions: Vec::new(),
        })
    }

    /// Number of lookups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// What the counters of each lookup say.
    #[must_use]
    pub fn counters(&self) -> Vec<LookupCounters> {
        self.steps.iter().map(Step::counters).collect()
    }

    /// Takes a fresh batch as far as it gets without waiting.
    pub fn start(&mut self, batch: &mut JoinBatch, arena: &[u8], now: Millis) {
        batch.keeps = self.keeps;
        if !batch.is_done() {
            self.ask(batch, arena, now);
            self.advance(batch, arena, now);
        }
    }

    /// Takes a batch further if all its answers are there.
    pub fn advance(&mut self, batch: &mut JoinBatch, arena: &[u8], now: Millis) {
        while !batch.is_waiting() && !batch.is_done() {
            self.join(batch, arena);
            if !batch.is_done() {
                self.ask(batch, arena, now);
            }
        }
    }

    /// Asks for the keys of all rows at the batch's current step, a window of rows at a time: their keys are
    /// built, then the cache entries of all of them are fetched from memory together, then they are looked at.
    fn ask(&mut self, batch: &mut JoinBatch, arena: &[u8], now: Millis) {
        let run = self.next;
        self.next += 1;
        let mut window = std::mem::take(&mut self.window);
        for first in (0..batch.len()).step_by(WINDOW) {
            let rows = first..batch.len().min(first + WINDOW);
            self.keys.clear();
            window.clear();
            window.extend(rows.clone().map(|at| self.wanted(batch, at, arena)));
            if let Some(step) = self.steps.get(batch.step) {
                for key in window.iter_mut().filter_map(Wanted::key_mut) {
                    key.place = step.place(key.hash);
                }
                step.fetch(window.iter().filter_map(Wanted::place));
            }
            for (at, wanted) in rows.zip(&window) {
                let asked = match wanted {
                    Wanted::Asked(asked) => *asked,
                    Wanted::Key(key) => self.ask_key(batch, key, (run, now)),
                };
                if let Some(row) = batch.rows.get_mut(at) {
                    row.asked = asked;
                }
            }
        }
        self.window = window;
        self.send_questions(batch);
    }

    /// Questions to other shards leave, one per owner.
    fn send_questions(&mut self, batch: &JoinBatch) {
        for mut group in self.gather.take() {
            let id = self.next;
            self.next += 1;
            (group.ask.lookup, group.ask.id) = (batch.step, id);
            self.asked.insert(id, (batch.id, group.numbers));
            self.outgoing.push(Outgoing::ToShard(group.owner, PeerLookup::Ask(group.ask)));
        }
    }

    fn wanted(&mut self, batch: &mut JoinBatch, at: usize, arena: &[u8]) -> Wanted {
        match self.key_of(batch, at, arena) {
            Ok(key) => key.map_or(Wanted::Asked(Asked::Nothing), Wanted::Key),
            Err(fault) => {
                batch.faults.push((batch.source(at).unwrap_or_default(), fault));
                Wanted::Asked(Asked::Faulty)
            }
        }
    }

    /// The key of a row; `None` if it makes no call.
    fn key_of(&mut self, batch: &JoinBatch, at: usize, arena: &[u8]) -> Result<Option<WantedKey>, RowFault> {
        let Some(step) = self.steps.get_mut(batch.step) else { return Ok(None) };
        if let (Some(plain), None, None) = (step.key.plain(), &step.pre_filter, &step.owner) {
            let start = self.keys.len();
            if !plain.copier.copy(batch.part(at, plain.part, arena), &mut self.keys) {
                step.counters.no_key += 1;
                return Ok(None);
            }
            let bytes = Slice::since(&self.keys, start);
            return Ok(Some(WantedKey {
                bytes,
                hash: step.hash(bytes.of(&self.keys)),
                owner: None,
                place: None,
            }));
        }
        self.scratch.reset();
        let parts = batch.parts(at, arena, &self.scratch);
        let row = JoinedRow { layout: &self.layout, parts };
        if !step.pre_filter_holds(&row, &self.scratch)? {
            step.counters.pre_filtered += 1;
            return Ok(None);
        }
        let Some(key) = step.key.build(&row, &self.scratch)? else {
            step.counters.no_key += 1;
            return Ok(None);
        };
        let start = self.keys.len();
        step.key.pack(key, &mut self.keys);
        let bytes = Slice::since(&self.keys, start);
        let owner = step.owner.as_mut().map(|owner| owner.shard(key)).filter(|owner| *owner != self.shard);
        Ok(Some(WantedKey { bytes, hash: step.hash(bytes.of(&self.keys)), owner, place: None }))
    }

    fn ask_key(&mut self, batch: &mut JoinBatch, wanted: &WantedKey, (run, now): (u64, Millis)) -> Asked {
        let Some(step) = self.steps.get_mut(batch.step) else { return Asked::Nothing };
        let key = wanted.bytes.of(&self.keys);
        let next = u32::try_from(batch.answers.len()).unwrap_or(u32::MAX);
        if let Some(owner) = wanted.owner {
            let number = self.gather.add(owner, key, next);
            if number == next {
                batch.add_waiting();
            }
            return Asked::Answer(number);
        }
        let waiter = Waiter::Batch { batch: batch.id, number: next };
        let question = Question { run, next, waiter, rows: 1, hash: wanted.hash, place: wanted.place };
        match step.ask(key, question, now) {
            Asking::Known(number) => return Asked::Answer(number),
            Asking::Hit(found) => batch.add_answer(&found),
            Asking::Waiting => batch.add_waiting(),
        }
        Asked::Answer(next)
    }

    /// Joins every row with its answer; the batch is then one step further.
    fn join(&mut self, batch: &mut JoinBatch, arena: &[u8]) {
        if self
            .steps
            .get(batch.step)
            .is_some_and(|step| step.residual.is_none() && batch.join_in_place(step.join == JoinKind::Left))
        {
            batch.step += 1;
            return;
        }
        self.rows.clear();
        self.dimensions.clear();
        for at in 0..batch.len() {
            if let Err((source, fault)) = self.join_row(batch, at, arena) {
                batch.faults.push((source, fault));
            }
        }
        std::mem::swap(&mut batch.rows, &mut self.rows);
        std::mem::swap(&mut batch.dimensions, &mut self.dimensions);
        batch.step += 1;
    }

    fn join_row(&mut self, batch: &JoinBatch, at: usize, arena: &[u8]) -> Result<(), (u32, RowFault)> {
        let (Some(step), Some(row)) = (self.steps.get(batch.step), batch.rows.get(at)) else { return Ok(()) };
        let source = row.source;
        let mut matched = false;
        let mut push = |dimension| {
            self.rows.push(Row { source, asked: Asked::Nothing });
            let start = self.dimensions.len();
            self.dimensions.extend_from_slice(batch.dimensions(at));
            self.dimensions.push(dimension);
            self.dimensions.resize(start + batch.steps, DimensionRef::PADDED);
        };
        match row.asked {
            Asked::Faulty => return Ok(()),
            Asked::Nothing => {}
            Asked::Answer(number) => match batch.answers.get(number as usize) {
                Some(Answered::Failed(fault)) => return Err((source, RowFault::clone(fault))),
                Some(&Answered::Rows { count, .. }) => {
                    for i in 0..count {
                        let dimension = batch.answer_row(number, i);
                        if step.residual.is_some() {
                            self.scratch.reset();
                            let before = batch.parts(at, arena, &self.scratch);
                            let parts = self.scratch.alloc_slice_fill_with(before.len() + 1, |part| {
                                before.get(part).copied().unwrap_or(dimension)
                            });
                            let joined = JoinedRow { layout: &self.layout, parts };
                            if !step.residual_holds(&joined, &self.scratch).map_err(|f| (source, f))? {
                                continue;
                            }
                        }
                        matched = true;
                        push(batch.reference(number, i));
                    }
                }
                Some(Answered::Waiting) | None => {}
            },
        }
        if !matched && step.join == JoinKind::Left {
            push(DimensionRef::PADDED);
        }
        Ok(())
    }

    /// Takes an answer of the database.
    pub fn answered(&mut self, answer: LookupAnswer, now: Millis, resolved: &mut Vec<Resolved>) {
        let Some(step) = self.steps.get_mut(answer.lookup) else { return };
        let Some(requests) = step.requests.answered(answer.id) else { return };
        for (outcome, waiters) in step.receive(requests, answer.rows, now) {
            for waiter in waiters {
                let outcome = outcome.clone();
                match waiter {
                    Waiter::Batch { batch, number } => resolved.push(Resolved { batch, number, outcome }),
                    Waiter::Peer { shard, ask, position } => {
                        let reply = self.served.resolve(shard, ask, position, outcome);
                        self.outgoing
                            .extend(reply.map(|reply| Outgoing::ToShard(shard, PeerLookup::Reply(reply))));
                    }
                }
            }
        }
    }

    /// Takes a message of another shard.
    pub fn peer(&mut self, from: ShardId, message: PeerLookup, now: Millis, resolved: &mut Vec<Resolved>) {
        match message {
            PeerLookup::Ask(ask) => self.serve(from, &ask, now),
            PeerLookup::Reply(reply) => {
                let Some((batch, numbers)) = self.asked.remove(&reply.id) else { return };
                let outcomes = numbers.into_iter().zip(reply.outcomes);
                resolved.extend(outcomes.map(|(number, outcome)| Resolved { batch, number, outcome }));
            }
        }
    }

    fn serve(&mut self, from: ShardId, ask: &Ask, now: Millis) {
        let Some(step) = self.steps.get_mut(ask.lookup) else { return };
        let run = self.next;
        self.next += 1;
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(ask.keys.len());
        for (position, asked) in (0_u32..).zip(&ask.keys) {
            let waiter = Waiter::Peer { shard: from, ask: ask.id, position };
            let key = asked.key.of(&ask.arena);
            let hash = step.hash(key);
            let question = Question { run, next: position, waiter, rows: asked.rows, hash, place: None };
            outcomes.push(match step.ask(key, question, now) {
                Asking::Hit(found) => Outcome::Rows(Arc::clone(found.answer)),
                Asking::Waiting => Outcome::Waiting,
                // Keys of one question are distinct, so no earlier one has this answer.
                Asking::Known(number) => outcomes.get(number as usize).cloned().unwrap_or(Outcome::Waiting),
            });
        }
        let reply = self.served.open(from, ask.id, outcomes);
        self.outgoing.extend(reply.map(|reply| Outgoing::ToShard(from, PeerLookup::Reply(reply))));
    }

    /// Sends the requests that may leave now, and hands out everything that wants to leave.
    pub fn outgoing(&mut self) -> std::vec::Drain<'_, Outgoing> {
        for (lookup, step) in self.steps.iter_mut().enumerate() {
            while let Some(query) = step.requests.next_query(lookup, self.next) {
                self.next += 1;
                step.counters.statements += 1;
                step.counters.keys += query.keys.len() as u64;
                self.outgoing.push(Outgoing::Query(query));
            }
        }
        self.outgoing.drain(..)
    }
}

fn fault_in(table: &str, error: EvalError) -> RowFault {
    RowFault::new(error.reason, format!("condition of the lookup in table {table}: {}", error.detail))
}
