//! TLS: whom the client trusts, and the certificate that it shows.
//!
//! Java keeps both in stores; librdkafka reads PEM, and PKCS12 for the own
//! certificate. A PEM store of Java is one file with everything in it, which
//! librdkafka takes as it is.

use crate::config::{Fault, Text};

use super::{Given, pem};
use crate::plan::compile::client::Client;
use crate::plan::compile::context::Context;

/// What a client without a choice offers: OpenSSL 3 speaks nothing older unless its policy is lowered.
const VERSIONS: &[&str] = &["TLSv1.2", "TLSv1.3"];

/// Translates TLS.
pub(super) fn compile(context: &mut Context, table: &str, client: &mut Client, given: &Given) {
    trust(context, table, client, given);
    own_certificate(context, table, client, given);
    host_names(context, client, given);
    versions(context, table, given);
    ciphers(context, client, given);
}

/// Form of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Store {
    Pem,
    Pkcs12,
    Jks,
}

/// The type of a store; `None` when it is not said, or is no type (with a fault).
fn store(context: &mut Context, given: &Given, name: &str) -> Option<Store> {
    let value = given.get(name)?;
    let known = [("PEM", Store::Pem), ("PKCS12", Store::Pkcs12), ("JKS", Store::Jks)];
    let found = known.iter().find(|(word, _)| word.eq_ignore_ascii_case(value.value().trim()));
    if found.is_none() {
        let fault = Fault::new(&value.span, format!("'properties.{name}' is not one of the words allowed"));
        context.faults.add(fault.allowed(&value.written, known.iter().map(|(word, _)| *word)));
    }
    found.map(|(_, store)| *store)
}

fn trust(context: &mut Context, table: &str, client: &mut Client, given: &Given) {
    let faults = context.faults.len();
    let kind = store(context, given, "ssl.truststore.type");
    let location = given.get("ssl.truststore.location");
    if context.faults.len() == faults
        && kind != Some(Store::Pem)
        && let Some(value) = location
    {
        let form = if kind == Some(Store::Pkcs12) {
            "a PKCS12 store"
        } else {
            "a store of Java (JKS, Kafka's default)"
        };
        let what = format!("'properties.ssl.truststore.location' names {form}; only PEM files can be read");
        let help = "write its certificates into one (keytool -list -rfc -keystore STORE > ca.pem) and properties.ssl.truststore.type: PEM";
        context.fault(&value.span, what, help);
    }
    let sources = [
        ("ssl.truststore.location", "ssl.ca.location"),
        ("ssl.truststore.certificates", "ssl.ca.pem"),
        ("ssl.ca.location", "ssl.ca.location"),
        ("ssl.ca.pem", "ssl.ca.pem"),
    ];
    one_of(context, client, given, &sources);
    if given.has("ssl.truststore.password") {
        context.note(table, "properties.ssl.truststore.password", "a PEM file has none");
    }
}

/// Sets the one source that is given; a second one is a fault.
fn one_of(context: &mut Context, client: &mut Client, given: &Given, sources: &[(&str, &str)]) {
    let mut first: Option<&str> = None;
    for (name, own) in sources {
        let (Some(value), Some(text)) = (given.get(name), given.text(name)) else { continue };
        match first {
            Some(first) => {
                let what = format!("'properties.{name}' is given, and properties.{first} too");
                context.fault(&value.span, what, "leave one of them out");
            }
            None => set(client, own, text),
        }
        first = first.or(Some(name));
    }
}

fn set(client: &mut Client, own: &str, text: &str) {
    if own.ends_with(".pem") { client.set(own, pem::unfolded(text)) } else { client.set(own, text) }
}

/// Where the own certificate and its key come from when they are in no store.
const CERTIFICATES: &[(&str, &str)] = &[
    ("ssl.keystore.certificate.chain", "ssl.certificate.pem"),
    ("ssl.certificate.location", "ssl.certificate.location"),
    ("ssl.certificate.pem", "ssl.certificate.pem"),
];
const KEYS: &[(&str, &str)] = &[
    ("ssl.keystore.key", "ssl.key.pem"),
    ("ssl.key.location", "ssl.key.location"),
    ("ssl.key.pem", "ssl.key.pem"),
];

fn own_certificate(context: &mut Context, table: &str, client: &mut Client, given: &Given) {
    let faults = context.faults.len();
    let kind = store(context, given, "ssl.keystore.type");
    if faults != context.faults.len() {
        return;
    }
    if let Some(location) = given.get("ssl.keystore.location") {
        keystore(context, table, client, given, (kind, location));
        refuse_beside_store(context, given);
        return;
    }
    one_of(context, client, given, CERTIFICATES);
    one_of(context, client, given, KEYS);
    pair(context, given);
    key_password(client, given);
}

