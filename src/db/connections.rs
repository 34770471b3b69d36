//! The connections of this process to one database: few, shared by every table
//! that names it, replaced when they break.
//!
//! A [`Lease`] goes back only when its user says that it is sound; one that is
//! dropped for any other reason (an error, a cancelled task) closes its connection.
//! A retry asks for [`Freshness::New`], so that it never meets a second dead
//! connection of the same kind. `sqlx`'s own pool hides why connecting failed
//! behind its time limit and cannot promise a new connection, hence this one.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::clock::Stopwatch;
use crate::error::{Error, Result};

use super::dialect::Dialect;
use super::{Failure, Mysql, Sqlite};

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
pub(super) const STATEMENTS_MAX: usize = 64;

/// Which connection a [`Lease`] may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// An idle one if there is one.
    Any,
    /// One that was opened for this lease.
    New,
}

/// All databases of this process, by kind; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Databases {
    /// Databases of MySQL-protocol servers.
    pub mysql: Known<Mysql>,
    /// SQLite files.
    pub sqlite: Known<Sqlite>,
}

/// The databases of one kind that the process has to do with; clones share them.
pub struct Known<D: Dialect>(Arc<Mutex<Vec<Arc<Connections<D>>>>>);

impl<D: Dialect> Known<D> {
    /// The connections to the table's database as the table's user. Opens none.
    #[must_use]
    pub fn get(&self, table: &D::Source) -> Arc<Connections<D>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|known| known.database.serves(table)) {
            return Arc::clone(known);
        }
        let new = Arc::new(Connections::new(D::new(table)));
        all.push(Arc::clone(&new));
        new
    }
}

impl<D: Dialect> Clone for Known<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D: Dialect> Default for Known<D> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<D: Dialect> std::fmt::Debug for Known<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.lock().unwrap_or_else(PoisonError::into_inner).iter()).finish()
    }
}

/// Connections to one database as one user.
pub struct Connections<D: Dialect> {
    database: D,
    permits: Semaphore,
    idle: Mutex<Vec<Open<D>>>,
}

/// An open connection.
struct Open<D: Dialect> {
    connection: D::Connection,
    /// What it was connected to.
    identity: D::Identity,
    opened: Stopwatch,
    /// Since it was used last.
    since: Stopwatch,
}

impl<D: Dialect> Connections<D> {
    fn new(database: D) -> Self {
        Self { database, permits: Semaphore::new(CONNECTIONS_MAX), idle: Mutex::new(Vec::new()) }
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &D {
        &self.database
    }

    /// A connection for one statement or transaction; waits while all are in use.
    ///
    /// # Errors
    /// The database cannot be reached in time, or refuses.
    pub async fn lease(&self, freshness: Freshness) -> Result<Lease<'_, D>, Failure> {
        let permit = self.permits.acquire().await.map_err(|_| Failure::from(sqlx::Error::PoolClosed))?;
        if freshness == Freshness::Any
            && let Some(open) = self.take_idle().await
        {
            return Ok(Lease { open, pool: self, _permit: permit });
        }
        self.drop_oldest_idle();
        // In this order: what is replaced in between is noticed at the next lease.
        let identity = self.database.identity();
        let connection = self.database.connect().await?;
        let open = Open { connection, identity, opened: Stopwatch::start(), since: Stopwatch::start() };
        Ok(Lease { open, pool: self, _permit: permit })
    }

    /// The first connection of a table: its failure is said with what to do about it.
    ///
    /// # Errors
    /// [`crate::error::Kind::Transient`] when the database is unreachable or busy,
    /// [`crate::error::Kind::External`] when it refuses.
    pub async fn lease_at_start(&self) -> Result<Lease<'_, D>> {
        self.lease(Freshness::Any).await.map_err(|failure| self.start_error(&failure))
    }

    pub(super) fn start_error(&self, failure: &Failure) -> Error {
        self.database.start_error(failure)
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

    /// The idle connection used last, if it still works.
    async fn take_idle(&self) -> Option<Open<D>> {
        loop {
            let mut found = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            let too_old = IDLE_MAX < found.since.elapsed() || AGE_MAX < found.opened.elapsed();
            if too_old || found.identity != self.database.identity() {
                continue;
            }
            if found.since.elapsed() < PING_AFTER {
                return Some(found);
            }
            if let Ok(true) = timeout(PING_MAX, D::answers(&mut found.connection)).await {
                return Some(found);
            }
            self.distrust_idle();
        }
    }
}

impl<D: Dialect> std::fmt::Debug for Connections<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").field("place", &self.database.place()).finish_non_exhaustive()
    }
}

/// One connection, for the time of a statement or transaction. Dropping it closes the connection.
pub struct Lease<'a, D: Dialect> {
    open: Open<D>,
    pool: &'a Connections<D>,
    _permit: SemaphorePermit<'a>,
}

impl<D: Dialect> Lease<'_, D> {
    /// Keeps the connection for others: its last answer was read to the end and nothing is pending.
    pub fn give_back(self) {
        let Self { mut open, pool, _permit } = self;
        open.since = Stopwatch::start();
        pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(open);
    }
}

impl<D: Dialect> Deref for Lease<'_, D> {
    type Target = D::Connection;

    fn deref(&self) -> &D::Connection {
        &self.open.connection
    }
}

impl<D: Dialect> DerefMut for Lease<'_, D> {
    fn deref_mut(&mut self) -> &mut D::Connection {
        &mut self.open.connection
    }
}
