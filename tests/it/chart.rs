//! The Helm chart, through the real Helm: `tests/chart/` holds the checks, this runs them against the program that was
//! just built. `UPDATE_EXPECTED=1` writes the golden renders, the embedded schema and the README's table anew.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::replica::{self, Replica};
use crate::stack;
use crate::topic::{self, Writer};

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

/// Runs Python with the tools in its environment.
fn python(arguments: &[&str]) -> Option<Output> {
    let (helm, python) = tools()?;
    let mut command = Command::new(python);
    command.args(arguments).env("HELM", helm).env("LOOKASIDE", env!("CARGO_BIN_EXE_lookaside"));
    Some(command.env("PYTHONDONTWRITEBYTECODE", "1").output().expect("python"))
}

/// Runs one file of checks; pytest's own report is the reason of a failure.
fn check(file: &str) {
    let path = format!("tests/chart/{file}");
    let quietly = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", "--tb=short", &path];
    let Some(output) = python(&quietly) else { return };
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

#[test]
fn it_is_as_it_says_of_itself() {
    check("test_documents.py");
}

/// What the chart renders for a job on the real broker: the containers, ready to be started in `folder`.
fn containers(folder: &Path, topic: &str, port: u16) -> Option<serde_json::Value> {
    let values = folder.join("values.yaml");
    let text = format!(
        "settings: {{http: {{address: '127.0.0.1:{port}'}}}}
extraEnv: [{{name: KAFKA, value: '{broker}'}}]
definition:
  name: {topic}
  tables:
    regions:
      connector: upsert-kafka
      topic: {topic}
      properties.bootstrap.servers: ${{env:KAFKA}}
      key.format: csv
      value.format: csv
      columns: [region STRING, views STRING, PRIMARY KEY (region) NOT ENFORCED]
    changes: {{connector: print}}
  pipeline: {{from: regions, into: changes}}
",
        broker = stack::kafka()
    );
    std::fs::write(&values, text).expect("values");
    let arguments =
        ["tests/chart/container.py", &values.display().to_string(), &folder.display().to_string()];
    let output = python(&arguments)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("containers"))
}

/// Where the pod of `helm test` finds the replicas.
const SERVICE: &str = "http://lookaside:8080";

/// The program with the arguments and the environment of a container, and no other.
fn command(container: &serde_json::Value) -> Command {
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lookaside"));
    command.env_clear().args(container["args"].as_array().expect("args").iter().map(text));
    command.envs(container["env"].as_object().expect("env").iter().map(|(name, value)| (name, text(value))));
    command
}

#[test]
fn what_it_renders_runs_answers_its_probes_and_stops_in_time() {
    let folder = tempfile::tempdir().expect("folder");
    let (topic, port) = (topic::unique("chart"), replica::free_port());
    topic::create(&topic, 2);
    let Some(containers) = containers(folder.path(), &topic, port) else { return };
    let container = &containers["lookaside"];
    let mut replica = Replica::spawn(folder.path(), "pod", format!("127.0.0.1:{port}"), command(container));
    replica.wait_ready();
    let probes = container["probes"].as_object().expect("probes");
    assert_eq!(probes.len(), 3);
    for (probe, request) in probes {
        let code = replica.get(request["path"].as_str().expect("path")).map(|(code, _)| code);
        assert_eq!((code, request["port"].as_u64()), (Some(200), Some(port.into())), "{probe}");
    }
    // The pod of `helm test`, while the job runs; only the name of the Service leads elsewhere here.
    let mut check = containers["check"].clone();
    let service = check["args"].as_array_mut().expect("args").iter_mut().find(|arg| **arg == SERVICE);
    *service.expect("the Service's address") = format!("http://127.0.0.1:{port}").into();
    let output = command(&check).output().expect("check");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(&format!("127.0.0.1:{port} is ready")), "{said}");
    let writer = Writer::new(&topic);
    writer.send("north", Some("north,1"));
    writer.flush();
    let deadline = Instant::now() + Duration::from_secs(30);
    while replica.out_text().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(replica.out_text(), "+I[north, 1]\n");
    // The log is JSON, as the chart's settings say: they were read.
    assert!(replica.log_text().lines().all(|line| line.starts_with('{')), "{}", replica.log_text());
    replica.signal("TERM");
    let grace = Duration::from_secs(container["grace"].as_u64().expect("grace"));
    assert_eq!(replica.wait_exit(grace).code(), Some(0), "{}", replica.log_text());
}
