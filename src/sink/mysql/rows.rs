//! Values of output rows as parameters of statements.
//!
//! Parameters are typed so that the server converts exactly or, in the
//! session's strict mode, refuses. Times are cut to the column's fraction
//! digits here, because the server would round them.

use jiff::tz::TimeZone;
use smallvec::SmallVec;
use sqlx::MySql;
use sqlx::mysql::MySqlArguments;
use sqlx::query::Query;

use crate::db::mysql::{Family, KeyColumn, zoned_instant};
use crate::db::{Bind, ColumnInfo, Key as _, LiveTable, Mysql, Part, temporal};
use crate::error::{Result, TablePart};
use crate::model::{Datum, RowLayout, Timestamp, Type};

use super::{MysqlSinkSpec, layout_of, written_column};

/// A statement with some of its parameters.
pub(super) type Partial<'q> = Query<'q, MySql, MySqlArguments>;

/// A value that MySQL has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// The column.
    pub(super) column: String,
    /// What was met.
    pub(super) met: String,
}

/// The columns that a sink writes.
pub(super) struct Columns {
    columns: Vec<Column>,
    layout: RowLayout,
    pub(super) key: Vec<Key>,
    key_layout: RowLayout,
    zone: TimeZone,
}

/// A written column.
struct Column {
    /// Name as the database spells it.
    name: String,
    /// Fraction digits of the live column.
    digits: u8,
    /// A TIMESTAMP column takes UTC; what it gets from a TIMESTAMP(p) is local time.
    to_instant: bool,
}

/// A column of the primary key.
pub(super) struct Key {
    /// Position in the output row.
    at: usize,
    column: KeyColumn,
}

impl Columns {
    /// The live columns of what `spec` writes.
    pub(super) fn new(live: &LiveTable<'_, Mysql>, spec: &MysqlSinkSpec, zone: &TimeZone) -> Result<Self> {
        let mut columns = Vec::with_capacity(spec.columns.len());
        for declared in &spec.columns {
            let column = written_column(live, declared)?;
            let local = matches!(declared.1.kind, Type::Timestamp(_));
            columns.push(Column {
                name: column.name.clone(),
                digits: column.fraction,
                to_instant: local && Family::of(column) == Family::Timestamp,
            });
        }
        let mut key = Vec::with_capacity(spec.primary_key.len());
        for &at in &spec.primary_key {
            let Some(declared) = spec.columns.get(at) else { continue };
            key.push(Key { at, column: key_column(live, declared, zone)? });
        }
        let key_types = spec.primary_key.iter().filter_map(|at| spec.columns.get(*at)).map(|(_, ty)| ty);
        Ok(Self {
            columns,
            layout: layout_of(&spec.columns),
            key,
            key_layout: RowLayout::new(key_types),
            zone: zone.clone(),
        })
    }

    /// Names of the written columns.
    pub(super) fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// Names of the primary key, each with its typed placeholder.
    pub(super) fn key_placeholders(&self) -> Vec<(&str, String)> {
        self.key.iter().map(|key| (key.column.name(), key.column.placeholder())).collect()
    }

