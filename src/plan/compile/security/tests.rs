//! What Kafka's Java client is told, and what librdkafka is told instead.

use crate::config::{Fault, References, load_texts};
use crate::plan::compile::compile;
use crate::plan::{Plan, Topics};

fn compiled(properties: &str) -> Result<Plan, Vec<Fault>> {
    let properties: String = properties.lines().map(|line| format!("    properties.{line}\n")).collect();
    let text = format!(
        "name: test
tables:
  o:
    connector: upsert-kafka
    topic: o
    properties.bootstrap.servers: localhost:9092
{properties}    key.format: json
    value.format: json
    columns: [id INT, PRIMARY KEY (id) NOT ENFORCED]
  out: {{connector: print}}
pipeline: {{from: o, into: out}}
"
    );
    let references = References::new(|_| None, |_| Err("no such file".to_owned()));
    load_texts(&[("test.yaml".to_owned(), text)], &references).and_then(|definition| compile(&definition))
}

/// librdkafka's settings that the properties come to, sorted.
fn settings(properties: &str) -> Vec<(String, String)> {
    let plan = compiled(properties).unwrap_or_else(|faults| panic!("{faults:?}"));
    assert!(matches!(plan.source.topics, Topics::List(_)));
    let settings = plan.source.client.settings.iter().filter(|(name, _)| is_security(name));
    let mut settings: Vec<_> =
        settings.map(|(name, value)| (name.clone(), value.expose().to_owned())).collect();
    settings.sort();
    settings
}

