//! `lookaside version`: what this build is, and what its Kafka client can do.

use serde_json::{Value as Json, json};

use super::output::{self, OutputFormat};
use super::{Exit, exit};
use crate::kafka::Library;

/// Show the version, the build, and the codecs and security that the Kafka client was built with.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::help(&[Exit::Ok, Exit::Usage]))]
pub(super) struct Args {}

pub(super) fn run(_: &Args, format: OutputFormat) -> Exit {
    let library = match Library::built_in() {
        Ok(library) => library,
        Err(error) => {
            output::say(&format!("error: {error}"));
            return error.kind().into();
        }
    };
    match format {
        OutputFormat::Human => output::data(&text(&library)),
        OutputFormat::Json => output::json(&document(&library)),
    }
    Exit::Ok
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
const COMPILER: &str = env!("LOOKASIDE_COMPILER");
const TARGET: &str = env!("LOOKASIDE_TARGET");
const PROFILE: &str = env!("LOOKASIDE_PROFILE");

/// The commit; development builds have none.
fn revision() -> Option<&'static str> {
    Some(env!("LOOKASIDE_REVISION")).filter(|revision| !revision.is_empty())
}

fn text(library: &Library) -> String {
    let mechanisms: Vec<_> = library.mechanisms.iter().map(|name| mechanism(name, library)).collect();
    let lines = [
        ("revision", revision().unwrap_or("not recorded").to_owned()),
        ("build", format!("{PROFILE}, {COMPILER}, {TARGET}")),
        ("librdkafka", library.version.clone()),
        ("codecs", library.codecs.join(", ")),
        ("TLS", if library.tls { "Kafka (OpenSSL), MySQL (rustls)" } else { "MySQL (rustls)" }.to_owned()),
        ("SASL", mechanisms.join(", ")),
    ];
    let lines = lines.into_iter().map(|(name, value)| format!("{name:<12}{value}\n"));
    format!("lookaside {VERSION}\n{}", lines.collect::<String>())
}

fn mechanism(name: &str, library: &Library) -> String {
    match name {
        "OAUTHBEARER" if library.token_endpoint => format!("{name} (tokens of an OIDC endpoint)"),
        _ => name.to_owned(),
    }
}

fn document(library: &Library) -> Json {
    json!({
        "version": VERSION,
        "revision": revision(),
        "build": {"profile": PROFILE, "compiler": COMPILER, "target": TARGET},
        "librdkafka": library.version,
        "codecs": library.codecs,
        "tls": {"kafka": library.tls, "mysql": true},
        "sasl_mechanisms": library.mechanisms,
        "sasl_oauthbearer_oidc": library.token_endpoint,
    })
}
