//! `lookaside test`: golden cases through the real path, without Kafka or a database, or with them (`--live`).

pub mod case;
mod compare;
mod live;
mod output;
mod records;
pub mod run;
mod tables;
mod update;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::config::Fault;
use crate::error::{Error, Kind, io_reason};

use super::output::{self as terminal, OutputFormat};
use super::{Exit, exit};
use run::{Failure, Shape};

/// Run golden cases through the real path, without Kafka or a database (or with them: --live).
#[derive(Debug, clap::Args)]
#[command(after_help = exit::help(&[Exit::Ok, Exit::Finding, Exit::Usage, Exit::Definition]))]
pub(super) struct Args {
    /// Case files, or folders that are searched for them; a case is a YAML file with `steps`.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Rewrite expectations that are not met with what one shard and single records give.
    #[arg(long, conflicts_with_all = ["shards", "batch"])]
    update: bool,
    /// Run against the systems that the definition names; topics and tables must be there.
    #[arg(long, conflicts_with_all = ["update", "shards", "batch"])]
    live: bool,
    /// Worker shards.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    shards: u16,
    /// Records that are read together.
    #[arg(long, default_value_t = 1, value_name = "RECORDS")]
    batch: usize,
}

/// What became of one case.
#[derive(Debug)]
pub enum Verdict {
    /// Every expectation was met.
    Passed,
    /// Some were not.
    Failed(Vec<Failure>),
    /// The case cannot be run.
    Faulty(Vec<Fault>),
}

/// Every case file at or below a path, sorted.
///
/// # Errors
/// A path that cannot be read.
pub fn find_cases(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut cases = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        let yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        if path.is_dir() {
            cases.extend(find_cases(&path)?);
        } else if yaml && case::is_case(&fs::read_to_string(&path)?) {
            cases.push(path);
        }
    }
    cases.sort();
    Ok(cases)
}

/// Runs one case file.
#[must_use]
pub fn run_file(path: &Path, shape: Shape) -> Verdict {
    verdict(path, |text| case::read(path, text).and_then(|case| run::run(&case, shape)))
}

fn verdict(path: &Path, run: impl FnOnce(&str) -> Result<Vec<Failure>, Vec<Fault>>) -> Verdict {
    let blame = |error: std::io::Error| {
        let span = crate::config::Span::file(&path.display().to_string());
        vec![Fault::new(&span, format!("cannot be read: {}", io_reason(&error)))]
    };
    match fs::read_to_string(path).map_err(blame).and_then(|text| run(&text)) {
        Ok(failures) if failures.is_empty() => Verdict::Passed,
        Ok(failures) => Verdict::Failed(failures),
        Err(faults) => Verdict::Faulty(faults),
    }
}

pub(super) fn run(args: &Args, format: OutputFormat) -> Exit {
    let shape = Shape { shards: args.shards, batch: args.batch.max(1), restarts: false };
    let mut results = Vec::new();
    for path in &args.paths {
        match find_cases(path) {
            Ok(cases) => results.extend(cases.into_iter().map(|path| {
                let verdict = match args.live {
                    true => verdict(&path, |text| live::run(&path, text)),
                    false => run_file(&path, shape),
                };
                (path, verdict)
            })),
            Err(error) => {
                return refused(path, "read", &error, format);
            }
        }
    }
    for (path, verdict) in results.iter_mut().filter(|_| args.update) {
        match update::rewrite(path, verdict) {
            Ok(false) => {}
            Ok(true) => {
                terminal::say(&format!("{}: expectations rewritten", path.display()));
                *verdict = run_file(path, Shape::PLAIN);
            }
            Err(error) => {
                return refused(path, "rewritten", &error, format);
            }
        }
    }
    report(&results, format)
}

fn refused(path: &Path, what: &str, error: &std::io::Error, format: OutputFormat) -> Exit {
    let message = format!("{}: cannot be {what}: {}", path.display(), io_reason(error));
    terminal::error(&Error::new(Kind::Usage, message), None, format)
}

fn report(results: &[(PathBuf, Verdict)], format: OutputFormat) -> Exit {
    let count = |wanted: fn(&Verdict) -> bool| results.iter().filter(|(_, verdict)| wanted(verdict)).count();
    let passed = count(|verdict| matches!(verdict, Verdict::Passed));
    let faulty = count(|verdict| matches!(verdict, Verdict::Faulty(_)));
    match format {
        OutputFormat::Json => {
            let cases: Vec<_> = results.iter().map(|(path, verdict)| to_json(path, verdict)).collect();
            terminal::json(&json!({"cases": cases, "passed": passed, "failed": results.len() - passed}));
        }
        OutputFormat::Human => {
            results.iter().for_each(|(path, verdict)| show(path, verdict));
            terminal::data(&format!("{passed} passed, {} failed", results.len() - passed));
        }
    }
    match (faulty, results.len() - passed) {
        (0, 0) => Exit::Ok,
        (0, _) => Exit::Finding,
        _ => Exit::Definition,
    }
}

fn show(path: &Path, verdict: &Verdict) {
    match verdict {
        Verdict::Passed => terminal::data(&format!("ok      {}", path.display())),
        Verdict::Failed(failures) => {
            terminal::data(&format!("FAILED  {}", path.display()));
            failures.iter().for_each(|failure| terminal::data(&failure.fault.to_string()));
        }
        Verdict::Faulty(faults) => {
            terminal::data(&format!("FAULTY  {}", path.display()));
            faults.iter().for_each(|fault| terminal::data(&fault.to_string()));
        }
    }
}

fn to_json(path: &Path, verdict: &Verdict) -> serde_json::Value {
    let (outcome, faults): (_, Vec<_>) = match verdict {
        Verdict::Passed => ("passed", Vec::new()),
        Verdict::Failed(failures) => ("failed", failures.iter().map(failure_json).collect()),
        Verdict::Faulty(faults) => ("faulty", faults.iter().map(Fault::to_json).collect()),
    };
    json!({"path": path.display().to_string(), "outcome": outcome, "faults": faults})
}

fn failure_json(failure: &Failure) -> serde_json::Value {
    let mut json = failure.fault.to_json();
    json["step"] = failure.step.into();
    json
}
