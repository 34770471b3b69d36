//! `compose.yaml`: docker-compose accepts it, what its parts say of each other agrees, and its orders and tables
//! go through the example that it runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::database::Database;
use crate::replica::Replica;
use crate::stack;
use crate::topic;

const EXAMPLE: &str = "config/examples/order-enrichment.yaml";

/// The file as docker-compose understands it; `None` where docker-compose cannot be had.
fn model(file: &str) -> Option<Json> {
    let tool = Command::new("tests/compose/docker_compose.sh").output().expect("docker_compose.sh");
    let said = String::from_utf8_lossy(&tool.stderr);
    if tool.status.code() == Some(3) && std::env::var_os("CI").is_none() {
        eprintln!("SKIPPED, {file} is not tested: {}", said.lines().last().unwrap_or_default());
        return None;
    }
    assert!(tool.status.success(), "{said}");
    let program = String::from_utf8(tool.stdout).expect("a path");
    let output = Command::new(program.trim())
        .args(["-f", file, "config", "--format", "json"])
        .env("MYSQL_PORT", "3306")
        .output()
        .expect("docker-compose");
    assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("its model"))
}

/// The service's mounts: where it sees them, and what is mounted, from the root of the repository.
fn mounts(service: &Json) -> BTreeMap<String, String> {
    let root = std::env::current_dir().expect("folder");
    let entries = service["volumes"].as_array().cloned().unwrap_or_default();
    let text = |value: &Json| value.as_str().expect("a path").to_owned();
    entries
        .iter()
        .map(|entry| {
            let source = text(&entry["source"]);
            let own = Path::new(&source).strip_prefix(&root).expect("a file of the repository");
            (text(&entry["target"]), own.display().to_string())
        })
        .collect()
}

fn services(model: &Json) -> &serde_json::Map<String, Json> {
    model["services"].as_object().expect("services")
}

#[test]
fn docker_compose_accepts_it_and_what_it_mounts_is_there() {
    for file in ["compose.yaml", "tests/stack/compose.yaml"] {
        let Some(model) = model(file) else { return };
        for (name, service) in services(&model) {
            for (_, source) in mounts(service) {
                assert!(Path::new(&source).is_file(), "{file}: {name} mounts {source}");
            }
            let image = service["image"].as_str().expect("an image");
            let pinned = image.split(':').nth(1).is_some_and(|tag| tag != "latest");
            assert!(pinned || name == "lookaside", "{file}: {name} has {image}");
            let probed = service["healthcheck"]["test"].is_array();
            assert_eq!(probed, name != "lookaside", "{file}: {name}");
        }
        let waits = services(&model).values().filter_map(|service| service["depends_on"].as_object());
        for (other, wait) in waits.flatten() {
            assert_eq!(wait["condition"], "service_healthy", "{other} is waited for until it is healthy");
        }
    }
}

/// `host:port` that the services reach.
fn reaches(model: &Json, address: &str) -> bool {
    let (host, port) = address.split_once(':').expect("host:port");
    let service = &model["services"][host];
    let by_map = service["ports"]
        .as_array()
        .is_some_and(|ports| ports.iter().any(|entry| entry["target"].as_u64() == port.parse().ok()));
    let advertised = service["environment"]["KAFKA_ADVERTISED_LISTENERS"].as_str().unwrap_or_default();
    service.is_object() && (by_map || advertised.contains(&format!("//{address}")))
}

#[test]
fn its_parts_agree() {
    let Some(model) = model("compose.yaml") else { return };
    let all = services(&model);
    let (job, kafka) = (&all["lookaside"], &all["orders"]["environment"]["KAFKA"]);
    let environment = job["environment"].as_object().expect("environment");
    assert_eq!(kafka, &environment["KAFKA"]);
    for address in [&environment["KAFKA"], &environment["MYSQL"]] {
        assert!(reaches(&model, address.as_str().expect("an address")), "{address}");
    }
    assert_eq!(all["mysql"]["environment"]["MYSQL_ROOT_PASSWORD"], environment["MYSQL_PASSWORD"]);
    // The folder that the job is told holds the example, which is valid with what the job is told.
    let folder = job["command"][1].as_str().expect("a folder");
    let mounted = mounts(job);
    assert_eq!(mounted.get(&format!("{folder}/definition.yaml")).map(String::as_str), Some(EXAMPLE));
    let told = environment.iter().map(|(name, value)| (name, value.as_str().expect("text")));
    let validated = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .args(["validate", EXAMPLE])
        .env_clear()
        .envs(told)
        .status()
        .expect("lookaside");
    assert!(validated.success());
    let example = std::fs::read_to_string(EXAMPLE).expect("example");
    assert!(example.contains("topic: mqTest02"), "the topic that orders.sh makes");
    let database = all["mysql"]["environment"]["MYSQL_DATABASE"].as_str().expect("a database");
    assert!(example.contains(&format!("/{database}\n")), "{database}");

    let text = |service: &str, target: &str| {
        let mounted = mounts(&all[service]);
        let source = mounted.get(target).unwrap_or_else(|| panic!("{service} mounts nothing at {target}"));
        std::fs::read_to_string(source).expect("its text")
    };
    let prometheus = text("prometheus", "/etc/prometheus/prometheus.yml");
    assert!(prometheus.contains("rule_files: [/etc/prometheus/alerts.yaml]"));
    assert!(text("prometheus", "/etc/prometheus/alerts.yaml").contains("groups:"));
    assert!(prometheus.contains("targets: ['lookaside:8080']") && reaches(&model, "lookaside:8080"));
    let source = text("grafana", "/etc/grafana/provisioning/datasources/prometheus.yaml");
    assert!(source.contains("url: http://prometheus:9090") && reaches(&model, "prometheus:9090"));
    let dashboards = text("grafana", "/etc/grafana/provisioning/dashboards/lookaside.yaml");
    let home =
        all["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"].as_str().expect("a path");
    let (folder, _) = home.rsplit_once('/').expect("a folder");
    assert!(dashboards.contains(&format!("path: {folder}")));
    let dashboard: Json = serde_json::from_str(&text("grafana", home)).expect("a dashboard");
    assert!(dashboard["panels"].is_array());
}

