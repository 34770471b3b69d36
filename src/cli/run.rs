//! `lookaside run`: runs the job until its input ends, it is asked to stop, or something fails.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::clock::Clock;
use crate::config::settings::Settings;
use crate::error::{Error, Result};
use crate::http::{Server, Showing, Watch};
use crate::plan::Plan;
use crate::runtime::{Environment, Job, Shutdown};
use crate::telemetry::install_log;

use super::Exit;
use super::definition::DefinitionArg;
use super::output::{self, OutputFormat};

/// Threads of the I/O runtime: statements wait more than they compute.
const IO_THREADS: usize = 2;

/// Runs a definition
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    definition: DefinitionArg,
    /// Settings of the process [default: config/settings.yaml, if it is there]
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Address of the page, /metrics, /livez and /readyz
    #[arg(long, value_name = "HOST:PORT")]
    http: Option<String>,
    /// Log filter: error, warn, info, debug, or per module
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
}

pub(super) fn run(args: &Args, format: OutputFormat) -> Exit {
    let flag = |name, value: &Option<String>| value.clone().map(|value| (name, value));
    let flags: Vec<_> = [flag("http.address", &args.http), flag("log.level", &args.log_level)]
        .into_iter()
        .flatten()
        .collect();
    let ready = Settings::load(args.settings.as_deref(), &flags)
        .and_then(|settings| args.definition.plan_with_text().map(|plan| (settings, plan)));
    let (settings, (plan, definition)) = match ready {
        Ok(ready) => ready,
        Err(faults) => {
            output::faults(&faults, format);
            return Exit::Definition;
        }
    };
    match run_job(&settings, plan, definition) {
        Ok(()) => Exit::Ok,
        Err(error) => {
            output::say(&format!("error: {error}"));
            error.kind().into()
        }
    }
}

fn run_job(settings: &Settings, plan: Plan, definition: String) -> Result<()> {
    let problems = install_log(settings.log.format, &settings.log.level)?;
    let shutdown = Shutdown::on_signals()?;
    let server = Server::bind(settings.http.address)?;
    tracing::info!("the page is at http://{}/, with /metrics, /livez and /readyz", server.address());
    let io = io_runtime()?;
    let environment = Environment {
        clock: Clock::system(),
        runtime: io.handle().clone(),
        cores: cores(),
        drain_timeout: settings.shutdown.timeout,
        shutdown,
    };
    let job = Arc::new(Job::new(plan, environment)?);
    let stall_timeout = settings.health.stall_timeout;
    let showing = Showing { definition, problems: problems.clone(), stall_timeout };
    let watch = Arc::new(Watch::new(Arc::clone(&job), Clock::system(), showing));
    // The server answers until the process ends: probes still ask while the job drains.
    let serving = server.start(watch)?;
    let outcome = job.run();
    if let Err(error) = &outcome {
        problems.end(&error.to_string());
    }
    serving.finish();
    io.shutdown_background();
    outcome
}

fn io_runtime() -> Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(IO_THREADS)
        .thread_name("io")
        .enable_all()
        .build()
        .map_err(|error| Error::bug(format!("starting the I/O threads: {error}")))
}

/// Cores that this process may use, as the system limits them.
pub(super) fn cores() -> u16 {
    std::thread::available_parallelism().ok().and_then(|cores| u16::try_from(cores.get()).ok()).unwrap_or(1)
}
