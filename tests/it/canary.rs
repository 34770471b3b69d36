//! A password is printed nowhere: canaries in every place that takes a secret, and everything that the program
//! says and serves searched for them.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lookaside::config::{References, load_texts};
use lookaside::plan::compile;

use crate::database::Database;
use crate::replica::Replica;
use crate::stack;
use crate::topic::{self, Writer};

/// What every secret holds.
const CANARY: &str = "c4n4ry";

/// One secret per place, so that the place that leaks is known.
struct Secrets {
    folder: tempfile::TempDir,
}

impl Secrets {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        fs::write(folder.path().join("password"), format!("{CANARY}-file\n")).expect("secret");
        Self { folder }
    }

    fn file(&self) -> String {
        self.folder.path().join("password").display().to_string()
    }

    /// A job whose parts log in as `name`: one password in a url, one in an option, one from the
    /// environment, one from a file; and a user of Kafka.
    fn definition(&self, topic: &str, database: &str, kafka: &str) -> String {
        let (mysql, file, servers) = (stack::mysql(), self.file(), stack::kafka());
        let dimension = |name: &str, login: &str| {
            format!(
                "  {name}:
    connector: jdbc
    {login}
    table-name: users
    columns: [id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED]
    lookup.cache: PARTIAL
    lookup.partial-cache.max-rows: 10
"
            )
        };
        let url = format!("jdbc:mysql://{mysql}/{database}");
        let tables = [
            dimension("by_url", &format!("url: mysql://{database}_url:{CANARY}-url@{mysql}/{database}")),
            dimension(
                "by_parameter",
                &format!("url: {url}?user={database}_parameter&password={CANARY}-parameter"),
            ),
            dimension(
                "by_option",
                &format!("url: {url}\n    username: {database}_option\n    password: {CANARY}-option"),
            ),
            dimension(
                "by_variable",
                &format!(
                    "url: {url}\n    username: {database}_variable\n    password: ${{env:CANARY_VARIABLE}}"
                ),
            ),
            dimension(
                "by_default",
                &format!(
                    "url: {url}\n    username: {database}_default\n    password: ${{env:NEVER_SET:-{CANARY}-default}}"
                ),
            ),
        ];
        let lookups: String = ["by_url", "by_parameter", "by_option", "by_variable", "by_default"]
            .iter()
            .map(|table| format!("  - {{table: {table}, type: left, condition: {table}.id = src.id}}\n"))
            .collect();
        format!(
            "name: {topic}
tables:
  src:
    connector: upsert-kafka
    topic: {topic}
    properties.bootstrap.servers: {servers}
{kafka}    key.format: json
    value.format: json
    columns: [id INT NOT NULL, PRIMARY KEY (id) NOT ENFORCED]
{}  out:
    connector: mysql
    url: {url}
    username: {database}_file
    password: ${{file:{file}}}
    table-name: sink
    columns: [id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED]
pipeline:
  from: src
  lookup:
{lookups}  select:
  - src.id
  - COALESCE(by_url.name, by_parameter.name, by_option.name, by_variable.name, by_default.name) AS name
  into: out
options: {{commit.interval: 100 ms}}
",
            tables.concat()
        )
    }
}

const SASL: &str = "    properties.sasl.mechanism: PLAIN
    properties.sasl.jaas.config: 'org.apache.kafka.common.security.plain.PlainLoginModule required username=\"app\" password=\"c4n4ry-jaas\";'
    properties.debug: all
";

/// Fails where a canary is seen, with a few characters around it.
fn search(what: &str, text: &str) {
    if let Some(at) = text.find(CANARY) {
        let from = text[..at].char_indices().rev().nth(80).map_or(0, |(at, _)| at);
        let piece: String = text[from..].chars().take(160).collect();
        panic!("{what} shows a password: …{piece}…");
    }
}

