//! Runs a case through the real path: decode, normalize, lookup, project, encode,
//! in memory, on a clock that stands still.

use std::collections::HashMap;
use std::time::Duration;

use crate::config::{Fault, Node, References, Text, load, load_inline};
use crate::error::Error;
use crate::format::parse_text;
use crate::model::{Type, Value};
use crate::pipeline::driver::{Driver, Fed, MemoryTable, Order, Setting};
use crate::plan::{ColumnSource, Plan, compile};

use super::case::{Action, Case, CaseDefinition, ExpectedError, Step, kind_and_row, scalar};
use super::compare::{Difference, compare, compare_view};
use super::output::{Row, rows_of};

/// Time at the start of a case: 2024-01-01 00:00:00Z, so that dates in messages look like dates.
const START: i64 = 1_704_067_200_000;

/// How often time moves on when a step waits for retries: a retry pauses for whole seconds.
const WAIT_STEP: Duration = Duration::from_secs(1);
/// A step that still waits after this many moves waits for ever: retries are bounded far below.
const WAIT_STEPS_MAX: u32 = 3_600;

/// Shards and batch size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Worker shards.
    pub shards: u16,
    /// Records that are read together.
    pub batch: usize,
}

impl Shape {
    /// One shard and one record at a time: the shape in which lookups are counted.
    pub const PLAIN: Self = Self { shards: 1, batch: 1 };
}

/// A step whose expectation was not met.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Position among the steps.
    pub step: usize,
    /// Where it stands and what differs.
    pub fault: Fault,
    /// Lines that would meet it, for `--update`; `None` if no rewriting helps.
    pub replacement: Option<Vec<String>>,
}

/// The plan of a case.
///
/// # Errors
/// Every fault of the definition.
pub fn plan_of(case: &Case) -> Result<Plan, Vec<Fault>> {
    let references = References::offline();
    let definition = match &case.definition {
        CaseDefinition::File(path) => load(&path.as_path().into(), &references)?,
        CaseDefinition::Inline(root) => load_inline(root, &[], "case", &references)?,
    };
    compile(&definition)
}

/// Runs a case; no failure means that every expectation was met.
///
/// # Errors
/// Faults of the case itself: unknown tables, values that do not fit their columns.
pub fn run(case: &Case, plan: &Plan, shape: Shape) -> Result<Vec<Failure>, Vec<Fault>> {
    let whole = |error: Error| vec![Fault::new(&case.steps[0].span, error.to_string())];
    let setting = Setting { shards: shape.shards, batch: shape.batch, start: START, order: Order::AsCaused };
    let driver = Driver::new(plan.clone(), setting).map_err(whole)?;
    let mut run = Run {
        plan,
        shape,
        driver,
        stopped: None,
        since: Vec::new(),
        all: Vec::new(),
        counted: HashMap::new(),
    };
    run.place_tables();
    let mut failures = Vec::new();
    for (at, step) in case.steps.iter().enumerate() {
        match run.step(step) {
            Ok(None) => {}
            Ok(Some((what, replacement))) => {
                failures.push(Failure { step: at, fault: Fault::new(&step.span, what), replacement });
            }
            Err(fault) => return Err(vec![fault]),
        }
    }
    if let Some((span, error)) = run.stopped {
        failures.push(Failure {
            step: case.steps.len(),
            fault: Fault::new(&span, error.to_string()),
            replacement: None,
        });
    }
    Ok(failures)
}

/// What differs and what would meet the expectation.
type Unmet = Option<(String, Option<Vec<String>>)>;

struct Run<'a> {
    plan: &'a Plan,
    shape: Shape,
    driver: Driver,
    /// The job stopped at this step.
    stopped: Option<(crate::config::Span, Error)>,
    /// Sink rows since the last `expect`.
    since: Vec<Row>,
    /// All sink rows.
    all: Vec<Row>,
    /// Statements and hits at the last `expect_lookups`.
    counted: HashMap<String, [u64; 4]>,
}

