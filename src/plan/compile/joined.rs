//! The full joined row while a plan is compiled: every declared column of the stream and of each lookup so far.

use crate::config::Text;
use crate::expr::{Column, Expression, Parsed, Scope};
use crate::model::DataType;

use super::context::Context;
use super::stream::Stream;

/// Columns of the joined row; their order is that of the [`Scope`].
#[derive(Clone, Debug)]
pub(super) struct Joined {
    pub scope: Scope,
    /// First column and number of columns of each part: the stream, then each lookup.
    pub parts: Vec<Part>,
    /// Columns that are `PROCTIME()`: they type a column of the stream and have no value.
    processing_time: Vec<usize>,
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
        let columns = 0..stream.schema.columns.len();
        let processing_time = columns.filter(|i| stream.is_processing_time(*i)).collect();
        let mut row = Self { scope: Scope::default(), parts: Vec::new(), processing_time };
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

    /// Whether a column is `PROCTIME()`.
    pub fn is_processing_time(&self, column: usize) -> bool {
        self.processing_time.contains(&column)
    }

    /// Compiles a part of `text` over this row; the processing time cannot be read.
    pub fn expression(&self, context: &mut Context, text: &Text, part: &Parsed) -> Option<Expression> {
        let compiled = match part.compile(&self.scope, &context.settings) {
            Ok(compiled) => compiled,
            Err(error) => {
                context.sql_fault(text, 0, error);
                return None;
            }
        };
        if let Some(column) = compiled.columns().into_iter().find(|column| self.is_processing_time(*column)) {
            let what =
                format!("'{}' is the processing time, which has no value of its own", self.name(column));
            context.fault(
                &text.place(part.at()),
                what,
                "lookups always run in processing time: leave it out",
            );
            return None;
        }
        Some(compiled)
    }

    /// `alias.name` of a column.
    pub fn name(&self, column: usize) -> String {
        let column = &self.scope.columns[column];
        format!("{}.{}", column.qualifier, column.name)
    }
}
