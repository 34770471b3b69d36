//! The report for people: aligned columns, a bar per shard, long lists cut.

use std::iter;

use crate::keygroup::{KeyGroups, Load};
use crate::model::ShardId;

use super::placing::{Placed, Report, busiest, hash_name};

/// Keys that are listed.
const KEYS_SHOWN: usize = 40;

/// Shards that are listed.
const SHARDS_SHOWN: usize = 64;

/// Characters of the longest bar.
const BAR_MAX: u64 = 40;

/// Characters of a key that are shown.
const KEY_WIDTH_MAX: usize = 48;

/// Blanks between columns.
const GAP: &str = "  ";

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    keys(report, &mut out);
    out.push('\n');
    shards(&report.placed, &mut out);
    out.push('\n');
    out.push_str(&summary(report));
    out.push_str("\n\n");
    settings(report, &mut out);
    out
}

fn keys(report: &Report, out: &mut String) {
    let Report { keys, placed, compared, .. } = report;
    let mut table = Table::new(&["key", "hash", "key group", "shard"]);
    for other in compared {
        table.head.push(format!("shard at {}", name(&other.groups)));
    }
    for (i, (key, placement)) in keys.iter().zip(&placed.placements).enumerate().take(KEYS_SHOWN) {
        let mut row = vec![
            shown(&keys.text(&key)),
            placement.hash.to_string(),
            placement.group.to_string(),
            placement.shard.0.to_string(),
        ];
        let places = compared.iter().filter_map(|other| other.placements.get(i));
        row.extend(places.map(|place| place.shard.0.to_string()));
        table.rows.push(row);
    }
    table.write(out);
    left_out(keys.len(), KEYS_SHOWN, "keys", out);
}

fn shards(placed: &Placed, out: &mut String) {
    let mut table = Table::new(&["shard", "key groups", "keys", ""]);
    let most = busiest(&placed.load).max(1);
    for (shard, keys) in (0_u16..).zip(&placed.load.keys).take(SHARDS_SHOWN) {
        let range = placed.groups.range(ShardId(shard));
        let length = (keys * BAR_MAX).div_ceil(most);
        let bar = "█".repeat(usize::try_from(length).unwrap_or(0));
        let range = format!("{}-{}", range.first, range.last);
        table.rows.push(vec![shard.to_string(), range, keys.to_string(), bar]);
    }
    table.bars = true;
    table.write(out);
    left_out(placed.load.keys.len(), SHARDS_SHOWN, "shards", out);
}

/// The skew, in a sentence with what it is made of.
fn summary(report: &Report) -> String {
    let Report { keys, key_hash, placed, .. } = report;
    let (shards, load) = (placed.load.keys.len(), &placed.load);
    let mean = keys.len() as f64 / shards as f64;
    let cut = if keys.cut { " (the limit: there are more)" } else { "" };
    format!(
        "{} keys{cut} from {}, key-hash {}, {}\n\
         skew {:.2}: {} keys on the busiest shard, {mean:.2} on average; {} of {shards} shards idle",
        keys.len(),
        keys.origin,
        hash_name(*key_hash),
        name_in_full(&placed.groups),
        load.skew,
        busiest(load),
        load.idle,
    )
}

/// This setting, those to compare with, and the best ones nearby.
fn settings(report: &Report, out: &mut String) {
    let mut table = Table::new(&["setting", "parallelism", "max-parallelism", "skew", "busiest", "idle"]);
    let mut add = |what: &str, groups: &KeyGroups, load: &Load| {
        table.rows.push(vec![
            what.to_owned(),
            groups.parallelism().to_string(),
            groups.max_parallelism().to_string(),
            format!("{:.2}", load.skew),
            busiest(load).to_string(),
            load.idle.to_string(),
        ]);
    };
    add("this", &report.placed.groups, &report.placed.load);
    report.compared.iter().for_each(|other| add("compared", &other.groups, &other.load));
    report.suggestions.iter().for_each(|better| add("better", &better.groups, &better.load));
    table.write(out);
    if report.suggestions.is_empty() {
        out.push_str("No setting nearby spreads these keys better.\n");
    }
}

fn name(groups: &KeyGroups) -> String {
    format!("{}:{}", groups.parallelism(), groups.max_parallelism())
}

fn name_in_full(groups: &KeyGroups) -> String {
    format!("parallelism {}, max-parallelism {}", groups.parallelism(), groups.max_parallelism())
}

fn left_out(total: usize, shown: usize, what: &str, out: &mut String) {
    if shown < total {
        out.push_str(&format!("… and {} more {what}; --output json lists all\n", total - shown));
    }
}

/// A key on one line of bounded width: control characters would break the columns.
fn shown(key: &str) -> String {
    let mut text: String =
        key.chars().take(KEY_WIDTH_MAX).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if key.chars().nth(KEY_WIDTH_MAX).is_some() {
        text.push('…');
    }
    text
}

/// Columns that are as wide as their widest cell: the first to the left, the others to the right.
struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The last column is of bars, to the left.
    bars: bool,
}

impl Table {
    fn new(head: &[&str]) -> Self {
        let head = head.iter().map(|name| (*name).to_owned()).collect();
        Self { head, rows: Vec::new(), bars: false }
    }

    fn write(&self, out: &mut String) {
        let width = |column: usize| {
            let cells = self.rows.iter().chain(iter::once(&self.head)).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        for row in iter::once(&self.head).chain(&self.rows) {
            let mut line = String::new();
            for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let left = i == 0 || self.bars && i + 1 == row.len();
                let gap = if i == 0 { "" } else { GAP };
                line.push_str(gap);
                line.push_str(&if left { format!("{cell:<width$}") } else { format!("{cell:>width$}") });
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
}
