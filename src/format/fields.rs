//! What is read from a message: values for the columns of a row.

use bumpalo::Bump;

use crate::model::{DataType, Datum};

/// A field of a message and the column of a row that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSpec {
    /// Name, for formats with names and for messages.
    pub name: String,
    /// Position of its column in the row.
    pub column: usize,
    /// Position in the message, for formats without names.
    pub ordinal: usize,
    /// Its type.
    pub ty: DataType,
}

/// One row as it was read. Columns that the message does not hold are NULL and not present.
#[derive(Debug)]
pub struct Fields<'a> {
    /// A value per column of the row.
    pub values: &'a mut [Datum<'a>],
    present: &'a mut [bool],
}

impl<'a> Fields<'a> {
    /// A row of `width` columns, none of them present.
    pub(super) fn none(width: usize, arena: &'a Bump) -> Self {
        Self {
            values: arena.alloc_slice_fill_with(width, |_| Datum::Null),
            present: arena.alloc_slice_fill_copy(width, false),
        }
    }

    /// Whether the message holds the column, be it as NULL.
    #[must_use]
    pub fn is_present(&self, column: usize) -> bool {
        self.present.get(column).copied().unwrap_or(false)
    }

    /// The place of a column's value, which is present from here on.
    pub(super) fn slot(&mut self, column: usize) -> Option<&mut Datum<'a>> {
        *self.present.get_mut(column)? = true;
        self.values.get_mut(column)
    }

    /// Puts a value.
    pub(super) fn set(&mut self, column: usize, datum: Datum<'a>) {
        if let Some(slot) = self.slot(column) {
            *slot = datum;
        }
    }
}
