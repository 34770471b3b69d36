//! A type that a format cannot hold is a fault at the column that has it, whichever format, type and place in
//! the record: readers and writers refuse nothing that the definition's own checks let through.

use std::io::Write as _;
use std::process::{Command, Stdio};

use lookaside::config::options::FORMATS;

/// One of each kind, and the kinds that formats differ in.
const TYPES: [&str; 22] = [
    "BOOLEAN",
    "TINYINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(10, 2)",
    "CHAR(3)",
    "STRING",
    "BINARY(3)",
    "BYTES",
    "DATE",
    "TIME(3)",
    "TIME(6)",
    "TIMESTAMP(9)",
    "TIMESTAMP_LTZ(3)",
    "ARRAY<INT>",
    "ARRAY<ARRAY<INT>>",
    "MAP<STRING, INT>",
    "MAP<INT, STRING>",
    "ROW<a INT, b ARRAY<INT>>",
    "ROW<a INT>",
];

/// Where the column `v` stands.
#[derive(Clone, Copy, Debug)]
struct At {
    is_source: bool,
    in_key: bool,
}

/// A definition whose column `v` of `ty` is read from, or written to, a record key or value.
fn definition(format: &str, ty: &str, At { is_source, in_key }: At) -> String {
    let (key, other) = if in_key { ("v", "w STRING") } else { ("id", "id INT NOT NULL") };
    // raw holds one column.
    let include = if format == "raw" { "EXCEPT_KEY" } else { "ALL" };
    let table = format!(
        "    connector: upsert-kafka
    topic: tested
    properties.bootstrap.servers: localhost:1
    key.format: {format}
    value.format: {format}
    value.fields-include: {include}
    columns:
    - {other}
    - v {ty}
    - PRIMARY KEY ({key}) NOT ENFORCED
"
    );
    if is_source {
        return format!(
            "name: types\ntables:\n  src:\n{table}  snk: {{connector: print}}\npipeline: {{from: src, into: snk}}\n"
        );
    }
    let given = if in_key { "src.w" } else { "src.id" };
    format!(
        "name: types
tables:
  src:
    connector: upsert-kafka
    topic: other
    properties.bootstrap.servers: localhost:1
    key.format: json
    value.format: json
    columns: [id INT, w STRING, PRIMARY KEY (id) NOT ENFORCED]
  snk:
{table}pipeline:
  from: src
  select:
  - {given}
  - CAST(NULL AS {ty}) AS v
  into: snk
"
    )
}

fn faults(definition: &str) -> Vec<serde_json::Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .args(["validate", "-", "--output", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("lookaside runs");
    child.stdin.take().expect("input").write_all(definition.as_bytes()).expect("input");
    let output = child.wait_with_output().expect("lookaside ends");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("json");
    document["faults"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_type_that_a_format_cannot_hold_is_blamed_where_it_stands() {
    let mut blamed = 0;
    for format in FORMATS {
        for ty in TYPES {
            for (is_source, in_key) in [(true, true), (true, false), (false, true), (false, false)] {
                let text = definition(format.name, ty, At { is_source, in_key });
                for fault in faults(&text) {
                    assert!(0 < fault["line"].as_u64().unwrap_or(0), "{fault}\n{text}");
                    let what = fault["what"].as_str().unwrap_or_default();
                    if what.contains("cannot hold") {
                        blamed += 1;
                        let line =
                            text.lines().position(|line| line.starts_with("    - v ")).expect("column") + 1;
                        assert_eq!(fault["line"].as_u64(), Some(line as u64), "{fault}\n{text}");
                    }
                }
            }
        }
    }
    assert!(20 < blamed, "only {blamed} types were refused");
}
