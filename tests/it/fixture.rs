//! A job that only exists in its snapshot: what the page shows when a real one would take too long to get there.

use std::sync::Arc;

use lookaside::http::{Observable, Server, Serving};
use lookaside::telemetry::Page;
use serde_json::{Value as Json, json};

struct Fixture {
    snapshot: String,
    definition: String,
}

impl Observable for Fixture {
    fn liveness(&self) -> Result<(), String> {
        Ok(())
    }
    fn readiness(&self) -> Result<(), String> {
        Ok(())
    }
    fn metrics(&self) -> Page {
        Page::default()
    }
    fn status(&self) -> Json {
        json!({})
    }
    fn tick(&self) {}
    fn snapshot(&self) -> String {
        self.snapshot.clone()
    }
    fn definition(&self) -> String {
        self.definition.clone()
    }
}

/// Serves a page that shows this snapshot.
pub fn serve(snapshot: &Json, definition: &str) -> Serving {
    let fixture = Fixture { snapshot: snapshot.to_string(), definition: definition.to_owned() };
    let server = Server::bind("127.0.0.1:0".parse().expect("address")).expect("port");
    server.start(Arc::new(fixture)).expect("thread")
}

/// A snapshot of a job with so many lookups, shards and partitions, all of whose names are `name`.
pub fn snapshot(name: &str, lookups: usize, shards: usize, partitions: usize) -> Json {
    let chart: Vec<f64> = (0..120).map(|i| f64::from(i % 17) / 17.0).collect();
    let gaps: Vec<Json> =
        chart.iter().map(|point| if *point < 0.1 { Json::Null } else { json!(point) }).collect();
    let cells = 128_usize.div_ceil(shards.max(1));
    json!({
        "version": "0.1.0", "name": name, "now": 1_700_000_600_000_i64, "started": 1_700_000_000_000_i64,
        "state": "running", "ready": true, "reason": null, "cores": 1.93, "resident_bytes": 987_654_321.0,
        "source": {"table": name, "connector": "upsert-kafka", "rows": 12_345_678_901_u64,
            "rows_per_second": 123_456.7, "bytes_per_second": 98_765_432.1, "backpressure": 0.63, "chart": chart},
        "normalize": {"changes": 12_345_678_901_u64, "changes_per_second": 123_456.7, "suppressed": 12_345_678_u64,
            "keys": 123_456_789_u64, "bytes": 12_345_678_901_u64},
        "lookups": (0..lookups).map(|number| json!({
            "alias": format!("{name}{number}"), "table": name, "connector": "mysql", "join": "inner",
            "cache": "hashed", "rows_per_second": 123_456.7, "hit_rate": 0.987, "hits": 12_345_678_901_u64,
            "negative_hits": 12_345_u64, "coalesced": 123_456_u64, "misses": 1_234_567_u64, "no_key": 12_u64,
            "entries": 99_999_u64, "capacity": 100_000_u64, "expired": 12_u64, "evicted": 12_345_u64, "statements": 123_456_u64,
            "statements_per_second": 12.3, "keys_per_statement": 480.2, "errors": 3_u64, "p50": 0.0007,
            "p99": 0.0123, "chart": gaps,
        })).collect::<Vec<_>>(),
        "sink": {"table": name, "connector": "upsert-kafka", "rows": 12_345_678_901_u64,
            "rows_per_second": 123_456.7, "backpressure": 0.21, "commits": 123_u64, "commit_failures": 1_u64,
            "last_commit": 1_700_000_599_000_i64, "chart": chart},
        "shards": {"count": shards + 3, "skew": 1.42, "group_skew": 7.31, "held": 0.12, "groups": 128, "keyed": true,
            "groups_per_cell": 1,
            "list": (0..shards).map(|number| json!({
                "number": number, "records": 12_345_678_901_u64, "records_per_second": 123_456.7, "queued": 8,
                "busy": 0.71, "held": 0.12, "sink": 0.05, "keys": 123_456_u64,
                "first_group": number * cells, "last_group": (number + 1) * cells - 1,
                "cells": (0..cells).map(|cell| (cell * cell * 37) % 1_000).collect::<Vec<_>>(),
            })).collect::<Vec<_>>()},
        "partitions": {"count": partitions + 7, "lag": 123_456_789_012_i64,
            "list": (0..partitions).map(|number| json!({
                "topic": name, "partition": number, "position": 12_345_678_901_i64, "committed": 12_345_678_900_i64,
                "end": 12_345_690_000_i64, "lag": 11_099_i64,
                "restored": if number == 0 { json!(0.42) } else { Json::Null },
            })).collect::<Vec<_>>()},
        "problems": [
            {"is_error": true, "what": format!("{name}: lookup failed after 4 attempts"), "help": "",
                "first": 1_700_000_590_000_i64, "last": 1_700_000_590_000_i64, "count": 1},
            {"is_error": false, "what": format!("lookup failed, trying again (table: {name})"),
                "help": "see whether the database answers", "first": 1_700_000_100_000_i64,
                "last": 1_700_000_590_000_i64, "count": 1_234},
        ],
        "chart_seconds": 5,
    })
}
