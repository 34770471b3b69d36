//! From result rows to packed rows, each handed to the key it answers.

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::error::{Error, Kind, Result};
use crate::model::RowLayout;
use crate::plan::DimensionColumn;

use super::dialect::Dialect;

/// Rows of one dimension key, each packed by the layout of the fetched columns.
pub(super) type Rows = Vec<Arc<[u8]>>;

/// Reads the rows of one dimension table.
pub(super) struct Reader {
    /// Name of the table in the definition.
    pub(super) table: String,
    pub(super) columns: Vec<DimensionColumn>,
    pub(super) layout: RowLayout,
    pub(super) zone: TimeZone,
}

impl Reader {
    /// Packs the rows of a statement and hands each to its key.
    pub(super) fn place<D: Dialect>(
        &self,
        rows: &[D::Row],
        positions: &[usize],
        answer: &mut [Rows],
    ) -> Result<()> {
        let Some(first) = rows.first() else { return Ok(()) };
        let shape = D::shape(first);
        let mut packed = Vec::new();
        for row in rows {
            let number = D::number(row, &shape);
            let at = number.and_then(|number| positions.get(usize::try_from(number - 1).ok()?));
            let place = at.and_then(|at| answer.get_mut(*at));
            let place = place.ok_or_else(|| Error::bug("a lookup row came back without its key"))?;
            packed.clear();
            self.pack::<D>(row, &shape, &mut packed)?;
            place.push(Arc::from(packed.as_slice()));
        }
        Ok(())
    }

    /// Appends a row, packed: its columns from the second on.
    pub(super) fn pack<D: Dialect>(
        &self,
        row: &D::Row,
        shape: &D::Shape,
        packed: &mut Vec<u8>,
    ) -> Result<()> {
        let mut values = Vec::with_capacity(self.columns.len());
        for (i, column) in self.columns.iter().enumerate() {
            let value = D::value(row, i + 1, shape, &column.ty.kind, &self.zone);
            let value = value.map_err(|met| self.misfit::<D>(column, &met))?;
            if value.is_null() && !column.ty.nullable {
                let met = "NULL, or a date that is none, for a NOT NULL column";
                return Err(self.misfit::<D>(column, met));
            }
            values.push(value);
        }
        self.layout.pack(&values, packed);
        Ok(())
    }

    fn misfit<D: Dialect>(&self, column: &DimensionColumn, met: &str) -> Error {
        Error::new(
            Kind::Data,
            format!(
                "table {}, column {}: {met}; \
                 correct the row in {}, or declare the column as wide as it is there",
                self.table,
                column.name,
                D::NAME
            ),
        )
    }
}
