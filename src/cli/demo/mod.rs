//! `lookaside demo`: the seed job on a broker and tables of its own, with nothing to install.
//!
//! It is the real job on the real path: `rdkafka`'s mock broker stands in for
//! Kafka (it speaks produce, consume and consumer groups), a SQLite file for
//! MySQL. A [`player`] tells a [`story`] of orders and changing dimension rows.

mod player;
mod stage;
mod story;
mod voice;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::clock::{Clock, Stopwatch};
use crate::config::Fault;
use crate::config::settings::{EffectiveSetting, Origin, Settings, effective};
use crate::error::{Error, Result};
use crate::http::{Server, Showing, Watch};
use crate::runtime::{Environment, Job, Shutdown, State};
use crate::telemetry::{LogFormat, install_log};

use super::output::{self, OutputFormat};
use super::{Exit, exit, run};
use player::Player;
use stage::Stage;
use voice::Voice;

/// Longest wait for the job to be ready before orders are placed anyway: the broker lets a new
/// group wait 3 s for more members.
const READY_MAX: Duration = Duration::from_secs(8);

/// How often it is looked whether the job is ready.
const LOOK: Duration = Duration::from_millis(20);

/// Run the order example on a broker and tables of its own: nothing to install.
///
/// Orders are placed, changed and cancelled, and the changelog goes to standard output; now and then a dimension row
/// changes, and the next order shows what that does. The page is for this machine alone, unless
/// LOOKASIDE__HTTP__ADDRESS says otherwise: in a container whose port is published, 0.0.0.0:8080.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::help(CODES))]
pub(super) struct Args {
    /// Orders per second.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: u32,
    /// End after so many seconds of orders; without it at Ctrl-C.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: Option<u64>,
    /// Port of the page and of /metrics; without it that of the settings, or a free one if it is taken.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
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
    let settings = match settings() {
        Ok(settings) => settings,
        Err(faults) => {
            output::faults(&faults, format);
            return Exit::Definition;
        }
    };
    match perform(args, &settings) {
        Ok(()) => Exit::Ok,
        Err(error) => output::error(&error, None, format),
    }
}

/// The settings of this process, with the address that a demo listens on.
fn settings() -> Result<Settings, Vec<Fault>> {
    let mut settings = Settings::load(None, &[])?;
    settings.http.address = unless_asked(settings.http.address, &effective(None, &[])?);
    Ok(settings)
}

/// The page has no login, and a demo is looked at where it runs: that a job listens on every address of its machine
/// by default, and in the settings file that comes along, is no reason to. The environment can ask for it.
fn unless_asked(address: SocketAddr, effective: &[EffectiveSetting]) -> SocketAddr {
    let from_environment = |setting: &EffectiveSetting| matches!(setting.origin, Origin::Variable(_));
    if effective.iter().any(|setting| setting.name == "http.address" && from_environment(setting)) {
        return address;
    }
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        chosen => chosen,
    };
    SocketAddr::new(ip, address.port())
}

fn perform(args: &Args, settings: &Settings) -> Result<()> {
    let problems = install_log(LogFormat::Text, "warn")?;
    let (voice, clock, shutdown) = (Voice, Clock::system(), Shutdown::on_signals()?);
    let io = run::io_runtime()?;
    let server = bind(args.port, settings.http.address)?;
    let page = shown(server.address());
    let stage = Stage::set(io.handle())?;
    let (plan, definition) = stage.plan()?;
    let client = plan.source.client.clone();
    let environment = Environment {
        clock: clock.clone(),
        runtime: io.handle().clone(),
        cores: run::cores(),
        drain_timeout: settings.shutdown.timeout,
        shutdown: shutdown.clone(),
    };
    let job = Arc::new(Job::new(plan, environment)?);
    let showing =
        Showing { definition, problems: problems.clone(), stall_timeout: settings.health.stall_timeout };
    let serving = server.start(Arc::new(Watch::new(Arc::clone(&job), clock.clone(), showing)))?;
    introduce(voice, &page, args);
    let stop = shutdown.clone();
    let player = Player {
        client,
        file: stage.file(),
        runtime: io.handle().clone(),
        clock,
        shutdown,
        voice,
        rate: args.rate,
        limit: args.seconds.map(Duration::from_secs),
    };
    let playing = play_beside(player, &job)?;
    let outcome = job.run();
    // A job that fails ends the story.
    stop.request();
    let sent = playing.join().map_err(|_| Error::bug("the thread that places orders panicked: see above"))?;
    let outcome = outcome.and(sent);
    if let Err(error) = &outcome {
        problems.end(&error.to_string());
    }
    serving.finish();
    io.shutdown_background();
    conclude(voice, &job, outcome?);
    Ok(())
}

