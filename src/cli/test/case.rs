//! The shape of a case file: a definition and a timeline of steps.
//!
//! Nothing is typed here: what a row's values mean depends on the plan.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;

use crate::config::{Entry, Fault, Node, Span, Text, parse_duration, parse_yaml};
use crate::error::Reason;
use crate::model::{Header, RowKind};

/// One case file.
#[derive(Debug)]
pub struct Case {
    /// The file.
    pub path: PathBuf,
    /// Where its definition is.
    pub definition: CaseDefinition,
    /// What happens, in order; each step is a barrier.
    pub steps: Vec<Step>,
}

/// Where the definition of a case is.
#[derive(Debug)]
pub enum CaseDefinition {
    /// `definition: path`, relative to the case file.
    File(PathBuf),
    /// `tables`, `pipeline`, `name` and `options` in the case file itself.
    Inline(Node),
}

/// One step.
#[derive(Debug)]
pub struct Step {
    /// Where it stands.
    pub span: Span,
    /// Its key: a table, or an expectation.
    pub name: String,
    /// What it does.
    pub action: Action,
}

/// What a step does.
#[derive(Debug)]
pub enum Action {
    /// Something happens to a table: records of the source, or rows of a dimension table.
    Table {
        /// Name in the definition.
        table: Text,
        /// What happens.
        change: Node,
    },
    /// The clock moves.
    Advance(Duration),
    /// The sink's changelog since the last one, in order per key.
    Expect(Vec<Expected>),
    /// The sink's compacted view.
    ExpectView(Vec<Expected>),
    /// The job stopped here.
    ExpectError(ExpectedError),
    /// Statements and hits per lookup table since the last one.
    ExpectLookups(Vec<(Text, Counts)>),
}

/// Counts by name.
pub type Counts = Vec<(Text, u64)>;

/// One expected row.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Where it stands.
    pub span: Span,
    /// What is expected.
    pub row: ExpectedRow,
}

/// What is expected.
#[derive(Clone, Debug)]
pub enum ExpectedRow {
    /// The text of the print sink.
    Line(String),
    /// A kind and typed values, where `null` and `'null'` must differ.
    Typed(RowKind, Vec<Option<String>>),
    /// An encoded record.
    Record(ExpectedRecord),
}

/// An encoded record.
#[derive(Clone, Debug)]
pub struct ExpectedRecord {
    /// Its key.
    pub key: Vec<u8>,
    /// Its value; `None` is a delete.
    pub value: Option<Vec<u8>>,
    /// Its timestamp in milliseconds, if the case names it.
    pub timestamp: Option<i64>,
    /// Its headers, if the case names them.
    pub headers: Option<Vec<Header>>,
}

/// `expect_error`.
#[derive(Clone, Debug)]
pub struct ExpectedError {
    /// From the closed list.
    pub reason: Reason,
    /// The table that the record came from.
    pub table: Option<String>,
    /// The record's partition.
    pub partition: Option<i64>,
    /// The record's offset.
    pub offset: Option<i64>,
    /// The column concerned.
    pub column: Option<String>,
}

const DEFINITION_KEYS: [&str; 4] = ["name", "tables", "pipeline", "options"];
const EXPECTATIONS: [&str; 5] = ["advance", "expect", "expect_view", "expect_error", "expect_lookups"];

/// Whether a file is a case: it has `steps`.
#[must_use]
pub fn is_case(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("steps:"))
}

/// Reads the shape of a case.
///
/// # Errors
/// Every fault of the shape.
pub fn read(path: &Path, text: &str) -> Result<Case, Vec<Fault>> {
    let root = parse_yaml(&path.display().to_string(), text)?;
    let mut faults = Vec::new();
    let entries = root.as_map().unwrap_or_default();
    for entry in entries {
        let key = entry.key.written.as_str();
        if !DEFINITION_KEYS.contains(&key) && !["definition", "steps"].contains(&key) {
            let allowed = DEFINITION_KEYS.iter().chain(&["definition", "steps"]);
            faults.push(
                Fault::new(&entry.key.span, format!("unknown key '{key}' in a case")).allowed(key, allowed),
            );
        }
    }
    let definition = match root.get("definition").and_then(Node::as_text) {
        Some(file) => CaseDefinition::File(path.parent().unwrap_or(Path::new(".")).join(file.value())),
        None => CaseDefinition::Inline(definition_of(&root)),
    };
    let mut steps = Vec::new();
    for node in root.get("steps").and_then(Node::as_list).unwrap_or_default() {
        match step(node) {
            Ok(step) => steps.push(step),
            Err(fault) => faults.push(fault),
        }
    }
    if steps.is_empty() && faults.is_empty() {
        faults.push(Fault::new(&root.span, "a case needs 'steps', a list"));
    }
    if faults.is_empty() { Ok(Case { path: path.to_owned(), definition, steps }) } else { Err(faults) }
}

