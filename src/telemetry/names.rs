//! Every metric: name, kind, unit, labels, help. `docs/metrics.md` is written from this list.
//!
//! A label takes its values from the definition (tables, shards, partitions)
//! or from a closed list that stands here, never from data: the number of
//! series is known before the first row.

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

impl Kind {
    /// The word in Prometheus' text form.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Where the values of a label come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One of these.
    OneOf(&'static [&'static str]),
    /// Something that is known when the job starts; the text says what.
    Of(&'static str),
}

/// One label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub values: Values,
}

/// One metric.
#[derive(Debug)]
pub struct Metric {
    /// Name in Prometheus.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// What one of it is.
    pub unit: &'static str,
    /// Labels, in the order of the values of a sample.
    pub labels: &'static [Label],
    /// Help text.
    pub help: &'static str,
}

/// Metrics that belong together.
#[derive(Debug)]
pub struct Section {
    /// Its heading.
    pub title: &'static str,
    /// Its metrics.
    pub metrics: &'static [&'static Metric],
}

macro_rules! metrics {
    ($($title:literal { $($constant:ident $kind:ident $unit:literal $name:literal [$($label:expr),*] $help:literal;)* })*) => {
        $($(
            #[doc = $help]
            pub static $constant: Metric =
                Metric { name: $name, kind: Kind::$kind, unit: $unit, labels: &[$($label),*], help: $help };
        )*)*

        /// Every metric, in the order of the list.
        pub static ALL: &[&Metric] = &[$($(&$constant),*),*];

        /// The same by section.
        pub static SECTIONS: &[Section] = &[$(Section { title: $title, metrics: &[$(&$constant),*] }),*];
    };
}

const fn of(name: &'static str, what: &'static str) -> Label {
    Label { name, values: Values::Of(what) }
}

