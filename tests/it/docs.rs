//! Every code block of `README.md` and `docs/` is run or validated; one that nobody checks fails the test.
//!
//! | language | what is done |
//! |---|---|
//! | `yaml` | a definition goes through `validate`, a case (`steps:`) through `test`, a piece of a definition is wrapped into one, settings are read as settings |
//! | `sh` | commands of `lookaside` are run, or, where they need a server or a file of the reader's, their arguments are parsed; other commands are on a list, each with its reason |
//! | `console` | `$ command` is run and must print what follows |
//! | `text` | a figure, or, right behind an `sh` block, what that block prints |
//! | `sql`, `json` | parsed |
//!
//! What cannot be checked is in [`UNCHECKED`], each with its reason. Generated parts are the business of `reference`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use sqlparser::dialect::{GenericDialect, MySqlDialect};
use sqlparser::parser::Parser;

/// Blocks that are not checked: file, how the block begins, and why.
const UNCHECKED: &[(&str, &str, &str)] = &[
    (
        "docs/testing.md",
        "$ lookaside test cases/",
        "what a case that is not met looks like: it is not in the repository",
    ),
    (
        "README.md",
        "CREATE TABLE orders",
        "Flink's temporal join is no standard SQL, and no parser at hand knows it",
    ),
    ("README.md", "order of user 6 placed", "the demo's orders come from chance; tests/it/demo.rs runs it"),
    (
        "docs/troubleshooting.md",
        "error: table orders",
        "the form of a line; tests/it/bad_input.rs has whole ones",
    ),
    ("docs/operations.md", "$ lookaside explain", "its output is a page long and has tests of its own"),
    ("docs/operations.md", "$ KAFKA=", "it needs servers; tests/it/examples.rs runs the example"),
    ("docs/operations.md", "$ curl", "it asks a running job; tests/it/health.rs does"),
];

/// Commands of `sh` blocks that are not run, by how they begin, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("helm ", "it needs a cluster; tests/chart/test_documents.py renders what `helm install` names"),
    ("kubectl ", "it needs a cluster"),
    ("make build", "this test is a part of the build"),
    ("make test", "this test is a part of it"),
    ("make demo", "the demo has tests of its own"),
    ("make bench", "it takes minutes; the workload has tests of its own"),
    ("curl ", "it asks a running job; tests/it/health.rs does"),
    ("kafka-consumer-groups.sh", "Kafka's own tool"),
];

/// `lookaside` commands that end by themselves and need nothing but the repository.
const RUNNABLE: [&str; 9] =
    ["validate", "explain", "schema", "config", "keygroups", "test", "completions", "version", "init"];

/// One fenced block.
#[derive(Debug)]
struct Block {
    file: String,
    line: usize,
    language: String,
    /// Blanks in front of the fence.
    indent: String,
    text: String,
    /// The block before it, if little stands between them.
    before: Option<(String, String)>,
}

impl Block {
    fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("docs") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
}

/// Lines between two blocks that still belong together: a sentence.
const BETWEEN_MAX: usize = 4;

fn blocks(path: &Path) -> Vec<Block> {
    let text = fs::read_to_string(path).expect("page");
    let (mut found, mut open, mut generated): (Vec<Block>, Option<Block>, bool) = (Vec::new(), None, false);
    let mut last: Option<(usize, String, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (Some(_), Some("")) => {
                let block = open.take().expect("open");
                last = Some((number, block.language.clone(), block.text.clone()));
                found.push(block);
            }
            // A block inside a list is indented as a whole.
            (Some(block), _) => {
                let line = line.strip_prefix(&*block.indent).unwrap_or(line);
                block.text.push_str(&format!("{line}\n"));
            }
            (None, Some(language)) if !generated => {
                let before = last.take().filter(|(end, ..)| number - end <= BETWEEN_MAX);
                open = Some(Block {
                    file: path.display().to_string(),
                    line: number,
                    language: language.trim().to_owned(),
                    indent: line.chars().take_while(|c| *c == ' ').collect(),
                    text: String::new(),
                    before: before.map(|(_, language, text)| (language, text)),
                });
            }
            (None, _) if line.starts_with("<!-- generated:") => generated = true,
            (None, _) if line.starts_with("<!-- end -->") => generated = false,
            (None, _) => {}
        }
    }
    assert!(open.is_none(), "{}: a block does not end", path.display());
    found
}

