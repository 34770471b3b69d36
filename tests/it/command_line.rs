//! What all commands have in common: a form for machines, colour on terminals alone, the nearest name, and the
//! settings and options in effect.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Command, Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value as Json;

use crate::replica::free_port;

const EXAMPLE: &str = "config/examples/order-enrichment.yaml";
const FAULTY: &str = "tests/broken/unknown-column.yaml";

fn lookaside(arguments: &[&str], environment: &[(&str, &str)], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .args(arguments)
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("lookaside runs");
    let _ = child.stdin.take().expect("input").write_all(input.as_bytes());
    child.wait_with_output().expect("lookaside ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn every_command_has_a_form_for_machines() {
    let nowhere = format!("127.0.0.1:{}", free_port());
    let environment = [("KAFKA", nowhere.as_str()), ("MYSQL", &nowhere)];
    let commands: [(&[&str], i32, &str); 13] = [
        (&["init", "-"], 0, "definition"),
        (&["validate", EXAMPLE], 0, "valid"),
        (&["validate", FAULTY], 3, "faults"),
        (&["explain", EXAMPLE], 0, "plan"),
        (&["explain", FAULTY], 3, "faults"),
        (&["check", EXAMPLE, "--timeout", "1s"], 1, "findings"),
        (&["check", FAULTY], 3, "faults"),
        (&["run", FAULTY], 3, "faults"),
        (&["test", "tests/cases/normalize/t1-upsert.yaml"], 0, "cases"),
        (&["keygroups", "--type", "INT", "1", "2"], 0, "keys"),
        (&["config", EXAMPLE], 0, "settings"),
        (&["schema"], 0, "$defs"),
        (&["completions", "bash"], 0, "script"),
    ];
    let mut tried: Vec<&str> = Vec::new();
    for (arguments, code, key) in commands {
        let output = lookaside(&[arguments, &["--output", "json"]].concat(), &environment, "");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        let document: Json = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", text(&output.stdout)));
        assert!(!document[key].is_null(), "{arguments:?} has no '{key}': {document}");
        tried.push(arguments[0]);
    }
    let program = lookaside::cli::command();
    // Commands with tests of their own.
    let elsewhere = ["help", "demo", "version"];
    for command in program.get_subcommands().map(clap::Command::get_name) {
        assert!(tried.contains(&command) || elsewhere.contains(&command), "{command} is not tried");
    }
}

#[test]
fn why_a_command_failed_has_a_form_for_machines() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("port");
    let address = taken.local_addr().expect("address").to_string();
    let output = lookaside(&["run", EXAMPLE, "--http", &address, "--output", "json"], &[], "");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(4), String::new()));
    let document: Json = serde_json::from_slice(&output.stderr).expect("json");
    assert_eq!(document["error"]["exit_code"], 4);
    assert!(document["error"]["what"].as_str().is_some_and(|what| what.contains(&address)), "{document}");
}

/// What a command prints to a terminal.
fn on_a_terminal(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).expect("a terminal");
    unlockpt(&terminal).expect("a terminal");
    let name = ptsname(&terminal, Vec::new()).expect("a name").into_string().expect("UTF-8");
    let end = || File::options().read(true).write(true).open(&name).expect("the other end");
    let mut child = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .args(arguments)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .env_remove("CI")
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(end())
        .stderr(end())
        .spawn()
        .expect("lookaside runs");
    let reader = std::thread::spawn(move || read_all(terminal));
    child.wait().expect("lookaside ends");
    reader.join().expect("reader")
}

