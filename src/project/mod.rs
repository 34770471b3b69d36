//! From the joined row to the output row: what is left of `where`, then
//! `select`.

use bumpalo::Bump;

use crate::error::RowFault;
use crate::expr::{EvalError, Expression};
use crate::model::{ColumnReader, Datum};
use crate::plan::{JoinedLayout, JoinedRow, OutputColumn, PackedFilter, PlainRow, Plan, SinkConnector};

/// Filter and projection of one plan.
#[derive(Debug)]
pub struct Projector {
    layout: JoinedLayout,
    /// Reads stream columns alone: asked before any lookup.
    early_filter: Option<PackedFilter>,
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
        let early_filter = early_filter.map(|filter| PackedFilter::new(filter, plan.source.layout()));
        Self { layout, early_filter, filter, columns, plain, all_plain, deletion }
    }

    /// Whether a stream row passes what `where` says of the stream alone.
    ///
    /// # Errors
    /// The condition has no value for the row.
    pub fn stream_row_passes(&self, stream: &[u8], scratch: &mut Bump) -> Result<bool, RowFault> {
        let Some(filter) = &self.early_filter else { return Ok(true) };
        filter.holds(stream, scratch).map_err(fault_in_where)
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
