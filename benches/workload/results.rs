//! The results of a run: `results.json` for programs, a Markdown table for people.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::check::SinkView;
use super::contestants::{Contestant, Cost};
use super::latency::Latency;
use super::settings::Settings;
use crate::Result;

const BEGIN: &str = "<!-- run:begin -->";
const END: &str = "<!-- run:end -->";

/// One bounded run.
#[derive(Clone, Debug)]
pub struct Run {
    /// What the process cost.
    pub cost: Cost,
    /// SELECT statements that the database answered meanwhile.
    pub statements: u64,
    /// What the sink topic held.
    pub sink: SinkView,
}

/// What is known about one contestant; empty where it did not take part.
#[derive(Debug, Default)]
pub struct Figures {
    /// Runs of the small size.
    pub small: Vec<Run>,
    /// Runs of the large size.
    pub large: Vec<Run>,
    /// The run in real time.
    pub latency: Option<Latency>,
    /// Why figures are missing.
    pub faults: Vec<String>,
}

impl Figures {
    /// The run with the median CPU time.
    fn median(runs: &[Run]) -> Option<&Run> {
        let mut sorted: Vec<&Run> = runs.iter().collect();
        sorted.sort_by(|a, b| a.cost.cpu_s.total_cmp(&b.cost.cpu_s));
        sorted.get(sorted.len().saturating_sub(1) / 2).copied()
    }

    /// µs of CPU for one more row, start-up and cold caches left out.
    fn marginal_us(&self, (small, large): (u64, u64)) -> Option<f64> {
        let more = Self::median(&self.large)?.cost.cpu_s - Self::median(&self.small)?.cost.cpu_s;
        (more > 0.0).then(|| more * 1e6 / (large - small) as f64)
    }
}

/// All figures, with what they were taken on.
pub struct Results<'a> {
    settings: &'a Settings,
    figures: [Figures; 3],
    date: String,
    machine: Machine,
}

struct Machine {
    cores: usize,
    cpu: String,
    kernel: String,
    revision: String,
}

impl Machine {
    fn here(root: &Path) -> Self {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let git = Command::new("git").arg("-C").arg(root).args(["rev-parse", "--short", "HEAD"]).output();
        let revision =
            git.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default();
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            cpu: model.map_or("unknown", |(_, name)| name.trim()).to_owned(),
            kernel: kernel(&fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default()),
            revision,
        }
    }
}

impl<'a> Results<'a> {
    /// Nothing measured yet.
    pub fn new(settings: &'a Settings) -> Self {
        let date = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
        Self { settings, figures: Default::default(), date, machine: Machine::here(&settings.root) }
    }

    /// The figures of a contestant, to add to.
    pub fn of(&mut self, contestant: Contestant) -> &mut Figures {
        &mut self.figures[contestant as usize]
    }

    fn get(&self, contestant: Contestant) -> &Figures {
        &self.figures[contestant as usize]
    }

    /// Whether something went wrong.
    pub fn failed(&self) -> bool {
        self.figures.iter().any(|figures| !figures.faults.is_empty())
    }

    /// Writes both forms and returns the table. Published results are replaced by complete runs of full size only.
    pub fn publish(&self) -> Result<String> {
        fs::create_dir_all(&self.settings.out)?;
        fs::write(
            self.settings.out.join("results.json"),
            serde_json::to_string_pretty(&self.json())? + "\n",
        )?;
        let table = self.markdown()?;
        let complete = self.get(Contestant::CopyLoop).has_both_sizes()
            && self.get(Contestant::Lookaside).has_both_sizes()
            && !self.failed();
        if self.settings.publishable && complete {
            let path = self.settings.root.join("benches/RESULTS.md");
            let text = fs::read_to_string(&path)?;
            let (head, rest) = text.split_once(BEGIN).ok_or("RESULTS.md has lost its markers")?;
            let (_, foot) = rest.split_once(END).ok_or("RESULTS.md has lost its markers")?;
            fs::write(&path, format!("{head}{BEGIN}\n\n{table}\n{END}{foot}"))?;
        }
        Ok(table)
    }

    fn json(&self) -> Value {
        let mut all = json!({
            "date": self.date,
            "rows": [self.settings.sizes.0, self.settings.sizes.1],
            "machine": {
                "cores": self.machine.cores,
                "cpu": self.machine.cpu,
                "kernel": self.machine.kernel,
                "revision": self.machine.revision,
            },
        });
        for contestant in Contestant::ALL {
            all[contestant.name()] = self.contestant_json(self.get(contestant));
        }
        all
    }

