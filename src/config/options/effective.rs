//! Every option that counts for a table, written or not, as it may be shown.

use crate::config::redact::{is_secret_name, redacted};
use crate::config::{Span, Text};

use super::check::{Specs, TableOptions};
use super::{Kind, OptionSpec, Support};

/// One option in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveOption {
    /// Its name, as it is written.
    pub name: String,
    /// Its value, secrets hidden.
    pub value: String,
    /// Where it stands; `None`: it was not written, and this is the default.
    pub place: Option<Span>,
}

impl TableOptions {
    /// The options in effect: those of the connector in the order of its table, then `properties.*` as written.
    #[must_use]
    pub fn effective(&self) -> Vec<EffectiveOption> {
        let mut effective: Vec<EffectiveOption> = self
            .specs
            .all()
            .into_iter()
            .filter_map(|(name, spec, format)| {
                let is_chosen = format.is_none_or(|(chooser, format)| self.text(chooser) == Some(format));
                self.option(name, spec, is_chosen)
            })
            .collect();
        effective.extend(self.properties.iter().map(|(name, value)| {
            let name = format!("properties.{}", name.written);
            shown(name.clone(), value, is_secret_name(&name))
        }));
        effective
    }

    /// Options of something that is off have no default in effect.
    fn counts(&self, name: &str) -> bool {
        match name {
            "mini-batch.allow-latency" | "mini-batch.size" => self.boolean("mini-batch.enabled"),
            name if name.starts_with("lookup.partial-cache.") => self.choice("lookup.cache") == "PARTIAL",
            _ => true,
        }
    }

    fn option(&self, name: String, spec: &OptionSpec, is_chosen: bool) -> Option<EffectiveOption> {
        let secret = spec.kind == Kind::Secret || is_secret_name(&name);
        match self.as_written(&name) {
            Some(text) => Some(shown(name, text, secret)),
            None if spec.support == Support::Yes && is_chosen && self.counts(&name) => {
                spec.default.map(|value| EffectiveOption { name, value: value.to_owned(), place: None })
            }
            None => None,
        }
    }
}

fn shown(name: String, text: &Text, secret: bool) -> EffectiveOption {
    EffectiveOption { name, value: redacted(&text.written, secret), place: Some(text.span.clone()) }
}

/// Written name, option, and for an option of a format its chooser and its format.
type Applying = (String, &'static OptionSpec, Option<(&'static str, &'static str)>);

impl Specs {
    /// Every option that applies, with the name it is written under and, for an option of a format, its
    /// chooser and its format.
    fn all(self) -> Vec<Applying> {
        let Self::Connector(connector, role) = self else {
            return super::JOB_OPTIONS.iter().map(|spec| (spec.name.to_owned(), spec, None)).collect();
        };
        let applies = |spec: &&OptionSpec| spec.applies_to(role);
        let own = connector.options.iter().filter(applies).map(|spec| (spec.name.to_owned(), spec, None));
        let mut all: Vec<_> = own.collect();
        for (prefix, chooser) in connector.formats {
            for format in super::FORMATS {
                let options = format.options.iter().filter(applies);
                all.extend(options.map(|spec| {
                    (format!("{prefix}{}.{}", format.name, spec.name), spec, Some((*chooser, format.name)))
                }));
            }
        }
        all
    }
}
