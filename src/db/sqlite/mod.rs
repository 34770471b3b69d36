//! SQLite files: one file, read only, and how it is asked.
//!
//! Keys travel as one JSON parameter that `json_each` reads as a table. Its
//! values have no affinity and no collation of their own, exactly as a
//! parameter has none, so a column compares with them as it does in
//! `column = ?`: by its own affinity (`'7'` finds 7 in a column of numbers) and
//! its own collation (`NOCASE`, `RTRIM`).
//!
//! A file that is replaced by another of the same name is noticed: every
//! connection remembers which file it has open.

mod catalog;
mod cells;
mod compatibility;
mod key;

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

use jiff::tz::TimeZone;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions};

use crate::error::{Error, TablePart, io_reason};
use crate::model::{Datum, Type};
use crate::plan::SqliteTable;

use super::dialect::{BatchForm, Bind, Dialect, Key as _, Statement};
use super::table::{ColumnInfo, TableInfo, quoted};
use super::{Failure, connections::STATEMENTS_MAX};
use key::KeyColumn;

/// Longest wait for a lock of another connection; a writer holds it for the moment of its commit.
const BUSY_MAX: Duration = Duration::from_secs(5);

/// One SQLite file.
pub struct Sqlite {
    /// Counted from the root, so that messages name one file.
    path: PathBuf,
    place: String,
}

/// Device and number of a file; `None`: it is not there.
type FileId = Option<(u64, u64)>;

fn absolute(table: &SqliteTable) -> PathBuf {
    std::path::absolute(&table.path).unwrap_or_else(|_| PathBuf::from(&table.path))
}

impl Sqlite {
    /// A connection that may write, for whoever prepares a table: lookups never do.
    ///
    /// # Errors
    /// The file is not there, or cannot be opened.
    pub async fn connect_to_write(table: &SqliteTable) -> Result<SqliteConnection, Failure> {
        let file = Self::new(table);
        match file.objection() {
            Some(objection) => Err(Failure::hopeless(objection)),
            None => Ok(file.options().connect().await?),
        }
    }

    fn options(&self) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(&self.path)
            .busy_timeout(BUSY_MAX)
            .statement_cache_capacity(STATEMENTS_MAX)
            .thread_name(|number| format!("sqlite-{number}"))
            .disable_statement_logging()
    }

    /// Why the file cannot even be opened.
    fn objection(&self) -> Option<String> {
        match std::fs::metadata(&self.path) {
            Ok(file) if file.is_dir() => Some("it is a folder; name a file in it in `url`".to_owned()),
            Ok(_) => None,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Some("there is no such file; create it, or correct `url`".to_owned())
            }
            Err(error) => Some(io_reason(&error)),
        }
    }
}

impl Dialect for Sqlite {
    const NAME: &'static str = "SQLite";
    const ADDRESS: &'static str = "the file";
    type Source = SqliteTable;
    type Connection = SqliteConnection;
    type Row = SqliteRow;
    type Shape = ();
    type Key = KeyColumn;
    type Identity = FileId;

    fn new(table: &SqliteTable) -> Self {
        let path = absolute(table);
        let place = format!("SQLite file {}", path.display());
        Self { path, place }
    }

    fn serves(&self, table: &SqliteTable) -> bool {
        self.path == absolute(table)
    }

    fn place(&self) -> &str {
        &self.place
    }

    async fn connect(&self) -> Result<SqliteConnection, Failure> {
        if let Some(objection) = self.objection() {
            return Err(Failure::hopeless(objection));
        }
        Ok(self.options().read_only(true).connect().await?)
    }

    fn identity(&self) -> FileId {
        std::fs::metadata(&self.path).ok().map(|file| (file.dev(), file.ino()))
    }

    /// Nothing lies between: a file does not hang up.
    async fn answers(_: &mut SqliteConnection) -> bool {
        true
    }

