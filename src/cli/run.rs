//! `lookaside run`: runs the job until its input ends, it is asked to stop, or something fails.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::clock::Clock;
use crate::config::settings::Settings;
use crate::error::{Error, Result};
use crate::http::{Server, Watch, serve};
use crate::plan::Plan;
use crate::runtime::{Environment, Job, Shutdown};
use crate::telemetry::install_log;

use super::Exit;
use super::definition::DefinitionArg;
use super::output::{self, OutputFormat};

/// Threads of the I/O runtime: statements and HTTP wait more than they compute.
const IO_THREADS: usize = 2;

/// Runs a definition
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    definition: DefinitionArg,
    /// Settings of the process [default: config/settings.yaml, if it is there]
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Address of /metrics, /livez, /readyz and /api/v1/status
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
        .and_then(|settings| args.definition.plan().map(|plan| (settings, plan)));
    let (settings, plan) = match ready {
        Ok(ready) => ready,
        Err(faults) => {
            output::faults(&faults, format);
            return Exit::Definition;
        }
    };
    match run_job(&settings, plan) {
        Ok(()) => Exit::Ok,
        Err(error) => {
            output::say(&format!("error: {error}"));
            error.kind().into()
        }
    }
}

fn run_job(settings: &Settings, plan: Plan) -> Result<()> {
    install_log(settings.log.format, &settings.log.level)?;
    let shutdown = Shutdown::on_signals()?;
    let io = io_runtime()?;
    let server = io.block_on(Server::bind(&settings.http.address.to_string()))?;
    tracing::info!(address = %server.address(), "serving /metrics, /livez, /readyz and /api/v1/status");
    let environment = Environment {
        clock: Clock::system(),
        runtime: io.handle().clone(),
        cores: cores(),
        drain_timeout: settings.shutdown.timeout,
        shutdown,
    };
    let job = Arc::new(Job::new(plan, environment)?);
    let watch = Arc::new(Watch::new(Arc::clone(&job), Clock::system()));
    // The server answers until the process ends: probes still ask while the job drains.
    io.spawn(serve(server, watch, std::future::pending()));
    let outcome = job.run();
    io.shutdown_background();
    outcome
}

/// Threads for statements, HTTP and timers.
pub(super) fn io_runtime() -> Result<Runtime> {
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
