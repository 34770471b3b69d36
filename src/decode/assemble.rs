//! From the fields of a value to a stream row with its key.

use bumpalo::Bump;
use smallvec::SmallVec;

use crate::error::{Reason, RowFault};
use crate::expr::Columns;
use crate::format::Fields;
use crate::model::{Datum, RowLayout, Slice};
use crate::plan::{ColumnSource, PhysicalColumn, SourceKind, SourcePlan, StreamColumn};

use super::metadata::{self, Values};
use super::rows::{DecodedRow, DecodedRows, KeyMismatch, Op};

/// Key columns that need no allocation.
const USUAL_KEY_COLUMNS: usize = 8;

/// Knows where each column of the stream row comes from.
#[derive(Clone, Debug)]
pub(super) struct Assembly {
    upsert: bool,
    physical: Box<[PhysicalColumn]>,
    key_columns: Box<[usize]>,
    value_includes_key: bool,
    /// Physical columns that must not be NULL.
    not_null: Box<[usize]>,
    columns: Box<[StreamColumn]>,
    /// The stream row is the physical row.
    identity: bool,
    layout: RowLayout,
    key_layout: RowLayout,
    mismatch_is_error: bool,
    lossy: bool,
}

/// What a row is assembled from besides the fields of the value.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// Index of the record in its batch.
    pub record: u32,
    /// The packed primary key of an upsert source's record.
    pub routed_key: &'a [u8],
    /// The fields of the record key, where an append-only source reads them.
    pub key_values: &'a [Datum<'a>],
    /// Metadata of the record.
    pub metadata: &'a Values<'a>,
    /// For what has to be built.
    pub arena: &'a Bump,
}

/// Physical columns followed by metadata: what computed columns see.
struct ComputedScope<'a> {
    physical: &'a [Datum<'a>],
    metadata: &'a Values<'a>,
}

impl Columns for ComputedScope<'_> {
    fn datum(&self, index: usize) -> Datum<'_> {
        let metadata = || self.metadata.get(index.checked_sub(self.physical.len())?);
        self.physical.get(index).or_else(metadata).copied().unwrap_or(Datum::Null)
    }
}

impl Assembly {
    pub(super) fn new(source: &SourcePlan) -> Self {
        let upsert = source.kind == SourceKind::UpsertKafka;
        let key = |i: &usize| upsert && source.key_columns.contains(i);
        let not_null = source.physical.iter().enumerate().filter(|(i, column)| {
            // Flink reads a missing key column as NULL, and so does `value.lossy-conversion: flink`.
            if key(i) { !source.lossy_conversion } else { !column.ty.nullable }
        });
        let identity = source.columns.len() == source.physical.len()
            && source.columns.iter().enumerate().all(|(i, column)| match column.source {
                ColumnSource::Physical(physical) => physical == i,
                _ => false,
            });
        Self {
            upsert,
            not_null: not_null.map(|(i, _)| i).collect(),
            physical: source.physical.clone().into(),
            key_columns: source.key_columns.clone().into(),
            value_includes_key: source.value_includes_key,
            columns: source.columns.clone().into(),
            identity,
            layout: source.layout(),
            key_layout: source.key_layout(),
            mismatch_is_error: source.key_mismatch_is_error,
            lossy: source.lossy_conversion,
        }
    }

    /// Positions in [`crate::plan::Metadata::ALL`] that some column reads.
    pub(super) fn metadata_needed(&self) -> Vec<usize> {
        let mut needed = Vec::new();
        for column in &self.columns {
            match &column.source {
                ColumnSource::Physical(_) => {}
                ColumnSource::Metadata(one) => needed.push(metadata::position(*one)),
                ColumnSource::Computed(expression) => {
                    let offset = self.physical.len();
                    needed.extend(expression.columns().into_iter().filter_map(|i| i.checked_sub(offset)));
                }
            }
        }
        needed
    }

