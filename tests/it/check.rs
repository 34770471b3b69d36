//! `lookaside check` on a dimension table in a SQLite file: what it finds there, and what it says of it.

use std::process::Command;

use crate::sqlite_lookup::Bed;
use crate::{stack, topic};

/// Exit code and findings for the lookup, of a definition whose SQLite table has these columns.
fn check(bed: &Bed, topic: &str, table: &str, columns: &str) -> (Option<i32>, String) {
    let definition = tempfile::NamedTempFile::with_suffix(".yaml").expect("file");
    let text = format!(
        "name: {topic}
tables:
  src:
    connector: upsert-kafka
    topic: {topic}
    properties.bootstrap.servers: {}
    key.format: json
    value.format: json
    columns: [id INT NOT NULL, code STRING, PRIMARY KEY (id) NOT ENFORCED]
  shops: {{connector: sqlite, url: 'sqlite:{}', table-name: {table}, columns: [{columns}]}}
  out: {{connector: print}}
pipeline:
  from: src
  lookup: [{{table: shops, as: s, condition: s.code = src.code}}]
  select: [src.id, s.city]
  into: out
",
        stack::kafka(),
        bed.file().display(),
    );
    std::fs::write(definition.path(), text).expect("definition");
    let output = Command::new(env!("CARGO_BIN_EXE_lookaside")).arg("check").arg(definition.path()).output();
    let output = output.expect("lookaside check");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let lookup = said.split("lookup shops").nth(1).unwrap_or_else(|| panic!("no lookup in {said}"));
    (output.status.code(), lookup.split("sink out").next().unwrap_or_default().to_owned())
}

#[track_caller]
fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

#[test]
fn a_sqlite_table_is_looked_at_as_a_mysql_table_is() {
    let bed = Bed::new(&["CREATE TABLE shop (code TEXT PRIMARY KEY, city TEXT, rooms TEXT)"]);
    let topic = topic::unique("check-sqlite");
    topic::create(&topic, 1);
    let check = |table: &str, columns: &str| check(&bed, &topic, table, columns);
    let file = bed.file().display().to_string();

    let (code, said) = check("shop", "code STRING, city STRING");
    assert_eq!(code, Some(0), "{said}");
    assert_says(&said, &[&file, "answers: version 3.", "has code, city, of types that fit"]);
    assert_says(&said, &["an index begins with the lookup key (code)"]);

    let (code, said) = check("shops", "code STRING, city STRING");
    assert_eq!(code, Some(1), "{said}");
    assert_says(&said, &["has no table `shops`; did you mean `shop`?"]);

    let (code, said) = check("shop", "code STRING, city STRING, room INT");
    assert_eq!(code, Some(0), "what nothing reads is not asked for: {said}");
    bed.run("ALTER TABLE shop RENAME COLUMN city TO town");
    let (code, said) = check("shop", "code STRING, city STRING");
    assert_eq!(code, Some(1), "{said}");
    assert_says(&said, &["no column `city`"]);

    // The file is opened for reading only, and a missing one is not made.
    std::fs::remove_file(bed.file()).expect("file");
    let (code, said) = check("shop", "code STRING, city STRING");
    assert_eq!(code, Some(1), "{said}");
    assert_says(&said, &[&file, "there is no such file"]);
    assert!(!bed.file().exists());

    let bed = Bed::new(&["CREATE TABLE shop (code TEXT, city TEXT)"]);
    let (code, said) = self::check(&bed, &topic, "shop", "code STRING, city STRING");
    assert_eq!(code, Some(0), "a warning alone: {said}");
    assert_says(&said, &["warning", "create an index on (code)"]);
}