    fn start_error(&self, failure: &Failure) -> Error {
        let advice = match failure.code().map(|code| code & 0xff) {
            Some(5 | 6) => "; another process keeps it locked",
            Some(8) => "; what is left in its write-ahead log needs a folder that this user can write to",
            Some(14) => "; let the user that runs this process read it",
            Some(26) => "; it is no SQLite database: correct `url`",
            _ => "",
        };
        let message = format!("{}: {failure}{advice}", self.place);
        Error::new(failure.kind(), message).about(TablePart::option("url"))
    }

    async fn describe(connection: &mut SqliteConnection, table: &SqliteTable) -> Result<TableInfo, Failure> {
        catalog::read(connection, &table.table).await
    }

    async fn neighbours(connection: &mut SqliteConnection, _: &TableInfo) -> Result<Vec<String>, Failure> {
        catalog::tables(connection).await
    }

    fn readable(column: &ColumnInfo, declared: &Type) -> Result<(), &'static str> {
        compatibility::readable(column, declared)
    }

    /// Nothing is said: any SQLite column can hold anything, whatever its type.
    fn holds_more(_: &ColumnInfo, _: &Type) -> bool {
        false
    }

    fn key(column: &ColumnInfo, declared: &Type, _: &TimeZone) -> Result<KeyColumn, String> {
        KeyColumn::new(column, declared)
    }

    fn batch(form: &BatchForm<'_>, key: &[KeyColumn]) -> Option<String> {
        let part = |(i, column): (usize, &KeyColumn)| {
            let value = format!("json_extract(k.value, '$[{i}]')");
            format!("d.{} = {}", quoted(column.name()), column.batch_side(&value))
        };
        let condition: Vec<String> = key.iter().enumerate().map(part).collect();
        // CROSS JOIN keeps the order of the tables: for each key, the rows.
        Some(format!(
            "SELECT k.key + 1{} FROM json_each(?) AS k CROSS JOIN {} AS d ON {}{}",
            form.fetched,
            form.source,
            condition.join(" AND "),
            form.order
        ))
    }

    /// SQLite itself says how it would go about it.
    async fn scans(
        connection: &mut SqliteConnection,
        _: &TableInfo,
        _: &[KeyColumn],
        statement: &Statement,
    ) -> Result<bool, Failure> {
        let explain = format!("EXPLAIN QUERY PLAN {}", statement.sql);
        let rows = Self::fetch(connection, &Statement::once(explain, statement.binds.clone())).await?;
        Ok(rows.iter().filter_map(|row| cells::text(row, 3)).any(catalog::is_scan))
    }

    fn bytes_of(column: &str) -> String {
        format!("CAST({column} AS BLOB)")
    }

    async fn fetch(
        connection: &mut SqliteConnection,
        statement: &Statement,
    ) -> Result<Vec<SqliteRow>, Failure> {
        let query = sqlx::query(AssertSqlSafe(statement.sql.clone())).persistent(statement.kept);
        let query = statement.binds.iter().fold(query, |query, bind| match bind {
            Bind::Null => query.bind(None::<i64>),
            Bind::Signed(value) => query.bind(*value),
            // Beyond SQLite's integers: as its digits.
            Bind::Unsigned(value) => query.bind(value.to_string()),
            Bind::Double(value) => query.bind(*value),
            Bind::Text(text) => query.bind(text.as_str()),
            Bind::Bytes(bytes) => query.bind(bytes.as_slice()),
        });
        Ok(query.fetch_all(connection).await?)
    }

    fn shape(_: &SqliteRow) {}

    fn number(row: &SqliteRow, (): &()) -> Option<i128> {
        cells::number(row, 0)
    }

    fn value<'r>(
        row: &'r SqliteRow,
        at: usize,
        (): &(),
        declared: &Type,
        _: &TimeZone,
    ) -> Result<Datum<'r>, String> {
        cells::read(row, at, declared)
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure::tests::refused_by_sqlite;
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        let table = SqliteTable { path: "/data/shop.db".to_owned(), table: "t".to_owned() };
        let error = Sqlite::new(&table).start_error(&refused_by_sqlite(26));
        assert_eq!(
            error.to_string(),
            "SQLite file /data/shop.db: error 26: said so; it is no SQLite database: correct `url`"
        );
    }
}
