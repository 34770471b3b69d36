//! The arguments that settings of the process come from.

use std::path::PathBuf;

use crate::config::Fault;
use crate::config::settings::{EffectiveSetting, Settings, effective};

/// Settings of the process on the command line.
#[derive(Debug, clap::Args)]
pub(super) struct SettingsArgs {
    /// Settings of the process; without it config/settings.yaml, if it is there.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Address of the page, /metrics and the probes: numbers, such as 127.0.0.1:8080.
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<String>,
    /// Log filter: error, warn, info, debug or trace, also per module.
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
}

impl SettingsArgs {
    /// The settings, or what is wrong with them.
    pub fn load(&self) -> Result<Settings, Vec<Fault>> {
        Settings::load(self.settings.as_deref(), &self.flags())
    }

    /// Every setting with where it comes from.
    pub fn effective(&self) -> Result<Vec<EffectiveSetting>, Vec<Fault>> {
        effective(self.settings.as_deref(), &self.flags())
    }

    fn flags(&self) -> Vec<(&'static str, String)> {
        let flag = |name, value: &Option<String>| value.clone().map(|value| (name, value));
        let flags = [flag("http.address", &self.http), flag("log.level", &self.log_level)];
        flags.into_iter().flatten().collect()
    }
}

/// The flag that sets a setting.
pub(super) fn flag_of(name: &str) -> &'static str {
    match name {
        "http.address" => "--http",
        "log.level" => "--log-level",
        _ => "a flag",
    }
}
