//! What librdkafka's errors mean for the program: stop, or try again.

use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use crate::error::{Error, Kind, TablePart};

/// What the caller does about an error code.
#[must_use]
pub fn kind_of_code(code: RDKafkaErrorCode) -> Kind {
    use RDKafkaErrorCode as Code;
    match code {
        Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::SSL
        | Code::TopicAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::UnknownTopic
        | Code::UnknownTopicOrPartition
        | Code::InvalidTopic
        | Code::UnknownPartition
        | Code::InvalidGroupId
        | Code::InvalidSessionTimeout
        | Code::PolicyViolation => Kind::External,
        Code::MessageSizeTooLarge | Code::InvalidRecord | Code::InvalidMessage => Kind::Data,
        Code::FencedInstanceId
        | Code::Fenced
        | Code::ProducerFenced
        | Code::InvalidProducerEpoch
        | Code::Fatal => Kind::Fenced,
        Code::InvalidArgument | Code::NotImplemented => Kind::Bug,
        _ => Kind::Transient,
    }
}

/// What the caller does about an error of the client.
#[must_use]
pub fn kind_of(error: &KafkaError) -> Kind {
    match error {
        KafkaError::ClientConfig(..) | KafkaError::ClientCreation(_) => Kind::Definition,
        other => other.rdkafka_error_code().map_or(Kind::Bug, kind_of_code),
    }
}

/// A setting that librdkafka refuses. Its reason may repeat the value, which may be secret.
fn setting(doing: &str, name: &str, reason: &str) -> Error {
    let reason = match reason.contains("Invalid value") {
        true => "librdkafka does not take this value; its CONFIGURATION.md says which it takes",
        false => reason,
    };
    let option = format!("properties.{name}");
    Error::new(Kind::Definition, format!("{doing}: '{option}': {reason}"))
        .about(TablePart::Option(option.into()))
}

/// An error of the crate, with `doing` in front: `reading topic orders: …`.
#[must_use]
pub fn explain(doing: &str, error: &KafkaError) -> Error {
    let kind = kind_of(error);
    let detail = match error {
        KafkaError::ClientConfig(_, reason, name, _) => return setting(doing, name, reason),
        KafkaError::ClientCreation(reason) => reason.clone(),
        other => other.rdkafka_error_code().map_or_else(|| other.to_string(), |code| code.to_string()),
    };
    Error::new(kind, format!("{doing}: {detail}"))
}
