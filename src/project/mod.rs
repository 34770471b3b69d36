//! From the joined row to the output row: what is left of `where`, then
//! `select`.

use bumpalo::Bump;

use crate::error::RowFault;
use crate::expr::{EvalError, Expression, NumberTest};
use crate::model::{Cell, ColumnReader, Datum};
use crate::plan::{JoinedLayout, JoinedRow, OutputColumn, PlainRow, Plan, SinkConnector};

/// A condition that compares a column of the stream row with a number, asked of the packed row.
#[derive(Debug)]
struct NumberFilter {
    column: ColumnReader,
    test: NumberTest,
    /// The number, with as many digits after the point as the column has.
    number: i64,
}

impl NumberFilter {
    /// `None` if the condition is another one, or the column cannot have the number.
    fn new(filter: &Expression, layout: &JoinedLayout) -> Option<Self> {
        let test = filter.as_number_test()?;
        let (_, row, at) = layout.column(test.column)?;
        let column = row.reader(at)?;
        let more = column.scale()?.checked_sub(test.number.scale())?;
        let number = test.number.unscaled().checked_mul(10_i128.checked_pow(more.into())?)?;
        Some(Self { column, test, number: number.try_into().ok()? })
    }

    /// `None` if the value is no number that can be looked at.
    #[inline]
    fn passes(&self, row: &[u8]) -> Option<bool> {
        match self.column.cell(row) {
            Cell::Int(value) | Cell::Decimal(value, _) => Some(self.test.holds(value.cmp(&self.number))),
            Cell::Null => Some(false),
            _ => None,
        }
    }
}

/// Filter and projection of one plan.
#[derive(Debug)]
pub struct Projector {
    layout: JoinedLayout,
    /// Reads stream columns alone: asked before any lookup.
    early_filter: Option<Expression>,
    /// The same, where it is no more than a look at a number.
    early_test: Option<NumberFilter>,
    filter: Option<Expression>,
    columns: Vec<OutputColumn>,
    /// Where the columns lie that are nothing but a column of the joined row: read without the expression around it.
    plain: Vec<Option<(usize, ColumnReader)>>,
    /// The same, if all columns are, and every row passes.
    all_plain: Option<Vec<(usize, ColumnReader)>>,
    /// What a deletion by key carries: the sink's key and its writable metadata.
    deletion: Vec<bool>,
}

