//! What the environment says about a run of the benchmark.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `LOOKASIDE_TEST_KAFKA`, `LOOKASIDE_TEST_MYSQL` | addresses of the servers; `tests/stack/stack.sh` sets them | – |
//! | `BENCH` | contestants, with commas: `copy_loop`, `lookaside`, `flink` | `copy_loop,lookaside` |
//! | `FLINK` | `1` adds `flink` | – |
//! | `BENCH_SMALL` | rows of the two sizes, for quick tries | `1000000,4000000` |
//! | `BENCH_REPEATS` | runs per contestant and size; the median CPU time counts | 1 |
//! | `BENCH_LATENCY_SECONDS` | length of the latency run; 0 leaves it out | 60 |
//! | `BENCH_LATENCY_RATE` | upserts per second of the latency run | 10000 |
//! | `BENCH_FLINK_HEAP` | heap of Flink's JVM | `4g` |
//! | `BENCH_LOOKASIDE` | another `lookaside` program to measure | the one just built |

use std::env;
use std::path::PathBuf;
use std::str::FromStr;

use crate::Result;
use crate::contestants::Contestant;

/// Rows of the two sizes whose difference is the marginal cost.
const SIZES: (u64, u64) = (1_000_000, 4_000_000);
/// Length of the latency run.
const LATENCY_SECONDS: u64 = 60;

/// A run of the benchmark.
pub struct Settings {
    /// `host:port` of the broker.
    pub kafka: String,
    /// `host:port` of the database server, where `root` has no password.
    pub mysql: String,
    /// In the order in which they run.
    pub contestants: Vec<Contestant>,
    /// Rows of the small and of the large run.
    pub sizes: (u64, u64),
    /// Whether this is a run that published results may stand on: full sizes, full latency run, the program just
    /// built.
    pub publishable: bool,
    /// Runs per contestant and size.
    pub repeats: usize,
    /// Length of the latency run.
    pub latency_seconds: u64,
    /// Upserts per second of the latency run.
    pub latency_rate: u64,
    /// `-Xmx` of Flink's JVM.
    pub flink_heap: String,
    /// The program under test.
    pub lookaside: PathBuf,
    /// The repository.
    pub root: PathBuf,
    /// Where results and logs go.
    pub out: PathBuf,
}

impl Settings {
    /// Reads the environment.
    pub fn from_environment() -> Result<Self> {
        let server = |name: &str| {
            variable(name).ok_or(format!("{name} is not set: run `make bench`, which starts the servers"))
        };
        let sizes = match variable("BENCH_SMALL") {
            None => SIZES,
            Some(text) => {
                sizes(&text).ok_or("BENCH_SMALL must be two growing numbers, as in 100000,400000")?
            }
        };
        let latency_seconds = number("BENCH_LATENCY_SECONDS", LATENCY_SECONDS)?;
        let other = variable("BENCH_LOOKASIDE");
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        Ok(Self {
            kafka: server("LOOKASIDE_TEST_KAFKA")?,
            mysql: server("LOOKASIDE_TEST_MYSQL")?,
            contestants: contestants()?,
            sizes,
            publishable: sizes == SIZES && LATENCY_SECONDS <= latency_seconds && other.is_none(),
            repeats: number("BENCH_REPEATS", 1)?.max(1) as usize,
            latency_seconds,
            latency_rate: number("BENCH_LATENCY_RATE", 10_000)?.max(1),
            flink_heap: variable("BENCH_FLINK_HEAP").unwrap_or("4g".to_owned()),
            lookaside: variable("BENCH_LOOKASIDE")
                .unwrap_or(env!("CARGO_BIN_EXE_lookaside").to_owned())
                .into(),
            out: root.join("target/bench"),
            root,
        })
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn number(name: &str, otherwise: u64) -> Result<u64> {
    match variable(name) {
        None => Ok(otherwise),
        Some(text) => u64::from_str(&text).map_err(|_| format!("{name} is no number: {text}").into()),
    }
}

fn sizes(text: &str) -> Option<(u64, u64)> {
    let (small, large) = text.split_once(',')?;
    let (small, large) = (small.trim().parse().ok()?, large.trim().parse().ok()?);
    (0 < small && small < large).then_some((small, large))
}

fn contestants() -> Result<Vec<Contestant>> {
    let mut chosen = Vec::new();
    let names = variable("BENCH").unwrap_or("copy_loop,lookaside".to_owned());
    for name in names.split(',').map(str::trim) {
        let one = Contestant::ALL.into_iter().find(|one| one.name() == name);
        chosen.push(
            one.ok_or_else(|| format!("BENCH: no contestant {name}; there are copy_loop, lookaside, flink"))?,
        );
    }
    if variable("FLINK").as_deref() == Some("1") && !chosen.contains(&Contestant::Flink) {
        chosen.push(Contestant::Flink);
    }
    Ok(chosen)
}
