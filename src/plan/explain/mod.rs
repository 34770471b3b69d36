//! The resolved plan as a tree: what each operator does, and which kinds of change travel between them.
//!
//! The sink stands at the root and the source is the innermost leaf, as in
//! Flink's EXPLAIN. Nothing secret is in it: client settings are named, not shown.

mod changelog;
mod describe;
mod render;

pub use changelog::ChangelogMode;

use serde_json::{Map, Value as Json, json};

use crate::keygroup::KeyGroups;
use crate::model::ShardId;

use super::{Plan, PlanSql};

/// What the process adds to a plan when it runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacities {
    /// Worker shards when the definition names none.
    pub default_parallelism: u16,
    /// Bounded queues between the threads of a replica.
    pub channels: Vec<Channel>,
}

/// One bounded queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// From where to where.
    pub between: &'static str,
    /// How much it holds.
    pub capacity: usize,
    /// Of what.
    pub unit: &'static str,
}

/// A plan, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Name of the job.
    pub name: String,
    /// The sink, and below it everything up to the source.
    pub root: Operator,
    /// What holds for the whole job, by name.
    pub job: Vec<(&'static str, Detail)>,
    /// Notes of the plan.
    pub notes: Vec<String>,
}

/// One operator of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// What it is: `Sink`, `Lookup`, …
    pub name: &'static str,
    /// The table it works on, if it is one's.
    pub table: Option<String>,
    /// Kinds of change that leave it; a sink has none.
    pub emits: Option<ChangelogMode>,
    /// What it does, by name.
    pub details: Vec<(&'static str, Detail)>,
    /// Where its rows come from.
    pub input: Option<Box<Operator>>,
}

/// A text, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

/// Explains a plan.
#[must_use]
pub fn explain(plan: &Plan, sql: &PlanSql, capacities: &Capacities) -> Explanation {
    Explanation {
        name: plan.name.clone(),
        root: describe::tree(plan, sql, capacities),
        job: job(plan, capacities),
        notes: plan.notes.clone(),
    }
}

fn job(plan: &Plan, capacities: &Capacities) -> Vec<(&'static str, Detail)> {
    let options = &plan.options;
    let shards = options.parallelism.unwrap_or(capacities.default_parallelism);
    let mut job = vec![("shards", Detail::One(shards.to_string()))];
    if let Ok(groups) = KeyGroups::new(shards, options.max_parallelism) {
        let hash = describe::key_hash(options.key_hash);
        job.push(("key groups", Detail::One(format!("{} by {hash}", groups.max_parallelism()))));
        let ranges = (0..shards).map(|shard| {
            let range = groups.range(ShardId(shard));
            format!("shard {shard}: {} to {}", range.first, range.last)
        });
        job.push(("key groups per shard", Detail::Many(ranges.collect())));
    }
    let channels = capacities.channels.iter();
    let channels: Vec<String> = channels
        .map(|channel| format!("{}: {} {}", channel.between, channel.capacity, channel.unit))
        .collect();
    if !channels.is_empty() {
        job.push(("channels", Detail::Many(channels)));
    }
    job.push(("commit interval", Detail::One(crate::config::format_duration(options.commit_interval))));
    job.push(("time zone", Detail::One(options.time_zone.clone())));
    job
}

impl Explanation {
    /// As a tree for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        render::text(self)
    }

    /// For machines.
    #[must_use]
    pub fn to_json(&self) -> Json {
        json!({
            "name": self.name,
            "plan": self.root.to_json(),
            "job": details_json(&self.job),
            "notes": self.notes,
        })
    }
}

impl Operator {
    fn to_json(&self) -> Json {
        let mut object = Map::new();
        object.insert("operator".to_owned(), self.name.into());
        if let Some(table) = &self.table {
            object.insert("table".to_owned(), table.as_str().into());
        }
        if let Some(mode) = &self.emits {
            object.insert("changelog_mode".to_owned(), mode.names().into());
        }
        object.insert("details".to_owned(), details_json(&self.details));
        if let Some(input) = &self.input {
            object.insert("input".to_owned(), input.to_json());
        }
        Json::Object(object)
    }
}

fn details_json(details: &[(&'static str, Detail)]) -> Json {
    let value = |detail: &Detail| match detail {
        Detail::One(text) => Json::from(text.as_str()),
        Detail::Many(texts) => texts.as_slice().into(),
    };
    Json::Object(details.iter().map(|(name, detail)| (name.replace(' ', "_"), value(detail))).collect())
}
