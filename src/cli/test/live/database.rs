//! Database tables of a live case: dimension rows are put in place, rows of a SQL sink are read back.

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Row as _};
use tokio::runtime::Runtime;

use crate::config::{Fault, Node};
use crate::db::{Databases, Dialect as _, Freshness, Mysql, Sqlite, Statement, quoted};
use crate::error::{Error, Result};
use crate::model::{RowKind, Type};
use crate::plan::{DimensionConnector, MysqlTable, Plan, SqliteTable};

use super::super::output::{Form, Row};
use super::super::tables::Tables;
use super::change;

/// Databases that a case names.
pub(super) struct Database {
    runtime: Runtime,
    databases: Databases,
}

impl Database {
    /// Opens no connection yet.
    ///
    /// # Errors
    /// The system gives no threads.
    pub(super) fn new() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::bug(format!("starting a runtime: {error}")))?;
        Ok(Self { runtime, databases: Databases::default() })
    }

    /// Changes a dimension table as a step says.
    ///
    /// # Errors
    /// In the outer result faults of the case, in the inner what the database says.
    pub(super) fn change(
        &self,
        plan: &Plan,
        tables: &Tables,
        name: &str,
        change: &Node,
    ) -> Result<Result<()>, Fault> {
        let (Some(declared), Some(lookup)) =
            (tables.get(name), plan.lookups.iter().find(|lookup| lookup.table == name))
        else {
            return Err(Fault::new(&change.span, format!("table '{name}' is not read by the pipeline")));
        };
        Ok(match &lookup.connector {
            DimensionConnector::Mysql(table) => {
                let name = name_of(table);
                let changes = change::Changes { declared, table: &name, spelling: change::Spelling::Mysql };
                self.run(table, &changes.statements(change)?)
            }
            DimensionConnector::Sqlite(table) => {
                let name = quoted(&table.table);
                let changes = change::Changes { declared, table: &name, spelling: change::Spelling::Sqlite };
                self.run_in_file(table, &changes.statements(change)?)
            }
        })
    }

    fn run(&self, table: &MysqlTable, statements: &[Statement]) -> Result<()> {
        let connections = self.databases.mysql.get(table);
        self.runtime.block_on(async {
            let mut lease = connections.lease(Freshness::Any).await.map_err(|f| failed(table, &f))?;
            for statement in statements {
                Mysql::fetch(&mut lease, statement).await.map_err(|failure| failed(table, &failure))?;
            }
            lease.give_back();
            Ok(())
        })
    }

    /// The job opens the file for reading only; the case must write to it.
    fn run_in_file(&self, table: &SqliteTable, statements: &[Statement]) -> Result<()> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::external(format!("table {} in {}: {error}", table.table, table.path))
        };
        self.runtime.block_on(async {
            let mut connection = Sqlite::connect_to_write(table).await.map_err(|failure| failed(&failure))?;
            for statement in statements {
                Sqlite::fetch(&mut connection, statement).await.map_err(|failure| failed(&failure))?;
            }
            Ok(())
        })
    }

    /// Every row of a SQL sink's table, as inserts with the texts of [`text`].
    ///
    /// # Errors
    /// What the database says.
    pub(super) fn read(&self, plan: &Plan, table: &MysqlTable) -> Result<Vec<Row>> {
        let columns = &plan.project.columns;
        let list: Vec<String> =
            columns.iter().map(|column| format!("CAST({} AS CHAR)", quoted(&column.name))).collect();
        let select = format!("SELECT {} FROM {}", list.join(", "), name_of(table));
        let connections = self.databases.mysql.get(table);
        let rows = self.runtime.block_on(async {
            let mut lease = connections.lease(Freshness::Any).await.map_err(|f| failed(table, &f))?;
            let connection: &mut MySqlConnection = &mut lease;
            let rows = sqlx::query(AssertSqlSafe(select)).fetch_all(connection).await;
            let rows = rows.map_err(|error| failed(table, &error))?;
            lease.give_back();
            Ok::<_, Error>(rows)
        })?;
        let cell = |row: &sqlx::mysql::MySqlRow, at: usize| -> Result<Option<String>> {
            row.try_get(at).map_err(|error| failed(table, &error))
        };
        let row = |row: &sqlx::mysql::MySqlRow| {
            let values = (0..columns.len()).map(|at| cell(row, at)).collect::<Result<Vec<_>>>()?;
            Ok(inserted(values))
        };
        rows.iter().map(row).collect()
    }
}

/// A row that stands in a table.
pub(super) fn inserted(values: Vec<Option<String>>) -> Row {
    let shown: Vec<&str> = values.iter().map(|value| value.as_deref().unwrap_or("null")).collect();
    let line = format!("+I[{}]", shown.join(", "));
    Row { kind: RowKind::Insert, key: Vec::new(), form: Form::Typed(line, values) }
}

/// One text for all ways to write a value of this type: print's, the database's, the case's.
pub(super) fn text(written: &str, ty: &Type) -> String {
    match ty {
        Type::Boolean => u8::from(matches!(written, "true" | "1")).to_string(),
        Type::Float | Type::Double => {
            written.parse::<f64>().map_or_else(|_| written.to_owned(), |value| value.to_string())
        }
        Type::Timestamp(_) | Type::TimestampLtz(_) | Type::Time(_) => moment(written),
        _ => written.to_owned(),
    }
}

/// A blank between date and time, no zone, and no zeros at the end.
fn moment(written: &str) -> String {
    let plain = written.trim_end_matches('Z').replace('T', " ");
    let cut = match plain.split_once('.') {
        Some((seconds, fraction)) => {
            let fraction = fraction.trim_end_matches('0');
            if fraction.is_empty() { seconds.to_owned() } else { format!("{seconds}.{fraction}") }
        }
        None => plain,
    };
    if cut.matches(':').count() == 1 { format!("{cut}:00") } else { cut }
}

fn failed(table: &MysqlTable, error: &dyn std::fmt::Display) -> Error {
    Error::external(format!("table {} at {}:{}: {error}", table.table, table.host, table.port))
}

fn name_of(table: &MysqlTable) -> String {
    table.table.split('.').map(quoted).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_for_one_value() {
        let at = Type::Timestamp(3);
        for written in ["2024-01-02T03:04", "2024-01-02 03:04:00", "2024-01-02 03:04:00.000"] {
            assert_eq!(text(written, &at), "2024-01-02 03:04:00");
        }
        assert_eq!(text("2024-01-02T03:04:05.600Z", &Type::TimestampLtz(3)), "2024-01-02 03:04:05.6");
        assert_eq!(text("03:04", &Type::Time(0)), "03:04:00");
        assert_eq!(text("1.0E20", &Type::Double), text("100000000000000000000", &Type::Double));
        assert_eq!([text("true", &Type::Boolean), text("0", &Type::Boolean)], ["1", "0"]);
        assert_eq!(text("2024-01-02T03:04", &Type::STRING), "2024-01-02T03:04");
    }
}
