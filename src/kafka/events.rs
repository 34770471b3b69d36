//! What librdkafka tells in the background: rebalances, commits, errors, log lines.
//!
//! A rebalance is not answered inside its callback. The callback puts it into
//! a list and returns; librdkafka then waits until `assign` or `unassign` is
//! called, heartbeats go on, and the loop that owns the consumer drains and
//! commits at its own pace. Only while the client closes is the answer given at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::topic_partition_list::TopicPartitionList;
use rdkafka::types::RDKafkaRespErr;

use crate::clock::{Clock, Millis};
use crate::error::{Error, Kind};

use super::errors::{TOKENS, advice, kind_of_event, token_is_refused};

/// One line per this time for the same trouble: an outage must not flood the log.
const REPEAT_AFTER: Duration = Duration::from_secs(10);

/// What an operator does about trouble that may pass.
const BROKER_HELP: &str = "see whether the brokers answer at properties.bootstrap.servers; the job goes on by itself \
                           when they do";

/// Events that may wait for the loop; more than a group ever has at once, so a bound in name only.
const EVENTS_MAX: usize = 1_024;

/// Errors of a client, kept for the loop that owns it. Clones share them.
#[derive(Clone)]
pub struct ClientErrors(Arc<Shared>);

struct Shared {
    who: String,
    clock: Clock,
    fatal: Mutex<Option<Error>>,
    trouble: Mutex<Trouble>,
}

#[derive(Default)]
struct Trouble {
    last_line: Option<Millis>,
    suppressed: u32,
    latest: Option<String>,
}

impl ClientErrors {
    /// Errors of the client that `who` describes in log lines (`source orders`).
    #[must_use]
    pub fn new(who: &str, clock: Clock) -> Self {
        let (fatal, trouble) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Shared { who: who.to_owned(), clock, fatal, trouble }))
    }

    /// Takes note of an error: what cannot pass by itself is kept, the rest is logged now and then.
    pub fn record(&self, error: &KafkaError, reason: &str) {
        match kind_of_event(error, reason) {
            Kind::Transient | Kind::Bug | Kind::Data => self.trouble(reason),
            kind => {
                self.end(kind, format!("Kafka refuses: {reason}{}", advice(error, reason)));
            }
        }
    }

    /// The first error that cannot pass by itself ends the job.
    fn end(&self, kind: Kind, what: String) {
        lock(&self.0.fatal).get_or_insert_with(|| Error::new(kind, what));
    }

    /// Logs trouble that may pass, at most one line per [`REPEAT_AFTER`].
    pub fn trouble(&self, reason: &str) {
        lock(&self.0.trouble).latest = Some(reason.to_owned());
        self.say(reason);
    }

    /// Logs that something is tried again, at most one line per [`REPEAT_AFTER`]; its cause is known already.
    pub fn say(&self, reason: &str) {
        let now = self.0.clock.now();
        let mut trouble = lock(&self.0.trouble);
        let wait = i64::try_from(REPEAT_AFTER.as_millis()).unwrap_or(i64::MAX);
        if trouble.last_line.is_some_and(|last| now - last < wait) {
            trouble.suppressed += 1;
            return;
        }
        tracing::warn!(
            client = %self.0.who, more = trouble.suppressed, help = BROKER_HELP, "Kafka: {reason}; trying again"
        );
        trouble.last_line = Some(now);
        trouble.suppressed = 0;
    }

    /// The error that ends the job, if there is one.
    #[must_use]
    pub fn fatal(&self) -> Option<Error> {
        self.refusal().map(|error| error.context(&self.0.who))
    }

    /// The same for a caller that says itself which client it is.
    #[must_use]
    pub fn refusal(&self) -> Option<Error> {
        lock(&self.0.fatal).clone()
    }

    /// The newest trouble, for a message that says why something takes so long.
    #[must_use]
    pub fn latest(&self) -> Option<String> {
        lock(&self.0.trouble).latest.clone()
    }

    /// A log line of librdkafka.
    pub fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        let who = &self.0.who;
        match level {
            RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical => {
                tracing::error!(client = %who, "librdkafka {facility}: {message}");
            }
            _ if facility == TOKENS && token_is_refused(message) => {
                let check = "check client id and secret in properties.sasl.jaas.config";
                self.end(Kind::External, format!("no token to log in with: {message}; {check}"));
            }
            // About settings, once, when the client is made.
            _ if facility == "CONFWARN" => tracing::warn!(client = %who, "librdkafka: {message}"),
            RDKafkaLogLevel::Error | RDKafkaLogLevel::Warning => self.trouble(message),
            _ => tracing::debug!(client = %who, "librdkafka {facility}: {message}"),
        }
    }
}

/// Something that the loop of a group member must answer.
#[derive(Debug)]
pub enum GroupEvent {
    /// These partitions are ours now; answered by assigning them.
    Assign(TopicPartitionList),
    /// These partitions go to another member; answered by unassigning them.
    Revoke(TopicPartitionList),
    /// These partitions are someone else's already; answered by unassigning them.
    Lost(TopicPartitionList),
    /// A commit was answered.
    Committed(KafkaResult<()>),
}

/// Context of a group member.
pub struct GroupContext {
    errors: ClientErrors,
    events: Mutex<Vec<GroupEvent>>,
    closing: AtomicBool,
}

impl GroupContext {
    /// A context whose errors land in `errors`.
    #[must_use]
    pub fn new(errors: ClientErrors) -> Self {
        Self { errors, events: Mutex::default(), closing: AtomicBool::new(false) }
    }

    /// Takes the events that came since the last call, in order.
    #[must_use]
    pub fn take(&self) -> Vec<GroupEvent> {
        std::mem::take(&mut *lock(&self.events))
    }

    /// From here on the client closes: rebalances are answered at once, nobody takes events any more.
    pub fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    fn push(&self, event: GroupEvent) {
        let mut events = lock(&self.events);
        if events.len() < EVENTS_MAX {
            events.push(event);
        }
    }
}

impl ClientContext for GroupContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.errors.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.errors.record(&error, reason);
    }
}

impl ConsumerContext for GroupContext {
    fn rebalance(&self, consumer: &BaseConsumer<Self>, code: RDKafkaRespErr, list: &mut TopicPartitionList) {
        let assign = code == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
        if self.closing.load(Ordering::SeqCst) {
            answer_while_closing(consumer, assign, list);
        } else if assign {
            self.push(GroupEvent::Assign(list.clone()));
        } else if consumer.assignment_lost() {
            self.push(GroupEvent::Lost(list.clone()));
        } else {
            self.push(GroupEvent::Revoke(list.clone()));
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, offsets: &TopicPartitionList) {
        let refused = offsets.elements().iter().find_map(|element| element.error().err());
        self.push(GroupEvent::Committed(result.and_then(|()| refused.map_or(Ok(()), Err))));
    }
}

fn answer_while_closing(consumer: &BaseConsumer<GroupContext>, assign: bool, list: &TopicPartitionList) {
    let cooperative = matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative);
    let answered = match (assign, cooperative) {
        (true, true) => consumer.incremental_assign(&TopicPartitionList::new()),
        (false, true) => consumer.incremental_unassign(list),
        (_, false) => consumer.unassign(),
    };
    if let Err(error) = answered {
        tracing::debug!("while leaving the group: {error}");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
