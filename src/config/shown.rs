//! A definition as it counts: what was written, and the defaults of what was not.
//!
//! This is the text that people are shown. References stay references
//! (`${file:…}`), and whatever may be a secret is `***`: the value of an
//! option that is a secret by its kind or by its name, the password in a URL,
//! the default of a secret's reference. The text is YAML, and as long as
//! nothing had to be hidden it is a definition that means the same.

use std::fmt::Write as _;

use super::options::{CONNECTORS, ConnectorSpec, FORMATS, JOB_OPTIONS, Kind, OptionSpec, Role, Support};
use super::{Definition, Entry, LookupDefinition, PipelineDefinition, TableDefinition, Text};

/// What stands in the place of a secret.
const HIDDEN: &str = "***";

/// Behind a line that nobody wrote.
const DEFAULT: &str = "  # default";

/// An option whose name contains one of these words holds a secret: names of Kafka's clients and of formats,
/// most of which the option tables do not list.
const SECRET_WORDS: [&str; 9] = [
    "password",
    "secret",
    "jaas",
    "token",
    "credential",
    "pem",
    "keystore.key",
    "oauthbearer.config",
    "user.info",
];

/// Parameters of a URL that hold a secret.
const SECRET_PARAMETERS: [&str; 4] = ["password", "passwd", "secret", "token"];

/// The whole definition as YAML, secrets hidden, defaults marked.
#[must_use]
pub fn effective(definition: &Definition) -> String {
    let mut out = String::new();
    if let Some(name) = &definition.name {
        let _ = writeln!(out, "name: {}", scalar(&shown("name", None, name)));
    }
    out.push_str("\ntables:\n");
    for table in &definition.tables {
        table_text(table, role_of(table, &definition.pipeline), &mut out);
    }
    pipeline_text(&definition.pipeline, &mut out);
    out.push_str("\noptions:\n");
    options_text(&definition.options, JOB_OPTIONS, "", &mut out, "  ");
    defaults_text(&definition.options, JOB_OPTIONS.iter(), "", &mut out, "  ");
    out
}

/// The value of an option as people may see it.
#[must_use]
pub fn shown(option: &str, kind: Option<Kind>, text: &Text) -> String {
    if kind == Some(Kind::Secret) || is_secret_name(option) {
        return hidden(&text.written);
    }
    without_passwords(&text.written)
}

fn is_secret_name(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| option.contains(word))
}

/// A single reference may be shown, without its default; everything else is hidden.
fn hidden(written: &str) -> String {
    let inside = written.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let Some(reference) = inside.filter(|reference| !reference.contains(['{', '}'])) else {
        return if written.is_empty() { String::new() } else { HIDDEN.to_owned() };
    };
    match reference.split_once(":-") {
        Some((_, "")) | None => written.to_owned(),
        Some((name, _)) => format!("${{{name}:-{HIDDEN}}}"),
    }
}

/// `mysql://user:***@host`, `?password=***`.
fn without_passwords(written: &str) -> String {
    let mut out = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find("://") {
        let (scheme, tail) = rest.split_at(at + "://".len());
        out.push_str(scheme);
        let end = tail.find(|c: char| c.is_whitespace() || "/?#,".contains(c)).unwrap_or(tail.len());
        let (authority, tail) = tail.split_at(end);
        match authority.rsplit_once('@') {
            Some((credentials, host)) => {
                let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
                let password = if password.is_empty() { "" } else { ":***" };
                let _ = write!(out, "{user}{password}@{host}");
            }
            None => out.push_str(authority),
        }
        rest = tail;
    }
    out.push_str(rest);
    without_secret_parameters(&out)
}

fn without_secret_parameters(text: &str) -> String {
    let Some((address, query)) = text.split_once('?').filter(|(address, _)| address.contains("://")) else {
        return text.to_owned();
    };
    let parameter = |parameter: &str| match parameter.split_once('=') {
        Some((name, _)) if SECRET_PARAMETERS.iter().any(|word| name.to_ascii_lowercase().contains(word)) => {
            format!("{name}={HIDDEN}")
        }
        _ => parameter.to_owned(),
    };
    let parameters: Vec<String> = query.split('&').map(parameter).collect();
    format!("{address}?{}", parameters.join("&"))
}

fn role_of(table: &TableDefinition, pipeline: &PipelineDefinition) -> Option<Role> {
    let is = |text: &Text| text.value() == table.name.value();
    if is(&pipeline.from.table) {
        Some(Role::Source)
    } else if is(&pipeline.into) {
        Some(Role::Sink)
    } else {
        pipeline.lookups.iter().any(|lookup| is(&lookup.table)).then_some(Role::Dimension)
    }
}

