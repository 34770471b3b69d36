//! `tests/conformance.md` and `docs/flink-differences.md` name what exists, and leave nothing out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lookaside::config::{References, load_texts};
use lookaside::plan::compile;

const CASES: u32 = 91;

/// The cells of every row of a document's tables, heads and rules left out.
fn rows(path: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).expect(path);
    let mut rows = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_head = lines.peek().is_some_and(|next| next.starts_with("|---"));
        if line.starts_with('|') && !line.starts_with("|---") && !is_head {
            let cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
            rows.push(cells.collect());
        }
    }
    rows
}

fn differences() -> Vec<Vec<String>> {
    rows("docs/flink-differences.md")
}

/// What stands in backticks.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Every Rust file of the tree with its text.
fn sources() -> Vec<(PathBuf, String)> {
    fn collect(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).expect("folder") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("source");
                found.push((path, text));
            }
        }
    }
    let mut found = Vec::new();
    ["src", "tests/it"].iter().for_each(|folder| collect(Path::new(folder), &mut found));
    found
}

/// Whether a name is that of a case or of a test function.
fn exists(name: &str, sources: &[(PathBuf, String)]) -> bool {
    if let Some((file, function)) = name.split_once("::") {
        let head = format!("fn {function}(");
        return sources.iter().any(|(path, text)| path.ends_with(file) && text.contains(&head));
    }
    Path::new("tests").join("cases").join(name).with_extension("yaml").is_file() || is_vectors(name)
}

fn is_vectors(name: &str) -> bool {
    name.starts_with("tests/vectors/") && Path::new(name).is_file()
}

