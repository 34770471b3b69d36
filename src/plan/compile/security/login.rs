//! SASL: the mechanism, and what proves who the client is.

use crate::config::options::security::UNSIGNED;
use crate::config::{Fault, Text};

use super::Given;
use super::jaas::Jaas;
use crate::plan::compile::client::Client;
use crate::plan::compile::context::Context;

/// How a client logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mechanism {
    /// A user and a password, with the mechanism's name.
    Password(&'static str),
    /// A token of an identity provider.
    Token,
}

const TOKEN: &str = "OAUTHBEARER";
const MECHANISMS: &[&str] = &["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", TOKEN];

/// Login modules that carry a user and a password, and what they may say.
const PASSWORD_MODULES: &[&str] = &["PlainLoginModule", "ScramLoginModule"];
const PASSWORD_OPTIONS: &[&str] = &["username", "password"];

/// The module of tokens, what it may say, and the settings that say the same.
const TOKEN_MODULE: &str = "OAuthBearerLoginModule";
const TOKEN_OPTIONS: &[(&str, &str)] = &[
    ("clientId", "sasl.oauthbearer.client.id"),
    ("clientSecret", "sasl.oauthbearer.client.secret"),
    ("scope", "sasl.oauthbearer.scope"),
];

/// Options of the token module that become `sasl.oauthbearer.extensions`.
const EXTENSION: &str = "extension_";

/// Options of the token module that make tokens without a signature.
const UNSIGNED_OPTIONS: &str = "unsecuredLogin";

/// The Java classes that ask a token endpoint, as librdkafka's method `oidc` does.
const TOKEN_HANDLERS: &[&str] = &["OAuthBearerLoginCallbackHandler"];

/// Translates the login. `protocol` is the value of `security.protocol`.
pub(super) fn compile(
    context: &mut Context,
    table: &str,
    client: &mut Client,
    (given, protocol): (&Given, &Text),
) {
    let Some(mechanism) = mechanism(context, given, protocol) else { return };
    let config = given.get("sasl.jaas.config");
    let jaas = config.map(|config| (config, Jaas::parse(config.value())));
    let jaas = match jaas {
        Some((config, None)) => {
            let help = "write `…PlainLoginModule required username=\"…\" password=\"…\";` (ScramLoginModule, OAuthBearerLoginModule), or give properties.sasl.username and properties.sasl.password";
            context.fault(&config.span, "'properties.sasl.jaas.config' is not one login module", help);
            return;
        }
        Some((config, Some(jaas))) => Some((config, jaas)),
        None => None,
    };
    match mechanism {
        Mechanism::Password(name) => {
            client.set("sasl.mechanism", name);
            password(context, client, (given, protocol), jaas.as_ref());
            if let Some(value) = given.get("sasl.login.callback.handler.class") {
                handler(context, value, &[]);
            }
        }
        Mechanism::Token => {
            client.set("sasl.mechanism", TOKEN);
            token(context, table, client, (given, protocol), jaas.as_ref());
        }
    }
}

fn mechanism(context: &mut Context, given: &Given, protocol: &Text) -> Option<Mechanism> {
    let named = ["sasl.mechanism", "sasl.mechanisms"];
    let Some(value) = named.into_iter().find_map(|name| given.get(name)) else {
        if !named.into_iter().any(|name| given.has(name)) {
            let what = format!(
                "'properties.sasl.mechanism' is missing, and security.protocol is {}",
                protocol.written
            );
            let help = format!(
                "Kafka's default, Kerberos (GSSAPI), is not supported; write one of {}",
                MECHANISMS.join(", ")
            );
            context.fault(&protocol.span, what, help);
        }
        return None;
    };
    let name = value.value().trim();
    match MECHANISMS.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        Some(&TOKEN) => Some(Mechanism::Token),
        Some(name) => Some(Mechanism::Password(name)),
        None => {
            let what = format!("'properties.sasl.mechanism' is '{}'", value.written);
            let fault = Fault::new(&value.span, what).allowed(&value.written, MECHANISMS);
            let kerberos = "Kerberos (GSSAPI) is not supported";
            context.faults.add(if name.eq_ignore_ascii_case("GSSAPI") {
                fault.help(kerberos)
            } else {
                fault
            });
            None
        }
    }
}

