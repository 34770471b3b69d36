//! Faults of definitions, as a user sees them: each `tests/definitions/*.yaml` (or folder of files) has
//! the text that `validate` prints beside it.
//!
//! `UPDATE_EXPECTED=1` writes the texts anew; read the difference before committing it.

use std::fs;
use std::path::{Path, PathBuf};

use lookaside::config::{Fault, References, load_texts};
use lookaside::plan::{compile, compile_with_sql, explain};

/// Never to be seen in anything that is printed.
const CANARY: &str = "c4n4ry";

fn references() -> References<'static> {
    let variable = |name: &str| match name {
        "CANARY" => Some(CANARY.to_owned()),
        _ => None,
    };
    let contents = |path: &str| match path {
        "/secret" => Ok(format!("{CANARY}\n")),
        _ => Err("no such file".to_owned()),
    };
    References::new(variable, contents)
}

/// The files of a definition with the names that faults give them.
fn texts(path: &Path) -> Vec<(String, String)> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    if path.is_file() {
        return vec![(name(path), fs::read_to_string(path).unwrap())];
    }
    let mut files: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| (name(file), fs::read_to_string(file).unwrap())).collect()
}

fn faults(path: &Path) -> Vec<Fault> {
    let compiled = load_texts(&texts(path), &references()).and_then(|definition| compile(&definition));
    compiled.err().unwrap_or_default()
}

