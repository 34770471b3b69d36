//! `lookaside completions`: what a shell needs to complete the command line.

use clap::ValueEnum;
use serde_json::json;

use super::output::{self, OutputFormat};
use super::{Exit, exit};

const INSTALL: &str = "Install:
  bash  lookaside completions bash > ~/.local/share/bash-completion/completions/lookaside
  zsh   lookaside completions zsh > \"${fpath[1]}/_lookaside\"
  fish  lookaside completions fish > ~/.config/fish/completions/lookaside.fish";

/// Print the completion script of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{INSTALL}\n\n{}", exit::help(&[Exit::Ok, Exit::Usage])))]
pub(super) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Shells with a script.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
}

pub(super) fn run(args: &Args, format: OutputFormat) -> Exit {
    let (name, shell) = match args.shell {
        Shell::Bash => ("bash", clap_complete::Shell::Bash),
        Shell::Zsh => ("zsh", clap_complete::Shell::Zsh),
        Shell::Fish => ("fish", clap_complete::Shell::Fish),
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "lookaside", &mut script);
    let script = String::from_utf8_lossy(&script);
    match format {
        OutputFormat::Human => output::data(&script),
        OutputFormat::Json => output::json(&json!({"shell": name, "script": script})),
    }
    Exit::Ok
}