    /// Appends the packed primary key of a row.
    pub(super) fn pack_key(&self, row: &[u8], out: &mut Vec<u8>) {
        let values: SmallVec<[Datum<'_>; 8]> =
            self.key.iter().map(|key| self.layout.get(row, key.at)).collect();
        self.key_layout.pack(&values, out);
    }

    /// The primary key of a row as text, for messages.
    pub(super) fn key_text(&self, row: &[u8]) -> String {
        let part = |key: &Key| format!("{} = {}", key.column.name(), shown(self.layout.get(row, key.at)));
        self.key.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    /// Appends all values of a row.
    pub(super) fn bind_row<'q>(&self, mut query: Partial<'q>, row: &'q [u8]) -> Result<Partial<'q>, Misfit> {
        for (i, column) in self.columns.iter().enumerate() {
            query = self.bind_value(query, column, self.layout.get(row, i))?;
        }
        Ok(query)
    }

    /// The key of a row as parameters of a delete; `None`: the table cannot hold it.
    pub(super) fn key_binds(&self, row: &[u8]) -> Option<Vec<Bind>> {
        let bind = |key: &Key| match key.column.convert(self.layout.get(row, key.at)) {
            Part::Absent => None,
            Part::Value { bind, .. } => Some(bind),
        };
        self.key.iter().map(bind).collect()
    }

    fn bind_value<'q>(
        &self,
        query: Partial<'q>,
        column: &Column,
        value: Datum<'q>,
    ) -> Result<Partial<'q>, Misfit> {
        let misfit = |met: String| Misfit { column: column.name.clone(), met };
        let text = |text: Option<String>| {
            text.ok_or_else(|| misfit(format!("MySQL has no value for {}", shown(value))))
        };
        Ok(match value {
            Datum::Null => query.bind(None::<i64>),
            Datum::Bool(value) => query.bind(i64::from(value)),
            Datum::Int(value) => query.bind(value),
            Datum::Float(value) if value.is_finite() => query.bind(value),
            Datum::Double(value) if value.is_finite() => query.bind(value),
            Datum::Decimal(value) => query.bind(value.to_string()),
            Datum::Str(value) => query.bind(value),
            Datum::Bytes(value) => query.bind(value),
            Datum::Date(days) => query.bind(text(temporal::date_text(days.into()))?),
            Datum::Time(millis) => {
                let cut = Timestamp::from_millis(millis.into()).truncate(column.digits);
                let millis = i32::try_from(cut.millis).unwrap_or(millis);
                query.bind(text(temporal::time_text(millis, column.digits))?)
            }
            Datum::Timestamp(time) => query.bind(text(self.timestamp(column, time))?),
            _ => return Err(misfit(format!("MySQL has no value for {}", shown(value)))),
        })
    }

    fn timestamp(&self, column: &Column, time: Timestamp) -> Option<String> {
        let time = if column.to_instant { zoned_instant(time, &self.zone)? } else { time };
        temporal::timestamp_text(time.truncate(column.digits), column.digits)
    }
}

/// A value for a message.
fn shown(value: Datum<'_>) -> String {
    match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Bool(value) => value.to_string(),
        Datum::Int(value) => value.to_string(),
        Datum::Float(value) => value.to_string(),
        Datum::Double(value) => value.to_string(),
        Datum::Decimal(value) => value.to_string(),
        Datum::Str(value) => format!("'{value}'"),
        Datum::Bytes(value) => format!("{} bytes", value.len()),
        Datum::Date(days) => temporal::date_text(days.into()).unwrap_or_else(|| format!("day {days}")),
        Datum::Time(millis) => temporal::time_text(millis, 3).unwrap_or_else(|| format!("{millis} ms")),
        Datum::Timestamp(at) => {
            temporal::timestamp_text(at, 9).unwrap_or_else(|| format!("{} ms since 1970", at.millis))
        }
        other => format!("{other:?}"),
    }
}

/// A key column must hold every value of its declared type apart from every other.
fn key_column(
    live: &LiveTable<'_, Mysql>,
    declared: &(String, crate::model::DataType),
    zone: &TimeZone,
) -> Result<KeyColumn> {
    let (name, ty) = declared;
    let column = live.typed_column(name, ty, crate::db::mysql::writable)?;
    if loses_digits(column, &ty.kind) {
        let what = format!(
            "has key column `{name}` as {}, which cannot tell all values of {} apart; declare it as in the database",
            column.column_type, ty.kind
        );
        return Err(live.refusal(&what).about(TablePart::Column(name.clone())));
    }
    KeyColumn::new(column, &ty.kind, zone).map_err(|why| {
        live.refusal(&format!("has key column `{name}`: {why}")).about(TablePart::Column(name.clone()))
    })
}

fn loses_digits(column: &ColumnInfo, declared: &Type) -> bool {
    match declared {
        Type::Decimal { scale, .. } => column.scale.unwrap_or(0) < *scale,
        Type::Timestamp(digits) | Type::TimestampLtz(digits) => column.fraction < *digits,
        Type::Time(digits) => column.fraction < (*digits).min(3),
        _ => false,
    }
}