/// What the plan sets for other reasons is left out.
fn is_security(name: &str) -> bool {
    name == "security.protocol" || name.starts_with("sasl.") || name.starts_with("ssl.")
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The faults, as one text.
fn faults(properties: &str) -> String {
    let faults = compiled(properties).err().unwrap_or_default();
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}

const SCRAM: &str = r#"security.protocol: SASL_SSL
sasl.mechanism: SCRAM-SHA-512
sasl.jaas.config: org.apache.flink.kafka.shaded.org.apache.kafka.common.security.scram.ScramLoginModule required username="app" password="p\"w";
ssl.truststore.type: PEM
ssl.truststore.location: /etc/ca.pem
ssl.endpoint.identification.algorithm: ''"#;

#[test]
fn a_login_with_a_password_over_tls() {
    let expected = [
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("sasl.password", "p\"w"),
        ("sasl.username", "app"),
        ("security.protocol", "sasl_ssl"),
        ("ssl.ca.location", "/etc/ca.pem"),
        ("ssl.endpoint.identification.algorithm", "none"),
    ];
    assert_eq!(settings(SCRAM), pairs(&expected));
    let plain =
        "security.protocol: sasl_plaintext\nsasl.mechanisms: plain\nsasl.username: u\nsasl.password: ' p '";
    let expected = [
        ("sasl.mechanism", "PLAIN"),
        ("sasl.password", " p "),
        ("sasl.username", "u"),
        ("security.protocol", "sasl_plaintext"),
    ];
    assert_eq!(settings(plain), pairs(&expected));
}

#[test]
fn a_token_of_an_endpoint() {
    let text = r#"security.protocol: SASL_PLAINTEXT
sasl.mechanism: OAUTHBEARER
sasl.oauthbearer.token.endpoint.url: https://id.example/token
sasl.login.callback.handler.class: org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler
sasl.jaas.config: org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId="app" clientSecret="s" scope="kafka" extension_cluster="c" extension_pool="p";"#;
    let expected = [
        ("sasl.mechanism", "OAUTHBEARER"),
        ("sasl.oauthbearer.client.id", "app"),
        ("sasl.oauthbearer.client.secret", "s"),
        ("sasl.oauthbearer.extensions", "cluster=c,pool=p"),
        ("sasl.oauthbearer.method", "oidc"),
        ("sasl.oauthbearer.scope", "kafka"),
        ("sasl.oauthbearer.token.endpoint.url", "https://id.example/token"),
        ("security.protocol", "sasl_plaintext"),
    ];
    assert_eq!(settings(text), pairs(&expected));
}

#[test]
fn the_own_certificate_in_each_form() {
    let chain = "-----BEGIN CERTIFICATE----- AAAA -----END CERTIFICATE-----";
    let key = "-----BEGIN PRIVATE KEY----- BBBB -----END PRIVATE KEY-----";
    let text = format!(
        "security.protocol: SSL\nssl.keystore.type: PEM\nssl.keystore.certificate.chain: '{chain}'\nssl.keystore.key: '{key}'\nssl.key.password: kp\nssl.truststore.certificates: '{chain}'"
    );
    let chain = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let key = "-----BEGIN PRIVATE KEY-----\nBBBB\n-----END PRIVATE KEY-----\n";
    let expected = [
        ("security.protocol", "ssl"),
        ("ssl.ca.pem", chain),
        ("ssl.certificate.pem", chain),
        ("ssl.key.password", "kp"),
        ("ssl.key.pem", key),
    ];
    assert_eq!(settings(&text), pairs(&expected));
    let text = "security.protocol: SSL\nssl.keystore.type: PEM\nssl.keystore.location: /own.pem";
    let expected = [
        ("security.protocol", "ssl"),
        ("ssl.certificate.location", "/own.pem"),
        ("ssl.key.location", "/own.pem"),
    ];
    assert_eq!(settings(text), pairs(&expected));
    let text = "security.protocol: SSL\nssl.keystore.type: PKCS12\nssl.keystore.location: /own.p12\nssl.keystore.password: sp\nssl.key.password: sp";
    let expected = [
        ("security.protocol", "ssl"),
        ("ssl.keystore.location", "/own.p12"),
        ("ssl.keystore.password", "sp"),
    ];
    assert_eq!(settings(text), pairs(&expected));
}

#[test]
fn what_is_not_asked_for_is_noted_and_does_nothing() {
    let unused = SCRAM.replacen("SASL_SSL", "PLAINTEXT", 1);
    let plan = compiled(&unused).unwrap();
    assert_eq!(settings(&unused), pairs(&[("security.protocol", "plaintext")]));
    let notes = plan.notes.join("\n");
    assert!(
        notes.contains("properties.sasl.mechanism, properties.sasl.jaas.config accepted and unused"),
        "{notes}"
    );
    assert!(
        notes.contains("properties.ssl.truststore.location") && notes.contains("not encrypted"),
        "{notes}"
    );
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let login = |rest: &str| format!("security.protocol: SASL_PLAINTEXT\n{rest}");
    let tls = |rest: &str| format!("security.protocol: SSL\n{rest}");
    let module = |rest: &str| login(&format!("sasl.mechanism: PLAIN\nsasl.jaas.config: {rest}"));
    let token = |rest: &str| {
        login(&format!(
            "sasl.mechanism: OAUTHBEARER\nsasl.jaas.config: a.OAuthBearerLoginModule required {rest};"
        ))
    };
    let cases = [
        ("security.protocol: TLS".to_owned(), "allowed: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (login("sasl.username: u"), "'properties.sasl.mechanism' is missing"),
        (login("sasl.mechanism: GSSAPI"), "Kerberos (GSSAPI) is not supported"),
        (login("sasl.mechanism: AWS_MSK_IAM"), "allowed: PLAIN, SCRAM-SHA-256"),
        (login("sasl.mechanism: PLAIN\nsasl.username: u"), "a login needs a password"),
        (module("com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;"), "Krb5LoginModule"),
        (module("a.PlainLoginModule required username=\"u\" password=\"canary"), "is not one login module"),
        (
            module("a.ScramLoginModule required username=\"u\" password=\"p\" tokenauth=\"true\";"),
            "'tokenauth'",
        ),
        (token("clientId=\"c\" clientSecret=\"s\""), "needs the address that gives tokens"),
        (token("unsecuredLoginStringClaim_sub=\"u\""), "without a signature"),
        (tls("ssl.truststore.location: /trust.jks"), "keytool -list -rfc"),
        (tls("ssl.truststore.type: PKCS12\nssl.truststore.location: /trust.p12"), "a PKCS12 store"),
        (tls("ssl.truststore.type: BCFKS\nssl.truststore.location: /t"), "allowed: PEM, PKCS12, JKS"),
        (tls("ssl.keystore.type: JKS\nssl.keystore.location: /own.jks"), "-deststoretype PKCS12"),
        (tls("ssl.certificate.location: /own.pem"), "a certificate without its key"),
        (tls("ssl.ca.location: /a\nssl.ca.pem: b"), "properties.ssl.ca.location too"),
        (tls("ssl.endpoint.identification.algorithm: ldaps"), "allowed: https, none"),
        (tls("ssl.enabled.protocols: TLSv1.1"), "versions that are not offered"),
        (tls("ssl.cipher.suites: TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"), "Java's names"),
    ];
    for (properties, words) in cases {
        let faults = faults(&properties);
        assert!(faults.contains(words) && !faults.contains("canary"), "'{words}' is not in: {faults}");
    }
}
