//! The connections of this process to one database: few, shared by every table
//! that names it, replaced when they break.
//!
//! A [`Lease`] goes back only when its user says that it is sound; one that is
//! dropped for any other reason (an error, a cancelled task) closes its socket.
//! A retry asks for [`Freshness::New`], so that it never meets a second dead
//! connection of the same kind. `sqlx`'s own pool hides why connecting failed
//! behind its time limit and cannot promise a new connection, hence this one.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{ConnectOptions, Connection, Executor};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::clock::Stopwatch;
use crate::error::{Error, Result};
use crate::plan::{MysqlTable, Secret};

use super::Failure;

/// Connections of a process to one database. Replicas × this stays far below
/// MySQL's default `max_connections` of 151, also during a rolling update.
pub const CONNECTIONS_MAX: usize = 8;

/// A connection that was idle for longer is closed, not used: servers and
/// load balancers cut idle ones silently, most after five minutes or more.
const IDLE_MAX: Duration = Duration::from_secs(240);

/// A connection that was idle for longer answers a ping before it is used: one round trip, at low traffic only.
const PING_AFTER: Duration = Duration::from_secs(1);

/// How long that ping may take before the connection counts as dead.
const PING_MAX: Duration = Duration::from_secs(2);

/// Age at which a connection is replaced, so that a changed address or role of the server is noticed.
const AGE_MAX: Duration = Duration::from_secs(1800);

/// Prepared statements kept per connection: a few texts per dimension table and
/// 20 for a sink, far below the server's `max_prepared_stmt_count` of 16,382 in all.
const STATEMENTS_MAX: usize = 64;

/// Statements of this process must not depend on the server's `sql_mode`:
/// strict, so that a sink's value is refused rather than cut.
const SESSION: &str = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'";

/// Which connection a [`Lease`] may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// An idle one if there is one.
    Any,
    /// One that was opened for this lease.
    New,
}

/// All databases of this process; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Databases(Arc<Mutex<Vec<Arc<Connections>>>>);

impl Databases {
    /// The connections to the table's database as the table's user. Opens none.
    #[must_use]
    pub fn get(&self, table: &MysqlTable) -> Arc<Connections> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|known| known.serve(table)) {
            return Arc::clone(known);
        }
        let new = Arc::new(Connections::new(table));
        all.push(Arc::clone(&new));
        new
    }
}

/// Connections to one database as one user.
pub struct Connections {
    options: MySqlConnectOptions,
    address: String,
    user: String,
    password: Option<Secret>,
    connect_timeout: Duration,
    permits: Semaphore,
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    connection: MySqlConnection,
    opened: Stopwatch,
    since: Stopwatch,
}

impl Connections {
    fn new(table: &MysqlTable) -> Self {
        let user = table.username.clone().unwrap_or_default();
        let mut options = MySqlConnectOptions::new()
            .host(&table.host)
            .port(table.port)
            .username(&user)
            .database(&table.database)
            .charset("utf8mb4")
            .timezone(Some("+00:00".to_owned()))
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .statement_cache_capacity(STATEMENTS_MAX)
            .disable_statement_logging();
        // An empty password is the one of an account without a password.
        if let Some(password) = table.password.as_ref().filter(|password| !password.expose().is_empty()) {
            options = options.password(password.expose());
        }
        Self {
            options,
            address: address(table),
            user,
            password: table.password.clone(),
            connect_timeout: table.connect_timeout,
            permits: Semaphore::new(CONNECTIONS_MAX),
            idle: Mutex::new(Vec::new()),
        }
    }

    fn serve(&self, table: &MysqlTable) -> bool {
        self.address == address(table)
            && self.user == table.username.as_deref().unwrap_or_default()
            && self.password == table.password
            && self.connect_timeout == table.connect_timeout
    }

    /// `host:port/database`, for messages.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A connection for one statement or transaction; waits while all are in use.
    ///
    /// # Errors
    /// The server cannot be reached within the connect timeout, or refuses.
    pub async fn lease(&self, freshness: Freshness) -> Result<Lease<'_>, Failure> {
        let permit = self.permits.acquire().await.map_err(|_| Failure::from(sqlx::Error::PoolClosed))?;
        if freshness == Freshness::Any
            && let Some((connection, opened)) = self.take_idle().await
        {
            return Ok(Lease { connection, opened, pool: self, _permit: permit });
        }
        self.drop_oldest_idle();
        let connecting = timeout(self.connect_timeout, self.open()).await;
        let connection = connecting.map_err(|_| Failure::timeout("connecting", self.connect_timeout))??;
        Ok(Lease { connection, opened: Stopwatch::start(), pool: self, _permit: permit })
    }

    /// The first connection of a table: its failure is said with what to do about it.
    ///
    /// # Errors
    /// [`crate::error::Kind::Transient`] when the server is unreachable or busy,
    /// [`crate::error::Kind::External`] when it refuses.
    pub async fn lease_at_start(&self) -> Result<Lease<'_>> {
        self.lease(Freshness::Any).await.map_err(|failure| self.start_error(&failure))
    }

    pub(super) fn start_error(&self, failure: &Failure) -> Error {
        failure.at_start(&self.address, &self.user)
    }

    /// Forgets all idle connections: one of their kind was found dead.
    pub fn distrust_idle(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Makes room for a new connection: open ones, in use and idle, never exceed [`CONNECTIONS_MAX`].
    fn drop_oldest_idle(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if !idle.is_empty() {
            idle.remove(0);
        }
    }

    async fn open(&self) -> Result<MySqlConnection, sqlx::Error> {
        let mut connection = self.options.connect().await?;
        connection.execute(SESSION).await?;
        Ok(connection)
    }

    /// The idle connection used last, if it still works.
    async fn take_idle(&self) -> Option<(MySqlConnection, Stopwatch)> {
        loop {
            let found = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            let Idle { mut connection, opened, since } = found;
            if IDLE_MAX < since.elapsed() || AGE_MAX < opened.elapsed() {
                continue;
            }
            if since.elapsed() < PING_AFTER {
                return Some((connection, opened));
            }
            if let Ok(Ok(())) = timeout(PING_MAX, connection.ping()).await {
                return Some((connection, opened));
            }
            self.distrust_idle();
        }
    }
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").field("address", &self.address).finish_non_exhaustive()
    }
}

fn address(table: &MysqlTable) -> String {
    format!("{}:{}/{}", table.host, table.port, table.database)
}

/// One connection, for the time of a statement or transaction. Dropping it closes the connection.
pub struct Lease<'a> {
    connection: MySqlConnection,
    opened: Stopwatch,
    pool: &'a Connections,
    _permit: SemaphorePermit<'a>,
}

impl Lease<'_> {
    /// Keeps the connection for others: its last answer was read to the end and nothing is pending.
    pub fn give_back(self) {
        let Self { connection, opened, pool, _permit } = self;
        let mut idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(Idle { connection, opened, since: Stopwatch::start() });
    }
}

impl Deref for Lease<'_> {
    type Target = MySqlConnection;

    fn deref(&self) -> &MySqlConnection {
        &self.connection
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut MySqlConnection {
        &mut self.connection
    }
}
