//! Runs a case through the real path: decode, normalize, lookup, project, encode,
//! in memory, on a clock that stands still.

use std::collections::HashMap;
use std::time::Duration;

use crate::config::{Fault, Node, References, Span, Text, load, load_inline};
use crate::error::Error;
use crate::pipeline::driver::{Driver, Order, Setting};
use crate::plan::{Plan, compile};

use super::case::{Action, Case, CaseDefinition, Counts, Expected, ExpectedError, Step};
use super::compare::compare;
use super::output::{Reader, Row};
use super::records::Feed;
use super::tables::Tables;

/// Time at the start of a case: 2024-01-01 00:00:00Z, so that dates in messages look like dates.
const START: i64 = 1_704_067_200_000;

/// How often time moves on when a step waits for retries: a retry pauses for whole seconds.
const WAIT_STEP: Duration = Duration::from_secs(1);
/// A step that still waits after this many moves waits for ever: retries are bounded far below.
const WAIT_STEPS_MAX: u32 = 3_600;

/// Shards and batch size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Worker shards.
    pub shards: u16,
    /// Records that are read together.
    pub batch: usize,
    /// The job is cut after every record and starts anew: its state is rebuilt from the topic.
    pub restarts: bool,
}

impl Shape {
    /// One shard and one record at a time: the shape in which lookups are counted.
    pub const PLAIN: Self = Self { shards: 1, batch: 1, restarts: false };
}

/// A step whose expectation was not met.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Position among the steps, from 1.
    pub step: usize,
    /// Where it stands and what differs.
    pub fault: Fault,
    /// What would meet it, for `--update`; `None` if no rewriting helps.
    pub replacement: Option<Replacement>,
}

/// What meets an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// Rows, one a line.
    Rows(Vec<String>),
    /// A map in one line.
    Inline(String),
}

/// A case that can be run.
#[derive(Debug)]
pub struct Job {
    /// The plan of its definition.
    pub plan: Plan,
    /// Its dimension tables.
    pub tables: Tables,
}

/// Compiles the definition of a case.
///
/// # Errors
/// Every fault of the definition.
pub fn prepare(case: &Case, references: &References<'_>) -> Result<Job, Vec<Fault>> {
    let definition = match &case.definition {
        CaseDefinition::File(path) => load(&path.as_path().into(), references)?,
        CaseDefinition::Inline(root) => load_inline(root, &[], "case", references)?,
    };
    let plan = compile(&definition)?;
    let tables = Tables::new(&definition, &plan);
    Ok(Job { plan, tables })
}

/// Runs a case; no failure means that every expectation was met.
///
/// # Errors
/// Faults of the case itself: unknown tables, values that do not fit their columns.
pub fn run(case: &Case, shape: Shape) -> Result<Vec<Failure>, Vec<Fault>> {
    let job = prepare(case, &References::offline())?;
    let whole = |error: Error| vec![Fault::new(&case.steps[0].span, error.to_string())];
    let mut run = Run {
        driver: new_driver(&job.plan, shape, START).map_err(whole)?,
        reader: Reader::new(&job.plan).map_err(whole)?,
        job: &job,
        shape,
        stopped: None,
        ended: false,
        fed: Vec::new(),
        since: Vec::new(),
        all: Vec::new(),
        counted: HashMap::new(),
    };
    job.tables.place(&mut run.driver);
    let mut failures = Vec::new();
    for (at, step) in case.steps.iter().enumerate() {
        match run.step(step) {
            Ok(None) => {}
            Ok(Some(unmet)) => failures.push(unmet.at(at + 1, step)),
            Err(fault) => return Err(vec![fault]),
        }
    }
    if let Some((span, error)) = run.stopped {
        let fault = Fault::new(&span, format!("the job stopped: {error}"));
        failures.push(Failure { step: case.steps.len(), fault, replacement: None });
    }
    Ok(failures)
}

fn new_driver(plan: &Plan, shape: Shape, start: i64) -> Result<Driver, Error> {
    let setting = Setting { shards: shape.shards, batch: shape.batch, start, order: Order::AsCaused };
    Driver::new(plan.clone(), setting)
}

