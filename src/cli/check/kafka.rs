//! Kafka: brokers, topics, what is kept of them, rights, records.

use crate::clock::Stopwatch;
use crate::config::Span;
use crate::error::{Error, Kind, Result, TablePart};
use crate::kafka::{self, Admin, ClientErrors, Topic};
use crate::plan::{KafkaClient, KafkaSink, SourceKind, Topics};
use crate::source;

use super::finding::{Finding, Report, Status};
use super::{Checks, sample};

/// The option that names the brokers.
const BROKERS: &str = "properties.bootstrap.servers";

impl Checks<'_> {
    pub(super) fn source(&self, report: &mut Report) {
        let source = &self.loaded.plan.source;
        let table = &source.table;
        let Some(cluster) = self.cluster(table, &source.client, report) else { return };
        let Some(topics) = self.topics(&cluster, &source.topics, report) else { return };
        if source.kind == SourceKind::UpsertKafka {
            for topic in &topics {
                self.retention(&cluster, &topic.name, "state is rebuilt from it after a restart", report);
            }
        }
        self.group(&cluster, &source.group_id, &topics, report);
        if 0 < self.samples {
            sample::check(self, &topics, &cluster.errors, report);
        }
    }

    pub(super) fn kafka_sink(&self, sink: &KafkaSink, report: &mut Report) {
        let table = &self.loaded.plan.sink.table;
        let Some(cluster) = self.cluster(table, &sink.client, report) else { return };
        let topics = Topics::List(vec![sink.topic.clone()]);
        if self.topics(&cluster, &topics, report).is_some() {
            self.retention(&cluster, &sink.topic, "readers of the changelog need every key", report);
        }
    }

    /// Connects; `None`: nobody answers, which is reported.
    fn cluster<'a>(
        &self,
        table: &'a str,
        client: &'a KafkaClient,
        report: &mut Report,
    ) -> Option<Cluster<'a>> {
        let errors = ClientErrors::new(&format!("table {table}"), self.clock.clone());
        let connected = kafka::admin(client, errors.clone()).and_then(|admin| {
            let brokers = self.ask(&errors, || kafka::brokers(&admin))?;
            Ok((admin, brokers))
        });
        match connected {
            Ok((admin, brokers)) => {
                let plural = if brokers == 1 { "" } else { "s" };
                let what = format!("Kafka at {} answers: {brokers} broker{plural}", client.bootstrap_servers);
                report.add(Finding::new(Status::Ok, what));
                Some(Cluster { table, client, admin, errors })
            }
            Err(error) => {
                let cause = errors.latest().filter(|_| error.kind() == Kind::Transient);
                report.add(self.failed(
                    &unreachable(client, error, cause).about(TablePart::option(BROKERS)).of_table(table),
                ));
                None
            }
        }
    }

    /// Asks until there is an answer, as long as `--timeout` allows.
    fn ask<T>(&self, errors: &ClientErrors, ask: impl FnMut() -> Result<T>) -> Result<T> {
        let watch = Stopwatch::start();
        kafka::wait_for(errors, &self.clock, &|| watch.elapsed() < self.timeout, ask)
    }

    /// The topics that are there; `None` if one is missing, which is reported.
    fn topics(&self, cluster: &Cluster<'_>, wanted: &Topics, report: &mut Report) -> Option<Vec<Topic>> {
        let found: Vec<Result<Topic>> = match wanted {
            Topics::List(names) => names
                .iter()
                .map(|name| self.ask(&cluster.errors, || kafka::check_topic(&cluster.admin, name)))
                .collect(),
            Topics::Pattern(_) => vec![self.ask(&cluster.errors, || {
                source::resolve(&cluster.admin, wanted).map(|topics| Topic {
                    name: topics.iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>().join(", "),
                    partitions: topics.iter().flat_map(|topic| topic.partitions.clone()).collect(),
                })
            })],
        };
        let mut complete = true;
        for answer in found {
            report.add(match answer {
                Ok(topic) => {
                    let count = topic.partitions.len();
                    let plural = if count == 1 { "" } else { "s" };
                    let what = format!("topic {}: {count} partition{plural}", topic.name);
                    Finding::new(Status::Ok, what)
                }
                Err(error) => {
                    complete = false;
                    self.failed(&error.of_table(cluster.table))
                }
            });
        }
        if !complete {
            return None;
        }
        source::resolve(&cluster.admin, wanted).ok()
    }

    /// A topic that is a changelog keeps the last record of every key.
    fn retention(&self, cluster: &Cluster<'_>, topic: &str, why: &str, report: &mut Report) {
        let asked = kafka::cleanup_policy(cluster.client, topic, self.timeout);
        let place = self.place(cluster.table, "topic");
        report.add(match self.runtime.block_on(asked) {
            Ok(Some(policy)) if policy.contains("compact") => {
                Finding::new(Status::Ok, format!("topic {topic}: cleanup.policy is {policy}"))
            }
            Ok(Some(policy)) => Finding::new(
                Status::Warning,
                format!(
                    "topic {topic}: cleanup.policy is {policy}, so keys older than the retention vanish, and {why}; \
                     set cleanup.policy=compact on the topic"
                ),
            ),
            Ok(None) => return,
            Err(error) => Finding::new(
                Status::Warning,
                format!("{error}; to check that the topic is compacted, grant DESCRIBE_CONFIGS on it"),
            ),
        }
        .at(place));
    }

    fn group(&self, cluster: &Cluster<'_>, group: &str, topics: &[Topic], report: &mut Report) {
        let partitions: usize = topics.iter().map(|topic| topic.partitions.len()).sum();
        let asked = kafka::committed_partitions(cluster.client, group, topics, self.timeout);
        report.add(match asked {
            Ok(0) => {
                Finding::new(Status::Ok, format!("group {group}: may be read; it has committed nothing yet"))
            }
            Ok(committed) => Finding::new(
                Status::Ok,
                format!("group {group}: has committed offsets of {committed} of {partitions} partitions"),
            ),
            Err(error) => {
                let what = format!("{error}; grant the user READ on the group");
                Finding::new(Status::Failed, what).at(self.place(cluster.table, "properties.group.id"))
            }
        });
    }

    pub(super) fn place(&self, table: &str, option: &'static str) -> Option<Span> {
        Some(self.loaded.definition.table(table)?.place(&TablePart::option(option)))
    }
}

/// A cluster that answers.
struct Cluster<'a> {
    table: &'a str,
    client: &'a KafkaClient,
    admin: Admin,
    errors: ClientErrors,
}

fn unreachable(client: &KafkaClient, error: Error, cause: Option<String>) -> Error {
    let servers = &client.bootstrap_servers;
    if error.kind() != Kind::Transient {
        return error.context(&format!("Kafka at {servers}"));
    }
    let cause = cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
    let what = format!("Kafka at {servers} is unreachable: {error}{cause}");
    Error::external(format!("{what}; check properties.bootstrap.servers, and that the brokers run"))
}