    /// Adds the row of one value.
    pub(super) fn row<'a>(
        &'a self,
        fields: Fields<'a>,
        source: Source<'a>,
        out: &mut DecodedRows,
    ) -> Result<(), RowFault> {
        if self.value_includes_key {
            self.check_key_columns(&fields)?;
        } else {
            self.fill_key(fields.values, source);
        }
        let physical: &'a [Datum<'a>] = fields.values;
        self.check_not_null(physical)?;
        let key = if self.upsert { self.key(physical, source, out)? } else { Slice::default() };
        let start = out.arena.len();
        if self.identity {
            self.layout.pack(physical, &mut out.arena);
        } else {
            let scope = ComputedScope { physical, metadata: source.metadata };
            let row = source.arena.alloc_slice_fill_with(self.columns.len(), |_| Datum::Null);
            for (column, slot) in self.columns.iter().zip(row.iter_mut()) {
                *slot = value_of(column, &scope, source.arena)?;
            }
            self.layout.pack(row, &mut out.arena);
        }
        let op = if self.upsert { Op::Upsert } else { Op::Insert };
        let row = Slice::since(&out.arena, start);
        out.rows.push(DecodedRow { op, key, row, record: source.record });
        Ok(())
    }

    /// Under `EXCEPT_KEY` the key columns come from the record key.
    fn fill_key<'a>(&self, physical: &mut [Datum<'a>], source: Source<'a>) {
        for (k, &column) in self.key_columns.iter().enumerate() {
            let Some(slot) = physical.get_mut(column) else { continue };
            *slot = if self.upsert {
                self.key_layout.get(source.routed_key, k)
            } else {
                source.key_values.get(k).copied().unwrap_or(Datum::Null)
            };
        }
    }

    /// Under `ALL` the value must hold the key columns, lest the row get a NULL key.
    fn check_key_columns(&self, fields: &Fields<'_>) -> Result<(), RowFault> {
        if !self.upsert || self.lossy {
            return Ok(());
        }
        match self.key_columns.iter().find(|&&column| !fields.is_present(column)) {
            None => Ok(()),
            Some(&column) => Err(self.missing_key_column(column)),
        }
    }

    fn missing_key_column(&self, column: usize) -> RowFault {
        RowFault::new(
            Reason::MissingKeyColumn,
            "the value has no such field, and value.fields-include is ALL",
        )
        .in_column(self.name(column))
        .remedy("if values do not hold the key, set value.fields-include: EXCEPT_KEY")
    }

    fn name(&self, column: usize) -> &str {
        self.physical.get(column).map_or("", |column| &column.name)
    }

    fn check_not_null(&self, physical: &[Datum<'_>]) -> Result<(), RowFault> {
        for &column in &self.not_null {
            if physical.get(column).is_none_or(Datum::is_null) {
                return Err(RowFault::new(Reason::NotNull, "NULL for a column that is NOT NULL")
                    .in_column(self.name(column))
                    .remedy("correct the producer, or declare the column without NOT NULL"));
            }
        }
        Ok(())
    }

    /// The row's key: the value's copy under `ALL`, compared with the record's.
    fn key<'a>(
        &self,
        physical: &[Datum<'a>],
        source: Source<'a>,
        out: &mut DecodedRows,
    ) -> Result<Slice, RowFault> {
        if !self.value_includes_key || self.is_key_of(physical, source.routed_key) {
            return Ok(Slice::append(&mut out.arena, source.routed_key));
        }
        let start = out.arena.len();
        self.pack_key(physical, &mut out.arena);
        let slice = Slice::since(&out.arena, start);
        if slice.of(&out.arena) != source.routed_key {
            if self.mismatch_is_error {
                return Err(self.mismatch(source.routed_key, slice.of(&out.arena)));
            }
            let row = u32::try_from(out.rows.len()).unwrap_or(u32::MAX);
            out.key_mismatches.push(KeyMismatch { record: source.record, row });
        }
        Ok(slice)
    }

    /// Whether the value's key is surely the record's: one integer, as most keys are.
    #[inline]
    fn is_key_of(&self, physical: &[Datum<'_>], routed: &[u8]) -> bool {
        match *self.key_columns {
            [column] => match physical.get(column) {
                Some(&Datum::Int(key)) => self.key_layout.is_integer(routed, key),
                _ => false,
            },
            _ => false,
        }
    }

    fn pack_key(&self, physical: &[Datum<'_>], out: &mut Vec<u8>) {
        let datum = |&column: &usize| physical.get(column).copied().unwrap_or(Datum::Null);
        let key: SmallVec<[Datum<'_>; USUAL_KEY_COLUMNS]> = self.key_columns.iter().map(datum).collect();
        self.key_layout.pack(&key, out);
    }

    /// The fault of a row whose value names another key than its record.
    pub(super) fn mismatch(&self, of_record: &[u8], of_value: &[u8]) -> RowFault {
        let pairs = self.key_columns.iter().enumerate();
        let differs = |k: usize| self.key_layout.get(of_record, k) != self.key_layout.get(of_value, k);
        let fault = |k: usize, column: usize| {
            let (record, value) = (self.key_layout.get(of_record, k), self.key_layout.get(of_value, k));
            RowFault::new(Reason::KeyMismatch, format!("the record key says {record:?}, the value {value:?}"))
                .in_column(self.name(column))
                .remedy("correct the producer: a tombstone with this record key will not find the row")
        };
        let first = pairs.clone().find(|(k, _)| differs(*k)).or_else(|| pairs.clone().next());
        first.map_or_else(
            || RowFault::new(Reason::KeyMismatch, "the record key and the value disagree"),
            |(k, &column)| fault(k, column),
        )
    }
}

fn value_of<'a>(
    column: &'a StreamColumn,
    scope: &'a ComputedScope<'a>,
    arena: &'a Bump,
) -> Result<Datum<'a>, RowFault> {
    match &column.source {
        ColumnSource::Physical(i) => Ok(scope.physical.get(*i).copied().unwrap_or(Datum::Null)),
        ColumnSource::Metadata(one) => {
            Ok(scope.metadata.get(metadata::position(*one)).copied().unwrap_or(Datum::Null))
        }
        ColumnSource::Computed(expression) => expression
            .eval(scope, arena)
            .map_err(|error| RowFault::new(error.reason, error.detail).in_column(&column.name)),
    }
}
