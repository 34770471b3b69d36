//! How a row becomes one byte slice, and back.
//!
//! `[null bits][fixed slots][text and bytes]`: a bit per column (set = NULL),
//! then each column's slot at a place fixed by the layout, then the variable
//! parts in column order. A variable column's slot is the end of its part, so
//! its start is the end of the one before. A NULL column of fixed length has a
//! zero slot, a variable one an empty part.
//! Columns are written in order and only once: equal rows have equal bytes,
//! which is how ChangelogNormalize compares them (NaN equals NaN, 0.0 is not
//! -0.0; Flink compares `BinaryRowData` the same way).

use super::{DataType, Datum, Decimal, Timestamp, Type};

/// Place and kind of every column in a packed row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLayout {
    slots: Box<[Slot]>,
    /// Positions of the columns whose values have no fixed length.
    variable: Box<[usize]>,
    /// Bytes of null bits and fixed slots.
    fixed: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    kind: SlotKind,
    at: usize,
    /// Slot of the variable column before this one.
    previous: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotKind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
    Decimal64(u8),
    Decimal128(u8),
    Date,
    Time,
    Millis,
    Nanos,
    Text,
    Bytes,
    Nested,
}

impl SlotKind {
    fn of(ty: &Type) -> Self {
        match ty {
            Type::Boolean | Type::Null => Self::Bool,
            Type::TinyInt => Self::I8,
            Type::SmallInt => Self::I16,
            Type::Int | Type::IntervalMonths => Self::I32,
            Type::BigInt | Type::IntervalMillis => Self::I64,
            Type::Float => Self::F32,
            Type::Double => Self::F64,
            Type::Decimal { precision, scale } if *precision <= 18 => Self::Decimal64(*scale),
            Type::Decimal { scale, .. } => Self::Decimal128(*scale),
            Type::Char(_) | Type::Varchar(_) => Self::Text,
            Type::Binary(_) | Type::Varbinary(_) => Self::Bytes,
            Type::Date => Self::Date,
            Type::Time(_) => Self::Time,
            Type::Timestamp(p) | Type::TimestampLtz(p) if *p <= 3 => Self::Millis,
            Type::Timestamp(_) | Type::TimestampLtz(_) => Self::Nanos,
            Type::Array(_) | Type::Map(..) | Type::Row(_) => Self::Nested,
        }
    }

    fn width(self) -> usize {
        match self {
            Self::Bool | Self::I8 => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 | Self::Date | Self::Time | Self::Text | Self::Bytes | Self::Nested => 4,
            Self::I64 | Self::F64 | Self::Decimal64(_) | Self::Millis => 8,
            Self::Decimal128(_) => 16,
            Self::Nanos => 12,
        }
    }

    fn is_variable(self) -> bool {
        matches!(self, Self::Text | Self::Bytes | Self::Nested)
    }

