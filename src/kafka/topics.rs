//! Questions to the cluster before anything runs: is the topic there, what partitions does it have.
//!
//! A cluster that cannot be reached is waited for; one that refuses is an error.

use std::time::Duration;

use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::MetadataTopic;

use crate::clock::Clock;
use crate::config::nearest;
use crate::error::{Error, Kind, Result, TablePart};

use super::errors::{explain, kind_of};
use super::events::ClientErrors;
use super::settings::Admin;

/// One question may take this long; an unreachable broker is noticed and said this often.
const ASK_TIMEOUT: Duration = Duration::from_secs(3);

/// Between two questions to a cluster that answered with trouble.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Background events served after a question: log lines come one per event, errors among them.
const EVENTS_PER_ASK: usize = 64;

/// A topic as the cluster describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// Its partitions, ascending.
    pub partitions: Vec<i32>,
}

/// Asks until there is an answer, trying again after transient errors while `go_on` holds.
///
/// # Errors
/// What does not pass by itself; `Kind::Transient` when `go_on` ended the wait.
pub fn wait_for<T>(
    errors: &ClientErrors,
    clock: &Clock,
    go_on: &dyn Fn() -> bool,
    mut ask: impl FnMut() -> Result<T>,
) -> Result<T> {
    loop {
        let error = match ask() {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if let Some(refusal) = errors.refusal() {
            return Err(refusal);
        }
        if error.kind() != Kind::Transient || !go_on() {
            return Err(error);
        }
        let cause = errors.latest().unwrap_or_default();
        errors.say(&if cause.is_empty() { error.to_string() } else { format!("{error} ({cause})") });
        clock.sleep_blocking(ASK_AGAIN);
    }
}

/// How many brokers the cluster says it has.
///
/// # Errors
/// Missing rights, no answer (transient).
pub fn brokers(admin: &Admin) -> Result<usize> {
    let metadata = ask(admin, None).map_err(|error| explain("asking for the brokers", &error))?;
    Ok(metadata.brokers().len())
}

/// One topic; [`Kind::External`] when it does not exist.
///
/// # Errors
/// Missing topic, missing rights, no answer (transient).
pub fn check_topic(admin: &Admin, name: &str) -> Result<Topic> {
    let doing = format!("asking for topic {name}");
    let metadata = ask(admin, Some(name)).map_err(|error| explain(&doing, &error))?;
    let found = metadata.topics().iter().find(|topic| topic.name() == name);
    let Some(topic) = found else { return Err(missing(admin, name)) };
    refusal(admin, topic).map_or(Ok(()), Err)?;
    let described = describe(topic);
    if described.partitions.is_empty() {
        return Err(missing(admin, name));
    }
    Ok(described)
}

/// All topics of the cluster whose names `wanted` accepts, by name; internal topics are left out.
///
/// # Errors
/// Missing rights, no answer (transient).
pub fn list_topics(admin: &Admin, wanted: impl Fn(&str) -> bool) -> Result<Vec<Topic>> {
    let metadata = ask(admin, None).map_err(|error| explain("asking for the list of topics", &error))?;
    let mut topics: Vec<_> = metadata
        .topics()
        .iter()
        .filter(|topic| !topic.name().starts_with("__") && topic.error().is_none() && wanted(topic.name()))
        .map(describe)
        .collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(topics)
}

/// Name and partitions of an answered topic.
#[must_use]
pub fn describe(topic: &MetadataTopic) -> Topic {
    let mut partitions: Vec<_> = topic.partitions().iter().map(|partition| partition.id()).collect();
    partitions.sort_unstable();
    Topic { name: topic.name().to_owned(), partitions }
}

fn ask(admin: &Admin, topic: Option<&str>) -> Result<rdkafka::metadata::Metadata, KafkaError> {
    let answer = admin.fetch_metadata(topic, ASK_TIMEOUT);
    // Serves what came in the background: why there is no answer, such as a refused password.
    for _ in 0..EVENTS_PER_ASK {
        let _ = admin.poll(Duration::ZERO);
    }
    answer
}

fn refusal(admin: &Admin, topic: &MetadataTopic) -> Option<Error> {
    let error = KafkaError::MetadataFetch(RDKafkaErrorCode::from(topic.error()?));
    let name = topic.name();
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::UnknownTopic | RDKafkaErrorCode::UnknownTopicOrPartition) => {
            Some(missing(admin, name))
        }
        _ => Some(Error::new(kind_of(&error), explain(&format!("topic {name}"), &error).to_string())),
    }
}

/// Names the topic that was probably meant, if the cluster tells its topics.
fn missing(admin: &Admin, name: &str) -> Error {
    let topics = list_topics(admin, |_| true).unwrap_or_default();
    let near = nearest(name, topics.iter().map(|topic| topic.name.as_str()));
    let near = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    let what = format!("topic {name} does not exist; create it, or correct the name in the definition{near}");
    Error::external(what).about(TablePart::option("topic"))
}
