//! One attempt at a transaction, and the search for the row that the server refuses.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, Executor};
use tokio::time::timeout;

use crate::db::{Bind, Failure, Freshness, Lease, Mysql, STATEMENT_TIMEOUT};
use crate::error::{Error, Kind, Reason, Result};

use super::Shared;
use super::buffer::{Change, Rows};
use super::rows::{Misfit, Partial};

/// Refusals of a row, not of the connection or the moment: too long, out of
/// range, NULL, wrong for the type or character set, no parent row, a check, a
/// duplicate of another unique index, no default, a trigger's SIGNAL, invalid JSON, larger than a packet.
const REFUSED_ROW: [u16; 22] = [
    1048, 1062, 1153, 1169, 1216, 1217, 1264, 1265, 1267, 1292, 1364, 1366, 1369, 1406, 1411, 1416, 1451,
    1452, 1644, 3140, 3819, 4025,
];

/// Why an attempt failed.
pub(super) enum Trouble {
    /// Another attempt may go better.
    Database(Failure),
    /// No attempt will.
    Row(Error),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Database(failure)
    }
}

/// Commits the rows of `jobs` together. A connection that is dropped on the way takes its transaction with it.
pub(super) async fn transaction(shared: &Shared, jobs: &[Rows], freshness: Freshness) -> Result<(), Trouble> {
    let steps: Vec<(Change, Vec<&[u8]>)> = jobs.iter().flat_map(|rows| steps(shared, rows)).collect();
    if steps.is_empty() {
        return Ok(());
    }
    let implicit = matches!(steps.as_slice(), [(change, rows)] if fits_one_statement(shared, *change, rows));
    let lease = shared.connections.lease(freshness).await?;
    let mut attempt = Attempt { shared, lease, implicit };
    if !implicit {
        attempt.control("BEGIN").await?;
    }
    for (change, rows) in &steps {
        match change {
            Change::Delete => attempt.delete(rows).await?,
            Change::Upsert => attempt.upsert(rows).await?,
        }
    }
    if !implicit {
        attempt.control("COMMIT").await?;
    }
    attempt.lease.give_back();
    Ok(())
}

/// Deletes of a job, then its upserts, each in the order of their keys: writers
/// that meet on the same index pages then lock them in one order.
fn steps<'a>(shared: &Shared, rows: &'a Rows) -> impl Iterator<Item = (Change, Vec<&'a [u8]>)> {
    let keyed = !shared.columns.key.is_empty();
    [Change::Delete, Change::Upsert].into_iter().filter_map(move |change| {
        let mut rows = rows.of(change);
        if keyed {
            rows.sort_unstable();
        }
        (!rows.is_empty()).then_some((change, rows))
    })
}

fn fits_one_statement(shared: &Shared, change: Change, rows: &[&[u8]]) -> bool {
    let next = match change {
        Change::Upsert => shared.statements.upsert(rows),
        Change::Delete => shared.statements.delete(rows),
    };
    next.is_some_and(|(taken, _)| taken == rows.len())
}

struct Attempt<'a> {
    shared: &'a Shared,
    lease: Lease<'a, Mysql>,
    /// One statement that is a transaction by itself.
    implicit: bool,
}

