//! From a plan to threads: everything that is opened, checked and wired up before the first record.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::clock::{Clock, Millis};
use crate::db::{Access, Databases, DimensionSpec, MysqlDimension};
use crate::error::{Error, Kind, Result, RowFault};
use crate::keygroup::KeyGroups;
use crate::model::{PartitionId, PartitionTable, ShardId, Slice};
use crate::pipeline::{self, Counters, Worker};
use crate::plan::{ColumnSource, Metadata, Plan, SourcePlan};
use crate::route::Router;
use crate::sink::{self, AckReceiver, Acks, Sink};
use crate::source::{self, Route, Source, Splitter};

use super::driver::{Driver, Lane, Wires};
use super::lookups::Lookups;
use super::shard::{CONTROL_QUEUE, Control, DATA_QUEUE, Data, Lines, Shard};
use super::{Handle, Settings, Shutdown, shards_of};

/// I/O threads: they wait for the database and decode its rows, which one or two keep up with.
const IO_THREADS: usize = 2;

/// Between two tries to open a database that is not there.
const OPEN_AGAIN: Duration = Duration::from_secs(1);

/// One line in the log per this time while a database is waited for.
const SAY_AGAIN: Millis = 10_000;

/// A job, ready to be started.
pub(super) struct Job {
    pub driver: Driver<Counters>,
    pub shards: Vec<Shard<Worker>>,
    /// Kept open until all threads have ended.
    pub sink: Sink,
    pub runtime: tokio::runtime::Runtime,
}

/// What the parts of a job share.
struct Parts<'a> {
    plan: &'a Plan,
    settings: &'a Settings,
    shutdown: &'a Shutdown,
    handle: &'a Handle,
    abort: Arc<AtomicBool>,
    groups: KeyGroups,
    table: PartitionTable,
    clock: Clock,
}