fn plan(yaml: &str) -> (lookaside::plan::Plan, lookaside::plan::PlanSql) {
    let definition = load_texts(&[("test.yaml".to_owned(), yaml.to_owned())], &references()).unwrap();
    compile_with_sql(&definition).unwrap_or_else(|faults| {
        panic!("{}", faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })
}

#[test]
fn every_fault_is_reported_with_its_place_and_what_to_do() {
    let mut differences = Vec::new();
    let mut paths: Vec<PathBuf> =
        fs::read_dir("tests/definitions").unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_none_or(|extension| extension == "yaml")) {
        let found: String = faults(path).iter().map(|fault| format!("{fault}\n")).collect();
        assert!(!found.contains(CANARY), "{found}");
        let expected = path.with_extension("txt");
        if std::env::var("UPDATE_EXPECTED").is_ok() {
            fs::write(&expected, &found).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        if found != expected || found.is_empty() {
            differences.push(format!("{}:\n--- expected\n{expected}--- found\n{found}", path.display()));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_table_in_a_file_is_explained_by_its_path() {
    let (plan, sql) = plan(
        "name: file
tables:
  orders: {connector: upsert-kafka, topic: t, properties.bootstrap.servers: h, key.format: json, value.format: json, columns: [id INT, PRIMARY KEY (id) NOT ENFORCED]}
  users: {connector: sqlite, url: 'sqlite:/data/shop.db', table-name: t, columns: [id INT, name STRING], lookup.enable_hash: true, lookup.cache: PARTIAL, lookup.partial-cache.max-rows: 5}
  out: {connector: print}
pipeline: {from: orders, lookup: [{table: users, condition: users.id = orders.id}], select: [orders.id, users.name], into: out}
",
    );
    let capacities = explain::Capacities { default_parallelism: 2, channels: Vec::new() };
    let explained = explain::explain(&plan, &sql, &capacities).to_text();
    assert!(explained.contains("sqlite /data/shop.db table t"), "{explained}");
    assert!(explained.contains("the shard that owns the key group of (id)"), "{explained}");
}

#[test]
fn faults_have_a_form_for_machines() {
    let faults = faults(Path::new("tests/definitions/options.yaml"));
    let fault = faults.iter().find(|fault| fault.what.contains("lookup.cachee")).unwrap().to_json();
    assert_eq!(fault["file"], "options.yaml");
    assert_eq!((fault["line"].as_u64(), fault["column"].as_u64()), (Some(27), Some(5)));
    assert_eq!(fault["nearest"], "lookup.cache");
}

#[test]
fn every_example_is_valid() {
    for entry in fs::read_dir("config/examples").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let faults = faults(&path);
            assert!(faults.is_empty(), "{}: {faults:?}", path.display());
        }
    }
}

#[test]
fn no_secret_is_printed() {
    let (plan, sql) = plan(&format!(
        r#"
name: secrets
tables:
  orders:
    connector: upsert-kafka
    topic: orders
    properties.bootstrap.servers: localhost:9092
    properties.security.protocol: SASL_PLAINTEXT
    properties.sasl.mechanism: PLAIN
    properties.sasl.jaas.config: 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{CANARY}";'
    key.format: json
    value.format: json
    columns: [id INT, PRIMARY KEY (id) NOT ENFORCED]
  users:
    connector: mysql
    url: mysql://root:{CANARY}@localhost/db
    table-name: users
    columns: [id INT, name STRING]
  out:
    connector: mysql
    url: jdbc:mysql://localhost/db
    username: root
    password: ${{file:/secret}}
    table-name: out
    columns: [id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED]
pipeline:
  from: orders
  lookup: [{{table: users, condition: users.id = orders.id}}]
  select: [orders.id, users.name]
  into: out
"#
    ).replace("columns: [id INT, name STRING]\n  out", "columns: [id INT PRIMARY KEY NOT ENFORCED, name STRING]\n  out"));
    let capacities = explain::Capacities { default_parallelism: 2, channels: Vec::new() };
    let explanation = explain::explain(&plan, &sql, &capacities);
    let printed = format!("{plan:?}{sql:?}{}{}", explanation.to_text(), explanation.to_json());
    assert!(!printed.contains(CANARY), "{printed}");
    let has = |name: &str| {
        plan.source.client.settings.iter().any(|(known, value)| known == name && value.expose() == CANARY)
    };
    assert!(has("sasl.password"));
}

/// Every option of every connector, one at a time, with a value from a reference that no option takes.
#[test]
fn faults_never_show_what_a_reference_stands_for() {
    use lookaside::config::options::{CONNECTORS, FORMATS, JOB_OPTIONS};
    let mut names: Vec<(String, String)> = Vec::new();
    for connector in CONNECTORS {
        for spec in connector.options {
            names.push((connector.name.to_owned(), spec.name.to_owned()));
        }
        for (prefix, chooser) in connector.formats {
            for format in FORMATS {
                let options =
                    format.options.iter().map(|spec| format!("{prefix}{}.{}", format.name, spec.name));
                names.extend(
                    options.map(|name| {
                        (connector.name.to_owned(), format!("{name}\0{chooser}\0{}", format.name))
                    }),
                );
            }
        }
        if connector.has_properties {
            for property in lookaside::config::options::client::property_names() {
                names.push((connector.name.to_owned(), format!("properties.{property}")));
            }
        }
    }
    for (connector, name) in &names {
        let name: Vec<&str> = name.split('\0').collect();
        let mut options = vec![(name[0].to_owned(), "${env:CANARY}".to_owned())];
        if let [_, chooser, format] = name.as_slice() {
            options.push(((*chooser).to_owned(), (*format).to_owned()));
        }
        for role in ["from", "lookup", "into"] {
            no_canary(&one_table(connector, &options, role), name[0]);
        }
    }
    for spec in JOB_OPTIONS {
        let yaml = one_table("print", &[], "into")
            .replace("pipeline:", &format!("options:\n  {}: ${{env:CANARY}}\npipeline:", spec.name));
        no_canary(&yaml, spec.name);
    }
}

fn no_canary(yaml: &str, name: &str) {
    let texts = [("test.yaml".to_owned(), yaml.to_owned())];
    let compiled = load_texts(&texts, &references()).and_then(|definition| compile(&definition));
    let printed = match compiled {
        Ok(plan) => plan.notes.join("\n"),
        Err(faults) => faults.iter().map(|fault| format!("{fault}\n{}\n", fault.to_json())).collect(),
    };
    assert!(!printed.contains(CANARY), "{name}: {printed}\n{yaml}");
}

/// A pipeline whose table `it` has these options and part; the rest is sound.
fn one_table(connector: &str, options: &[(String, String)], role: &str) -> String {
    let needed = match connector {
        "upsert-kafka" => vec![
            ("topic", "it"),
            ("properties.bootstrap.servers", "h"),
            ("key.format", "json"),
            ("value.format", "json"),
        ],
        "kafka" => vec![("topic", "it"), ("properties.bootstrap.servers", "h"), ("format", "json")],
        "mysql" | "jdbc" => vec![("url", "mysql://h/d"), ("table-name", "it")],
        _ => Vec::new(),
    };
    let mut table = format!("    connector: {connector}\n    columns: [id INT PRIMARY KEY NOT ENFORCED]\n");
    let given = |name: &str| options.iter().any(|(known, _)| known == name);
    for (name, value) in needed.into_iter().filter(|(name, _)| !given(name)) {
        table.push_str(&format!("    {name}: {value}\n"));
    }
    for (name, value) in options {
        table.push_str(&format!("    {name}: {value}\n"));
    }
    let table_of = |part: &str, other: &'static str| if role == part { "it" } else { other };
    format!(
        "name: test
tables:
  it:
{table}  orders: {{connector: upsert-kafka, topic: o, properties.bootstrap.servers: h, key.format: json, value.format: json, columns: [id INT PRIMARY KEY NOT ENFORCED]}}
  users: {{connector: mysql, url: mysql://h/d, table-name: t, columns: [id INT PRIMARY KEY NOT ENFORCED]}}
  out: {{connector: print}}
pipeline:
  from: {}
  lookup: [{{table: {}, as: u, condition: u.id = 1}}]
  select: [u.id]
  into: {}
",
        table_of("from", "orders"),
        table_of("lookup", "users"),
        table_of("into", "out"),
    )
}

/// A definition with a slip of the keyboard anywhere: there is a plan or a fault with a place, never a panic.
#[test]
fn no_slip_of_the_keyboard_breaks_the_compiler() {
    const EVERY: usize = 11;
    let example = fs::read_to_string("config/examples/order-enrichment.yaml").unwrap();
    for (at, letter) in example.char_indices().step_by(EVERY) {
        for slip in ["", "'", "`", "(", "é", "${", ": ", "*"] {
            let text = format!("{}{slip}{}", &example[..at], &example[at + letter.len_utf8()..]);
            let texts = [("slip.yaml".to_owned(), text)];
            let compiled = load_texts(&texts, &references()).and_then(|definition| compile(&definition));
            assert!(compiled.as_ref().err().is_none_or(|faults| !faults.is_empty()), "{}", texts[0].1);
        }
    }
}
