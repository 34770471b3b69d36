//! Whether a contestant's sink topic holds the right result.
//!
//! The expected view is folded from the generator and the tables' functions, without a contestant's code: the last
//! row of each order, joined. The topic is read to its end and compacted the same way, and every key is compared.

use std::borrow::Cow;

use serde::Deserialize;

use super::contestants::Contestant;
use super::orders::{Order, Orders, Values, partition_of};
use super::tables;
use super::topics::Broker;
use crate::Result;

/// What the input amounts to.
pub struct Expected {
    /// The last values of each order; `None` where it was deleted. The index is the order's id.
    live: Vec<Option<Values>>,
    /// Tombstones of the input.
    tombstones: u64,
    /// Tombstones that found something to delete.
    deletes: u64,
    rows: u64,
}

/// What a sink topic holds.
#[derive(Clone, Debug, Default)]
pub struct SinkView {
    /// Records, with tombstones.
    pub records: u64,
    /// Records without a value.
    pub tombstones: u64,
    /// Keys whose last record has a value.
    pub live_keys: u64,
}

/// The enriched order, as the job's sink columns say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Enriched<'a> {
    order_id: u64,
    user_id: u32,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    level: Option<i64>,
    #[serde(borrow)]
    title: Cow<'a, str>,
    price: f64,
    amount: f64,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    log_ts: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    order_id: u64,
}

impl Expected {
    /// Folds the stream.
    pub fn fold(orders: Orders<'_>) -> Self {
        let mut expected = Self { live: Vec::new(), tombstones: 0, deletes: 0, rows: 0 };
        for order in orders {
            let at = order.order_id as usize;
            expected.rows += 1;
            if at == expected.live.len() {
                expected.live.push(None);
            }
            if order.values.is_none() {
                expected.tombstones += 1;
                expected.deletes += u64::from(expected.live[at].is_some());
            }
            expected.live[at] = order.values;
        }
        expected
    }

    /// Records and tombstones of a right sink topic: the copy has all; a tombstone for an unknown key says nothing.
    fn records(&self, contestant: Contestant) -> (u64, u64) {
        if contestant.enriches() {
            (self.rows - self.tombstones + self.deletes, self.deletes)
        } else {
            (self.rows, self.tombstones)
        }
    }

    /// Reads the sink topic and compares it.
    pub fn check(&self, broker: &Broker, sink: &str, contestant: Contestant) -> Result<SinkView> {
        let mut last: Vec<Option<Box<[u8]>>> = vec![None; self.live.len()];
        let mut view = SinkView::default();
        broker.scan(sink, |record| {
            view.records += 1;
            view.tombstones += u64::from(record.value.is_none());
            let key: Key = serde_json::from_slice(record.key)
                .map_err(|error| format!("key {}: {error}", String::from_utf8_lossy(record.key)))?;
            if record.partition != partition_of(record.key) {
                return Err(format!("order {} is in partition {}", key.order_id, record.partition).into());
            }
            let slot = last
                .get_mut(key.order_id as usize)
                .ok_or(format!("order {} was never made", key.order_id))?;
            *slot = record.value.map(Into::into);
            Ok(())
        })?;
        view.live_keys = last.iter().flatten().count() as u64;
        let mut wrong = (0..).zip(self.live.iter().zip(&last)).filter_map(|(order_id, (expected, found))| {
            let same = match (expected, found) {
                (None, None) => true,
                (Some(values), Some(bytes)) if contestant.enriches() => is_enriched(order_id, values, bytes),
                (Some(values), Some(bytes)) => is_copied(order_id, values, bytes),
                _ => false,
            };
            (!same).then_some((order_id, found))
        });
        if let Some((order_id, found)) = wrong.next() {
            let found =
                found.as_ref().map_or(Cow::Borrowed("nothing"), |bytes| String::from_utf8_lossy(bytes));
            let others = wrong.count();
            return Err(format!(
                "wrong result: order {order_id} ended as {found}; {others} others are wrong"
            )
            .into());
        }
        let (records, tombstones) = self.records(contestant);
        if view.records < records || view.tombstones < tombstones {
            return Err(
                format!("{view:?} where {records} records with {tombstones} tombstones are right").into()
            );
        }
        if view.records > records {
            println!("  note: {} records more than there are changes", view.records - records);
        }
        Ok(view)
    }
}

fn is_copied(order_id: u64, values: &Values, bytes: &[u8]) -> bool {
    let mut value = Vec::new();
    Order { order_id, values: Some(*values) }.write_value(&mut value);
    value == bytes
}

fn is_enriched(order_id: u64, values: &Values, bytes: &[u8]) -> bool {
    let Ok(row) = serde_json::from_slice::<Enriched<'_>>(bytes) else { return false };
    let Some(product) = tables::product(values.product_id) else { return false };
    let user = tables::user(values.user_id);
    row.order_id == order_id
        && row.user_id == values.user_id
        && row.name.as_deref() == user.as_ref().map(|user| user.name.as_str())
        && row.level == user.as_ref().map(|user| user.level)
        && row.title == product.title
        && cents(row.price) == product.cents
        && cents(row.amount) == values.cents
        && row.status == values.status()
        && whole_ms(&row.log_ts) == whole_ms(&values.log_ts())
}

/// Both notations of a decimal, `20.00` and `2E+1`, are the same number.
fn cents(amount: f64) -> u64 {
    (amount * 100.0).round() as u64
}

/// Flink leaves out a fraction of zero.
fn whole_ms(timestamp: &str) -> &str {
    match timestamp.split_once('.') {
        Some((_, fraction)) => {
            let zeros = fraction.len() - fraction.trim_end_matches('0').len();
            timestamp[..timestamp.len() - zeros].trim_end_matches('.')
        }
        None => timestamp,
    }
}
