//! The data path without Kafka, database and threads: for tests and for
//! `lookaside test`.
//!
//! Workers run in this thread, one event at a time, on a clock that moves by
//! hand. Dimension tables are in memory. Events that could happen in any order
//! in production (answers of the database, messages between shards) happen in
//! the order in which they were caused, or, with [`Order::Seeded`], in a random
//! order that the seed repeats.

mod feed;
mod table;

pub use feed::Fed;
pub use table::MemoryTable;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::clock::{Clock, Millis};
use crate::error::{Error, Result};
use crate::keygroup::KeyGroups;
use crate::model::{
    Epoch, OutputBatch, PartitionId, PartitionTable, Payload, RecordBatch, RowKind, ShardId, Value,
};
use crate::plan::{Plan, SinkConnector};
use crate::route::Router;

use super::{Counters, Effect, Input, LookupAnswer, LookupQuery, PeerMessage, RowBatch, Worker, router};

/// Flink's JDBC lookup waits this long times the number of the retry before it, so the first comes at once.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How a plan is run.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Worker shards.
    pub shards: u16,
    /// Records that are read together.
    pub batch: usize,
    /// Time at the start.
    pub start: Millis,
    /// Order of events.
    pub order: Order,
}

impl Default for Setting {
    fn default() -> Self {
        Self { shards: 1, batch: 1, start: 0, order: Order::AsCaused }
    }
}

/// Order of events that are not caused by each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they were caused.
    AsCaused,
    /// Any, chosen by this seed; records are read while lookups are under way.
    Seeded(u64),
    /// Statements are answered by [`Driver::answer`] alone; everything else as caused.
    ByHand,
}

/// A statement that waits for its answer.
#[derive(Debug)]
struct Statement {
    shard: ShardId,
    query: LookupQuery,
    tries: u32,
    due: Millis,
}

/// A row with its kind, as a sink gets it.
pub type ChangelogRow = (RowKind, Vec<Value>);

/// Runs a plan.
#[derive(Debug)]
pub struct Driver {
    plan: Plan,
    setting: Setting,
    clock: Clock,
    partitions: PartitionTable,
    workers: Vec<Worker>,
    router: Router,
    /// Positions of the primary key in the stream row.
    primary_key: Vec<usize>,
    tables: HashMap<String, MemoryTable>,
    statements: VecDeque<Statement>,
    /// One queue per pair of shards: their order is kept.
    messages: Vec<VecDeque<(ShardId, ShardId, PeerMessage)>>,
    fed: Vec<RowBatch>,
    records: Vec<RecordBatch>,
    fed_count: usize,
    offsets: HashMap<PartitionId, i64>,
    outputs: Vec<OutputBatch>,
    passed: HashMap<Epoch, u16>,
    epoch: Epoch,
    random: u64,
}

impl Driver {
    /// A driver with empty dimension tables. Kafka sinks get encoded records, others packed rows.
    ///
    /// # Errors
    /// A plan that cannot be built, or fewer key groups than shards.
    pub fn new(plan: Plan, setting: Setting) -> Result<Self> {
        let groups = KeyGroups::new(setting.shards, plan.options.max_parallelism)?;
        let partitions = PartitionTable::default();
        let shards = 0..setting.shards;
        let worker = |shard| match &plan.sink.connector {
            SinkConnector::UpsertKafka(_) => Worker::new(&plan, ShardId(shard), groups, partitions.clone()),
            _ => Worker::packing(&plan, ShardId(shard), groups, partitions.clone()),
        };
        let workers = shards.map(worker).collect::<Result<Vec<_>>>()?;
        let primary_key = plan.normalize.as_ref().map(|normalize| normalize.primary_key.clone());
        let tables = plan.lookups.iter().map(|lookup| (lookup.table.clone(), MemoryTable::default()));
        let pairs = usize::from(setting.shards) * usize::from(setting.shards);
        Ok(Self {
            clock: Clock::manual(setting.start),
            partitions,
            router: router(&plan, groups)?,
            primary_key: primary_key.unwrap_or_default(),
            tables: tables.collect(),
            statements: VecDeque::new(),
            messages: (0..pairs).map(|_| VecDeque::new()).collect(),
            fed: workers.iter().map(|_| RowBatch::default()).collect(),
            records: workers.iter().map(|_| RecordBatch::default()).collect(),
            fed_count: 0,
            offsets: HashMap::new(),
            outputs: Vec::new(),
            passed: HashMap::new(),
            epoch: Epoch(0),
            random: match setting.order {
                Order::Seeded(seed) => seed | 1,
                _ => 1,
            },
            workers,
            plan,
            setting,
        })
    }

