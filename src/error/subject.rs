//! What in the definition an error is about, so that whoever holds the definition can say where that stands.

/// A part of a table's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TablePart {
    /// An option, by name.
    Option(&'static str),
    /// A column, by name.
    Column(String),
    /// The primary key.
    PrimaryKey,
    /// The table as a whole.
    Whole,
}

/// A part of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Name of the table in the definition; empty until someone knows it.
    pub table: String,
    /// Which part of it.
    pub part: TablePart,
}