#[test]
fn every_case_of_flink_stands_in_the_table_once() {
    let sources = sources();
    let points: Vec<String> = differences().into_iter().map(|row| row[0].clone()).collect();
    let mut found: BTreeMap<u32, u32> = BTreeMap::new();
    let mut faults = Vec::new();
    for row in rows("tests/conformance.md") {
        let [id, _, status, place] = row.as_slice() else { panic!("four columns: {row:?}") };
        let number: u32 = id.strip_prefix('G').and_then(|number| number.parse().ok()).expect(id);
        *found.entry(number).or_default() += 1;
        let point = place.strip_prefix('"').and_then(|place| place.split('"').next());
        let tests: Vec<String> = match point {
            Some(point) => names(&place[point.len() + 2..]),
            None => names(place),
        };
        faults.extend(
            tests
                .iter()
                .filter(|name| !exists(name, &sources))
                .map(|name| format!("{id}: there is no {name}")),
        );
        match (status.as_str(), point) {
            ("covered", None) if !tests.is_empty() => {}
            ("differs", Some(point)) if !tests.is_empty() => {
                if !points.iter().any(|known| known.starts_with(point)) {
                    faults.push(format!("{id}: docs/flink-differences.md has no row '{point}'"));
                }
            }
            ("later", None) if !place.is_empty() => {}
            _ => faults.push(format!("{id}: '{status}' and '{place}' do not go together")),
        }
    }
    let wrong = (1..=CASES).filter(|number| found.get(number) != Some(&1));
    faults.extend(wrong.map(|number| format!("G{number} does not stand in the table exactly once")));
    faults
        .extend(found.keys().filter(|number| CASES < **number).map(|number| format!("G{number} is unknown")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Key groups are bit-exact, or routing differs from Flink's.
#[test]
fn every_case_about_key_groups_is_covered() {
    for row in rows("tests/conformance.md").iter().take(7) {
        assert_eq!(row[2], "covered", "{row:?}");
    }
}

#[test]
fn every_difference_is_shown_by_a_test() {
    let sources = sources();
    let mut faults = Vec::new();
    for row in differences() {
        let [point, _, _, tests] = row.as_slice() else { panic!("four columns: {row:?}") };
        let tests = names(tests);
        if tests.is_empty() {
            faults.push(format!("'{point}' names no test"));
        }
        let missing = tests.iter().filter(|name| !exists(name, &sources));
        faults.extend(missing.map(|name| format!("'{point}': there is no {name}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

const TABLES: &str = "
  out: {connector: print}
pipeline: {from: src, into: out}
";
const UPSERT: &str = "connector: upsert-kafka, topic: t, properties.bootstrap.servers: 'b:1', key.format: json, value.format: json";
const APPEND: &str = "connector: kafka, topic: t, properties.bootstrap.servers: 'b:1', format: json";
const KEYED: &str = "columns: [id INT NOT NULL, name STRING, PRIMARY KEY (id) NOT ENFORCED]";
const COLUMNS: &str = "columns: [id INT, name STRING, age INT, address STRING]";

fn faults(definition: &str) -> String {
    let references = References::offline();
    let compiled = load_texts(&[("test.yaml".to_owned(), definition.to_owned())], &references)
        .and_then(|definition| compile(&definition));
    let faults = compiled.err().unwrap_or_default();
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn source(options: &str) -> String {
    format!("name: test\ntables:\n  src: {{{options}}}{TABLES}")
}

fn sink(options: &str) -> String {
    let source = format!("{UPSERT}, {KEYED}").replace("topic: t,", "topic: in,");
    format!(
        "name: test\ntables:\n  src: {{{source}}}\n  out: {{{options}}}\npipeline: {{from: src, into: out}}\n"
    )
}

fn dimension(options: &str) -> String {
    format!(
        "name: test\ntables:\n  src: {{{UPSERT}, {KEYED}}}\n  d: {{connector: mysql, url: 'mysql://h/d', table-name: t, columns: [id INT, v STRING], {options}}}\n  out: {{connector: print}}\npipeline:\n  from: src\n  lookup: [{{table: d, condition: d.id = src.id}}]\n  select: [src.id, d.v]\n  into: out\n"
    )
}

/// Flink: UpsertKafkaDynamicTableFactoryTest, KafkaConnectorOptionsUtilTest, JdbcDynamicTableFactoryTest.
#[test]
fn what_flink_refuses_is_refused() {
    let refused = [
        (source(&format!("{UPSERT}, {COLUMNS}")), "needs a PRIMARY KEY"),
        (
            sink(&format!("{UPSERT}, {KEYED}").replace("value.format: json", "value.format: debezium-json")),
            "a changelog format",
        ),
        (
            source(&format!("{UPSERT}, {KEYED}").replace("value.format: json", "value.format: canal-json")),
            "a changelog format",
        ),
        (
            sink(&format!("{UPSERT}, {KEYED}, sink.buffer-flush.max-rows: 100")),
            "must both be above 0, or both be off",
        ),
        (
            sink(&format!("{UPSERT}, {KEYED}, sink.buffer-flush.interval: 1 s")),
            "must both be above 0, or both be off",
        ),
        (sink(&format!("{UPSERT}, {KEYED}, sink.delivery-guarantee: exactly-once")), "exactly-once"),
        (
            source(&format!("{UPSERT}, {KEYED}, scan.bounded.mode: specific-offsets")),
            "needs 'scan.bounded.specific-offsets'",
        ),
        (source(&format!("{APPEND}, {COLUMNS}, key.format: json")), "key.fields"),
        (source(&format!("{APPEND}, {COLUMNS}, key.fields: id")), "key.format"),
        (source(&format!("{APPEND}, {COLUMNS}, key.format: json, key.fields: nme")), "did you mean 'name'"),
        (
            source(&format!(
                "{APPEND}, {COLUMNS}, key.format: json, key.fields: 'address; name', key.fields-prefix: k_, value.fields-include: EXCEPT_KEY"
            )),
            "does not begin with the prefix 'k_'",
        ),
        (
            source(&format!("{APPEND}, {COLUMNS}, key.format: json, key.fields: name, key.fields-prefix: n")),
            "needs value.fields-include EXCEPT_KEY",
        ),
        (dimension("lookup.max-retries: -1"), "lookup.max-retries"),
        (dimension("lookup.cache.ttl: 10 s"), "given without 'lookup.cache.max-rows'"),
        (dimension("lookup.cache.max-rows: 10"), "given without 'lookup.cache.ttl'"),
        (dimension("username: root"), "give both, or neither"),
        (dimension("connection.max-retry-timeout: 100 ms"), "at least 1000 ms"),
        (dimension("lookup.cache: PARTIAL"), "without any bound"),
    ];
    for (definition, what) in &refused {
        let found = faults(definition);
        assert!(found.contains(what), "'{what}' is not said of\n{definition}\nbut:\n{found}");
    }
    let fine = [
        source(&format!("{UPSERT}, {KEYED}")),
        sink(&format!("{UPSERT}, {KEYED}")),
        dimension("lookup.max-retries: 1"),
    ];
    fine.iter().for_each(|definition| assert_eq!(faults(definition), "", "{definition}"));
}

/// Flink refuses `=` and accepts `<` and IN, with surprising results.
#[test]
fn text_is_never_compared_with_numbers() {
    let with = |condition: &str| {
        source(&format!("{UPSERT}, {KEYED}"))
            .replace("into: out", &format!("where: \"{condition}\", into: out"))
    };
    for condition in
        ["src.name = 1", "src.name < 1", "src.name IN (1, 2)", "1 <> src.name", "src.name BETWEEN 1 AND 2"]
    {
        let found = faults(&with(condition));
        assert!(found.contains("CAST") || found.contains("cast"), "{condition}: {found}");
    }
    assert_eq!(faults(&with("src.name < '1' AND CAST(src.name AS INT) < 1")), "");
}
