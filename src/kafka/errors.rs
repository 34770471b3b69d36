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

/// What the caller does about an error that a client told in the background, with librdkafka's text about it.
/// What may pass by itself never ends a job.
#[must_use]
pub fn kind_of_event(error: &KafkaError, text: &str) -> Kind {
    use RDKafkaErrorCode as Code;
    match error.rdkafka_error_code() {
        // Metadata is late after a topic was made or moved; whether a topic exists is asked at start.
        Some(Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::UnknownPartition) => Kind::Transient,
        // A handshake that broke off is an outage; one that failed over a certificate is a refusal. Of TLS 1.3
        // the client learns only when it reads that its own certificate was refused.
        Some(Code::SSL | Code::BrokerTransportFailure) => {
            if is_about_trust(text) {
                Kind::External
            } else {
                Kind::Transient
            }
        }
        // Whether the endpoint refused or was not there is told by the log line that goes with it.
        Some(Code::Authentication) if text.contains(NO_TOKEN) => Kind::Transient,
        _ => kind_of(error),
    }
}

/// How librdkafka begins when a token could not be had.
const NO_TOKEN: &str = "Failed to acquire SASL OAUTHBEARER token";

/// Whether OpenSSL says that one side does not accept the other's certificate, or that they have no cipher in common.
fn is_about_trust(text: &str) -> bool {
    let words = ["certificate", "hostname mismatch", "unknown ca", "handshake failure"];
    text.contains("SSL") && words.iter().any(|word| text.contains(word))
}

/// Facility of librdkafka's log lines about tokens.
pub const TOKENS: &str = "OIDC";

/// Whether a log line of [`TOKENS`] says that the token endpoint refused: it ends with the code of an answer
/// in brackets, and one of 4xx other than "too late", "too early" and "too many" does not change by itself.
#[must_use]
pub fn token_is_refused(line: &str) -> bool {
    let code = line.trim_end().strip_suffix(')').and_then(|line| line.rsplit('(').next());
    let code = code.and_then(|code| code.parse::<u16>().ok());
    code.is_some_and(|code| (400..500).contains(&code) && ![408, 425, 429].contains(&code))
}

/// What to do about a refusal; empty when its text says it.
#[must_use]
pub fn advice(error: &KafkaError, text: &str) -> &'static str {
    use RDKafkaErrorCode as Code;
    match error.rdkafka_error_code() {
        Some(Code::Authentication | Code::SaslAuthenticationFailed) => {
            "; check user and password in properties.sasl.jaas.config, and what the broker allows them"
        }
        Some(Code::UnsupportedSASLMechanism) => "; check properties.sasl.mechanism",
        Some(Code::SSL | Code::BrokerTransportFailure) if text.contains("alert") => {
            "; check the certificate that the client shows: properties.ssl.keystore.location and its neighbours"
        }
        Some(Code::SSL | Code::BrokerTransportFailure) => {
            "; check whom the client trusts, properties.ssl.truststore.location, and the broker's name in its certificate"
        }
        _ => "",
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use RDKafkaErrorCode as Code;

    #[test]
    fn refusals_end_a_job_and_outages_do_not() {
        let cases = [
            (Code::Authentication, "SASL authentication error: Authentication failed", Kind::External),
            (
                Code::Authentication,
                "Failed to acquire SASL OAUTHBEARER token: Could not connect",
                Kind::Transient,
            ),
            (Code::SSL, "SSL handshake failed: error:0A000086:certificate verify failed", Kind::External),
            (Code::SSL, "SSL handshake failed: tlsv13 alert certificate required", Kind::External),
            (
                Code::BrokerTransportFailure,
                "Receive failed: SSL routines::alert bad certificate",
                Kind::External,
            ),
            (Code::SSL, "SSL handshake failed: unexpected eof while reading", Kind::Transient),
            (Code::UnknownTopicOrPartition, "no such topic", Kind::Transient),
            (Code::TopicAuthorizationFailed, "not allowed", Kind::External),
            (Code::BrokerTransportFailure, "Disconnected", Kind::Transient),
        ];
        for (code, text, kind) in cases {
            assert_eq!(kind_of_event(&KafkaError::Global(code), text), kind, "{code:?} {text}");
        }
    }

    #[test]
    fn a_token_endpoint_refuses_with_a_code() {
        let line = |end: &str| format!("Failed to retrieve OIDC token from \"https://id\": {end}");
        for refused in ["{\"error\":\"invalid_client\"} (401)", "no (400)", "not (here) (404)"] {
            assert!(token_is_refused(&line(refused)), "{refused}");
        }
        for passing in
            ["Could not connect to server (-1)", "busy (503)", "slow down (429)", "(401) then nothing", ""]
        {
            assert!(!token_is_refused(&line(passing)), "{passing}");
        }
    }
}