/// The part of the file that is a definition.
fn definition_of(root: &Node) -> Node {
    let entries = root.as_map().unwrap_or_default();
    let kept = entries.iter().filter(|entry| DEFINITION_KEYS.contains(&entry.key.written.as_str())).cloned();
    Node { span: root.span.clone(), value: crate::config::Value::Map(kept.collect()) }
}

fn step(node: &Node) -> Result<Step, Fault> {
    let wrong = || Fault::new(&node.span, "a step is a map of one key: a table, or an expectation");
    let [Entry { key, value }] = node.as_map().ok_or_else(wrong)? else { return Err(wrong()) };
    let action = match key.written.as_str() {
        "advance" => Action::Advance(advance(value)?),
        "expect" => Action::Expect(expected_list(value)?),
        "expect_view" => Action::ExpectView(expected_list(value)?),
        "expect_error" => Action::ExpectError(expected_error(value)?),
        "expect_lookups" => Action::ExpectLookups(expected_lookups(value)?),
        name if name.starts_with("expect") => {
            let fault = Fault::new(&key.span, format!("unknown expectation '{name}'"));
            return Err(fault.allowed(name, EXPECTATIONS));
        }
        _ => Action::Table { table: key.clone(), change: value.clone() },
    };
    Ok(Step { span: key.span.clone(), name: key.written.clone(), action })
}

fn advance(node: &Node) -> Result<Duration, Fault> {
    let text = node.as_text().ok_or_else(|| Fault::new(&node.span, "'advance' takes a duration"))?;
    parse_duration(text.value()).map_err(|what| Fault::new(&text.span, what))
}

fn expected_list(node: &Node) -> Result<Vec<Expected>, Fault> {
    let items = node.as_list().ok_or_else(|| Fault::new(&node.span, "an expectation is a list of rows"))?;
    items.iter().map(expected).collect()
}

fn expected(node: &Node) -> Result<Expected, Fault> {
    let row = if let Some(text) = node.as_text() {
        ExpectedRow::Line(text.value().to_owned())
    } else if node.get("key").is_some() {
        ExpectedRow::Record(expected_record(node)?)
    } else {
        let (kind, values) = kind_and_row(node).map_err(|_| {
            let what = "an expected row is a line like '+I[1, a]', '{kind: +I, row: [1, a]}' or '{key: …, value: …}'";
            Fault::new(&node.span, what)
        })?;
        ExpectedRow::Typed(kind, values)
    };
    Ok(Expected { span: node.span.clone(), row })
}

fn expected_record(node: &Node) -> Result<ExpectedRecord, Fault> {
    known_keys(node, "an expected record", &["key", "value", "timestamp", "headers"])?;
    let missing = |name: &str| Fault::new(&node.span, format!("an expected record has a '{name}'"));
    node.get("value").ok_or_else(|| missing("value"))?;
    Ok(ExpectedRecord {
        key: bytes(node, "key")?.ok_or_else(|| missing("key"))?,
        value: bytes(node, "value")?,
        timestamp: number(node, "timestamp")?,
        headers: node.get("headers").is_some().then(|| headers(node)).transpose()?,
    })
}

/// Refuses keys that a map does not have.
///
/// # Errors
/// The first unknown key, with the nearest name.
pub fn known_keys(node: &Node, of: &str, known: &[&str]) -> Result<(), Fault> {
    for entry in node.as_map().unwrap_or_default() {
        let name = entry.key.written.as_str();
        if !known.contains(&name) {
            let fault = Fault::new(&entry.key.span, format!("unknown key '{name}' of {of}"));
            return Err(fault.allowed(name, known));
        }
    }
    Ok(())
}