const fn one_of(name: &'static str, values: &'static [&'static str]) -> Label {
    Label { name, values: Values::OneOf(values) }
}

const SOURCE: Label = of("table", "the source table's name in the definition");
const LOOKUP: Label = of("table", "the dimension table's name in the pipeline: `as`, else its name");
const SINK: Label = of("sink", "the sink table's name in the definition");
const SHARD: Label = of("shard", "number of a worker shard, from 0 to `parallelism` - 1");
const TOPIC: Label = of("topic", "a topic of the source");
const PARTITION: Label = of("partition", "number of a partition of that topic");
const VERSION: Label = of("version", "version of the program: one value per process");
const HASH: Label = of("hash", "digest of the resolved definition: one value per process");
/// Kinds of records.
const OP: Label = one_of("op", &["upsert", "delete", "insert"]);
/// Why a record was skipped.
const SKIP_REASON: Label = one_of("reason", &["empty_value", "parse_error"]);
/// Changes of an assignment.
const REBALANCE: Label = one_of("reason", &["assigned", "revoked", "lost"]);
/// Changes out of normalization.
const CHANGE: Label = one_of("kind", &["insert", "update", "delete"]);
/// Why a row gave no change.
const SUPPRESSION: Label =
    one_of("reason", &["no_change", "unknown_delete", "filtered", "key_filtered", "bundled", "silent"]);
/// How a row that asked was answered.
const RESULT: Label = one_of("result", &["hit", "coalesced", "miss", "no_key"]);
/// Row kinds.
const ROW_KIND: Label = one_of("kind", &["insert", "update_before", "update_after", "delete"]);
/// How an attempt ended.
const OUTCOME: Label = one_of("outcome", &["ok", "failed"]);
/// Levels of log lines that an operator looks into.
const LEVEL: Label = one_of("level", &["error", "warn"]);
/// States of the process.
const STATE: Label = one_of("state", &["starting", "restoring", "running", "draining", "stopped"]);

metrics! {
    "Source" {
        SOURCE_RECORDS Counter "records" "lookaside_source_records_total" [SOURCE, OP]
            "Records decoded, by what they do: upsert, delete or insert (append-only)";
        SOURCE_BYTES Counter "bytes" "lookaside_source_bytes_total" [SOURCE]
            "Key and value bytes read from Kafka";
        SOURCE_KEY_MISMATCHES Counter "records" "lookaside_source_key_mismatches_total" [SOURCE]
            "Records whose value names another key than the record key";
        SOURCE_FORWARDED Counter "records" "lookaside_source_forwarded_records_total" [SOURCE]
            "Of these, records handed on to the shard that owns the key of the value";
        SOURCE_SKIPPED Counter "records" "lookaside_source_skipped_total" [SOURCE, SKIP_REASON]
            "Records skipped because the definition asks for it: parse errors, empty values";
        SOURCE_LAG Gauge "records" "lookaside_source_lag_records" [SOURCE, TOPIC, PARTITION]
            "End offset minus next offset to process";
        SOURCE_POSITION Gauge "offset" "lookaside_source_position_offset" [SOURCE, TOPIC, PARTITION]
            "Next offset to process";
        SOURCE_COMMITTED Gauge "offset" "lookaside_source_committed_offset" [SOURCE, TOPIC, PARTITION]
            "Offset of the last successful commit";
        SOURCE_END Gauge "offset" "lookaside_source_end_offset" [SOURCE, TOPIC, PARTITION]
            "End offset as last seen";
        SOURCE_TIMESTAMP Gauge "seconds" "lookaside_source_last_record_timestamp_seconds" [SOURCE, TOPIC, PARTITION]
            "Timestamp of a record in the newest read: while there is lag, the time since then is how old the data is";
        SOURCE_ASSIGNED Gauge "partitions" "lookaside_source_assigned_partitions" [SOURCE]
            "Partitions owned by this replica";
        SOURCE_PAUSED Gauge "boolean" "lookaside_source_backpressured" [SOURCE]
            "1 while the source waits because a shard's queue is full";
        SOURCE_BACKPRESSURE Counter "seconds" "lookaside_source_backpressured_seconds_total" [SOURCE]
            "Time that the source read nothing because a shard's queue was full";
        SOURCE_PROGRESS Gauge "seconds" "lookaside_source_last_progress_timestamp_seconds" [SOURCE]
            "When the source's thread last went round its loop; /livez fails when that is too long ago";
        REBALANCES Counter "rebalances" "lookaside_rebalances_total" [REBALANCE]
            "Changes of the assignment: assigned, revoked, lost";
    }
    "Shards" {
        SHARD_RECORDS Counter "records" "lookaside_shard_records_total" [SHARD]
            "Records handed to the shard: compare shards to see skew";
        SHARD_SKEW Gauge "ratio" "lookaside_shard_skew_ratio" []
            "Records of the busiest shard over the mean of all shards, in the last minute or so; 1 is even";
        KEY_GROUP_SKEW Gauge "ratio" "lookaside_key_group_skew_ratio" []
            "Records of the busiest key group over the mean of all key groups, in the last minute or so; 1 is even";
        SHARD_QUEUE Gauge "batches" "lookaside_shard_queue_batches" [SHARD]
            "Batches waiting in the shard's queue";
        SHARD_QUEUE_CAPACITY Gauge "batches" "lookaside_shard_queue_capacity_batches" [SHARD]
            "Batches that may wait there before the source stops reading";
        SHARD_FLIGHTS Gauge "batches" "lookaside_shard_batches_in_flight" [SHARD]
            "Batches between normalization and emission: they wait for lookups";
        SHARD_FLIGHTS_CAPACITY Gauge "batches" "lookaside_shard_batches_in_flight_capacity" [SHARD]
            "Batches that may be there before the shard takes no more records";
        SHARD_KEY_GROUPS Gauge "key groups" "lookaside_shard_key_groups" [SHARD]
            "Key groups owned by the shard";
        SHARD_BUSY Counter "seconds" "lookaside_shard_busy_seconds_total" [SHARD]
            "Time the shard spent computing";
        SHARD_HELD Counter "seconds" "lookaside_shard_waiting_lookup_seconds_total" [SHARD]
            "Time the shard took no records because rows before them waited for lookups";
        SHARD_SINK Counter "seconds" "lookaside_shard_waiting_sink_seconds_total" [SHARD]
            "Time the shard waited for the sink to take rows";
        SHARD_PROGRESS Gauge "seconds" "lookaside_shard_last_progress_timestamp_seconds" [SHARD]
            "When the shard's thread last went round its loop; /livez fails when that is too long ago";
    }
    "Normalization and state" {
        CHANGES Counter "changes" "lookaside_changes_total" [SOURCE, CHANGE]
            "Changelog rows out of ChangelogNormalize: insert, update, delete";
        SUPPRESSED Counter "records" "lookaside_changes_suppressed_total" [SOURCE, SUPPRESSION]
            "Rows that gave no change: no_change, unknown_delete, filtered, key_filtered, bundled, silent (rebuilt state)";
        STATE_KEYS Gauge "keys" "lookaside_state_keys" [SOURCE, SHARD]
            "Keys in state";
        STATE_BYTES Gauge "bytes" "lookaside_state_bytes" [SOURCE, SHARD]
            "Bytes of keys and rows in state";
        RESTORE_REMAINING Gauge "offsets" "lookaside_state_restore_remaining_records" [SOURCE, TOPIC, PARTITION]
            "Offsets left to read before the partition's state is rebuilt";
    }
    "Lookups and caches" {
        LOOKUPS Counter "rows" "lookaside_lookups_total" [LOOKUP, SHARD, RESULT]
            "Stream rows that asked, by how they were answered: hit, coalesced, miss, no_key (NULL key or condition, no call)";
        LOOKUP_HIT_RATIO Gauge "ratio" "lookaside_lookup_hit_ratio" [LOOKUP, SHARD]
            "hit / (hit + coalesced + miss) since start";
        LOOKUP_HASHED Gauge "boolean" "lookaside_lookup_hashed" [LOOKUP]
            "1 when each key is cached by the shard that owns it (lookup.enable_hash), 0 when each shard caches for itself";
        CACHE_NEGATIVE_HITS Counter "rows" "lookaside_cache_negative_hits_total" [LOOKUP, SHARD]
            "Hits on an entry that says the key has no row";
        CACHE_EXPIRED Counter "rows" "lookaside_cache_expired_total" [LOOKUP, SHARD]
            "Misses whose entry was there but too old";
        CACHE_EVICTIONS Counter "keys" "lookaside_cache_evictions_total" [LOOKUP, SHARD]
            "Keys that made room for others because the cache was full";
        CACHE_ENTRIES Gauge "keys" "lookaside_cache_entries" [LOOKUP, SHARD]
            "Keys in the lookup cache";
        CACHE_CAPACITY Gauge "keys" "lookaside_cache_capacity_entries" [LOOKUP, SHARD]
            "Keys that the lookup cache may hold; 0 without a cache";
        LOOKUP_STATEMENTS Counter "statements" "lookaside_lookup_statements_total" [LOOKUP]
            "Statements sent to the database, retries included";
        LOOKUP_KEYS Counter "keys" "lookaside_lookup_statement_keys_total" [LOOKUP]
            "Keys asked in those statements";
        LOOKUP_ROWS Counter "rows" "lookaside_lookup_statement_rows_total" [LOOKUP]
            "Rows that came back";
        LOOKUP_ERRORS Counter "statements" "lookaside_lookup_errors_total" [LOOKUP]
            "Statements that failed";
        LOOKUP_WAITING Gauge "requests" "lookaside_lookup_requests_in_flight" [LOOKUP]
            "Requests of shards, each of many keys, that wait for the database";
        LOOKUP_SECONDS Histogram "seconds" "lookaside_lookup_statement_seconds" [LOOKUP]
            "Time from sending a statement to its last row";
    }
    "Sink" {
        UNMATCHED Counter "changes" "lookaside_unmatched_changes_total" [SOURCE]
            "Changes whose new row gave no output row: an inner lookup found nothing, or `where` does not hold";
        SINK_ROWS Counter "rows" "lookaside_sink_rows_total" [SINK, ROW_KIND]
            "Rows handed to the sink, by row kind: insert, update_before, update_after, delete";
        SINK_WAITING Gauge "rows" "lookaside_sink_unacknowledged_rows" [SINK]
            "Rows that the sink has not acknowledged yet";
        SINK_SUCCESS Gauge "seconds" "lookaside_sink_last_success_timestamp_seconds" [SINK]
            "When the sink last acknowledged everything up to a barrier; 0 before the first";
        SINK_STATEMENTS Counter "statements" "lookaside_sink_statements_total" [SINK]
            "Statements sent to the sink's database, BEGIN, COMMIT and retries included; mysql only";
        SINK_RETRIES Counter "transactions" "lookaside_sink_retries_total" [SINK]
            "Transactions tried again; mysql only";
        SINK_ERRORS Counter "errors" "lookaside_sink_errors_total" [SINK]
            "Writes that the sink refused or that failed";
        SINK_SECONDS Histogram "seconds" "lookaside_sink_transaction_seconds" [SINK]
            "Time of one transaction, from taking a connection to its commit; mysql only";
    }
    "Commit" {
        COMMITS Counter "commits" "lookaside_commits_total" [OUTCOME]
            "Offset commits, by outcome: ok, failed";
        COMMIT_SECONDS Histogram "seconds" "lookaside_commit_seconds" []
            "Time from asking the broker to commit to its answer";
        LAST_COMMIT Gauge "seconds" "lookaside_last_commit_timestamp_seconds" []
            "Time of the last successful commit; 0 before the first";
        EPOCHS_OPEN Gauge "epochs" "lookaside_commit_open_epochs" []
            "Epochs that the shards or the sink have not finished; 8 at most";
    }
    "Process" {
        READY Gauge "boolean" "lookaside_ready" []
            "1 when /readyz answers 200";
        INSTANCE_STATE Gauge "boolean" "lookaside_instance_state" [STATE]
            "1 for the state that the process is in, 0 for the others";
        BUILD Gauge "boolean" "lookaside_build_info" [VERSION]
            "Always 1";
        DEFINITION Gauge "boolean" "lookaside_definition_info" [HASH]
            "Always 1; replicas of one job that show different digests run different definitions";
        LOG_LINES Counter "lines" "lookaside_log_lines_total" [LEVEL]
            "Errors and warnings in the log; repeated trouble of one kind is logged once in 10 seconds";
        SCRAPE_SECONDS Gauge "seconds" "lookaside_metrics_collection_seconds" []
            "Time that this page of metrics took to collect";
        RESIDENT Gauge "bytes" "process_resident_memory_bytes" []
            "Resident memory of the process";
        VIRTUAL Gauge "bytes" "process_virtual_memory_bytes" []
            "Virtual memory of the process";
        CPU Counter "seconds" "process_cpu_seconds_total" []
            "User and system CPU time of the process";
        THREADS Gauge "threads" "process_threads" []
            "Threads of the process";
        FDS Gauge "files" "process_open_fds" []
            "Open file descriptors of the process";
        FDS_MAX Gauge "files" "process_max_fds" []
            "File descriptors that the process may have open";
        START Gauge "seconds" "process_start_time_seconds" []
            "When the process started";
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// What Prometheus' naming rules ask, beyond what `promtool check metrics` looks at.
    #[test]
    fn names_say_kind_and_unit() {
        let mut names = HashSet::new();
        for Metric { name, kind, unit, labels, help } in ALL {
            assert!(names.insert(name), "{name} stands there twice");
            assert!(name.starts_with("lookaside_") || name.starts_with("process_"), "{name}");
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
            let base = name.trim_end_matches("_total");
            for base_unit in ["seconds", "bytes"] {
                assert_eq!(base.ends_with(&format!("_{base_unit}")), *unit == base_unit, "{name}: {unit}");
            }
            assert!(!help.is_empty() && !help.ends_with('.'), "{name}: {help}");
            let distinct: HashSet<_> = labels.iter().map(|label| label.name).collect();
            assert_eq!(distinct.len(), labels.len(), "{name}");
            assert!(*kind != Kind::Histogram || !distinct.contains("le"), "{name}");
        }
        assert_eq!(ALL.len(), SECTIONS.iter().map(|section| section.metrics.len()).sum::<usize>());
    }
}
