//! A definition with every option in effect, as it may be shown: as YAML that says the same, and for machines.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use super::options::{ConnectorUse, EffectiveOption, Role, check_job, check_table};
use super::redact::{is_secret_name, redacted};
use super::{Definition, Faults, Span, TableDefinition, Text};

/// Column at which notes of origin begin, where the line leaves room.
const NOTE_AT: usize = 64;

/// A definition with every option in effect. References are shown as they were written.
#[derive(Clone, Debug)]
pub struct EffectiveDefinition<'a> {
    definition: &'a Definition,
    tables: Vec<(&'a TableDefinition, Vec<EffectiveOption>)>,
    options: Vec<EffectiveOption>,
}

impl<'a> EffectiveDefinition<'a> {
    /// What a valid definition comes to; what is faulty in another is left out.
    #[must_use]
    pub fn new(definition: &'a Definition) -> Self {
        let mut ignored = Faults::default();
        let tables = definition.tables.iter().map(|table| (table, table_options(definition, table)));
        let span = &definition.pipeline.span;
        let options = check_job(&definition.options, span, &mut ignored).effective();
        Self { definition, tables: tables.collect(), options }
    }

    /// As YAML: what is not written stands there with `# default`, what is written with its place.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        let definition = self.definition;
        if let Some(name) = &definition.name {
            line(&mut out, 0, &format!("name: {}", scalar(&name.written)), Some(&name.span));
        }
        out.push_str("\ntables:\n");
        for (table, options) in &self.tables {
            line(&mut out, 1, &format!("{}:", scalar(&table.name.written)), None);
            if let Some(connector) = &table.connector {
                let text = format!("connector: {}", scalar(&connector.written));
                line(&mut out, 2, &text, Some(&connector.span));
            }
            options.iter().for_each(|option| option_line(&mut out, 2, option));
            if let Some(columns) = &table.columns {
                list(&mut out, 2, "columns", columns);
            }
            out.push('\n');
        }
        self.pipeline_yaml(&mut out);
        out.push_str("\noptions:\n");
        self.options.iter().for_each(|option| option_line(&mut out, 1, option));
        out
    }

    fn pipeline_yaml(&self, out: &mut String) {
        let pipeline = &self.definition.pipeline;
        out.push_str("pipeline:\n");
        let from = &pipeline.from;
        match &from.alias {
            None => line(out, 1, &format!("from: {}", scalar(&from.table.written)), None),
            Some(alias) => {
                line(out, 1, "from:", None);
                line(out, 2, &format!("table: {}", scalar(&from.table.written)), None);
                line(out, 2, &format!("as: {}", scalar(&alias.written)), None);
            }
        }
        if !pipeline.lookups.is_empty() {
            line(out, 1, "lookup:", None);
        }
        for lookup in &pipeline.lookups {
            line(out, 1, &format!("- table: {}", scalar(&lookup.table.written)), Some(&lookup.table.span));
            let keys = [("as", &lookup.alias), ("type", &lookup.join), ("condition", &lookup.condition)];
            for (key, text) in keys {
                match text {
                    Some(text) => line(out, 2, &format!("{key}: {}", scalar(&text.written)), None),
                    None if key == "type" => noted(out, 2, "type: inner", "default"),
                    None => {}
                }
            }
        }
        if let Some(filter) = &pipeline.filter {
            line(out, 1, &format!("where: {}", scalar(&filter.written)), None);
        }
        match &pipeline.select {
            Some(items) => list(out, 1, "select", items),
            None => noted(out, 1, "select: '*'", "default"),
        }
        line(out, 1, &format!("into: {}", scalar(&pipeline.into.written)), None);
    }

    /// For machines: options as lists of name, value and place (`null`: the default).
    #[must_use]
    pub fn to_json(&self) -> Json {
        let written = |text: &Option<Text>| text.as_ref().map(|text| text.written.clone());
        let texts = |items: &[Text]| items.iter().map(|item| item.written.clone()).collect::<Vec<_>>();
        let tables: Map<String, Json> = self
            .tables
            .iter()
            .map(|(table, options)| {
                let columns = table.columns.as_deref().map(texts);
                let connector = written(&table.connector);
                let options: Vec<Json> = options.iter().map(option_json).collect();
                let json = json!({"connector": connector, "columns": columns, "options": options});
                (table.name.written.clone(), json)
            })
            .collect();
        let pipeline = &self.definition.pipeline;
        let lookups = pipeline.lookups.iter().map(|lookup| {
            json!({
                "table": lookup.table.written,
                "as": written(&lookup.alias),
                "type": written(&lookup.join).unwrap_or_else(|| "inner".to_owned()),
                "condition": written(&lookup.condition),
            })
        });
        json!({
            "name": written(&self.definition.name),
            "tables": tables,
            "pipeline": {
                "from": {"table": pipeline.from.table.written, "as": written(&pipeline.from.alias)},
                "lookup": lookups.collect::<Vec<_>>(),
                "where": written(&pipeline.filter),
                "select": pipeline.select.as_deref().map_or_else(|| vec!["*".to_owned()], texts),
                "into": pipeline.into.written,
            },
            "options": self.options.iter().map(option_json).collect::<Vec<_>>(),
        })
    }
}

