//! Whether the user may write, asked without writing: a server checks the rights of a statement that it explains.

use sqlx::{AssertSqlSafe, Executor};

use crate::db::{Connections, Failure, Freshness, LiveTable, Mysql, quoted};
use crate::error::{Error, Result, TablePart};

use super::MysqlSinkSpec;

/// `<command> command denied`, for a table and for a column.
const DENIED: [u16; 2] = [1142, 1143];

/// Asks for INSERT and, where rows have a key, for UPDATE and DELETE.
pub(super) async fn check(spec: &MysqlSinkSpec, connections: &Connections<Mysql>) -> Result<()> {
    let live = LiveTable::open(connections, &spec.sink.table, &spec.table).await?;
    let statements = statements(&live, spec);
    live.connection.give_back();
    for (right, statement) in statements {
        let mut connection = connections.lease(Freshness::Any).await.map_err(|failure| {
            Error::transient(failure.to_string()).in_table(&spec.table, &format!("table {}", spec.table))
        })?;
        match connection.execute(AssertSqlSafe(statement)).await.map_err(Failure::from) {
            Ok(_) => connection.give_back(),
            // Other objections are about the statement that is never run, not about rights.
            Err(failure) if failure.code().is_some_and(|code| DENIED.contains(&code)) => {
                let what = format!("table {}: {failure}; grant the user {right} on the table", spec.table);
                return Err(Error::external(what)
                    .about(TablePart::option("table-name"))
                    .of_table(&spec.table));
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// The statements that a sink sends, as ones that are explained only, each with the right it needs.
fn statements(live: &LiveTable<'_, Mysql>, spec: &MysqlSinkSpec) -> Vec<(&'static str, String)> {
    let table = live.info.quoted_name();
    let names: Vec<String> = spec.columns.iter().map(|(name, _)| quoted(name)).collect();
    let (list, values) = (names.join(", "), vec!["NULL"; names.len()].join(", "));
    let insert = format!("EXPLAIN INSERT INTO {table} ({list}) VALUES ({values})");
    if spec.primary_key.is_empty() {
        return vec![("INSERT", insert)];
    }
    let set: Vec<String> = names.iter().map(|name| format!("{name} = VALUES({name})")).collect();
    vec![
        ("INSERT and UPDATE", format!("{insert} ON DUPLICATE KEY UPDATE {}", set.join(", "))),
        ("DELETE", format!("EXPLAIN DELETE FROM {table} WHERE 1 = 0")),
    ]
}
