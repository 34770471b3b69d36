//! What was written against the option tables: every fault, and typed values behind.

use std::collections::HashMap;
use std::time::Duration;

use super::spec::{ConnectorSpec, OptionSpec, Role, Support};
use super::typed::{Mistake, Typed};
use super::{CONNECTORS, FORMATS, JOB_OPTIONS, Kind, UNSUPPORTED_CONNECTORS, connector};
use crate::config::{Entry, Fault, Faults, Span, TableDefinition, Text, nearest};

/// A table and what it is used as.
#[derive(Clone, Copy, Debug)]
pub struct ConnectorUse<'a> {
    /// The table.
    pub table: &'a TableDefinition,
    /// Its part in the pipeline.
    pub role: Role,
}

/// Checked options of a table or of the job; an option that is absent has its default.
#[derive(Clone)]
pub struct TableOptions {
    pub(super) specs: Specs,
    span: Span,
    /// Every name that was written, valid or not.
    given: Vec<String>,
    written: HashMap<String, (Text, Typed)>,
    /// `properties.*`, the prefix cut, in order.
    pub properties: Vec<(Text, Text)>,
    /// Options that do nothing here, with the reason: to be said once.
    pub notes: Vec<(String, &'static str)>,
}

/// Whose options they are.
#[derive(Clone, Copy)]
pub(super) enum Specs {
    Connector(&'static ConnectorSpec, Role),
    Job,
}

/// An option of the tables, under the name it is written with.
#[derive(Clone, Copy)]
struct Found {
    spec: &'static OptionSpec,
    /// For an option of a format: the option that chooses the format, and the format it belongs to.
    format: Option<(&'static str, &'static str)>,
}

impl Specs {
    fn find(self, name: &str) -> Option<Found> {
        let named = |specs: &'static [OptionSpec], name: &str| specs.iter().find(|spec| spec.name == name);
        let Self::Connector(connector, _) = self else {
            return named(JOB_OPTIONS, name).map(|spec| Found { spec, format: None });
        };
        if let Some(spec) = named(connector.options, name) {
            return Some(Found { spec, format: None });
        }
        connector.formats.iter().find_map(|(prefix, chooser)| {
            let (format, option) = name.strip_prefix(prefix)?.split_once('.')?;
            let format = FORMATS.iter().find(|known| known.name == format)?;
            let spec = named(format.options, option)?;
            Some(Found { spec, format: Some((*chooser, format.name)) })
        })
    }

    /// Names that may be written, refused ones left out.
    fn names(self) -> Vec<String> {
        let Self::Connector(connector, role) = self else {
            return JOB_OPTIONS.iter().map(|spec| spec.name.to_owned()).collect();
        };
        let offered = |spec: &&OptionSpec| spec.applies_to(role) && spec.support == Support::Yes;
        let mut names = vec!["columns".to_owned()];
        names.extend(connector.options.iter().filter(offered).map(|spec| spec.name.to_owned()));
        for (prefix, _) in connector.formats {
            for format in FORMATS {
                let options = format.options.iter().filter(offered);
                names.extend(options.map(|spec| format!("{prefix}{}.{}", format.name, spec.name)));
            }
        }
        names
    }

    /// The names worth listing in a message: those of formats follow a pattern.
    fn listed(self) -> Vec<String> {
        let mut names = self.names();
        if let Self::Connector(connector, _) = self {
            let is_format = |name: &str| self.find(name).is_some_and(|found| found.format.is_some());
            names.retain(|name| !is_format(name));
            names.extend(connector.formats.iter().map(|(prefix, _)| format!("{prefix}<format>.*")));
            if connector.has_properties {
                names.push("properties.*".to_owned());
            }
        }
        names
    }

