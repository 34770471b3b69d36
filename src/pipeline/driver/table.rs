//! A dimension table in memory, in place of a database.

use crate::error::Error;
use crate::lookup::{DimensionRows, LookupKey};
use crate::model::{RowLayout, Value, nested};
use crate::plan::LookupPlan;

/// Rows of a dimension table; what a lookup finds is what a plain query per key would.
#[derive(Clone, Debug, Default)]
pub struct MemoryTable {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    failure: Option<Failure>,
}

#[derive(Clone, Debug)]
struct Failure {
    message: String,
    /// Statements that fail; `None`: all from here on.
    left: Option<u32>,
}

impl MemoryTable {
    /// An empty table with these columns.
    #[must_use]
    pub fn new(columns: Vec<String>) -> Self {
        Self { columns, rows: Vec::new(), failure: None }
    }

    /// Names of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Adds a row; it comes after those that are there.
    pub fn insert(&mut self, row: Vec<Value>) {
        self.rows.push(row);
    }

    /// Puts a row in the place of the one with the same values in the `key` columns, or adds it.
    pub fn upsert(&mut self, row: Vec<Value>, key: &[usize]) {
        let same = |other: &&mut Vec<Value>| key.iter().all(|&at| other.get(at) == row.get(at));
        match self.rows.iter_mut().find(same) {
            Some(place) => *place = row,
            None => self.rows.push(row),
        }
    }

    /// Deletes the rows that have these values.
    pub fn delete(&mut self, values: &[(usize, Value)]) {
        self.rows.retain(|row| values.iter().any(|(at, value)| row.get(*at) != Some(value)));
    }

    /// Puts the rows in order; equal ones keep theirs.
    pub fn sort_by(&mut self, order: impl Fn(&[Value], &[Value]) -> std::cmp::Ordering) {
        self.rows.sort_by(|a, b| order(a, b));
    }

    /// Deletes every row.
    pub fn clear(&mut self) {
        self.rows.clear();
    }

    /// Lets the next `times` statements fail; `None`: all of them until [`MemoryTable::recover`].
    pub fn fail(&mut self, message: &str, times: Option<u32>) {
        self.failure = Some(Failure { message: message.to_owned(), left: times });
    }

    /// Ends the failures.
    pub fn recover(&mut self) {
        self.failure = None;
    }

    /// One statement.
    ///
    /// # Errors
    /// As [`MemoryTable::fail`] says.
    pub(super) fn query(
        &mut self,
        plan: &LookupPlan,
        keys: &[LookupKey],
    ) -> Result<Vec<DimensionRows>, Error> {
        if let Some(failure) = &mut self.failure {
            match &mut failure.left {
                None => return Err(Error::transient(failure.message.clone())),
                Some(0) => self.failure = None,
                Some(left) => {
                    *left -= 1;
                    return Err(Error::transient(failure.message.clone()));
                }
            }
        }
        let (key_layout, layout) = (plan.key_layout(), plan.layout());
        let key_columns = self.positions(plan.key.iter().map(|part| part.column.as_str()))?;
        let columns = self.positions(plan.columns.iter().map(|column| column.name.as_str()))?;
        Ok(keys.iter().map(|key| self.find((&key_layout, key), &key_columns, (&layout, &columns))).collect())
    }

    fn positions<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<Vec<usize>, Error> {
        let position = |name: &str| {
            let found = self.columns.iter().position(|column| column == name);
            found.ok_or_else(|| Error::external(format!("the dimension table has no column {name}")))
        };
        names.map(position).collect()
    }

    fn find(
        &self,
        (key_layout, key): (&RowLayout, &[u8]),
        key_columns: &[usize],
        (layout, columns): (&RowLayout, &[usize]),
    ) -> DimensionRows {
        let wanted: Vec<Value> =
            (0..key_columns.len()).map(|i| Value::from(key_layout.get(key, i))).collect();
        let matches = |row: &&Vec<Value>| {
            let cells = key_columns.iter().map(|&at| row.get(at).unwrap_or(&Value::Null));
            cells.zip(&wanted).all(|(cell, wanted)| equal(cell, wanted))
        };
        let pack = |row: &Vec<Value>| {
            let cells: Vec<Value> =
                columns.iter().map(|&at| row.get(at).cloned().unwrap_or(Value::Null)).collect();
            packed(layout, &cells).into()
        };
        self.rows.iter().filter(matches).map(pack).collect()
    }
}

/// Equality of a database: NULL equals nothing, decimals are numbers.
fn equal(cell: &Value, wanted: &Value) -> bool {
    match (cell, wanted) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Decimal(a), Value::Decimal(b)) => {
            let scale = a.scale().max(b.scale());
            a.rescale(scale).is_some_and(|a| Some(a) == b.rescale(scale))
        }
        _ => cell == wanted,
    }
}

/// One packed row of owned values.
pub(super) fn packed(layout: &RowLayout, row: &[Value]) -> Vec<u8> {
    let encode = |value: &Value| {
        let mut bytes = Vec::new();
        nested::encode(value, &mut bytes);
        bytes
    };
    let nested: Vec<Vec<u8>> = row.iter().map(encode).collect();
    let datums: Vec<_> = row.iter().zip(&nested).map(|(value, nested)| value.datum(nested)).collect();
    let mut out = Vec::new();
    layout.pack(&datums, &mut out);
    out
}
