//! The process itself, from `/proc`: CPU, memory, threads, files. Elsewhere these metrics are left out.

use std::fs;

use crate::telemetry::{Sample, names};

/// Clock ticks per second in `/proc/self/stat`: 100 on every Linux that is in use (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// Adds what the system knows about this process.
pub(super) fn samples(samples: &mut Vec<Sample>) {
    if let Some((cpu, threads)) = stat() {
        samples.push(Sample::number(&names::CPU, [], cpu));
        samples.push(Sample::number(&names::THREADS, [], threads));
    }
    if let Some(bytes) = resident_bytes() {
        samples.push(Sample::number(&names::RESIDENT, [], bytes));
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        samples.push(Sample::count(&names::FDS, [], files.count() as u64));
    }
}

/// Seconds of user and system CPU.
pub(super) fn cpu_seconds() -> Option<f64> {
    stat().map(|(cpu, _)| cpu)
}

/// Seconds of user and system CPU, and the number of threads.
fn stat() -> Option<(f64, f64)> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program stands in parentheses and may hold blanks.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some(((number(11)? + number(12)?) / TICKS_PER_SECOND, number(17)?))
}

/// Resident memory.
pub(super) fn resident_bytes() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_uses_memory_and_threads() {
        let (cpu, threads) = stat().expect("/proc/self/stat");
        assert!(0.0 <= cpu && 1.0 <= threads);
        assert!(100_000.0 < resident_bytes().expect("/proc/self/status"));
    }
}