    /// Puts a dimension table in place.
    pub fn set_table(&mut self, name: &str, table: MemoryTable) {
        self.tables.insert(name.to_owned(), table);
    }

    /// A dimension table of the plan.
    pub fn table_mut(&mut self, name: &str) -> Option<&mut MemoryTable> {
        self.tables.get_mut(name)
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    fn give(&mut self, shard: usize, input: Input) -> Result<()> {
        let mut effects = Vec::new();
        let result = match self.workers.get_mut(shard) {
            Some(worker) => worker.handle(input, self.clock.now(), &mut effects),
            None => Ok(()),
        };
        let from = ShardId(u16::try_from(shard).unwrap_or(u16::MAX));
        for effect in effects {
            match effect {
                Effect::Query(query) => {
                    let due = self.clock.now();
                    self.statements.push_back(Statement { shard: from, query, tries: 0, due });
                }
                Effect::ToShard(to, message) => {
                    let pair = usize::from(from.0) * self.workers.len() + usize::from(to.0);
                    if let Some(queue) = self.messages.get_mut(pair) {
                        queue.push_back((from, to, message));
                    }
                }
                Effect::Output(batch) => self.outputs.push(batch),
                Effect::Passed(epoch) => *self.passed.entry(epoch).or_insert(0) += 1,
            }
        }
        result
    }

    /// Lets one thing happen; false if nothing can.
    fn one_event(&mut self) -> Result<bool> {
        let pairs: Vec<usize> = (0..self.messages.len()).filter(|&i| !self.messages[i].is_empty()).collect();
        let now = self.clock.now();
        let due: Vec<usize> = match self.setting.order {
            Order::ByHand => Vec::new(),
            _ => (0..self.statements.len()).filter(|&i| self.statements[i].due <= now).collect(),
        };
        let choices = pairs.len() + due.len();
        if choices == 0 {
            return Ok(false);
        }
        let choice = match self.setting.order {
            Order::Seeded(_) => self.next_random(choices as u64) as usize,
            _ => 0,
        };
        match pairs.get(choice) {
            Some(&pair) => {
                if let Some((from, to, message)) = self.messages[pair].pop_front() {
                    self.give(usize::from(to.0), Input::Peer(from, message))?;
                }
            }
            None => self.run_statement(due[choice - pairs.len()])?,
        }
        Ok(true)
    }

    /// Runs one try of a statement.
    fn run_statement(&mut self, at: usize) -> Result<()> {
        let Some(mut statement) = self.statements.remove(at) else { return Ok(()) };
        let Some(plan) = self.plan.lookups.get(statement.query.lookup) else { return Ok(()) };
        let table = self.tables.entry(plan.table.clone()).or_default();
        let rows = table.query(plan, &statement.query.keys);
        if rows.is_err() && statement.tries < plan.max_retries {
            let pause = RETRY_PAUSE * statement.tries;
            statement.tries += 1;
            statement.due = self.clock.now() + i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
            self.statements.insert(at.min(self.statements.len()), statement);
            return Ok(());
        }
        let LookupQuery { lookup, id, .. } = statement.query;
        self.give(usize::from(statement.shard.0), Input::Answer(LookupAnswer { lookup, id, rows }))
    }

    /// Number of statements that wait for an answer.
    #[must_use]
    pub fn waiting_statements(&self) -> usize {
        self.statements.len()
    }

    /// Answers the statement at this position of the line ([`Order::ByHand`]).
    ///
    /// # Errors
    /// As [`Driver::settle`].
    pub fn answer(&mut self, at: usize) -> Result<()> {
        self.run_statement(at)?;
        self.settle()
    }

    /// Reads everything that was fed and lets everything happen that can without the clock moving.
    ///
    /// # Errors
    /// A record that cannot be processed: [`crate::error::Kind::Data`].
    pub fn settle(&mut self) -> Result<()> {
        self.hand_over()?;
        while self.one_event()? {}
        Ok(())
    }

    /// Moves the clock, in steps that let every deadline and retry happen at its time.
    ///
    /// # Errors
    /// As [`Driver::settle`].
    pub fn advance(&mut self, by: Duration) -> Result<()> {
        self.settle()?;
        let end = self.clock.now().saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
        loop {
            let now = self.clock.now();
            let deadlines = self.workers.iter().filter_map(Worker::deadline);
            let retries = self.statements.iter().map(|statement| statement.due).filter(|&due| now < due);
            let next = deadlines.chain(retries).min().filter(|&next| next < end).unwrap_or(end).max(now);
            self.clock.advance(Duration::from_millis(u64::try_from(next - now).unwrap_or(0)));
            for shard in 0..self.workers.len() {
                self.give(shard, Input::Tick)?;
            }
            self.settle()?;
            if end <= next {
                return Ok(());
            }
        }
    }

    /// Ends an epoch in all shards; false if rows of it still wait for the clock to move or for an answer.
    ///
    /// # Errors
    /// As [`Driver::settle`].
    pub fn barrier(&mut self) -> Result<bool> {
        self.hand_over()?;
        self.epoch = Epoch(self.epoch.0 + 1);
        for shard in 0..self.workers.len() {
            self.give(shard, Input::Barrier(self.epoch))?;
        }
        self.settle()?;
        Ok(self.has_passed(self.epoch))
    }

    /// Whether every shard has passed an epoch.
    #[must_use]
    pub fn has_passed(&self, epoch: Epoch) -> bool {
        self.passed.get(&epoch).is_some_and(|&shards| shards == self.setting.shards)
    }

    /// Whether every shard has passed the newest epoch.
    #[must_use]
    pub fn has_passed_newest(&self) -> bool {
        self.has_passed(self.epoch)
    }

    /// Takes partitions away.
    ///
    /// # Errors
    /// As [`Driver::settle`].
    pub fn release(&mut self, partitions: &[i32]) -> Result<()> {
        self.hand_over()?;
        let partitions: Vec<PartitionId> = partitions.iter().map(|&p| self.partition(p)).collect();
        for shard in 0..self.workers.len() {
            self.give(shard, Input::Release(partitions.clone()))?;
        }
        Ok(())
    }

    /// What went to the sink since the last call.
    pub fn take_output(&mut self) -> Vec<OutputBatch> {
        std::mem::take(&mut self.outputs)
    }

    /// The same as typed rows.
    ///
    /// # Errors
    /// [`crate::error::Kind::Bug`] if the workers do not write rows.
    pub fn take_changelog(&mut self) -> Result<Vec<ChangelogRow>> {
        let layout = self.plan.project.layout();
        let mut changelog = Vec::new();
        for batch in self.take_output() {
            let Payload::Rows(rows) = &batch.payload else {
                return Err(Error::bug("the driver was set up for encoded output"));
            };
            for row in rows {
                let bytes = row.row.of(&batch.arena);
                let values = (0..layout.len()).map(|i| Value::from(layout.get(bytes, i))).collect();
                changelog.push((row.kind, values));
            }
        }
        Ok(changelog)
    }

    /// Counters of each shard.
    #[must_use]
    pub fn counters(&self) -> Vec<Counters> {
        self.workers.iter().map(Worker::counters).collect()
    }

    fn next_random(&mut self, below: u64) -> u64 {
        // Marsaglia's xorshift: any seed will do, and the run can be repeated.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below.max(1)
    }
}
