//! Who a Kafka client says it is, and whom it trusts.
//!
//! `security.protocol` says which of the two is asked for at all: a login
//! (`SASL_…`), TLS (`…SSL`), both or neither. Settings of a half that is not
//! asked for are accepted and noted, as Kafka's Java client leaves them unused.

mod jaas;
mod login;
mod pem;
mod tls;

use crate::config::options::security::is_login;
use crate::config::{Fault, Text};

use super::client::Client;
use super::context::Context;

/// The properties of a table, by name.
pub(super) struct Given<'a>(pub &'a [(Text, Text)]);

impl<'a> Given<'a> {
    /// A property whose text is known.
    fn get(&self, name: &str) -> Option<&'a Text> {
        let found = self.0.iter().find(|(known, _)| known.written == name);
        found.map(|(_, value)| value).filter(|value| !value.is_broken())
    }

    /// Its text without blanks around it; `None` also for an empty one.
    fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name).map(|value| value.value().trim()).filter(|text| !text.is_empty())
    }

    /// Whether it is there, be its text known or not.
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known.written == name)
    }
}

/// What `security.protocol` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Protocol {
    name: &'static str,
    login: bool,
    tls: bool,
}

const PROTOCOLS: &[Protocol] = &[
    Protocol { name: "PLAINTEXT", login: false, tls: false },
    Protocol { name: "SSL", login: false, tls: true },
    Protocol { name: "SASL_PLAINTEXT", login: true, tls: false },
    Protocol { name: "SASL_SSL", login: true, tls: true },
];

/// Translates what `given` says of logins and TLS.
pub(super) fn compile(context: &mut Context, table: &str, client: &mut Client, given: &Given) {
    let plaintext = PROTOCOLS.first().copied();
    let written = given.get("security.protocol");
    let found = written.map_or(plaintext, |value| {
        PROTOCOLS.iter().find(|known| known.name.eq_ignore_ascii_case(value.value().trim())).copied()
    });
    let Some(protocol) = found else {
        if let Some(value) = written {
            let fault =
                Fault::new(&value.span, "'properties.security.protocol' is not one of the words allowed");
            context.faults.add(fault.allowed(&value.written, PROTOCOLS.iter().map(|known| known.name)));
        }
        return;
    };
    if let Some(value) = written {
        client.set("security.protocol", protocol.name.to_lowercase());
        if protocol.login {
            login::compile(context, table, client, (given, value));
        }
        if protocol.tls {
            tls::compile(context, table, client, given);
        }
    }
    // A reference that leads nowhere has its own fault; what it would have said is not known.
    if written.is_some() || !given.has("security.protocol") {
        note_unused(context, table, given, protocol);
    }
}

fn note_unused(context: &mut Context, table: &str, given: &Given, protocol: Protocol) {
    for (login, reason) in [
        (true, "nobody logs in; security.protocol SASL_SSL or SASL_PLAINTEXT does"),
        (false, "the connection is not encrypted; security.protocol SSL or SASL_SSL does that"),
    ] {
        if if login { protocol.login } else { protocol.tls } {
            continue;
        }
        let names = given.0.iter().map(|(name, _)| name.written.as_str());
        let unused: Vec<_> = names
            .filter(|name| is_login(name) == Some(login))
            .map(|name| format!("properties.{name}"))
            .collect();
        if !unused.is_empty() {
            context.note(table, &unused.join(", "), reason);
        }
    }
}

#[cfg(test)]
mod tests;
