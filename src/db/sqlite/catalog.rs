//! What a SQLite file says about a table.

use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;

use super::super::Failure;
use super::super::table::{ColumnInfo, Index, PRIMARY, TableInfo, TextRow, field};
use super::cells;

/// Hidden columns are those of virtual tables (1) and generated ones (2, 3).
const COLUMNS: &str =
    "SELECT name, type, \"notnull\", pk, hidden, dflt_value FROM pragma_table_xinfo(?) ORDER BY cid";

/// The columns of every index, in order; an expression has no name.
const INDEXES: &str = "SELECT l.name, l.\"unique\", l.partial, x.name \
    FROM pragma_index_list(?) AS l, pragma_index_xinfo(l.name) AS x WHERE x.key = 1 ORDER BY l.seq, x.seqno";

const TABLES: &str = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name";

/// Reads what the file says about a table or view; names have no case.
pub(super) async fn read(connection: &mut SqliteConnection, table: &str) -> Result<TableInfo, Failure> {
    let name = table.strip_prefix("main.").unwrap_or(table);
    let server = query_text(connection, "SELECT sqlite_version()", None).await?;
    let rows = query_text(connection, COLUMNS, Some(name)).await?;
    let parts = query_text(connection, INDEXES, Some(name)).await?;
    let mut indexes = primary_key(&rows);
    indexes.extend(others(&parts));
    Ok(TableInfo {
        schema: String::new(),
        name: name.to_owned(),
        columns: rows.iter().map(|row| column(row, &rows)).collect(),
        indexes,
        server: server.first().map(|row| field(row, 0).to_owned()).unwrap_or_default(),
        packet_max: usize::MAX,
    })
}

/// Names of all tables and views.
pub(super) async fn tables(connection: &mut SqliteConnection) -> Result<Vec<String>, Failure> {
    let rows = query_text(connection, TABLES, None).await?;
    Ok(rows.iter().map(|row| field(row, 0).to_owned()).collect())
}

/// Whether a line of `EXPLAIN QUERY PLAN` reads a whole table: an index that is made for the
/// statement alone reads it as well. The keys themselves are `k`.
pub(super) fn is_scan(detail: &str) -> bool {
    let keys = detail == "SCAN k" || detail.starts_with("SCAN k ") || detail == "SCAN CONSTANT ROW";
    !keys && (detail.starts_with("SCAN ") || detail.contains("AUTOMATIC"))
}

fn column(row: &TextRow, all: &[TextRow]) -> ColumnInfo {
    let column_type = field(row, 1).trim().to_ascii_lowercase();
    let word = column_type.split('(').next().unwrap_or_default().trim().to_owned();
    let is_key = field(row, 3) != "0";
    // The one column that is an alias of the rowid holds no NULL, whatever it says.
    let rowid =
        is_key && column_type == "integer" && all.iter().filter(|row| field(row, 3) != "0").count() == 1;
    let nullable = field(row, 2) == "0" && !rowid;
    ColumnInfo {
        name: field(row, 0).to_owned(),
        data_type: word,
        column_type,
        nullable,
        has_default: nullable || rowid || row.get(5).is_some_and(Option::is_some),
        generated: matches!(field(row, 4), "2" | "3"),
        ..ColumnInfo::default()
    }
}

/// The primary key has no index of its own where it is the rowid.
fn primary_key(columns: &[TextRow]) -> Vec<Index> {
    let mut parts: Vec<(u32, &str)> = columns
        .iter()
        .filter_map(|row| Some((field(row, 3).parse().ok().filter(|at| *at != 0)?, field(row, 0))))
        .collect();
    parts.sort_unstable();
    let columns: Vec<String> = parts.into_iter().map(|(_, name)| name.to_owned()).collect();
    let index = Index { name: PRIMARY.to_owned(), unique: true, partial: false, columns };
    if index.columns.is_empty() { Vec::new() } else { vec![index] }
}

fn others(parts: &[TextRow]) -> Vec<Index> {
    let mut indexes: Vec<Index> = Vec::new();
    for part in parts {
        let name = field(part, 0);
        if indexes.last().is_none_or(|last| last.name != name) {
            let (unique, partial) = (field(part, 1) == "1", field(part, 2) == "1");
            indexes.push(Index { name: name.to_owned(), unique, partial, columns: Vec::new() });
        }
        if let Some(index) = indexes.last_mut() {
            index.columns.push(field(part, 3).to_owned());
        }
    }
    indexes
}

/// Runs `sql` and reads every column as text.
async fn query_text(
    connection: &mut SqliteConnection,
    sql: &str,
    argument: Option<&str>,
) -> Result<Vec<TextRow>, Failure> {
    let query = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false);
    let query = match argument {
        Some(argument) => query.bind(argument),
        None => query,
    };
    let rows = query.fetch_all(connection).await?;
    Ok(rows.iter().map(cells::texts).collect())
}

#[cfg(test)]
mod tests {
    use super::is_scan;

    #[test]
    fn only_reading_the_table_itself_is_a_scan() {
        for fine in [
            "SCAN k VIRTUAL TABLE INDEX 1:",
            "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)",
            "SEARCH d USING INDEX by_key (k=?)",
            "USE TEMP B-TREE FOR ORDER BY",
        ] {
            assert!(!is_scan(fine), "{fine}");
        }
        for scan in
            ["SCAN d", "SEARCH d USING AUTOMATIC COVERING INDEX (k=?)", "SCAN d USING COVERING INDEX x"]
        {
            assert!(is_scan(scan), "{scan}");
        }
    }
}
