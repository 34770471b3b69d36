//! From a file, a folder or standard input to a definition.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::definition::{self, Fragment};
use crate::error::io_reason;

use super::yaml::read_yaml;
use super::{Definition, Fault, Faults, Node, References, Span, Text, Value};

/// A folder of definitions holds a handful of files; more is a wrong path.
const FILES_MAX: usize = 1_000;

/// Where a definition stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionSource {
    /// `-`.
    StandardInput,
    /// A file, or a folder whose `*.yaml` and `*.yml` files are merged.
    Path(PathBuf),
}

impl From<&Path> for DefinitionSource {
    fn from(path: &Path) -> Self {
        if path == Path::new("-") { Self::StandardInput } else { Self::Path(path.to_owned()) }
    }
}

/// Reads a definition. Faults that leave a usable shape are in
/// [`Definition::faults`], so that compiling can add its own to them.
///
/// # Errors
/// Files that cannot be read or are not YAML; no usable pipeline.
pub fn load(source: &DefinitionSource, references: &References<'_>) -> Result<Definition, Vec<Fault>> {
    let (name, texts) = read(source).map_err(|fault| vec![fault])?;
    merge_texts(&name, &texts, references)
}

/// Reads a definition from texts, each with the file name for its faults.
///
/// # Errors
/// As [`load`].
pub fn load_texts(texts: &[(String, String)], references: &References<'_>) -> Result<Definition, Vec<Fault>> {
    let name = texts.first().map_or("-", |(name, _)| name.as_str());
    merge_texts(name, texts, references)
}

/// Reads a definition that stands inside another document, such as a test case: `root` is a map whose
/// keys are those of a definition and `others`. A definition without `name` gets `name`.
///
/// # Errors
/// As [`load`].
pub fn load_inline(
    root: &Node,
    others: &[&str],
    name: &str,
    references: &References<'_>,
) -> Result<Definition, Vec<Fault>> {
    let mut root = root.clone();
    if let Value::Map(entries) = &mut root.value {
        entries.retain(|entry| !others.contains(&entry.key.written.as_str()));
    }
    let mut faults = Faults::default();
    let mut unresolved = Vec::new();
    references.resolve(&mut root, &mut unresolved);
    faults.extend(unresolved);
    let mut fragment = definition::read(&root, &mut faults);
    fragment.name.get_or_insert_with(|| Text::plain(&root.span, name));
    super::merge::merge(&root.span, vec![fragment], faults)
}

fn merge_texts(
    name: &str,
    texts: &[(String, String)],
    references: &References<'_>,
) -> Result<Definition, Vec<Fault>> {
    let mut faults = Faults::default();
    let mut fragments = Vec::new();
    let mut unreadable = false;
    for (file, text) in texts {
        match fragment(file, text, references, &mut faults) {
            Some(fragment) => fragments.push(fragment),
            None => unreadable = true,
        }
    }
    if unreadable {
        return Err(faults.into_sorted());
    }
    super::merge::merge(&Span::file(name), fragments, faults)
}

fn fragment(file: &str, text: &str, references: &References<'_>, faults: &mut Faults) -> Option<Fragment> {
    let mut found = Vec::new();
    let root = read_yaml(file, text, &mut found).map(|mut root| {
        references.resolve(&mut root, &mut found);
        root
    });
    faults.extend(found);
    root.map(|root| definition::read(&root, faults))
}

/// The name to blame for the whole, and the texts with their names.
fn read(source: &DefinitionSource) -> Result<(String, Vec<(String, String)>), Fault> {
    match source {
        DefinitionSource::StandardInput => {
            let mut text = String::new();
            let read = std::io::stdin().lock().read_to_string(&mut text);
            read.map_err(|error| {
                Fault::new(&Span::file("-"), format!("cannot be read: {}", io_reason(&error)))
            })?;
            Ok(("-".to_owned(), vec![("-".to_owned(), text)]))
        }
        DefinitionSource::Path(path) if path.is_dir() => {
            let files = files_in(path)?;
            let texts = files.iter().map(|file| read_file(file)).collect::<Result<_, _>>()?;
            Ok((path.display().to_string(), texts))
        }
        DefinitionSource::Path(path) => Ok((path.display().to_string(), vec![read_file(path)?])),
    }
}

fn read_file(path: &Path) -> Result<(String, String), Fault> {
    let name = path.display().to_string();
    match fs::read_to_string(path) {
        Ok(text) => Ok((name, text)),
        Err(error) => Err(Fault::new(&Span::file(&name), format!("cannot be read: {}", io_reason(&error)))),
    }
}

/// The definition files of a folder, by name; hidden files are left out, so that the links
/// of a mounted ConfigMap are not read twice.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let blame = |what: String| Fault::new(&Span::file(&folder.display().to_string()), what);
    let entries =
        fs::read_dir(folder).map_err(|error| blame(format!("cannot be read: {}", io_reason(&error))))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| blame(format!("cannot be read: {}", io_reason(&error))))?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        if yaml && !hidden && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    match files.len() {
        0 => Err(blame("the folder holds no *.yaml or *.yml file".to_owned())),
        count if FILES_MAX < count => {
            Err(blame(format!("the folder holds {count} files, limit {FILES_MAX}")))
        }
        _ => Ok(files),
    }
}
