//! From result rows to packed rows, each handed to the key it answers.

use std::sync::Arc;

use jiff::tz::TimeZone;
use sqlx::mysql::MySqlRow;

use crate::error::{Error, Kind, Result};
use crate::model::{Datum, RowLayout};
use crate::plan::DimensionColumn;

use super::cells::{self, Wire};

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
    pub(super) fn place(&self, rows: &[MySqlRow], positions: &[usize], answer: &mut [Rows]) -> Result<()> {
        let Some(first) = rows.first() else { return Ok(()) };
        let wires = Wire::of_row(first);
        let number_wire = wires.first().copied().unwrap_or(Wire::Signed);
        let mut packed = Vec::new();
        for row in rows {
            let number = cells::raw(row, 0).and_then(|bytes| cells::integer(number_wire, bytes));
            let at = number.and_then(|number| positions.get(usize::try_from(number - 1).ok()?));
            let place = at.and_then(|at| answer.get_mut(*at));
            let place = place.ok_or_else(|| Error::bug("a lookup row came back without its key"))?;
            packed.clear();
            self.pack(row, &wires, &mut packed)?;
            place.push(Arc::from(packed.as_slice()));
        }
        Ok(())
    }

    /// Appends a row, packed: its columns from the second on.
    pub(super) fn pack(&self, row: &MySqlRow, wires: &[Wire], packed: &mut Vec<u8>) -> Result<()> {
        let mut values = Vec::with_capacity(self.columns.len());
        for (i, column) in self.columns.iter().enumerate() {
            let wire = wires.get(i + 1).copied().unwrap_or(Wire::Bytes);
            let value = match cells::raw(row, i + 1) {
                None => Datum::Null,
                Some(bytes) => cells::read(wire, &column.ty.kind, bytes, &self.zone)
                    .map_err(|met| self.misfit(column, &met))?,
            };
            if value.is_null() && !column.ty.nullable {
                return Err(self.misfit(column, "NULL, or a date that is none, for a NOT NULL column"));
            }
            values.push(value);
        }
        self.layout.pack(&values, packed);
        Ok(())
    }

    fn misfit(&self, column: &DimensionColumn, met: &str) -> Error {
        Error::new(
            Kind::Data,
            format!(
                "table {}, column {}: {met} (value_out_of_range); \
                 correct the row in MySQL, or declare the column as wide as it is there",
                self.table, column.name
            ),
        )
    }
}
