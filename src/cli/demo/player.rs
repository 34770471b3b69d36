//! Plays the story on a thread of its own: records go to the topic, statements
//! to the dimension tables, and what happens is said on standard error.

use std::path::PathBuf;
use std::time::Duration;

use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use serde_json::json;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Executor as _};
use tokio::runtime::Handle;

use crate::clock::{Clock, Stopwatch};
use crate::error::Result;
use crate::kafka::{self, explain};
use crate::model::Timestamp;
use crate::model::civil::write_timestamp;
use crate::plan::KafkaClient;
use crate::runtime::Shutdown;

use super::stage;
use super::story::{Act, Change, Order, Story};
use super::voice::Voice;

/// Time between two changes of dimension rows: long enough to read what one does.
const CHANGE_EVERY: Duration = Duration::from_secs(4);

/// Longest nap, so that a request to stop is seen soon.
const NAP_MAX: Duration = Duration::from_millis(50);

/// Longest wait for the broker to take what was sent.
const FLUSH_MAX: Duration = Duration::from_secs(5);

/// At a higher rate single orders are no longer told: nobody could read them.
const TOLD_RATE: u32 = 10;

/// What a player needs.
pub(super) struct Player {
    pub(super) client: KafkaClient,
    pub(super) file: PathBuf,
    pub(super) runtime: Handle,
    pub(super) clock: Clock,
    pub(super) shutdown: Shutdown,
    pub(super) voice: Voice,
    /// Records per second.
    pub(super) rate: u32,
    /// Ends the demo after this time.
    pub(super) limit: Option<Duration>,
}

impl Player {
    /// Plays until the demo ends.
    ///
    /// # Errors
    /// The broker or the file refuses.
    pub(super) fn play(&self) -> Result<u64> {
        let mut config = kafka::producer(&self.client, "lookaside-demo");
        config.set("partitioner", "murmur2_random");
        let producer: BaseProducer =
            config.create().map_err(|error| explain("connecting to the demo's broker", &error))?;
        let mut tables = self.runtime.block_on(stage::writer(&self.file))?;
        let (mut story, mut sent) = (Story::new(), 0);
        let (watch, mut change_at) = (Stopwatch::start(), CHANGE_EVERY);
        while !self.is_over(&watch) {
            while sent < self.due(&watch) && !self.is_over(&watch) {
                let change = change_at <= watch.elapsed();
                match story.next(change) {
                    Act::Order(order) => {
                        self.send(&producer, &order)?;
                        sent += 1;
                    }
                    Act::Change(change) => {
                        self.change(&mut tables, &change)?;
                        change_at = watch.elapsed() + CHANGE_EVERY;
                    }
                }
            }
            producer.poll(Duration::ZERO);
            self.clock.sleep_blocking(NAP_MAX.min(Duration::from_secs(1) / self.rate));
        }
        producer.flush(FLUSH_MAX).map_err(|error| explain("sending the last orders", &error))?;
        Ok(sent)
    }

    fn is_over(&self, watch: &Stopwatch) -> bool {
        self.shutdown.is_requested() || self.limit.is_some_and(|limit| limit <= watch.elapsed())
    }

    /// Records that are to be sent by now.
    fn due(&self, watch: &Stopwatch) -> u64 {
        let due = watch.elapsed().as_millis() * u128::from(self.rate) / 1000;
        u64::try_from(due).unwrap_or(u64::MAX).saturating_add(1)
    }

    fn send(&self, producer: &BaseProducer, order: &Order) -> Result<()> {
        let key = json!({"user_id": order.user}).to_string();
        let value = order.amount.map(|amount| {
            let mut time = Vec::new();
            write_timestamp(Timestamp::from_millis(self.clock.now()), 3, b' ', &mut time);
            let time = String::from_utf8_lossy(&time);
            json!({"user_id": order.user, "order_amount": amount, "sname": "web", "log_ts": time}).to_string()
        });
        if self.rate <= TOLD_RATE || !order.remark.is_empty() {
            self.voice.order(order);
        }
        let mut record = BaseRecord::<String, String>::to(stage::TOPIC).key(&key);
        record.payload = value.as_ref();
        producer.send(record).map_err(|(error, _)| explain("sending an order", &error))?;
        producer.poll(Duration::ZERO);
        Ok(())
    }

    fn change(&self, tables: &mut SqliteConnection, change: &Change) -> Result<()> {
        self.voice.change(change);
        let done = self.runtime.block_on(tables.execute(AssertSqlSafe(change.sql.clone())));
        done.map_err(|error| crate::error::Error::external(format!("the demo's tables: {error}")))?;
        Ok(())
    }
}
