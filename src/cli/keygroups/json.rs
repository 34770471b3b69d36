//! The report for machines: everything, nothing cut.

use serde_json::{Value as Json, json};

use crate::keygroup::{KeyGroups, Load, Placement};

use super::placing::{Placed, Report, busiest, hash_name};

pub(super) fn render(report: &Report) -> Json {
    let Report { keys, key_hash, placed, compared, suggestions } = report;
    let entry = |(key, placement): (Vec<_>, &Placement)| {
        json!({
            "key": keys.json(&key),
            "hash": placement.hash,
            "key_group": placement.group,
            "shard": placement.shard.0,
        })
    };
    let mut document = json!({
        "from": keys.origin,
        "limited": keys.cut,
        "types": keys.types.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "key_hash": hash_name(*key_hash),
        "keys": keys.iter().zip(&placed.placements).map(entry).collect::<Vec<_>>(),
    });
    merge(&mut document, setting(&placed.groups, &placed.load));
    document["compared"] = compared.iter().map(contender).collect();
    document["suggestions"] =
        suggestions.iter().map(|suggested| setting(&suggested.groups, &suggested.load)).collect();
    document
}

fn setting(groups: &KeyGroups, load: &Load) -> Json {
    json!({
        "parallelism": groups.parallelism(),
        "max_parallelism": groups.max_parallelism(),
        "load": load.keys,
        "busiest": busiest(load),
        "idle": load.idle,
        "skew": load.skew,
    })
}

/// A compared setting, with the place of each key in the order of `keys`.
fn contender(placed: &Placed) -> Json {
    let mut document = setting(&placed.groups, &placed.load);
    let place = |placement: &Placement| json!({"key_group": placement.group, "shard": placement.shard.0});
    document["places"] = placed.placements.iter().map(place).collect();
    document
}

fn merge(document: &mut Json, more: Json) {
    if let (Json::Object(document), Json::Object(more)) = (document, more) {
        document.extend(more);
    }
}
