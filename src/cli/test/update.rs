//! `--update`: rewrites the expectations of a case file with what was found.

use std::path::Path;
use std::{fs, io};

use super::Verdict;
use super::run::{Failure, Replacement};

/// Rewrites every expectation that was not met and can be; false if there is none.
pub(super) fn rewrite(path: &Path, verdict: &Verdict) -> io::Result<bool> {
    let Verdict::Failed(failures) = verdict else { return Ok(false) };
    if failures.iter().all(|failure| failure.replacement.is_none()) {
        return Ok(false);
    }
    let text = fs::read_to_string(path)?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for failure in failures.iter().rev() {
        replace(&mut lines, failure);
    }
    fs::write(path, lines.join("\n") + "\n")?;
    Ok(true)
}

/// Replaces the block that begins at the failure's line and ends before the next step.
fn replace(lines: &mut Vec<String>, failure: &Failure) {
    let Some(replacement) = &failure.replacement else { return };
    let begin = failure.fault.span.line as usize;
    let Some(first) = begin.checked_sub(1).and_then(|at| lines.get(at)).cloned() else { return };
    let indent: String = first.chars().take_while(|c| c.is_whitespace()).collect();
    let step = format!("{indent}- ");
    let inside =
        |line: &&String| !line.starts_with(&step) && (line.starts_with(' ') || line.trim().is_empty());
    let end = begin + lines[begin..].iter().take_while(inside).count();
    let name = first.trim_start().trim_start_matches("- ").split(':').next().unwrap_or("expect").to_owned();
    let block = match replacement {
        Replacement::Inline(map) => vec![format!("{step}{name}: {map}")],
        Replacement::Rows(rows) if rows.is_empty() => vec![format!("{step}{name}: []")],
        Replacement::Rows(rows) => {
            let rows = rows.iter().map(|row| format!("{indent}  - {row}"));
            std::iter::once(format!("{step}{name}:")).chain(rows).collect()
        }
    };
    lines.splice(begin - 1..end, block);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Fault, Span};

    #[test]
    fn a_block_is_replaced_up_to_the_next_step() {
        let text = "steps:\n- src:\n  - {key: a}\n- expect:\n  - +I[1]\n  - +I[2]\n- advance: 1 s\n";
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let span = Span { file: "case.yaml".into(), line: 4, column: 3 };
        let replacement = Some(Replacement::Rows(vec!["+I[3]".to_owned()]));
        replace(&mut lines, &Failure { step: 1, fault: Fault::new(&span, "differs"), replacement });
        assert_eq!(lines.join("\n"), "steps:\n- src:\n  - {key: a}\n- expect:\n  - +I[3]\n- advance: 1 s");
    }
}