    /// What a value of a variable column adds to the row's end; `None` for NULL and for a value of another kind.
    #[inline]
    fn variable_part<'a>(self, datum: &Datum<'a>) -> Option<&'a [u8]> {
        match (self, *datum) {
            (Self::Text, Datum::Str(text)) => Some(text.as_bytes()),
            (Self::Bytes, Datum::Bytes(bytes)) | (Self::Nested, Datum::Nested(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

impl Slot {
    /// Writes the slot; false if the value is NULL or of another kind. `variable` counts the bytes of the variable
    /// parts.
    #[inline]
    fn write(&self, datum: &Datum<'_>, variable: &mut u32, fixed: &mut [u8]) -> bool {
        let at = self.at;
        match (self.kind, *datum) {
            (SlotKind::I32, Datum::Int(v)) => put(fixed, at, &(v as i32).to_le_bytes()),
            (SlotKind::I64, Datum::Int(v) | Datum::Millis(v)) => put(fixed, at, &v.to_le_bytes()),
            (SlotKind::Decimal64(_), Datum::Decimal(v)) => {
                put(fixed, at, &(v.unscaled() as i64).to_le_bytes())
            }
            (SlotKind::Millis, Datum::Timestamp(v)) => put(fixed, at, &v.millis.to_le_bytes()),
            (SlotKind::Text | SlotKind::Bytes | SlotKind::Nested, _) => {
                let part = self.kind.variable_part(datum);
                let len = u32::try_from(part.map_or(0, <[u8]>::len)).unwrap_or(u32::MAX);
                *variable = variable.saturating_add(len);
                put(fixed, at, &variable.to_le_bytes());
                return part.is_some();
            }
            _ => return self.write_rare(datum, fixed),
        }
        true
    }

    #[inline(never)]
    fn write_rare(&self, datum: &Datum<'_>, fixed: &mut [u8]) -> bool {
        let at = self.at;
        match (self.kind, *datum) {
            (SlotKind::Bool, Datum::Bool(v)) => put(fixed, at, &[u8::from(v)]),
            (SlotKind::I8, Datum::Int(v)) => put(fixed, at, &(v as i8).to_le_bytes()),
            (SlotKind::I16, Datum::Int(v)) => put(fixed, at, &(v as i16).to_le_bytes()),
            (SlotKind::I32, Datum::Months(v)) => put(fixed, at, &v.to_le_bytes()),
            (SlotKind::F32, Datum::Float(v)) => put(fixed, at, &v.to_le_bytes()),
            (SlotKind::F64, Datum::Double(v)) => put(fixed, at, &v.to_le_bytes()),
            (SlotKind::Decimal128(_), Datum::Decimal(v)) => put(fixed, at, &v.unscaled().to_le_bytes()),
            (SlotKind::Date, Datum::Date(v)) | (SlotKind::Time, Datum::Time(v)) => {
                put(fixed, at, &v.to_le_bytes());
            }
            (SlotKind::Nanos, Datum::Timestamp(v)) => {
                put(fixed, at, &v.millis.to_le_bytes());
                put(fixed, at + 8, &v.nanos.to_le_bytes());
            }
            _ => return false,
        }
        true
    }
}

impl RowLayout {
    /// The layout of rows with these columns.
    pub fn new<'a>(types: impl IntoIterator<Item = &'a DataType>) -> Self {
        let kinds: Vec<SlotKind> = types.into_iter().map(|ty| SlotKind::of(&ty.kind)).collect();
        let mut at = kinds.len().div_ceil(8);
        let mut previous = None;
        let mut slots = Vec::with_capacity(kinds.len());
        for kind in kinds {
            slots.push(Slot { kind, at, previous });
            if kind.is_variable() {
                previous = Some(at);
            }
            at += kind.width();
        }
        let is_variable = |(i, slot): (usize, &Slot)| slot.kind.is_variable().then_some(i);
        let variable = slots.iter().enumerate().filter_map(is_variable).collect();
        Self { slots: slots.into_boxed_slice(), variable, fixed: at }
    }

    /// Number of columns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the layout has no columns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Appends one packed row. `row` holds a datum for each column; a missing
    /// one, or one of another kind than its column, is written as NULL.
    pub fn pack(&self, row: &[Datum<'_>], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.fixed, 0);
        let Some(fixed) = out.get_mut(start..) else { return };
        let mut variable = 0;
        for (i, (slot, datum)) in self.slots.iter().zip(row).enumerate() {
            if !slot.write(datum, &mut variable, fixed) {
                fixed[i / 8] |= 1 << (i % 8);
            }
        }
        if row.len() < self.slots.len() {
            self.write_missing(row.len(), variable, fixed);
        }
        for &i in &self.variable {
            if let (Some(slot), Some(datum)) = (self.slots.get(i), row.get(i)) {
                out.extend_from_slice(slot.kind.variable_part(datum).unwrap_or_default());
            }
        }
    }

    /// Writes the columns from `first` on as NULL.
    #[inline(never)]
    fn write_missing(&self, first: usize, variable: u32, fixed: &mut [u8]) {
        for (i, slot) in self.slots.iter().enumerate().skip(first) {
            if slot.kind.is_variable() {
                put(fixed, slot.at, &variable.to_le_bytes());
            }
            fixed[i / 8] |= 1 << (i % 8);
        }
    }

    /// How column `i` of a row of this layout becomes a packed row of its own, of layout `alone`, by copying
    /// bytes; `None` if `alone` is not one column of the same form, or if it is of variable length.
    #[must_use]
    pub fn copier(&self, i: usize, alone: &Self) -> Option<ColumnCopier> {
        let slot = self.slots.get(i)?;
        match &*alone.slots {
            [only] if only.kind == slot.kind && !slot.kind.is_variable() => Some(ColumnCopier {
                null_byte: i / 8,
                null_bit: 1 << (i % 8),
                at: slot.at,
                width: slot.kind.width(),
            }),
            _ => None,
        }
    }

    /// The value of column `i` in a packed row of this layout.
    ///
    /// NULL for a column that the layout does not have, and for bytes that no
    /// [`RowLayout::pack`] wrote.
    #[must_use]
    pub fn get<'a>(&self, row: &'a [u8], i: usize) -> Datum<'a> {
        self.reader(i).map_or(Datum::Null, |reader| reader.datum(row))
    }

    /// Whether a packed row of this layout holds this integer and nothing else.
    #[must_use]
    #[inline]
    pub fn is_integer(&self, row: &[u8], value: i64) -> bool {
        match (&*self.slots, row) {
            ([Slot { kind: SlotKind::I64, .. }], [0, bytes @ ..]) => *bytes == value.to_le_bytes(),
            ([Slot { kind: SlotKind::I32, .. }], [0, bytes @ ..]) => {
                i32::try_from(value).is_ok_and(|value| *bytes == value.to_le_bytes())
            }
            _ => false,
        }
    }

    /// Reads column `i` of rows of this layout; `None` for a column that the layout does not have.
    #[must_use]
    #[inline]
    pub fn reader(&self, i: usize) -> Option<ColumnReader> {
        let slot = *self.slots.get(i)?;
        Some(ColumnReader { slot, null_byte: i / 8, null_bit: 1 << (i % 8), fixed: self.fixed })
    }
}

/// Reads one column of packed rows. See [`RowLayout::reader`].
#[derive(Clone, Copy, Debug)]
pub struct ColumnReader {
    slot: Slot,
    null_byte: usize,
    null_bit: u8,
    /// Bytes before the variable parts.
    fixed: usize,
}

impl ColumnReader {
    /// Whether the column is NULL in this row.
    #[must_use]
    #[inline]
    pub fn is_null(&self, row: &[u8]) -> bool {
        row.get(self.null_byte).is_none_or(|bits| bits & self.null_bit != 0)
    }

    /// Digits after the point of every value that [`ColumnReader::cell`] gives as a number; `None` if it gives none.
    #[must_use]
    pub fn scale(&self) -> Option<u8> {
        match self.slot.kind {
            SlotKind::I32 | SlotKind::I64 => Some(0),
            SlotKind::Decimal64(scale) => Some(scale),
            _ => None,
        }
    }

    /// The column's value; as [`RowLayout::get`].
    #[must_use]
    pub fn datum<'a>(&self, row: &'a [u8]) -> Datum<'a> {
        if self.is_null(row) {
            return Datum::Null;
        }
        self.value(row).unwrap_or(Datum::Null)
    }

    /// The column as it lies in the row.
    #[must_use]
    #[inline]
    pub fn cell<'a>(&self, row: &'a [u8]) -> Cell<'a> {
        if self.is_null(row) {
            return Cell::Null;
        }
        let (at, integer) = (self.slot.at, |bytes| i64::from_le_bytes(bytes));
        let cell = match self.slot.kind {
            SlotKind::I32 => fixed(row, at).map(|bytes| Cell::Int(i32::from_le_bytes(bytes).into())),
            SlotKind::I64 => fixed(row, at).map(|bytes| Cell::Int(integer(bytes))),
            SlotKind::Text => self.variable(row).map(Cell::Text),
            SlotKind::Decimal64(scale) => fixed(row, at).map(|bytes| Cell::Decimal(integer(bytes), scale)),
            SlotKind::Millis => fixed(row, at).map(|bytes| Cell::Millis(integer(bytes))),
            _ => None,
        };
        cell.unwrap_or(Cell::Other)
    }

    fn value<'a>(&self, row: &'a [u8]) -> Option<Datum<'a>> {
        let at = self.slot.at;
        Some(match self.slot.kind {
            SlotKind::Bool => Datum::Bool(fixed::<1>(row, at)? != [0]),
            SlotKind::I8 => Datum::Int(i8::from_le_bytes(fixed(row, at)?).into()),
            SlotKind::I16 => Datum::Int(i16::from_le_bytes(fixed(row, at)?).into()),
            SlotKind::I32 => Datum::Int(i32::from_le_bytes(fixed(row, at)?).into()),
            SlotKind::I64 => Datum::Int(i64::from_le_bytes(fixed(row, at)?)),
            SlotKind::F32 => Datum::Float(f32::from_le_bytes(fixed(row, at)?)),
            SlotKind::F64 => Datum::Double(f64::from_le_bytes(fixed(row, at)?)),
            SlotKind::Decimal64(scale) => {
                Datum::Decimal(Decimal::new(i64::from_le_bytes(fixed(row, at)?).into(), scale))
            }
            SlotKind::Decimal128(scale) => {
                Datum::Decimal(Decimal::new(i128::from_le_bytes(fixed(row, at)?), scale))
            }
            SlotKind::Date => Datum::Date(i32::from_le_bytes(fixed(row, at)?)),
            SlotKind::Time => Datum::Time(i32::from_le_bytes(fixed(row, at)?)),
            SlotKind::Millis => Datum::Timestamp(Timestamp::from_millis(i64::from_le_bytes(fixed(row, at)?))),
            SlotKind::Nanos => {
                let millis = i64::from_le_bytes(fixed(row, at)?);
                Datum::Timestamp(Timestamp { millis, nanos: u32::from_le_bytes(fixed(row, at + 8)?) })
            }
            SlotKind::Text => Datum::Str(std::str::from_utf8(self.variable(row)?).ok()?),
            SlotKind::Bytes => Datum::Bytes(self.variable(row)?),
            SlotKind::Nested => Datum::Nested(self.variable(row)?),
        })
    }

    #[inline]
    fn variable<'a>(&self, row: &'a [u8]) -> Option<&'a [u8]> {
        let start = match self.slot.previous {
            Some(at) => u32::from_le_bytes(fixed(row, at)?) as usize,
            None => 0,
        };
        let end = u32::from_le_bytes(fixed(row, self.slot.at)?) as usize;
        row.get(self.fixed + start..self.fixed + end)
    }
}

