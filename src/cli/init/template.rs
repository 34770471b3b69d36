//! From the connectors asked for to the text of a definition.

use std::fmt::Write as _;

use crate::config::options::{ConnectorSpec, JOB_OPTIONS, OptionSpec, Role, Support};
use crate::config::scalar;

use super::example::{self, Dimension, JOB_OFFERED, OFFERED, SINK, SOURCE, WRITTEN};

/// Column at which comments begin.
const COMMENT_AT: usize = 58;

/// What was asked for.
pub(super) struct Choice {
    pub source: &'static ConnectorSpec,
    pub dimensions: Vec<&'static ConnectorSpec>,
    pub sink: &'static ConnectorSpec,
    pub format: String,
    /// Where the definition will stand, for the commands of its first lines.
    pub file: String,
}

impl Choice {
    fn dimensions(&self) -> impl Iterator<Item = (&'static ConnectorSpec, &'static Dimension)> {
        self.dimensions.iter().copied().zip(&example::DIMENSIONS)
    }

    /// Whether rows of the sink are addressed by key. Print and blackhole take every row.
    fn sink_has_key(&self) -> bool {
        !matches!(self.sink.name, "print" | "blackhole")
    }
}

/// The text.
pub(super) fn definition(choice: &Choice) -> String {
    let mut out = head(choice);
    out.push_str("\ntables:\n");
    source(&mut out, choice);
    choice
        .dimensions()
        .for_each(|(connector, dimension)| dimension_table(&mut out, choice, connector, dimension));
    sink(&mut out, choice);
    pipeline(&mut out, choice);
    out.push_str("\noptions:\n");
    commented(&mut out, 1, "commit.interval: 1 s", job_doc("commit.interval"));
    for name in JOB_OFFERED {
        let Some(spec) = JOB_OPTIONS.iter().find(|spec| spec.name == *name) else { continue };
        let value = example::value(spec, "", Role::Source, "", "").unwrap_or_default();
        commented(&mut out, 1, &format!("# {name}: {value}"), spec.doc);
    }
    out
}

fn job_doc(name: &str) -> &'static str {
    JOB_OPTIONS.iter().find(|spec| spec.name == name).map_or("", |spec| spec.doc)
}

fn head(choice: &Choice) -> String {
    let file = if choice.file == "-" { "FILE" } else { choice.file.as_str() };
    let through = match choice.dimensions.len() {
        0 => String::new(),
        1 => format!(", looked up in a {} table", choice.dimensions[0].name),
        tables => format!(", looked up in {tables} tables"),
    };
    let mut out = format!("# Orders from {}{through}, to {}.\n#\n", choice.source.name, choice.sink.name);
    let steps = [
        ("validate", "every fault, with its place; nothing is connected to"),
        ("check", "tries the servers: topics, tables, columns, types, indexes"),
        ("run", "runs the job"),
    ];
    for (command, what) in steps {
        let _ = writeln!(out, "#   {:<36}{what}", format!("lookaside {command} {file}"));
    }
    out.push_str(
        "#\n# A line that begins with # is an option with its default; take the # away to set it.\n\n",
    );
    commented(
        &mut out,
        0,
        "name: orders-enriched",
        "Names the consumer group and the clients: one name per job.",
    );
    out
}

fn source(out: &mut String, choice: &Choice) {
    table_head(out, SOURCE, choice.source, Role::Source);
    options(out, choice, choice.source, Role::Source, SOURCE);
    out.push_str("    columns:\n");
    line(out, 2, "- order_id BIGINT NOT NULL");
    choice.dimensions().for_each(|(_, dimension)| line(out, 2, &format!("- {} BIGINT", dimension.key)));
    line(out, 2, "- amount DECIMAL(10, 2)");
    if choice.source.name.starts_with("upsert") {
        commented(out, 2, "- PRIMARY KEY (order_id) NOT ENFORCED", "The columns that the record key holds.");
    }
    out.push('\n');
}

fn dimension_table(out: &mut String, choice: &Choice, connector: &ConnectorSpec, dimension: &Dimension) {
    table_head(out, dimension.table, connector, Role::Dimension);
    options(out, choice, connector, Role::Dimension, dimension.table);
    out.push_str("    columns:\n");
    line(out, 2, "- id BIGINT");
    line(out, 2, "- name STRING");
    commented(out, 2, "- PRIMARY KEY (id) NOT ENFORCED", "At most one row per key.");
    out.push('\n');
}

