//! `lookaside test --live`: a case against the systems that its definition names.
//!
//! The job is a process of its own, `lookaside run`, on the real broker and
//! database. Records of the case go into the source's topic, rows of dimension
//! tables into the database; nothing is created, so topics and tables must be
//! there. A source step has happened when the job has committed its offsets,
//! which it does only after the sink has its rows. What the sink held before
//! the case is left out.

mod change;
mod database;
mod process;
mod sink;
mod topics;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::clock::{Clock, Stopwatch};
use crate::config::{Fault, Node, References};
use crate::error::Error;

use super::case::{self, Action, Case, CaseDefinition, ExpectedError, Step};
use super::records::{Feed, SourceRecord};
use super::run::{Failure, Job, prepare};

use database::Database;
use process::{Definition, Process};
use sink::LiveSink;
use topics::{Ends, SourceTopic, Stands};

/// How long a job may take until it is ready, and until a step has happened.
const STEP_MAX: Duration = Duration::from_secs(60);
/// How often it is looked whether a step has happened.
const LOOK: Duration = Duration::from_millis(100);
/// How long lines that the job has printed may be on their way.
const SETTLE_MAX: Duration = Duration::from_secs(2);

/// Runs a case; no failure means that every expectation was met.
///
/// # Errors
/// Faults of the case, and systems that refuse.
pub(super) fn run(path: &Path, text: &str) -> Result<Vec<Failure>, Vec<Fault>> {
    let case = case::read(path, text)?;
    let job = prepare(&case, &References::process())?;
    let faults: Vec<Fault> = case.steps.iter().filter_map(|step| refusal(&job, step)).collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let whole = |error: Error| vec![Fault::new(&case.steps[0].span, error.to_string())];
    let mut live = Live::start(&case, &job, text).map_err(whole)?;
    let outcome = live.steps(&case);
    live.process.stop(&live.clock);
    outcome
}

/// What cannot be done live.
fn refusal(job: &Job, step: &Step) -> Option<Fault> {
    let what = match &step.action {
        Action::Advance(_) => "a live case runs in real time: 'advance' needs a run without --live",
        Action::ExpectLookups(_) => {
            "a live job batches its lookups: 'expect_lookups' needs a run without --live"
        }
        Action::Table { table, change } if table.written == job.plan.source.table => {
            let is_row = |item: &Node| item.get("row").is_some();
            change.as_list()?.iter().any(is_row).then_some(
                "a topic holds records: write {key: …, value: …}, rows with kinds need a run without --live",
            )?
        }
        Action::Table { change, .. } if change.get("fail").is_some() => {
            "a live database fails only by itself: 'fail' needs a run without --live"
        }
        _ => return None,
    };
    Some(Fault::new(&step.span, what))
}

struct Live<'a> {
    job: &'a Job,
    clock: Clock,
    process: Process,
    source: SourceTopic,
    database: Database,
    sink: LiveSink,
    /// Where each record of the case stands, by partition and offset in the case.
    stands: BTreeMap<(i64, i64), Stands>,
    /// The job stopped, as was expected.
    ended: bool,
}

impl<'a> Live<'a> {
    fn start(case: &Case, job: &'a Job, text: &str) -> Result<Self, Error> {
        let database = Database::new()?;
        let source = SourceTopic::open(&job.plan.source)?;
        let definition = match &case.definition {
            CaseDefinition::File(path) => Definition::Path(path.clone()),
            CaseDefinition::Inline(_) => Definition::Text(definition_text(text)),
        };
        let started = Process::start(&definition);
        let mut process = started.map_err(|error| Error::external(format!("starting the job: {error}")))?;
        let clock = Clock::system();
        let caught_up = catch_up(&mut process, &source, &clock);
        let sink = caught_up.and_then(|()| LiveSink::open(&job.plan, &process, &database));
        match sink {
            Ok(sink) => {
                let stands = BTreeMap::new();
                Ok(Self { job, clock, process, source, database, sink, stands, ended: false })
            }
            Err(error) => {
                process.stop(&clock);
                Err(error)
            }
        }
    }

    fn steps(&mut self, case: &Case) -> Result<Vec<Failure>, Vec<Fault>> {
        let mut failures = Vec::new();
        for (at, step) in case.steps.iter().enumerate() {
            match self.step(step).map_err(|fault| vec![fault])? {
                None => {}
                Some(what) => {
                    let what = format!("step {}, {}: {what}", at + 1, step.name);
                    let fault = Fault::new(&step.span, what);
                    failures.push(Failure { step: at + 1, fault, replacement: None });
                }
            }
        }
        if !self.ended
            && let Some(status) = self.process.ended()
        {
            let last = case.steps.last().map_or(&case.steps[0].span, |step| &step.span);
            let fault = Fault::new(last, format!("the job ended with {status}: {}", self.process.log()));
            failures.push(Failure { step: case.steps.len(), fault, replacement: None });
        }
        Ok(failures)
    }

