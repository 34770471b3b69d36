//! The order of `mod` lines in `src/lib.rs` is the layering: a module names only
//! itself and modules of groups above its own; modules of one group (no blank
//! line between them) never name each other. Files stop at 500 lines.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

const LINES_MAX: usize = 500;

/// Rank of each module: the number of its group.
fn ranks(lib: &str) -> HashMap<String, usize> {
    let mut ranks = HashMap::new();
    let mut group = 0;
    for line in lib.lines() {
        if line.trim().is_empty() {
            group += 1;
        } else if let Some(name) = module_name(line) {
            ranks.insert(name, group);
        }
    }
    ranks
}

fn module_name(line: &str) -> Option<String> {
    let rest = line.strip_prefix("pub ").unwrap_or(line);
    Some(rest.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
}

/// Faults of one file: `owner` names a module that is not above it.
fn faults_of(ranks: &HashMap<String, usize>, owner: &str, text: &str) -> Vec<String> {
    let Some(own) = ranks.get(owner) else { return Vec::new() };
    let named = crate_paths(&production_text(text));
    named
        .into_iter()
        .filter(|target| target != owner && ranks.get(target).is_some_and(|rank| own <= rank))
        .map(|target| format!("`{owner}` must not use `{target}`"))
        .collect()
}

/// Text without tests and comments.
fn production_text(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let code = text[..end].lines().map(|line| line.split("//").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}

/// First path segment after every `crate::`, also inside `crate::{a, b::c}`.
fn crate_paths(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => found.push(identifier(rest)),
            Some(group) => found.extend(group_members(group)),
        }
    }
    found
}

fn group_members(group: &str) -> Vec<String> {
    let (mut found, mut depth, mut at_start) = (Vec::new(), 0_usize, true);
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => at_start = true,
            c if at_start && !c.is_whitespace() => {
                found.push(identifier(&group[i..]));
                at_start = false;
            }
            _ => {}
        }
    }
    found
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).expect("source folder") {
        let path = entry.expect("folder entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn owner_of(file: &Path) -> String {
    let first = file.strip_prefix("src").ok().and_then(|rest| rest.components().next());
    first
        .map(|part| part.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned())
        .unwrap_or_default()
}

#[test]
fn modules_depend_upwards_only() {
    let ranks = ranks(&fs::read_to_string("src/lib.rs").expect("src/lib.rs"));
    let mut faults = Vec::new();
    for file in rust_files(Path::new("src")) {
        let text = fs::read_to_string(&file).expect("source file");
        for fault in faults_of(&ranks, &owner_of(&file), &text) {
            faults.push(format!("{}: {fault}", file.display()));
        }
        let lines = production_text(&text).lines().count();
        if LINES_MAX < lines {
            faults.push(format!("{}: {lines} production lines, limit {LINES_MAX}", file.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_backward_or_sideways_import_is_found() {
    let ranks = ranks("pub mod error;\n\npub mod decode;\npub mod encode;\n\npub mod cli;\n");
    let found = |text| faults_of(&ranks, "decode", text);
    assert!(found("use crate::error::Error;").is_empty());
    assert!(found("use crate::decode::json;").is_empty());
    assert_eq!(found("use crate::encode::json;"), ["`decode` must not use `encode`"]);
    assert_eq!(found("use crate::{error::Error, cli::Run};"), ["`decode` must not use `cli`"]);
}
