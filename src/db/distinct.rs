//! The distinct values of some columns of a dimension table: what its lookup keys look like.

use tokio::time::timeout;

use crate::error::{Error, Kind, Result};
use crate::model::RowLayout;
use crate::plan::{DimensionColumn, DimensionConnector};

use super::answer::Reader;
use super::dialect::{Dialect, Statement};
use super::table::{TableInfo, quoted};
use super::{Access, Connections, Failure, LiveTable, time_zone};

/// At most `limit` distinct values of `columns`, packed by the layout of their types and in no
/// order. NULL is left out: it is no lookup key. `table` is the name in the definition.
///
/// # Errors
/// [`Kind::Transient`] when the server is unreachable or busy; [`Kind::External`] when it refuses, or
/// when a table, a column or a type is not as declared; [`Kind::Data`] for a value that its declared
/// type cannot hold.
pub async fn distinct_values(
    source: &DimensionConnector,
    table: &str,
    columns: &[DimensionColumn],
    limit: usize,
    access: &Access,
) -> Result<Vec<Box<[u8]>>> {
    let wanted = Wanted { table, columns, limit };
    match source {
        DimensionConnector::Mysql(source) => {
            read(&access.databases.mysql.get(source), source, &wanted, access).await
        }
        DimensionConnector::Sqlite(source) => {
            read(&access.databases.sqlite.get(source), source, &wanted, access).await
        }
    }
}

struct Wanted<'a> {
    table: &'a str,
    columns: &'a [DimensionColumn],
    limit: usize,
}

async fn read<D: Dialect>(
    connections: &Connections<D>,
    source: &D::Source,
    wanted: &Wanted<'_>,
    access: &Access,
) -> Result<Vec<Box<[u8]>>> {
    let Wanted { table, columns, limit } = *wanted;
    let zone = time_zone(&access.time_zone)
        .ok_or_else(|| Error::new(Kind::Definition, format!("unknown time-zone {}", access.time_zone)))?;
    let mut live = LiveTable::open(connections, source, table).await?;
    let mut names = Vec::with_capacity(columns.len());
    for column in columns {
        names.push(live.typed_column(&column.name, &column.ty, D::readable)?.name.clone());
    }
    let statement = Statement::once(statement::<D>(&live.info, &names, columns, limit), Vec::new());
    let limit = access.statement_timeout;
    let rows = match timeout(limit, D::fetch(&mut live.connection, &statement)).await {
        Ok(answer) => answer,
        Err(_) => Err(Failure::timeout("statement", limit)),
    };
    let rows =
        rows.map_err(|failure| connections.start_error(&failure).context(&format!("reading table {table}")))?;
    live.connection.give_back();
    // A date that is none (`0000-00-00`) reads as NULL, whatever the column says.
    let nullable = |column: &DimensionColumn| DimensionColumn {
        name: column.name.clone(),
        ty: column.ty.kind.clone().nullable(),
    };
    let columns: Vec<DimensionColumn> = columns.iter().map(nullable).collect();
    let layout = RowLayout::new(columns.iter().map(|column| &column.ty));
    pack_all::<D>(&Reader { table: table.to_owned(), columns, layout, zone }, &rows)
}

/// The rows without those that hold a NULL.
fn pack_all<D: Dialect>(reader: &Reader, rows: &[D::Row]) -> Result<Vec<Box<[u8]>>> {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let shape = D::shape(first);
    let (mut values, mut packed) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        packed.clear();
        reader.pack::<D>(row, &shape, &mut packed)?;
        if (0..reader.layout.len()).all(|i| !reader.layout.get(&packed, i).is_null()) {
            values.push(Box::from(packed.as_slice()));
        }
    }
    Ok(values)
}

/// `SELECT DISTINCT`, with a column in front that stands where a lookup's rows have their key's number.
/// Text counts as distinct by its bytes, as the hash sees it, and not by the column's collation.
fn statement<D: Dialect>(
    table: &TableInfo,
    names: &[String],
    columns: &[DimensionColumn],
    limit: usize,
) -> String {
    let column = |name: &String| format!("d.{}", quoted(name));
    let values: String = names.iter().map(|name| format!(", {}", column(name))).collect();
    let texts = names.iter().zip(columns).filter(|(_, declared)| declared.ty.kind.is_text());
    let bytes: String = texts.map(|(name, _)| format!(", {}", D::bytes_of(&column(name)))).collect();
    let not_null: Vec<String> = names.iter().map(|name| format!("{} IS NOT NULL", column(name))).collect();
    format!(
        "SELECT DISTINCT 0{values}{bytes} FROM {} AS d WHERE {} LIMIT {limit}",
        table.quoted_name(),
        not_null.join(" AND ")
    )
}