/// The port that was asked for, else the usual one, else any.
fn bind(port: Option<u16>, usual: SocketAddr) -> Result<Server> {
    if let Some(port) = port {
        let bound = Server::bind(SocketAddr::new(usual.ip(), port));
        return bound.map_err(|error| Error::new(error.kind(), format!("{error}, or choose another --port")));
    }
    Server::bind(usual).or_else(|_| Server::bind(SocketAddr::new(usual.ip(), 0)))
}

/// An address that a browser on this machine can open.
fn shown(address: SocketAddr) -> String {
    let host = if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
    format!("http://{}/", SocketAddr::new(host, address.port()))
}

fn introduce(voice: Voice, page: &str, args: &Args) {
    let end = match args.seconds {
        Some(seconds) => format!("for {seconds} s"),
        None => "until Ctrl-C".to_owned(),
    };
    voice.say(&format!(
        "orders (upsert-kafka) -> normalize -> lookup users (hashed, cached 10 min) -> lookup regions (left, no cache) \
         -> print\nThe page: {}   definition: config/demo/order-enrichment.yaml\n\
         {} orders per second {end}; what follows on standard output is the changelog \
         [id, name, region, order_amount, description].\nJoining the consumer group takes 3 seconds ...\n",
        voice.loud(page),
        args.rate
    ));
}

/// Places orders once the job is ready; when the story is over, or fails, the job is asked to stop.
fn play_beside(player: Player, job: &Arc<Job>) -> Result<thread::JoinHandle<Result<u64>>> {
    let job = Arc::clone(job);
    let play = move || {
        let watch = Stopwatch::start();
        let ready = || job.board().source().state == State::Running;
        while !ready() && !player.shutdown.is_requested() && watch.elapsed() < READY_MAX {
            player.clock.sleep_blocking(LOOK);
        }
        let played = player.play();
        player.shutdown.request();
        played
    };
    let spawned = thread::Builder::new().name("orders".to_owned()).spawn(play);
    spawned.map_err(|error| Error::bug(format!("starting the thread that places orders: {error}")))
}

/// What came of it.
fn conclude(voice: Voice, job: &Job, sent: u64) {
    let (mut rows_out, mut asked) = (0, vec![(0, 0); job.plan().lookups.len()]);
    for counters in job.board().shards().iter().filter_map(|shard| shard.counters()) {
        rows_out += counters.rows_out.iter().sum::<u64>();
        for (sum, lookup) in asked.iter_mut().zip(&counters.lookups) {
            sum.0 += lookup.hits;
            sum.1 += lookup.hits + lookup.coalesced + lookup.misses;
        }
    }
    let mut text = format!("\n{sent} orders in, {rows_out} changes out");
    for ((lookup, (hits, all)), counts) in job.plan().lookups.iter().zip(asked).zip(job.statements().counts())
    {
        let (table, statements) = (&lookup.table, counts.statements);
        text.push_str(&format!("; {table}: {hits} of {all} lookups from the cache, {statements} statements"));
    }
    voice.say(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_listened_on_if_the_environment_asks_for_it() {
        let at = |address: &str, origin: Origin| {
            let setting = EffectiveSetting { name: "http.address".into(), value: address.into(), origin };
            unless_asked(address.parse().unwrap(), &[setting]).to_string()
        };
        let file = || Origin::File(crate::config::Span::file("config/settings.yaml"));
        assert_eq!(at("0.0.0.0:8080", Origin::Default), "127.0.0.1:8080");
        assert_eq!(at("[::]:8080", file()), "[::1]:8080");
        assert_eq!(at("10.1.2.3:8080", file()), "10.1.2.3:8080");
        let variable = Origin::Variable("LOOKASIDE__HTTP__ADDRESS".into());
        assert_eq!(at("0.0.0.0:8080", variable), "0.0.0.0:8080");
    }
}
