//! `lookaside init`: every combination of connectors gives a definition that is valid as it stands.

use std::path::Path;
use std::process::{Command, Output};

use lookaside::config::options::{CONNECTORS, Role};
use lookaside::config::{References, load_texts};
use lookaside::plan::compile;

fn lookaside(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("lookaside runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn of_role(role: Role) -> Vec<&'static str> {
    let fits = CONNECTORS.iter().filter(|connector| connector.roles.contains(&role));
    fits.map(|connector| connector.name).collect()
}

#[test]
fn every_combination_is_valid() {
    let folder = tempfile::tempdir().expect("folder");
    let dimensions = of_role(Role::Dimension);
    let mut choices: Vec<Vec<&str>> = vec![vec!["none"]];
    choices.extend(dimensions.iter().map(|one| vec![*one]));
    choices.extend(dimensions.iter().flat_map(|one| dimensions.iter().map(|other| vec![*one, *other])));
    choices.push(vec![dimensions[0]; 4]);
    for source in of_role(Role::Source) {
        for sink in of_role(Role::Sink) {
            for chosen in &choices {
                for format in ["json", "csv"] {
                    let mut arguments =
                        vec!["init", "-", "--source", source, "--sink", sink, "--format", format];
                    chosen.iter().for_each(|dimension| arguments.extend(["--dimension", dimension]));
                    let output = lookaside(&arguments, folder.path());
                    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
                    let written = text(&output.stdout);
                    let texts = [("init.yaml".to_owned(), written.clone())];
                    // Valid without any variable set: every reference has a default.
                    let references = References::new(|_| None, |_| Err("no such file".to_owned()));
                    let compiled =
                        load_texts(&texts, &references).and_then(|definition| compile(&definition));
                    assert!(compiled.is_ok(), "{arguments:?}: {:#?}\n{written}", compiled.err());
                }
            }
        }
    }
}

/// Options that are offered as comments are options with a legal value.
#[test]
fn what_is_commented_out_can_be_taken_in() {
    let folder = tempfile::tempdir().expect("folder");
    let option = regex::Regex::new("(?m)^( +)# ([a-z].*: .*?)( {2,}#.*)?$").expect("pattern");
    for (source, sink) in [("upsert-kafka", "mysql"), ("upsert-kafka", "upsert-kafka"), ("kafka", "print")] {
        let output = lookaside(&["init", "-", "--source", source, "--sink", sink], folder.path());
        let written = text(&output.stdout);
        let offered = written.lines().filter(|line| option.is_match(line)).count();
        assert!(3 < offered, "{written}");
        let taken_in = option
            .replace_all(&written, "$1$2")
            .replace("sink.buffer-flush.interval: 0 s", "sink.buffer-flush.interval: 1 s")
            .replace("sink.buffer-flush.max-rows: 0", "sink.buffer-flush.max-rows: 10");
        let texts = [("init.yaml".to_owned(), taken_in.clone())];
        let references = References::new(|_| None, |_| Err("no such file".to_owned()));
        let compiled = load_texts(&texts, &references).and_then(|definition| compile(&definition));
        assert!(compiled.is_ok(), "{:#?}\n{taken_in}", compiled.err());
    }
}

#[test]
fn a_file_is_overwritten_only_by_force() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("lookaside.yaml");
    let output = lookaside(&["init"], folder.path());
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()));
    assert!(text(&output.stderr).contains("lookaside validate lookaside.yaml"), "{}", text(&output.stderr));
    assert_eq!(lookaside(&["validate", "lookaside.yaml"], folder.path()).status.code(), Some(0));
    std::fs::write(&path, "mine").expect("write");
    let output = lookaside(&["init"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr), "error: lookaside.yaml exists already; --force overwrites it\n");
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "mine");
    assert_eq!(lookaside(&["init", "--force"], folder.path()).status.code(), Some(0));
    assert_ne!(std::fs::read_to_string(&path).expect("read"), "mine");
    let output = lookaside(&["init", "no/such/folder.yaml"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: no/such/folder.yaml cannot be written: there is no such file or folder\n"
    );
}

#[test]
fn a_connector_with_a_slip_is_named() {
    let folder = tempfile::tempdir().expect("folder");
    let output = lookaside(&["init", "--source", "upsert-kafak"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("'upsert-kafka'"), "{}", text(&output.stderr));
    let five = ["--dimension", "mysql"].repeat(5);
    let output = lookaside(&[&["init", "-"], five.as_slice()].concat(), folder.path());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}