    fn owner(self, table: &str) -> String {
        match self {
            Self::Connector(connector, role) => {
                format!("table '{table}' ({} {})", connector.name, role.name())
            }
            Self::Job => "'options'".to_owned(),
        }
    }
}

/// Checks the options of a table for its part in the pipeline.
pub fn check_table(used: ConnectorUse<'_>, faults: &mut Faults) -> Option<TableOptions> {
    let ConnectorUse { table, role } = used;
    let name = table.connector.as_ref()?;
    let connector = known_connector(name, role, faults)?;
    let specs = Specs::Connector(connector, role);
    let options = read(specs, &table.name, &table.options, faults);
    options.check_formats(faults);
    for spec in connector.options.iter().filter(|spec| spec.required.contains(&role)) {
        // A name that is nearly it is reported as a slip.
        let is_slip = |name: &str| specs.find(name).is_none() && nearest(name, [spec.name]).is_some();
        let is_it = |name: &String| name == spec.name || is_slip(name);
        if !options.given.iter().any(is_it) {
            let what = format!("{} has no '{}'", specs.owner(&table.name.written), spec.name);
            faults.add(Fault::new(&table.name.span, what).help(format!("{}: {}", spec.name, spec.doc)));
        }
    }
    Some(options)
}

/// Checks `options` of the definition.
pub fn check_job(entries: &[Entry], span: &Span, faults: &mut Faults) -> TableOptions {
    read(Specs::Job, &Text::plain(span, "options"), entries, faults)
}

fn known_connector(name: &Text, role: Role, faults: &mut Faults) -> Option<&'static ConnectorSpec> {
    let of_role = CONNECTORS.iter().filter(|connector| connector.roles.contains(&role));
    let of_role = of_role.map(|connector| connector.name);
    match connector(name.value()) {
        Some(connector) if connector.roles.contains(&role) => Some(connector),
        Some(connector) => {
            let what = format!("a {} table cannot be a {}", connector.name, role.name());
            faults.add(Fault { nearest: None, ..Fault::new(&name.span, what).allowed("", of_role) });
            None
        }
        None => {
            let known = UNSUPPORTED_CONNECTORS.iter().find(|(known, _)| *known == name.value());
            let fault = match known {
                Some((connector, why)) => Fault::new(&name.span, format!("connector '{connector}' is {why}")),
                None => Fault::new(&name.span, format!("unknown connector '{}'", name.written)),
            };
            faults.add(fault.allowed(&name.written, of_role));
            None
        }
    }
}

fn read(specs: Specs, owner: &Text, entries: &[Entry], faults: &mut Faults) -> TableOptions {
    let mut options = TableOptions {
        specs,
        span: owner.span.clone(),
        given: entries.iter().map(|entry| entry.key.written.clone()).collect(),
        written: HashMap::new(),
        properties: Vec::new(),
        notes: Vec::new(),
    };
    let owner = specs.owner(&owner.written);
    for Entry { key, value } in entries {
        let name = key.written.as_str();
        let Some(text) = value.as_text() else {
            if specs.find(name).is_none() && !name.starts_with("properties") {
                faults.add(unknown(specs, &owner, key));
                continue;
            }
            let help = format!("options are written with dots: '{name}.…: value'");
            faults.add(
                Fault::new(&value.span, format!("option '{name}' must be text, not {}", value.kind()))
                    .help(help),
            );
            continue;
        };
        if let (Specs::Connector(connector, _), Some(property)) = (specs, name.strip_prefix("properties."))
            && connector.has_properties
        {
            let property = Text { written: property.trim().to_owned(), ..key.clone() };
            options.properties.push((property, text.clone()));
            continue;
        }
        match specs.find(name) {
            Some(found) => options.take(found, key, text, faults),
            None => faults.add(unknown(specs, &owner, key)),
        }
    }
    options
}

fn unknown(specs: Specs, owner: &str, key: &Text) -> Fault {
    let name = key.written.as_str();
    let nearest = nearest(name, specs.names().iter().map(String::as_str)).map(str::to_owned);
    let fault = Fault::new(&key.span, format!("unknown option '{name}' of {owner}"));
    Fault { nearest, ..fault.allowed("", specs.listed()) }
}

impl TableOptions {
    fn take(&mut self, found: Found, key: &Text, text: &Text, faults: &mut Faults) {
        let (name, spec) = (key.written.clone(), found.spec);
        if let Specs::Connector(connector, role) = self.specs
            && !spec.applies_to(role)
        {
            let roles: Vec<_> = spec.roles.iter().map(|role| role.name()).collect();
            let (of, here) = (roles.join(" or "), role.name());
            let what = format!(
                "option '{name}' of {} is for a {of}, and this table is used as {here}",
                connector.name
            );
            return faults.add(Fault::new(&key.span, what).help("leave it out here"));
        }
        match spec.support {
            Support::Noted(why) => self.notes.push((name, why)),
            Support::Refused(why) => faults.add(Fault::new(&key.span, format!("option '{name}': {why}"))),
            Support::Yes if text.is_broken() => {}
            Support::Yes if text.is_missing() => {
                let fault = Fault::new(&text.span, format!("option '{name}' has no value"));
                faults.add(fault.help("write it behind the colon, or leave the line out"));
            }
            Support::Yes => match spec.kind.read(text.value()) {
                Ok(typed) => {
                    self.written.insert(name, (text.clone(), typed));
                }
                Err(mistake) => faults.add(wrong_value(&name, spec.kind, text, mistake)),
            },
        }
    }