/// A value as it lies in a packed row, without a look into it: what writers of text need of usual values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// NULL of any type.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// TINYINT to BIGINT.
    Int(i64),
    /// A DECIMAL of few digits: the digits without the point, and how many of them are behind it.
    Decimal(i64, u8),
    /// Text, in UTF-8.
    Text(&'a [u8]),
    /// A TIMESTAMP or TIMESTAMP_LTZ without nanoseconds, in milliseconds.
    Millis(i64),
    /// Anything else.
    Other,
}

impl<'a> From<Datum<'a>> for Cell<'a> {
    #[inline]
    fn from(datum: Datum<'a>) -> Self {
        match datum {
            Datum::Null => Self::Null,
            Datum::Bool(value) => Self::Bool(value),
            Datum::Int(value) => Self::Int(value),
            Datum::Decimal(value) => i64::try_from(value.unscaled())
                .map_or(Self::Other, |digits| Self::Decimal(digits, value.scale())),
            Datum::Str(text) => Self::Text(text.as_bytes()),
            Datum::Timestamp(Timestamp { millis, nanos: 0 }) => Self::Millis(millis),
            _ => Self::Other,
        }
    }
}

/// The cells of one row.
pub trait Cells {
    /// The cell of column `index`; [`Cell::Null`] for one that is not there.
    fn cell(&self, index: usize) -> Cell<'_>;
}