/// Reads until the other end is closed, which a terminal reports as an error.
fn read_all(terminal: OwnedFd) -> String {
    let (mut file, mut bytes, mut buffer) = (File::from(terminal), Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = file.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A folder of cases with a file that cannot be read.
#[test]
fn a_reason_why_a_command_failed_is_an_object_for_machines_too() {
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("case.yaml"), b"\xff\xfe").expect("file");
    let path = folder.path().to_str().expect("UTF-8");
    let said = text(&lookaside(&["test", path], &[], "").stderr);
    assert_eq!(said, format!("error: {path}: cannot be read: it is not UTF-8 text\n"));
    let output = lookaside(&["test", path, "--output", "json"], &[], "");
    assert_eq!(output.status.code(), Some(2));
    let document: Json = serde_json::from_slice(&output.stderr).expect("JSON");
    assert_eq!(document["error"]["exit_code"], 2);
    assert_eq!(document["error"]["what"], format!("{path}: cannot be read: it is not UTF-8 text"));
}

const ESCAPE: char = '\u{1b}';

#[test]
fn colour_is_for_terminals_and_no_color_switches_it_off() {
    for arguments in [
        &["validate", FAULTY] as &[&str],
        &["config"],
        &["check", "config/examples/pageviews-csv.yaml", "--timeout", "1s"],
        &["--help"],
        &["run", FAULTY],
        &["init", "no/such/folder/x.yaml"],
        &["valdate"],
    ] {
        let nowhere = [("KAFKA", "127.0.0.1:1")];
        let shown = on_a_terminal(arguments, &nowhere);
        assert!(shown.contains(ESCAPE), "{arguments:?} has no colour: {shown}");
        let plain = on_a_terminal(arguments, &[nowhere[0], ("NO_COLOR", "1")]);
        assert!(!plain.contains(ESCAPE) && !plain.is_empty(), "{arguments:?} with NO_COLOR: {plain}");
        let output = lookaside(arguments, &nowhere, "");
        let piped = text(&output.stdout) + &text(&output.stderr);
        assert!(!piped.contains(ESCAPE) && !piped.is_empty(), "{arguments:?} in a pipe: {piped}");
    }
}

#[test]
fn a_slip_gets_the_nearest_command_option_and_name() {
    for (arguments, nearest) in [
        (&["valdate", EXAMPLE] as &[&str], "'validate'"),
        (&["run", EXAMPLE, "--setings", "x"], "'--settings'"),
        (&["init", "--sink", "mysq"], "'mysql'"),
        (&["completions", "bsh"], "'bash'"),
        (&["validate", EXAMPLE, "--output", "jsn"], "'json'"),
        (&["keygroups", "--definition", EXAMPLE, "--table", "usrs"], "`users`"),
    ] {
        let output = lookaside(arguments, &[], "");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(nearest), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn settings_come_with_their_origin() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("own.yaml");
    fs::write(&file, "log:\n  format: json\n  level: warn\nshutdown: {timeout: 5 s}\n").expect("settings");
    let file = file.to_str().expect("path");
    let environment = [("LOOKASIDE__LOG__LEVEL", "error"), ("LOOKASIDE__HTTP__ADDRESS", "127.0.0.1:1")];
    let arguments = ["config", "--settings", file, "--http", "127.0.0.1:2", "--output", "json"];
    let output = lookaside(&arguments, &environment, "");
    let document: Json = serde_json::from_slice(&output.stdout).expect("json");
    let setting = |name: &str| {
        let settings = document["settings"].as_array().expect("settings");
        let found = settings.iter().find(|setting| setting["name"] == name).expect("setting");
        (
            found["value"].as_str().expect("value").to_owned(),
            found["origin"].as_str().expect("origin").to_owned(),
        )
    };
    assert_eq!(setting("http.address"), ("127.0.0.1:2".to_owned(), "--http".to_owned()));
    assert_eq!(setting("log.level"), ("error".to_owned(), "LOOKASIDE__LOG__LEVEL".to_owned()));
    assert_eq!(setting("log.format"), ("json".to_owned(), format!("{file}:2:11")));
    let output = lookaside(&["config", "--settings", file], &environment, "");
    let shown = text(&output.stdout);
    assert!(shown.contains("  level: error                            # LOOKASIDE__LOG__LEVEL\n"), "{shown}");
    // What is printed can be read as settings.
    fs::write(file, &shown).expect("settings");
    let again = lookaside(&["config", "--settings", file, "--output", "json"], &[], "");
    let again: Json = serde_json::from_slice(&again.stdout).expect("json");
    assert_eq!(again["settings"][0]["value"], "127.0.0.1:1");
}

/// What `config` prints of a definition is a definition that comes to the same.
#[test]
fn options_in_effect_are_a_definition_that_says_the_same() {
    let folder = tempfile::tempdir().expect("folder");
    let places = regex::Regex::new(r#","place":(null|\{[^}]*\})"#).expect("pattern");
    for entry in fs::read_dir("config/examples").expect("examples") {
        let path = entry.expect("entry").path();
        let path = path.to_str().expect("path");
        if !path.ends_with(".yaml") {
            continue;
        }
        let shown = text(&lookaside(&["config", path], &[], "").stdout);
        let (_, definition) = shown.split_once("---\n").expect("a definition");
        assert!(definition.contains("# default") && !definition.contains("***}@"), "{definition}");
        let own = folder.path().join("effective.yaml");
        fs::write(&own, definition).expect("definition");
        let own = own.to_str().expect("path");
        let output = lookaside(&["validate", own], &[], "");
        assert_eq!(output.status.code(), Some(0), "{}{definition}", text(&output.stderr));
        let options = |path: &str| {
            let output = lookaside(&["config", path, "--output", "json"], &[], "");
            let document: Json = serde_json::from_slice(&output.stdout).expect("json");
            let text = document["definition"].to_string();
            // Places differ, and what was a default is written now.
            places.replace_all(&text, "").into_owned()
        };
        assert_eq!(options(path), options(own), "{path}");
    }
}

#[test]
fn completions_complete() {
    let folder = tempfile::tempdir().expect("folder");
    for shell in ["bash", "zsh", "fish"] {
        let output = lookaside(&["completions", shell], &[], "");
        assert_eq!(output.status.code(), Some(0));
        let script = text(&output.stdout);
        assert!(script.contains("validate") && script.contains("keygroups"), "{shell}");
        let path = folder.path().join(shell);
        fs::write(&path, &script).expect("script");
        let checked = Command::new(shell).arg("-n").arg(&path).output();
        match checked {
            Ok(checked) => assert!(checked.status.success(), "{shell}: {}", text(&checked.stderr)),
            Err(_) => println!("{shell} is not installed: its script is not read by it"),
        }
    }
    let ask = format!(
        "source {}; COMP_WORDS=(lookaside val); COMP_CWORD=1; _lookaside lookaside val lookaside; echo ${{COMPREPLY[@]}}",
        folder.path().join("bash").display()
    );
    let output = Command::new("bash").args(["--norc", "-c", &ask]).output().expect("bash");
    assert_eq!(text(&output.stdout), "validate\n", "{}", text(&output.stderr));
}
