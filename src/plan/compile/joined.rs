//! The full joined row while a plan is compiled: every declared column of the stream and of each lookup so far.

use crate::expr::{Column, Scope};
use crate::model::DataType;

use super::stream::Stream;

/// Columns of the joined row; their order is that of the [`Scope`].
#[derive(Clone, Debug)]
pub(super) struct Joined {
    pub scope: Scope,
    /// First column and number of columns of each part: the stream, then each lookup.
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug)]
pub(super) struct Part {
    pub alias: String,
    pub start: usize,
    pub len: usize,
}

impl Joined {
    /// The stream alone.
    pub fn of_stream(stream: &Stream) -> Self {
        let mut row = Self { scope: Scope::default(), parts: Vec::new() };
        row.add(
            &stream.alias,
            stream.schema.columns.iter().map(|column| (column.name.clone(), column.ty.clone())),
        );
        row
    }

    /// Adds the columns of a lookup.
    pub fn add(&mut self, alias: &str, columns: impl IntoIterator<Item = (String, DataType)>) {
        let start = self.scope.columns.len();
        self.scope.columns.extend(columns.into_iter().map(|(name, ty)| Column {
            qualifier: alias.to_owned(),
            name,
            ty,
        }));
        self.parts.push(Part { alias: alias.to_owned(), start, len: self.scope.columns.len() - start });
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.scope.columns.len()
    }

    /// `alias.name` of a column.
    pub fn name(&self, column: usize) -> String {
        let column = &self.scope.columns[column];
        format!("{}.{}", column.qualifier, column.name)
    }
}