fn table_text(table: &TableDefinition, role: Option<Role>, out: &mut String) {
    let _ = writeln!(out, "  {}:", scalar(table.name.value()));
    let Some(connector) = &table.connector else { return };
    let _ = writeln!(out, "    connector: {}", scalar(&shown("connector", None, connector)));
    let spec = CONNECTORS.iter().find(|spec| spec.name == connector.value());
    let known = spec.map(|spec| spec.options).unwrap_or_default();
    options_text(&table.options, known, "", out, "    ");
    if let (Some(spec), Some(role)) = (spec, role) {
        let applies = |option: &&OptionSpec| option.applies_to(role);
        defaults_text(&table.options, spec.options.iter().filter(applies), "", out, "    ");
        format_defaults(table, spec, role, out);
    }
    list_text("columns", table.columns.as_deref(), out, "    ");
}

/// Defaults of the formats that the table has chosen.
fn format_defaults(table: &TableDefinition, spec: &ConnectorSpec, role: Role, out: &mut String) {
    for (prefix, chooser) in spec.formats {
        let written = table.options.iter().find(|entry| entry.key.written == *chooser);
        let default = spec.options.iter().find(|option| option.name == *chooser);
        let chosen = written
            .and_then(|entry| entry.value.as_text().map(Text::value))
            .or_else(|| default.and_then(|option| option.default));
        let Some(format) = FORMATS.iter().find(|format| Some(format.name) == chosen) else { continue };
        let applies = |option: &&OptionSpec| option.applies_to(role);
        let prefix = format!("{prefix}{}.", format.name);
        defaults_text(&table.options, format.options.iter().filter(applies), &prefix, out, "    ");
    }
}

fn options_text(entries: &[Entry], known: &[OptionSpec], prefix: &str, out: &mut String, indent: &str) {
    for Entry { key, value } in entries {
        let name = key.written.as_str();
        let kind =
            known.iter().find(|spec| Some(spec.name) == name.strip_prefix(prefix)).map(|spec| spec.kind);
        // Whatever is not text is a fault, with which nothing runs.
        let Some(text) = value.as_text() else { continue };
        let _ = writeln!(out, "{indent}{}: {}", scalar(name), scalar(&shown(name, kind, text)));
    }
}

fn defaults_text<'a>(
    written: &[Entry],
    known: impl Iterator<Item = &'a OptionSpec>,
    prefix: &str,
    out: &mut String,
    indent: &str,
) {
    for spec in known.filter(|spec| spec.support == Support::Yes) {
        let name = format!("{prefix}{}", spec.name);
        if let Some(default) = spec.default
            && !written.iter().any(|entry| entry.key.written == name)
        {
            let _ = writeln!(out, "{indent}{}: {}{DEFAULT}", scalar(&name), scalar(default));
        }
    }
}

fn pipeline_text(pipeline: &PipelineDefinition, out: &mut String) {
    out.push_str("\npipeline:\n");
    let from = &pipeline.from;
    match &from.alias {
        None => line(out, "  from: ", &from.table),
        Some(alias) => {
            line(out, "  from:\n    table: ", &from.table);
            line(out, "    as: ", alias);
        }
    }
    if !pipeline.lookups.is_empty() {
        out.push_str("  lookup:\n");
        pipeline.lookups.iter().for_each(|lookup| lookup_text(lookup, out));
    }
    if let Some(filter) = &pipeline.filter {
        line(out, "  where: ", filter);
    }
    list_text("select", pipeline.select.as_deref(), out, "  ");
    line(out, "  into: ", &pipeline.into);
}

fn lookup_text(lookup: &LookupDefinition, out: &mut String) {
    line(out, "  - table: ", &lookup.table);
    let parts = [("as", &lookup.alias), ("type", &lookup.join), ("condition", &lookup.condition)];
    for (name, part) in parts {
        match (name, part) {
            (name, Some(part)) => line(out, &format!("    {name}: "), part),
            ("type", None) => {
                let _ = writeln!(out, "    type: inner{DEFAULT}");
            }
            _ => {}
        }
    }
}

fn line(out: &mut String, label: &str, text: &Text) {
    let _ = writeln!(out, "{label}{}", scalar(&without_passwords(&text.written)));
}

