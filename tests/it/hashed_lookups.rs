//! What the document says of hashed lookups holds on a small stream, and in its table.

#[path = "../../benches/hashed_lookups/measure.rs"]
mod measure;
#[path = "../../benches/hashed_lookups/table.rs"]
#[expect(dead_code, reason = "the benchmark writes the document")]
mod table;

use crate::workload::random;
use lookaside::lookup::LookupCounters;

use measure::{Setting, Stream, measure};
use table::hit_rate;

const STREAM: Stream = Stream { rows: 12_000, users: 1_600, read: 100 };

fn run(shards: u16, hashed: bool, max_rows: u64) -> Vec<LookupCounters> {
    measure(Setting { shards, hashed, max_rows }, STREAM)
}

fn sum(counted: &[LookupCounters], of: impl Fn(&LookupCounters) -> u64) -> u64 {
    counted.iter().map(of).sum()
}

#[test]
fn every_row_asks_once() {
    for hashed in [false, true] {
        let counted = run(4, hashed, 160);
        let asked = sum(&counted, |counters| counters.hits + counters.coalesced + counters.misses);
        assert_eq!(asked, STREAM.rows, "hashed: {hashed}");
        assert_eq!(sum(&counted, |counters| counters.keys), sum(&counted, |counters| counters.misses));
    }
}

/// Of a table that fits, hashed shards hold one copy together, unhashed ones up to one each.
#[test]
fn a_hashed_key_is_cached_and_asked_for_once_per_replica() {
    let one = run(1, false, 1_000_000);
    let distinct = sum(&one, |counters| counters.cached);
    assert!(1_200 < distinct && distinct <= 1_600, "{distinct}");
    let hashed = run(8, true, 1_000_000);
    assert_eq!(sum(&hashed, |counters| counters.cached), distinct);
    assert_eq!(sum(&hashed, |counters| counters.keys), distinct);
    assert!(
        hashed.iter().all(|counters| counters.cached.abs_diff(distinct / 8) < distinct / 16),
        "{hashed:?}"
    );
    let unhashed = run(8, false, 1_000_000);
    assert!(distinct * 5 / 2 < sum(&unhashed, |counters| counters.cached), "{unhashed:?}");
}

/// Of a cache that is too small the same number of entries is shared, or shared out.
#[test]
fn a_full_cache_hits_as_often_as_in_one_shard_when_it_is_hashed() {
    let one = hit_rate(&run(1, false, 160));
    let hashed = run(8, true, 160);
    let unhashed = run(8, false, 160);
    assert_eq!(sum(&hashed, |counters| counters.cached), 160);
    assert_eq!(sum(&unhashed, |counters| counters.cached), 160);
    assert!((one - hit_rate(&hashed)).abs() < 0.03, "{one} and {}", hit_rate(&hashed));
    assert!(hit_rate(&unhashed) + 0.1 < hit_rate(&hashed), "{}", hit_rate(&unhashed));
}

/// The table that the benchmark wrote: 8 rows for each of two sizes; hashed rates do not depend on the shards.
#[test]
fn the_document_has_the_measured_table() {
    let document = std::fs::read_to_string("docs/hashed-lookups.md").unwrap();
    let rows: Vec<Vec<&str>> = document
        .lines()
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
        .filter(|cells| cells.get(2).is_some_and(|cell| ["true", "false"].contains(cell)))
        .collect();
    assert_eq!(rows.len(), 16, "run make bench");
    let rate = |row: &Vec<&str>| row[3].trim_end_matches(" %").parse::<f64>().unwrap();
    for size in rows.chunks(8) {
        let hashed: Vec<f64> = size.iter().filter(|row| row[2] == "true").map(rate).collect();
        let unhashed: Vec<f64> = size.iter().filter(|row| row[2] == "false").map(rate).collect();
        assert!(hashed.iter().all(|rate| (rate - hashed[0]).abs() < 1.5), "{hashed:?}");
        assert!(unhashed.windows(2).all(|pair| pair[1] < pair[0]), "{unhashed:?}");
    }
}