/// The part of a table in the pipeline; `None`: it has none.
fn role(definition: &Definition, table: &TableDefinition) -> Option<Role> {
    let is_it = |text: &Text| text.value() == table.name.written;
    let pipeline = &definition.pipeline;
    match () {
        () if is_it(&pipeline.from.table) => Some(Role::Source),
        () if is_it(&pipeline.into) => Some(Role::Sink),
        () => pipeline.lookups.iter().any(|lookup| is_it(&lookup.table)).then_some(Role::Dimension),
    }
}

/// A table that nothing uses has no options in effect: what is written is shown.
fn table_options(definition: &Definition, table: &TableDefinition) -> Vec<EffectiveOption> {
    let mut ignored = Faults::default();
    let used =
        role(definition, table).and_then(|role| check_table(ConnectorUse { table, role }, &mut ignored));
    match used {
        Some(options) => options.effective(),
        None => table
            .options
            .iter()
            .filter_map(|entry| Some((entry, entry.value.as_text()?)))
            .map(unused)
            .collect(),
    }
}

fn unused((entry, text): (&super::Entry, &Text)) -> EffectiveOption {
    let name = entry.key.written.clone();
    let value = redacted(&text.written, is_secret_name(&name));
    EffectiveOption { name, value, place: Some(text.span.clone()) }
}

fn option_json(option: &EffectiveOption) -> Json {
    let place = option.place.as_ref();
    let place = place.map(|span| json!({"file": &*span.file, "line": span.line, "column": span.column}));
    json!({"name": option.name, "value": option.value, "place": place})
}

fn option_line(out: &mut String, depth: usize, option: &EffectiveOption) {
    let text = format!("{}: {}", scalar(&option.name), scalar(&option.value));
    match &option.place {
        Some(span) => line(out, depth, &text, Some(span)),
        None => noted(out, depth, &text, "default"),
    }
}

fn list(out: &mut String, depth: usize, key: &str, items: &[Text]) {
    if items.is_empty() {
        return line(out, depth, &format!("{key}: []"), None);
    }
    line(out, depth, &format!("{key}:"), None);
    for item in items {
        line(out, depth, &format!("- {}", scalar(&item.written)), None);
    }
}

fn line(out: &mut String, depth: usize, text: &str, place: Option<&Span>) {
    match place {
        Some(span) => noted(out, depth, text, &span.to_string()),
        None => {
            let _ = writeln!(out, "{}{text}", "  ".repeat(depth));
        }
    }
}

fn noted(out: &mut String, depth: usize, text: &str, note: &str) {
    let text = format!("{}{text}", "  ".repeat(depth));
    let _ = writeln!(out, "{text:NOTE_AT$}  # {note}");
}

/// A text as a YAML scalar, quoted where it would be read as something else.
#[must_use]
pub fn scalar(text: &str) -> String {
    if text.contains(|c: char| c.is_control()) {
        return Json::String(text.to_owned()).to_string();
    }
    let first = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '.' | '(' | '$');
    let begins_plain = text.starts_with(first);
    let reads_plain = !text.contains(": ") && !text.contains(" #") && !text.ends_with([':', ' ']);
    match begins_plain && reads_plain {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}