impl Run<'_> {
    fn place_tables(&mut self) {
        let mut tables: HashMap<&str, Vec<String>> = HashMap::new();
        for lookup in &self.plan.lookups {
            let columns = tables.entry(lookup.table.as_str()).or_default();
            let key = lookup.key.iter().map(|part| &part.column);
            for name in key.chain(lookup.columns.iter().map(|column| &column.name)) {
                if !columns.contains(name) {
                    columns.push(name.clone());
                }
            }
        }
        for (name, columns) in tables {
            self.driver.set_table(name, MemoryTable::new(columns));
        }
    }

    fn step(&mut self, step: &Step) -> Result<Unmet, Fault> {
        match &step.action {
            Action::ExpectError(expected) => return Ok(self.expect_error(expected)),
            _ if self.stopped.is_some() => return Ok(None),
            Action::Table { table, change } if table.written == self.plan.source.table => {
                self.records(step, change)?
            }
            Action::Table { table, change } => self.dimension(table, change)?,
            Action::Advance(by) => {
                let advanced = self.driver.advance(*by);
                self.after(step, advanced);
            }
            Action::Expect(expected) => {
                let rows = std::mem::take(&mut self.since);
                return Ok(compare(self.plan, expected, &rows).map(Difference::into_parts));
            }
            Action::ExpectView(expected) => {
                return Ok(compare_view(self.plan, expected, &self.all).map(Difference::into_parts));
            }
            Action::ExpectLookups(expected) => return self.expect_lookups(expected),
        }
        Ok(None)
    }

    /// Lets everything of a step happen before the next: a barrier, retries included.
    fn after(&mut self, step: &Step, result: Result<(), Error>) {
        let mut result = result.and_then(|()| self.driver.barrier());
        for _ in 0..WAIT_STEPS_MAX {
            if !matches!(result, Ok(false)) {
                break;
            }
            result = self.driver.advance(WAIT_STEP).map(|()| self.driver.has_passed_newest());
        }
        let rows = rows_of(self.plan, &self.driver.take_output());
        self.since.extend(rows.iter().cloned());
        self.all.extend(rows);
        if let Err(error) = result {
            self.stopped = Some((step.span.clone(), error));
        }
    }

    fn records(&mut self, step: &Step, change: &Node) -> Result<(), Fault> {
        let wrong = || Fault::new(&change.span, "a source step is a list of records or rows");
        let mut result = Ok(());
        for item in change.as_list().ok_or_else(wrong)? {
            result = if item.get("row").is_some() { self.feed_row(item)? } else { self.feed_record(item)? };
            if result.is_err() {
                break;
            }
        }
        self.after(step, result);
        Ok(())
    }

    fn feed_row(&mut self, item: &Node) -> Result<Result<(), Error>, Fault> {
        let (kind, texts) = kind_and_row(item)?;
        let source = &self.plan.source;
        if texts.len() != source.physical_arity {
            let what = format!(
                "the row has {} values, table {} has {} columns",
                texts.len(),
                source.table,
                source.physical_arity
            );
            return Err(Fault::new(&item.span, what));
        }
        let mut row = Vec::with_capacity(source.columns.len());
        for column in &source.columns {
            let ColumnSource::Physical(at) = column.source else {
                let what =
                    format!("column {} comes from the record: write the record, not a row", column.name);
                return Err(Fault::new(&item.span, what));
            };
            let text =
                source.physical.get(at).and_then(|physical| texts.get(physical.ordinal)).cloned().flatten();
            row.push(value(item, text.as_deref(), &column.ty.kind)?);
        }
        Ok(self.driver.feed_row(kind, &row, partition_of(item)?))
    }

    fn feed_record(&mut self, item: &Node) -> Result<Result<(), Error>, Fault> {
        let known = ["key", "value", "partition", "timestamp", "headers"];
        for entry in item.as_map().unwrap_or_default() {
            let name = entry.key.written.as_str();
            if !known.contains(&name) {
                return Err(Fault::new(&entry.key.span, format!("unknown key '{name}' of a record"))
                    .allowed(name, known));
            }
        }
        let (key, value) = (bytes_of(item, "key")?, bytes_of(item, "value")?);
        let timestamp = number_of(item, "timestamp")?.unwrap_or(self.driver.now());
        let headers = headers_of(item)?;
        Ok(self.driver.feed(Fed {
            partition: partition_of(item)?,
            key: key.as_deref(),
            value: value.as_deref(),
            timestamp,
            headers: &headers,
            silent: false,
        }))
    }

    fn dimension(&mut self, table: &Text, change: &Node) -> Result<(), Fault> {
        let plan = self.plan;
        let lookup = plan.lookups.iter().find(|lookup| lookup.table == table.written).ok_or_else(|| {
            let tables =
                plan.lookups.iter().map(|lookup| lookup.table.as_str()).chain([plan.source.table.as_str()]);
            Fault::new(&table.span, format!("table '{}' is not read by the pipeline", table.written))
                .allowed(&table.written, tables)
        })?;
        let types = |name: &str| {
            let lookups = plan.lookups.iter().filter(|lookup| lookup.table == table.written);
            lookups.flat_map(column_types).find(|(column, _)| *column == name).map(|(_, ty)| ty.clone())
        };
        let Some(memory) = self.driver.table_mut(&lookup.table) else { return Ok(()) };
        let columns = memory.columns().to_vec();
        for entry in change.as_map().unwrap_or_default() {
            match entry.key.written.as_str() {
                "upsert" => {
                    let mut rows = Vec::new();
                    for node in entry.value.as_list().unwrap_or_default() {
                        rows.push(dimension_row(node, &columns, &types)?);
                    }
                    let key: Vec<usize> = columns
                        .iter()
                        .enumerate()
                        .filter(|(_, name)| lookup.key.iter().any(|part| part.column == **name))
                        .map(|(at, _)| at)
                        .collect();
                    replace(memory, rows, &key);
                }
                "delete" => {
                    for node in entry.value.as_list().unwrap_or_default() {
                        let row = dimension_row(node, &columns, &types)?;
                        let given =
                            row.into_iter().enumerate().filter(|(at, _)| node.get(&columns[*at]).is_some());
                        memory.delete(&given.collect::<Vec<_>>());
                    }
                }
                "fail" => {
                    let times = number_of(change, "times")?.and_then(|times| u32::try_from(times).ok());
                    match scalar(&entry.value)? {
                        Some(message) => memory.fail(&message, times),
                        None => memory.recover(),
                    }
                }
                "times" => {}
                name => {
                    let fault =
                        Fault::new(&entry.key.span, format!("unknown change '{name}' of a dimension table"));
                    return Err(fault.allowed(name, ["upsert", "delete", "fail", "times"]));
                }
            }
        }
        Ok(())
    }

    fn expect_error(&mut self, expected: &ExpectedError) -> Unmet {
        let Some((_, error)) = self.stopped.take() else {
            return Some((
                format!("the job should have stopped with {}, and did not", expected.reason),
                None,
            ));
        };
        let unmet = |what: String| Some((format!("{what}; it stopped with: {error}"), None));
        let Some(fault) = error.fault() else { return unmet("the job did not stop on data".to_owned()) };
        let (place, column) = (&fault.place, fault.column.as_deref());
        let differs = fault.reason != expected.reason
            || expected.table.as_ref().is_some_and(|table| *table != place.table)
            || expected.offset.is_some_and(|offset| offset != place.offset)
            || expected.column.as_deref().is_some_and(|name| column != Some(name));
        if differs {
            unmet("the job stopped for another reason or at another place".to_owned())
        } else {
            None
        }
    }

    fn expect_lookups(&mut self, expected: &[(Text, Vec<(Text, u64)>)]) -> Result<Unmet, Fault> {
        let totals = self.lookup_totals();
        let mut differences = Vec::new();
        for (table, counts) in expected {
            let now = totals.get(&table.written).copied().unwrap_or_default();
            let before = self.counted.get(&table.written).copied().unwrap_or_default();
            for (name, wanted) in counts {
                let at = COUNTS.iter().position(|count| *count == name.written).ok_or_else(|| {
                    Fault::new(&name.span, format!("unknown count '{}'", name.written))
                        .allowed(&name.written, COUNTS)
                })?;
                let found = now[at] - before[at];
                if found != *wanted {
                    differences.push(format!(
                        "{}.{}: expected {wanted}, found {found}",
                        table.written, name.written
                    ));
                }
            }
        }
        self.counted = totals;
        // Batches and shards change who asks whom: counts are those of one shard and single records.
        if differences.is_empty() || self.shape != Shape::PLAIN {
            Ok(None)
        } else {
            Ok(Some((differences.join("; "), None)))
        }
    }

    fn lookup_totals(&self) -> HashMap<String, [u64; 4]> {
        let mut totals: HashMap<String, [u64; 4]> = HashMap::new();
        for counters in self.driver.counters() {
            for (lookup, count) in self.plan.lookups.iter().zip(&counters.lookups) {
                let total = totals.entry(lookup.table.clone()).or_default();
                let counts = [count.statements, count.hits, count.coalesced, count.misses];
                total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
            }
        }
        totals
    }
}

