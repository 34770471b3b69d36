//! The composition root: everything a plan needs is built here, in order, and ended here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::clock::{Clock, Millis};
use crate::db::{Access, Databases, Dimension, DimensionSpec, wait_for};
use crate::error::{Error, Kind, Result};
use crate::keygroup::KeyGroups;
use crate::model::{PartitionTable, ShardId};
use crate::pipeline::{self, Counters, Worker};
use crate::plan::{ColumnSource, Metadata, Plan, SourcePlan};
use crate::sink::{self, AckReceiver, Acks, Sink, SinkCounts};
use crate::source::{self, Source, Splitter};

use super::board::Board;
use super::driver::{Driver, Lane, Wires, settled};
use super::lookups::Lookups;
use super::routing::ByKey;
use super::shard::{CONTROL_QUEUE, Control, DATA_QUEUE, Data, Lines, Shard};
use super::shutdown::Shutdown;
use super::statements::Statements;

/// Longest wait for threads that were told to give up: the source leaves its group within a few
/// seconds, a shard may hang in a call of the system. What is left then ends with the process.
const GIVE_UP: Millis = 10_000;

/// How often the supervisor looks whether draining takes too long.
const WATCH: Duration = Duration::from_millis(100);

/// What a job needs besides its plan.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The time.
    pub clock: Clock,
    /// Runs statements of lookups and SQL sinks.
    pub runtime: tokio::runtime::Handle,
    /// Worker shards when the definition does not say.
    pub cores: u16,
    /// Longest time from the request to stop to the end.
    pub drain_timeout: Duration,
    /// The request to stop.
    pub shutdown: Shutdown,
}

/// A job that can be watched from before it runs until after it has ended.
#[derive(Debug)]
pub struct Job {
    plan: Arc<Plan>,
    environment: Environment,
    groups: KeyGroups,
    board: Arc<Board<Counters>>,
    statements: Arc<Statements>,
    sink_counts: Arc<SinkCounts>,
    /// How often all partitions were lost.
    losses: Arc<AtomicU64>,
}

/// How often the I/O runtime shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Runs on the I/O runtime for as long as the job does.
async fn beat(board: Arc<Board<Counters>>, clock: Clock) {
    loop {
        board.io.beat(clock.now());
        clock.sleep(HEARTBEAT).await;
    }
}

/// Ends of the queues of one shard.
struct Queues {
    data: (Sender<Data>, Receiver<Data>),
    control: (Sender<Control>, Receiver<Control>),
}

/// A thread that has ended, and how.
type Ended = (String, Result<()>);

impl Job {
    /// A job that has not begun.
    ///
    /// # Errors
    /// [`Kind::Definition`] for more shards than key groups.
    pub fn new(plan: Plan, environment: Environment) -> Result<Self> {
        let shards = plan.options.parallelism.unwrap_or(environment.cores.max(1));
        let groups = KeyGroups::new(shards, plan.options.max_parallelism)?;
        let statements = Statements::new(plan.lookups.len());
        let board = Arc::new(Board::new(groups));
        Ok(Self {
            plan: Arc::new(plan),
            environment,
            groups,
            board,
            statements: Arc::new(statements),
            sink_counts: Arc::default(),
            losses: Arc::default(),
        })
    }

    /// The plan that runs.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// What its threads put up.
    #[must_use]
    pub fn board(&self) -> &Arc<Board<Counters>> {
        &self.board
    }

    /// What its lookups sent.
    #[must_use]
    pub fn statements(&self) -> &Arc<Statements> {
        &self.statements
    }

