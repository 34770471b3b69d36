//! Few kinds of error, chosen by what the caller does about them.
//!
//! The kind decides the exit code and whether anyone tries again; the message
//! says what happened, where, and what to do. A row that cannot be processed carries
//! its place in Kafka and a [`Reason`] from a closed list.

mod fault;
mod io;
mod reason;
mod subject;

pub use fault::{DataFault, Place, RowFault};
pub use io::io_reason;
pub use reason::Reason;
pub use subject::{Subject, TablePart};

/// What the caller does about an error. Each kind is one exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A test or check found something: exit 1.
    Finding,
    /// The command line is wrong: exit 2.
    Usage,
    /// The definition or the settings are invalid: exit 3.
    Definition,
    /// An external system refuses (password, missing table, column or topic), or failed after all retries: exit 4.
    External,
    /// Stopped on bad data: exit 5.
    Data,
    /// Fenced, or the identity in the group was lost: exit 6.
    Fenced,
    /// A fault of the program itself: exit 70.
    Bug,
    /// May pass by itself: the caller tries again, and never exits for it.
    Transient,
}

impl Kind {
    /// The exit code of the process for this kind.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Finding => 1,
            Self::Usage => 2,
            Self::Definition => 3,
            Self::External => 4,
            Self::Data => 5,
            Self::Fenced => 6,
            Self::Bug | Self::Transient => 70,
        }
    }
}

/// An error with its kind, a message for the operator and, for bad data, the place.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: Kind,
    message: String,
    fault: Option<Box<DataFault>>,
    subject: Option<Box<Subject>>,
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind`; the message says what, where and what to do.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), fault: None, subject: None }
    }

    /// Kind [`Kind::External`].
    pub fn external(message: impl Into<String>) -> Self {
        Self::new(Kind::External, message)
    }

    /// Kind [`Kind::Transient`].
    pub fn transient(message: impl Into<String>) -> Self {
        Self::new(Kind::Transient, message)
    }

    /// Kind [`Kind::Bug`].
    pub fn bug(message: impl Into<String>) -> Self {
        Self::new(Kind::Bug, message)
    }

    /// What the caller does about it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The row that it stopped at, and why, when it was one.
    #[must_use]
    pub fn fault(&self) -> Option<&DataFault> {
        self.fault.as_deref()
    }

    /// What in the definition it is about, when that is known.
    #[must_use]
    pub fn subject(&self) -> Option<&Subject> {
        self.subject.as_deref()
    }

    /// Says which part of a table it is about; what was said first, nearest to the cause, stays.
    #[must_use]
    pub fn about(mut self, part: TablePart) -> Self {
        match &mut self.subject {
            Some(subject) if subject.part != TablePart::Whole => {}
            Some(subject) => subject.part = part,
            None => self.subject = Some(Box::new(Subject { table: String::new(), part })),
        }
        self
    }

    /// Says which table of the definition it is about; one that was named before stays.
    #[must_use]
    pub fn of_table(mut self, table: &str) -> Self {
        let whole = || Box::new(Subject { table: String::new(), part: TablePart::Whole });
        let subject = self.subject.get_or_insert_with(whole);
        if subject.table.is_empty() {
            table.clone_into(&mut subject.table);
        }
        self
    }

    /// [`Error::of_table`], with `context` in front of the message.
    #[must_use]
    pub fn in_table(self, table: &str, context: &str) -> Self {
        self.of_table(table).context(context)
    }

    /// Puts `context` in front of the message: `reading orders: …`.
    #[must_use]
    pub fn context(mut self, context: &str) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }
}

impl From<DataFault> for Error {
    fn from(fault: DataFault) -> Self {
        let (kind, message) = (fault.reason.kind(), fault.to_string());
        Self { kind, message, fault: Some(Box::new(fault)), subject: None }
    }
}
