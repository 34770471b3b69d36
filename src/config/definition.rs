//! The shape of a definition: which keys stand where. What they mean is not decided here.

use crate::error::{Subject, TablePart};

use super::ddl::{Item, parse_item};
use super::options::CONNECTORS;
use super::options::client::{Treatment, property};
use super::{Entry, Fault, Faults, Node, Span, Text, Value, nearest};

/// A whole definition, from one file or several.
#[derive(Clone, Debug)]
pub struct Definition {
    /// `name`.
    pub name: Option<Text>,
    /// `tables`, in the order of the files.
    pub tables: Vec<TableDefinition>,
    /// `pipeline`.
    pub pipeline: PipelineDefinition,
    /// `options`.
    pub options: Vec<Entry>,
    /// What was wrong with the shape; `plan::compile` reports it with what it finds itself.
    pub faults: Vec<Fault>,
}

impl Definition {
    /// The table of this name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&TableDefinition> {
        self.tables.iter().find(|table| table.name.written == name)
    }

    /// Where it stands what something is about; the table's name for what is not written itself.
    #[must_use]
    pub fn place(&self, subject: &Subject) -> Option<Span> {
        self.table(&subject.table).map(|table| table.place(&subject.part))
    }
}

/// One table.
#[derive(Clone, Debug)]
pub struct TableDefinition {
    /// Its name, where it is defined.
    pub name: Text,
    /// `connector`; missing when it was not given (a fault).
    pub connector: Option<Text>,
    /// `columns`: items of a column list in SQL; `None` when the key is absent.
    pub columns: Option<Vec<Text>>,
    /// Every other key.
    pub options: Vec<Entry>,
}

impl TableDefinition {
    /// The option of this name, if it is written.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&Entry> {
        self.options.iter().find(|entry| entry.key.written == name)
    }

    /// Where a part of it stands; its name for what is not written.
    #[must_use]
    pub fn place(&self, part: &TablePart) -> Span {
        let items = || self.columns.iter().flatten().map(|item| (item, parse_item(item)));
        let found = match part {
            TablePart::Option(name) => {
                let property = || self.options.iter().find(|entry| is_property(entry, name));
                self.option(name).or_else(property).map(|entry| entry.value.span.clone())
            }
            TablePart::Column(name) => items()
                .find(|(_, read)| matches!(read, Ok(Item::Column(column)) if column.name == *name))
                .map(|(item, _)| item.span.clone()),
            TablePart::PrimaryKey => items()
                .find(|(_, read)| match read {
                    Ok(Item::Column(column)) => column.primary_key,
                    Ok(Item::PrimaryKey(_)) => true,
                    Err(_) => false,
                })
                .map(|(item, _)| item.span.clone()),
            TablePart::Whole => None,
        };
        found.unwrap_or_else(|| self.name.span.clone())
    }
}

/// Whether an option is the setting of the Kafka client that librdkafka calls `name`.
fn is_property(entry: &Entry, name: &str) -> bool {
    let (Some(written), Some(name)) =
        (entry.key.written.strip_prefix("properties."), name.strip_prefix("properties."))
    else {
        return false;
    };
    match property(written.trim()).map(|found| found.treatment) {
        Some(Treatment::As(own) | Treatment::AsKibibytes(own)) => own == name,
        Some(Treatment::Security) => match written.trim() {
            "sasl.jaas.config" => matches!(name, "sasl.username" | "sasl.password"),
            "ssl.truststore.location" => name == "ssl.ca.location",
            written => written == name,
        },
        _ => false,
    }
}

/// The pipeline.
#[derive(Clone, Debug)]
pub struct PipelineDefinition {
    /// Where the key `pipeline` stands.
    pub span: Span,
    /// `from`.
    pub from: StreamDefinition,
    /// `lookup`, in order.
    pub lookups: Vec<LookupDefinition>,
    /// `where`.
    pub filter: Option<Text>,
    /// `select`; `None` when it was not given.
    pub select: Option<Vec<Text>>,
    /// `into`.
    pub into: Text,
}

/// `from`: a table, or `{table: …, as: …}`.
#[derive(Clone, Debug)]
pub struct StreamDefinition {
    /// The table.
    pub table: Text,
    /// `as`.
    pub alias: Option<Text>,
}

/// One item of `lookup`.
#[derive(Clone, Debug)]
pub struct LookupDefinition {
    /// `table`.
    pub table: Text,
    /// `as`.
    pub alias: Option<Text>,
    /// `type`.
    pub join: Option<Text>,
    /// `condition`; `None` when it is missing or faulty, which is reported.
    pub condition: Option<Text>,
}