/// What differs, and what would meet the expectation.
struct Unmet {
    what: String,
    replacement: Option<Replacement>,
}

impl Unmet {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), replacement: None }
    }

    fn at(self, number: usize, step: &Step) -> Failure {
        let what = format!("step {number}, {}: {}", step.name, self.what);
        Failure { step: number, fault: Fault::new(&step.span, what), replacement: self.replacement }
    }
}

struct Run<'a> {
    job: &'a Job,
    shape: Shape,
    driver: Driver,
    reader: Reader,
    /// The job stopped at this step, and no `expect_error` has asked for it.
    stopped: Option<(Span, Error)>,
    /// The job stopped, as was expected.
    ended: bool,
    /// What the topic holds.
    fed: Vec<Feed>,
    /// Sink rows since the last `expect`.
    since: Vec<Row>,
    /// All sink rows.
    all: Vec<Row>,
    /// Counts at the last `expect_lookups`.
    counted: HashMap<String, [u64; 4]>,
}

impl Run<'_> {
    fn step(&mut self, step: &Step) -> Result<Option<Unmet>, Fault> {
        let plan = &self.job.plan;
        match &step.action {
            Action::ExpectError(expected) => return Ok(self.expect_error(expected)),
            Action::Expect(expected) => {
                let rows = std::mem::take(&mut self.since);
                return Ok(difference(expected, &rows, plan.normalize.is_some()));
            }
            Action::ExpectView(expected) => {
                return Ok(difference(expected, &self.reader.compacted(&self.all), false));
            }
            Action::ExpectLookups(expected) => return self.expect_lookups(expected),
            Action::Table { .. } | Action::Advance(_) if self.ended => {
                return Err(Fault::new(&step.span, "nothing happens here: the job stopped before"));
            }
            // What follows an error that nobody expected says nothing.
            Action::Table { .. } | Action::Advance(_) if self.stopped.is_some() => {}
            Action::Table { table, change } if table.written == plan.source.table => {
                self.records(step, change)?;
            }
            Action::Table { table, change } => {
                self.job.tables.change(&mut self.driver, plan, table, change)?;
            }
            Action::Advance(by) => {
                let advanced = self.driver.advance(*by);
                self.after(step, advanced);
            }
        }
        Ok(None)
    }

    /// Lets everything of a step happen before the next: a barrier, retries included.
    fn after(&mut self, step: &Step, result: Result<(), Error>) {
        let mut result = result.and_then(|()| self.driver.barrier());
        for _ in 0..WAIT_STEPS_MAX {
            if !matches!(result, Ok(false)) {
                break;
            }
            result = self.driver.advance(WAIT_STEP).map(|()| self.driver.has_passed_newest());
        }
        let read = self.reader.rows(&self.driver.take_output()).map(|rows| {
            self.since.extend(rows.iter().cloned());
            self.all.extend(rows);
        });
        if let Err(error) = result.and(read) {
            self.stopped = Some((step.span.clone(), error));
        }
    }

    fn records(&mut self, step: &Step, change: &Node) -> Result<(), Fault> {
        let wrong = || Fault::new(&change.span, "a source step is a list of records or rows");
        let items = change.as_list().ok_or_else(wrong)?;
        let mut feeds = Vec::with_capacity(items.len());
        for item in items {
            feeds.push(Feed::read(&self.job.plan, item)?.written_at(self.driver.now()));
        }
        let together = if self.shape.restarts { 1 } else { items.len().max(1) };
        for feeds in feeds.chunks(together) {
            if self.stopped.is_some() {
                break;
            }
            let result = feeds.iter().try_for_each(|feed| feed.feed(&mut self.driver, false));
            self.after(step, result);
            if self.shape.restarts && self.stopped.is_none() && self.job.plan.normalize.is_some() {
                self.fed.extend_from_slice(feeds);
                self.stopped = self.restart().err().map(|error| (step.span.clone(), error));
            }
        }
        Ok(())
    }

    /// A new job with an empty state and empty caches reads the topic up to where the old one stood.
    fn restart(&mut self) -> Result<(), Error> {
        let mut fresh = new_driver(&self.job.plan, self.shape, self.driver.now())?;
        for lookup in &self.job.plan.lookups {
            if let Some(table) = self.driver.table_mut(&lookup.table) {
                fresh.set_table(&lookup.table, table.clone());
            }
        }
        self.fed.iter().try_for_each(|feed| feed.feed(&mut fresh, true))?;
        fresh.barrier()?;
        self.driver = fresh;
        self.counted.clear();
        Ok(())
    }

    fn expect_error(&mut self, expected: &ExpectedError) -> Option<Unmet> {
        let Some((_, error)) = self.stopped.take() else {
            let what = format!("the job should have stopped with {}, and did not", expected.reason);
            return Some(Unmet::new(what));
        };
        self.ended = true;
        let Some(fault) = error.fault() else {
            return Some(Unmet::new(format!("the job did not stop on data; it stopped with: {error}")));
        };
        let (place, column) = (&fault.place, fault.column.as_deref());
        let differs = fault.reason != expected.reason
            || expected.table.as_ref().is_some_and(|table| *table != place.table)
            || expected.partition.is_some_and(|partition| partition != i64::from(place.partition))
            || expected.offset.is_some_and(|offset| offset != place.offset)
            || expected.column.as_deref().is_some_and(|name| column != Some(name));
        differs.then(|| {
            let what = "the job stopped for another reason or at another place";
            let mut found =
                format!("{{reason: {}, table: {}, offset: {}", fault.reason, place.table, place.offset);
            found.extend(column.map(|column| format!(", column: {column}")));
            found.push('}');
            Unmet {
                what: format!("{what}; it stopped with: {error}"),
                replacement: Some(Replacement::Inline(found)),
            }
        })
    }

    fn expect_lookups(&mut self, expected: &[(Text, Counts)]) -> Result<Option<Unmet>, Fault> {
        let totals = self.lookup_totals();
        let (mut differences, mut right) = (Vec::new(), Vec::new());
        for (table, counts) in expected {
            let Some(now) = totals.get(&table.written) else {
                let what = format!("table '{}' is not looked up in", table.written);
                return Err(Fault::new(&table.span, what).allowed(&table.written, totals.keys()));
            };
            let before = self.counted.get(&table.written).copied().unwrap_or_default();
            let mut right_counts = Vec::new();
            for (name, wanted) in counts {
                let at = COUNTS.iter().position(|count| *count == name.written).ok_or_else(|| {
                    let fault = Fault::new(&name.span, format!("unknown count '{}'", name.written));
                    fault.allowed(&name.written, COUNTS)
                })?;
                let found = now[at] - before[at];
                right_counts.push(format!("{}: {found}", name.written));
                if found != *wanted {
                    let what =
                        format!("{}.{}: {wanted} expected, {found} found", table.written, name.written);
                    differences.push(what);
                }
            }
            right.push(format!("{}: {{{}}}", table.written, right_counts.join(", ")));
        }
        self.counted = totals;
        // Batches and shards change who asks whom: counts are those of one shard and single records.
        let differs = !differences.is_empty() && self.shape == Shape::PLAIN;
        Ok(differs.then(|| Unmet {
            what: differences.join("; "),
            replacement: Some(Replacement::Inline(format!("{{{}}}", right.join(", ")))),
        }))
    }

    fn lookup_totals(&self) -> HashMap<String, [u64; 4]> {
        let mut totals: HashMap<String, [u64; 4]> = HashMap::new();
        for counters in self.driver.counters() {
            for (lookup, count) in self.job.plan.lookups.iter().zip(&counters.lookups) {
                let total = totals.entry(lookup.table.clone()).or_default();
                let counts = [count.statements, count.hits, count.coalesced, count.misses];
                total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
            }
        }
        totals
    }
}

const COUNTS: [&str; 4] = ["statements", "hits", "coalesced", "misses"];

fn difference(expected: &[Expected], rows: &[Row], ordered: bool) -> Option<Unmet> {
    let difference = compare(expected, rows, ordered)?;
    Some(Unmet { what: difference.text, replacement: Some(Replacement::Rows(difference.found)) })
}
