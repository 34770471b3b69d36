//! `lookaside run`: runs the job until its input ends, it is asked to stop, or something fails.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::clock::Clock;
use crate::config::EffectiveDefinition;
use crate::config::settings::Settings;
use crate::error::{Error, Result};
use crate::http::{Server, Showing, Watch};
use crate::plan::Plan;
use crate::runtime::{Environment, Job, Shutdown};
use crate::telemetry::install_log;

use super::definition::DefinitionArg;
use super::output::{self, OutputFormat};
use super::settings::SettingsArgs;
use super::{Exit, exit};

/// Threads of the I/O runtime: statements wait more than they compute.
const IO_THREADS: usize = 2;

/// Run a definition until its input ends, it is asked to stop, or something fails.
///
/// A broker that cannot be reached is waited for, and so is a database at start; while the job runs, a lookup is tried
/// `lookup.max-retries` times again and a write to MySQL `sink.max-retries` times, then the job stops. SIGTERM and SIGINT
/// drain, commit and end with 0; a second one aborts.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::help(CODES))]
pub(super) struct Args {
    #[command(flatten)]
    definition: DefinitionArg,
    #[command(flatten)]
    settings: SettingsArgs,
}

const CODES: &[Exit] = &[
    Exit::Ok,
    Exit::Usage,
    Exit::Definition,
    Exit::External,
    Exit::Data,
    Exit::Fenced,
    Exit::Internal,
    Exit::Aborted,
];

pub(super) fn run(args: &Args, format: OutputFormat) -> Exit {
    let ready =
        args.settings.load().and_then(|settings| args.definition.load().map(|loaded| (settings, loaded)));
    let (settings, loaded) = match ready {
        Ok(ready) => ready,
        Err(faults) => {
            output::faults(&faults, format);
            return Exit::Definition;
        }
    };
    let definition = EffectiveDefinition::new(&loaded.definition).to_yaml();
    match run_job(&settings, loaded.plan.clone(), definition) {
        Ok(()) => Exit::Ok,
        Err(error) => output::error(&error, loaded.place(&error).as_ref(), format),
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
