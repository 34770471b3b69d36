//! The sink of a live case: what it was sent since the case began.

use std::collections::BTreeMap;

use crate::config::Fault;
use crate::error::{Error, Result};
use crate::model::RowKind;
use crate::plan::{Encoding, MysqlTable, Plan, SinkConnector};

use super::super::case::{Expected, ExpectedRow};
use super::super::compare::compare;
use super::super::output::{Form, Row, compacted, key_positions};
use super::database::{Database, inserted, text};
use super::process::Process;
use super::topics::SinkTopic;

/// Texts of a row's columns; `None` is NULL.
type Texts = Vec<Option<String>>;

/// Where rows can be read back.
pub(super) struct LiveSink {
    plan: Plan,
    place: Place,
    key: Vec<usize>,
    upserts: bool,
    /// Since the last `expect`.
    since: Vec<Row>,
    all: Vec<Row>,
}

enum Place {
    /// Standard output of the job, with what stands before each row.
    Print(String),
    Topic(SinkTopic),
    Table(TableSink),
}

/// A table shows no changelog: what the expected changelog leaves is what it must hold.
struct TableSink {
    table: MysqlTable,
    /// By key.
    left: BTreeMap<Texts, Texts>,
}

impl LiveSink {
    /// Leaves out what the sink holds now.
    ///
    /// # Errors
    /// A sink that cannot be read back, or that refuses.
    pub(super) fn open(plan: &Plan, process: &Process, database: &Database) -> Result<Self> {
        let place = match &plan.sink.connector {
            SinkConnector::Print { standard_error: true, .. } => {
                return Err(Error::external("rows on standard error cannot be told from the log"));
            }
            SinkConnector::Print { identifier, .. } => {
                Place::Print(if identifier.is_empty() { String::new() } else { format!("{identifier}> ") })
            }
            SinkConnector::Blackhole => {
                return Err(Error::external("a live case cannot read back what a blackhole was sent"));
            }
            SinkConnector::UpsertKafka(kafka) => Place::Topic(SinkTopic::open(kafka)?),
            SinkConnector::Mysql(mysql) => Place::Table(table_sink(plan, &mysql.table, database)?),
        };
        // What was printed while the job caught up is none of the case's.
        process.take_lines();
        Ok(Self {
            key: key_positions(plan),
            upserts: plan.sink.encoding != Encoding::Retract && !plan.sink.primary_key.is_empty(),
            plan: plan.clone(),
            place,
            since: Vec::new(),
            all: Vec::new(),
        })
    }

    /// Takes what came since the last call.
    ///
    /// # Errors
    /// A topic or table that cannot be read.
    pub(super) fn read(&mut self, process: &Process, database: &Database) -> Result<()> {
        let rows = match &mut self.place {
            Place::Print(prefix) => {
                let lines = process.take_lines().into_iter();
                lines.map(|line| printed(line, prefix, &self.plan, &self.key)).collect()
            }
            Place::Topic(topic) => topic.read()?,
            Place::Table(sink) => {
                self.all = canonical(&self.plan, database.read(&self.plan, &sink.table)?);
                return Ok(());
            }
        };
        self.since.extend(rows.iter().cloned());
        self.all.extend(rows);
        Ok(())
    }

    /// What differs from the changelog since the last [`LiveSink::next`].
    ///
    /// # Errors
    /// Expected rows that have another form than the sink's.
    pub(super) fn compare(&self, expected: &[Expected]) -> Result<Option<String>, Fault> {
        let difference = match &self.place {
            Place::Table(sink) => compare(&left(&self.plan, sink, expected)?, &self.all, false),
            Place::Print(prefix) => {
                compare(&as_lines(prefix, expected), &self.since, self.plan.normalize.is_some())
            }
            Place::Topic(_) => compare(expected, &self.since, true),
        };
        Ok(difference.map(|difference| difference.text))
    }

    /// The expectation was met, or never will be: the next one begins here.
    ///
    /// # Errors
    /// As [`LiveSink::compare`].
    pub(super) fn next(&mut self, expected: &[Expected]) -> Result<(), Fault> {
        self.since.clear();
        if let Place::Table(sink) = &mut self.place {
            sink.left = after(&self.plan, sink, expected)?;
        }
        Ok(())
    }

    /// What differs from the compacted view.
    ///
    /// # Errors
    /// As [`LiveSink::compare`].
    pub(super) fn compare_view(&self, expected: &[Expected]) -> Result<Option<String>, Fault> {
        let difference = match &self.place {
            Place::Table(_) => {
                let rows = expected.iter().map(|row| Ok(as_insert(row, texts(&self.plan, row)?.1)));
                compare(&rows.collect::<Result<Vec<_>, Fault>>()?, &self.all, false)
            }
            Place::Print(prefix) => {
                compare(&as_lines(prefix, expected), &compacted(&self.all, self.upserts), false)
            }
            Place::Topic(_) => compare(expected, &compacted(&self.all, true), false),
        };
        Ok(difference.map(|difference| difference.text))
    }
}

