//! Checks at start: does the live table have what the definition says?

use std::time::Duration;

use crate::clock::Clock;
use crate::error::{Error, Kind, Result, TablePart};
use crate::model::DataType;

use super::dialect::Dialect;
use super::table::{ColumnInfo, TableInfo, quoted};
use super::{Connections, Lease};

/// Time between two attempts to reach a server at start.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Time between two log lines about a server that stays unreachable.
const SAY_AGAIN: Duration = Duration::from_secs(30);

/// Asks until there is an answer, trying again after transient errors while `go_on` holds.
///
/// # Errors
/// What does not pass by itself; [`Kind::Transient`] when `go_on` ended the wait.
pub async fn wait_for<T>(
    clock: &Clock,
    go_on: &dyn Fn() -> bool,
    mut ask: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let mut say_at = clock.now();
    loop {
        let error = match ask().await {
            Err(error) if error.kind() == Kind::Transient && go_on() => error,
            result => return result,
        };
        if say_at <= clock.now() {
            tracing::warn!(%error, help = START_HELP, "waiting for the database");
            say_at = clock.now() + i64::try_from(SAY_AGAIN.as_millis()).unwrap_or(i64::MAX);
        }
        clock.sleep(ASK_AGAIN).await;
    }
}

/// What an operator does about a database that does not answer at start.
const START_HELP: &str = "start the database, or correct the url; the job begins as soon as it answers";

/// How alike two names must be to be proposed (Jaro-Winkler).
const ALIKE: f64 = 0.75;

/// A connection and what the database says about a table.
pub struct LiveTable<'a, D: Dialect> {
    /// The connection that the catalog was read with.
    pub connection: Lease<'a, D>,
    /// What the database says.
    pub info: TableInfo,
    /// Name of the table in the definition.
    defined: &'a str,
}

impl<'a, D: Dialect> LiveTable<'a, D> {
    /// Connects and reads the catalog of `table`, which the definition calls `defined`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Transient`] when the database is unreachable or busy;
    /// [`crate::error::Kind::External`] when it refuses, or has no such table.
    pub async fn open(
        connections: &'a Connections<D>,
        table: &D::Source,
        defined: &'a str,
    ) -> Result<LiveTable<'a, D>> {
        let in_table = |error: Error| error.in_table(defined, &format!("table {defined}"));
        let mut connection = connections.lease_at_start().await.map_err(in_table)?;
        let read = D::describe(&mut connection, table).await;
        let info = read.map_err(|failure| in_table(connections.start_error(&failure)))?;
        if info.columns.is_empty() {
            let near = near_table::<D>(&mut connection, &info).await;
            let missing = Error::external(format!(
                "{} has no table {}{near}; correct `table-name`, create the table, or grant the user access to it",
                connections.database().place(),
                info.quoted_name()
            ));
            return Err(in_table(missing.about(TablePart::option("table-name"))));
        }
        Ok(Self { connection, info, defined })
    }

    /// The live column of this name.
    ///
    /// # Errors
    /// [`crate::error::Kind::External`] with the nearest name.
    pub fn column(&self, name: &str) -> Result<&ColumnInfo> {
        self.info.column(name).ok_or_else(|| {
            let names: Vec<&str> = self.info.columns.iter().map(|column| column.name.as_str()).collect();
            let hint = match nearest(name, &names) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => format!("; it has {}", names.join(", ")),
            };
            self.refusal(&format!(
                "has no column `{name}`{hint}; correct the name in the definition, or add the column"
            ))
            .about(TablePart::Column(name.to_owned()))
        })
    }

    /// The live column of this name, whose type must fit the declared one.
    ///
    /// # Errors
    /// [`crate::error::Kind::External`] for a missing column, or one of a type that does not fit.
    pub fn typed_column(
        &self,
        name: &str,
        declared: &DataType,
        fits: impl Fn(&ColumnInfo, &crate::model::Type) -> Result<(), &'static str>,
    ) -> Result<&ColumnInfo> {
        let column = self.column(name)?;
        match fits(column, &declared.kind) {
            Ok(()) => Ok(column),
            Err(allowed) => Err(self
                .refusal(&format!(
                    "has column `{name}` as {}, which cannot be declared {}; declare it {allowed}",
                    column.column_type, declared.kind
                ))
                .about(TablePart::Column(name.to_owned()))),
        }
    }

    /// An error about the live table.
    #[must_use]
    pub fn refusal(&self, what: &str) -> Error {
        let live = format!("{} {what}", self.info.quoted_name());
        Error::external(live).in_table(self.defined, &format!("table {}", self.defined))
    }
}

/// The most alike of `names`, if one is alike enough.
#[must_use]
pub fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let likeness = |other: &str| strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
    let best = names.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) >= ALIKE).then_some(*best)
}

async fn near_table<D: Dialect>(connection: &mut D::Connection, info: &TableInfo) -> String {
    let names = D::neighbours(connection, info).await.unwrap_or_default();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    nearest(&info.name, &names).map(|near| format!("; did you mean {}?", quoted(near))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_alike_names_are_proposed() {
        let names = ["id", "customer_name", "created_at"];
        assert_eq!(nearest("custmer_name", &names), Some("customer_name"));
        assert_eq!(nearest("Customer_Name", &names), Some("customer_name"));
        assert_eq!(nearest("zzz", &names), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
