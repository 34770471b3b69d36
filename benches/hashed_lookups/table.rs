//! The figures as a Markdown table, and where it goes in the document.

use std::fmt::Write as _;
use std::{fs, io};

use lookaside::lookup::LookupCounters;

use super::measure::Setting;

const BEGIN: &str = "<!-- measured:begin -->";
const END: &str = "<!-- measured:end -->";

/// The table of one cache size.
pub fn table(max_rows: u64, users: u32, runs: &[(Setting, Vec<LookupCounters>)]) -> String {
    let mut text = format!(
        "\nUp to {} cached keys per replica, of {} users:\n\n",
        thousands(max_rows),
        thousands(users.into())
    );
    text.push_str("| shards | `lookup.enable_hash` | hit rate | cached keys | per shard | statements | per shard | keys asked |\n");
    text.push_str("|---:|---|---:|---:|---:|---:|---:|---:|\n");
    for (Setting { shards, hashed, .. }, counted) in runs {
        let cached = |counters: &LookupCounters| counters.cached;
        let statements = |counters: &LookupCounters| counters.statements;
        let _ = writeln!(
            text,
            "| {shards} | {hashed} | {:.1} % | {} | {} | {} | {} | {} |",
            100.0 * hit_rate(counted),
            thousands(counted.iter().map(cached).sum()),
            range(counted.iter().map(cached)),
            thousands(counted.iter().map(statements).sum()),
            range(counted.iter().map(statements)),
            thousands(counted.iter().map(|counters| counters.keys).sum()),
        );
    }
    text
}

/// Rows answered by a cache entry, of all that asked.
pub fn hit_rate(counted: &[LookupCounters]) -> f64 {
    let hits: u64 = counted.iter().map(|counters| counters.hits).sum();
    let others: u64 = counted.iter().map(|counters| counters.coalesced + counters.misses).sum();
    hits as f64 / (hits + others).max(1) as f64
}

fn range(numbers: impl Iterator<Item = u64> + Clone) -> String {
    let (least, most) = (numbers.clone().min().unwrap_or(0), numbers.max().unwrap_or(0));
    if least == most { thousands(least) } else { format!("{} – {}", thousands(least), thousands(most)) }
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if 0 < at && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Puts the tables into the document.
///
/// # Errors
/// A document that cannot be read or written, or has no place for them.
pub fn publish(document: &str, tables: &str) -> io::Result<()> {
    let text = fs::read_to_string(document)?;
    let parts = text.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let (head, tail) = parts.ok_or_else(|| io::Error::other(format!("no {BEGIN} … {END}")))?;
    fs::write(document, format!("{head}{BEGIN}\n{tables}\n{END}{tail}"))
}
