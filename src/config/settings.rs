//! Settings of the process: defaults ← a settings file ← `LOOKASIDE__…` ← flags.
//!
//! `config/settings.yaml` holds every setting with its default and is built
//! into the program. Unknown settings are refused, whoever sets them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use config::{Config, Environment, File, FileFormat};
use serde::Deserialize;
use serde::de::{self, Deserializer};
use tracing_subscriber::EnvFilter;

use crate::telemetry::LogFormat;

use super::sources::Sources;
use super::{Fault, parse_duration};

pub use super::sources::{EffectiveSetting, Origin};

pub(super) const DEFAULTS: &str = include_str!("../../config/settings.yaml");

/// The settings file that is read when none is named, if it is there.
pub const FILE: &str = "config/settings.yaml";

/// Prefix of environment variables; `__` stands between the parts of a name.
pub(super) const PREFIX: &str = "LOOKASIDE";
pub(super) const SEPARATOR: &str = "__";

/// Settings of the process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `http`.
    pub http: Http,
    /// `health`.
    pub health: Health,
    /// `log`.
    pub log: Log,
    /// `shutdown`.
    pub shutdown: Shutdown,
}

/// The HTTP face.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Address and port to listen on.
    #[serde(deserialize_with = "address")]
    pub address: SocketAddr,
}

/// When the process counts as ill.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// A thread that shows no sign of life for so long stands still.
    #[serde(deserialize_with = "duration")]
    pub stall_timeout: Duration,
}

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Text for people or JSON for machines.
    pub format: LogFormat,
    /// A level, or levels per module: `info,lookaside::kafka=debug`.
    #[serde(deserialize_with = "level")]
    pub level: String,
}

/// How the process stops.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shutdown {
    /// Longest wait for rows on their way.
    #[serde(deserialize_with = "duration")]
    pub timeout: Duration,
}

impl Settings {
    /// Reads the settings: `file` if one is named, else [`FILE`] if it is there; then the environment;
    /// then `flags`, pairs such as `("http.address", "127.0.0.1:9000")`.
    ///
    /// # Errors
    /// A file that cannot be read; settings that do not exist or do not fit.
    pub fn load(file: Option<&Path>, flags: &[(&str, String)]) -> Result<Self, Vec<Fault>> {
        Self::from_layers(file, None, flags)
    }

    fn from_layers(
        file: Option<&Path>,
        environment: Option<HashMap<String, String>>,
        flags: &[(&str, String)],
    ) -> Result<Self, Vec<Fault>> {
        let sources = Sources::read(file, environment.as_ref(), flags)?;
        let layers = Config::builder().add_source(File::from_str(DEFAULTS, FileFormat::Yaml));
        let written = File::from(file.unwrap_or(Path::new(FILE))).format(FileFormat::Yaml).required(false);
        let variables = Environment::with_prefix(PREFIX).prefix_separator(SEPARATOR).separator(SEPARATOR);
        let layers = layers.add_source(written).add_source(variables.source(environment));
        let layers =
            flags.iter().try_fold(layers, |layers, (name, value)| layers.set_override(*name, value.as_str()));
        let read = layers.and_then(|layers| layers.build()).and_then(Config::try_deserialize);
        read.map_err(|error| vec![sources.fault(&error.to_string())])
    }
}

/// Every setting with where it comes from, in the order of the settings file.
///
/// # Errors
/// As [`Settings::load`].
pub fn effective(file: Option<&Path>, flags: &[(&str, String)]) -> Result<Vec<EffectiveSetting>, Vec<Fault>> {
    Settings::load(file, flags)?;
    Sources::read(file, None, flags).map(|sources| sources.effective())
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| de::Error::custom("it must be a numeric address and a port: 127.0.0.1:8080 for this machine alone, 0.0.0.0:8080 for everyone"))
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map_err(de::Error::custom)
}

