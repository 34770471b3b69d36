//! Key groups and the shards that own them.
//!
//! Flink: `KeyGroupRangeAssignment`, `KeyGroupRange`.

use crate::error::{Error, Kind, Result};
use crate::model::ShardId;

use super::murmur::{murmur_hash, round_up_to_power_of_two};

/// Most key groups that there can be. Flink: `UPPER_BOUND_MAX_PARALLELISM`.
pub const MAX_PARALLELISM_LIMIT: u16 = 1 << 15;

/// Fewest key groups that the default takes. Flink: `DEFAULT_LOWER_BOUND_MAX_PARALLELISM`.
const DEFAULT_LOWER_BOUND: u32 = 128;

/// How keys are divided: `max_parallelism` groups over `parallelism` shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyGroups {
    parallelism: u16,
    max_parallelism: u16,
}

/// A run of key groups, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRange {
    /// First group.
    pub first: u16,
    /// Last group.
    pub last: u16,
}

/// Key groups for a parallelism for which none are configured:
/// one and a half times the parallelism, rounded up to a power of two, 128 to 32,768.
#[must_use]
pub fn default_max_parallelism(parallelism: u16) -> u16 {
    let parallelism = u32::from(parallelism);
    let wanted = round_up_to_power_of_two(parallelism + parallelism / 2);
    wanted.clamp(DEFAULT_LOWER_BOUND, u32::from(MAX_PARALLELISM_LIMIT)) as u16
}

impl KeyGroups {
    /// `max_parallelism` groups over `parallelism` shards; `None` takes Flink's default.
    ///
    /// # Errors
    /// [`Kind::Definition`] unless `0 < parallelism ≤ max_parallelism ≤ 32768`. Nothing is clamped:
    /// another number of groups would send keys to other shards than Flink's.
    pub fn new(parallelism: u16, max_parallelism: Option<u16>) -> Result<Self> {
        let max = max_parallelism.unwrap_or_else(|| default_max_parallelism(parallelism));
        let fault = if parallelism == 0 {
            "parallelism is 0: at least one worker shard is needed".to_owned()
        } else if max > MAX_PARALLELISM_LIMIT {
            format!("max-parallelism is {max}: at most {MAX_PARALLELISM_LIMIT} key groups are allowed")
        } else if parallelism > max {
            format!(
                "parallelism is {parallelism} and max-parallelism {max}: \
                 a shard needs at least one key group, so raise max-parallelism or lower parallelism"
            )
        } else {
            return Ok(Self { parallelism, max_parallelism: max });
        };
        Err(Error::new(Kind::Definition, fault))
    }

    /// Number of shards.
    #[must_use]
    pub fn parallelism(&self) -> u16 {
        self.parallelism
    }

    /// Number of key groups.
    #[must_use]
    pub fn max_parallelism(&self) -> u16 {
        self.max_parallelism
    }

    /// The key group of a key with this hash.
    #[must_use]
    pub fn group(&self, hash: i32) -> u16 {
        (murmur_hash(hash) % i32::from(self.max_parallelism)) as u16
    }

    /// The shard that owns a key group.
    #[must_use]
    pub fn shard(&self, group: u16) -> ShardId {
        ShardId((u32::from(group) * u32::from(self.parallelism) / u32::from(self.max_parallelism)) as u16)
    }

    /// The key groups that a shard owns.
    #[must_use]
    pub fn range(&self, shard: ShardId) -> GroupRange {
        let (shard, groups) = (u32::from(shard.0), u32::from(self.max_parallelism));
        let shards = u32::from(self.parallelism);
        let first = (shard * groups).div_ceil(shards);
        let last = ((shard + 1) * groups - 1) / shards;
        GroupRange { first: first as u16, last: last as u16 }
    }
}

impl GroupRange {
    /// The groups from `first` to `last`; `None` if there are none.
    #[must_use]
    pub fn new(first: u16, last: u16) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// Number of groups; a range has at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub fn len(self) -> usize {
        usize::from(self.last - self.first) + 1
    }

    /// Whether the range holds `group`.
    #[must_use]
    pub fn contains(self, group: u16) -> bool {
        (self.first..=self.last).contains(&group)
    }

    /// The groups that both ranges hold; `None` if there are none.
    #[must_use]
    pub fn intersect(self, other: Self) -> Option<Self> {
        Self::new(self.first.max(other.first), self.last.min(other.last))
    }
}
