//! What went wrong with a database, reduced to what a caller decides on.
//!
//! Texts come from the database or from the operating system, never from the
//! connection settings, so a password cannot get into them.

use std::time::Duration;

use crate::error::{Kind, io_reason};

/// Codes of MySQL that pass by themselves: too many connections (1040, 1203, 1226), lock
/// waits and deadlocks (1205, 1213), a server that shuts down or is read-only
/// for the time of a failover (1053, 1290, 1792, 1836), too many prepared statements (1461).
const MYSQL_PASSING: [u16; 10] = [1040, 1203, 1226, 1205, 1213, 1053, 1290, 1792, 1836, 1461];

/// Illegal mix of collations: a text that the column's character set cannot hold.
const ILLEGAL_MIX_OF_COLLATIONS: u16 = 1267;

/// Primary codes of SQLite that pass by themselves: out of memory (7), locked by another
/// connection (5, 6), input or output failed (10).
const SQLITE_PASSING: [u16; 4] = [5, 6, 7, 10];

/// A statement or a connection that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The database's error number; `None` when it did not answer at all.
    code: Option<u16>,
    /// What the database or the operating system said.
    text: String,
    class: Class,
}

/// What a failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// No answer.
    Silent,
    /// It passes by itself.
    Passing,
    /// The statement, the user or the table is refused.
    Refused,
    /// A text cannot be compared with the column.
    CollationConflict,
    /// The server can be reached but not be spoken with (TLS, settings): trying again is no use.
    Hopeless,
}

impl Failure {
    /// The database did not answer in time.
    pub(crate) fn timeout(what: &str, limit: Duration) -> Self {
        Self { code: None, text: format!("{what}: no answer within {limit:?}"), class: Class::Silent }
    }

    /// What was found without asking the database, and does not pass by itself.
    pub(super) fn hopeless(text: String) -> Self {
        Self { code: None, text, class: Class::Hopeless }
    }

    /// The database's error number; `None` when it did not answer at all.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        self.code
    }

    /// What the database or the operating system said.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the server said that a text cannot be compared with the column.
    pub(super) fn is_collation_conflict(&self) -> bool {
        self.class == Class::CollationConflict
    }

    /// Whether it can be reached but not be spoken with.
    pub(super) fn is_hopeless(&self) -> bool {
        self.class == Class::Hopeless
    }

    /// Whether the connection itself is gone, so that others to the same server are in doubt.
    pub(crate) fn is_connection_loss(&self) -> bool {
        self.code.is_none()
    }

    /// What a caller at start does about it: wait for an unreachable or busy
    /// database, stop for one that refuses.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.class {
            Class::Silent | Class::Passing => Kind::Transient,
            Class::Refused | Class::CollationConflict | Class::Hopeless => Kind::External,
        }
    }

    fn of_mysql(code: u16, text: &str) -> Self {
        let class = match code {
            ILLEGAL_MIX_OF_COLLATIONS => Class::CollationConflict,
            code if MYSQL_PASSING.contains(&code) => Class::Passing,
            _ => Class::Refused,
        };
        Self { code: Some(code), text: text.to_owned(), class }
    }

    /// SQLite's extended codes hold the primary one in their low byte.
    fn of_sqlite(code: u16, text: &str) -> Self {
        let class = if SQLITE_PASSING.contains(&(code & 0xff)) { Class::Passing } else { Class::Refused };
        Self { code: Some(code), text: text.to_owned(), class }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code {
            Some(code) => write!(f, "error {code}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        let silent = |text: String| Self { code: None, text, class: Class::Silent };
        match error {
            sqlx::Error::Database(error) => {
                let mysql = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>();
                match mysql {
                    Some(mysql) => Self::of_mysql(mysql.number(), error.message()),
                    None => {
                        let code = error.code().and_then(|code| code.parse().ok()).unwrap_or(1);
                        Self::of_sqlite(code, error.message())
                    }
                }
            }
            sqlx::Error::Io(error) => silent(format!("connection lost or refused: {}", io_reason(&error))),
            sqlx::Error::Tls(error) => Self::hopeless(format!("TLS: {error}")),
            sqlx::Error::Configuration(error) => {
                Self::hopeless(format!("settings of the connection: {error}"))
            }
            other => silent(other.to_string()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::db) fn refused_by_mysql(code: u16) -> Failure {
        Failure::of_mysql(code, "said so")
    }

    pub(in crate::db) fn refused_by_sqlite(code: u16) -> Failure {
        Failure::of_sqlite(code, "said so")
    }

    #[test]
    fn only_what_passes_by_itself_is_waited_for() {
        assert_eq!(Failure::timeout("connect", Duration::from_secs(1)).kind(), Kind::Transient);
        assert_eq!(refused_by_mysql(1040).kind(), Kind::Transient);
        assert_eq!(refused_by_mysql(1045).kind(), Kind::External);
        assert_eq!(refused_by_mysql(1146).kind(), Kind::External);
        // SQLITE_BUSY, SQLITE_BUSY_SNAPSHOT, SQLITE_ERROR, SQLITE_CANTOPEN, SQLITE_NOTADB.
        assert_eq!(refused_by_sqlite(5).kind(), Kind::Transient);
        assert_eq!(refused_by_sqlite(517).kind(), Kind::Transient);
        for code in [1, 14, 26] {
            assert_eq!(refused_by_sqlite(code).kind(), Kind::External);
        }
    }
}