fn list_text(name: &str, items: Option<&[Text]>, out: &mut String, indent: &str) {
    let Some(items) = items else { return };
    let _ = writeln!(out, "{indent}{name}:");
    for item in items {
        let _ = writeln!(out, "{indent}- {}", scalar(&item.written));
    }
}

/// A YAML scalar of this text: plain where nothing in it could be read as structure, else in double quotes,
/// which YAML reads as JSON does.
fn scalar(text: &str) -> String {
    let begins = text.starts_with(|c: char| c.is_alphanumeric() || "$_/(.".contains(c));
    let structure = [": ", " #", "\t"].iter().any(|piece| text.contains(piece));
    let plain = begins
        && !structure
        && !text.ends_with([':', ' '])
        && !text
            .chars()
            .any(|c| c.is_control() || "{}[],\"'`|>&*!%@#".contains(c) && !is_in_reference(text, c));
    if plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// Braces of a reference do no harm in a block.
fn is_in_reference(text: &str, c: char) -> bool {
    (c == '{' || c == '}') && text.starts_with("${")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{References, load_texts};

    fn definition(text: &str) -> Definition {
        let variable = |_: &str| Some("resolved-s3cret".to_owned());
        let references = References::new(variable, |_| Ok("resolved-s3cret\n".to_owned()));
        let texts = [("definition.yaml".to_owned(), text.to_owned())];
        load_texts(&texts, &references).expect("a usable shape")
    }

    const JOB: &str = r#"
name: job
tables:
  orders:
    connector: upsert-kafka
    topic: ${env:TOPIC:-orders}
    properties.bootstrap.servers: ${env:KAFKA:-localhost:9092}
    properties.sasl.username: reader
    properties.sasl.password: canary-1
    properties.sasl.jaas.config: org.apache…PlainLoginModule required username="u" password="canary-2";
    properties.ssl.key.pem: canary-3
    key.format: json
    value.format: json
    columns: [id INT NOT NULL, "note STRING", PRIMARY KEY (id) NOT ENFORCED]
  users:
    connector: mysql
    url: mysql://root:canary-4@db:3306/shop?user=root&password=canary-5
    username: root
    password: ${env:PASSWORD:-canary-6}
    table-name: users
    columns: [id INT, name STRING]
  vault:
    connector: mysql
    url: ${env:URL:-mysql://root:canary-7@db/shop}
    username: root
    password: canary-8
    table-name: '<script>alert(1)</script>'
    columns: [id INT]
  out: {connector: print}
pipeline:
  from: orders
  lookup:
  - {table: users, as: u, condition: "u.id = orders.id AND u.name <> ': #'"}
  - {table: vault, type: left, condition: vault.id = orders.id}
  where: orders.id > 0
  select: [orders.id, "u.name AS \"the name\""]
  into: out
options: {parallelism: 2, commit.interval: 500 ms}
"#;

    #[test]
    fn secrets_are_hidden_and_references_stay_references() {
        let text = effective(&definition(JOB));
        assert!(!text.contains("canary"), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
        for shown in [
            "topic: ${env:TOPIC:-orders}",
            "properties.sasl.username: reader",
            "url: mysql://root:***@db:3306/shop?user=root&password=***",
            "password: ${env:PASSWORD:-***}",
            "url: ${env:URL:-mysql://root:***@db/shop}",
            "commit.interval: 500 ms\n",
            "lookup.max-retries: 3  # default",
            "type: inner  # default",
            "time-zone: UTC  # default",
        ] {
            assert!(text.contains(shown), "no {shown} in\n{text}");
        }
    }

    #[test]
    fn the_text_is_a_definition_that_means_the_same() {
        let open = JOB.lines().filter(|line| !line.contains("canary")).collect::<Vec<_>>().join("\n");
        let first = definition(&open);
        let text = effective(&first);
        let second = definition(&text);
        assert!(second.faults.is_empty(), "{:?}\n{text}", second.faults);
        // Written out, defaults are no longer defaults; nothing else differs.
        assert_eq!(text.replace(DEFAULT, ""), effective(&second));
        let columns = |definition: &Definition| {
            let columns =
                definition.tables.iter().flat_map(|table| table.columns.clone().unwrap_or_default());
            columns.map(|column| column.written).collect::<Vec<_>>()
        };
        assert_eq!(columns(&first), columns(&second));
        let conditions = |definition: &Definition| {
            let conditions = definition.pipeline.lookups.iter().filter_map(|lookup| lookup.condition.clone());
            conditions.map(|condition| condition.written).collect::<Vec<_>>()
        };
        assert_eq!(conditions(&first), conditions(&second));
    }
}