    /// What differs, if the step is an expectation.
    fn step(&mut self, step: &Step) -> Result<Option<String>, Fault> {
        let blame = |error: Error| Fault::new(&step.span, error.to_string());
        match &step.action {
            Action::Table { table, change } if table.written == self.job.plan.source.table => {
                self.records(step, change)?;
            }
            Action::Table { table, change } => {
                let changed =
                    self.database.change(&self.job.plan, &self.job.tables, &table.written, change)?;
                changed.map_err(blame)?;
            }
            Action::Expect(expected) => {
                let watch = Stopwatch::start();
                loop {
                    self.sink.read(&self.process, &self.database).map_err(blame)?;
                    let difference = self.sink.compare(expected)?;
                    if difference.is_none() || SETTLE_MAX < watch.elapsed() {
                        self.sink.next(expected)?;
                        return Ok(difference);
                    }
                    self.clock.sleep_blocking(LOOK);
                }
            }
            Action::ExpectView(expected) => {
                self.sink.read(&self.process, &self.database).map_err(blame)?;
                return self.sink.compare_view(expected);
            }
            Action::ExpectError(expected) => return Ok(self.expect_error(expected)),
            // Refused before the start.
            Action::Advance(_) | Action::ExpectLookups(_) => {}
        }
        Ok(None)
    }

    fn records(&mut self, step: &Step, change: &Node) -> Result<(), Fault> {
        let blame = |error: Error| Fault::new(&step.span, error.to_string());
        let mut records: Vec<SourceRecord> = Vec::new();
        for item in change.as_list().unwrap_or_default() {
            if let Feed::Record(record) = Feed::read(&self.job.plan, item)? {
                records.push(record);
            }
        }
        let stands = self.source.produce(&records).map_err(blame)?;
        let mut ends = Ends::new();
        for (record, stands) in records.iter().zip(stands) {
            let partition = i64::from(record.partition.unwrap_or(0));
            let offset = self.stands.range((partition, 0)..(partition + 1, 0)).count();
            self.stands.insert((partition, i64::try_from(offset).unwrap_or(i64::MAX)), stands);
            let end = ends.entry(stands.partition).or_default();
            *end = (*end).max(stands.offset + 1);
        }
        let watch = Stopwatch::start();
        while self.process.ended().is_none() && !self.source.is_past(&ends).map_err(blame)? {
            if STEP_MAX < watch.elapsed() {
                let what = format!("the job did not process these records within {STEP_MAX:?}");
                return Err(Fault::new(&step.span, format!("{what}: {}", self.process.log())));
            }
            self.clock.sleep_blocking(LOOK);
        }
        Ok(())
    }

    fn expect_error(&mut self, expected: &ExpectedError) -> Option<String> {
        let Some(status) = self.process.wait(STEP_MAX, &self.clock) else {
            return Some(format!("the job should have stopped with {}, and did not", expected.reason));
        };
        self.ended = true;
        // The last of what it said may still be on its way.
        self.clock.sleep_blocking(LOOK);
        let log = self.process.log();
        let said = log.lines().rfind(|line| line.starts_with("error: ")).unwrap_or_default();
        let place = |partition: i64, offset: i64| self.stands.get(&(partition, offset));
        let stands = expected.offset.and_then(|offset| place(expected.partition.unwrap_or(0), offset));
        let wanted = [
            Some(format!("({})", expected.reason)),
            expected.table.as_ref().map(|table| format!("table {table}, ")),
            stands.map(|at| format!("partition {}, offset {}", at.partition, at.offset)),
            expected.column.as_ref().map(|column| format!(", column {column}: ")),
        ];
        let missing: Vec<String> =
            wanted.into_iter().flatten().filter(|part| !said.contains(part.as_str())).collect();
        let is_data = status.code() == Some(super::super::Exit::Data as i32);
        (!is_data || !missing.is_empty()).then(|| {
            format!("it should have said '{}'; it ended with {status}: {said}", missing.join("', '"))
        })
    }
}

/// Waits until the job is ready and has read what was in the topic before.
fn catch_up(process: &mut Process, source: &SourceTopic, clock: &Clock) -> Result<(), Error> {
    let (watch, mut ready) = (Stopwatch::start(), false);
    let mut ends = source.ends()?;
    ends.retain(|_, end| 0 < *end);
    loop {
        if let Some(status) = process.ended() {
            clock.sleep_blocking(LOOK);
            return Err(Error::external(format!("the job ended with {status}: {}", process.log())));
        }
        ready = ready || process.is_ready();
        if ready && source.is_past(&ends)? {
            return Ok(());
        }
        if STEP_MAX < watch.elapsed() {
            let what = format!("the job is not ready within {STEP_MAX:?}");
            return Err(Error::external(format!("{what}: {}", process.log())));
        }
        clock.sleep_blocking(LOOK);
    }
}

/// The case without its steps.
fn definition_text(text: &str) -> String {
    let mut steps = false;
    let mut kept = String::new();
    for line in text.lines() {
        let top = !line.is_empty() && !line.starts_with([' ', '-', '#']);
        if top {
            steps = line.starts_with("steps:");
        }
        if !steps {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::definition_text;

    #[test]
    fn a_definition_is_a_case_without_its_steps() {
        let case = "# What\nname: a\nsteps:\n- src:\n  - {key: a}\n\n# more\n- expect: []\noptions: {}\n";
        assert_eq!(definition_text(case), "# What\nname: a\noptions: {}\n");
    }
}
