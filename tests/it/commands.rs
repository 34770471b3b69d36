//! The program's commands as a shell sees them: what goes where, and with which code they end.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

fn lookaside(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

const EXAMPLE: &str = "config/examples/order-enrichment.yaml";
const FAULTY: &str = "tests/definitions/sink-key-missing.yaml";

#[test]
fn a_valid_definition_ends_with_0() {
    let output = lookaside(&["validate", EXAMPLE], "");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), "order-enrichment: valid\n");
    let output =
        lookaside(&["validate", "-", "--output", "json"], &std::fs::read_to_string(EXAMPLE).unwrap());
    assert_eq!((output.status.code(), json(&output)["valid"].as_bool()), (Some(0), Some(true)));
}

#[test]
fn an_invalid_one_with_3_and_every_fault() {
    let output = lookaside(&["validate", FAULTY], "");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(3), String::new()));
    assert!(
        text(&output.stderr).starts_with("tests/definitions/sink-key-missing.yaml:10:3: the stream updates")
    );
    let output = lookaside(&["--output", "json", "validate", FAULTY], "");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(3), String::new()));
    assert_eq!(json(&output)["faults"][0]["line"], 10);
    assert_eq!(lookaside(&["validate", "no/such/file.yaml"], "").status.code(), Some(3));
    assert_eq!(lookaside(&["explain", FAULTY], "").status.code(), Some(3));
}

#[test]
fn a_folder_is_merged_and_both_places_are_named() {
    let output = lookaside(&["validate", "tests/definitions/merged"], "");
    assert_eq!(output.status.code(), Some(3));
    let found = text(&output.stderr);
    let expected =
        "merged/b.yaml:3:3: a second table 'orders', the first is at tests/definitions/merged/a.yaml:3:3";
    assert!(found.contains(expected), "{found}");
}

#[test]
fn a_wrong_command_line_ends_with_2_and_the_nearest_command() {
    let output = lookaside(&["validat", EXAMPLE], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("'validate'"), "{}", text(&output.stderr));
    assert_eq!(lookaside(&["validate"], "").status.code(), Some(2));
    let output = lookaside(&["--help"], "");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("130  aborted by a second signal"));
}

#[test]
fn explain_shows_changelog_modes_keys_and_filters() {
    let output = lookaside(&["explain", EXAMPLE], "");
    assert_eq!(output.status.code(), Some(0));
    let tree = text(&output.stdout);
    for line in [
        "└─ [I,UB,UA,D] Lookup users AS u",
        "lookup key: id INT = orders.user_id INT (as it is)",
        "condition on looked-up rows: r.name <> ''",
        "pushed filter: orders.order_amount >= 0",
        "└─ [UA,D] Source orders",
    ] {
        assert!(tree.contains(line), "{line}\n{tree}");
    }
    let output = lookaside(&["explain", EXAMPLE, "--output", "json"], "");
    let plan = &json(&output)["plan"];
    assert_eq!(plan["operator"], "Sink");
    let lookup = &plan["input"]["input"];
    assert_eq!(
        (lookup["operator"].as_str(), lookup["table"].as_str()),
        (Some("Lookup"), Some("regions AS r"))
    );
    assert_eq!(lookup["changelog_mode"], serde_json::json!(["+I", "-U", "+U", "-D"]));
}

#[test]
fn the_schema_refuses_unknown_keys() {
    let output = lookaside(&["schema"], "");
    assert_eq!(output.status.code(), Some(0));
    let schema = json(&output);
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["options"]["additionalProperties"], false);
}
