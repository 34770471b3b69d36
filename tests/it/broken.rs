//! Broken definitions as a user meets them: `tests/broken/*.yaml`, each with what the program says beside it.
//!
//! The first line of each says which command is run, by the real binary; definitions that begin with
//! `live` or `run` meet the real broker and database. `UPDATE_EXPECTED=1` writes the texts anew; read
//! the difference before committing it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::database::Database;
use crate::replica::free_port;
use crate::stack;
use crate::topic::{self, Writer};

/// Never to be seen in anything that is printed.
const PASSWORD: &str = "c4n4ry-pa55";

fn definitions(live: bool) -> Vec<PathBuf> {
    let folder = fs::read_dir("tests/broken").expect("tests/broken");
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.expect("entry").path()).collect();
    paths.retain(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_live = name.starts_with("live-") || name.starts_with("run-");
        path.extension().is_some_and(|extension| extension == "yaml") && is_live == live
    });
    paths.sort();
    paths
}

/// `# lookaside validate: …`
fn command_of(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("definition");
    let first = text.lines().next().unwrap_or_default();
    let command = first.strip_prefix("# lookaside ").and_then(|rest| rest.split_once(':'));
    command.unwrap_or_else(|| panic!("{}: the first line names no command", path.display())).0.to_owned()
}

/// What the program prints, and how it ends, with `names` in place of what differs from run to run.
fn said(path: &Path, environment: &[(&str, &str)], names: &[(String, &str)]) -> String {
    let command = command_of(path);
    let output = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .arg(&command)
        .arg(path)
        .args((command == "check").then_some("--timeout=3s"))
        .args((command == "run").then(|| format!("--http=127.0.0.1:{}", free_port())))
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("lookaside runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (out, mut err) = (text(output.stdout), text(output.stderr));
    assert!(!out.contains(PASSWORD) && !err.contains(PASSWORD), "{out}{err}");
    if command == "run" {
        // The log stands before it, with times.
        err =
            err.lines().filter(|line| line.starts_with("error: ")).map(|line| format!("{line}\n")).collect();
    }
    let mut said = format!("exit {}\n{out}{err}", output.status.code().unwrap_or(-1));
    // What MySQL and MariaDB say differs in a word or two.
    let servers_words = regex::Regex::new("error ([0-9]+): [^;\n]*").expect("pattern");
    said = servers_words.replace_all(&said, "error $1: {the server's words}").into_owned();
    let systems_words = regex::Regex::new("is unreachable: [^;\n]*").expect("pattern");
    said = systems_words.replace_all(&said, "is unreachable: {why}").into_owned();
    for (name, placeholder) in names {
        said = said.replace(name, placeholder);
    }
    said
}

fn compare(paths: &[PathBuf], environment: &[(&str, &str)], names: &[(String, &str)]) {
    let mut differences = Vec::new();
    for path in paths {
        let found = said(path, environment, names);
        let beside = path.with_extension("txt");
        if std::env::var("UPDATE_EXPECTED").is_ok() {
            fs::write(&beside, &found).expect("write");
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if found != expected {
            differences.push(format!("{}:\n--- expected\n{expected}--- found\n{found}", path.display()));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_broken_definition_has_its_message() {
    let paths = definitions(false);
    assert!(40 < paths.len(), "definitions are missing");
    compare(&paths, &[], &[]);
    for path in &paths {
        let expected = fs::read_to_string(path.with_extension("txt")).expect("text");
        assert!(expected.starts_with("exit 3\n"), "{}: {expected}", path.display());
        let place = format!("{}:", path.display());
        assert!(expected.lines().any(|line| line.starts_with(&place)), "{}: {expected}", path.display());
    }
}

/// A database as the live definitions expect it, and a user who may read all and write some of it.
fn shop() -> (Database, String) {
    let database = Database::new("broken");
    let tables = [
        "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(20), city VARCHAR(20) COLLATE utf8mb4_bin)",
        "CREATE TABLE no_key (order_id BIGINT, name VARCHAR(20), amount BIGINT)",
        "CREATE TABLE read_only (order_id BIGINT PRIMARY KEY, name VARCHAR(20), amount BIGINT)",
        "CREATE TABLE needs_more (order_id BIGINT PRIMARY KEY, name VARCHAR(20), amount BIGINT, country INT NOT NULL)",
    ];
    tables.iter().for_each(|table| database.run(table));
    let name = &database.name;
    database.run(&format!("CREATE USER '{name}'@'%' IDENTIFIED BY '{PASSWORD}'"));
    database.run(&format!("GRANT SELECT ON {name}.* TO '{name}'@'%'"));
    database.run(&format!("GRANT SELECT ON {name}_absent.* TO '{name}'@'%'"));
    for table in ["no_key", "needs_more"] {
        database.run(&format!("GRANT INSERT, UPDATE, DELETE ON {name}.{table} TO '{name}'@'%'"));
    }
    let version = database.rows("SELECT VERSION()").remove(0).remove(0).expect("version");
    (database, version)
}

#[test]
fn what_the_servers_object_to_is_said_with_its_place() {
    let (database, version) = shop();
    let topic = topic::unique("broken");
    topic::create_with(&topic, 1, &[("cleanup.policy", "compact")]);
    let writer = Writer::new(&topic);
    writer.send(r#"{"order_id":1}"#, Some(r#"{"order_id":1,"customer_id":1,"amount":5}"#));
    writer.send(r#"{"order_id":2}"#, Some(r#"{"order_id":2,"customer_id":2,"amount":5}"#));
    writer.flush();
    let (kafka, mysql) = (stack::kafka(), stack::mysql());
    let nowhere = format!("127.0.0.1:{}", free_port());
    let environment = [
        ("KAFKA", kafka.as_str()),
        ("MYSQL", &mysql),
        ("NOWHERE", &nowhere),
        ("TOPIC", &topic),
        ("DATABASE", &database.name),
        ("PASSWORD", PASSWORD),
    ];
    let names = [
        (kafka.clone(), "{kafka}"),
        (mysql.clone(), "{mysql}"),
        (nowhere.clone(), "{nowhere}"),
        (topic.clone(), "{topic}"),
        (database.name.clone(), "{database}"),
        (version, "{version}"),
    ];
    compare(&definitions(true), &environment, &names);
    database.run(&format!("DROP USER '{}'@'%'", database.name));
}
