//! How long a record takes from the source topic to the sink topic at a steady rate.
//!
//! Both topics stamp records with the broker's own clock as they store them, so the difference of two stamps is the
//! contestant's doing and no clock of the harness takes part. Each record has an `amount` of its own, by which its
//! enriched twin is found.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::contestants::{self, Contestant, Job, Length, Running};
use super::orders::{Order, Orders, Users};
use super::settings::Settings;
use super::topics::{Broker, Writer};
use crate::Result;

/// Time to start up and to answer the first record.
const START_SECONDS: u64 = 120;
/// Time to finish once nothing more comes.
const DRAIN: Duration = Duration::from_secs(60);
/// Rows are written in groups that are due within this time, so that the harness leaves the cores to the others.
const TICK: Duration = Duration::from_millis(5);
/// The first part, in which caches are cold, is reported on its own: half of a shortened run, at most so long.
const COLD_SECONDS: u64 = 30;

/// Milliseconds from append to append.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Half of the records are faster, caches warm.
    pub p50: u64,
    /// One of a hundred is slower, caches warm.
    pub p99: u64,
    /// One of a hundred is slower in the first seconds, with an empty cache.
    pub cold_p99: u64,
    /// CPU time of the whole run over its length.
    pub cores: f64,
}

#[derive(Deserialize)]
struct Stamp {
    amount: f64,
}

/// Runs a contestant at the configured rate.
pub fn run(
    contestant: Contestant,
    settings: &Settings,
    broker: &Broker,
    users: &Users,
    label: &str,
) -> Result<Latency> {
    let (source, sink) = (format!("{label}-live-orders"), format!("{label}-live-enriched"));
    broker.create(&source, true)?;
    broker.create(&sink, true)?;
    let measured = drive(contestant, settings, broker, users, (&source, &sink));
    broker.delete(&source)?;
    broker.delete(&sink)?;
    measured
}

fn drive(
    contestant: Contestant,
    settings: &Settings,
    broker: &Broker,
    users: &Users,
    (source, sink): (&str, &str),
) -> Result<Latency> {
    let seconds = settings.latency_seconds;
    let length = Length::Seconds(seconds + START_SECONDS + DRAIN.as_secs() + 60);
    let job = Job { source, sink, label: "latency", length };
    let mut running = contestants::start(contestant, settings, &job)?;
    let rows = settings.latency_rate * seconds;
    let started = Instant::now();
    let mut orders = Orders::upserts(users, rows + 1).zip(1_u64..).map(number);
    // The first record is not measured: it tells when the contestant is up.
    let mut writer = Writer::new(broker, source, 0)?;
    if let Some(first) = orders.next() {
        writer.write(&first)?;
    }
    writer.finish()?;
    wait_for(broker, sink, 1, &mut running, Duration::from_secs(START_SECONDS))?;
    write_in_real_time(broker, source, orders, settings.latency_rate)?;
    wait_for(broker, sink, rows.cast_signed() + 1, &mut running, DRAIN)?;
    let lived = started.elapsed();
    let cost = running.stop()?;
    let delays = delays(broker, source, sink, rows as usize)?;
    let cold = COLD_SECONDS.min(seconds / 2) as i64 * 1000;
    let (mut warm, mut first): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    for (since_start, delay) in delays {
        if since_start < cold { first.push(delay) } else { warm.push(delay) }
    }
    Ok(Latency {
        p50: percentile(&mut warm, 50),
        p99: percentile(&mut warm, 99),
        cold_p99: percentile(&mut first, 99),
        cores: cost.cpu_s / lived.as_secs_f64(),
    })
}

/// Gives the record an amount that no other has.
fn number((mut order, nth): (Order, u64)) -> Order {
    if let Some(values) = &mut order.values {
        values.cents = nth;
    }
    order
}

fn wait_for(
    broker: &Broker,
    sink: &str,
    records: i64,
    running: &mut Running,
    patience: Duration,
) -> Result<()> {
    let started = Instant::now();
    loop {
        let appended = broker.appended(sink)?;
        if appended >= records {
            return Ok(());
        }
        if !running.is_alive()? || started.elapsed() > patience {
            let s = started.elapsed().as_secs();
            return Err(
                format!("latency run: {appended} of {records} records in the sink after {s} s").into()
            );
        }
        sleep(Duration::from_millis(200));
    }
}

fn write_in_real_time(
    broker: &Broker,
    topic: &str,
    orders: impl Iterator<Item = Order>,
    rate: u64,
) -> Result<()> {
    let mut writer = Writer::new(broker, topic, 1)?;
    let started = Instant::now();
    for (row, order) in (0_u64..).zip(orders) {
        let due = Duration::from_micros(row * 1_000_000 / rate);
        while started.elapsed() < due {
            writer.tend();
            sleep(TICK);
        }
        writer.write(&order)?;
    }
    let late = started.elapsed();
    writer.finish()?;
    println!("  latency run: written in {:.1} s", late.as_secs_f64());
    Ok(())
}

/// For each record: when it was appended after the first one, and how much later its twin was, in milliseconds.
fn delays(broker: &Broker, source: &str, sink: &str, rows: usize) -> Result<Vec<(i64, u64)>> {
    let sent = stamps(broker, source, rows)?;
    let received = stamps(broker, sink, rows)?;
    // Place 1 is the record that told of the start.
    let pairs: Option<Vec<(i64, i64)>> =
        sent[2..].iter().zip(&received[2..]).map(|(a, b)| a.zip(*b)).collect();
    let pairs = pairs.ok_or("latency run: a record is missing in the sink")?;
    let first = pairs.iter().map(|(sent, _)| *sent).min().unwrap_or_default();
    Ok(pairs
        .into_iter()
        .map(|(sent, received)| (sent - first, (received - sent).max(0).cast_unsigned()))
        .collect())
}

/// The first append time of each amount.
fn stamps(broker: &Broker, topic: &str, rows: usize) -> Result<Vec<Option<i64>>> {
    let mut stamps = vec![None; rows + 2];
    broker.scan(topic, |record| {
        let Some(value) = record.value else { return Ok(()) };
        let stamp: Stamp = serde_json::from_slice(value)?;
        let slot =
            stamps.get_mut((stamp.amount * 100.0).round() as usize).ok_or("an amount that was never sent")?;
        slot.get_or_insert(record.time_ms);
        Ok(())
    })?;
    Ok(stamps)
}

fn percentile(delays: &mut [u64], percent: usize) -> u64 {
    delays.sort_unstable();
    let rank = (delays.len() * percent).div_ceil(100).max(1);
    delays.get(rank - 1).copied().unwrap_or_default()
}
