//! Who is measured, how each is started, and what the kernel says it cost.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde::Deserialize;

use super::generate::DATABASE;
use super::settings::Settings;
use crate::Result;

/// A run may take a minute and this share of its rows per second; then it is stopped as hung.
const SLOWEST_ROWS_PER_SECOND: u64 = 8_000;
/// Lines of a failed contestant's log that are shown.
const LOG_TAIL: usize = 25;

/// A program that does the work, in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contestant {
    /// The floor: the same bytes from topic to topic.
    CopyLoop,
    /// The release build in its default configuration.
    Lookaside,
    /// The same job in Flink SQL, in one JVM.
    Flink,
}

/// One run of a contestant.
pub struct Job<'a> {
    /// The topic to read.
    pub source: &'a str,
    /// The topic to write.
    pub sink: &'a str,
    /// Names the run's log and result.
    pub label: &'a str,
    /// Rows of the run, where it ends by itself; else the longest time it may take, in seconds.
    pub length: Length,
}

/// When a run ends.
#[derive(Clone, Copy)]
pub enum Length {
    /// With the topic, which holds so many rows.
    Rows(u64),
    /// When it is told to, at the latest after so many seconds.
    Seconds(u64),
}

/// What measure.py reports.
#[derive(Clone, Debug, Deserialize)]
pub struct Cost {
    /// User and system time.
    pub cpu_s: f64,
    /// Largest resident set.
    pub peak_rss_mb: f64,
    /// Start to end.
    pub wall_s: f64,
    exit_code: i32,
    overdue: bool,
}

impl Contestant {
    /// All, in the order of the report.
    pub const ALL: [Self; 3] = [Self::CopyLoop, Self::Lookaside, Self::Flink];

    /// The name in `BENCH` and in the results.
    pub fn name(self) -> &'static str {
        match self {
            Self::CopyLoop => "copy_loop",
            Self::Lookaside => "lookaside",
            Self::Flink => "flink",
        }
    }

    /// Whether it joins; the copy loop only copies.
    pub fn enriches(self) -> bool {
        self != Self::CopyLoop
    }

    /// Builds what must not be built while measuring.
    pub fn prepare(self, settings: &Settings) -> Result<()> {
        match self {
            Self::CopyLoop => Ok(()),
            Self::Lookaside if settings.lookaside.is_file() => Ok(()),
            Self::Lookaside => Err(format!("{} is not there", settings.lookaside.display()).into()),
            Self::Flink => match Command::new(flink_script(settings)).arg("build").status()? {
                status if status.success() => Ok(()),
                status => Err(format!("the Flink job could not be built ({status})").into()),
            },
        }
    }

    fn append_command(self, settings: &Settings, job: &Job<'_>, command: &mut Command) -> Result<()> {
        let bounded = matches!(job.length, Length::Rows(_));
        match self {
            Self::CopyLoop => {
                command.arg(std::env::current_exe()?).args([
                    "copy-loop",
                    &settings.kafka,
                    job.source,
                    job.sink,
                ]);
            }
            Self::Lookaside => {
                command.arg(&settings.lookaside).arg("run");
                command.arg(settings.root.join("benches/workload/order-enrichment.yaml"));
                command.env("BENCH_NAME", job.sink);
                command.env("BENCH_SOURCE", job.source).env("BENCH_SINK", job.sink);
                command.env("BENCH_KAFKA", &settings.kafka);
                command.env("BENCH_DATABASE_URL", format!("mysql://{}/{DATABASE}", settings.mysql));
                command.env("BENCH_BOUNDED_MODE", if bounded { "latest-offset" } else { "unbounded" });
                command.env("LOOKASIDE__HTTP__ADDRESS", "127.0.0.1:0");
            }
            Self::Flink => {
                command.arg(flink_script(settings)).args(["run", &settings.flink_heap]);
                command.arg(format!("-Dbootstrap={}", settings.kafka));
                command.arg(format!("-Djdbc=jdbc:mysql://{}/{DATABASE}", settings.mysql));
                command.args([format!("-Dsource={}", job.source), format!("-Dsink={}", job.sink)]);
                command.arg(format!("-Dunbounded={}", !bounded));
                command.env("FLINK_WORK", settings.out.join("flink"));
            }
        }
        Ok(())
    }
}

fn flink_script(settings: &Settings) -> PathBuf {
    settings.root.join("benches/flink/run.sh")
}

/// A contestant at work.
pub struct Running {
    child: Child,
    log: PathBuf,
    result: PathBuf,
    told_to_stop: bool,
}

/// Starts a contestant under measure.py.
pub fn start(contestant: Contestant, settings: &Settings, job: &Job<'_>) -> Result<Running> {
    let logs = settings.out.join("logs");
    fs::create_dir_all(&logs)?;
    let name = format!("{}-{}", contestant.name(), job.label);
    let (log, result) = (logs.join(format!("{name}.log")), logs.join(format!("{name}.json")));
    let _ = fs::remove_file(&result);
    let seconds = match job.length {
        Length::Rows(rows) => 60 + rows / SLOWEST_ROWS_PER_SECOND,
        Length::Seconds(seconds) => seconds,
    };
    let mut command = Command::new("python3");
    command.arg(settings.root.join("benches/measure.py")).arg(&result).arg(seconds.to_string());
    contestant.append_command(settings, job, &mut command)?;
    let out = File::create(&log)?;
    let child = command.stdout(out.try_clone()?).stderr(out).spawn()?;
    Ok(Running { child, log, result, told_to_stop: false })
}

impl Running {
    /// Whether it is still at work.
    pub fn is_alive(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Asks it to stop, as an orchestrator would.
    pub fn stop(mut self) -> Result<Cost> {
        self.told_to_stop = true;
        // measure.py passes the signal on.
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        self.wait()
    }

    /// Waits for its end; an exit code other than 0 is a failure that shows the end of the log.
    pub fn wait(mut self) -> Result<Cost> {
        self.child.wait()?;
        let Ok(text) = fs::read(&self.result) else {
            return Err(format!("could not be started{}", tail(&self.log)).into());
        };
        let cost: Cost = serde_json::from_slice(&text)?;
        if cost.overdue {
            return Err(format!("hung and was stopped after {:.0} s{}", cost.wall_s, tail(&self.log)).into());
        }
        // A JVM answers SIGTERM with 143.
        let obeyed = self.told_to_stop && matches!(cost.exit_code, 143 | -15);
        if cost.exit_code != 0 && !obeyed {
            return Err(format!("ended with exit code {}{}", cost.exit_code, tail(&self.log)).into());
        }
        Ok(cost)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
            let _ = self.child.wait();
        }
    }
}

fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LOG_TAIL);
    format!("; the end of {}:\n    {}", log.display(), lines[from..].join("\n    "))
}
