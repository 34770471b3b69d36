//! Exit codes: one per thing that a caller would do about it.

use std::process::ExitCode;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All went well.
    Ok = 0,
    /// A test or check found something.
    Finding = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The definition or the settings are invalid.
    Definition = 3,
    /// An external system refuses: password, missing table, column or topic.
    External = 4,
    /// Stopped on bad data.
    Data = 5,
    /// Fenced, or the identity in the group was lost.
    Fenced = 6,
    /// A fault of the program itself.
    Internal = 70,
    /// Aborted by a second signal.
    Aborted = 130,
}

impl Exit {
    /// Every code, ascending.
    pub(super) const ALL: [Self; 9] = [
        Self::Ok,
        Self::Finding,
        Self::Usage,
        Self::Definition,
        Self::External,
        Self::Data,
        Self::Fenced,
        Self::Internal,
        Self::Aborted,
    ];

    /// What it says, for `--help` and for the documentation.
    fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "all went well",
            Self::Finding => "a test or check found something",
            Self::Usage => "the command line is wrong",
            Self::Definition => "the definition or the settings are invalid",
            Self::External => "an external system refuses: password, missing table, column or topic",
            Self::Data => "stopped on bad data",
            Self::Fenced => "fenced, or the identity in the group was lost",
            Self::Internal => "a fault of the program itself",
            Self::Aborted => "aborted by a second signal",
        }
    }
}

/// The codes that a command can end with, for its `--help`.
pub(super) fn help(codes: &[Exit]) -> String {
    let lines = codes.iter().map(|code| format!("  {:<4} {}", *code as u8, code.meaning()));
    format!("Exit codes:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<crate::error::Kind> for Exit {
    fn from(kind: crate::error::Kind) -> Self {
        use crate::error::Kind;
        match kind {
            Kind::Finding => Self::Finding,
            Kind::Usage => Self::Usage,
            Kind::Definition => Self::Definition,
            Kind::External => Self::External,
            Kind::Data => Self::Data,
            Kind::Fenced => Self::Fenced,
            Kind::Bug | Kind::Transient => Self::Internal,
        }
    }
}

/// Prints what the parser of the command line has to say: help on standard output, complaints on standard error.
pub(super) fn usage(message: &clap::Error) -> ExitCode {
    // Nobody is left to tell when this fails.
    let _ = message.print();
    if message.use_stderr() { Exit::Usage.into() } else { Exit::Ok.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn every_kind_of_error_has_its_code() {
        let kinds = [
            Kind::Finding,
            Kind::Usage,
            Kind::Definition,
            Kind::External,
            Kind::Data,
            Kind::Fenced,
            Kind::Bug,
        ];
        for kind in kinds {
            assert_eq!(Exit::from(kind) as u8, kind.exit_code());
        }
    }
}