impl Attempt<'_> {
    async fn control(&mut self, sql: &'static str) -> Result<(), Failure> {
        self.shared.counts.statement();
        let executing = self.lease.execute(sql);
        timeout(STATEMENT_TIMEOUT, executing)
            .await
            .map_err(|_| Failure::timeout(sql, STATEMENT_TIMEOUT))??;
        Ok(())
    }

    async fn execute(&mut self, query: Partial<'_>) -> Result<(), Failure> {
        self.shared.counts.statement();
        let executing = query.execute(&mut *self.lease);
        let done = timeout(STATEMENT_TIMEOUT, executing).await;
        done.map_err(|_| Failure::timeout("statement", STATEMENT_TIMEOUT))??;
        Ok(())
    }

    async fn upsert(&mut self, rows: &[&[u8]]) -> Result<(), Trouble> {
        let mut rest = rows;
        while let Some((taken, text)) = self.shared.statements.upsert(rest) {
            let (now, later) = rest.split_at(taken);
            match self.insert(text, now).await {
                Err(Trouble::Database(failure)) if is_refused_row(&failure) => {
                    return Err(self.find_refused(now, failure).await);
                }
                other => other?,
            }
            rest = later;
        }
        Ok(())
    }

    async fn insert(&mut self, text: &Arc<str>, rows: &[&[u8]]) -> Result<(), Trouble> {
        let mut query = sqlx::query(AssertSqlSafe(Arc::clone(text)));
        for row in rows {
            let bound = self.shared.columns.bind_row(query, row);
            query = bound.map_err(|misfit| Trouble::Row(self.shared.misfit(row, &misfit)))?;
        }
        Ok(self.execute(query).await?)
    }

    async fn delete(&mut self, rows: &[&[u8]]) -> Result<(), Trouble> {
        let columns = &self.shared.columns;
        let (rows, binds): (Vec<&[u8]>, Vec<Vec<Bind>>) =
            rows.iter().filter_map(|row| Some((*row, columns.key_binds(row)?))).unzip();
        let (mut rest, mut binds) = (rows.as_slice(), binds.as_slice());
        while let Some((taken, text)) = self.shared.statements.delete(rest) {
            let (now, later) = binds.split_at(taken.min(binds.len()));
            let query = sqlx::query(AssertSqlSafe(Arc::clone(text)));
            let query = now.iter().flatten().fold(query, |query, bind| bind.to(query));
            match self.execute(query).await {
                Err(failure) if is_refused_row(&failure) => {
                    let key = rest.first().map(|row| columns.key_text(row)).unwrap_or_default();
                    return Err(Trouble::Row(
                        self.shared.refusal(&format!("a delete of ({key}) or after it"), &failure),
                    ));
                }
                other => other?,
            }
            (rest, binds) = (rest.get(taken..).unwrap_or_default(), later);
        }
        Ok(())
    }

    /// Halves the rows of a refused statement until one row is left. A
    /// statement that failed changed nothing, and nothing of this transaction is ever committed.
    async fn find_refused(&mut self, rows: &[&[u8]], first_failure: Failure) -> Trouble {
        let (mut suspects, mut failure) = (rows, first_failure);
        if self.implicit
            && let Err(failure) = self.control("BEGIN").await
        {
            return failure.into();
        }
        while 1 < suspects.len() {
            let (left, right) = suspects.split_at(suspects.len() / 2);
            match self.try_rows(left).await {
                Ok(()) => suspects = right,
                Err(Trouble::Database(again)) if is_refused_row(&again) => {
                    (suspects, failure) = (left, again)
                }
                Err(other) => return other,
            }
        }
        if let Err(Trouble::Database(again)) = self.try_rows(suspects).await {
            failure = again;
        }
        let key = suspects.first().map(|row| self.shared.columns.key_text(row)).unwrap_or_default();
        let row = if key.is_empty() { "a row".to_owned() } else { format!("the row with key ({key})") };
        Trouble::Row(self.shared.refusal(&row, &failure))
    }

    async fn try_rows(&mut self, rows: &[&[u8]]) -> Result<(), Trouble> {
        let mut rest = rows;
        while let Some((taken, text)) = self.shared.statements.upsert(rest) {
            let (now, later) = rest.split_at(taken);
            self.insert(text, now).await?;
            rest = later;
        }
        Ok(())
    }
}

impl Shared {
    fn misfit(&self, row: &[u8], misfit: &Misfit) -> Error {
        let (table, Misfit { column, met }) = (&self.table, misfit);
        let key = self.columns.key_text(row);
        let reason = Reason::SinkRejected;
        Error::new(
            Kind::Data,
            format!("table {table}, column {column}: {met}, in the row with key ({key}) ({reason})"),
        )
    }

    fn refusal(&self, row: &str, failure: &Failure) -> Error {
        let column = column_of(failure.text());
        let column = if column.is_empty() { String::new() } else { format!(", column {column}") };
        let (table, reason) = (&self.table, Reason::SinkRejected);
        Error::new(
            Kind::Data,
            format!(
                "table {table}{column}: MySQL refuses {row}: {failure} ({reason}); \
                 change the table, or keep such rows out with `where`"
            ),
        )
    }
}

fn is_refused_row(failure: &Failure) -> bool {
    failure.code().is_some_and(|code| REFUSED_ROW.contains(&code))
}

/// The column that the server's message names: `… column 'name' at row 1`, `Column 'name' …`, `… column \`db\`.\`t\`.\`name\` …`.
fn column_of(message: &str) -> String {
    let lower = message.to_ascii_lowercase();
    let after = lower.find("column ").and_then(|at| message.get(at + "column ".len()..)).unwrap_or_default();
    let name =
        after.split(" at row").next().unwrap_or_default().split_whitespace().next().unwrap_or_default();
    name.rsplit('.').next().unwrap_or_default().trim_matches(['\'', '`', '"']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::column_of;

    #[test]
    fn the_column_is_read_from_the_servers_message() {
        assert_eq!(column_of("Data too long for column 'name' at row 3"), "name");
        assert_eq!(column_of("Column 'amount' cannot be null"), "amount");
        assert_eq!(
            column_of("Incorrect string value: '\\xF0' for column `shop`.`t`.`name` at row 1"),
            "name"
        );
        assert_eq!(column_of("Cannot add or update a child row"), "");
    }
}