fn password(
    context: &mut Context,
    client: &mut Client,
    (given, protocol): (&Given, &Text),
    jaas: Option<&(&Text, Jaas)>,
) {
    if let Some((config, jaas)) = jaas {
        if !PASSWORD_MODULES.contains(&jaas.module.as_str()) {
            wrong_module(context, config, jaas, PASSWORD_MODULES);
            return;
        }
        let unknown = jaas.options().map(|(name, _)| name).filter(|name| !PASSWORD_OPTIONS.contains(name));
        for name in unknown.filter(|name| *name != "serviceName") {
            unknown_option(context, config, jaas, name);
        }
    }
    for (name, option) in [("sasl.username", "username"), ("sasl.password", "password")] {
        let in_jaas = jaas.and_then(|(_, jaas)| jaas.get(option));
        match (in_jaas, given.get(name)) {
            (Some(_), Some(value)) => {
                let what =
                    format!("'properties.{name}' is given, and properties.sasl.jaas.config has one too");
                context.fault(&value.span, what, "leave one of them out");
            }
            (Some(value), None) => client.set(name, value),
            (None, Some(value)) => client.set(name, value.value()),
            (None, None) if given.has(name) => {}
            (None, None) => {
                let span = jaas.map_or(&protocol.span, |(config, _)| &config.span);
                let what = format!("a login needs a {option}");
                let help = "write properties.sasl.jaas.config: …LoginModule required username=\"…\" password=\"…\";, or properties.sasl.username and properties.sasl.password";
                context.fault(span, what, help);
            }
        }
    }
}

fn token(
    context: &mut Context,
    table: &str,
    client: &mut Client,
    (given, protocol): (&Given, &Text),
    jaas: Option<&(&Text, Jaas)>,
) {
    for name in ["sasl.username", "sasl.password"] {
        if given.has(name) {
            context.note(table, &format!("properties.{name}"), "a token says who logs in");
        }
    }
    if let Some((config, jaas)) = jaas {
        token_module(context, client, config, jaas);
    }
    if let Some(value) = given.get("sasl.login.callback.handler.class") {
        handler(context, value, TOKEN_HANDLERS);
    }
    if let Some(value) = given.get("sasl.oauthbearer.method")
        && !value.value().trim().eq_ignore_ascii_case("oidc")
    {
        context.fault(&value.span, "'properties.sasl.oauthbearer.method' is not 'oidc'", UNSIGNED);
        return;
    }
    client.set("sasl.oauthbearer.method", "oidc");
    let asks_metadata =
        given.text("sasl.oauthbearer.metadata.authentication.type").is_some_and(|kind| kind != "none");
    match given.get("sasl.oauthbearer.token.endpoint.url") {
        Some(value) => endpoint(context, client, value),
        None if asks_metadata || given.has("sasl.oauthbearer.token.endpoint.url") => {}
        None => {
            let help = "write properties.sasl.oauthbearer.token.endpoint.url, and client id and secret in properties.sasl.jaas.config";
            context.fault(&protocol.span, "OAUTHBEARER needs the address that gives tokens", help);
        }
    }
}

fn endpoint(context: &mut Context, client: &mut Client, value: &Text) {
    let url = value.value().trim();
    if url.starts_with("https://") || url.starts_with("http://") {
        client.set("sasl.oauthbearer.token.endpoint.url", url);
        return;
    }
    let what = "'properties.sasl.oauthbearer.token.endpoint.url' is not an http: or https: address";
    context.fault(&value.span, what, "tokens from files are not supported");
}

fn token_module(context: &mut Context, client: &mut Client, config: &Text, jaas: &Jaas) {
    if jaas.module != TOKEN_MODULE {
        wrong_module(context, config, jaas, &[TOKEN_MODULE]);
        return;
    }
    let mut extensions = Vec::new();
    for (name, value) in jaas.options() {
        let own = TOKEN_OPTIONS.iter().find(|(option, _)| *option == name);
        match (own, name.strip_prefix(EXTENSION)) {
            (Some((_, own)), _) => client.set(own, value),
            (None, Some(extension)) => extensions.push(format!("{extension}={value}")),
            (None, None) if name.starts_with(UNSIGNED_OPTIONS) => {
                let what =
                    format!("'properties.sasl.jaas.config' has {name}: it makes tokens without a signature");
                context.fault(&config.span, what, UNSIGNED);
            }
            (None, None) => unknown_option(context, config, jaas, name),
        }
    }
    if !extensions.is_empty() {
        client.set("sasl.oauthbearer.extensions", extensions.join(","));
    }
}

fn wrong_module(context: &mut Context, config: &Text, jaas: &Jaas, allowed: &[&str]) {
    let what = format!("'properties.sasl.jaas.config' names the login module {}", jaas.module);
    context.faults.add(Fault::new(&config.span, what).allowed(&jaas.module, allowed));
}

fn unknown_option(context: &mut Context, config: &Text, jaas: &Jaas, name: &str) {
    let what = format!("'properties.sasl.jaas.config': {} has no option '{name}' here", jaas.module);
    context.fault(&config.span, what, "leave it out");
}

/// A class that the Java client would ask for the login: only what it does can be here, not the class.
fn handler(context: &mut Context, value: &Text, allowed: &[&str]) {
    let class = value.value().trim();
    let name = class.rsplit('.').next().unwrap_or(class);
    if !class.is_empty() && !allowed.contains(&name) {
        let what = "'properties.sasl.login.callback.handler.class' is refused";
        context
            .faults
            .add(Fault::new(&value.span, what).help("Java classes cannot be run here; leave it out"));
    }
}
