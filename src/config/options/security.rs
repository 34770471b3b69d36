//! `properties.*` that say who a Kafka client is and whom it trusts.
//!
//! Kafka's Java client keeps logins in the syntax of a Java class and keys in
//! Java's stores; librdkafka has plain settings and PEM files. What has one
//! meaning by itself is listed here with its treatment; what means something
//! only together with its neighbours is left to `plan::compile::security`.

use super::client::Treatment::{self, As, Noted, Refused, Security};

const JAVA: &str = "only the Java client uses it";
const LOGIN: &str = "tokens are asked for and renewed by the client itself, in time";
const KERBEROS: &str = "Kerberos is not supported: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER are";
const BROKER: &str = "the broker checks tokens, not the client";

/// Translated together.
const TOGETHER: &[&str] = &[
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.oauthbearer.method",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
];

/// librdkafka has them under the same name.
const SAME: &[&str] = &[
    "enable.ssl.certificate.verification",
    "https.ca.location",
    "https.ca.pem",
    "sasl.oauthbearer.assertion.algorithm",
    "sasl.oauthbearer.assertion.claim.aud",
    "sasl.oauthbearer.assertion.claim.exp.seconds",
    "sasl.oauthbearer.assertion.claim.iss",
    "sasl.oauthbearer.assertion.claim.jti.include",
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    "sasl.oauthbearer.assertion.claim.sub",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.jwt.template.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.extensions",
    "sasl.oauthbearer.grant.type",
    "sasl.oauthbearer.metadata.authentication.type",
    "sasl.oauthbearer.scope",
    "ssl.crl.location",
    "ssl.curves.list",
    "ssl.providers",
    "ssl.sigalgs.list",
];

/// The others.
const OTHERS: &[(&str, Treatment)] = &[
    ("enable.sasl.oauthbearer.unsecure.jwt", Refused(UNSIGNED)),
    ("sasl.client.callback.handler.class", Refused(JAVA)),
    ("sasl.kerberos.keytab", Refused(KERBEROS)),
    ("sasl.kerberos.kinit.cmd", Refused(KERBEROS)),
    ("sasl.kerberos.min.time.before.relogin", Refused(KERBEROS)),
    ("sasl.kerberos.principal", Refused(KERBEROS)),
    ("sasl.kerberos.service.name", Refused(KERBEROS)),
    ("sasl.kerberos.ticket.renew.jitter", Refused(KERBEROS)),
    ("sasl.kerberos.ticket.renew.window.factor", Refused(KERBEROS)),
    ("sasl.login.class", Refused(JAVA)),
    ("sasl.login.connect.timeout.ms", Noted(LOGIN)),
    ("sasl.login.read.timeout.ms", Noted(LOGIN)),
    ("sasl.login.refresh.buffer.seconds", Noted(LOGIN)),
    ("sasl.login.refresh.min.period.seconds", Noted(LOGIN)),
    ("sasl.login.refresh.window.factor", Noted(LOGIN)),
    ("sasl.login.refresh.window.jitter", Noted(LOGIN)),
    ("sasl.login.retry.backoff.max.ms", Noted(LOGIN)),
    ("sasl.login.retry.backoff.ms", Noted(LOGIN)),
    ("sasl.oauthbearer.assertion.template.file", As("sasl.oauthbearer.assertion.jwt.template.file")),
    ("sasl.oauthbearer.clock.skew.seconds", Noted(BROKER)),
    ("sasl.oauthbearer.expected.audience", Noted(BROKER)),
    ("sasl.oauthbearer.expected.issuer", Noted(BROKER)),
    ("sasl.oauthbearer.header.urlencode", Refused("client id and secret are sent as they are")),
    ("sasl.oauthbearer.jwks.endpoint.url", Noted(BROKER)),
    (
        "sasl.oauthbearer.jwt.retriever.class",
        Refused("write sasl.oauthbearer.token.endpoint.url, or sasl.oauthbearer.grant.type and its settings"),
    ),
    ("sasl.oauthbearer.jwt.validator.class", Noted(BROKER)),
    ("sasl.oauthbearer.scope.claim.name", Refused("the scope of a token is not read")),
    ("sasl.oauthbearer.sub.claim.name", Refused("the name is read from the claim 'sub'")),
    ("security.providers", Noted(JAVA)),
    ("ssl.engine.factory.class", Refused(JAVA)),
    ("ssl.keymanager.algorithm", Noted(JAVA)),
    ("ssl.provider", Noted(JAVA)),
    ("ssl.secure.random.implementation", Noted(JAVA)),
    ("ssl.trustmanager.algorithm", Noted(JAVA)),
];

/// Why tokens without a signature are refused.
pub const UNSIGNED: &str = "tokens that nobody signed are accepted by test brokers alone; tokens come from sasl.oauthbearer.token.endpoint.url";

/// Name and treatment of a setting, if it is one of these.
pub(super) fn property(name: &str) -> Option<(&'static str, Treatment)> {
    let find = |names: &'static [&'static str]| names.iter().find(|known| **known == name).copied();
    let other = || OTHERS.iter().find(|(known, _)| *known == name).copied();
    find(TOGETHER)
        .map(|name| (name, Security))
        .or_else(|| find(SAME).map(|name| (name, As(name))))
        .or_else(other)
}

/// Every name.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let others = OTHERS.iter().map(|(name, _)| *name);
    TOGETHER.iter().chain(SAME).copied().chain(others)
}

/// Whether a setting serves logging in (true) or TLS (false); `None` for those that do nothing by themselves.
#[must_use]
pub fn is_login(name: &str) -> Option<bool> {
    let (name, treatment) = property(name)?;
    let serves = !matches!(treatment, Noted(_) | Refused(_)) && name != "security.protocol";
    serves.then(|| name.starts_with("sasl.") || name.starts_with("https."))
}
