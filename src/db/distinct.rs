//! The distinct values of some columns of a dimension table: what its lookup keys look like.

use sqlx::AssertSqlSafe;
use sqlx::mysql::MySqlRow;
use tokio::time::timeout;

use crate::error::{Error, Kind, Result};
use crate::model::RowLayout;
use crate::plan::{DimensionColumn, MysqlTable};

use super::answer::Reader;
use super::catalog::TableInfo;
use super::cells::Wire;
use super::compatibility::readable;
use super::statement::quoted;
use super::{Access, Failure, LiveTable, time_zone};

/// At most `limit` distinct values of `columns`, packed by the layout of their types and in no
/// order. NULL is left out: it is no lookup key. `table` is the name in the definition.
///
/// # Errors
/// [`Kind::Transient`] when the server is unreachable or busy; [`Kind::External`] when it refuses, or
/// when a table, a column or a type is not as declared; [`Kind::Data`] for a value that its declared
/// type cannot hold.
pub async fn distinct_values(
    source: &MysqlTable,
    table: &str,
    columns: &[DimensionColumn],
    limit: usize,
    access: &Access,
) -> Result<Vec<Box<[u8]>>> {
    let zone = time_zone(&access.time_zone)
        .ok_or_else(|| Error::new(Kind::Definition, format!("unknown time-zone {}", access.time_zone)))?;
    let connections = access.databases.get(source);
    let mut live = LiveTable::open(&connections, source, table).await?;
    let mut names = Vec::with_capacity(columns.len());
    for column in columns {
        names.push(live.typed_column(&column.name, &column.ty, readable)?.name.clone());
    }
    let sql = AssertSqlSafe(statement(&live.info, &names, columns, limit));
    let query = sqlx::query(sql).persistent(false).fetch_all(&mut *live.connection);
    let limit = access.statement_timeout;
    let rows = match timeout(limit, query).await {
        Ok(answer) => answer.map_err(Failure::from),
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
    pack_all(&Reader { table: table.to_owned(), columns, layout, zone }, &rows)
}

/// The rows without those that hold a NULL.
fn pack_all(reader: &Reader, rows: &[MySqlRow]) -> Result<Vec<Box<[u8]>>> {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let wires = Wire::of_row(first);
    let (mut values, mut packed) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        packed.clear();
        reader.pack(row, &wires, &mut packed)?;
        if (0..reader.layout.len()).all(|i| !reader.layout.get(&packed, i).is_null()) {
            values.push(Box::from(packed.as_slice()));
        }
    }
    Ok(values)
}

/// `SELECT DISTINCT`, with a column in front that stands where a lookup's rows have their key's number.
/// Text counts as distinct by its bytes, as the hash sees it, and not by the column's collation.
fn statement(table: &TableInfo, names: &[String], columns: &[DimensionColumn], limit: usize) -> String {
    let column = |name: &String| format!("d.{}", quoted(name));
    let values: String = names.iter().map(|name| format!(", {}", column(name))).collect();
    let texts = names.iter().zip(columns).filter(|(_, declared)| declared.ty.kind.is_text());
    let bytes: String = texts.map(|(name, _)| format!(", CAST({} AS BINARY)", column(name))).collect();
    let not_null: Vec<String> = names.iter().map(|name| format!("{} IS NOT NULL", column(name))).collect();
    format!(
        "SELECT DISTINCT 0{values}{bytes} FROM {}.{} AS d WHERE {} LIMIT {limit}",
        quoted(&table.schema),
        quoted(&table.name),
        not_null.join(" AND ")
    )
}
