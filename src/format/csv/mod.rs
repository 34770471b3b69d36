//! `csv`: one line per message, fields by position.
//!
//! csv has no NULL of its own: an empty field is `''` for text and an error for
//! other types, unless `null-literal` or `empty-string-as-null` says otherwise.
//! Flink: `CsvRowDataDeserializationSchema` over Jackson's csv parser.

mod convert;
mod split;
mod write;

#[cfg(test)]
mod tests;

pub(super) use write::CsvWriter;

use bumpalo::Bump;

use crate::error::{Error, Kind, Reason, Result, RowFault, TablePart};
use crate::model::{Datum, Type};
use crate::plan::CsvOptions;

use super::misfit::{Misfit, shown};
use super::{FieldSpec, Fields, Tally};
use convert::Rules;
use split::Dialect;

/// Reads messages.
#[derive(Clone, Debug)]
pub(super) struct CsvReader {
    fields: Box<[FieldSpec]>,
    /// Columns of the row.
    width: usize,
    /// Fields that a line has.
    arity: usize,
    dialect: Dialect,
    rules: Rules,
    options: CsvOptions,
}

impl CsvReader {
    /// A reader for lines of `arity` fields, of which `fields` are wanted in rows of `width` columns.
    ///
    /// # Errors
    /// [`Kind::Definition`] for types that csv does not have.
    pub(super) fn new(
        options: &CsvOptions,
        fields: Vec<FieldSpec>,
        (width, arity): (usize, usize),
        lossy: bool,
    ) -> Result<Self> {
        check_types(&fields)?;
        Ok(Self {
            fields: fields.into_boxed_slice(),
            width,
            arity,
            dialect: Dialect::of(options),
            rules: Rules::of(options, lossy),
            options: options.clone(),
        })
    }

    /// Calls `each` for the row of the message.
    pub(super) fn read<'a>(
        &self,
        bytes: &'a [u8],
        arena: &'a Bump,
        mut each: impl FnMut(Fields<'a>) -> Result<(), RowFault>,
    ) -> Result<Tally, RowFault> {
        match self.row(bytes, arena) {
            Ok(row) => each(row).map(|()| Tally { rows: 1, dropped: 0 }),
            Err(_) if self.options.ignore_parse_errors => Ok(Tally { rows: 0, dropped: 1 }),
            Err(fault) => Err(fault),
        }
    }

    fn row<'a>(&self, bytes: &'a [u8], arena: &'a Bump) -> Result<Fields<'a>, RowFault> {
        let text = std::str::from_utf8(bytes).map_err(|_| broken("it is not UTF-8"))?;
        let mut line = split::fields(text, self.dialect, arena).map_err(broken)?;
        self.check_arity(&mut line)?;
        let mut row = Fields::none(self.width, arena);
        for field in &self.fields {
            let datum = match line.get(field.ordinal) {
                None => Datum::Null,
                Some(text) => match self.rules.convert(text, &field.ty.kind, arena) {
                    Ok(datum) => datum,
                    Err(_) if self.options.ignore_parse_errors => Datum::Null,
                    Err(misfit) => return Err(self.fault(misfit, field, text)),
                },
            };
            row.set(field.column, datum);
        }
        Ok(row)
    }

    fn fault(&self, misfit: Misfit, field: &FieldSpec, text: &str) -> RowFault {
        let fault = misfit.fault(&field.name, &field.ty.kind, text);
        if text.is_empty() && self.options.null_literal.is_none() && misfit.reason == Reason::Malformed {
            return fault
                .remedy("an empty field is not NULL: see csv.null-literal and csv.empty-string-as-null");
        }
        fault
    }

    /// Too few fields are a fault (NULLs under `ignore-parse-errors`), too many always are; one trailing delimiter
    /// is forgiven.
    fn check_arity(&self, line: &mut bumpalo::collections::Vec<'_, &str>) -> Result<(), RowFault> {
        let options = &self.options;
        let trailing = line.len() == self.arity + 1 && line.last().is_some_and(|last| last.is_empty());
        if trailing && options.allow_trailing_comma || options.ignore_trailing_unmappable {
            line.truncate(self.arity);
        }
        let lenient = options.ignore_parse_errors && !options.fail_on_missing_columns;
        if line.len() == self.arity || line.len() < self.arity && lenient {
            return Ok(());
        }
        Err(broken_line(format!("it has {} fields, the table {}", line.len(), self.arity)))
    }
}

/// The value that a field of type `ty` has under default options.
pub(super) fn parse_text<'a>(text: &'a str, ty: &Type, arena: &'a Bump) -> Result<Datum<'a>, Misfit> {
    Rules::default().convert(text, ty, arena)
}

fn broken(what: &str) -> RowFault {
    broken_line(what.to_owned())
}

fn broken_line(what: String) -> RowFault {
    RowFault::new(Reason::Malformed, format!("not a csv line of this table: {what}"))
        .remedy("correct the producer, or the columns and csv options in the definition")
}

/// Flink: `CsvRowSchemaConverter`, which takes scalars, and arrays and rows of scalars.
fn check_types(fields: &[FieldSpec]) -> Result<()> {
    for field in fields {
        let scalar = |ty: &Type| !ty.is_nested() && !matches!(ty, Type::Time(p) if *p > 3);
        let fits = match &field.ty.kind {
            Type::Array(element) => scalar(&element.kind),
            Type::Row(inner) => inner.iter().all(|field| scalar(&field.ty.kind)),
            ty => scalar(ty),
        };
        if !fits {
            let name = shown(&field.name);
            let allowed = "csv takes scalars (TIME up to TIME(3)), and ARRAY and ROW of scalars";
            let message = format!("column {name} is {}: {allowed}", field.ty);
            return Err(Error::new(Kind::Definition, message).about(TablePart::Column(field.name.clone())));
        }
    }
    Ok(())
}
