//! Expected rows against what the sink was sent: in order per key, and a diff where they differ.

use std::collections::HashMap;

use crate::plan::Plan;

use super::case::{Expected, ExpectedRow};
use super::output::{Form, Row, compacted};

/// What differs.
#[derive(Clone, Debug)]
pub struct Difference {
    lines: Vec<String>,
    replacement: Vec<String>,
}

impl Difference {
    /// The diff as one text, and the lines that would be right.
    #[must_use]
    pub fn into_parts(self) -> (String, Option<Vec<String>>) {
        (self.lines.join("\n"), Some(self.replacement))
    }
}

/// Compares a changelog in order per key.
#[must_use]
pub fn compare(plan: &Plan, expected: &[Expected], rows: &[Row]) -> Option<Difference> {
    let ordered = plan.normalize.is_some();
    difference(expected, rows, ordered)
}

/// Compares the compacted view.
#[must_use]
pub fn compare_view(_plan: &Plan, expected: &[Expected], rows: &[Row]) -> Option<Difference> {
    difference(expected, &compacted(rows), false)
}

/// Pairs each expected row with the first equal one that is left; what stays unpaired differs. Paired
/// rows of one key must stand in the same order on both sides.
fn difference(expected: &[Expected], rows: &[Row], ordered: bool) -> Option<Difference> {
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
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (wanted, pair) in expected.iter().zip(&pairs) {
        match pair {
            None => lines.push(format!("  - missing: {}", show(&wanted.row))),
            Some(at) if ordered => {
                let key = rows[*at].key.as_str();
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
    Some(Difference { lines, replacement: rows.iter().map(Row::line).collect() })
}

fn equals(expected: &ExpectedRow, row: &Row) -> bool {
    match (expected, &row.form) {
        (ExpectedRow::Line(line), Form::Typed(text, _)) => line == text,
        (ExpectedRow::Typed(kind, values), Form::Typed(_, found)) => *kind == row.kind && values == found,
        (ExpectedRow::Record(key, value), Form::Record(found_key, found_value)) => {
            key == found_key && value == found_value
        }
        _ => false,
    }
}

fn show(expected: &ExpectedRow) -> String {
    match expected {
        ExpectedRow::Line(line) => line.clone(),
        ExpectedRow::Typed(kind, values) => {
            let values: Vec<&str> = values.iter().map(|value| value.as_deref().unwrap_or("null")).collect();
            format!("{{kind: {kind}, row: [{}]}}", values.join(", "))
        }
        ExpectedRow::Record(key, value) => {
            format!(
                "{{key: '{key}', value: {}}}",
                value.as_ref().map_or("null".to_owned(), |value| format!("'{value}'"))
            )
        }
    }
}
