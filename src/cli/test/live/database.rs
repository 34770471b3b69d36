//! Database tables of a live case: dimension rows are put in place, rows of a SQL sink are read back.

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Executor, Row as _};
use tokio::runtime::Runtime;

use crate::config::{Fault, Node};
use crate::db::{Databases, Freshness, quoted};
use crate::error::{Error, Result};
use crate::model::{RowKind, Type, Value};
use crate::plan::{DimensionConnector, MysqlTable, Plan};

use super::super::case::scalar;
use super::super::output::{Form, Row};
use super::super::tables::{Declared, Tables};

/// Values of a statement, `None` for NULL.
type Binds = Vec<Option<Vec<u8>>>;

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
        let DimensionConnector::Mysql(table) = &lookup.connector;
        let mut statements = Vec::new();
        for entry in change.as_map().unwrap_or_default() {
            for row in entry.value.as_list().unwrap_or_default() {
                match entry.key.written.as_str() {
                    "upsert" if declared.unique => statements.push(insert(declared, table, row)?),
                    "delete" => statements.push(delete(declared, table, row)?),
                    "upsert" => {}
                    _ => return Err(Fault::new(&entry.key.span, "a live database fails only by itself")),
                }
            }
            let rows = entry.value.as_list().unwrap_or_default();
            if entry.key.written == "upsert" && !declared.unique {
                // Without a primary key all rows with the key leave, then the new ones come.
                for row in rows {
                    statements.push(delete_same(declared, table, row)?);
                }
                for row in rows {
                    statements.push(insert(declared, table, row)?);
                }
            }
        }
        Ok(self.run(table, statements))
    }

    fn run(&self, table: &MysqlTable, statements: Vec<(String, Binds)>) -> Result<()> {
        let connections = self.databases.get(table);
        self.runtime.block_on(async {
            let mut lease = connections.lease(Freshness::Any).await.map_err(|f| failed(table, &f))?;
            let connection: &mut MySqlConnection = &mut lease;
            for (text, binds) in statements {
                let query = binds.into_iter().fold(sqlx::query(AssertSqlSafe(text)), |query, bind| {
                    // Text is converted by the server to the column's type.
                    match bind.map(String::from_utf8) {
                        None => query.bind(None::<String>),
                        Some(Ok(text)) => query.bind(text),
                        Some(Err(bytes)) => query.bind(bytes.into_bytes()),
                    }
                });
                connection.execute(query).await.map_err(|error| failed(table, &error))?;
            }
            lease.give_back();
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
        let connections = self.databases.get(table);
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

fn insert(declared: &Declared, table: &MysqlTable, row: &Node) -> Result<(String, Binds), Fault> {
    let names: Vec<String> = declared.columns.iter().map(|(name, _)| quoted(name)).collect();
    let marks = vec!["?"; names.len()].join(", ");
    let update: Vec<String> = names.iter().map(|name| format!("{name} = VALUES({name})")).collect();
    let mut text = format!("INSERT INTO {} ({}) VALUES ({marks})", name_of(table), names.join(", "));
    if declared.unique {
        text.push_str(&format!(" ON DUPLICATE KEY UPDATE {}", update.join(", ")));
    }
    Ok((text, binds(declared, row)?))
}

fn delete_same(declared: &Declared, table: &MysqlTable, row: &Node) -> Result<(String, Binds), Fault> {
    let all = binds(declared, row)?;
    let key =
        declared.key.iter().filter_map(|&at| Some((declared.columns.get(at)?.0.as_str(), all.get(at)?)));
    Ok(delete_where(table, key))
}

fn delete(declared: &Declared, table: &MysqlTable, row: &Node) -> Result<(String, Binds), Fault> {
    let all = binds(declared, row)?;
    let given = declared.columns.iter().zip(&all).filter(|((name, _), _)| row.get(name).is_some());
    Ok(delete_where(table, given.map(|((name, _), value)| (name.as_str(), value))))
}

fn delete_where<'a>(
    table: &MysqlTable,
    key: impl Iterator<Item = (&'a str, &'a Option<Vec<u8>>)>,
) -> (String, Binds) {
    let (mut conditions, mut binds) = (Vec::new(), Vec::new());
    for (name, value) in key {
        conditions.push(format!("{} <=> ?", quoted(name)));
        binds.push(value.clone());
    }
    (format!("DELETE FROM {} WHERE {}", name_of(table), conditions.join(" AND ")), binds)
}

/// Values of every declared column, checked against its type.
fn binds(declared: &Declared, row: &Node) -> Result<Binds, Fault> {
    let values = declared.row(row)?;
    let mut binds = Vec::with_capacity(values.len());
    for ((name, ty), value) in declared.columns.iter().zip(values) {
        let written = row.get(name).map(scalar).transpose()?.flatten();
        binds.push(match (value, written) {
            (Value::Bytes(bytes), _) => Some(bytes),
            (Value::Null, _) | (_, None) => None,
            (_, Some(written)) => Some(text(&written, ty).into_bytes()),
        });
    }
    Ok(binds)
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
