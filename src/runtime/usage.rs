//! What the process takes from the machine, as Linux tells it.

use std::time::Duration;

/// `USER_HZ`: the unit of times in `/proc`, 100 on every Linux that Rust runs on.
const TICKS_PER_SECOND: u64 = 100;

/// Used by the whole process.
pub(super) struct Usage {
    pub resident_bytes: u64,
    pub cpu: Duration,
    pub threads: u64,
    pub open_files: u64,
}

/// Usage now; `None` where there is no `/proc`.
pub(super) fn usage() -> Option<Usage> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let files = std::fs::read_dir("/proc/self/fd").ok()?.count();
    Some(Usage {
        resident_bytes: field(&status, "VmRSS:")? * 1_024,
        cpu: cpu(&stat)?,
        threads: field(&status, "Threads:")?,
        open_files: u64::try_from(files).ok()?,
    })
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// User and system time; the fields are counted from behind the name, which may hold blanks.
fn cpu(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_where_linux_puts_them() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 5 0 0 0 250 50 0 0 20 0 3 0 1 2 3";
        assert_eq!(cpu(stat), Some(Duration::from_secs(3)));
        assert_eq!(field("Name:\tx\nVmRSS:\t  12 kB\nThreads:\t3\n", "VmRSS:"), Some(12));
    }
}