impl Cells for [Datum<'_>] {
    #[inline]
    fn cell(&self, index: usize) -> Cell<'_> {
        self.get(index).map_or(Cell::Null, |datum| Cell::from(*datum))
    }
}

/// Copies one column of fixed width into a packed row of its own. See [`RowLayout::copier`].
#[derive(Clone, Copy, Debug)]
pub struct ColumnCopier {
    null_byte: usize,
    null_bit: u8,
    at: usize,
    width: usize,
}

impl ColumnCopier {
    /// Appends the packed row of the column alone; false, and nothing appended, if it is NULL.
    pub fn copy(&self, row: &[u8], out: &mut Vec<u8>) -> bool {
        let is_null = row.get(self.null_byte).is_none_or(|bits| bits & self.null_bit != 0);
        match row.get(self.at..self.at + self.width) {
            Some(bytes) if !is_null => {
                out.push(0);
                out.extend_from_slice(bytes);
                true
            }
            _ => false,
        }
    }
}

#[inline]
fn put<const N: usize>(fixed: &mut [u8], at: usize, bytes: &[u8; N]) {
    fixed[at..at + N].copy_from_slice(bytes);
}

#[inline]
fn fixed<const N: usize>(row: &[u8], at: usize) -> Option<[u8; N]> {
    row.get(at..)?.first_chunk::<N>().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> RowLayout {
        RowLayout::new(&[
            Type::STRING.nullable(),
            Type::Int.nullable(),
            Type::BYTES.nullable(),
            Type::Decimal { precision: 10, scale: 2 }.nullable(),
            Type::Decimal { precision: 20, scale: 2 }.nullable(),
            Type::Timestamp(6).nullable(),
            Type::STRING.nullable(),
        ])
    }

    #[test]
    fn values_survive_packing() {
        let row = [
            Datum::Str("é"),
            Datum::Int(-7),
            Datum::Bytes(&[0, 255]),
            Datum::Decimal(Decimal::new(-105, 2)),
            Datum::Decimal(Decimal::new(12_345_678_901_234_567_890, 2)),
            Datum::Timestamp(Timestamp { millis: -1, nanos: 1000 }),
            Datum::Str(""),
        ];
        let mut bytes = vec![9];
        layout().pack(&row, &mut bytes);
        for (i, datum) in row.iter().enumerate() {
            assert_eq!(layout().get(&bytes[1..], i), *datum, "column {i}");
            let cell = layout().reader(i).unwrap().cell(&bytes[1..]);
            assert!(cell == Cell::Other || cell == Cell::from(*datum), "column {i}: {cell:?}");
        }
    }

    #[test]
    fn a_column_of_fixed_width_is_copied_as_it_would_be_packed() {
        let row = [
            Datum::Str("x"),
            Datum::Int(-7),
            Datum::Null,
            Datum::Decimal(Decimal::new(-105, 2)),
            Datum::Decimal(Decimal::new(12_345_678_901_234_567_890, 2)),
            Datum::Timestamp(Timestamp { millis: -1, nanos: 1000 }),
        ];
        let types = [
            Type::STRING,
            Type::Int,
            Type::BYTES,
            Type::Decimal { precision: 10, scale: 2 },
            Type::Decimal { precision: 20, scale: 2 },
            Type::Timestamp(6),
        ];
        let (mut bytes, mut copied) = (Vec::new(), 0);
        layout().pack(&row, &mut bytes);
        for (i, ty) in types.into_iter().enumerate() {
            let alone = RowLayout::new(&[ty.nullable()]);
            let Some(copier) = layout().copier(i, &alone) else { continue };
            let (mut packed, mut copy) = (Vec::new(), Vec::new());
            alone.pack(&row[i..=i], &mut packed);
            assert!(copier.copy(&bytes, &mut copy), "column {i}");
            assert_eq!(copy, packed, "column {i}");
            copied += 1;
        }
        assert_eq!(copied, 4);
        let int = RowLayout::new(&[Type::Int.nullable()]);
        assert!(layout().copier(3, &int).is_none(), "another form");
        let (mut nulls, mut copy) = (Vec::new(), Vec::new());
        layout().pack(&[], &mut nulls);
        assert!(!layout().copier(1, &int).unwrap().copy(&nulls, &mut copy) && copy.is_empty());
    }

    #[test]
    fn a_row_of_one_integer_is_told_by_its_bytes() {
        for (ty, taken) in
            [(Type::Int, true), (Type::BigInt, true), (Type::SmallInt, false), (Type::STRING, false)]
        {
            let alone = RowLayout::new(&[ty.nullable()]);
            let mut bytes = Vec::new();
            alone.pack(&[Datum::Int(-7)], &mut bytes);
            assert_eq!(alone.is_integer(&bytes, -7), taken);
            assert!(!alone.is_integer(&bytes, -8) && !alone.is_integer(&bytes, -7 + (1 << 32)));
            assert!(!alone.is_integer(&[], -7) && !alone.is_integer(&[1], 0));
        }
        assert!(!layout().is_integer(&[0; 9], 0), "more than one column");
    }

    #[test]
    fn nulls_differ_from_empty_values() {
        let (mut nulls, mut empties) = (Vec::new(), Vec::new());
        layout().pack(&[Datum::Null], &mut nulls);
        layout().pack(&[Datum::Str("")], &mut empties);
        assert_eq!(layout().get(&nulls, 0), Datum::Null);
        assert_eq!(layout().get(&empties, 0), Datum::Str(""));
        assert_ne!(nulls, empties);
    }
}
