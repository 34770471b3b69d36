//! The process log: to standard error, as text or as JSON lines.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::prelude::*;

use crate::error::{Error, Kind, Result};

use super::log_count::CountLines;

/// `log.format` of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Installs the log of the process. `level` is a `tracing` filter: `info`, `lookaside=debug`.
///
/// # Errors
/// [`Kind::Definition`] for a level that is not one, or a second call.
pub fn install_log(format: LogFormat, level: &str) -> Result<()> {
    let filter = EnvFilter::try_new(level)
        .map_err(|error| Error::new(Kind::Definition, format!("log.level `{level}`: {error}")))?;
    let registry = tracing_subscriber::registry().with(filter).with(CountLines);
    let installed = match format {
        LogFormat::Text => {
            let ansi = std::io::stderr().is_terminal();
            registry.with(layer().with_writer(std::io::stderr).with_target(false).with_ansi(ansi)).try_init()
        }
        LogFormat::Json => registry
            .with(layer().json().flatten_event(true).with_target(false).with_writer(std::io::stderr))
            .try_init(),
    };
    installed.map_err(|error| Error::new(Kind::Definition, format!("installing the log: {error}")))
}
