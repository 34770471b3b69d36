//! What in the definition an error is about, so that whoever holds the definition can say where that stands.

use std::borrow::Cow;

/// A part of a table's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TablePart {
    /// An option, by name.
    Option(Cow<'static, str>),
    /// A column, by name.
    Column(String),
    /// The primary key.
    PrimaryKey,
    /// The table as a whole.
    Whole,
}

impl TablePart {
    /// The option of this name.
    #[must_use]
    pub const fn option(name: &'static str) -> Self {
        Self::Option(Cow::Borrowed(name))
    }
}

/// A part of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Name of the table in the definition; empty until someone knows it.
    pub table: String,
    /// Which part of it.
    pub part: TablePart,
}
