//! The process itself, from `/proc`: CPU, memory, threads, files, start. Elsewhere these metrics are left out.

use std::fs;

use crate::telemetry::{Sample, names};

/// Clock ticks per second in `/proc/self/stat`: 100 on every Linux that is in use (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// Adds what the system knows about this process.
pub(super) fn samples(samples: &mut Vec<Sample>) {
    if let Some(stat) = Stat::read() {
        samples.push(Sample::number(&names::CPU, [], stat.cpu_seconds));
        samples.push(Sample::number(&names::THREADS, [], stat.threads));
        samples.push(Sample::number(&names::VIRTUAL, [], stat.virtual_bytes));
        let start = boot_seconds().map(|boot| boot + stat.started_after_boot);
        samples.extend(start.map(|start| Sample::number(&names::START, [], start)));
    }
    if let Some(bytes) = resident_bytes() {
        samples.push(Sample::number(&names::RESIDENT, [], bytes));
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        samples.push(Sample::count(&names::FDS, [], files.count() as u64));
    }
    samples.extend(files_max().map(|files| Sample::number(&names::FDS_MAX, [], files)));
}

/// Seconds of user and system CPU.
pub(super) fn cpu_seconds() -> Option<f64> {
    Stat::read().map(|stat| stat.cpu_seconds)
}

/// What stands in `/proc/self/stat`.
struct Stat {
    /// User and system time.
    cpu_seconds: f64,
    threads: f64,
    started_after_boot: f64,
    virtual_bytes: f64,
}

impl Stat {
    fn read() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program stands in parentheses and may hold blanks.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
        Some(Self {
            cpu_seconds: (number(11)? + number(12)?) / TICKS_PER_SECOND,
            threads: number(17)?,
            started_after_boot: number(19)? / TICKS_PER_SECOND,
            virtual_bytes: number(20)?,
        })
    }
}

/// When the system started, in seconds since 1970.
fn boot_seconds() -> Option<f64> {
    number_after(&fs::read_to_string("/proc/stat").ok()?, "btime")
}

/// Resident memory.
pub(super) fn resident_bytes() -> Option<f64> {
    let kilobytes = number_after(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")?;
    Some(kilobytes * 1024.0)
}

/// The soft limit; none where there is no limit.
fn files_max() -> Option<f64> {
    number_after(&fs::read_to_string("/proc/self/limits").ok()?, "Max open files")
}

/// The number right after the words that a line begins with.
fn number_after(text: &str, begin: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(begin))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_uses_memory_and_threads_and_has_begun() {
        let stat = Stat::read().expect("/proc/self/stat");
        assert!(0.0 <= stat.cpu_seconds && 1.0 <= stat.threads);
        let resident = resident_bytes().expect("/proc/self/status");
        assert!(100_000.0 < resident && resident < stat.virtual_bytes);
        let start = boot_seconds().expect("/proc/stat") + stat.started_after_boot;
        let age = Clock::system().now() as f64 / 1000.0 - start;
        assert!((-2.0..3600.0).contains(&age), "started {age} s ago");
        assert!(files_max().is_none_or(|files| 3.0 <= files));
    }
}