/// What one file holds of a definition.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    pub name: Option<Text>,
    pub tables: Vec<TableDefinition>,
    pub pipeline: Option<PipelineDefinition>,
    pub options: Vec<Entry>,
    /// `pipeline` is there, though it cannot be used.
    pub has_pipeline: bool,
}

const TOP: [&str; 4] = ["name", "tables", "pipeline", "options"];
const PIPELINE: [&str; 5] = ["from", "lookup", "where", "select", "into"];
const LOOKUP: [&str; 4] = ["table", "as", "type", "condition"];
const STREAM: [&str; 2] = ["table", "as"];

/// Reads the shape of one file.
pub(super) fn read(root: &Node, faults: &mut Faults) -> Fragment {
    let mut fragment = Fragment::default();
    let Some(entries) = map(root, "a definition", faults) else { return fragment };
    check_keys(entries, &TOP, "a definition", faults);
    for Entry { key, value } in entries {
        match key.written.as_str() {
            // A name whose reference leads nowhere is kept, so that it is not missed as well.
            "name" => fragment.name = text(value, "'name'", faults).or(value.as_text()).cloned(),
            "tables" => {
                for entry in map(value, "'tables'", faults).unwrap_or_default() {
                    fragment.tables.extend(table(entry, faults));
                }
            }
            "pipeline" => {
                fragment.has_pipeline = true;
                fragment.pipeline = pipeline(key, value, faults);
            }
            "options" => fragment.options = map(value, "'options'", faults).unwrap_or_default().to_vec(),
            _ => {}
        }
    }
    fragment
}

fn table(entry: &Entry, faults: &mut Faults) -> Option<TableDefinition> {
    let name = entry.key.clone();
    let what = format!("table '{}'", name.written);
    let mut table = TableDefinition { name, connector: None, columns: None, options: Vec::new() };
    for Entry { key, value } in map(&entry.value, &what, faults)? {
        // Flink definitions carry blanks around property names.
        match key.written.trim() {
            "connector" => table.connector = text(value, "'connector'", faults).cloned(),
            "columns" => table.columns = texts(value, "'columns'", faults),
            name => {
                let key = Text { written: name.to_owned(), ..key.clone() };
                match table.options.iter().find(|known| known.key.written == name) {
                    Some(earlier) => {
                        let what = format!("option '{name}' is given twice, first at {}", earlier.key.span);
                        faults.add(Fault::new(&key.span, what).help("leave one of them out"));
                    }
                    None => table.options.push(Entry { key, value: value.clone() }),
                }
            }
        }
    }
    if table.connector.is_none() && entry.value.get("connector").is_none() {
        let names = CONNECTORS.iter().map(|connector| connector.name);
        faults.add(Fault::new(&entry.key.span, format!("{what} has no 'connector'")).allowed("", names));
    }
    Some(table)
}

fn pipeline(key: &Text, node: &Node, faults: &mut Faults) -> Option<PipelineDefinition> {
    let entries = map(node, "'pipeline'", faults)?;
    check_keys(entries, &PIPELINE, "'pipeline'", faults);
    let from = required(key, node, "from", "'pipeline'", faults).and_then(|node| stream(node, faults));
    let into = required(key, node, "into", "'pipeline'", faults)
        .and_then(|node| text(node, "'into'", faults).cloned());
    let lookups = match node.get("lookup") {
        Some(lookups) => list(lookups, "'lookup'", faults)
            .unwrap_or_default()
            .iter()
            .filter_map(|step| lookup(step, faults))
            .collect(),
        None => Vec::new(),
    };
    let filter = node.get("where").and_then(|node| sql(node, "'where'", faults));
    let select = node.get("select").and_then(|node| match node.as_text() {
        Some(_) => sql(node, "'select'", faults).map(|item| vec![item]),
        None => texts(node, "'select'", faults),
    });
    Some(PipelineDefinition { span: key.span.clone(), from: from?, lookups, filter, select, into: into? })
}

fn stream(node: &Node, faults: &mut Faults) -> Option<StreamDefinition> {
    let Some(entries) = node.as_map() else {
        return text(node, "'from'", faults)
            .map(|table| StreamDefinition { table: table.clone(), alias: None });
    };
    check_keys(entries, &STREAM, "'from'", faults);
    let key = Text::plain(&node.span, "from");
    let table =
        required(&key, node, "table", "'from'", faults).and_then(|node| text(node, "'table'", faults))?;
    let alias = node.get("as").and_then(|node| sql(node, "'as'", faults));
    Some(StreamDefinition { table: table.clone(), alias })
}

