//! What a shard counts of each lookup.

/// Counted where the key's cache is: at its owner with `lookup.enable_hash`. `hits`, `coalesced` and
/// `misses` count stream rows that ask, so their sum is the number of rows that asked for a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookupCounters {
    /// Rows answered by a cache entry.
    pub hits: u64,
    /// Of these, rows answered by an entry that says that there is no row.
    pub negative_hits: u64,
    /// Rows that joined a request under way, or a twin in their batch.
    pub coalesced: u64,
    /// Rows whose key went to the database.
    pub misses: u64,
    /// Of these, rows whose entry had expired.
    pub expired: u64,
    /// Statements sent.
    pub statements: u64,
    /// Keys in these statements.
    pub keys: u64,
    /// Statements that failed after all retries.
    pub failures: u64,
    /// Rows that made no call because a key part was NULL or had no exact value in the column's type.
    pub no_key: u64,
    /// Rows that made no call because they failed the condition on the stream side.
    pub pre_filtered: u64,
    /// Keys in the cache.
    pub cached: u64,
    /// Keys that made room for others because the cache was full.
    pub evicted: u64,
    /// Keys that the cache may hold; 0 without one.
    pub capacity: u64,
}
