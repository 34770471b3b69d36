//! Resolved dimension tables and the values that are never printed.

use std::fmt;

/// A text that may be secret: `Debug` and `Display` never show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the client that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Where dimension rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DimensionConnector {
    /// `connector: mysql` (or `jdbc` with a `jdbc:mysql:` url).
    Mysql(MysqlTable),
    /// `connector: sqlite`.
    Sqlite(SqliteTable),
}

/// A table of a SQLite file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteTable {
    /// Path of the file; a relative one counts from the working directory of the process.
    pub path: String,
    /// Table or view.
    pub table: String,
}

impl DimensionConnector {
    /// The connector's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mysql(_) => "mysql",
            Self::Sqlite(_) => "sqlite",
        }
    }
}

/// A table of a MySQL-protocol server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MysqlTable {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Database (schema) name.
    pub database: String,
    /// Table name, possibly `schema.table`.
    pub table: String,
    /// User; `None` connects without one.
    pub username: Option<String>,
    /// Password.
    pub password: Option<Secret>,
    /// Whether the connection is encrypted where the server offers that; not with `useSSL=false` or `sslMode=DISABLED`.
    pub tls: bool,
    /// `connection.max-retry-timeout`.
    pub connect_timeout: std::time::Duration,
}
