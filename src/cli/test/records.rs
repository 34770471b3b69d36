//! Source steps: records as from Kafka, or typed rows with kinds.

use crate::clock::Millis;
use crate::config::{Fault, Node};
use crate::model::{Header, RowKind, Value};
use crate::pipeline::driver::{Driver, Fed};
use crate::plan::{ColumnSource, Plan, SourceKind, SourcePlan};

use super::case::{bytes, headers, kind_and_row, known_keys, number};
use super::tables::value;

/// What a source step feeds, one item at a time.
#[derive(Clone, Debug)]
pub enum Feed {
    /// A record.
    Record(SourceRecord),
    /// A typed row.
    Row(RowKind, Vec<Value>, i32),
}

/// A record of a source step.
#[derive(Clone, Debug)]
pub struct SourceRecord {
    /// Partition of the topic, if the case names one.
    pub partition: Option<i32>,
    /// Its key; `None` is null.
    pub key: Option<Vec<u8>>,
    /// Its value; `None` is null.
    pub value: Option<Vec<u8>>,
    /// Its timestamp in milliseconds; `None`: now.
    pub timestamp: Option<i64>,
    /// Its headers.
    pub headers: Vec<Header>,
}

impl Feed {
    /// Reads an item of a source step.
    ///
    /// # Errors
    /// Another shape, values that do not fit their columns.
    pub fn read(plan: &Plan, item: &Node) -> Result<Self, Fault> {
        if item.get("row").is_none() {
            return SourceRecord::read(item).map(Self::Record);
        }
        known_keys(item, "a row", &["kind", "row", "partition"])?;
        let (kind, texts) = kind_and_row(item)?;
        if plan.source.kind == SourceKind::Kafka && kind != RowKind::Insert {
            let what = format!("table '{}' is append-only: its rows are +I", plan.source.table);
            return Err(Fault::new(&item.span, what));
        }
        Ok(Self::Row(kind, stream_row(&plan.source, item, &texts)?, partition(item)?.unwrap_or(0)))
    }

    /// A record without a timestamp is given this one.
    #[must_use]
    pub fn written_at(mut self, now: Millis) -> Self {
        if let Self::Record(record) = &mut self {
            record.timestamp.get_or_insert(now);
        }
        self
    }

    /// Feeds it; silently, it rebuilds state and nothing is sent.
    ///
    /// # Errors
    /// A record that cannot be processed.
    pub fn feed(&self, driver: &mut Driver, silent: bool) -> crate::error::Result<()> {
        match self {
            Self::Record(record) => {
                let now = driver.now();
                driver.feed(Fed {
                    partition: record.partition.unwrap_or(0),
                    key: record.key.as_deref(),
                    value: record.value.as_deref(),
                    timestamp: record.timestamp.unwrap_or(now),
                    headers: &record.headers,
                    silent,
                })
            }
            Self::Row(kind, row, partition) if silent => driver.rebuild_row(*kind, row, *partition),
            Self::Row(kind, row, partition) => driver.feed_row(*kind, row, *partition),
        }
    }
}

impl SourceRecord {
    /// Reads a record.
    ///
    /// # Errors
    /// Unknown keys, what is not base64.
    pub fn read(item: &Node) -> Result<Self, Fault> {
        known_keys(item, "a record", &["key", "value", "partition", "timestamp", "headers"])?;
        if item.get("value").is_none() {
            return Err(Fault::new(&item.span, "a record has a 'value', which may be null"));
        }
        Ok(Self {
            partition: partition(item)?,
            key: bytes(item, "key")?,
            value: bytes(item, "value")?,
            timestamp: number(item, "timestamp")?,
            headers: headers(item)?,
        })
    }
}

/// The stream row of texts for every physical column of the table.
fn stream_row(source: &SourcePlan, item: &Node, texts: &[Option<String>]) -> Result<Vec<Value>, Fault> {
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
            let what = format!("column {} comes from the record: write the record, not a row", column.name);
            return Err(Fault::new(&item.span, what));
        };
        let physical = source.physical.get(at);
        let text = physical.and_then(|physical| texts.get(physical.ordinal)).cloned().flatten();
        row.push(value(item, text.as_deref(), &column.ty.kind)?);
    }
    Ok(row)
}

fn partition(item: &Node) -> Result<Option<i32>, Fault> {
    let Some(partition) = number(item, "partition")? else { return Ok(None) };
    let valid = i32::try_from(partition).ok().filter(|partition| 0 <= *partition);
    let fault = || Fault::new(&item.span, "'partition' is a number from 0");
    valid.map(Some).ok_or_else(fault)
}
