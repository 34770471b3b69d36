//! Logins and TLS on the real broker, written as a Flink definition has them: what works, and what
//! the operator reads when it does not.

use std::path::PathBuf;
use std::time::Duration;

use crate::proxy::Proxy;
use crate::replica::Replica;
use crate::security::{PASSWORD, TokenEndpoint, USER, file, listener, text};
use crate::topic::{self, Writer};

/// Stands where a password does and is to be seen nowhere.
const CANARY: &str = "canary-5up3r";

const KAFKA: &str = "org.apache.kafka.common.security";

/// A job from a topic to a topic, both through the same listener with the same properties.
struct Job {
    folder: tempfile::TempDir,
    source: String,
    sink: String,
    definition: PathBuf,
}

impl Job {
    fn new(name: &str, servers: &str, properties: &[(&str, &str)]) -> Self {
        let (source, sink) = (topic::unique(name), topic::unique(&format!("{name}-sink")));
        topic::create(&source, 1);
        topic::create(&sink, 1);
        let properties: String = properties
            .iter()
            .map(|(name, value)| format!("    properties.{name}: {}\n", serde_json::Value::from(*value)))
            .collect();
        let definition = format!(
            "name: {source}
tables:
  src:
    connector: upsert-kafka
    topic: {source}
    properties.bootstrap.servers: {servers}
{properties}    key.format: json
    value.format: json
    scan.bounded.mode: latest-offset
    columns: [id INT NOT NULL, v INT, PRIMARY KEY (id) NOT ENFORCED]
  out:
    connector: upsert-kafka
    topic: {sink}
    properties.bootstrap.servers: {servers}
{properties}    key.format: json
    value.format: json
    columns: [id INT NOT NULL, v INT, PRIMARY KEY (id) NOT ENFORCED]
pipeline: {{from: src, into: out}}
"
        );
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("definition.yaml");
        std::fs::write(&path, definition).expect("definition");
        let writer = Writer::new(&source);
        writer.send(r#"{"id":1}"#, Some(r#"{"id":1,"v":10}"#));
        writer.flush();
        Self { folder, source, sink, definition: path }
    }

    fn start(&self) -> Replica {
        Replica::start(self.folder.path(), &self.source, &self.definition)
    }

    fn ends_well(&self, replica: &mut Replica) {
        let status = replica.wait_exit(Duration::from_secs(60));
        assert_eq!(status.code(), Some(0), "{}: {}", self.source, replica.log_text());
        let found = topic::read_all(&self.sink);
        let values: Vec<_> = found.iter().filter_map(|entry| entry.value.as_deref()).collect();
        assert_eq!(values, [r#"{"id":1,"v":10}"#], "{}", self.source);
    }
}

/// A job that runs to its end with these properties.
fn works(name: &str, servers: &str, properties: &[(&str, &str)]) {
    let job = Job::new(name, servers, properties);
    job.ends_well(&mut job.start());
}

/// A job that ends with code 4, one line of error that has `words`, and no password anywhere.
fn is_refused(name: &str, servers: &str, properties: &[(&str, &str)], words: &[&str]) {
    let job = Job::new(name, servers, properties);
    let mut replica = job.start();
    let status = replica.wait_exit(Duration::from_secs(60));
    let log = replica.log_text();
    assert_eq!(status.code(), Some(4), "{name}: {log}");
    let errors: Vec<_> = log.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{name}: {log}");
    println!("{name}: {}", errors[0]);
    for word in words {
        assert!(errors[0].contains(word), "{name}: '{word}' is not in: {}", errors[0]);
    }
    assert!(!log.contains(CANARY) && !log.contains(PASSWORD), "{name}: {log}");
}

fn login(module: &str, password: &str) -> String {
    format!(r#"{KAFKA}.{module} required username="{USER}" password="{password}";"#)
}

fn token(secret: &str) -> String {
    let module = "oauthbearer.OAuthBearerLoginModule";
    format!(r#"{KAFKA}.{module} required clientId="{USER}" clientSecret="{secret}" scope="kafka";"#)
}

#[test]
fn each_mechanism_with_a_password_logs_in_with_and_without_tls() {
    let ca = file("ca.pem");
    for (mechanism, module) in [
        ("PLAIN", "plain.PlainLoginModule"),
        ("SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule"),
    ] {
        let config = login(module, PASSWORD);
        let name = mechanism.to_lowercase();
        works(
            &format!("{name}-tls"),
            &listener("SASL_SSL"),
            &[
                ("security.protocol", "SASL_SSL"),
                ("sasl.mechanism", mechanism),
                ("sasl.jaas.config", &config),
                ("ssl.truststore.type", "PEM"),
                ("ssl.truststore.location", &ca),
            ],
        );
        if mechanism != "SCRAM-SHA-256" {
            works(
                &name,
                &listener("SASL_PLAINTEXT"),
                &[
                    ("security.protocol", "SASL_PLAINTEXT"),
                    ("sasl.mechanism", mechanism),
                    ("sasl.jaas.config", &config),
                ],
            );
        }
    }
}

#[test]
fn a_token_of_an_endpoint_logs_in() {
    let handler = format!("{KAFKA}.oauthbearer.secured.OAuthBearerLoginCallbackHandler");
    let (ca, config) = (file("ca.pem"), token(PASSWORD));
    for scheme in ["http", "https"] {
        let endpoint = TokenEndpoint::start(scheme);
        works(
            &format!("token-{scheme}"),
            &listener("SASL_SSL"),
            &[
                ("security.protocol", "SASL_SSL"),
                ("sasl.mechanism", "OAUTHBEARER"),
                ("sasl.oauthbearer.token.endpoint.url", &endpoint.url),
                ("sasl.login.callback.handler.class", &handler),
                ("sasl.jaas.config", &config),
                ("https.ca.location", &ca),
                ("ssl.truststore.type", "PEM"),
                ("ssl.truststore.location", &ca),
            ],
        );
    }
}

#[test]
fn a_certificate_of_the_client_in_each_form_is_accepted() {
    let (ca, pem, p12) = (file("ca.pem"), file("client.pem"), file("client.p12"));
    let (ca_text, chain, key) = (text("ca.pem"), text("client.crt"), text("client-encrypted.key"));
    let folded = ca_text.replace('\n', " ");
    let stores: [&[(&str, &str)]; 3] = [
        &[
            ("ssl.truststore.type", "PEM"),
            ("ssl.truststore.location", &ca),
            ("ssl.keystore.type", "PEM"),
            ("ssl.keystore.location", &pem),
        ],
        &[
            ("ssl.truststore.type", "PEM"),
            ("ssl.truststore.certificates", &folded),
            ("ssl.keystore.type", "PEM"),
            ("ssl.keystore.certificate.chain", &chain),
            ("ssl.keystore.key", &key),
            ("ssl.key.password", "key-secret"),
        ],
        &[
            ("ssl.ca.location", &ca),
            ("ssl.keystore.type", "PKCS12"),
            ("ssl.keystore.location", &p12),
            ("ssl.keystore.password", "store-secret"),
        ],
    ];
    for (number, store) in stores.into_iter().enumerate() {
        let properties = [&[("security.protocol", "SSL")], store].concat();
        works(&format!("client-certificate-{number}"), &listener("SSL"), &properties);
    }
}

#[test]
fn a_wrong_password_ends_the_job_and_is_not_printed() {
    for (mechanism, module) in
        [("PLAIN", "plain.PlainLoginModule"), ("SCRAM-SHA-256", "scram.ScramLoginModule")]
    {
        let config = login(module, CANARY);
        let properties = [
            ("security.protocol", "SASL_PLAINTEXT"),
            ("sasl.mechanism", mechanism),
            ("sasl.jaas.config", config.as_str()),
        ];
        let words = ["uthentication", "check user and password in properties.sasl.jaas.config"];
        is_refused("wrong-password", &listener("SASL_PLAINTEXT"), &properties, &words);
    }
}

#[test]
fn a_wrong_client_secret_ends_the_job_and_is_not_printed() {
    let (endpoint, config) = (TokenEndpoint::start("http"), token(CANARY));
    let properties = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "OAUTHBEARER"),
        ("sasl.oauthbearer.token.endpoint.url", &endpoint.url),
        ("sasl.jaas.config", &config),
    ];
    let words = ["no token to log in with", "invalid_client", "(401)", "check client id and secret"];
    is_refused("wrong-secret", &listener("SASL_PLAINTEXT"), &properties, &words);
}

#[test]
fn a_broker_that_cannot_be_trusted_ends_the_job() {
    let (ca, config) = (file("ca.pem"), login("plain.PlainLoginModule", PASSWORD));
    let login: &[(&str, &str)] =
        &[("security.protocol", "SASL_SSL"), ("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", &config)];
    let words = ["certificate", "properties.ssl.truststore.location"];
    is_refused("unknown-authority", &listener("SASL_SSL"), login, &words);

    // The certificate is for 127.0.0.1 alone.
    let named = listener("SASL_SSL").replace("127.0.0.1", "localhost");
    let trusted = [login, &[("ssl.truststore.type", "PEM"), ("ssl.truststore.location", &ca)]].concat();
    is_refused("other-name", &named, &trusted, &["certificate"]);
    let any_name = [trusted.as_slice(), &[("ssl.endpoint.identification.algorithm", "")]].concat();
    works("any-name", &named, &any_name);
}

#[test]
fn a_client_without_a_certificate_is_told_so() {
    let ca = file("ca.pem");
    let properties = [
        ("security.protocol", "SSL"),
        ("ssl.truststore.type", "PEM"),
        ("ssl.truststore.location", ca.as_str()),
    ];
    is_refused("no-certificate", &listener("SSL"), &properties, &["certificate", "ssl.keystore"]);
}

#[test]
fn files_that_cannot_be_read_are_faults_of_the_definition() {
    let properties = [
        ("security.protocol", "SSL"),
        ("ssl.truststore.type", "PEM"),
        ("ssl.truststore.location", "/no/such/ca.pem"),
    ];
    let job = Job::new("no-file", &listener("SSL"), &properties);
    let mut replica = job.start();
    assert_eq!(replica.wait_exit(Duration::from_secs(20)).code(), Some(3), "{}", replica.log_text());
    assert!(replica.log_text().contains("/no/such/ca.pem"), "{}", replica.log_text());
}

/// An outage in the middle of a handshake is an outage.
#[test]
fn a_broker_that_hangs_up_is_waited_for() {
    let (ca, config) = (file("ca.pem"), login("scram.ScramLoginModule", PASSWORD));
    let proxy = Proxy::new(&listener("SASL_SSL"));
    proxy.refuse();
    let servers = format!("127.0.0.1:{}", proxy.port());
    let job = Job::new(
        "hangs-up",
        &servers,
        &[
            ("security.protocol", "SASL_SSL"),
            ("sasl.mechanism", "SCRAM-SHA-512"),
            ("sasl.jaas.config", &config),
            ("ssl.truststore.type", "PEM"),
            ("ssl.truststore.location", &ca),
        ],
    );
    let mut replica = job.start();
    while proxy.accepted() < 3 {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(replica.get("/livez").map(|(code, _)| code), Some(200), "{}", replica.log_text());
    proxy.forward();
    job.ends_well(&mut replica);
}