fn table_sink(plan: &Plan, table: &MysqlTable, database: &Database) -> Result<TableSink> {
    if plan.sink.primary_key.is_empty() {
        let what = "without a PRIMARY KEY its rows cannot be told apart";
        return Err(Error::external(format!("table {}: {what}", table.table)));
    }
    if !database.read(plan, table)?.is_empty() {
        let what = "a live case needs a sink table without rows";
        return Err(Error::external(format!("table {}: {what}", table.table)));
    }
    Ok(TableSink { table: table.clone(), left: BTreeMap::new() })
}

/// A line of the print sink.
fn printed(line: String, prefix: &str, plan: &Plan, key: &[usize]) -> Row {
    let bare = line.strip_prefix(prefix).unwrap_or(&line);
    let parsed = split(bare, plan.project.columns.len());
    let (kind, values) = parsed.unwrap_or((RowKind::Insert, vec![Some(bare.to_owned())]));
    let key = key.iter().map(|&at| values.get(at).cloned().flatten().unwrap_or_default());
    let key = key.collect::<Vec<_>>().join("\u{0}").into_bytes();
    Row { kind, key, form: Form::Typed(line, values) }
}

/// Kind and values of a line, where it has as many values as the row has columns.
fn split(line: &str, columns: usize) -> Option<(RowKind, Texts)> {
    let (kind, rest) = line.split_at_checked(2)?;
    let inner = rest.strip_prefix('[')?.strip_suffix(']')?;
    let values: Texts = inner.split(", ").map(|value| (value != "null").then(|| value.to_owned())).collect();
    (values.len() == columns).then_some((RowKind::from_symbol(kind)?, values))
}

/// Typed rows as the lines that print makes of them.
fn as_lines(prefix: &str, expected: &[Expected]) -> Vec<Expected> {
    let line = |row: &Expected| {
        let ExpectedRow::Typed(kind, values) = &row.row else { return row.clone() };
        let values: Vec<&str> = values.iter().map(|value| value.as_deref().unwrap_or("null")).collect();
        let line = format!("{prefix}{kind}[{}]", values.join(", "));
        Expected { row: ExpectedRow::Line(line), ..row.clone() }
    };
    expected.iter().map(line).collect()
}

/// Kind and values of an expected row of a table.
fn texts(plan: &Plan, expected: &Expected) -> Result<(RowKind, Texts), Fault> {
    let columns = &plan.project.columns;
    let parsed = match &expected.row {
        ExpectedRow::Typed(kind, values) if values.len() == columns.len() => Some((*kind, values.clone())),
        ExpectedRow::Line(line) => split(line, columns.len()),
        _ => None,
    };
    let (kind, values) = parsed.ok_or_else(|| {
        let what = format!("the sink has {} columns: write '{{kind: +I, row: […]}}'", columns.len());
        Fault::new(&expected.span, what)
    })?;
    let one = |(value, column): (Option<String>, &crate::plan::OutputColumn)| {
        value.map(|value| text(&value, &column.ty.kind))
    };
    Ok((kind, values.into_iter().zip(columns).map(one).collect()))
}

/// Rows of a table with the texts that expected rows get.
fn canonical(plan: &Plan, rows: Vec<Row>) -> Vec<Row> {
    let row = |row: Row| match row.form {
        Form::Typed(_, values) => {
            let columns = values.into_iter().zip(&plan.project.columns);
            inserted(columns.map(|(value, column)| value.map(|v| text(&v, &column.ty.kind))).collect())
        }
        Form::Record(_) => row,
    };
    rows.into_iter().map(row).collect()
}

/// Rows by key after an expected changelog.
fn after(plan: &Plan, sink: &TableSink, expected: &[Expected]) -> Result<BTreeMap<Texts, Texts>, Fault> {
    let mut rows = sink.left.clone();
    for row in expected {
        let (kind, values) = texts(plan, row)?;
        let key: Texts = plan.sink.primary_key.iter().map(|&at| values.get(at).cloned().flatten()).collect();
        if kind.is_addition() {
            rows.insert(key, values);
        } else {
            rows.remove(&key);
        }
    }
    Ok(rows)
}

/// What the table must hold after an expected changelog.
fn left(plan: &Plan, sink: &TableSink, expected: &[Expected]) -> Result<Vec<Expected>, Fault> {
    let rows = after(plan, sink, expected)?.into_values();
    Ok(rows
        .map(|values| Expected { row: ExpectedRow::Typed(RowKind::Insert, values), span: no_span() })
        .collect())
}

fn as_insert(row: &Expected, values: Texts) -> Expected {
    Expected { row: ExpectedRow::Typed(RowKind::Insert, values), ..row.clone() }
}

/// Rows that follow from several expected ones stand nowhere.
fn no_span() -> crate::config::Span {
    crate::config::Span::file("")
}