fn sink(out: &mut String, choice: &Choice) {
    table_head(out, SINK, choice.sink, Role::Sink);
    options(out, choice, choice.sink, Role::Sink, "orders_enriched");
    if choice.sink_has_key() {
        out.push_str("    columns:\n");
        line(out, 2, "- order_id BIGINT NOT NULL");
        choice.dimensions().for_each(|(_, dimension)| line(out, 2, &format!("- {} STRING", dimension.name)));
        line(out, 2, "- amount DECIMAL(10, 2)");
        commented(
            out,
            2,
            "- PRIMARY KEY (order_id) NOT ENFORCED",
            "Rows of the same key replace each other.",
        );
    } else {
        line(out, 2, "# Without 'columns' it takes those of 'select'.");
    }
    out.push('\n');
}

fn pipeline(out: &mut String, choice: &Choice) {
    out.push_str("pipeline:\n");
    line(out, 1, &format!("from: {SOURCE}"));
    if !choice.dimensions.is_empty() {
        commented(out, 1, "lookup:", "In order; each sees the columns before it.");
    }
    for (_, Dimension { table, alias, key, .. }) in choice.dimensions() {
        line(out, 1, &format!("- table: {table}"));
        line(out, 2, &format!("as: {alias}"));
        commented(out, 2, "type: left", "Rows without a match stay, with NULLs; inner drops them.");
        line(out, 2, &format!("condition: {alias}.id = {SOURCE}.{key}"));
    }
    line(out, 1, &format!("# where: {SOURCE}.amount > 0"));
    line(out, 1, "select:");
    line(out, 1, &format!("- {SOURCE}.order_id"));
    for (_, Dimension { alias, name, .. }) in choice.dimensions() {
        line(out, 1, &format!("- {alias}.name AS {name}"));
    }
    line(out, 1, &format!("- {SOURCE}.amount"));
    line(out, 1, &format!("into: {SINK}"));
}

fn table_head(out: &mut String, name: &str, connector: &ConnectorSpec, role: Role) {
    commented(out, 1, &format!("{name}:"), &format!("The {}.", role.name()));
    commented(out, 2, &format!("connector: {}", connector.name), connector.doc);
}

/// What must be given or is worth a line, then what may be set, as comments.
fn options(out: &mut String, choice: &Choice, connector: &ConnectorSpec, role: Role, table: &str) {
    let usable = |spec: &&OptionSpec| spec.applies_to(role) && spec.support == Support::Yes;
    let find = |name: &&str| connector.options.iter().filter(usable).find(|spec| spec.name == *name);
    let required = connector.options.iter().filter(usable).filter(|spec| spec.required.contains(&role));
    // `kafka` has two names for one option, and reads keys only with more options.
    let plain =
        |spec: &&OptionSpec| connector.name != "kafka" || !matches!(spec.name, "key.format" | "value.format");
    let asked = WRITTEN.iter().filter_map(find).filter(plain).filter(|spec| !spec.required.contains(&role));
    let written: Vec<&OptionSpec> = required.chain(asked).collect();
    let value = |spec: &OptionSpec| {
        example::value(spec, table, role, &choice.format, connector.name).unwrap_or_default()
    };
    for spec in &written {
        commented(out, 2, &format!("{}: {}", spec.name, scalar(&value(spec))), spec.doc);
    }
    if connector.has_properties {
        let servers = "properties.bootstrap.servers: ${env:KAFKA:-localhost:9092}";
        commented(out, 2, servers, "Brokers; a reference may have a default.");
    }
    let is_written = |spec: &&OptionSpec| written.iter().any(|known| known.name == spec.name);
    for spec in OFFERED.iter().filter_map(find).filter(|spec| !is_written(spec)) {
        commented(out, 2, &format!("# {}: {}", spec.name, scalar(&value(spec))), spec.doc);
    }
}

fn line(out: &mut String, depth: usize, text: &str) {
    let _ = writeln!(out, "{}{text}", "  ".repeat(depth));
}

/// A line with a comment behind, without the full stop of a sentence.
fn commented(out: &mut String, depth: usize, text: &str, comment: &str) {
    let text = format!("{}{text}", "  ".repeat(depth));
    let _ = match comment.trim_end_matches('.') {
        "" => writeln!(out, "{text}"),
        comment => writeln!(out, "{text:COMMENT_AT$}  # {comment}"),
    };
}
