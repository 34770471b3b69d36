//! What a MySQL server says about a table.
//!
//! Everything is read as text (`CAST … AS CHAR`), because the types of
//! `information_schema` differ between servers and versions.

use sqlx::mysql::{MySql, MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Decode, Row, ValueRef};

use crate::plan::MysqlTable;

use super::super::Failure;
use super::super::table::{ColumnInfo, Index, TableInfo, TextRow, field};

/// Reads what the database says about `table`.
pub(super) async fn read(connection: &mut MySqlConnection, table: &MysqlTable) -> Result<TableInfo, Failure> {
    let (schema, name) = split_name(table);
    let server = query_text(connection, "SELECT VERSION(), CAST(@@max_allowed_packet AS CHAR)", &[]).await?;
    let columns = query_text(connection, COLUMNS, &[schema, name]).await?;
    let parts = query_text(connection, INDEXES, &[schema, name]).await?;
    let version = server.first();
    Ok(TableInfo {
        schema: schema.to_owned(),
        name: name.to_owned(),
        columns: columns.iter().map(column).collect(),
        indexes: indexes(&parts),
        server: version.map(|row| field(row, 0).to_owned()).unwrap_or_default(),
        packet_max: version.and_then(|row| field(row, 1).parse().ok()).unwrap_or(0),
    })
}

/// Names of the tables in a schema.
pub(super) async fn tables(connection: &mut MySqlConnection, schema: &str) -> Result<Vec<String>, Failure> {
    const TABLES: &str =
        "SELECT CAST(table_name AS CHAR) FROM information_schema.tables WHERE table_schema = ?";
    let rows = query_text(connection, TABLES, &[schema]).await?;
    Ok(rows.iter().map(|row| field(row, 0).to_owned()).collect())
}

const COLUMNS: &str = "SELECT CAST(column_name AS CHAR), CAST(data_type AS CHAR), CAST(column_type AS CHAR), \
    CAST(character_maximum_length AS CHAR), CAST(numeric_precision AS CHAR), CAST(numeric_scale AS CHAR), \
    CAST(datetime_precision AS CHAR), CAST(character_set_name AS CHAR), CAST(collation_name AS CHAR), \
    CAST(is_nullable AS CHAR), CAST(column_default AS CHAR), CAST(extra AS CHAR) \
    FROM information_schema.columns WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position";

const INDEXES: &str = "SELECT CAST(index_name AS CHAR), CAST(non_unique AS CHAR), CAST(sub_part AS CHAR), \
    CAST(column_name AS CHAR) \
    FROM information_schema.statistics WHERE table_schema = ? AND table_name = ? ORDER BY index_name, seq_in_index";

/// `schema.table` names another schema than the connection's.
fn split_name(table: &MysqlTable) -> (&str, &str) {
    table.table.split_once('.').unwrap_or((&table.database, &table.table))
}

fn column(row: &TextRow) -> ColumnInfo {
    let data_type = field(row, 1).to_ascii_lowercase();
    let extra = field(row, 11).to_ascii_lowercase();
    let nullable = field(row, 9).eq_ignore_ascii_case("yes");
    let has_default = row.get(10).is_some_and(Option::is_some);
    ColumnInfo {
        name: field(row, 0).to_owned(),
        column_type: field(row, 2).to_ascii_lowercase(),
        length: field(row, 3).parse().ok(),
        precision: field(row, 4).parse().ok(),
        scale: field(row, 5).parse().ok(),
        fraction: field(row, 6).parse().unwrap_or(0),
        charset: row.get(7).cloned().flatten(),
        collation: row.get(8).cloned().flatten(),
        nullable,
        has_default: nullable || has_default || extra.contains("auto_increment"),
        generated: extra.contains("virtual generated") || extra.contains("stored generated"),
        data_type,
    }
}

fn indexes(parts: &[TextRow]) -> Vec<Index> {
    let mut indexes: Vec<Index> = Vec::new();
    for part in parts {
        let name = field(part, 0);
        if indexes.last().is_none_or(|last| last.name != name) {
            let unique = field(part, 1) == "0";
            indexes.push(Index { name: name.to_owned(), unique, partial: false, columns: Vec::new() });
        }
        if let Some(index) = indexes.last_mut() {
            index.partial |= !field(part, 2).is_empty();
            index.columns.push(field(part, 3).to_owned());
        }
    }
    indexes
}

/// Runs `sql` and reads every column as text.
async fn query_text(
    connection: &mut MySqlConnection,
    sql: &str,
    arguments: &[&str],
) -> Result<Vec<TextRow>, Failure> {
    let mut query = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false);
    for argument in arguments {
        query = query.bind(*argument);
    }
    let rows = query.fetch_all(connection).await?;
    Ok(rows.iter().map(|row| (0..row.len()).map(|i| text(row, i)).collect()).collect())
}

/// A column as text, whatever character set the server declares for it.
fn text(row: &MySqlRow, i: usize) -> Option<String> {
    let value = row.try_get_raw(i).ok()?;
    if value.is_null() {
        return None;
    }
    let bytes = <&[u8] as Decode<MySql>>::decode(value).ok()?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}