    fn contestant_json(&self, figures: &Figures) -> Value {
        let per_row = figures.marginal_us(self.settings.sizes);
        let large = Figures::median(&figures.large);
        let latency = figures.latency.as_ref();
        let runs = |runs: &[Run]| -> Vec<Value> { runs.iter().map(run_json).collect() };
        json!({
            "cpu_us_per_row": per_row.map(|us| rounded(us, 3)),
            "rows_per_cpu_second": per_row.map(|us| (1e6 / us).round()),
            "peak_rss_mb": large.map(|run| run.cost.peak_rss_mb),
            "wall_s": large.map(|run| run.cost.wall_s),
            "statements": large.map(|run| run.statements),
            "latency_ms_p50": latency.map(|latency| latency.p50),
            "latency_ms_p99": latency.map(|latency| latency.p99),
            "latency_ms_p99_cold": latency.map(|latency| latency.cold_p99),
            "latency_run_cores": latency.map(|latency| rounded(latency.cores, 3)),
            "small_runs": runs(&figures.small),
            "large_runs": runs(&figures.large),
            "faults": figures.faults,
        })
    }

    fn markdown(&self) -> Result<String> {
        let machine = &self.machine;
        let mut out = String::new();
        writeln!(
            out,
            "{}, revision {}, {} cores of {}, Linux {}; {} and {} rows, {} run(s) each.\n",
            self.date,
            machine.revision,
            machine.cores,
            machine.cpu,
            machine.kernel,
            self.settings.sizes.0,
            self.settings.sizes.1,
            self.settings.repeats,
        )?;
        writeln!(
            out,
            "| | copy loop | Lookaside | Flink 2.2.1 | Lookaside ÷ copy loop | Lookaside ÷ Flink |"
        )?;
        writeln!(out, "|---|--:|--:|--:|--:|--:|")?;
        let sizes = self.settings.sizes;
        self.line(&mut out, "CPU per row, µs (marginal)", 2, |f| f.marginal_us(sizes))?;
        self.line(&mut out, "rows per CPU-second (marginal)", 0, |f| {
            f.marginal_us(sizes).map(|us| 1e6 / us)
        })?;
        self.line(&mut out, "CPU, s, small run", 1, |f| small(f, |run| run.cost.cpu_s))?;
        self.line(&mut out, "CPU, s, large run", 1, |f| large(f, |run| run.cost.cpu_s))?;
        self.line(&mut out, "wall time, s, large run", 1, |f| large(f, |run| run.cost.wall_s))?;
        self.line(&mut out, "peak memory, MB, large run", 0, |f| large(f, |run| run.cost.peak_rss_mb))?;
        self.line(&mut out, "MySQL statements, large run", 0, |f| large(f, |run| run.statements as f64))?;
        self.line(&mut out, "sink records, large run", 0, |f| large(f, |run| run.sink.records as f64))?;
        self.line(&mut out, "latency, ms, p50", 0, |f| Some(f.latency.as_ref()?.p50 as f64))?;
        self.line(&mut out, "latency, ms, p99", 0, |f| Some(f.latency.as_ref()?.p99 as f64))?;
        self.line(&mut out, "latency from a cold start, ms, p99", 0, |f| {
            Some(f.latency.as_ref()?.cold_p99 as f64)
        })?;
        self.line(&mut out, "cores in use in the latency run", 2, |f| Some(f.latency.as_ref()?.cores))?;
        for contestant in Contestant::ALL {
            for fault in &self.get(contestant).faults {
                writeln!(out, "\n**{}**: {}", contestant.name(), fault.lines().next().unwrap_or_default())?;
            }
        }
        Ok(out)
    }

    fn line(
        &self,
        out: &mut String,
        title: &str,
        digits: usize,
        figure: impl Fn(&Figures) -> Option<f64>,
    ) -> Result<()> {
        let [copy, lookaside, flink] = Contestant::ALL.map(|contestant| figure(self.get(contestant)));
        let cell = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.digits$}"));
        let ratio = |other: Option<f64>| match (lookaside, other) {
            (Some(ours), Some(other)) if other > 0.0 => format!("{:.2}", ours / other),
            _ => "–".to_owned(),
        };
        writeln!(
            out,
            "| {title} | {} | {} | {} | {} | {} |",
            cell(copy),
            cell(lookaside),
            cell(flink),
            ratio(copy),
            ratio(flink)
        )?;
        Ok(())
    }
}

impl Figures {
    fn has_both_sizes(&self) -> bool {
        !self.small.is_empty() && !self.large.is_empty()
    }
}

fn small(figures: &Figures, value: impl Fn(&Run) -> f64) -> Option<f64> {
    Figures::median(&figures.small).map(value)
}

fn large(figures: &Figures, value: impl Fn(&Run) -> f64) -> Option<f64> {
    Figures::median(&figures.large).map(value)
}

fn run_json(run: &Run) -> Value {
    json!({
        "cpu_s": run.cost.cpu_s,
        "wall_s": run.cost.wall_s,
        "peak_rss_mb": run.cost.peak_rss_mb,
        "statements": run.statements,
        "sink_records": run.sink.records,
        "sink_tombstones": run.sink.tombstones,
        "sink_live_keys": run.sink.live_keys,
    })
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

/// Major and minor version of a kernel.
fn kernel(release: &str) -> String {
    release.trim().split('.').take(2).collect::<Vec<_>>().join(".")
}