fn lookup(step: &Node, faults: &mut Faults) -> Option<LookupDefinition> {
    let entries = map(step, "an item of 'lookup'", faults)?;
    check_keys(entries, &LOOKUP, "an item of 'lookup'", faults);
    let key = Text::plain(&step.span, "lookup");
    let table = required(&key, step, "table", "an item of 'lookup'", faults);
    let condition = match entries.iter().find(|entry| is_yaml_boolean(&entry.key.written)) {
        // Already reported: `on` was meant to be the condition.
        Some(_) => None,
        None => required(&key, step, "condition", "an item of 'lookup'", faults),
    };
    let table = table.and_then(|node| text(node, "'table'", faults)).cloned();
    let condition = condition.and_then(|node| sql(node, "'condition'", faults));
    let alias = step.get("as").and_then(|node| sql(node, "'as'", faults));
    let join = step.get("type").and_then(|node| text(node, "'type'", faults)).cloned();
    Some(LookupDefinition { table: table?, alias, join, condition })
}

fn required<'a>(key: &Text, node: &'a Node, name: &str, of: &str, faults: &mut Faults) -> Option<&'a Node> {
    let found = node.get(name);
    // A key that is nearly it is reported as a slip.
    let is_slip = |entry: &Entry| nearest(&entry.key.written, [name]).is_some();
    if found.is_none() && !node.as_map().unwrap_or_default().iter().any(is_slip) {
        let help = match name {
            "from" => "from: the table that rows are read from",
            "into" => "into: the table that rows are written to",
            "table" => "table: the name of a table under 'tables'",
            _ => "condition: what Flink has behind ON, such as `users.id = orders.user_id`",
        };
        faults.add(Fault::new(&key.span, format!("{of} has no '{name}'")).help(help));
    }
    found
}

fn check_keys(entries: &[Entry], known: &[&str], of: &str, faults: &mut Faults) {
    for Entry { key, .. } in entries.iter().filter(|entry| !known.contains(&entry.key.written.as_str())) {
        let fault = Fault::new(&key.span, format!("unknown key '{}' in {of}", key.written));
        let fault = fault.allowed(&key.written, known);
        faults.add(match key.written.as_str() {
            word if is_yaml_boolean(word) => {
                let meant = known.contains(&"condition").then(|| "condition".to_owned());
                Fault { nearest: meant, ..fault }
                    .help("'on', 'yes', 'true' and the like are booleans to tools that read YAML 1.1, so no key has such a name")
            }
            word if word.contains([')', '(', '\'']) => {
                fault.help("inside { } and [ ] a comma ends the text: put the SQL in quotes, or write one key per line")
            }
            _ => fault,
        });
    }
}

/// Words that YAML 1.1 reads as booleans.
fn is_yaml_boolean(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false")
}

fn map<'a>(node: &'a Node, what: &str, faults: &mut Faults) -> Option<&'a [Entry]> {
    if node.as_map().is_none() {
        faults.add(Fault::new(&node.span, format!("{what} must be a map of keys, not {}", node.kind())));
    }
    node.as_map()
}

fn list<'a>(node: &'a Node, what: &str, faults: &mut Faults) -> Option<&'a [Node]> {
    if node.as_list().is_none() {
        faults.add(Fault::new(&node.span, format!("{what} must be a list, not {}", node.kind())));
    }
    node.as_list()
}

fn text<'a>(node: &'a Node, what: &str, faults: &mut Faults) -> Option<&'a Text> {
    match &node.value {
        Value::Scalar(text) if text.is_missing() => {
            let fault = Fault::new(&node.span, format!("{what} has no value"));
            faults.add(fault.help("write it behind the colon, or leave the key out"));
            None
        }
        Value::Scalar(text) => Some(text).filter(|text| !text.is_broken()),
        Value::List(_) | Value::Map(_) => {
            faults.add(Fault::new(&node.span, format!("{what} must be text, not {}", node.kind())));
            None
        }
    }
}

/// Text that is SQL: references would let a variable change its meaning.
fn sql(node: &Node, what: &str, faults: &mut Faults) -> Option<Text> {
    let text = text(node, what, faults)?;
    if text.has_reference() {
        faults.add(Fault::new(&text.span, format!("{what} is SQL and holds a reference")).help(
            "references stand in option values only: a variable must not change what a statement means",
        ));
        return None;
    }
    Some(text.clone())
}

fn texts(node: &Node, what: &str, faults: &mut Faults) -> Option<Vec<Text>> {
    let item = format!("an item of {what}");
    Some(list(node, what, faults)?.iter().filter_map(|node| sql(node, &item, faults)).collect())
}