/// What a command says on both streams.
fn said(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .args(arguments)
        .env("CANARY_VARIABLE", format!("{CANARY}-variable"))
        .stdin(Stdio::null())
        .output()
        .expect("lookaside runs");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn search_commands(definition: &Path) {
    let path = definition.to_str().expect("path");
    for command in [
        vec!["config", path],
        vec!["explain", path],
        vec!["validate", path],
        vec!["check", path, "--timeout", "3s"],
        vec!["keygroups", "--definition", path, "--source"],
        vec!["keygroups", "--definition", path, "--table", "by_url"],
    ] {
        for format in ["human", "json"] {
            let text = said(&[command.as_slice(), &["--output", format]].concat());
            assert!(!text.is_empty());
            search(&command.join(" "), &text);
        }
    }
}

fn users(database: &Database) {
    database.run("CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(10))");
    database.run("CREATE TABLE sink (id INT PRIMARY KEY, name VARCHAR(10))");
    database.run("INSERT INTO users VALUES (1, 'alice')");
    for place in PLACES {
        let user = format!("'{}_{place}'@'%'", database.name);
        database.run(&format!("CREATE USER {user} IDENTIFIED BY '{CANARY}-{place}'"));
        database.run(&format!("GRANT ALL ON {}.* TO {user}", database.name));
    }
}

const PLACES: [&str; 6] = ["url", "parameter", "option", "variable", "default", "file"];

fn drop_users(database: &Database) {
    PLACES.iter().for_each(|place| database.run(&format!("DROP USER '{}_{place}'@'%'", database.name)));
}

#[test]
fn a_running_job_shows_no_password() {
    let (secrets, database, topic) = (Secrets::new(), Database::new("c"), topic::unique("canary"));
    users(&database);
    topic::create(&topic, 1);
    let writer = Writer::new(&topic);
    writer.send(r#"{"id":1}"#, Some(r#"{"id":1}"#));
    writer.flush();
    let definition = secrets.folder.path().join("definition.yaml");
    fs::write(&definition, secrets.definition(&topic, &database.name, SASL)).expect("definition");
    search_commands(&definition);
    let environment = [("CANARY_VARIABLE", "c4n4ry-variable"), ("LOOKASIDE__LOG__LEVEL", "trace")];
    let mut replica = Replica::start_with(secrets.folder.path(), "job", &definition, &environment);
    replica.wait_ready();
    let rows = || database.rows("SELECT name FROM sink");
    for _ in 0..200 {
        if !rows().is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(rows(), [[Some("alice".to_owned())]], "the job runs, so every password is right");
    for path in ["/metrics", "/api/v1/status", "/livez", "/readyz", "/", "/api/v1/config"] {
        let (_, body) = replica.get(path).unwrap_or_else(|| panic!("{path} is not answered"));
        search(path, &body);
    }
    replica.signal("TERM");
    assert_eq!(replica.wait_exit(Duration::from_secs(30)).code(), Some(0), "{}", replica.log_text());
    let log = replica.log_text();
    assert!(log.contains("DEBUG"), "the log is not that of level debug: {log}");
    search("the log", &log);
    search("standard output", &replica.out_text());
    drop_users(&database);
}

#[test]
fn a_job_that_is_refused_shows_no_password() {
    let (secrets, database, topic) = (Secrets::new(), Database::new("c"), topic::unique("canary"));
    topic::create(&topic, 1);
    let definition = secrets.folder.path().join("definition.yaml");
    // The users do not exist: every database refuses.
    fs::write(&definition, secrets.definition(&topic, &database.name, SASL)).expect("definition");
    search_commands(&definition);
    let environment = [("CANARY_VARIABLE", "c4n4ry-variable"), ("LOOKASIDE__LOG__LEVEL", "trace")];
    let mut replica = Replica::start_with(secrets.folder.path(), "refused", &definition, &environment);
    assert_eq!(replica.wait_exit(Duration::from_secs(40)).code(), Some(4), "{}", replica.log_text());
    search("the log", &replica.log_text());
    // The broker does not know the user.
    let protocol = format!("    properties.security.protocol: SASL_PLAINTEXT\n{SASL}");
    fs::write(&definition, secrets.definition(&topic, &database.name, &protocol)).expect("definition");
    search_commands(&definition);
    // Values in the wrong place, and references that lead nowhere.
    let faulty = secrets.definition(&topic, &database.name, &protocol);
    let faults = [
        ("PlainLoginModule", "SecretLoginModule"),
        ("table-name: sink", "table-name: sink\n    sink.max-retries: ${env:CANARY_VARIABLE}"),
        ("password: ${env:CANARY_VARIABLE}", "password: [${env:CANARY_VARIABLE}, c4n4ry]"),
        ("sasl.mechanism: PLAIN", "sasl.mechanism: ${env:CANARY_VARIABLE}"),
        ("key.format: json", "key.format: ${env:CANARY_VARIABLE}"),
        ("commit.interval: 100 ms", "commit.interval: '${env:CANARY_VARIABLE}'"),
    ];
    for (good, bad) in faults {
        assert!(faulty.contains(good), "{good}");
        fs::write(&definition, faulty.replacen(good, bad, 1)).expect("definition");
        let path = definition.to_str().expect("path");
        let text = said(&["validate", path]);
        assert!(text.contains("fault"), "{bad}: {text}");
        search(bad, &text);
    }
}

/// Whatever a panic might print of a definition and its plan.
#[test]
fn a_panic_shows_no_password() {
    let secrets = Secrets::new();
    let text = secrets.definition("topic", "database", SASL);
    let variable = |name: &str| (name == "CANARY_VARIABLE").then(|| format!("{CANARY}-variable"));
    let references = References::new(variable, |_| Ok(format!("{CANARY}-file")));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let definition = load_texts(&[("d.yaml".to_owned(), text.clone())], &references);
        let plan = definition.as_ref().map(compile);
        panic!("{definition:?} {plan:?}");
    }));
    let message = panicked.expect_err("it panics");
    let message = message.downcast_ref::<String>().expect("a text");
    assert!(message.contains("by_default") && message.contains("***"), "{message}");
    search("a panic", message);
}
