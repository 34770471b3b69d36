//! A fault in the data: where the row stands in Kafka, what is wrong with it,
//! and what to do about it.

use std::fmt;

use super::Reason;

/// Where a record stands.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Place {
    /// Name of the table in the definition.
    pub table: String,
    /// Kafka topic.
    pub topic: String,
    /// Kafka partition.
    pub partition: i32,
    /// Kafka offset.
    pub offset: i64,
}

/// A row that cannot be processed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFault {
    /// Where the record stands.
    pub place: Place,
    /// The column concerned, when it is one.
    pub column: Option<String>,
    /// Why.
    pub reason: Reason,
    /// What exactly was met, for a human.
    pub detail: String,
    /// What to do about it, for a human; empty when there is nothing to add.
    pub remedy: String,
}

impl fmt::Display for DataFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { table, topic, partition, offset } = &self.place;
        write!(f, "table {table}, topic {topic}, partition {partition}, offset {offset}")?;
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {} ({})", self.detail, self.reason)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

/// A fault found by a stage that does not know where the record stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// The column concerned, when it is one.
    pub column: Option<String>,
    /// Why.
    pub reason: Reason,
    /// What exactly was met, for a human.
    pub detail: String,
    /// What to do about it, for a human; empty when there is nothing to add.
    pub remedy: String,
}

impl RowFault {
    /// A fault with nothing but a reason and what was met.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { column: None, reason, detail: detail.into(), remedy: String::new() }
    }

    /// Names the column.
    #[must_use]
    pub fn in_column(mut self, column: &str) -> Self {
        self.column = Some(column.to_owned());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// Adds the place.
    #[must_use]
    pub fn at(self, place: Place) -> DataFault {
        DataFault {
            place,
            column: self.column,
            reason: self.reason,
            detail: self.detail,
            remedy: self.remedy,
        }
    }
}
