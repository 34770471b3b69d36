//! The Helm chart, through the real Helm: `tests/chart/` holds the checks, this runs them against the program that was
//! just built. `UPDATE_EXPECTED=1` writes the golden renders, the embedded schema and the README's table anew.

use std::process::Command;
use std::sync::OnceLock;

/// Paths of Helm and of a Python with the packages of the checks; `None` when they cannot be had here.
fn tools() -> Option<&'static (String, String)> {
    static TOOLS: OnceLock<Option<(String, String)>> = OnceLock::new();
    TOOLS.get_or_init(install).as_ref()
}

fn install() -> Option<(String, String)> {
    let output = Command::new("tests/chart/tools.sh").output().expect("tests/chart/tools.sh");
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) && std::env::var_os("CI").is_none() {
        eprintln!("SKIPPED, the chart is not tested: {}", said.lines().last().unwrap_or_default());
        return None;
    }
    assert!(output.status.success(), "{said}");
    let paths = String::from_utf8_lossy(&output.stdout);
    let mut paths = paths.lines().map(str::to_owned);
    Some((paths.next().expect("helm"), paths.next().expect("python")))
}

/// Runs one file of checks; pytest's own report is the reason of a failure.
fn check(file: &str) {
    let Some((helm, python)) = tools() else { return };
    let output = Command::new(python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", "--tb=short"])
        .arg(format!("tests/chart/{file}"))
        .env("HELM", helm)
        .env("LOOKASIDE", env!("CARGO_BIN_EXE_lookaside"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("pytest");
    let report = String::from_utf8_lossy(&output.stdout);
    println!("{file}: {}", report.lines().last().unwrap_or_default());
    assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn it_renders_what_kubernetes_accepts() {
    check("test_render.py");
}

#[test]
fn it_takes_what_the_program_takes() {
    check("test_values.py");
}

#[test]
fn it_hands_the_definition_on_unchanged() {
    check("test_definition.py");
}
