//! Where rows go: one writer per shard, all of one sink.
//!
//! A [`Writer`] takes batches in order and, at every barrier, is told that the
//! epoch is over. It answers through its [`Acks`] once everything up to there
//! is durable: at once (print, blackhole), when the last delivery report is in
//! (upsert-kafka), or when the transaction is committed (mysql). That answer
//! is what an offset waits for before it is committed.

mod acks;
mod blackhole;
mod buffered;
mod counts;
mod kafka;
mod mysql;
mod print;
mod reduce;
mod rounds;

pub use acks::{Ack, AckReceiver, Acks};
pub use counts::{SinkCounts, SinkTotals};
pub use kafka::KafkaTopicSink;
pub use mysql::{MysqlSinkSpec, MysqlTableSink};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{Clock, Millis, Stopwatch};
use crate::db::Databases;
use crate::error::Result;
use crate::model::{Epoch, OutputBatch, ShardId};
use crate::plan::{Plan, SinkConnector};
use crate::telemetry::Pulse;

/// One shard's end of a sink. It lives on the shard's thread, which its methods may block for
/// as long as [`Environment::stopped`] does not tell to give up.
pub trait Writer: Send {
    /// Takes rows, in order.
    ///
    /// # Errors
    /// The sink refuses, or stays unreachable after its own retries.
    fn write(&mut self, batch: OutputBatch) -> Result<()>;

    /// Everything of `epoch` was written: make it durable and say so through the [`Acks`], now or later. A writer that
    /// has left rows out, because the process stops, says nothing from then on.
    ///
    /// # Errors
    /// As [`Writer::write`].
    fn end_epoch(&mut self, epoch: Epoch) -> Result<()>;

    /// The shard has dropped what it had of the partitions that were lost the last of so many times
    /// ([`Environment::losses`]): rows from here on are its own to write.
    fn heard(&mut self, _losses: u64) {}

    /// When [`Writer::tick`] is due, if rows wait for the clock.
    fn deadline(&self) -> Option<Millis> {
        None
    }

    /// The deadline has come.
    ///
    /// # Errors
    /// As [`Writer::write`].
    fn tick(&mut self, _now: Millis) -> Result<()> {
        Ok(())
    }
}

/// What a sink needs besides its plan. Cheap to clone.
#[derive(Clone)]
pub struct Environment {
    /// Application id: client ids.
    pub name: String,
    /// Number of writers that will be asked for.
    pub shards: u16,
    /// Where durable epochs and failures are announced.
    pub acks: Acks,
    /// What the sink counts.
    pub counts: Arc<SinkCounts>,
    /// The time.
    pub clock: Clock,
    /// Runs what is asynchronous (SQL sinks).
    pub runtime: tokio::runtime::Handle,
    /// The databases of the process, shared with lookups.
    pub databases: Databases,
    /// Set when the process gives up waiting for anything.
    pub stop: Arc<AtomicBool>,
    /// How often all partitions were lost. Rows of shards that have not heard of the last time are other replicas' to
    /// write: they are left out, and count as written.
    pub losses: Arc<AtomicU64>,
    /// Of the thread that uses this environment.
    pub pulse: Arc<Pulse>,
}

impl Environment {
    /// Whether to give up waiting for the sink: the process stops, what is not durable is not committed.
    /// To be asked in every wait; asking shows that the thread lives.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.pulse.beat(self.clock.now());
        self.given_up()
    }

    /// The same, asked by another thread than the one that the pulse is of.
    pub(crate) fn given_up(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The number of losses so far.
    pub(crate) fn losses(&self) -> u64 {
        self.losses.load(Ordering::SeqCst)
    }

    /// Waits for the sink for `time`, and counts it.
    pub(crate) fn wait(&self, time: Duration) {
        let watch = Stopwatch::start();
        self.clock.sleep_blocking(time);
        self.pulse.wait(watch.elapsed());
    }
}

/// A sink, open for all shards of the process.
pub enum Sink {
    /// Standard output or standard error.
    Print {
        /// `standard-error`.
        standard_error: bool,
        /// Bytes that stand before each row: `print-identifier`.
        prefix: usize,
    },
    /// Nowhere.
    Blackhole,
    /// A Kafka topic.
    Kafka(KafkaTopicSink),
    /// A MySQL table.
    Mysql(MysqlTableSink),
}

impl Sink {
    /// Opens the sink: connects, checks that the topic or table is there.
    /// A system that cannot be reached is waited for until the process stops.
    ///
    /// # Errors
    /// A system that refuses, or has no such topic or table.
    pub fn open(plan: &Plan, environment: &Environment) -> Result<Self> {
        match &plan.sink.connector {
            SinkConnector::Print { standard_error, identifier } => {
                let prefix = if identifier.is_empty() { 0 } else { identifier.len() + "> ".len() };
                Ok(Self::Print { standard_error: *standard_error, prefix })
            }
            SinkConnector::Blackhole => Ok(Self::Blackhole),
            SinkConnector::UpsertKafka(kafka) => {
                Ok(Self::Kafka(KafkaTopicSink::open(&plan.sink.table, kafka, environment)?))
            }
            SinkConnector::Mysql(sink) => {
                Ok(Self::Mysql(MysqlTableSink::open(&MysqlSinkSpec::new(plan, sink), environment)?))
            }
        }
    }

    /// The writer of one shard.
    ///
    /// # Errors
    /// A shard that the environment did not announce (a bug).
    pub fn writer(&self, shard: ShardId, environment: &Environment) -> Result<Box<dyn Writer>> {
        Ok(match self {
            Self::Print { standard_error, prefix } => {
                Box::new(print::Print::new(*standard_error, *prefix, shard, environment.acks.clone()))
            }
            Self::Blackhole => Box::new(blackhole::Blackhole::new(shard, environment.acks.clone())),
            Self::Kafka(sink) => sink.writer(shard, environment)?,
            Self::Mysql(sink) => sink.writer(shard, environment),
        })
    }
}
