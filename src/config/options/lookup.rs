//! What every connector of dimension tables takes besides its address (Flink: `LookupOptions`).

use super::spec::Role::{self, Dimension};
use super::spec::{Choice, Kind, OptionSpec};

const ROLE: &[Role] = &[Dimension];
const FULL: &str = "not supported yet: it belongs to lookup.cache FULL";

/// Caches, hash, retries.
pub(super) const LOOKUP: [OptionSpec; 17] = [
    OptionSpec::new(
        "lookup.enable_hash",
        Kind::Boolean,
        ROLE,
        "Each key is cached by one shard alone: memory for more keys, at the price of a hop between shards.",
    )
    .flink("hint LOOKUP('shuffle'='true')")
    .default("false"),
    OptionSpec::new(
        "lookup.cache",
        Kind::Choice(&[
            Choice::of("NONE"),
            Choice::of("PARTIAL"),
            Choice::refused("FULL", "not supported yet; PARTIAL is"),
        ]),
        ROLE,
        "Whether looked-up rows are cached.",
    )
    .default("NONE"),
    OptionSpec::new(
        "lookup.partial-cache.max-rows",
        Kind::Integer(1, i64::MAX),
        ROLE,
        "Keys that the cache holds, per table and replica.",
    ),
    OptionSpec::new(
        "lookup.partial-cache.expire-after-write",
        Kind::Duration(1),
        ROLE,
        "Time after which a cached key is asked for again.",
    ),
    OptionSpec::new(
        "lookup.partial-cache.expire-after-access",
        Kind::Duration(1),
        ROLE,
        "Time without use after which a cached key is dropped.",
    ),
    OptionSpec::new(
        "lookup.partial-cache.cache-missing-key",
        Kind::Boolean,
        ROLE,
        "Whether absence is cached.",
    )
    .default("true"),
    OptionSpec::new(
        "lookup.partial-cache.missing-key-expire-after-write",
        Kind::Duration(1),
        ROLE,
        "Time after which a key that had no row is asked for again; absent: as expire-after-write.",
    )
    .own(),
    OptionSpec::new(
        "lookup.cache.max-rows",
        Kind::Integer(-1, i64::MAX),
        ROLE,
        "Older name of lookup.partial-cache.max-rows; given together with lookup.cache.ttl.",
    ),
    OptionSpec::new(
        "lookup.cache.ttl",
        Kind::Duration(1),
        ROLE,
        "Older name of lookup.partial-cache.expire-after-write; given together with lookup.cache.max-rows.",
    ),
    OptionSpec::new(
        "lookup.cache.caching-missing-key",
        Kind::Boolean,
        ROLE,
        "Older name of lookup.partial-cache.cache-missing-key.",
    ),
    OptionSpec::new(
        "lookup.max-retries",
        Kind::Integer(0, 1_000),
        ROLE,
        "Retries after the first try, each on a fresh connection; then the job stops.",
    )
    .default("3"),
    OptionSpec::refused(
        "lookup.async",
        ROLE,
        "not an option: lookups never block other keys, and the order of rows is kept",
    ),
    OptionSpec::refused("lookup.full-cache.reload-strategy", ROLE, FULL),
    OptionSpec::refused("lookup.full-cache.periodic-reload.interval", ROLE, FULL),
    OptionSpec::refused("lookup.full-cache.periodic-reload.schedule-mode", ROLE, FULL),
    OptionSpec::refused("lookup.full-cache.timed-reload.iso-time", ROLE, FULL),
    OptionSpec::refused("lookup.full-cache.timed-reload.interval-in-days", ROLE, FULL),
];