/// Opens everything. Systems that cannot be reached are waited for until a stop is asked for.
///
/// # Errors
/// A system that refuses or is not as declared; `Kind::Transient` when a stop ended the wait.
pub(super) fn assemble(
    plan: &Plan,
    settings: &Settings,
    shutdown: &Shutdown,
    handle: &Handle,
    abort: Arc<AtomicBool>,
) -> Result<Job> {
    let shards = shards_of(plan);
    let parts = Parts {
        plan,
        settings,
        shutdown,
        handle,
        abort,
        groups: KeyGroups::new(shards, plan.options.max_parallelism)?,
        table: PartitionTable::default(),
        clock: Clock::system(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(IO_THREADS)
        .thread_name("io")
        .enable_all()
        .build()
        .map_err(|error| Error::bug(format!("starting I/O threads: {error}")))?;
    let databases = Databases::default();
    let dimensions = parts.open_dimensions(&runtime, &databases)?;
    let (acks, answers) = Acks::line(shards);
    let environment = sink::Environment {
        name: plan.name.clone(),
        shards,
        acks,
        clock: parts.clock.clone(),
        runtime: runtime.handle().clone(),
        databases,
        stop: shutdown.flag(),
        pulse: Arc::default(),
    };
    let sink = Sink::open(plan, &environment)?;
    let (lanes, lines) = parts.wire(&dimensions, &runtime);
    let mut threads = Vec::with_capacity(lines.len());
    for (number, lines) in (0..).zip(lines) {
        threads.push(parts.shard(ShardId(number), lines, &sink, &environment)?);
    }
    let driver = parts.driver(lanes, answers)?;
    Ok(Job { driver, shards: threads, sink, runtime })
}

impl Parts<'_> {
    fn open_dimensions(
        &self,
        runtime: &tokio::runtime::Runtime,
        databases: &Databases,
    ) -> Result<Arc<[MysqlDimension]>> {
        let mut opened = Vec::with_capacity(self.plan.lookups.len());
        for (number, lookup) in self.plan.lookups.iter().enumerate() {
            let mut access = Access::new(databases.clone(), self.clock.clone(), &self.plan.options.time_zone);
            access.observer = self.handle.observer(number);
            let spec = DimensionSpec::from(lookup);
            let dimension = self.wait(|| runtime.block_on(MysqlDimension::open(&spec, access.clone())))?;
            for note in dimension.notes() {
                tracing::warn!("{note}");
            }
            opened.push(dimension);
        }
        Ok(opened.into())
    }

    /// Tries until it works, refuses, or a stop is asked for.
    fn wait<T>(&self, mut open: impl FnMut() -> Result<T>) -> Result<T> {
        let mut said: Option<Millis> = None;
        loop {
            match open() {
                Err(error) if error.kind() == Kind::Transient && !self.shutdown.is_requested() => {
                    let now = self.clock.now();
                    if said.is_none_or(|said| SAY_AGAIN <= now - said) {
                        tracing::warn!("{error}; trying again");
                        said = Some(now);
                    }
                    self.clock.sleep_blocking(OPEN_AGAIN);
                }
                other => return other,
            }
        }
    }

    fn wire(
        &self,
        dimensions: &Arc<[MysqlDimension]>,
        runtime: &tokio::runtime::Runtime,
    ) -> (Vec<Lane>, Vec<Lines>) {
        let queues: Vec<(Queue<Data>, Queue<Control>)> =
            (0..self.groups.parallelism()).map(|_| (bounded(DATA_QUEUE), bounded(CONTROL_QUEUE))).collect();
        let peers: Vec<_> = queues.iter().map(|(_, (control, _))| control.clone()).collect();
        let line = |(data, control): (Queue<Data>, Queue<Control>)| {
            let lane = Lane { data: data.0, control: control.0.clone(), pending: VecDeque::new() };
            let ask = Lookups {
                dimensions: Arc::clone(dimensions),
                runtime: runtime.handle().clone(),
                reply: control.0,
                clock: self.clock.clone(),
            };
            let lines = Lines {
                data: data.1,
                control: control.1,
                peers: peers.clone(),
                ask: Box::new(ask),
                abort: Arc::clone(&self.abort),
                clock: self.clock.clone(),
            };
            (lane, lines)
        };
        queues.into_iter().map(line).unzip()
    }

    fn shard(
        &self,
        shard: ShardId,
        lines: Lines,
        sink: &Sink,
        environment: &sink::Environment,
    ) -> Result<Shard<Worker>> {
        let worker = Worker::new(self.plan, shard, self.groups, self.table.clone())?;
        let view = self.handle.board.shards().get(usize::from(shard.0));
        let environment = sink::Environment {
            stop: Arc::clone(&self.abort),
            pulse: view.map(|view| Arc::clone(&view.pulse)).unwrap_or_default(),
            ..environment.clone()
        };
        let writer = sink.writer(shard, &environment)?;
        Ok(Shard::new(shard, worker, writer, lines, Arc::clone(&self.handle.board)))
    }

    fn driver(&self, lanes: Vec<Lane>, acks: AckReceiver) -> Result<Driver<Counters>> {
        let environment = source::Environment {
            clock: self.clock.clone(),
            table: self.table.clone(),
            instance: self.settings.instance.clone(),
            stop: self.shutdown.flag(),
        };
        let source = Source::open(&self.plan.source, environment)?;
        let router = ByKey(pipeline::router(self.plan, self.groups)?);
        let shards = self.groups.parallelism();
        let splitter = Splitter::new(Box::new(router), shards, reads_headers(&self.plan.source));
        let wires = Wires {
            lanes,
            acks,
            shutdown: self.shutdown.clone(),
            abort: Arc::clone(&self.abort),
            clock: self.clock.clone(),
            table: self.table.clone(),
            commit_interval: self.plan.options.commit_interval,
        };
        Ok(Driver::new(source, splitter, wires, Arc::clone(&self.handle.board)))
    }
}

type Queue<T> = (Sender<T>, Receiver<T>);

/// The router of the data path, as the source needs it.
struct ByKey(Router);

impl Route for ByKey {
    fn route(
        &mut self,
        partition: PartitionId,
        key: Option<&[u8]>,
        arena: &mut Vec<u8>,
    ) -> Result<(ShardId, Slice), RowFault> {
        self.0.route(partition, key, arena).map(|routed| (routed.shard, routed.key))
    }
}

/// Whether a column of the stream row needs the records' headers.
fn reads_headers(source: &SourcePlan) -> bool {
    let wanted = [Metadata::Headers, Metadata::HeaderList];
    source.columns.iter().any(|column| match &column.source {
        ColumnSource::Physical(_) => false,
        ColumnSource::Metadata(metadata) => wanted.contains(metadata),
        ColumnSource::Computed(expression) => expression.columns().into_iter().any(|at| {
            let metadata = at.checked_sub(source.physical.len()).and_then(|at| Metadata::ALL.get(at));
            metadata.is_some_and(|metadata| wanted.contains(metadata))
        }),
    })
}
