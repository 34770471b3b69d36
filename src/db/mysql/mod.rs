//! MySQL-protocol servers: one database as one user, and how it is spoken with.
//!
//! Keys travel as one JSON parameter that `JSON_TABLE` reads as a table typed
//! like the live key columns. SQL is the subset that MySQL 8 and MariaDB 10.6
//! both accept.

mod catalog;
mod cells;
mod compatibility;
mod key;

pub(crate) use cells::instant as zoned_instant;
pub use compatibility::{Family, writable};
pub use key::KeyColumn;

use std::time::Duration;

use jiff::tz::TimeZone;
use sqlx::mysql::{MySqlArguments, MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlSslMode};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, MySql};

use crate::error::{Error, TablePart};
use crate::model::{Datum, Type};
use crate::plan::{MysqlTable, Secret};

use super::dialect::{BatchForm, Bind, Dialect, Key, Statement};
use super::table::{ColumnInfo, TableInfo, quoted};
use super::{Failure, connections::STATEMENTS_MAX};
use cells::Wire;

/// Statements of this process must not depend on the server's `sql_mode`:
/// strict, so that a sink's value is refused rather than cut. Nor on its `autocommit`: with 0 a statement
/// outside of a transaction would not last, and lookups would read one old snapshot for ever.
const SESSION: &str = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', autocommit = 1";

/// One database of a server, as one user.
pub struct Mysql {
    options: MySqlConnectOptions,
    place: String,
    address: String,
    user: String,
    password: Option<Secret>,
    tls: bool,
    connect_timeout: Duration,
}

impl Bind {
    /// Appends this to the values of a statement.
    pub(crate) fn to<'q>(
        &'q self,
        query: Query<'q, MySql, MySqlArguments>,
    ) -> Query<'q, MySql, MySqlArguments> {
        match self {
            Self::Null => query.bind(None::<i64>),
            Self::Signed(value) => query.bind(*value),
            Self::Unsigned(value) => query.bind(*value),
            Self::Double(value) => query.bind(*value),
            Self::Text(text) => query.bind(text.as_str()),
            Self::Bytes(bytes) => query.bind(bytes.as_slice()),
        }
    }
}

fn address(table: &MysqlTable) -> String {
    format!("{}:{}/{}", table.host, table.port, table.database)
}

fn options(table: &MysqlTable, user: &str) -> MySqlConnectOptions {
    let options = MySqlConnectOptions::new()
        .host(&table.host)
        .port(table.port)
        .username(user)
        .database(&table.database)
        .ssl_mode(if table.tls { MySqlSslMode::Preferred } else { MySqlSslMode::Disabled })
        .charset("utf8mb4")
        .timezone(Some("+00:00".to_owned()))
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .statement_cache_capacity(STATEMENTS_MAX)
        .disable_statement_logging();
    // An empty password is the one of an account without a password.
    match table.password.as_ref().filter(|password| !password.expose().is_empty()) {
        Some(password) => options.password(password.expose()),
        None => options,
    }
}

impl Mysql {
    /// `host:port/database`, for messages.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Dialect for Mysql {
    const NAME: &'static str = "MySQL";
    const ADDRESS: &'static str = "host and port";
    type Source = MysqlTable;
    type Connection = MySqlConnection;
    type Row = MySqlRow;
    type Shape = Vec<Wire>;
    type Key = KeyColumn;
    type Identity = ();

    fn new(table: &MysqlTable) -> Self {
        let user = table.username.clone().unwrap_or_default();
        let address = address(table);
        Self {
            options: options(table, &user),
            place: format!("MySQL at {address}"),
            address,
            user,
            password: table.password.clone(),
            tls: table.tls,
            connect_timeout: table.connect_timeout,
        }
    }

    fn serves(&self, table: &MysqlTable) -> bool {
        self.address == address(table)
            && self.user == table.username.as_deref().unwrap_or_default()
            && self.password == table.password
            && self.tls == table.tls
            && self.connect_timeout == table.connect_timeout
    }

    fn place(&self) -> &str {
        &self.place
    }

    async fn connect(&self) -> Result<MySqlConnection, Failure> {
        let open = async {
            let mut connection = self.options.connect().await?;
            connection.execute(SESSION).await?;
            Ok::<_, sqlx::Error>(connection)
        };
        let opened = tokio::time::timeout(self.connect_timeout, open).await;
        Ok(opened.map_err(|_| Failure::timeout("connecting", self.connect_timeout))??)
    }

    fn identity(&self) {}

    async fn answers(connection: &mut MySqlConnection) -> bool {
        connection.ping().await.is_ok()
    }

