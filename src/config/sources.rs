//! Where each setting comes from: which layer gives it, and where in that layer it stands.
//!
//! The layers are put together by the `config` crate, which knows values and no
//! places. Here the same layers are looked at again for a place to blame, and to show.

use std::collections::HashMap;
use std::path::Path;

use crate::error::io_reason;

use super::settings::{DEFAULTS, FILE, PREFIX, SEPARATOR};
use super::{Fault, Node, Span, is_secret_name, parse_yaml};

/// Settings that take one of a few words.
const WORDS: &[(&str, &[&str])] = &[("log.format", &["text", "json"])];

/// Which layer a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// Here in the settings file.
    File(Span),
    /// The environment variable of this name.
    Variable(String),
    /// A flag of the command line.
    Flag,
}

impl Origin {
    /// The place to blame.
    fn span(&self) -> Span {
        match self {
            Self::Default => Span::file("built-in settings"),
            Self::File(span) => span.clone(),
            Self::Variable(name) => Span::file(name),
            Self::Flag => Span::file("command line"),
        }
    }
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

/// What each layer gives.
pub(super) struct Sources {
    /// Every setting that there is, with its default, in the order of the settings file.
    defaults: Vec<(String, String)>,
    /// From the weakest layer to the strongest.
    given: Vec<EffectiveSetting>,
}

impl Sources {
    /// Looks at the settings file, the environment (of this process, unless one is given) and the flags.
    ///
    /// # Errors
    /// A file that cannot be read, settings that there are not, values that are not among those allowed.
    pub fn read(
        file: Option<&Path>,
        environment: Option<&HashMap<String, String>>,
        flags: &[(&str, String)],
    ) -> Result<Self, Vec<Fault>> {
        let mut defaults = Vec::new();
        if let Ok(root) = parse_yaml(FILE, DEFAULTS) {
            collect(&root, "", &mut |name, text, _| defaults.push((name, text)));
        }
        let mut sources = Self { defaults, given: Vec::new() };
        let mut faults = sources.read_file(file)?;
        match environment {
            Some(given) => {
                sources.read_variables(given.iter().map(|(name, value)| (name.clone(), value.clone())))
            }
            None => sources.read_variables(
                std::env::vars_os()
                    .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
            ),
        }
        for (name, value) in flags {
            let (name, value) = ((*name).to_owned(), value.clone());
            sources.given.push(EffectiveSetting { name, value, origin: Origin::Flag });
        }
        faults.extend(sources.given.iter().filter_map(|setting| sources.objection(setting)));
        if faults.is_empty() { Ok(sources) } else { Err(faults) }
    }

