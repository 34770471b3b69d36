//! `lookaside config`: the settings and options that count, and where each comes from.

use serde_json::{Value as Json, json};

use crate::config::settings::{EffectiveSetting, Origin};
use crate::config::{EffectiveDefinition, is_secret_name, redacted, scalar};

use super::definition::DefinitionArg;
use super::output::{self, FAINT, OutputFormat, styled};
use super::settings::{SettingsArgs, flag_of};
use super::{Exit, exit};

/// Print the settings in effect and, for a definition, its options in effect, each with where it comes from.
///
/// Settings are, each covering the one before: defaults, the settings file, variables that begin with LOOKASIDE__,
/// flags. References are shown as they are written, and passwords as ***.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::help(&[Exit::Ok, Exit::Usage, Exit::Definition]))]
pub(super) struct Args {
    /// A definition to show as well: a file, a folder, or - for standard input.
    #[arg(value_name = "FILE|DIR|-")]
    definition: Option<std::path::PathBuf>,
    #[command(flatten)]
    settings: SettingsArgs,
}

pub(super) fn run(args: &Args, format: OutputFormat) -> Exit {
    let definition = args.definition.clone().map(|path| DefinitionArg { path }.load()).transpose();
    let (settings, loaded) = match (args.settings.effective(), definition) {
        (Ok(settings), Ok(loaded)) => (settings, loaded),
        (settings, definition) => {
            let faults =
                [settings.err(), definition.err()].into_iter().flatten().flatten().collect::<Vec<_>>();
            output::faults(&faults, format);
            return Exit::Definition;
        }
    };
    let definition = loaded.as_ref().map(|loaded| EffectiveDefinition::new(&loaded.definition));
    match format {
        OutputFormat::Human => {
            output::data(&settings_yaml(&settings));
            if let Some(definition) = definition {
                output::data(&format!("---\n{}", faint_notes(&definition.to_yaml())));
            }
        }
        OutputFormat::Json => output::json(&json!({
            "settings": settings.iter().map(setting_json).collect::<Vec<_>>(),
            "definition": definition.map(|definition| definition.to_json()),
        })),
    }
    Exit::Ok
}

/// Column at which notes begin.
const NOTE_AT: usize = 40;

/// As a settings file that says the same.
fn settings_yaml(settings: &[EffectiveSetting]) -> String {
    let (mut out, mut open): (String, Vec<&str>) = (String::new(), Vec::new());
    for setting in settings {
        let mut groups: Vec<&str> = setting.name.split('.').collect();
        let name = groups.pop().unwrap_or_default();
        let shared = open.iter().zip(&groups).take_while(|(one, other)| one == other).count();
        for (depth, group) in groups.iter().enumerate().skip(shared) {
            out.push_str(&format!("{}{group}:\n", "  ".repeat(depth)));
        }
        let line = format!("{}{name}: {}", "  ".repeat(groups.len()), scalar(&shown(setting)));
        let note = styled(FAINT, &format!("# {}", origin(setting)));
        out.push_str(&format!("{line:NOTE_AT$}  {note}\n"));
        open = groups;
    }
    out
}

/// The notes of a YAML text in another tone.
fn faint_notes(yaml: &str) -> String {
    let faint = |line: &str| match line.rsplit_once("  # ") {
        Some((text, note)) => format!("{text}  {}\n", styled(FAINT, &format!("# {note}"))),
        None => format!("{line}\n"),
    };
    yaml.lines().map(faint).collect()
}

fn shown(setting: &EffectiveSetting) -> String {
    redacted(&setting.value, is_secret_name(&setting.name))
}

fn origin(setting: &EffectiveSetting) -> String {
    match &setting.origin {
        Origin::Default => "default".to_owned(),
        Origin::File(span) => span.to_string(),
        Origin::Variable(name) => name.clone(),
        Origin::Flag => flag_of(&setting.name).to_owned(),
    }
}

fn setting_json(setting: &EffectiveSetting) -> Json {
    json!({"name": setting.name, "value": shown(setting), "origin": origin(setting)})
}
