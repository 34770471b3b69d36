//! Flink's key groups: which shard owns a key.
//!
//! A key's bytes are hashed ([`KeyHasher`]), the hash is mixed again and taken
//! modulo the number of key groups (max parallelism); each shard owns a
//! contiguous range of groups ([`KeyGroups`]). Bit-exact with Flink:
//! `KeyGroupRangeAssignment`, `MathUtils`, `BinaryRowData`, `MurmurHashUtils`.
//! Two mixes in a row are Flink's, not a slip: the row hash is one Murmur3, and
//! the choice of the group mixes it once more.

mod binary_row;
mod groups;
mod hasher;
mod java;
mod murmur;
mod spread;

pub use groups::{GroupRange, KeyGroups, MAX_PARALLELISM_LIMIT, default_max_parallelism};
pub use hasher::KeyHasher;
pub use murmur::{bit_mix, hash_words, murmur_hash, round_up_to_power_of_two};
pub use spread::{Load, Placement, Setting, load, place, suggest};

/// Which of Flink's key hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHash {
    /// The SQL exchange: murmur over the `BinaryRowData` of the key.
    FlinkSql,
    /// DataStream `keyBy`: Java's `hashCode`.
    Java,
}
