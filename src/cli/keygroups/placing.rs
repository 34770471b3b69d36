//! What is reported: keys in their places under one setting, and under others beside it.

use std::str::FromStr;
use std::thread;

use crate::error::Result;
use crate::keygroup::{
    KeyGroups, KeyHash, KeyHasher, Load, MAX_PARALLELISM_LIMIT, Placement, Setting, load, place, suggest,
};
use crate::plan::Options;

use super::keys::Keys;
use super::usage;

/// How much less skew is worth a proposal; below, it is chance, and the next key changes it.
const GAIN_MIN: f64 = 0.05;

/// Settings that are compared: what fits the width of a screen.
const COMPARED_MAX: usize = 8;

/// What the command line, and then the definition, say about a setting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub key_hash: Option<KeyHash>,
    pub parallelism: Option<u16>,
    pub max_parallelism: Option<u16>,
}

impl Asked {
    /// What is not asked for is as the definition says.
    pub fn or_else(self, options: &Options) -> Self {
        Self {
            key_hash: self.key_hash.or(Some(options.key_hash)),
            parallelism: self.parallelism.or(options.parallelism),
            max_parallelism: self.max_parallelism.or(options.max_parallelism),
        }
    }

    fn groups(self) -> Result<KeyGroups> {
        let cores = || thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let parallelism = self.parallelism.unwrap_or_else(|| {
            u16::try_from(cores()).unwrap_or(MAX_PARALLELISM_LIMIT).min(MAX_PARALLELISM_LIMIT)
        });
        KeyGroups::new(parallelism, self.max_parallelism).map_err(|error| usage(error.to_string()))
    }
}

/// A setting of `--compare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contender(KeyGroups);

impl FromStr for Contender {
    type Err = String;

    /// `6` or `6:360`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let parsed = text.trim().parse::<u16>();
            parsed.map_err(|_| {
                format!(
                    "`{text}` is no number from 1 to {MAX_PARALLELISM_LIMIT}; write parallelism:max-parallelism"
                )
            })
        };
        let (parallelism, max) = match text.split_once(':') {
            None => (number(text)?, None),
            Some((parallelism, max)) => (number(parallelism)?, Some(number(max)?)),
        };
        KeyGroups::new(parallelism, max).map(Self).map_err(|error| error.to_string())
    }
}

/// Keys under one setting.
#[derive(Debug)]
pub(super) struct Placed {
    pub groups: KeyGroups,
    /// Aligned with the keys.
    pub placements: Vec<Placement>,
    pub load: Load,
}

impl Placed {
    fn new(hashes: &[i32], groups: KeyGroups) -> Self {
        Self { groups, placements: place(hashes, &groups), load: load(hashes, &groups) }
    }
}

/// Everything that is shown.
#[derive(Debug)]
pub(super) struct Report {
    pub keys: Keys,
    pub key_hash: KeyHash,
    /// Under the setting that was asked for.
    pub placed: Placed,
    /// Under those of `--compare`.
    pub compared: Vec<Placed>,
    /// The best setting of each parallelism nearby that spreads these keys better, best first.
    pub suggestions: Vec<Setting>,
}

impl Report {
    /// Places the keys.
    ///
    /// # Errors
    /// Types without a hash, impossible settings, too many of them.
    pub fn new(keys: Keys, asked: Asked, compare: &[Contender]) -> Result<Self> {
        let key_hash = asked.key_hash.unwrap_or(KeyHash::FlinkSql);
        let groups = asked.groups()?;
        if COMPARED_MAX < compare.len() {
            return Err(usage(format!(
                "--compare has {} settings, at most {COMPARED_MAX} fit beside each other",
                compare.len()
            )));
        }
        let mut hasher = KeyHasher::new(&keys.types, key_hash)?;
        let hashes: Vec<i32> = keys.iter().map(|key| hasher.hash(&key)).collect();
        let placed = Placed::new(&hashes, groups);
        let suggestions = best_of_each_parallelism(&hashes, &placed);
        let compared = compare.iter().map(|contender| Placed::new(&hashes, contender.0)).collect();
        Ok(Self { keys, key_hash, placed, compared, suggestions })
    }
}

/// The best setting of each parallelism nearby, as far as it is better, best first: the parallelism
/// is often given, and then the best of all others does not help.
fn best_of_each_parallelism(hashes: &[i32], placed: &Placed) -> Vec<Setting> {
    let mut best: Vec<Setting> = Vec::new();
    for setting in suggest(hashes, &placed.groups, usize::MAX) {
        let is_first = best.iter().all(|other| other.groups.parallelism() != setting.groups.parallelism());
        if is_first && setting.load.skew + GAIN_MIN < placed.load.skew {
            best.push(setting);
        }
    }
    best
}

/// Keys of the busiest shard.
pub(super) fn busiest(load: &Load) -> u64 {
    load.keys.iter().max().copied().unwrap_or(0)
}

/// The name that a definition uses.
pub(super) fn hash_name(hash: KeyHash) -> &'static str {
    match hash {
        KeyHash::FlinkSql => "flink-sql",
        KeyHash::Java => "java",
    }
}