    /// Takes the settings of the file; gives back what is no setting.
    fn read_file(&mut self, file: Option<&Path>) -> Result<Vec<Fault>, Vec<Fault>> {
        let path = file.unwrap_or(Path::new(FILE));
        let name = path.display().to_string();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Vec::new());
            }
            Err(error) => {
                let what = format!("cannot be read: {}", io_reason(&error));
                return Err(vec![
                    Fault::new(&Span::file(&name), what).help("it holds settings of the process"),
                ]);
            }
        };
        // A file of comments alone sets nothing.
        if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
            return Ok(Vec::new());
        }
        let root = parse_yaml(&name, &text)?;
        let mut faults = Vec::new();
        let mut found = Vec::new();
        collect(&root, "", &mut |name, value, span| {
            found.push(EffectiveSetting { name, value, origin: Origin::File(span) });
        });
        self.check_shape(&root, "", &mut faults);
        self.given.append(&mut found);
        Ok(faults)
    }

    fn read_variables(&mut self, variables: impl Iterator<Item = (String, String)>) {
        let begin = format!("{PREFIX}{SEPARATOR}");
        let mut found: Vec<EffectiveSetting> = variables
            .filter_map(|(variable, value)| {
                let name =
                    variable.to_uppercase().strip_prefix(&begin)?.to_lowercase().replace(SEPARATOR, ".");
                Some(EffectiveSetting { name, value, origin: Origin::Variable(variable) })
            })
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        self.given.append(&mut found);
    }

    /// Lists and maps where a value belongs, values where a group belongs.
    fn check_shape(&self, node: &Node, prefix: &str, faults: &mut Vec<Fault>) {
        let Some(entries) = node.as_map() else {
            if prefix.is_empty() {
                faults.push(Fault::new(&node.span, format!("settings must be a map, not {}", node.kind())));
            }
            return;
        };
        for entry in entries {
            let name = format!("{prefix}{}", entry.key.written);
            if self.is_setting(&name) && entry.value.as_text().is_none() {
                let what = format!("'{name}' must be text, not {}", entry.value.kind());
                faults.push(Fault::new(&entry.value.span, what));
            } else if entry.value.as_text().is_some() && !self.is_setting(&name) && !self.is_group(&name) {
                faults.push(self.unknown(&name, &entry.key.span));
            } else {
                self.check_shape(&entry.value, &format!("{name}."), faults);
            }
        }
    }

    fn is_group(&self, name: &str) -> bool {
        self.members(name).next().is_some()
    }

    /// Settings of a group.
    fn members(&self, group: &str) -> impl Iterator<Item = &str> {
        let group = format!("{group}.");
        self.defaults.iter().map(|(known, _)| known.as_str()).filter(move |known| known.starts_with(&group))
    }

    fn unknown(&self, name: &str, span: &Span) -> Fault {
        let names = self.defaults.iter().map(|(known, _)| known.as_str());
        Fault::new(span, format!("unknown setting '{name}'")).allowed(name, names)
    }

    fn is_setting(&self, name: &str) -> bool {
        self.defaults.iter().any(|(known, _)| known == name)
    }

    /// What is wrong with a setting, as far as its name and a list of words tell.
    fn objection(&self, setting: &EffectiveSetting) -> Option<Fault> {
        let (name, span) = (setting.name.as_str(), setting.origin.span());
        let words = WORDS.iter().find(|(known, _)| *known == name).map(|(_, words)| *words);
        if self.is_setting(name) {
            let words = words.filter(|words| !words.contains(&setting.value.as_str()))?;
            let what = format!("'{name}' is '{}': it must be one of the words allowed", setting.value);
            return Some(Fault::new(&span, what).allowed(&setting.value, words));
        }
        let members: Vec<&str> = self.members(name).collect();
        if !members.is_empty() {
            let what = format!("'{name}' is a group of settings: write {}", members.join(", "));
            return Some(Fault::new(&span, what));
        }
        // A name in the file was met with its own place.
        let in_file = matches!(setting.origin, Origin::File(_));
        (!in_file).then(|| self.unknown(name, &span))
    }

    /// The fault behind a complaint of the `config` crate: `… for key `log.level``.
    pub fn fault(&self, complaint: &str) -> Fault {
        let named = complaint
            .rsplit_once(" for key `")
            .map(|(what, rest)| (what, rest.split('`').next().unwrap_or("")));
        let Some((what, name)) = named else {
            return Fault::new(&Span::file("settings"), complaint.to_owned());
        };
        let setting = self.find(name);
        let is =
            if is_secret_name(name) { "is not valid".to_owned() } else { format!("is '{}'", setting.value) };
        Fault::new(&setting.origin.span(), format!("'{name}' {is}: {what}"))
    }

    /// Every setting in effect.
    pub fn effective(&self) -> Vec<EffectiveSetting> {
        self.defaults.iter().map(|(name, _)| self.find(name)).collect()
    }

    fn find(&self, name: &str) -> EffectiveSetting {
        let given = self.given.iter().rev().find(|setting| setting.name == name).cloned();
        given.unwrap_or_else(|| {
            let value = self.defaults.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            EffectiveSetting {
                name: name.to_owned(),
                value: value.unwrap_or_default(),
                origin: Origin::Default,
            }
        })
    }
}

/// Every scalar of a tree by its dotted name.
fn collect(node: &Node, prefix: &str, take: &mut dyn FnMut(String, String, Span)) {
    for entry in node.as_map().unwrap_or_default() {
        let name = format!("{prefix}{}", entry.key.written);
        match entry.value.as_text() {
            Some(text) => take(name, text.written.clone(), entry.value.span.clone()),
            None => collect(&entry.value, &format!("{name}."), take),
        }
    }
}
