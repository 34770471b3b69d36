//! Every case under `tests/cases/`, in four shapes: 1 and 4 shards, batches of 1 and 1,000; and cut after
//! every record, with the state rebuilt from the topic.

use std::path::Path;
use std::process::Command;

use lookaside::cli::test::run::Shape;
use lookaside::cli::test::{Verdict, find_cases, run_file};

const SHAPES: [Shape; 4] = [
    Shape { shards: 1, batch: 1, restarts: false },
    Shape { shards: 1, batch: 1_000, restarts: false },
    Shape { shards: 4, batch: 1, restarts: false },
    Shape { shards: 4, batch: 1_000, restarts: false },
];

/// What a job that starts anew does otherwise as long as its state is not durable, and the cases that show it.
const NEED_DURABLE_STATE: [(&str, &[&str]); 4] = [
    (
        "the dimension has changed since: rows from before are looked up again, so what is taken back is what it says by then",
        &[
            "bench-losses/row-removed-then-tombstone",
            "differences/dimension-row-gone",
            "differences/miss-then-delete",
            "differences/retraction-after-dimension-change",
            "joins/enriched-then-late-dimension",
            "joins/g51-retractions-repeat-what-was-sent",
            "joins/g52-unique-lookup-key",
            "joins/g53-left-after-a-miss",
            "reports/orphan-when-an-enriched-column-is-in-the-key",
            "sinks/own-key-that-moves",
        ],
    ),
    (
        "caches are empty",
        &[
            "differences/missing-key-own-ttl",
            "joins/cache-partial",
            "joins/g69-hashed-cache-is-shared",
            "joins/g72-expire-after-access",
            "joins/g72-expire-after-write",
        ],
    ),
    (
        "nobody knows whether a key of an upsert sink was sent, so its tombstone goes out to be sure",
        &[
            "differences/e8-stale-rows",
            "differences/match-to-no-match-upsert-kafka",
            "joins/c-trace-inner-upsert-sink",
        ],
    ),
    (
        "a cut ends a bundle",
        &["normalize/g22-mini-batch-with-ttl", "normalize/mini-batch-insert-then-delete"],
    ),
];

/// What is not met by these cases in these shapes.
fn failures(cases: &[std::path::PathBuf], shapes: &[Shape]) -> Vec<String> {
    let mut failures = Vec::new();
    for (case, shape) in cases.iter().flat_map(|case| shapes.iter().map(move |shape| (case, *shape))) {
        let faults: Vec<String> = match run_file(case, shape) {
            Verdict::Passed => continue,
            Verdict::Failed(failures) => failures.iter().map(|failure| failure.fault.to_string()).collect(),
            Verdict::Faulty(faults) => faults.iter().map(ToString::to_string).collect(),
        };
        failures.push(format!("{} with {shape:?}:\n{}", case.display(), faults.join("\n")));
    }
    failures
}