    /// Options of a format count only if that format is chosen.
    fn check_formats(&self, faults: &mut Faults) {
        for (name, (text, _)) in &self.written {
            let Some(Found { format: Some((chooser, format)), .. }) = self.specs.find(name) else { continue };
            let chosen = self.text(chooser);
            if chosen != Some(format) {
                let chosen = chosen.map_or_else(
                    || "not given".to_owned(),
                    |chosen| format!("'{}'", self.shown(chooser, chosen)),
                );
                let what = format!("option '{name}' is for {format}, but '{chooser}' is {chosen}");
                faults.add(Fault::new(&text.span, what).help("leave it out, or choose that format"));
            }
        }
    }

    /// Where the option's value stands; the table's name if it was not written.
    #[must_use]
    pub fn span(&self, name: &str) -> Span {
        self.written.get(name).map_or_else(|| self.span.clone(), |(text, _)| text.span.clone())
    }

    /// Whether the option was written (and is valid).
    #[must_use]
    pub fn is_written(&self, name: &str) -> bool {
        self.written.contains_key(name)
    }

    /// Whether the option was written, be it faulty.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|given| given == name)
    }

    /// What was written for the option, if it was and is valid.
    pub(super) fn as_written(&self, name: &str) -> Option<&Text> {
        self.written.get(name).map(|(text, _)| text)
    }

    /// The option as it was written, for messages.
    #[must_use]
    pub fn written(&self, name: &str) -> &str {
        self.written.get(name).map_or("", |(text, _)| text.written.as_str())
    }

    /// A piece of the option's value, for messages: what was written instead, if the value may be secret.
    #[must_use]
    pub fn shown<'a>(&'a self, name: &str, piece: &'a str) -> &'a str {
        match self.written.get(name) {
            Some((text, _)) if text.has_reference() => &text.written,
            _ => piece,
        }
    }

    fn get(&self, name: &str) -> Option<Typed> {
        if let Some((_, typed)) = self.written.get(name) {
            return Some(typed.clone());
        }
        let spec = self.specs.find(name)?.spec;
        spec.kind.read(spec.default?).ok()
    }

    /// A text, when there is one.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.written.get(name) {
            Some((_, Typed::Text(text))) => Some(text),
            Some(_) => None,
            None => self.specs.find(name)?.spec.default,
        }
    }

    /// A switch; an option without default counts as false.
    #[must_use]
    pub fn boolean(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Typed::Boolean(true)))
    }

    /// A number, when there is one.
    #[must_use]
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            Typed::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// A duration, when there is one.
    #[must_use]
    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.get(name)? {
            Typed::Duration(duration) => Some(duration),
            _ => None,
        }
    }

    /// One of the option's words; `""` when there is none.
    #[must_use]
    pub fn choice(&self, name: &str) -> &'static str {
        match self.get(name) {
            Some(Typed::Choice(word)) => word,
            _ => "",
        }
    }

    /// A character, when there is one.
    #[must_use]
    pub fn character(&self, name: &str) -> Option<char> {
        match self.get(name)? {
            Typed::Character(character) => Some(character),
            _ => None,
        }
    }

    /// Offsets by partition, when there are some.
    #[must_use]
    pub fn partition_offsets(&self, name: &str) -> Option<Vec<(i32, i64)>> {
        match self.get(name)? {
            Typed::PartitionOffsets(offsets) => Some(offsets),
            _ => None,
        }
    }
}

fn wrong_value(name: &str, kind: Kind, text: &Text, mistake: Mistake) -> Fault {
    let met = match kind {
        Kind::Secret => String::new(),
        _ => format!(", not '{}'", text.written),
    };
    let fault = Fault::new(&text.span, format!("option '{name}' must be {}{met}", mistake.expected));
    let fault = fault.allowed(&text.written, mistake.allowed);
    // The help may quote the value.
    if text.has_reference() { fault } else { fault.help(mistake.help) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_options() -> Vec<(String, &'static OptionSpec)> {
        let connectors = CONNECTORS
            .iter()
            .flat_map(|connector| connector.options.iter().map(|spec| (connector.name.to_owned(), spec)));
        let formats = FORMATS
            .iter()
            .flat_map(|format| format.options.iter().map(|spec| (format.name.to_owned(), spec)));
        let job = JOB_OPTIONS.iter().map(|spec| ("options".to_owned(), spec));
        connectors.chain(formats).chain(job).collect()
    }

    #[test]
    fn every_default_is_a_value_of_its_option() {
        for (owner, spec) in all_options() {
            if let Some(default) = spec.default {
                assert!(spec.kind.read(default).is_ok(), "{owner}: {} = {default}", spec.name);
            }
        }
    }

    #[test]
    fn no_table_names_an_option_twice() {
        let mut seen = std::collections::HashSet::new();
        for (owner, spec) in all_options() {
            assert!(seen.insert((owner.clone(), spec.name)), "{owner}: {}", spec.name);
        }
    }
}
