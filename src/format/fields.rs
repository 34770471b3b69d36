//! What is read from a message: values for the columns of a row.

use bumpalo::Bump;

use crate::model::{DataType, Datum};

/// Memory of an arena that is kept from one message to the next: far more than usual messages need,
/// and little enough that one huge message does not stay in memory for ever.
const KEPT_MAX: usize = 1 << 20;

/// Most memory that the rows of one message may take. A message of a few bytes per row can hold a great many rows of
/// many columns; none that is meant to be read comes near.
const MESSAGE_MAX: usize = 256 << 20;

/// Makes an arena ready for the next message.
pub fn recycle(arena: &mut Bump) {
    if arena.allocated_bytes() > KEPT_MAX {
        *arena = Bump::new();
    } else {
        arena.reset();
    }
}

/// Whether there is room for another row of the message.
pub(super) fn has_room(arena: &Bump) -> bool {
    arena.allocated_bytes() <= MESSAGE_MAX
}

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

/// Columns whose presence is noted in one word.
const NOTED: usize = u64::BITS as usize;

/// One row as it was read. Columns that the message does not hold are NULL and not present.
#[derive(Debug)]
pub struct Fields<'a> {
    /// A value per column of the row.
    pub values: &'a mut [Datum<'a>],
    /// Which of the first columns are present, a bit each.
    present: u64,
    /// The same of the columns after them.
    also_present: &'a mut [bool],
}

impl<'a> Fields<'a> {
    /// A row of `width` columns, none of them present.
    #[inline]
    pub(super) fn none(width: usize, arena: &'a Bump) -> Self {
        let also_present: &mut [bool] =
            if width <= NOTED { &mut [] } else { arena.alloc_slice_fill_copy(width - NOTED, false) };
        Self { values: arena.alloc_slice_fill_with(width, |_| Datum::Null), present: 0, also_present }
    }

    /// Whether the message holds the column, be it as NULL.
    #[must_use]
    #[inline]
    pub fn is_present(&self, column: usize) -> bool {
        match column.checked_sub(NOTED) {
            None => self.present & (1 << column) != 0,
            Some(later) => self.also_present.get(later).copied().unwrap_or(false),
        }
    }

    /// The place of a column's value, which is present from here on.
    #[inline]
    pub(super) fn slot(&mut self, column: usize) -> Option<&mut Datum<'a>> {
        match column.checked_sub(NOTED) {
            None => self.present |= 1 << column,
            Some(later) => *self.also_present.get_mut(later)? = true,
        }
        self.values.get_mut(column)
    }

    /// Puts a value.
    #[inline]
    pub(super) fn set(&mut self, column: usize, datum: Datum<'a>) {
        if let Some(slot) = self.slot(column) {
            *slot = datum;
        }
    }
}
