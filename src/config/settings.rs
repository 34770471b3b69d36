//! Settings of the process: defaults ← a settings file ← `LOOKASIDE__…` ← flags.
//!
//! `config/settings.yaml` holds every setting with its default and is built
//! into the program. Unknown settings are refused, whoever sets them.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use config::builder::DefaultState;
use config::{Config, ConfigBuilder, Environment, File, FileFormat, FileSourceFile};
use serde::Deserialize;
use serde::de::{self, Deserializer};
use tracing_subscriber::EnvFilter;

use crate::error::io_reason;
use crate::telemetry::LogFormat;

use super::{Fault, Span, parse_duration};

const DEFAULTS: &str = include_str!("../../config/settings.yaml");

/// The settings file that is read when none is named, if it is there.
pub const FILE: &str = "config/settings.yaml";

/// Prefix of environment variables; `__` stands between the parts of a name.
const PREFIX: &str = "LOOKASIDE";
const SEPARATOR: &str = "__";

/// Settings of the process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `http`.
    pub http: Http,
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
    pub address: SocketAddr,
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
        let own = file.unwrap_or(Path::new(FILE));
        if let Some(fault) = unreadable(own, file.is_some()) {
            return Err(vec![fault]);
        }
        let layers = layers(file, environment);
        let layers =
            flags.iter().try_fold(layers, |layers, (name, value)| layers.set_override(*name, value.as_str()));
        let read = layers.and_then(|layers| layers.build()).and_then(Config::try_deserialize);
        read.map_err(|error| vec![fault(own, &error)])
    }
}

/// What the library would say less well: a file that is there, or was asked for, and cannot be read.
fn unreadable(path: &Path, required: bool) -> Option<Fault> {
    let error = std::fs::read_to_string(path).err()?;
    if !required && error.kind() == std::io::ErrorKind::NotFound {
        return None;
    }
    let what = format!("cannot be read: {}", io_reason(&error));
    Some(Fault::new(&Span::file(&path.display().to_string()), what).help("these are settings of the process"))
}

/// Every layer but the flags.
fn layers(file: Option<&Path>, environment: Option<HashMap<String, String>>) -> ConfigBuilder<DefaultState> {
    let defaults = File::from_str(DEFAULTS, FileFormat::Yaml);
    Config::builder().add_source(defaults).add_source(written(file)).add_source(variables(environment))
}

fn written(file: Option<&Path>) -> File<FileSourceFile, FileFormat> {
    File::from(file.unwrap_or(Path::new(FILE))).format(FileFormat::Yaml).required(file.is_some())
}

fn variables(environment: Option<HashMap<String, String>>) -> Environment {
    Environment::with_prefix(PREFIX).prefix_separator(SEPARATOR).separator(SEPARATOR).source(environment)
}

/// Which layer a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// The settings file of this name.
    File(String),
    /// The environment variable of this name.
    Variable(String),
    /// A flag of the command line.
    Flag,
}

/// One setting in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// Its name: `http.address`.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Every setting with where it comes from, in the order of the settings file.
///
/// # Errors
/// As [`Settings::load`].
pub fn effective(file: Option<&Path>, flags: &[(&str, String)]) -> Result<Vec<EffectiveSetting>, Vec<Fault>> {
    Settings::load(file, flags)?;
    let own = file.unwrap_or(Path::new(FILE));
    let read = |source: ConfigBuilder<DefaultState>| source.build().map_err(|error| vec![fault(own, &error)]);
    let defaults = read(Config::builder().add_source(File::from_str(DEFAULTS, FileFormat::Yaml)))?;
    let in_file = read(Config::builder().add_source(written(file)))?;
    let in_environment = read(Config::builder().add_source(variables(None)))?;
    let of = |name: &String| {
        let by_flag =
            flags.iter().find(|(flag, _)| flag == name).map(|(_, value)| (value.clone(), Origin::Flag));
        let variable = || format!("{PREFIX}{SEPARATOR}{}", name.to_uppercase().replace('.', SEPARATOR));
        let from = |layer: &Config, origin| layer.get_string(name).ok().map(|value| (value, origin));
        let found = by_flag
            .or_else(|| from(&in_environment, Origin::Variable(variable())))
            .or_else(|| from(&in_file, Origin::File(own.display().to_string())))
            .or_else(|| from(&defaults, Origin::Default));
        let (value, origin) = found.unwrap_or_else(|| (String::new(), Origin::Default));
        EffectiveSetting { name: name.clone(), value, origin }
    };
    Ok(names().iter().map(of).collect())
}

/// The name of every setting, in the order of the settings file.
fn names() -> Vec<String> {
    let mut names = Vec::new();
    if let Ok(root) = super::parse_yaml(FILE, DEFAULTS) {
        collect_names(&root, "", &mut names);
    }
    names
}

fn collect_names(node: &super::Node, prefix: &str, names: &mut Vec<String>) {
    for entry in node.as_map().unwrap_or_default() {
        let name = format!("{prefix}{}", entry.key.written);
        match entry.value.as_map() {
            Some(_) => collect_names(&entry.value, &format!("{name}."), names),
            None => names.push(name),
        }
    }
}

fn fault(file: &Path, error: &dyn fmt::Display) -> Fault {
    let what = format!("settings: {error}");
    let help = format!("settings come from {FILE}, variables that begin with {PREFIX}{SEPARATOR}, and flags");
    Fault::new(&Span::file(&file.display().to_string()), what).help(help)
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map_err(de::Error::custom)
}

fn level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match EnvFilter::try_new(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(de::Error::custom(format!("log.level: {error}"))),
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
    fn what_does_not_exist_or_fit_is_refused() {
        let wrong = [
            ("LOOKASIDE__HTTP__ADRESS", "127.0.0.1:1"),
            ("LOOKASIDE__HTTP__ADDRESS", "nowhere"),
            ("LOOKASIDE__LOG__FORMAT", "xml"),
            ("LOOKASIDE__LOG__LEVEL", "lookaside=loud"),
            ("LOOKASIDE__SHUTDOWN__TIMEOUT", "soon"),
        ];
        for (name, value) in wrong {
            assert!(load(&[(name, value)], &[]).is_err(), "{name}={value}");
        }
        assert!(load(&[("LOOKASIDE_SERVICE_HOST", "10.0.0.1")], &[]).is_ok(), "other programs' variables");
        assert!(Settings::load(Some(Path::new("/no/such/file.yaml")), &[]).is_err());
    }
}
