//! Dimension tables of a case: what the database would hold, column by column as declared.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::config::ddl::{ColumnKind, Item, parse_item};
use crate::config::{Definition, Fault, Node, TableDefinition, Text};
use crate::expr::parse_type;
use crate::format::parse_text;
use crate::model::{Type, Value};
use crate::pipeline::driver::{Driver, MemoryTable};
use crate::plan::Plan;

use super::case::{known_keys, number, scalar};

/// The dimension tables that the pipeline reads, as declared.
#[derive(Debug)]
pub struct Tables(HashMap<String, Declared>);

/// A dimension table as declared.
#[derive(Debug)]
pub(super) struct Declared {
    /// Physical columns.
    pub columns: Vec<(String, Type)>,
    /// Positions of the columns that tell rows apart: the primary key, or what is looked up by.
    pub key: Vec<usize>,
    /// `key` is the primary key.
    pub unique: bool,
}

impl Tables {
    /// The dimension tables of a plan that was compiled from `definition`.
    #[must_use]
    pub fn new(definition: &Definition, plan: &Plan) -> Self {
        let declared = |name: &String| {
            let table = definition.tables.iter().find(|table| table.name.written == *name)?;
            Some((name.clone(), Declared::new(table, plan)))
        };
        Self(plan.lookups.iter().filter_map(|lookup| declared(&lookup.table)).collect())
    }

    /// One of them.
    pub(super) fn get(&self, name: &str) -> Option<&Declared> {
        self.0.get(name)
    }

    /// Puts empty tables in place.
    pub fn place(&self, driver: &mut Driver) {
        for (name, declared) in &self.0 {
            let columns = declared.columns.iter().map(|(name, _)| name.clone()).collect();
            driver.set_table(name, MemoryTable::new(columns));
        }
    }

    /// Changes a table.
    ///
    /// # Errors
    /// A table that the pipeline does not look up in, unknown columns, values that do not fit.
    pub fn change(&self, driver: &mut Driver, plan: &Plan, table: &Text, change: &Node) -> Result<(), Fault> {
        let (Some(declared), Some(memory)) = (self.0.get(&table.written), driver.table_mut(&table.written))
        else {
            let what = format!("table '{}' is not read by the pipeline", table.written);
            let tables = self.0.keys().chain([&plan.source.table]);
            return Err(Fault::new(&table.span, what).allowed(&table.written, tables));
        };
        known_keys(change, "a change of a dimension table", &["upsert", "delete", "fail", "times"])?;
        for entry in change.as_map().unwrap_or_default() {
            let rows = entry.value.as_list().unwrap_or_default();
            match entry.key.written.as_str() {
                "upsert" => declared.upsert(memory, rows)?,
                "delete" => declared.delete(memory, rows)?,
                "fail" => {
                    let times = number(change, "times")?.and_then(|times| u32::try_from(times).ok());
                    match scalar(&entry.value)? {
                        Some(message) => memory.fail(&message, times),
                        None => memory.recover(),
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Declared {
    fn new(table: &TableDefinition, plan: &Plan) -> Self {
        let mut columns: Vec<(String, Type)> = Vec::new();
        let mut key_names = Vec::new();
        for item in table.columns.iter().flatten() {
            match parse_item(item) {
                Ok(Item::Column(column)) => {
                    if column.primary_key {
                        key_names.push(column.name.clone());
                    }
                    if let ColumnKind::Physical(ty) = column.kind {
                        let ty = parse_type(&ty.text).map_or(Type::STRING, |ty| ty.kind);
                        columns.push((column.name, ty));
                    }
                }
                Ok(Item::PrimaryKey(names)) => key_names.extend(names),
                // The plan was compiled, so there are no faulty items.
                Err(_) => {}
            }
        }
        let unique = !key_names.is_empty();
        if !unique {
            let lookup = plan.lookups.iter().find(|lookup| lookup.table == table.name.written);
            key_names.extend(lookup.iter().flat_map(|lookup| &lookup.key).map(|part| part.column.clone()));
        }
        let position = |name: &String| columns.iter().position(|(column, _)| column == name);
        Self { key: key_names.iter().filter_map(position).collect(), columns, unique }
    }

    /// Rows with the key of a new one leave. Without a primary key several rows of a step may share one,
    /// and stand in the order in which they are written; with one, rows stand in its order.
    fn upsert(&self, memory: &mut MemoryTable, nodes: &[Node]) -> Result<(), Fault> {
        let rows = nodes.iter().map(|node| self.row(node)).collect::<Result<Vec<_>, _>>()?;
        let key = |row: &[Value]| -> Vec<(usize, Value)> {
            self.key.iter().filter_map(|&at| Some((at, row.get(at)?.clone()))).collect()
        };
        if !self.unique {
            rows.iter().for_each(|row| memory.delete(&key(row)));
            rows.into_iter().for_each(|row| memory.insert(row));
            return Ok(());
        }
        for row in rows {
            memory.delete(&key(&row));
            memory.insert(row);
        }
        let order = |a: &[Value], b: &[Value]| {
            let parts = self.key.iter().map(|&at| match (a.get(at), b.get(at)) {
                (Some(a), Some(b)) => order(a, b),
                _ => Ordering::Equal,
            });
            parts.fold(Ordering::Equal, Ordering::then)
        };
        memory.sort_by(order);
        Ok(())
    }

    fn delete(&self, memory: &mut MemoryTable, nodes: &[Node]) -> Result<(), Fault> {
        for node in nodes {
            let row = self.row(node)?;
            let is_given = |(at, _): &(usize, Value)| {
                self.columns.get(*at).is_some_and(|(name, _)| node.get(name).is_some())
            };
            memory.delete(&row.into_iter().enumerate().filter(is_given).collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Columns that are not given are NULL.
    pub fn row(&self, node: &Node) -> Result<Vec<Value>, Fault> {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        known_keys(node, "a row of the table", &names)?;
        let mut row = Vec::with_capacity(self.columns.len());
        for (name, ty) in &self.columns {
            let text = node.get(name).map(scalar).transpose()?.flatten();
            row.push(value(node, text.as_deref(), ty)?);
        }
        Ok(row)
    }
}

/// A value of a column, from its text.
pub(super) fn value(node: &Node, text: Option<&str>, ty: &Type) -> Result<Value, Fault> {
    let Some(text) = text else { return Ok(Value::Null) };
    parse_text(text, ty)
        .map_err(|fault| Fault::new(&node.span, format!("'{text}' is not {ty}: {}", fault.detail)))
}

/// The order of a primary key's values.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) | (Value::Time(a), Value::Time(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => (a.millis, a.nanos).cmp(&(b.millis, b.nanos)),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Decimal(a), Value::Decimal(b)) => {
            let scale = a.scale().max(b.scale());
            let unscaled = |d: &crate::model::Decimal| d.rescale(scale).map(|d| d.unscaled());
            unscaled(a).cmp(&unscaled(b))
        }
        _ => Ordering::Equal,
    }
}