/// Bytes of an entry, written as text or, behind `base64:`, as any bytes; `None` for null and for no entry.
///
/// # Errors
/// What is not base64.
pub fn bytes(node: &Node, name: &str) -> Result<Option<Vec<u8>>, Fault> {
    let Some(text) = node.get(name).map(scalar).transpose()?.flatten() else { return Ok(None) };
    let Some(encoded) = text.strip_prefix("base64:") else { return Ok(Some(text.into_bytes())) };
    let decoded = base64::engine::general_purpose::STANDARD.decode(encoded);
    decoded.map(Some).map_err(|error| Fault::new(&node.span, format!("{name} is not base64: {error}")))
}

/// A whole number; `None` for null and for no entry.
///
/// # Errors
/// Another text.
pub fn number(node: &Node, name: &str) -> Result<Option<i64>, Fault> {
    let Some(text) = node.get(name).map(scalar).transpose()?.flatten() else { return Ok(None) };
    text.parse().map(Some).map_err(|_| Fault::new(&node.span, format!("'{name}' is a whole number")))
}

/// `headers: {name: value}`, or `headers: [{name: value}, …]` where a name repeats.
///
/// # Errors
/// Values that are not bytes.
pub fn headers(node: &Node) -> Result<Vec<Header>, Fault> {
    let Some(headers) = node.get("headers") else { return Ok(Vec::new()) };
    let maps = headers.as_list().unwrap_or(std::slice::from_ref(headers));
    let mut found = Vec::new();
    for map in maps {
        for entry in map.as_map().unwrap_or_default() {
            let key = entry.key.written.clone();
            found.push(Header { value: bytes(map, &key)?, key });
        }
    }
    Ok(found)
}

/// `{kind: +U, row: […]}`: a kind and the values as text.
///
/// # Errors
/// Another shape, or an unknown kind.
pub fn kind_and_row(node: &Node) -> Result<(RowKind, Vec<Option<String>>), Fault> {
    let wrong = || Fault::new(&node.span, "a row is '{kind: +I, row: [1, a]}'; kinds are +I, -U, +U and -D");
    let kind = node.get("kind").and_then(Node::as_text).and_then(|kind| RowKind::from_symbol(kind.value()));
    let row = node.get("row").and_then(Node::as_list).ok_or_else(wrong)?;
    let values = row.iter().map(scalar).collect::<Result<_, _>>()?;
    Ok((kind.ok_or_else(wrong)?, values))
}

/// A scalar's text; `None` for YAML's null.
///
/// # Errors
/// A list or a map.
pub fn scalar(node: &Node) -> Result<Option<String>, Fault> {
    let text = node.as_text().ok_or_else(|| Fault::new(&node.span, "a single value is expected here"))?;
    let plain = text.style == crate::config::Style::Plain;
    let null = plain && matches!(text.written.as_str(), "" | "null" | "~" | "Null" | "NULL");
    Ok((!null).then(|| text.value().to_owned()))
}

fn expected_error(node: &Node) -> Result<ExpectedError, Fault> {
    known_keys(node, "expect_error", &["reason", "table", "partition", "offset", "column"])?;
    let field = |name: &str| node.get(name).and_then(Node::as_text).map(|text| text.value().to_owned());
    let name = field("reason").ok_or_else(|| Fault::new(&node.span, "'expect_error' needs a 'reason'"))?;
    let reason = Reason::ALL.iter().copied().find(|reason| reason.name() == name).ok_or_else(|| {
        let names = Reason::ALL.iter().map(|reason| reason.name());
        Fault::new(&node.span, format!("unknown reason '{name}'")).allowed(&name, names)
    })?;
    Ok(ExpectedError {
        reason,
        table: field("table"),
        partition: number(node, "partition")?,
        offset: number(node, "offset")?,
        column: field("column"),
    })
}

fn expected_lookups(node: &Node) -> Result<Vec<(Text, Counts)>, Fault> {
    let wrong = |span: &Span| Fault::new(span, "'expect_lookups' is '{table: {statements: 1, hits: 3}}'");
    let mut tables = Vec::new();
    for table in node.as_map().ok_or_else(|| wrong(&node.span))? {
        let mut counts = Vec::new();
        for count in table.value.as_map().ok_or_else(|| wrong(&table.key.span))? {
            let number = count.value.as_text().and_then(|text| text.value().parse().ok());
            counts.push((count.key.clone(), number.ok_or_else(|| wrong(&count.key.span))?));
        }
        tables.push((table.key.clone(), counts));
    }
    Ok(tables)
}
