//! Every metric: name, kind, labels, help. Labels take their values from the
//! definition (tables, shards, partitions), never from data.

/// What a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Distribution with the buckets of [`super::Histogram`].
    Histogram,
}

/// One metric.
#[derive(Debug)]
pub struct Metric {
    /// Name in Prometheus.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// Label names, in the order of the values of a sample.
    pub labels: &'static [&'static str],
    /// Help text.
    pub help: &'static str,
}

macro_rules! metrics {
    ($($constant:ident $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(
            #[doc = $help]
            pub static $constant: Metric =
                Metric { name: $name, kind: Kind::$kind, labels: &[$($label),*], help: $help };
        )*

        /// Every metric, in the order of the list.
        pub static ALL: &[&Metric] = &[$(&$constant),*];
    };
}

metrics! {
    SOURCE_RECORDS Counter "lookaside_source_records_total" ["table", "op"]
        "Records decoded, by what they do: upsert, delete or insert (append-only)";
    SOURCE_BYTES Counter "lookaside_source_bytes_total" ["table"]
        "Key and value bytes read from Kafka";
    SOURCE_KEY_MISMATCHES Counter "lookaside_source_key_mismatches_total" ["table"]
        "Records whose value names another key than the record key";
    SOURCE_SKIPPED Counter "lookaside_source_skipped_total" ["table", "reason"]
        "Records skipped because the definition asks for it: parse errors, empty values";
    SOURCE_LAG Gauge "lookaside_source_lag_records" ["table", "topic", "partition"]
        "End offset minus next offset to process";
    SOURCE_POSITION Gauge "lookaside_source_position_offset" ["table", "topic", "partition"]
        "Next offset to process";
    SOURCE_COMMITTED Gauge "lookaside_source_committed_offset" ["table", "topic", "partition"]
        "Offset of the last successful commit";
    SOURCE_END Gauge "lookaside_source_end_offset" ["table", "topic", "partition"]
        "End offset as last seen";
    SOURCE_ASSIGNED Gauge "lookaside_source_assigned_partitions" ["table"]
        "Partitions owned by this replica";
    SOURCE_PAUSED Gauge "lookaside_source_backpressured" ["table"]
        "1 while the source waits because a shard's queue is full";
    REBALANCES Counter "lookaside_rebalances_total" ["reason"]
        "Changes of the assignment: assigned, revoked, lost";
    RESTORE_REMAINING Gauge "lookaside_state_restore_remaining_records" ["table", "topic", "partition"]
        "Offsets left to read before the partition's state is rebuilt";
    CHANGES Counter "lookaside_changes_total" ["table", "kind"]
        "Changelog rows out of ChangelogNormalize: insert, update, delete";
    SUPPRESSED Counter "lookaside_changes_suppressed_total" ["table", "reason"]
        "Rows that gave no change: no_change, unknown_delete, filtered, bundled, silent";
    STATE_KEYS Gauge "lookaside_state_keys" ["table", "shard"]
        "Keys in state";
    STATE_BYTES Gauge "lookaside_state_bytes" ["table", "shard"]
        "Bytes of keys and rows in state";
    LOOKUPS Counter "lookaside_lookups_total" ["table", "shard", "result"]
        "Stream rows that asked, by how they were answered: hit, coalesced, miss, no_key (NULL key or condition, no call)";
    LOOKUP_HIT_RATIO Gauge "lookaside_lookup_hit_ratio" ["table", "shard"]
        "hit / (hit + coalesced + miss) since start";
    CACHE_NEGATIVE_HITS Counter "lookaside_cache_negative_hits_total" ["table", "shard"]
        "Hits on an entry that says the key has no row";
    CACHE_ENTRIES Gauge "lookaside_cache_entries" ["table", "shard"]
        "Keys in the lookup cache";
    CACHE_CAPACITY Gauge "lookaside_cache_capacity_entries" ["table", "shard"]
        "Keys that the lookup cache may hold; 0 without a bound";
    LOOKUP_STATEMENTS Counter "lookaside_lookup_statements_total" ["table"]
        "Statements sent to the database, retries included";
    LOOKUP_KEYS Counter "lookaside_lookup_statement_keys_total" ["table"]
        "Keys asked in those statements";
    LOOKUP_ROWS Counter "lookaside_lookup_statement_rows_total" ["table"]
        "Rows that came back";
    LOOKUP_ERRORS Counter "lookaside_lookup_errors_total" ["table"]
        "Statements that failed";
    LOOKUP_SECONDS Histogram "lookaside_lookup_statement_seconds" ["table"]
        "Time from sending a statement to its last row";
    SHARD_RECORDS Counter "lookaside_shard_records_total" ["shard"]
        "Records handed to the shard: compare shards to see skew";
    SHARD_QUEUE Gauge "lookaside_shard_queue_batches" ["shard"]
        "Batches waiting in the shard's queue";
    SHARD_KEY_GROUPS Gauge "lookaside_shard_key_groups" ["shard"]
        "Key groups owned by the shard";
    SHARD_BUSY Counter "lookaside_shard_busy_seconds_total" ["shard"]
        "Time the shard spent computing";
    SINK_ROWS Counter "lookaside_sink_rows_total" ["sink", "kind"]
        "Rows handed to the sink, by row kind: insert, update_before, update_after, delete";
    COMMITS Counter "lookaside_commits_total" ["outcome"]
        "Offset commits, by outcome: ok, failed";
    LAST_COMMIT Gauge "lookaside_last_commit_timestamp_seconds" []
        "Time of the last successful commit";
    READY Gauge "lookaside_ready" []
        "1 when /readyz answers 200";
    BUILD Gauge "lookaside_build_info" ["version"]
        "Always 1";
    RESIDENT Gauge "process_resident_memory_bytes" []
        "Resident memory of the process";
    CPU Counter "process_cpu_seconds_total" []
        "User and system CPU time of the process";
    THREADS Gauge "process_threads" []
        "Threads of the process";
    FDS Gauge "process_open_fds" []
        "Open file descriptors of the process";
}
