//! `properties.*` to settings of librdkafka.

use crate::config::options::client::{Property, Side, Treatment, property, property_names, words};
use crate::config::options::{Role, TableOptions};
use crate::config::{Fault, TableDefinition, Text};

use super::super::{KafkaClient, Secret};
use super::context::Context;
use super::security;

/// A Kafka client under construction.
#[derive(Debug, Default)]
pub(super) struct Client {
    bootstrap_servers: String,
    pub settings: Vec<(String, Secret)>,
    /// `properties.group.id`.
    pub group_id: Option<String>,
    /// `properties.auto.offset.reset`.
    pub offset_reset: Option<String>,
}

impl Client {
    pub fn into_client(self) -> KafkaClient {
        KafkaClient { bootstrap_servers: self.bootstrap_servers, settings: self.settings }
    }

    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.settings.retain(|(known, _)| known != name);
        self.settings.push((name.to_owned(), Secret::new(value)));
    }
}

/// Translates the properties of a table.
pub(super) fn compile(
    context: &mut Context,
    table: &TableDefinition,
    options: &TableOptions,
    role: Role,
) -> Option<Client> {
    let before = context.faults.len();
    let mut client = Client::default();
    for (name, value) in options.properties.iter().filter(|(_, value)| !value.is_broken()) {
        match name.written.as_str() {
            "bootstrap.servers" => client.bootstrap_servers = value.value().trim().to_owned(),
            "group.id" if role == Role::Source => client.group_id = Some(value.value().trim().to_owned()),
            "auto.offset.reset" if role == Role::Source => offset_reset(context, table, &mut client, value),
            "acks" | "request.required.acks" if value.value().trim() == "0" => {
                let what = "acks 0 would lose rows: nothing says that a record has arrived";
                context.fault(&value.span, what, "leave it out: all replicas confirm");
            }
            _ => match property(&name.written) {
                Some(found) => apply(context, table, role, &mut client, (found, name, value)),
                None => {
                    let fault = Fault::new(
                        &name.span,
                        format!(
                            "neither Kafka's Java client nor librdkafka has a setting '{}'",
                            name.written
                        ),
                    );
                    let fault = fault.allowed(&name.written, property_names());
                    context.faults.add(Fault { allowed: Vec::new(), ..fault });
                }
            },
        }
    }
    security::compile(context, &table.name.written, &mut client, &security::Given(&options.properties));
    let given = options.properties.iter().any(|(name, _)| name.written == "bootstrap.servers");
    if client.bootstrap_servers.is_empty() && (!given || before == context.faults.len()) {
        let what = format!("table '{}' has no 'properties.bootstrap.servers'", table.name.written);
        let broken = options
            .properties
            .iter()
            .any(|(name, value)| name.written == "bootstrap.servers" && value.is_broken());
        if !broken {
            context.fault(
                &table.name.span,
                what,
                "the addresses of the brokers: host:port, separated by ','",
            );
        }
    }
    (context.faults.len() == before).then_some(client)
}

fn offset_reset(context: &mut Context, table: &TableDefinition, client: &mut Client, value: &Text) {
    let is_upsert = table.connector.as_ref().is_some_and(|connector| connector.value() == "upsert-kafka");
    let startup = table.options.iter().find(|entry| entry.key.written == "scan.startup.mode");
    let other = startup
        .and_then(|entry| entry.value.as_text())
        .is_some_and(|mode| mode.value().trim() != "group-offsets");
    let name = "properties.auto.offset.reset";
    match value.value().trim() {
        _ if is_upsert => {
            context.note(&table.name.written, name, "upsert-kafka reads from the earliest offset")
        }
        _ if other => context.note(&table.name.written, name, "scan.startup.mode decides"),
        reset @ ("earliest" | "latest" | "none" | "smallest" | "largest" | "beginning" | "end" | "error") => {
            client.offset_reset = Some(reset.to_owned());
        }
        _ => {
            let fault =
                Fault::new(&value.span, "'properties.auto.offset.reset' is not one of the words allowed");
            context.faults.add(fault.allowed(&value.written, ["earliest", "latest", "none"]));
        }
    }
}

fn apply(
    context: &mut Context,
    table: &TableDefinition,
    role: Role,
    client: &mut Client,
    (found, name, value): (Property, &Text, &Text),
) {
    let written = format!("properties.{}", name.written);
    let other_side = match (found.side, role) {
        (Side::Consumer, Role::Sink) => Some("a setting of readers, and this table is written to"),
        (Side::Producer, Role::Source) => Some("a setting of writers, and this table is read"),
        _ => None,
    };
    match found.treatment {
        Treatment::Refused(why) if other_side.is_none() && !is_harmless(name, value) => {
            context.fault(&name.span, format!("'{written}' is refused"), why);
        }
        _ if other_side.is_some() => {
            context.note(&table.name.written, &written, other_side.unwrap_or_default())
        }
        Treatment::Refused(why) | Treatment::Noted(why) => context.note(&table.name.written, &written, why),
        Treatment::As(own) => match words(own).filter(|words| !is_one_of(words, value.value())) {
            Some(words) => {
                let what = format!("'{written}' must be one of the words allowed, not '{}'", value.written);
                context.faults.add(Fault::new(&value.span, what).allowed(&value.written, words));
            }
            None => client.set(own, value.value().trim()),
        },
        Treatment::AsKibibytes(own) => match value.value().trim().parse::<u64>() {
            Ok(bytes) => client.set(own, (bytes / 1024).max(1).to_string()),
            Err(_) => context.fault(&value.span, format!("'{written}' must be a number of bytes"), ""),
        },
        Treatment::Security => {}
    }
}

fn is_one_of(words: &[&str], value: &str) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(value.trim()))
}

/// Values of refused settings that ask for what happens anyway.
fn is_harmless(name: &Text, value: &Text) -> bool {
    let value = value.value().trim();
    match name.written.as_str() {
        "partition.assignment.strategy" => {
            value.ends_with("CooperativeStickyAssignor") || value == "cooperative-sticky"
        }
        "partitioner" => value == "murmur2_random",
        "partitioner.ignore.keys" => value.eq_ignore_ascii_case("false"),
        "group.protocol" => value.eq_ignore_ascii_case("classic"),
        "sasl.login.class" | "sasl.client.callback.handler.class" | "ssl.engine.factory.class" => {
            value.is_empty()
        }
        "sasl.oauthbearer.scope.claim.name" => value == "scope",
        "sasl.oauthbearer.sub.claim.name" => value == "sub",
        "sasl.oauthbearer.header.urlencode" | "enable.sasl.oauthbearer.unsecure.jwt" => {
            value.eq_ignore_ascii_case("false")
        }
        _ => false,
    }
}