const COUNTS: [&str; 4] = ["statements", "hits", "coalesced", "misses"];

/// Rows with the key of a new one leave first: within one step, rows of one key stand together (1:N).
fn replace(memory: &mut MemoryTable, rows: Vec<Vec<Value>>, key: &[usize]) {
    for row in &rows {
        let same: Vec<(usize, Value)> = key.iter().map(|&at| (at, row[at].clone())).collect();
        memory.delete(&same);
    }
    rows.into_iter().for_each(|row| memory.insert(row));
}

fn column_types(lookup: &crate::plan::LookupPlan) -> impl Iterator<Item = (&str, &Type)> {
    let key = lookup.key.iter().map(|part| (part.column.as_str(), &part.ty.kind));
    key.chain(lookup.columns.iter().map(|column| (column.name.as_str(), &column.ty.kind)))
}

/// Columns that the pipeline does not read are left out.
fn dimension_row(
    node: &Node,
    columns: &[String],
    ty: &dyn Fn(&str) -> Option<Type>,
) -> Result<Vec<Value>, Fault> {
    let mut row = Vec::with_capacity(columns.len());
    for name in columns {
        let text = node.get(name).map(scalar).transpose()?.flatten();
        row.push(value(node, text.as_deref(), &ty(name).unwrap_or(Type::STRING))?);
    }
    Ok(row)
}

