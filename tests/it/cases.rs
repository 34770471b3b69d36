//! Every case under `tests/cases/`, in four shapes: 1 and 4 shards, batches of 1 and 1,000.

use std::path::Path;

use lookaside::cli::test::run::Shape;
use lookaside::cli::test::{Verdict, find_cases, run_file};

const SHAPES: [Shape; 4] = [
    Shape { shards: 1, batch: 1 },
    Shape { shards: 1, batch: 1_000 },
    Shape { shards: 4, batch: 1 },
    Shape { shards: 4, batch: 1_000 },
];

#[test]
fn every_case_passes_in_every_shape() {
    let cases = find_cases(Path::new("tests/cases")).expect("tests/cases");
    let mut failures = Vec::new();
    for case in &cases {
        for shape in SHAPES {
            let faults: Vec<String> = match run_file(case, shape) {
                Verdict::Passed => continue,
                Verdict::Failed(failures) => {
                    failures.iter().map(|failure| failure.fault.to_string()).collect()
                }
                Verdict::Faulty(faults) => faults.iter().map(ToString::to_string).collect(),
            };
            failures.push(format!("{} with {shape:?}:\n{}", case.display(), faults.join("\n")));
        }
    }
    assert!(40 < cases.len(), "cases are found");
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