    fn start_error(&self, failure: &Failure) -> Error {
        let (place, user) = (&self.place, &self.user);
        let Some(code) = failure.code() else {
            let verb = if failure.is_hopeless() { "cannot be spoken with" } else { "is unreachable" };
            let advice = match failure.is_hopeless() {
                true => "",
                false => "; check host and port in `url`, and that the server runs",
            };
            let message = format!("{place} {verb}: {}{advice}", failure.text());
            return Error::new(failure.kind(), message).about(TablePart::option("url"));
        };
        let (option, advice) = match code {
            1045 | 1698 => ("password", "; check `username` and `password`"),
            1044 => ("url", "; grant the user access to the database, or correct the database in `url`"),
            1049 => ("url", "; create the database, or correct its name in `url`"),
            1130 => ("url", "; allow the user to connect from this host"),
            1142 | 1143 => ("table-name", "; grant the user the privilege on the table"),
            1040 | 1203 | 1226 => ("url", "; raise the limit of connections, or use fewer replicas"),
            _ => ("url", ""),
        };
        let message = format!("{place} refuses user '{user}': {failure}{advice}");
        Error::new(failure.kind(), message).about(TablePart::option(option))
    }

    async fn describe(connection: &mut MySqlConnection, table: &MysqlTable) -> Result<TableInfo, Failure> {
        catalog::read(connection, table).await
    }

    async fn neighbours(connection: &mut MySqlConnection, table: &TableInfo) -> Result<Vec<String>, Failure> {
        catalog::tables(connection, &table.schema).await
    }

    fn readable(column: &ColumnInfo, declared: &Type) -> Result<(), &'static str> {
        compatibility::readable(column, declared)
    }

    fn holds_more(column: &ColumnInfo, declared: &Type) -> bool {
        compatibility::holds_more(column, declared)
    }

    fn key(column: &ColumnInfo, declared: &Type, zone: &TimeZone) -> Result<KeyColumn, String> {
        KeyColumn::new(column, declared, zone)
    }

    fn batch(form: &BatchForm<'_>, key: &[KeyColumn]) -> Option<String> {
        let mut types = String::from("i FOR ORDINALITY");
        let mut condition = Vec::with_capacity(key.len());
        for (i, column) in key.iter().enumerate() {
            types.push_str(&format!(", k{i} {} PATH '$[{i}]'", column.batch_type()?));
            condition.push(format!("d.{} = {}", quoted(&column.name), column.batch_side(&format!("k.k{i}"))));
        }
        Some(format!(
            "SELECT k.i{} FROM JSON_TABLE(?, '$[*]' COLUMNS ({types})) AS k STRAIGHT_JOIN {} AS d ON {}{}",
            form.fetched,
            form.source,
            condition.join(" AND "),
            form.order
        ))
    }

    /// An index that begins with a key column is one that the server can use.
    async fn scans(
        _: &mut MySqlConnection,
        table: &TableInfo,
        key: &[KeyColumn],
        _: &Statement,
    ) -> Result<bool, Failure> {
        let is_key = |name: &String| key.iter().any(|column| column.name().eq_ignore_ascii_case(name));
        Ok(!table.indexes.iter().any(|index| index.columns.first().is_some_and(is_key)))
    }

    fn bytes_of(column: &str) -> String {
        format!("CAST({column} AS BINARY)")
    }

    async fn fetch(
        connection: &mut MySqlConnection,
        statement: &Statement,
    ) -> Result<Vec<MySqlRow>, Failure> {
        let query = sqlx::query(AssertSqlSafe(statement.sql.clone())).persistent(statement.kept);
        let query = statement.binds.iter().fold(query, |query, bind| bind.to(query));
        Ok(query.fetch_all(connection).await?)
    }

    fn shape(row: &MySqlRow) -> Vec<Wire> {
        Wire::of_row(row)
    }

    fn number(row: &MySqlRow, wires: &Vec<Wire>) -> Option<i128> {
        cells::integer(wires.first().copied()?, cells::raw(row, 0)?)
    }

    fn value<'r>(
        row: &'r MySqlRow,
        at: usize,
        wires: &Vec<Wire>,
        declared: &Type,
        zone: &TimeZone,
    ) -> Result<Datum<'r>, String> {
        let wire = wires.get(at).copied().unwrap_or(Wire::Bytes);
        match cells::raw(row, at) {
            None => Ok(Datum::Null),
            Some(bytes) => cells::read(wire, declared, bytes, zone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure::tests::refused_by_mysql;
    use super::*;

    fn table() -> MysqlTable {
        MysqlTable {
            host: "db".to_owned(),
            port: 3306,
            database: "shop".to_owned(),
            table: "t".to_owned(),
            username: Some("app".to_owned()),
            password: None,
            tls: true,
            connect_timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        assert_eq!(
            Mysql::new(&table()).start_error(&refused_by_mysql(1045)).to_string(),
            "MySQL at db:3306/shop refuses user 'app': error 1045: said so; check `username` and `password`"
        );
    }

    #[test]
    fn a_table_that_wants_no_encryption_gets_connections_of_its_own() {
        let (offered, plain) = (table(), MysqlTable { tls: false, ..table() });
        let mode = |table: &MysqlTable| Mysql::new(table).options.get_ssl_mode();
        assert!(matches!(mode(&offered), MySqlSslMode::Preferred));
        assert!(matches!(mode(&plain), MySqlSslMode::Disabled));
        assert!(Mysql::new(&plain).serves(&plain) && !Mysql::new(&offered).serves(&plain));
    }
}