    /// Whether it was asked to stop.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.environment.shutdown.is_requested()
    }

    /// What its sink counts.
    #[must_use]
    pub fn sink_counts(&self) -> &SinkCounts {
        &self.sink_counts
    }

    /// Key groups and shards.
    #[must_use]
    pub fn groups(&self) -> KeyGroups {
        self.groups
    }

    /// Runs until the input ends, a stop is asked for, or something fails.
    ///
    /// # Errors
    /// The first failure, with its kind.
    pub fn run(&self) -> Result<()> {
        let heart =
            self.environment.runtime.spawn(beat(Arc::clone(&self.board), self.environment.clock.clone()));
        let outcome = self.work();
        heart.abort();
        match outcome {
            // What was waited for when the stop was asked for no longer matters.
            Err(error) if error.kind() == Kind::Transient && self.environment.shutdown.is_requested() => {
                Ok(())
            }
            Err(error) => Err(settled(error)),
            Ok(()) => Ok(()),
        }
    }

    fn work(&self) -> Result<()> {
        self.plan.notes.iter().for_each(|note| tracing::info!("{note}"));
        let (acks, ack_receiver) = Acks::line(self.groups.parallelism());
        let databases = Databases::default();
        let dimensions = self.open_dimensions(&databases)?;
        let mut environment = self.sink_environment(acks, databases);
        let sink = Sink::open(&self.plan, &environment)?;
        let table = PartitionTable::default();
        let source = self.open_source(&table)?;
        // From here on a request to stop drains; only giving up ends waits at once.
        let abort = Arc::new(AtomicBool::new(false));
        environment.stop = Arc::clone(&abort);
        let splitter = self.splitter()?;
        let mut threads = Threads::new(usize::from(self.groups.parallelism()) + 1);
        self.board.begin(self.environment.clock.now());
        let queues: Vec<Queues> = (0..self.groups.parallelism()).map(|_| Queues::new()).collect();
        for (number, ends) in (0..).zip(&queues) {
            let view = self.board.shards().get(usize::from(number));
            environment.pulse = view.map(|view| Arc::clone(&view.pulse)).unwrap_or_default();
            let writer = sink.writer(ShardId(number), &environment)?;
            let lines = self.lines(ends, &queues, &dimensions, &abort);
            let work = Worker::new(&self.plan, ShardId(number), self.groups, table.clone())?;
            let shard = Shard::new(ShardId(number), work, writer, lines, Arc::clone(&self.board));
            threads.spawn(format!("shard-{number}"), move || shard.run());
        }
        let wires = self.wires(queues, ack_receiver, &abort, table);
        let failed = Arc::clone(&wires.failed);
        let driver = Driver::new(source, splitter, wires, Arc::clone(&self.board));
        threads.spawn("source".to_owned(), move || driver.run());
        let outcome = self.supervise(threads, &abort);
        outcome.and(failed.get().cloned().map_or(Ok(()), Err))
    }

    fn open_dimensions(&self, databases: &Databases) -> Result<Arc<[Dimension]>> {
        let Environment { clock, runtime, shutdown, .. } = &self.environment;
        let go_on = || !shutdown.is_requested();
        let mut dimensions = Vec::with_capacity(self.plan.lookups.len());
        for (at, lookup) in self.plan.lookups.iter().enumerate() {
            let spec = DimensionSpec::from(lookup);
            let mut access = Access::new(databases.clone(), clock.clone(), &self.plan.options.time_zone);
            let statements = Arc::clone(&self.statements);
            access.observer = Arc::new(move |report| statements.observe(at, report));
            let open = async || Dimension::open(&spec, access.clone()).await;
            let dimension = runtime.block_on(wait_for(clock, &go_on, open))?;
            dimension.notes().iter().for_each(|note| tracing::warn!("{note}"));
            dimensions.push(dimension);
        }
        Ok(dimensions.into())
    }

    fn sink_environment(&self, acks: Acks, databases: Databases) -> sink::Environment {
        sink::Environment {
            name: self.plan.name.clone(),
            shards: self.groups.parallelism(),
            acks,
            clock: self.environment.clock.clone(),
            runtime: self.environment.runtime.clone(),
            databases,
            counts: Arc::clone(&self.sink_counts),
            stop: self.environment.shutdown.flag(),
            losses: Arc::clone(&self.losses),
            pulse: Arc::default(),
        }
    }

    fn open_source(&self, table: &PartitionTable) -> Result<Source> {
        let environment = source::Environment {
            clock: self.environment.clock.clone(),
            table: table.clone(),
            instance: None,
            stop: self.environment.shutdown.flag(),
        };
        Source::open(&self.plan.source, environment)
    }

    fn lines(
        &self,
        ends: &Queues,
        queues: &[Queues],
        dimensions: &Arc<[Dimension]>,
        abort: &Arc<AtomicBool>,
    ) -> Lines {
        let lookups = Lookups {
            dimensions: Arc::clone(dimensions),
            runtime: self.environment.runtime.clone(),
            reply: ends.control.0.clone(),
            clock: self.environment.clock.clone(),
            statements: Arc::clone(&self.statements),
        };
        Lines {
            data: ends.data.1.clone(),
            control: ends.control.1.clone(),
            peers: queues.iter().map(|queues| queues.control.0.clone()).collect(),
            ask: Box::new(lookups),
            abort: Arc::clone(abort),
            clock: self.environment.clock.clone(),
        }
    }

    fn splitter(&self) -> Result<Splitter> {
        let router = pipeline::router(&self.plan, self.groups)?;
        let headers = reads_headers(&self.plan.source);
        Ok(Splitter::new(Box::new(ByKey(router)), self.groups.parallelism(), headers))
    }

    fn wires(
        &self,
        queues: Vec<Queues>,
        acks: AckReceiver,
        abort: &Arc<AtomicBool>,
        table: PartitionTable,
    ) -> Wires {
        let lane = |queues: Queues| Lane {
            data: queues.data.0,
            control: queues.control.0,
            pending: std::collections::VecDeque::new(),
        };
        Wires {
            lanes: queues.into_iter().map(lane).collect(),
            acks,
            shutdown: self.environment.shutdown.clone(),
            abort: Arc::clone(abort),
            losses: Arc::clone(&self.losses),
            failed: Arc::default(),
            clock: self.environment.clock.clone(),
            table,
            commit_interval: self.plan.options.commit_interval,
        }
    }

    /// Waits for every thread; the first failure makes the others give up, and so does a drain that lasts too long.
    fn supervise(&self, threads: Threads, abort: &AtomicBool) -> Result<()> {
        let mut outcome = Ok(());
        let mut give_up_at: Option<Millis> = None;
        let mut leave_at: Option<Millis> = None;
        let clock = &self.environment.clock;
        let mut running = threads.count;
        while 0 < running {
            if abort.load(Ordering::SeqCst)
                && *leave_at.get_or_insert_with(|| clock.now() + GIVE_UP) < clock.now()
            {
                tracing::warn!(threads = running, "some threads did not end in time");
                return outcome;
            }
            match threads.ended.1.recv_timeout(WATCH) {
                Ok((name, result)) => {
                    running -= 1;
                    if let Err(error) = result {
                        tracing::debug!(thread = name, %error, "a thread has failed");
                        abort.store(true, Ordering::SeqCst);
                        outcome = outcome.and(Err(error));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !self.environment.shutdown.is_requested() {
                continue;
            }
            let timeout = i64::try_from(self.environment.drain_timeout.as_millis()).unwrap_or(i64::MAX);
            let until = *give_up_at.get_or_insert_with(|| clock.now().saturating_add(timeout));
            if until <= clock.now() && !abort.swap(true, Ordering::SeqCst) {
                tracing::warn!("draining took too long: the newest rows will be processed again");
            }
        }
        threads.join();
        outcome
    }
}

impl Queues {
    fn new() -> Self {
        Self { data: bounded(DATA_QUEUE), control: bounded(CONTROL_QUEUE) }
    }
}

/// The threads of a job; each says how it ended, a panic included.
struct Threads {
    ended: (Sender<Ended>, Receiver<Ended>),
    handles: Vec<JoinHandle<()>>,
    /// Threads that will say how they ended, also those that could not be started.
    count: usize,
}

impl Threads {
    fn new(count: usize) -> Self {
        Self { ended: bounded(count), handles: Vec::new(), count: 0 }
    }

    fn spawn(&mut self, name: String, body: impl FnOnce() -> Result<()> + Send + 'static) {
        self.count += 1;
        let (ended, own) = (self.ended.0.clone(), name.clone());
        let run = move || {
            let result = catch_unwind(AssertUnwindSafe(body))
                .unwrap_or_else(|_| Err(Error::bug(format!("thread {own} panicked: see above"))));
            // Nobody listens only when the process is ending.
            let _ = ended.send((own, result));
        };
        match thread::Builder::new().name(name.clone()).spawn(run) {
            Ok(handle) => self.handles.push(handle),
            Err(error) => {
                let error = Error::bug(format!("starting thread {name}: {error}"));
                let _ = self.ended.0.send((name, Err(error)));
            }
        }
    }

    fn join(self) {
        for handle in self.handles {
            // A panic has been reported as the thread's result.
            let _ = handle.join();
        }
    }
}

/// Whether something reads the headers of records: they are copied only then.
fn reads_headers(source: &SourcePlan) -> bool {
    let is_headers = |metadata: &Metadata| matches!(metadata, Metadata::Headers | Metadata::HeaderList);
    source.columns.iter().any(|column| match &column.source {
        ColumnSource::Physical(_) => false,
        ColumnSource::Metadata(metadata) => is_headers(metadata),
        ColumnSource::Computed(expression) => {
            let metadata =
                |at: usize| at.checked_sub(source.physical.len()).and_then(|at| Metadata::ALL.get(at));
            expression.columns().into_iter().filter_map(metadata).any(is_headers)
        }
    })
}
