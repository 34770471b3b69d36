//! Flink's key groups: which shard owns a key.
//!
//! A key's bytes are hashed, the hash is mixed again and taken modulo the
//! number of key groups (max parallelism); each shard owns a contiguous range
//! of groups. Bit-exact with Flink: `KeyGroupRangeAssignment`, `MathUtils`,
//! `BinaryRowData`, `MurmurHashUtils`.

/// Which of Flink's key hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHash {
    /// The SQL exchange: murmur over the `BinaryRowData` of the key.
    FlinkSql,
    /// DataStream `keyBy`: Java's `hashCode`.
    Java,
}