#[test]
fn every_case_passes_in_every_shape() {
    let cases = find_cases(Path::new("tests/cases")).expect("tests/cases");
    assert!(250 < cases.len(), "cases are found");
    let failures = failures(&cases, &SHAPES);
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn a_job_that_starts_anew_after_every_record_gives_the_same_rows() {
    let names: Vec<&str> = NEED_DURABLE_STATE.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let mut cases = find_cases(Path::new("tests/cases")).expect("tests/cases");
    let all = cases.len();
    cases.retain(|case| !names.iter().any(|name| case.with_extension("").ends_with(name)));
    assert_eq!(cases.len() + names.len(), all, "every name is a case's");
    let shapes = [1, 4].map(|shards| Shape { shards, batch: 1, restarts: true });
    let failures = failures(&cases, &shapes);
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn a_case_can_fail() {
    let folder = tempfile::tempdir().expect("folder");
    let text = std::fs::read_to_string("tests/cases/normalize/t1-filter.yaml").expect("case");
    let wrong = folder.path().join("wrong.yaml");
    std::fs::write(&wrong, text.replace("-D[one, 2, bb]", "-D[one, 1, a]")).expect("case");
    let Verdict::Failed(failures) = run_file(&wrong, Shape::PLAIN) else { panic!("a wrong row passed") };
    let text = failures[0].fault.to_string();
    assert!(text.contains("missing: -D[one, 1, a]") && text.contains("unexpected: -D[one, 2, bb]"), "{text}");
}

/// What the documentation shows works.
#[test]
fn the_example_of_the_documentation_passes() {
    let text = std::fs::read_to_string("docs/testing.md").expect("docs/testing.md");
    let example = text.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("example");
    let folder = tempfile::tempdir().expect("folder");
    let case = folder.path().join("example.yaml");
    std::fs::write(&case, example).expect("case");
    for shape in SHAPES {
        let verdict = run_file(&case, shape);
        assert!(matches!(verdict, Verdict::Passed), "{shape:?}: {verdict:?}");
    }
}

fn lookaside(args: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_lookaside")).args(args).output().expect("lookaside");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), text.into_owned())
}

/// A case with these steps over a table `src` of `id` and `v`.
fn case_with(folder: &Path, steps: &str) -> String {
    let path = folder.join("case.yaml");
    let text = format!(
        "tables:
  src: {{connector: upsert-kafka, topic: t, properties.bootstrap.servers: 'b:1', key.format: json, value.format: json, columns: [id INT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED]}}
  d: {{connector: mysql, url: 'mysql://h/d', table-name: d, columns: [v STRING, n INT]}}
  out: {{connector: print}}
pipeline:
  from: src
  lookup: [{{table: d, type: left, condition: d.v = src.v}}]
  select: [src.id, src.v, d.n]
  into: out
steps:
{steps}"
    );
    std::fs::write(&path, text).expect("case");
    path.to_str().expect("path").to_owned()
}

const RECORDS: &str = r#"- d: {upsert: [{v: 'a, b', n: 1}]}
- src:
  - {key: '{"id":1}', value: '{"id":1,"v":"a, b"}'}
  - {key: '{"id":2}', value: '{"id":2,"v":null}'}
"#;

#[test]
fn update_rewrites_what_is_not_met() {
    let folder = tempfile::tempdir().expect("folder");
    let steps = format!(
        "{RECORDS}- expect:
  - +I[9, x, 9]
# kept
- expect_lookups: {{d: {{statements: 7, misses: 1}}}}
- expect_view: []
- src:
  - {{key: null, value: '{{}}'}}
- expect_error: {{reason: malformed, offset: 9}}
"
    );
    let case = case_with(folder.path(), &steps);
    assert_eq!(lookaside(&["test", &case]).0, 1);
    let (code, said) = lookaside(&["test", "--update", &case]);
    assert_eq!(code, 0, "{said}");
    let text = std::fs::read_to_string(&case).expect("case");
    let rewritten = "- expect:
  - {kind: +I, row: ['1', 'a, b', '1']}
  - +I[2, null, null]
# kept
- expect_lookups: {d: {statements: 1, misses: 1}}
- expect_view:
  - {kind: +I, row: ['1', 'a, b', '1']}
  - +I[2, null, null]
- src:
  - {key: null, value: '{}'}
- expect_error: {reason: null_key, table: src, offset: 2}
";
    assert!(text.ends_with(rewritten), "{text}");
    assert_eq!(lookaside(&["test", &case]).0, 0);
}

#[test]
fn results_for_machines_name_the_step() {
    let folder = tempfile::tempdir().expect("folder");
    let case = case_with(folder.path(), &format!("{RECORDS}- expect: []\n"));
    let (code, said) = lookaside(&["test", "--output", "json", &case]);
    let json: serde_json::Value = serde_json::from_str(&said).expect("json");
    assert_eq!((code, &json["failed"], &json["cases"][0]["outcome"]), (1, &1.into(), &"failed".into()));
    let fault = &json["cases"][0]["faults"][0];
    assert_eq!((&fault["step"], &fault["line"]), (&3.into(), &15.into()), "{fault}");
}

#[test]
fn a_faulty_case_says_what_is_wrong() {
    let faults = [
        ("- dd: {upsert: []}", "table 'dd' is not read by the pipeline; did you mean 'd'?"),
        ("- d: {upsrt: []}", "unknown key 'upsrt' of a change of a dimension table; did you mean 'upsert'?"),
        ("- d: {upsert: [{w: 1}]}", "unknown key 'w' of a row of the table"),
        ("- d: {upsert: [{n: x}]}", "'x' is not INT"),
        ("- src: [{kind: +X, row: [1, a]}]", "kinds are +I, -U, +U and -D"),
        ("- src: [{kind: +I, row: [1]}]", "the row has 1 values, table src has 2 columns"),
        ("- src: [{key: a}]", "a record has a 'value', which may be null"),
        ("- src: [{key: a, value: b, offset: 1}]", "unknown key 'offset' of a record"),
        ("- src: [{key: 'base64:*', value: b}]", "key is not base64"),
        ("- expct: []", "table 'expct' is not read by the pipeline"),
        ("- expect_rows: []", "unknown expectation 'expect_rows'"),
        ("- expect_error: {reason: nul_key}", "unknown reason 'nul_key'; did you mean 'null_key'?"),
        ("- expect_error: {reason: null_key, row: 1}", "unknown key 'row' of expect_error"),
        ("- expect_lookups: {d: {hit: 1}}", "unknown count 'hit'; did you mean 'hits'?"),
        ("- expect_lookups: {e: {hits: 1}}", "table 'e' is not looked up in"),
        ("- advance: soon", "a duration is a whole number with a unit"),
        (
            "- src: [{key: null, value: a}]\n- expect_error: {reason: null_key}\n- advance: 1 s",
            "the job stopped before",
        ),
    ];
    for (steps, what) in faults {
        let folder = tempfile::tempdir().expect("folder");
        let (code, said) = lookaside(&["test", &case_with(folder.path(), steps)]);
        assert!(said.contains(what), "{steps}: {said}");
        assert_eq!(code, 3, "{steps}: {said}");
    }
}

/// An error that nobody expects is a failure, and what was sent before it is compared all the same.
#[test]
fn an_unexpected_stop_is_a_failure() {
    let folder = tempfile::tempdir().expect("folder");
    let steps = format!(
        "{RECORDS}- src: [{{key: null, value: a}}]\n- src: [{{key: null, value: b}}]\n- expect: []\n"
    );
    let (code, said) = lookaside(&["test", &case_with(folder.path(), &steps)]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("the job stopped: ") && said.contains("(null_key)"), "{said}");
    assert!(said.contains("unexpected: +I[2, null, null]"), "{said}");
}
