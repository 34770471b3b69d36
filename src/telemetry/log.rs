//! The process log: to standard error, as text or as JSON lines.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::prelude::*;

use crate::clock::Clock;
use crate::error::{Error, Kind, Result};

use super::Problems;
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

/// Installs the log of the process. `level` is a `tracing` filter: `info`, `lookaside=debug`. Warnings and errors are
/// also kept in what is returned, whatever the level.
///
/// # Errors
/// [`Kind::Definition`] for a level that is not one, or a second call.
pub fn install_log(format: LogFormat, level: &str) -> Result<Problems> {
    let filter = EnvFilter::try_new(level)
        .map_err(|error| Error::new(Kind::Definition, format!("log.level `{level}`: {error}")))?;
    let problems = Problems::new(Clock::system());
    let registry = tracing_subscriber::registry()
        .with(CountLines.with_filter(LevelFilter::WARN))
        .with(problems.clone().with_filter(LevelFilter::WARN));
    let installed = match format {
        LogFormat::Text => {
            let ansi = std::io::stderr().is_terminal();
            let lines = layer().with_writer(std::io::stderr).with_target(false).with_ansi(ansi);
            registry.with(lines.with_filter(filter)).try_init()
        }
        LogFormat::Json => {
            let lines = layer().json().flatten_event(true).with_target(false).with_writer(std::io::stderr);
            registry.with(lines.with_filter(filter)).try_init()
        }
    };
    installed.map_err(|error| Error::new(Kind::Definition, format!("installing the log: {error}")))?;
    Ok(problems)
}