fn value(node: &Node, text: Option<&str>, ty: &Type) -> Result<Value, Fault> {
    let Some(text) = text else { return Ok(Value::Null) };
    parse_text(text, ty)
        .map_err(|fault| Fault::new(&node.span, format!("'{text}' is not {ty}: {}", fault.detail)))
}

/// Text as bytes; `base64:` in front gives any bytes.
fn bytes_of(item: &Node, name: &str) -> Result<Option<Vec<u8>>, Fault> {
    use base64::Engine as _;
    let Some(text) = item.get(name).map(scalar).transpose()?.flatten() else { return Ok(None) };
    let Some(encoded) = text.strip_prefix("base64:") else { return Ok(Some(text.into_bytes())) };
    let decoded = base64::engine::general_purpose::STANDARD.decode(encoded);
    decoded.map(Some).map_err(|error| Fault::new(&item.span, format!("{name} is not base64: {error}")))
}

fn number_of(item: &Node, name: &str) -> Result<Option<i64>, Fault> {
    let Some(text) = item.get(name).map(scalar).transpose()?.flatten() else { return Ok(None) };
    text.parse().map(Some).map_err(|_| Fault::new(&item.span, format!("'{name}' is a whole number")))
}

fn partition_of(item: &Node) -> Result<i32, Fault> {
    let partition = number_of(item, "partition")?.unwrap_or(0);
    i32::try_from(partition).map_err(|_| Fault::new(&item.span, "'partition' is a small number"))
}

fn headers_of(item: &Node) -> Result<Vec<crate::model::Header>, Fault> {
    let entries = item.get("headers").and_then(Node::as_map).unwrap_or_default();
    let header = |entry: &crate::config::Entry| {
        let value = scalar(&entry.value)?.map(String::into_bytes);
        Ok(crate::model::Header { key: entry.key.written.clone(), value })
    };
    entries.iter().map(header).collect()
}
