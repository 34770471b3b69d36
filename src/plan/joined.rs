//! The joined row as expressions see it: one flat list of columns over the
//! packed stream row and the packed dimension rows.

use crate::expr::Columns;
use crate::model::{Cell, Cells, ColumnReader, Datum, RowLayout};

use super::Plan;

/// Which column of which part a position of the joined row is.
#[derive(Clone, Debug)]
pub struct JoinedLayout {
    parts: Vec<RowLayout>,
    /// Part and column of every position.
    columns: Vec<(u16, u16)>,
}

impl JoinedLayout {
    /// Layout of rows made of these parts.
    #[must_use]
    pub fn new(parts: Vec<RowLayout>) -> Self {
        let mut columns = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            // A definition with 65,536 tables or columns is refused long before.
            let part_number = u16::try_from(i).unwrap_or(u16::MAX);
            columns.extend((0..part.len()).map(|c| (part_number, u16::try_from(c).unwrap_or(u16::MAX))));
        }
        Self { parts, columns }
    }

    /// The joined row of a plan: the stream, then each lookup.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let lookups = plan.lookups.iter().map(super::LookupPlan::layout);
        Self::new(std::iter::once(plan.source.layout()).chain(lookups).collect())
    }

    /// The part that a position of the joined row is in, and the column of that part's layout.
    #[must_use]
    pub fn column(&self, index: usize) -> Option<(usize, &RowLayout, usize)> {
        let &(part, column) = self.columns.get(index)?;
        Some((usize::from(part), self.parts.get(usize::from(part))?, usize::from(column)))
    }

    /// Number of columns of the first part, the stream row.
    #[must_use]
    pub fn stream_columns(&self) -> usize {
        self.parts.first().map_or(0, RowLayout::len)
    }
}

/// One joined row: a packed row per part. A part that is missing or empty reads as NULLs.
#[derive(Clone, Copy, Debug)]
pub struct JoinedRow<'a> {
    /// Where its columns are.
    pub layout: &'a JoinedLayout,
    /// The packed parts.
    pub parts: &'a [&'a [u8]],
}

impl Columns for JoinedRow<'_> {
    fn datum(&self, index: usize) -> Datum<'_> {
        let Some(&(part, column)) = self.layout.columns.get(index) else { return Datum::Null };
        match (self.layout.parts.get(usize::from(part)), self.parts.get(usize::from(part))) {
            (Some(layout), Some(row)) => layout.get(row, usize::from(column)),
            _ => Datum::Null,
        }
    }
}

/// An output row whose columns are columns of the joined row, read where they lie.
#[derive(Clone, Copy, Debug)]
pub struct PlainRow<'a> {
    /// Part of the joined row and column of the part, for each column of the output row.
    pub columns: &'a [(usize, ColumnReader)],
    /// The packed parts.
    pub parts: &'a [&'a [u8]],
}

impl Cells for PlainRow<'_> {
    #[inline]
    fn cell(&self, index: usize) -> Cell<'_> {
        let Some((part, column)) = self.columns.get(index) else { return Cell::Null };
        self.parts.get(*part).map_or(Cell::Null, |row| column.cell(row))
    }
}

/// One packed row alone.
#[derive(Clone, Copy, Debug)]
pub struct PackedRow<'a> {
    /// Its layout.
    pub layout: &'a RowLayout,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl Columns for PackedRow<'_> {
    fn datum(&self, index: usize) -> Datum<'_> {
        self.layout.get(self.bytes, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Type;

    #[test]
    fn positions_run_through_the_parts_and_missing_parts_are_null() {
        let stream = RowLayout::new(&[Type::Int.nullable(), Type::STRING.nullable()]);
        let dimension = RowLayout::new(&[Type::Int.nullable()]);
        let layout = JoinedLayout::new(vec![stream.clone(), dimension.clone()]);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        stream.pack(&[Datum::Int(1), Datum::Str("x")], &mut a);
        dimension.pack(&[Datum::Int(2)], &mut b);
        let row = JoinedRow { layout: &layout, parts: &[&a, &b] };
        assert_eq!(
            [row.datum(0), row.datum(1), row.datum(2)],
            [Datum::Int(1), Datum::Str("x"), Datum::Int(2)]
        );
        assert_eq!(row.datum(3), Datum::Null);
        let padded = JoinedRow { layout: &layout, parts: &[&a, &[]] };
        assert_eq!(padded.datum(2), Datum::Null);
        let stream_only = JoinedRow { layout: &layout, parts: &[&a] };
        assert_eq!(stream_only.datum(2), Datum::Null);
    }
}