fn level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match EnvFilter::try_new(&text) {
        Ok(_) => Ok(text),
        Err(_) => Err(de::Error::custom(
            "it must be error, warn, info, debug or trace, or such words per module: info,lookaside::kafka=debug",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn load(environment: &[(&str, &str)], flags: &[(&str, String)]) -> Result<Settings, Vec<Fault>> {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Settings::from_layers(None, Some(environment.collect()), flags)
    }

    #[test]
    fn defaults_are_those_of_the_file() {
        let settings = load(&[], &[]).unwrap();
        assert_eq!(settings.http.address, "0.0.0.0:8080".parse().unwrap());
        assert_eq!(settings.log, Log { format: LogFormat::Text, level: "info".into() });
        assert_eq!(settings.health.stall_timeout, Duration::from_secs(60));
        assert_eq!(settings.shutdown.timeout, Duration::from_secs(30));
    }

    #[test]
    fn each_layer_covers_the_one_before() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "log: {{format: json, level: warn}}\nshutdown: {{timeout: 1 min}}").unwrap();
        let environment = [("LOOKASIDE__LOG__LEVEL", "debug"), ("LOOKASIDE__HTTP__ADDRESS", "127.0.0.1:1")];
        let environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let flags = [("http.address", "127.0.0.1:2".to_owned())];
        let settings = Settings::from_layers(Some(file.path()), Some(environment), &flags).unwrap();
        assert_eq!(settings.log, Log { format: LogFormat::Json, level: "debug".into() });
        assert_eq!(settings.shutdown.timeout, Duration::from_secs(60));
        assert_eq!(settings.http.address, "127.0.0.1:2".parse().unwrap());
    }

    #[test]
    fn what_does_not_exist_or_fit_is_refused_with_its_place() {
        let wrong = [
            ("LOOKASIDE__HTTP__ADRESS", "1", "unknown setting 'http.adress'; did you mean 'http.address'?"),
            (
                "LOOKASIDE__HTTP__ADDRESS",
                "nowhere",
                "'http.address' is 'nowhere': it must be a numeric address",
            ),
            (
                "LOOKASIDE__HTTP__ADDRESS",
                "localhost:8080",
                "'http.address' is 'localhost:8080': it must be a numeric",
            ),
            (
                "LOOKASIDE__LOG__FORMAT",
                "jso",
                "'log.format' is 'jso': it must be one of the words allowed; did you mean 'json'?; allowed: text, json",
            ),
            (
                "LOOKASIDE__LOG__LEVEL",
                "lookaside=loud",
                "'log.level' is 'lookaside=loud': it must be error, warn",
            ),
            (
                "LOOKASIDE__SHUTDOWN__TIMEOUT",
                "soon",
                "'shutdown.timeout' is 'soon': a duration is a whole number",
            ),
        ];
        for (name, value, expected) in wrong {
            let faults = load(&[(name, value)], &[]).unwrap_err();
            let text = faults[0].to_string();
            assert!(text.starts_with(&format!("{name}: {expected}")), "{text}");
        }
        assert!(load(&[("LOOKASIDE_SERVICE_HOST", "10.0.0.1")], &[]).is_ok(), "other programs' variables");
        assert!(Settings::load(Some(Path::new("/no/such/file.yaml")), &[]).is_err());
        let faults = load(&[], &[("http.address", "x".to_owned())]).unwrap_err();
        assert!(faults[0].to_string().starts_with("command line: 'http.address' is 'x'"), "{faults:?}");
    }

    #[test]
    fn what_is_wrong_in_a_file_has_its_line() {
        let fault = |text: &str| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            write!(file, "{text}").unwrap();
            let faults = Settings::from_layers(Some(file.path()), Some(HashMap::new()), &[]).unwrap_err();
            faults[0].to_string().replace(&file.path().display().to_string(), "f")
        };
        assert!(
            fault("log:\n  levle: info\n")
                .starts_with("f:2:3: unknown setting 'log.levle'; did you mean 'log.level'?")
        );
        assert!(
            fault("shutdown:\n  timeout: 5 fortnights\n")
                .starts_with("f:2:12: 'shutdown.timeout' is '5 fortnights'")
        );
        assert!(
            fault("log: loud\n")
                .starts_with("f:1:6: 'log' is a group of settings: write log.format, log.level")
        );
        assert!(fault("log: [\n").starts_with("f:2:1: not YAML"));
        assert!(
            fault("http:\n  address: {a: b}\n").starts_with("f:2:12: 'http.address' must be text, not a map")
        );
    }
}
