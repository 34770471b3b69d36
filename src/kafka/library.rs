//! What the Kafka client that was built in can do.

use rdkafka::ClientConfig;

use crate::error::Result;

use super::errors::explain;

/// librdkafka as it was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its version.
    pub version: String,
    /// Codecs that record batches are read and written with.
    pub codecs: Vec<&'static str>,
    /// Whether connections can be encrypted.
    pub tls: bool,
    /// Mechanisms of `sasl.mechanism`.
    pub mechanisms: Vec<&'static str>,
    /// Whether it asks a token endpoint for the tokens of OAUTHBEARER.
    pub token_endpoint: bool,
}

/// Codecs under the names of `compression.type`; librdkafka's feature has the same name.
const CODECS: &[&str] = &["gzip", "snappy", "lz4", "zstd"];

/// Mechanisms, and the feature that each needs.
const MECHANISMS: &[(&str, &str)] = &[
    ("PLAIN", "sasl_plain"),
    ("SCRAM-SHA-256", "sasl_scram"),
    ("SCRAM-SHA-512", "sasl_scram"),
    ("OAUTHBEARER", "sasl_oauthbearer"),
];

impl Library {
    /// Asks librdkafka.
    ///
    /// # Errors
    /// It does not answer (a bug).
    pub fn built_in() -> Result<Self> {
        let doing = "asking librdkafka what was built in";
        let config = ClientConfig::new().create_native_config().map_err(|error| explain(doing, &error))?;
        let features = config.get("builtin.features").map_err(|error| explain(doing, &error))?;
        Ok(Self::of(&rdkafka::util::get_rdkafka_version().1, &features))
    }

    /// Reads `builtin.features`, names separated by commas.
    fn of(version: &str, features: &str) -> Self {
        let has = |name: &str| features.split(',').any(|feature| feature.trim() == name);
        let mechanisms = MECHANISMS.iter().filter(|(_, feature)| has(feature));
        Self {
            version: version.to_owned(),
            codecs: CODECS.iter().copied().filter(|codec| has(codec)).collect(),
            tls: has("ssl"),
            mechanisms: mechanisms.map(|(name, _)| *name).collect(),
            token_endpoint: has("oidc"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_is_told_by_librdkafka() {
        let small = Library::of("1.2.3", "gzip,snappy,sasl,regex,sasl_plain");
        assert_eq!(
            (small.codecs, small.tls, small.mechanisms),
            (vec!["gzip", "snappy"], false, vec!["PLAIN"])
        );
        let library = Library::built_in().unwrap();
        assert_eq!(library.codecs, CODECS);
        assert!(library.tls && library.token_endpoint, "{library:?}");
        assert_eq!(library.mechanisms.len(), MECHANISMS.len());
    }
}
