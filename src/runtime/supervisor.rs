//! Starts the threads of a job and ends them: the first failure ends all.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::clock::Stopwatch;
use crate::error::{Error, Kind, Result};

use super::assembly::Job;
use super::{Settings, Shutdown};

/// How often the supervisor looks whether a stop was asked for.
const LOOK: Duration = Duration::from_millis(50);

/// After a failure, how long the other threads may take to end (the source leaves its group).
const END_TIMEOUT: Duration = Duration::from_secs(8);

/// Which thread has ended, and how.
type End = (String, Result<()>);

/// Runs a job to its end.
///
/// # Errors
/// The first failure of any thread.
pub(super) fn supervise(
    job: Job,
    settings: &Settings,
    shutdown: &Shutdown,
    abort: &Arc<AtomicBool>,
) -> Result<()> {
    let Job { driver, shards, sink, runtime } = job;
    let (ended, ends) = bounded(shards.len() + 1);
    let mut threads = Vec::with_capacity(shards.len() + 1);
    for (number, shard) in shards.into_iter().enumerate() {
        threads.push(start(format!("shard-{number}"), &ended, move || shard.run())?);
    }
    threads.push(start("source".to_owned(), &ended, move || driver.run())?);
    drop(ended);
    let outcome = wait(&ends, settings.shutdown_timeout, shutdown);
    abort.store(true, Ordering::SeqCst);
    let stopped = join(&ends, threads);
    // A thread that hangs in a call of the system must not keep the process: it ends with it.
    if stopped {
        drop(sink);
    } else {
        std::mem::forget(sink);
    }
    runtime.shutdown_background();
    outcome
}

fn start(
    name: String,
    ended: &Sender<End>,
    work: impl FnOnce() -> Result<()> + Send + 'static,
) -> Result<JoinHandle<()>> {
    let (ended, label) = (ended.clone(), name.clone());
    std::thread::Builder::new()
        .name(name)
        .spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(work));
            let result =
                result.unwrap_or_else(|panic| Err(Error::bug(format!("thread {label}: {}", text(&*panic)))));
            // The supervisor may have given up waiting.
            let _ = ended.try_send((label, result));
        })
        .map_err(|error| Error::bug(format!("starting a thread: {error}")))
}

fn text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic")
}

/// Waits for the source to end, for the first failure, or for the end of a drain's time.
fn wait(ends: &Receiver<End>, drain_timeout: Duration, shutdown: &Shutdown) -> Result<()> {
    let mut draining: Option<Stopwatch> = None;
    loop {
        match ends.recv_timeout(LOOK) {
            Ok((_, Err(error))) => return Err(first_of(error, ends)),
            Ok((name, Ok(()))) if name == "source" => return Ok(()),
            // A shard ends when the source has closed its queue: the source is about to leave the group.
            Ok((_, Ok(()))) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(Error::bug("all threads are gone")),
        }
        if shutdown.is_requested() {
            let since = draining.get_or_insert_with(Stopwatch::start);
            if drain_timeout < since.elapsed() {
                tracing::warn!(
                    timeout = ?drain_timeout,
                    "draining took too long: rows on their way are not committed and will be processed again"
                );
                return Ok(());
            }
        }
    }
}

/// Of failures at the same time, one that the operator can act on goes before its consequences.
fn first_of(error: Error, ends: &Receiver<End>) -> Error {
    if error.kind() != Kind::Bug {
        return error;
    }
    let others = ends.try_iter().filter_map(|(_, result)| result.err());
    others.into_iter().find(|other| other.kind() != Kind::Bug).unwrap_or(error)
}

/// Waits for all threads to end, for a while; whether they did.
fn join(ends: &Receiver<End>, threads: Vec<JoinHandle<()>>) -> bool {
    let since = Stopwatch::start();
    while threads.iter().any(|thread| !thread.is_finished()) {
        if END_TIMEOUT < since.elapsed() {
            tracing::warn!("some threads did not end in time");
            return false;
        }
        let _ = ends.recv_timeout(LOOK);
    }
    threads.into_iter().for_each(|thread| drop(thread.join()));
    true
}
