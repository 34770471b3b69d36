//! `${env:NAME}`, `${env:NAME:-default}` and `${file:/path}`, resolved on parsed scalars.
//!
//! The text in the file is never pasted together before it is parsed, so a
//! value cannot change the structure of a definition. `$${` is a literal `${`.

use std::fs;
use std::path::Path;

use crate::error::io_reason;

use super::tree::Resolution;
use super::{Fault, Node, Text, Value};

/// A mounted secret is a line; more is a wrong path.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Looks up a variable.
type Variable<'a> = dyn Fn(&str) -> Option<String> + 'a;
/// Reads a file, or says why not.
type Contents<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Where references lead.
pub struct References<'a> {
    variable: Box<Variable<'a>>,
    contents: Box<Contents<'a>>,
    /// The value of variables that are not set and have no default; `None`: a fault.
    placeholder: Option<&'static str>,
}

impl References<'static> {
    /// The environment and the files of this process.
    #[must_use]
    pub fn process() -> Self {
        Self { variable: Box::new(environment), contents: Box::new(read), placeholder: None }
    }
}

/// What a reference without a default stands for where nothing is connected to.
const OFFLINE: &str = "offline";

impl References<'static> {
    /// Defaults where a reference has one and a placeholder elsewhere: for plans that connect to nothing.
    #[must_use]
    pub fn offline() -> Self {
        let mut references = Self::new(|_| None, |_| Ok(OFFLINE.to_owned()));
        references.placeholder = Some(OFFLINE);
        references
    }
}

impl<'a> References<'a> {
    /// Given functions, for tests.
    pub fn new(
        variable: impl Fn(&str) -> Option<String> + 'a,
        contents: impl Fn(&str) -> Result<String, String> + 'a,
    ) -> Self {
        Self { variable: Box::new(variable), contents: Box::new(contents), placeholder: None }
    }

    /// Resolves every scalar of the tree.
    pub(super) fn resolve(&self, node: &mut Node, faults: &mut Vec<Fault>) {
        match &mut node.value {
            Value::Scalar(text) => self.resolve_text(text, faults),
            Value::List(items) => items.iter_mut().for_each(|item| self.resolve(item, faults)),
            Value::Map(entries) => {
                entries.iter_mut().for_each(|entry| self.resolve(&mut entry.value, faults))
            }
        }
    }

    fn resolve_text(&self, text: &mut Text, faults: &mut Vec<Fault>) {
        if !text.written.contains("${") {
            return;
        }
        match self.expand(&text.written) {
            Ok((value, true)) => text.resolution = Resolution::Resolved(value),
            Ok((value, false)) => text.resolution = Resolution::Unescaped(value),
            Err((what, help)) => {
                faults.push(Fault::new(&text.span, what).help(help));
                text.resolution = Resolution::Broken;
            }
        }
    }

    /// The text with its references replaced, and whether there were any; else what is wrong and what to do.
    fn expand(&self, written: &str) -> Result<(String, bool), (String, String)> {
        let (mut out, mut any) = (String::new(), false);
        let mut rest = written;
        while let Some(at) = rest.find("${") {
            if let Some(before) = rest[..at].strip_suffix('$') {
                out.push_str(before);
                out.push_str("${");
                rest = &rest[at + 2..];
                continue;
            }
            out.push_str(&rest[..at]);
            let Some(end) = rest[at..].find('}') else {
                return Err(("a reference '${' without its '}'".to_owned(), HELP.to_owned()));
            };
            out.push_str(&self.one(&rest[at + 2..at + end])?);
            any = true;
            rest = &rest[at + end + 1..];
        }
        out.push_str(rest);
        Ok((out, any))
    }

    fn one(&self, reference: &str) -> Result<String, (String, String)> {
        if let Some(path) = reference.strip_prefix("file:") {
            let contents = (self.contents)(path)
                .map_err(|error| (format!("file '{path}' cannot be read: {error}"), FILE_HELP.to_owned()))?;
            let line = contents.strip_suffix('\n').unwrap_or(&contents);
            return Ok(line.strip_suffix('\r').unwrap_or(line).to_owned());
        }
        let Some(variable) = reference.strip_prefix("env:") else {
            return Err((format!("unknown reference '${{{reference}}}'"), HELP.to_owned()));
        };
        let (name, default) = match variable.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (variable, None),
        };
        let value = (self.variable)(name).or_else(|| default.or(self.placeholder).map(str::to_owned));
        value.ok_or_else(|| {
            let help = format!("set it, or give a default: ${{env:{name}:-…}}");
            (format!("environment variable '{name}' is not set"), help)
        })
    }
}

const FILE_HELP: &str = "the file holds the value alone; check the path, and that this process may read it";
const HELP: &str =
    "references are ${env:NAME}, ${env:NAME:-default} and ${file:/path}; a literal '${' is written '$${'";

#[expect(clippy::disallowed_methods, reason = "config is where the environment is read")]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn read(path: &str) -> Result<String, String> {
    let path = Path::new(path);
    let bytes = fs::metadata(path).map_err(|error| io_reason(&error))?.len();
    if FILE_BYTES_MAX < bytes {
        return Err(format!("it is larger than {FILE_BYTES_MAX} bytes"));
    }
    fs::read_to_string(path).map_err(|error| io_reason(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(written: &str) -> Result<String, (String, String)> {
        let variable = |name: &str| (name == "SET").then(|| "value".to_owned());
        let contents = |path: &str| {
            if path == "/secret" { Ok("s3cret\n".to_owned()) } else { Err("no such file".to_owned()) }
        };
        References::new(variable, contents).expand(written).map(|(value, _)| value)
    }

    #[test]
    fn references_become_their_values() {
        assert_eq!(expand("${env:SET}").unwrap(), "value");
        assert_eq!(expand("a-${env:SET}-${env:UNSET:-d:-e}").unwrap(), "a-value-d:-e");
        assert_eq!(expand("${file:/secret}").unwrap(), "s3cret");
        assert_eq!(expand("$${env:SET}").unwrap(), "${env:SET}");
        assert_eq!(expand("${env:UNSET:-}").unwrap(), "");
    }

    #[test]
    fn what_cannot_be_resolved_is_a_fault() {
        assert_eq!(expand("${env:UNSET}").unwrap_err().0, "environment variable 'UNSET' is not set");
        assert_eq!(expand("${file:/none}").unwrap_err().0, "file '/none' cannot be read: no such file");
        assert_eq!(expand("${SET}").unwrap_err().0, "unknown reference '${SET}'");
        assert!(expand("${env:SET").is_err());
    }
}
