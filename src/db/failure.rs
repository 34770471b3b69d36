//! What went wrong with the server, reduced to what a caller decides on.
//!
//! Texts come from the server or from the operating system, never from the
//! connection settings, so a password cannot get into them.

use std::time::Duration;

use crate::error::{Error, Kind, TablePart, io_reason};

/// Codes that pass by themselves: too many connections (1040, 1203, 1226), lock
/// waits and deadlocks (1205, 1213), a server that shuts down or is read-only
/// for the time of a failover (1053, 1290, 1792, 1836), too many prepared statements (1461).
const PASSING: [u16; 10] = [1040, 1203, 1226, 1205, 1213, 1053, 1290, 1792, 1836, 1461];

/// Illegal mix of collations: a text that the column's character set cannot hold.
const ILLEGAL_MIX_OF_COLLATIONS: u16 = 1267;

/// A statement or a connection that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The server's error number; `None` when it did not answer at all.
    code: Option<u16>,
    /// What the server or the operating system said.
    text: String,
    /// Whether the server can be reached but not be spoken with (TLS, settings): trying again is no use.
    hopeless: bool,
}

impl Failure {
    /// The server did not answer in time.
    pub(crate) fn timeout(what: &str, limit: Duration) -> Self {
        Self { code: None, text: format!("{what}: no answer within {limit:?}"), hopeless: false }
    }

    /// The server's error number; `None` when it did not answer at all.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        self.code
    }

    /// What the server or the operating system said.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the server said that a text cannot be compared with the column.
    pub(super) fn is_collation_conflict(&self) -> bool {
        self.code == Some(ILLEGAL_MIX_OF_COLLATIONS)
    }

    /// Whether the connection itself is gone, so that others to the same server are in doubt.
    pub(crate) fn is_connection_loss(&self) -> bool {
        self.code.is_none()
    }

    /// What a caller at start does about it: wait for an unreachable or busy
    /// server, stop for one that refuses.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.code {
            _ if self.hopeless => Kind::External,
            None => Kind::Transient,
            Some(code) if PASSING.contains(&code) => Kind::Transient,
            Some(_) => Kind::External,
        }
    }

    /// The error at start, with what to do about the usual refusals.
    pub(super) fn at_start(&self, address: &str, user: &str) -> Error {
        let Some(code) = self.code else {
            let verb = if self.hopeless { "cannot be spoken with" } else { "is unreachable" };
            let advice =
                if self.hopeless { "" } else { "; check host and port in `url`, and that the server runs" };
            let message = format!("MySQL at {address} {verb}: {}{advice}", self.text);
            return Error::new(self.kind(), message).about(TablePart::option("url"));
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
        let message = format!("MySQL at {address} refuses user '{user}': {self}{advice}");
        Error::new(self.kind(), message).about(TablePart::option(option))
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
        match error {
            sqlx::Error::Database(error) => {
                let code = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>().map(|e| e.number());
                Self { code, text: error.message().to_owned(), hopeless: false }
            }
            sqlx::Error::Io(error) => Self {
                code: None,
                text: format!("connection lost or refused: {}", io_reason(&error)),
                hopeless: false,
            },
            sqlx::Error::Tls(error) => Self { code: None, text: format!("TLS: {error}"), hopeless: true },
            sqlx::Error::Configuration(error) => {
                Self { code: None, text: format!("settings of the connection: {error}"), hopeless: true }
            }
            other => Self { code: None, text: other.to_string(), hopeless: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16) -> Failure {
        Failure { code: Some(code), text: "said so".to_owned(), hopeless: false }
    }

    #[test]
    fn only_what_passes_by_itself_is_waited_for() {
        assert_eq!(Failure::timeout("connect", Duration::from_secs(1)).kind(), Kind::Transient);
        assert_eq!(refused(1040).kind(), Kind::Transient);
        assert_eq!(refused(1045).kind(), Kind::External);
        assert_eq!(refused(1146).kind(), Kind::External);
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let error = refused(1045).at_start("db:3306/shop", "app");
        assert_eq!(
            error.to_string(),
            "MySQL at db:3306/shop refuses user 'app': error 1045: said so; check `username` and `password`"
        );
    }
}