fn keystore(
    context: &mut Context,
    table: &str,
    client: &mut Client,
    given: &Given,
    (kind, location): (Option<Store>, &Text),
) {
    let path = location.value().trim();
    match kind {
        Some(Store::Jks) => {
            let what = "'properties.ssl.keystore.location' names a store of Java (JKS)";
            let help = "make a PKCS12 store of it (keytool -importkeystore -srckeystore STORE -destkeystore STORE.p12 -deststoretype PKCS12) and write properties.ssl.keystore.type: PKCS12";
            context.fault(&location.span, what, help);
        }
        Some(Store::Pem) => {
            client.set("ssl.certificate.location", path);
            client.set("ssl.key.location", path);
            key_password(client, given);
        }
        // librdkafka's setting of the same name, and what keytool has written since Java 9.
        None | Some(Store::Pkcs12) => {
            client.set("ssl.keystore.location", path);
            pkcs12_passwords(context, table, client, given);
        }
    }
}

fn key_password(client: &mut Client, given: &Given) {
    if let Some(password) = given.get("ssl.key.password") {
        client.set("ssl.key.password", password.value());
    }
}

fn pkcs12_passwords(context: &mut Context, table: &str, client: &mut Client, given: &Given) {
    if let Some(password) = given.get("ssl.keystore.password") {
        client.set("ssl.keystore.password", password.value());
    }
    if given.has("ssl.key.password") {
        let reason = "a PKCS12 store has one password, ssl.keystore.password";
        context.note(table, "properties.ssl.key.password", reason);
    }
}

fn refuse_beside_store(context: &mut Context, given: &Given) {
    for (name, _) in CERTIFICATES.iter().chain(KEYS) {
        if let Some(value) = given.get(name) {
            let what = format!("'properties.{name}' is given, and properties.ssl.keystore.location too");
            context.fault(&value.span, what, "leave one of them out");
        }
    }
}

/// A certificate needs its key, and the other way round.
fn pair(context: &mut Context, given: &Given) {
    let first = |sources: &[(&str, &str)]| sources.iter().find_map(|(name, _)| given.get(name));
    let any = |sources: &[(&str, &str)]| sources.iter().any(|(name, _)| given.has(name));
    if let Some(certificate) = first(CERTIFICATES)
        && !any(KEYS)
    {
        let help = "write properties.ssl.keystore.key, or properties.ssl.key.location";
        context.fault(&certificate.span, "a certificate without its key", help);
    }
    if let Some(key) = first(KEYS)
        && !any(CERTIFICATES)
    {
        let help = "write properties.ssl.keystore.certificate.chain, or properties.ssl.certificate.location";
        context.fault(&key.span, "a key without its certificate", help);
    }
}

/// Whether the broker's certificate must bear the name that was connected to.
fn host_names(context: &mut Context, client: &mut Client, given: &Given) {
    let name = "ssl.endpoint.identification.algorithm";
    let Some(value) = given.get(name) else { return };
    match value.value().trim().to_ascii_lowercase().as_str() {
        "" | "none" => client.set(name, "none"),
        "https" => client.set(name, "https"),
        _ => {
            let what = format!("'properties.{name}' is not one of the words allowed");
            let fault = Fault::new(&value.span, what).allowed(&value.written, ["https", "none"]);
            context.faults.add(
                fault.help("https: the certificate must bear the broker's name; none or '': it need not"),
            );
        }
    }
}

fn versions(context: &mut Context, table: &str, given: &Given) {
    for name in ["ssl.enabled.protocols", "ssl.protocol"] {
        let Some(value) = given.get(name) else { continue };
        let offered = |word: &str| VERSIONS.contains(&word) || (name == "ssl.protocol" && word == "TLS");
        if value.value().split(',').any(|word| offered(word.trim())) {
            let reason = "TLS 1.2 and 1.3 are offered; the broker chooses";
            context.note(table, &format!("properties.{name}"), reason);
        } else {
            let fault = Fault::new(
                &value.span,
                format!("'properties.{name}' asks for versions that are not offered"),
            );
            context.faults.add(fault.allowed(&value.written, VERSIONS));
        }
    }
}

/// Java's names of ciphers are not OpenSSL's.
fn ciphers(context: &mut Context, client: &mut Client, given: &Given) {
    let name = "ssl.cipher.suites";
    let (Some(value), Some(text)) = (given.get(name), given.text(name)) else { return };
    if is_java(value) {
        let help = "write OpenSSL's names, separated by ':', such as ECDHE-RSA-AES256-GCM-SHA384; they choose among the ciphers of TLS 1.2";
        context.fault(&value.span, "'properties.ssl.cipher.suites' has Java's names", help);
    } else {
        client.set(name, text);
    }
}

fn is_java(value: &Text) -> bool {
    value.value().split([',', ':']).any(|name| name.contains("_WITH_") || name.trim().starts_with("TLS_"))
}
