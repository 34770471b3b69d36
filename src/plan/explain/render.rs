//! An explanation as text.

use std::fmt::Write as _;

use super::{Detail, Explanation, Operator};

pub(super) fn text(explanation: &Explanation) -> String {
    let mut out = format!("{}\n\n", explanation.name);
    operator(&explanation.root, 0, &mut out);
    out.push('\n');
    details(&explanation.job, "", &mut out);
    for note in &explanation.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

/// Each operator hangs below the one that reads it; on the edge stand the kinds of change that travel there.
fn operator(operator_: &Operator, depth: usize, out: &mut String) {
    let indent = "   ".repeat(depth.saturating_sub(1));
    let _ = match (depth, &operator_.emits) {
        (0, _) | (_, None) => write!(out, "{}", operator_.name),
        (_, Some(mode)) => write!(out, "{indent}└─ {mode} {}", operator_.name),
    };
    if let Some(table) = &operator_.table {
        let _ = write!(out, " {table}");
    }
    out.push('\n');
    let bar = if operator_.input.is_some() { "│" } else { " " };
    details(&operator_.details, &format!("{}{bar}    ", "   ".repeat(depth)), out);
    if let Some(input) = &operator_.input {
        operator(input, depth + 1, out);
    }
}

fn details(details: &[(&'static str, Detail)], indent: &str, out: &mut String) {
    for (name, detail) in details {
        let _ = match detail {
            Detail::One(text) => writeln!(out, "{indent}{name}: {text}"),
            Detail::Many(texts) if texts.len() == 1 => writeln!(out, "{indent}{name}: {}", texts.join("")),
            Detail::Many(texts) => {
                let _ = writeln!(out, "{indent}{name}:");
                texts.iter().try_for_each(|text| writeln!(out, "{indent}  {text}"))
            }
        };
    }
}
