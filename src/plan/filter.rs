//! A condition on one packed row. One that is no more than the comparison of a
//! column with a number, as `amount >= 0`, is asked of the row's bytes, without
//! a walk over the expression.

use bumpalo::Bump;

use crate::expr::{EvalError, Expression, NumberTest};
use crate::model::{Cell, ColumnReader, RowLayout};

use super::PackedRow;

/// A condition on rows of one layout, whose columns are the expression's.
#[derive(Clone, Debug)]
pub struct PackedFilter {
    condition: Expression,
    layout: RowLayout,
    look: Option<NumberLook>,
}

impl PackedFilter {
    /// The condition on rows of `layout`.
    #[must_use]
    pub fn new(condition: Expression, layout: RowLayout) -> Self {
        let look = NumberLook::new(&condition, &layout);
        Self { condition, layout, look }
    }

    /// Whether the condition holds for the row: TRUE, not FALSE or NULL.
    ///
    /// # Errors
    /// It has no value for the row.
    #[inline]
    pub fn holds(&self, row: &[u8], scratch: &mut Bump) -> Result<bool, EvalError> {
        if let Some(holds) = self.look.as_ref().and_then(|look| look.holds(row)) {
            return Ok(holds);
        }
        scratch.reset();
        self.condition.holds(&PackedRow { layout: &self.layout, bytes: row }, scratch)
    }
}

/// The comparison of a column with a number.
#[derive(Clone, Debug)]
struct NumberLook {
    column: ColumnReader,
    test: NumberTest,
    /// The number, with as many digits after the point as the column has.
    number: i64,
}

impl NumberLook {
    /// `None` if the condition is another one, or the column cannot have the number.
    fn new(condition: &Expression, layout: &RowLayout) -> Option<Self> {
        let test = condition.as_number_test()?;
        let column = layout.reader(test.column)?;
        let more = column.scale()?.checked_sub(test.number.scale())?;
        let number = test.number.unscaled().checked_mul(10_i128.checked_pow(more.into())?)?;
        Some(Self { column, test, number: number.try_into().ok()? })
    }

    /// `None` if the value is no number that can be looked at.
    #[inline]
    fn holds(&self, row: &[u8]) -> Option<bool> {
        match self.column.cell(row) {
            Cell::Int(value) | Cell::Decimal(value, _) => Some(self.test.holds(value.cmp(&self.number))),
            Cell::Null => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Column, Scope, Settings};
    use crate::model::{DataType, Datum, Decimal, Type};

    fn scope(columns: &[(&str, DataType)]) -> Scope {
        let column = |(name, ty): &(&str, DataType)| Column {
            qualifier: String::new(),
            name: (*name).to_owned(),
            ty: ty.clone(),
        };
        Scope { columns: columns.iter().map(column).collect() }
    }

    #[test]
    fn a_look_at_a_number_decides_as_the_condition_does() {
        let decimal = Type::Decimal { precision: 10, scale: 2 };
        let columns =
            [("i", Type::Int.nullable()), ("d", decimal.nullable()), ("t", Type::TinyInt.nullable())];
        let layout = RowLayout::new(columns.iter().map(|(_, ty)| ty));
        let (scope, settings) = (scope(&columns), Settings { time_zone: "UTC".to_owned() });
        let numbers = [("i", "3"), ("i", "-2"), ("d", "3"), ("d", "2.5"), ("d", "2.555"), ("t", "3")];
        let mut looked = 0;
        for relation in ["=", "<>", "<", "<=", ">", ">="] {
            for (column, number) in numbers {
                let text = format!("{column} {relation} {number}");
                let condition = Expression::compile(&text, &scope, &settings).unwrap();
                let filter = PackedFilter::new(condition.clone(), layout.clone());
                looked += usize::from(filter.look.is_some());
                for value in [-300, -200, 0, 200, 250, 255, 256, 299, 300, 301] {
                    let (int, decimal) = (Datum::Int(value / 100), Decimal::new(value.into(), 2));
                    for row in [[int, Datum::Decimal(decimal), int], [Datum::Null; 3]] {
                        let (mut packed, mut scratch) = (Vec::new(), Bump::new());
                        layout.pack(&row, &mut packed);
                        let expected = condition.holds(&row[..], &scratch).unwrap();
                        assert_eq!(filter.holds(&packed, &mut scratch), Ok(expected), "{text} of {row:?}");
                    }
                }
            }
        }
        assert_eq!(looked, 6 * 4, "at the integer, and at the decimal where it has the number's digits");
    }
}
