//! Expected rows against what the sink was sent: in order per key, and a diff where they differ.

use std::collections::HashMap;

use super::case::{Expected, ExpectedRecord, ExpectedRow};
use super::output::{Form, Row, SentRecord, quoted, text_of};

/// What differs.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The diff.
    pub text: String,
    /// Rows that would be right.
    pub found: Vec<String>,
}

/// Pairs each expected row with the first equal one that is left; what stays unpaired differs. Where
/// `ordered`, paired rows of one key must stand in the same order on both sides.
#[must_use]
pub fn compare(expected: &[Expected], rows: &[Row], ordered: bool) -> Option<Difference> {
    let mut taken = vec![false; rows.len()];
    let mut pairs: Vec<Option<usize>> = Vec::with_capacity(expected.len());
    for wanted in expected {
        let found = (0..rows.len()).find(|&at| !taken[at] && equals(&wanted.row, &rows[at]));
        if let Some(at) = found {
            taken[at] = true;
        }
        pairs.push(found);
    }
    let mut lines = Vec::new();
    let mut last: HashMap<&[u8], usize> = HashMap::new();
    for (wanted, pair) in expected.iter().zip(&pairs) {
        match pair {
            None => lines.push(format!("  - missing: {}", show(&wanted.row))),
            Some(at) if ordered => {
                let key = rows[*at].key.as_slice();
                if last.insert(key, *at).is_some_and(|before| *at < before) {
                    lines.push(format!("  ! out of order: {}", show(&wanted.row)));
                }
            }
            Some(_) => {}
        }
    }
    let unexpected = rows.iter().zip(&taken).filter(|(_, taken)| !**taken);
    lines.extend(unexpected.map(|(row, _)| format!("  + unexpected: {}", row.line())));
    if lines.is_empty() {
        return None;
    }
    lines.insert(0, format!("{} rows expected, {} found", expected.len(), rows.len()));
    Some(Difference { text: lines.join("\n"), found: rows.iter().map(Row::line).collect() })
}

fn equals(expected: &ExpectedRow, row: &Row) -> bool {
    match (expected, &row.form) {
        (ExpectedRow::Line(line), Form::Typed(text, _)) => line == text,
        (ExpectedRow::Typed(kind, values), Form::Typed(_, found)) => *kind == row.kind && values == found,
        (ExpectedRow::Record(expected), Form::Record(found)) => same_record(expected, found),
        _ => false,
    }
}

fn same_record(expected: &ExpectedRecord, found: &SentRecord) -> bool {
    expected.key == found.key
        && expected.value == found.value
        && expected.timestamp.is_none_or(|timestamp| found.timestamp == Some(timestamp))
        && expected.headers.as_ref().is_none_or(|headers| *headers == found.headers)
}

fn show(expected: &ExpectedRow) -> String {
    match expected {
        ExpectedRow::Line(line) => line.clone(),
        ExpectedRow::Typed(kind, values) => {
            let values: Vec<&str> = values.iter().map(|value| value.as_deref().unwrap_or("null")).collect();
            format!("{{kind: {kind}, row: [{}]}}", values.join(", "))
        }
        ExpectedRow::Record(record) => {
            let value = record.value.as_deref().map(text_of);
            let (key, value) = (quoted(Some(&text_of(&record.key))), quoted(value.as_deref()));
            let mut text = format!("{{key: {key}, value: {value}");
            if let Some(timestamp) = record.timestamp {
                text.push_str(&format!(", timestamp: {timestamp}"));
            }
            if record.headers.is_some() {
                text.push_str(", headers: …");
            }
            text + "}"
        }
    }
}