#[test]
fn every_code_block_is_checked() {
    let mut paths = vec![PathBuf::from("README.md")];
    pages(Path::new("docs"), &mut paths);
    let blocks: Vec<Block> = paths.iter().flat_map(|path| blocks(path)).collect();
    assert!(5 < blocks.len(), "{blocks:?}");
    let listed = |block: &Block, (file, begin, _): &(&str, &str, &str)| {
        block.file == *file && block.text.trim_start().starts_with(begin)
    };
    let mut faults: Vec<String> = Vec::new();
    for block in &blocks {
        if UNCHECKED.iter().any(|entry| listed(block, entry)) {
            continue;
        }
        if let Err(fault) = check(block) {
            faults.push(format!("{}: {fault}", block.place()));
        }
    }
    for entry in UNCHECKED {
        assert!(!entry.2.is_empty(), "{entry:?} has no reason");
        if !blocks.iter().any(|block| listed(block, entry)) {
            faults.push(format!("tests/it/docs.rs: UNCHECKED names a block that is not there: {entry:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn check(block: &Block) -> Result<(), String> {
    match block.language.as_str() {
        "yaml" => yaml(&block.text),
        "sh" => shell(&block.text).map(drop),
        "console" => console(&block.text),
        "text" => figure_or_output(block),
        "sql" => sql(&block.text),
        "json" => serde_json::from_str::<serde_json::Value>(&block.text)
            .map(drop)
            .map_err(|error| error.to_string()),
        other => Err(format!(
            "nothing checks blocks of language '{other}': use yaml, sh, console, text, sql or json, teach \
             tests/it/docs.rs, or list the block in UNCHECKED with the reason"
        )),
    }
}

fn lookaside(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("lookaside runs");
    // A command that reads no input has closed it.
    let _ = child.stdin.take().expect("input").write_all(input.as_bytes());
    child.wait_with_output().expect("lookaside ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeed(arguments: &[&str], input: &str) -> Result<String, String> {
    let output = lookaside(arguments, input);
    match output.status.code() {
        Some(0) => Ok(text(&output.stdout)),
        code => {
            Err(format!("{arguments:?} ends with {code:?}: {}{}", text(&output.stdout), text(&output.stderr)))
        }
    }
}

/// A definition whose parts a piece can replace.
const WHOLE: &str = "name: piece
tables:
  orders:
    connector: upsert-kafka
    topic: orders
    properties.bootstrap.servers: localhost:9092
    key.format: json
    value.format: json
    columns: [order_id BIGINT NOT NULL, customer_id BIGINT, user_id BIGINT, amount BIGINT, PRIMARY KEY (order_id) NOT ENFORCED]
  users:
    connector: mysql
    url: mysql://localhost:3306/shop
    table-name: users
    columns: [id BIGINT, name STRING]
  enriched: {connector: print}
pipeline:
  from: orders
  lookup: [{table: users, as: u, condition: u.id = orders.user_id}]
  select: [orders.order_id, u.name]
  into: enriched
";

fn yaml(block: &str) -> Result<(), String> {
    let has = |key: &str| block.lines().any(|line| line.starts_with(&format!("{key}:")));
    // References to secrets lead to files of the reader's.
    let secrets = regex::Regex::new(r"\$\{file:[^}]*\}").expect("pattern");
    let block = &*secrets.replace_all(block, "secret");
    if has("steps") {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("case.yaml");
        fs::write(&path, block).expect("case");
        return succeed(&["test", path.to_str().expect("path")], "").map(drop);
    }
    if has("tables") && has("pipeline") {
        return succeed(&["validate", "-"], block).map(drop);
    }
    if ["http", "log", "shutdown"].iter().any(|group| has(group)) {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("settings.yaml");
        fs::write(&path, block).expect("settings");
        return succeed(&["config", "--settings", path.to_str().expect("path")], "").map(drop);
    }
    if ["tables", "pipeline", "options"].iter().any(|part| has(part)) {
        return succeed(&["validate", "-"], &with_parts(block)).map(drop);
    }
    Err("this is neither a definition, a part of one (tables, pipeline, options), a case nor settings"
        .to_owned())
}

/// [`WHOLE`] with the parts that `piece` has in place of its own; tables are added.
fn with_parts(piece: &str) -> String {
    let split = |text: &str| {
        let mut parts: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            match (line.starts_with(|c: char| c.is_alphabetic()), parts.last_mut()) {
                (false, Some((_, body))) => body.push_str(&format!("{line}\n")),
                (false, None) => {}
                (true, _) => {
                    let name = line.split(':').next().unwrap_or_default().to_owned();
                    parts.push((name, format!("{line}\n")));
                }
            }
        }
        parts
    };
    let mut whole = split(WHOLE);
    for (name, body) in split(piece) {
        match whole.iter_mut().find(|(known, _)| *known == name) {
            Some((_, own)) if name == "tables" => {
                let added = body.split_once('\n').map_or("", |(_, rest)| rest);
                // A table of the same name is the piece's.
                let names: Vec<String> = added
                    .lines()
                    .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
                    .map(|line| line.trim().split(':').next().unwrap_or_default().to_owned())
                    .collect();
                let (mut kept, mut keep) = (String::new(), true);
                for line in own.lines() {
                    if line.starts_with("  ") && !line.starts_with("   ") {
                        let name = line.trim().split(':').next().unwrap_or_default();
                        keep = !names.iter().any(|known| known == name);
                    }
                    if keep {
                        kept.push_str(&format!("{line}\n"));
                    }
                }
                *own = kept + added;
            }
            Some((_, own)) => *own = body,
            None => whole.push((name, body)),
        }
    }
    whole.into_iter().map(|(_, body)| body).collect()
}

/// Runs the commands of a block and gives what they print.
fn shell(block: &str) -> Result<String, String> {
    let joined = block.replace("\\\n", " ");
    let mut printed = String::new();
    for line in joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        printed.push_str(&command(line)?);
    }
    Ok(printed)
}

fn command(line: &str) -> Result<String, String> {
    if NOT_RUN.iter().any(|(begin, _)| line.starts_with(begin)) {
        return Ok(String::new());
    }
    let line = line.split(" #").next().unwrap_or_default();
    let mut words: Vec<&str> = line.split_whitespace().collect();
    // Variables before a command.
    while words.first().is_some_and(|word| word.contains('=') && !word.starts_with('-')) {
        words.remove(0);
    }
    let Some((program, arguments)) = words.split_first() else { return Ok(String::new()) };
    if !program.ends_with("lookaside") {
        return Err(format!(
            "nothing runs '{line}': list it in NOT_RUN of tests/it/docs.rs with the reason, or leave it out"
        ));
    }
    let plain = !line.contains(['|', '>', '<', '"', '\'', '$']);
    let name = arguments.first().copied().unwrap_or_default();
    let files_exist = arguments
        .iter()
        .filter(|word| word.ends_with(".yaml") || word.ends_with('/'))
        .all(|word| Path::new(word).exists());
    if plain && RUNNABLE.contains(&name) && files_exist {
        let folder = tempfile::tempdir().expect("folder");
        // What writes a file does so elsewhere.
        if name == "init" {
            let output = Command::new(env!("CARGO_BIN_EXE_lookaside"))
                .args(arguments)
                .current_dir(folder.path())
                .output();
            let output = output.expect("lookaside runs");
            return if output.status.success() {
                Ok(text(&output.stdout))
            } else {
                Err(text(&output.stderr))
            };
        }
        return succeed(arguments, "");
    }
    let words = line_words(line);
    let words = words.iter().skip_while(|word| !word.ends_with("lookaside"));
    let parsed = lookaside::cli::command().try_get_matches_from(words);
    for definition in arguments.iter().filter(|word| word.starts_with("config/") && word.ends_with(".yaml")) {
        succeed(&["validate", definition], "")?;
    }
    match parsed {
        Ok(_) => Ok(String::new()),
        Err(error) if !error.use_stderr() => Ok(String::new()),
        Err(error) => Err(format!("'{line}' is no command line: {error}")),
    }
}

/// The words of a command, quotes taken away, up to a pipe or redirection.
fn line_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote): (Vec<String>, String, Option<char>) =
        (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (quote, c) {
            (None, '|' | '>' | '<') => break,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, c) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// `$ command`, then what it prints.
fn console(block: &str) -> Result<(), String> {
    let mut expected = String::new();
    let mut printed = String::new();
    for line in block.lines() {
        match line.strip_prefix("$ ") {
            Some(line) => printed.push_str(&command(line)?),
            None => expected.push_str(&format!("{line}\n")),
        }
    }
    same(&expected, &printed)
}

fn same(expected: &str, printed: &str) -> Result<(), String> {
    let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    if trimmed(expected.trim_end()) == trimmed(printed.trim_end()) {
        return Ok(());
    }
    Err(format!("it prints something else:\n--- documented\n{expected}--- printed\n{printed}"))
}

/// Characters that figures are drawn with.
const DRAWN: [char; 8] = ['─', '│', '└', '▶', '▼', '┌', '→', '⟶'];

fn figure_or_output(block: &Block) -> Result<(), String> {
    if let Some((language, commands)) = &block.before
        && language == "sh"
    {
        return same(&block.text, &shell(commands)?);
    }
    match block.text.contains(DRAWN) {
        true => Ok(()),
        false => Err("this is no figure, and no command stands before it that prints it".to_owned()),
    }
}

fn sql(block: &str) -> Result<(), String> {
    let generic = Parser::parse_sql(&GenericDialect {}, block);
    generic
        .or_else(|_| Parser::parse_sql(&MySqlDialect {}, block))
        .map(drop)
        .map_err(|error| error.to_string())
}

#[test]
fn a_block_that_nobody_checks_is_a_fault() {
    let block = |language: &str, text: &str| Block {
        file: "page.md".to_owned(),
        line: 1,
        language: language.to_owned(),
        indent: String::new(),
        text: text.to_owned(),
        before: None,
    };
    for (language, text) in [
        ("", "something"),
        ("python", "print(1)"),
        ("text", "just words"),
        ("sh", "rm -rf build"),
        ("sh", "lookaside valdate job.yaml"),
        ("sh", "lookaside run job.yaml --no-such-flag"),
        ("yaml", "a: b\n"),
        ("yaml", "options:\n  paralelism: 4\n"),
        ("sql", "SELEC 1"),
        ("json", "{"),
        ("console", "$ lookaside validate config/examples/pageviews-csv.yaml\nsomething else\n"),
    ] {
        assert!(check(&block(language, text)).is_err(), "{language}: {text}");
    }
    for (language, text) in [
        ("yaml", "options:\n  parallelism: 4\n"),
        ("yaml", "log:\n  level: debug\n"),
        ("sh", "lookaside run job.yaml --http 127.0.0.1:8080   # a comment\n"),
        ("console", "$ lookaside validate config/examples/pageviews-csv.yaml\npageviews-csv: valid\n"),
    ] {
        assert_eq!(check(&block(language, text)), Ok(()), "{language}: {text}");
    }
}