impl Projector {
    /// The filter and projection of `plan`.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let layout = JoinedLayout::of(plan);
        let stream_columns = layout.stream_columns();
        let on_stream = |filter: &Expression| filter.columns().iter().all(|&at| at < stream_columns);
        let (early_filter, filter) = match plan.filter.clone() {
            Some(filter) if on_stream(&filter) => (Some(filter), None),
            filter => (None, filter),
        };
        let metadata = match &plan.sink.connector {
            SinkConnector::UpsertKafka(sink) => [sink.timestamp_column, sink.headers_column],
            _ => [None, None],
        };
        let is_needed = |at| plan.sink.primary_key.contains(&at) || metadata.contains(&Some(at));
        let columns = plan.project.columns.clone();
        let deletion = (0..columns.len()).map(is_needed).collect();
        let place = |column: &OutputColumn| {
            let (part, row, at) = layout.column(column.value.as_column()?)?;
            Some((part, row.reader(at)?))
        };
        let plain: Vec<_> = columns.iter().map(place).collect();
        let all_plain = plain.iter().copied().collect::<Option<Vec<_>>>().filter(|_| filter.is_none());
        let early_test = early_filter.as_ref().and_then(|filter| NumberFilter::new(filter, &layout));
        Self { layout, early_filter, early_test, filter, columns, plain, all_plain, deletion }
    }

    /// Whether a stream row passes what `where` says of the stream alone.
    ///
    /// # Errors
    /// The condition has no value for the row.
    pub fn stream_row_passes(&self, stream: &[u8], bump: &Bump) -> Result<bool, RowFault> {
        if let Some(passes) = self.early_test.as_ref().and_then(|test| test.passes(stream)) {
            return Ok(passes);
        }
        let Some(filter) = &self.early_filter else { return Ok(true) };
        let row = JoinedRow { layout: &self.layout, parts: &[stream] };
        filter.holds(&row, bump).map_err(fault_in_where)
    }

    /// Whether [`Projector::stream_row_passes`] can be false.
    #[must_use]
    pub fn filters_stream_rows(&self) -> bool {
        self.early_filter.is_some()
    }

    /// The output row of a joined row, where it is made of columns of it alone and no condition is left to ask: the
    /// same as [`Projector::filtered`] gives.
    #[must_use]
    #[inline]
    pub fn plain<'a>(&'a self, parts: &'a [&'a [u8]]) -> Option<PlainRow<'a>> {
        self.all_plain.as_ref().map(|columns| PlainRow { columns, parts })
    }

    /// The output row of a joined row; `None` if `where` does not hold.
    ///
    /// # Errors
    /// The condition or a column has no value for the row.
    pub fn filtered<'a>(
        &'a self,
        parts: &'a [&'a [u8]],
        bump: &'a Bump,
    ) -> Result<Option<&'a [Datum<'a>]>, RowFault> {
        if let Some(filter) = &self.filter {
            let row = JoinedRow { layout: &self.layout, parts };
            if !filter.holds(&row, bump).map_err(fault_in_where)? {
                return Ok(None);
            }
        }
        self.project(parts, bump).map(Some)
    }

    /// The output row of a joined row that passed `where` before.
    ///
    /// # Errors
    /// A column has no value for the row.
    pub fn project<'a>(&'a self, parts: &'a [&'a [u8]], bump: &'a Bump) -> Result<&'a [Datum<'a>], RowFault> {
        let row = bump.alloc(JoinedRow { layout: &self.layout, parts });
        let row = &*row;
        let values = self.columns.iter().zip(&self.plain).map(|(column, plain)| match plain {
            Some((part, column)) => Ok(parts.get(*part).map_or(Datum::Null, |row| column.datum(row))),
            None => column.value.eval(row, bump).map_err(|error| fault_in_column(column, error)),
        });
        bump.alloc_slice_try_fill_iter(values).map(|values| &*values)
    }

    /// What a deletion by key carries, from the stream row alone: the sink's key is a function of it.
    ///
    /// # Errors
    /// A column has no value for the row.
    pub fn deletion<'a>(&'a self, stream: &'a [u8], bump: &'a Bump) -> Result<&'a [Datum<'a>], RowFault> {
        let parts = bump.alloc([stream]);
        let row = &*bump.alloc(JoinedRow { layout: &self.layout, parts: &*parts });
        let values = self.columns.iter().zip(&self.deletion).map(|(column, &needed)| {
            if !needed {
                return Ok(Datum::Null);
            }
            column.value.eval(row, bump).map_err(|error| fault_in_column(column, error))
        });
        bump.alloc_slice_try_fill_iter(values).map(|values| &*values)
    }
}

fn fault_in_where(error: EvalError) -> RowFault {
    RowFault::new(error.reason, format!("where: {}", error.detail))
}

fn fault_in_column(column: &OutputColumn, error: EvalError) -> RowFault {
    RowFault::new(error.reason, format!("select: {}", error.detail)).in_column(&column.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Column, Scope, Settings};
    use crate::model::{DataType, Decimal, RowLayout, Type};

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
        let scope = scope(&columns);
        let row = RowLayout::new(columns.iter().map(|(_, ty)| ty));
        let layout = JoinedLayout::new(vec![row.clone()]);
        let settings = Settings { time_zone: "UTC".to_owned() };
        let mut looked = 0;
        for relation in ["=", "<>", "<", "<=", ">", ">="] {
            for (column, number) in
                [("i", "3"), ("i", "-2"), ("d", "3"), ("d", "2.5"), ("d", "2.555"), ("t", "3")]
            {
                let text = format!("{column} {relation} {number}");
                let filter = Expression::compile(&text, &scope, &settings).unwrap();
                let test = NumberFilter::new(&filter, &layout);
                for value in [-300, -200, 0, 200, 250, 255, 256, 299, 300, 301] {
                    let numbers = [Datum::Int(value / 100), Datum::Decimal(Decimal::new(value.into(), 2))];
                    for values in [[numbers[0], numbers[1], numbers[0]], [Datum::Null; 3]] {
                        let mut packed = Vec::new();
                        row.pack(&values, &mut packed);
                        let expected = filter.holds(&values[..], &Bump::new()).unwrap();
                        if let Some(passes) = test.as_ref().and_then(|test| test.passes(&packed)) {
                            looked += 1;
                            assert_eq!(passes, expected, "{text} of {values:?}");
                        }
                    }
                }
            }
        }
        assert_eq!(looked, 6 * 4 * 20, "of the integer, and of the decimal where it has the digits");
    }
}
