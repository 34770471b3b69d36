//! What the live database says about a table: columns, indexes, generated values.
//!
//! Everything is read as text (`CAST … AS CHAR`), because the types of
//! `information_schema` differ between servers and versions.

use sqlx::mysql::{MySql, MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Decode, Row, ValueRef};

use crate::plan::MysqlTable;

use super::Failure;

/// A table of the live database.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// Schema (database) of the table.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Columns in order; empty: there is no such table, or the user may not see it.
    pub columns: Vec<ColumnInfo>,
    /// Its indexes; a view has none.
    pub indexes: Vec<Index>,
    /// What `VERSION()` answers.
    pub server: String,
    /// The server's `max_allowed_packet` in bytes.
    pub packet_max: usize,
}

/// A column of the live database.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ColumnInfo {
    /// Name as the database spells it.
    pub name: String,
    /// `data_type` in lower case: `int`, `varchar`, `datetime`, …
    pub data_type: String,
    /// `column_type`: `int(10) unsigned`.
    pub column_type: String,
    /// Code points of text, bytes of binary columns.
    pub length: Option<u64>,
    /// Digits in all of DECIMAL.
    pub precision: Option<u8>,
    /// Digits after the point of DECIMAL.
    pub scale: Option<u8>,
    /// Fraction digits of times.
    pub fraction: u8,
    /// Character set of text.
    pub charset: Option<String>,
    /// Collation of text.
    pub collation: Option<String>,
    /// Whether NULL may be stored.
    pub nullable: bool,
    /// Whether an INSERT may leave the column out.
    pub has_default: bool,
    /// Whether the database computes the column, so that nobody can write it.
    pub generated: bool,
}

impl ColumnInfo {
    /// Whether an integer column is UNSIGNED.
    #[must_use]
    pub fn unsigned(&self) -> bool {
        self.column_type.contains("unsigned")
    }
}

/// An index of the live database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name; the primary key's is `PRIMARY`.
    pub name: String,
    /// Whether it allows each combination of values once.
    pub unique: bool,
    /// Whether it covers but the first characters of some column.
    pub partial: bool,
    /// Its columns in order; an expression stands as an empty name.
    pub columns: Vec<String>,
}

impl TableInfo {
    /// Reads what the database says about `table`.
    pub(super) async fn read(connection: &mut MySqlConnection, table: &MysqlTable) -> Result<Self, Failure> {
        let (schema, name) = split_name(table);
        let server =
            query_text(connection, "SELECT VERSION(), CAST(@@max_allowed_packet AS CHAR)", &[]).await?;
        let columns = query_text(connection, COLUMNS, &[schema, name]).await?;
        let parts = query_text(connection, INDEXES, &[schema, name]).await?;
        let version = server.first();
        Ok(Self {
            schema: schema.to_owned(),
            name: name.to_owned(),
            columns: columns.iter().map(column).collect(),
            indexes: indexes(&parts),
            server: version.map(|row| field(row, 0).to_owned()).unwrap_or_default(),
            packet_max: version.and_then(|row| field(row, 1).parse().ok()).unwrap_or(0),
        })
    }

    /// The column of this name; MySQL's column names have no case.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&ColumnInfo> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Columns of the primary key, else of the first unique index over NOT NULL columns; empty if there is neither.
    #[must_use]
    pub fn identity(&self) -> &[String] {
        let mut unique = self.indexes.iter().filter(|index| self.identifies(index));
        let primary = unique.clone().find(|index| index.name == "PRIMARY");
        primary.or_else(|| unique.next()).map_or(&[], |index| index.columns.as_slice())
    }

    /// Whether two rows can never have equal values in the columns of `index`.
    #[must_use]
    pub fn identifies(&self, index: &Index) -> bool {
        let not_null = |name: &String| self.column(name).is_some_and(|column| !column.nullable);
        index.unique && !index.partial && index.columns.iter().all(not_null)
    }
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

type TextRow = Vec<Option<String>>;

fn field(row: &TextRow, i: usize) -> &str {
    row.get(i).and_then(Option::as_deref).unwrap_or_default()
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
pub(super) async fn query_text(
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