/// `config/compose/orders.sh` against the real broker, with Kafka's own tools.
struct Orders {
    process: Child,
}

impl Orders {
    fn start(folder: &Path, topic: &str) -> Self {
        for (script, class) in
            [("kafka-topics.sh", "TopicCommand"), ("kafka-console-producer.sh", "ConsoleProducer")]
        {
            let path = folder.join(script);
            let text = format!(
                "#!/bin/sh\nexec java -Xmx128m -cp '{}/*' org.apache.kafka.tools.{class} \"$@\"\n",
                stack::kafka_jars()
            );
            std::fs::write(&path, text).expect("script");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&path, mode).expect("mode");
        }
        let process = Command::new("sh")
            .arg("config/compose/orders.sh")
            .env("KAFKA_BIN", folder)
            .env("KAFKA", stack::kafka())
            .env("TOPIC", topic)
            .env("READY_FILE", folder.join("ready"))
            .env("PAUSE", "0.05")
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.join("orders.log")).expect("log"))
            .spawn()
            .expect("orders.sh starts");
        let orders = Self { process };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !folder.join("ready").exists() {
            let said = || std::fs::read_to_string(folder.join("orders.log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "orders.sh made no topic: {}", said());
            std::thread::sleep(Duration::from_millis(100));
        }
        orders
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        // The producer ends when the end of its input comes, with the shell that writes it.
        let _ = Command::new("pkill").args(["-P", &self.process.id().to_string()]).status();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn its_orders_and_tables_go_through_the_example() {
    let database = Database::new("compose");
    let tables = std::fs::read_to_string("config/compose/tables.sql").expect("tables.sql");
    for statement in tables.split(';').filter(|statement| statement.contains("test")) {
        database.run(statement);
    }
    let (folder, topic) = (tempfile::tempdir().expect("folder"), topic::unique("compose-orders"));
    let _orders = Orders::start(folder.path(), &topic);
    let definition = folder.path().join("definition.yaml");
    let text = std::fs::read_to_string(EXAMPLE).expect("example");
    let text = text.replace("topic: mqTest02", &format!("topic: {topic}"));
    let text = text.replace("name: order-enrichment", &format!("name: {topic}"));
    std::fs::write(&definition, text.replace("/mqTest", &format!("/{}", database.name))).expect("definition");
    let (kafka, mysql) = (stack::kafka(), stack::mysql());
    let environment = [("KAFKA", kafka.as_str()), ("MYSQL", mysql.as_str()), ("MYSQL_PASSWORD", "")];
    let mut replica = Replica::start_with(folder.path(), "compose", &definition, &environment);
    replica.wait_ready();
    // Order 0 is user 1's, order 8 cancels it; order 4 is user 5's, whose region has no name.
    let expected = [
        "+I[1, alice, north, 1, since 2019]",
        "+I[5, erin, null, 149, null]",
        "-D[1, alice, north, 1, since 2019]",
    ];
    let deadline = Instant::now() + Duration::from_secs(60);
    while !expected.iter().all(|line| replica.out_text().lines().any(|found| found == *line)) {
        assert!(Instant::now() < deadline, "{}\n{}", replica.out_text(), replica.log_text());
        std::thread::sleep(Duration::from_millis(100));
    }
    replica.signal("TERM");
    assert_eq!(replica.wait_exit(Duration::from_secs(30)).code(), Some(0), "{}", replica.log_text());
    assert!(!replica.out_text().contains("[7, ") && !replica.out_text().contains("[8, "), "no such users");
}
