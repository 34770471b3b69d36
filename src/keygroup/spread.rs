//! How evenly given keys spread over the shards, and which setting spreads them better.
//!
//! Few distinct keys leave shards idle whatever the hash: six integers over six
//! shards occupy about four of them. The number of key groups decides which, so
//! trying other settings on the keys at hand finds a better one.

use crate::model::ShardId;

use super::KeyGroups;

/// Where a key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Hash of the key.
    pub hash: i32,
    /// Its key group.
    pub group: u16,
    /// The shard that owns the group.
    pub shard: ShardId,
}

/// Keys per shard.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Number of keys of each shard.
    pub keys: Vec<u64>,
    /// Keys of the busiest shard over the mean; 1 is even, 0 for no keys.
    pub skew: f64,
    /// Shards without a key.
    pub idle: usize,
}

/// A setting and the load it would give.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Shards and key groups.
    pub groups: KeyGroups,
    /// The load.
    pub load: Load,
}

/// Places each hash.
#[must_use]
pub fn place(hashes: &[i32], groups: &KeyGroups) -> Vec<Placement> {
    let place = |hash: &i32| {
        let group = groups.group(*hash);
        Placement { hash: *hash, group, shard: groups.shard(group) }
    };
    hashes.iter().map(place).collect()
}

/// The load of each shard.
#[must_use]
pub fn load(hashes: &[i32], groups: &KeyGroups) -> Load {
    let mut keys = vec![0_u64; usize::from(groups.parallelism())];
    for hash in hashes {
        if let Some(count) = keys.get_mut(usize::from(groups.shard(groups.group(*hash)).0)) {
            *count += 1;
        }
    }
    let busiest = keys.iter().max().copied().unwrap_or(0);
    let mean = hashes.len() as f64 / keys.len() as f64;
    let skew = if hashes.is_empty() { 0.0 } else { busiest as f64 / mean };
    let idle = keys.iter().filter(|count| **count == 0).count();
    Load { keys, skew, idle }
}

/// Max parallelisms worth trying beside the powers of two: round numbers that operators pick.
const ROUND_NUMBERS: [u16; 9] = [120, 180, 240, 360, 480, 720, 1_000, 5_040, 10_000];

/// Up to so many keys every max parallelism of [`EACH`] is tried: with few keys the throw of the dice
/// decides, and more throws find a good one. With many keys all settings are nearly even.
const FEW_KEYS: usize = 1_000;

/// The max parallelisms that are tried one by one for few keys.
const EACH: std::ops::RangeInclusive<u16> = 128..=1_024;

/// At most `count` settings near `groups` that spread `hashes` best, best first.
///
/// Tried are the same parallelism and those up to two below and above it, each with powers of two
/// and round numbers as max parallelism, for few keys also with all numbers of a range; never a single
/// shard, which has no skew and no parallelism. Ranked by skew, then by the keys of the busiest shard,
/// then by how little changes: the nearest parallelism first, then the fewest key groups.
#[must_use]
pub fn suggest(hashes: &[i32], groups: &KeyGroups, count: usize) -> Vec<Setting> {
    let current = groups.parallelism();
    let maxima = max_parallelisms(hashes.len());
    let mut settings: Vec<Setting> = (current.saturating_sub(2).max(2)..=current.saturating_add(2))
        .flat_map(|parallelism| maxima.iter().map(move |max| KeyGroups::new(parallelism, Some(*max))))
        .filter_map(Result::ok)
        .filter(|setting| setting != groups)
        .map(|setting| Setting { load: load(hashes, &setting), groups: setting })
        .collect();
    settings
        .sort_by(|a, b| rank(a, current).partial_cmp(&rank(b, current)).unwrap_or(std::cmp::Ordering::Equal));
    settings.truncate(count);
    settings
}

/// Ascending, each once.
fn max_parallelisms(keys: usize) -> Vec<u16> {
    let powers = (7..=15).map(|power| 1_u16 << power);
    let each = EACH.filter(|_| keys <= FEW_KEYS);
    let mut all: Vec<u16> = powers.chain(ROUND_NUMBERS).chain(each).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn rank(setting: &Setting, current: u16) -> (f64, u64, u16, u16) {
    let busiest = setting.load.keys.iter().max().copied().unwrap_or(0);
    let moved = setting.groups.parallelism().abs_diff(current);
    (setting.load.skew, busiest, moved, setting.groups.max_parallelism())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integers 0 to 5 under `key-hash: java` are their own hashes.
    const SIX: [i32; 6] = [0, 1, 2, 3, 4, 5];

    #[test]
    fn six_integers_occupy_three_of_six_shards() {
        let groups = KeyGroups::new(6, Some(128)).unwrap();
        let shards: Vec<u16> = place(&SIX, &groups).iter().map(|placement| placement.shard.0).collect();
        assert_eq!(shards, [4, 4, 5, 5, 0, 5]);
        let load = load(&SIX, &groups);
        assert_eq!((load.keys.as_slice(), load.idle), (&[1, 0, 0, 0, 2, 3][..], 3));
        assert!((load.skew - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_suggestion_spreads_better_than_the_setting_in_use() {
        let groups = KeyGroups::new(6, Some(128)).unwrap();
        let best = suggest(&SIX, &groups, 5);
        assert_eq!(best.len(), 5);
        assert!(best[0].load.skew < 3.0);
        assert!(best.windows(2).all(|pair| pair[0].load.skew <= pair[1].load.skew));
        assert!(best.iter().all(|setting| setting.load == load(&SIX, &setting.groups)));
    }

    #[test]
    fn few_keys_find_an_even_setting_at_the_same_parallelism() {
        let groups = KeyGroups::new(6, Some(128)).unwrap();
        let best = &suggest(&SIX, &groups, 1)[0];
        assert_eq!((best.groups.parallelism(), best.load.keys.as_slice()), (6, &[1; 6][..]));
        let many: Vec<i32> = (0..2_000).collect();
        assert!(suggest(&many, &groups, 1_000).len() < 5 * 20);
    }

    #[test]
    fn a_single_shard_is_no_suggestion() {
        let groups = KeyGroups::new(2, Some(128)).unwrap();
        assert!(suggest(&SIX, &groups, 1_000).iter().all(|setting| 1 < setting.groups.parallelism()));
    }

    #[test]
    fn no_keys_are_no_skew() {
        let groups = KeyGroups::new(2, None).unwrap();
        assert_eq!(load(&[], &groups), Load { keys: vec![0, 0], skew: 0.0, idle: 2 });
    }
}
