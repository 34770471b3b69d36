//! What each operator of a plan does, in words.

use crate::config::format_duration;
use crate::keygroup::KeyHash;

use super::super::{
    Bounded, CachePlan, ColumnSource, Comparison, DimensionConnector, Encoding, Format, JoinKind, KeyPart,
    KeySource, LookupPlan, LookupSql, MysqlTable, NormalizePlan, Plan, PlanSql, SinkConnector, SourceKind,
    SourcePlan, Startup, Topics,
};
use super::{Capacities, ChangelogMode, Detail, Operator};

/// The tree, sink at the root.
pub(super) fn tree(plan: &Plan, sql: &PlanSql, capacities: &Capacities) -> Operator {
    let mode = output_mode(plan);
    let mut node = source(&plan.source);
    if let Some(normalize) = &plan.normalize {
        let shards = plan.options.parallelism.unwrap_or(capacities.default_parallelism);
        node = exchange(plan, normalize, sql, shards, node);
        node = changelog_normalize(plan, normalize, sql, mode, node);
    }
    for (lookup, sql) in plan.lookups.iter().zip(&sql.lookups) {
        node = lookup_join(lookup, sql, mode, node);
    }
    if !sql.filter.is_empty() {
        node = Operator {
            name: "Filter",
            table: None,
            emits: Some(mode),
            details: vec![("condition", Detail::Many(sql.filter.clone()))],
            input: Some(Box::new(node)),
        };
    }
    sink(plan, project(plan, sql, mode, node))
}

/// What leaves the normalizer and every operator behind it.
fn output_mode(plan: &Plan) -> ChangelogMode {
    match (plan.source.kind, plan.sink.encoding) {
        (SourceKind::Kafka, _) => ChangelogMode::APPEND,
        (SourceKind::UpsertKafka, Encoding::Retract) => ChangelogMode::RETRACT,
        (SourceKind::UpsertKafka, Encoding::UpsertBySourceKey | Encoding::UpsertByOwnKey) => {
            ChangelogMode::UPSERT
        }
    }
}

pub(super) fn key_hash(hash: KeyHash) -> &'static str {
    match hash {
        KeyHash::FlinkSql => "flink-sql",
        KeyHash::Java => "java",
    }
}

fn source(source: &SourcePlan) -> Operator {
    let (connector, emits) = match source.kind {
        SourceKind::UpsertKafka => ("upsert-kafka", ChangelogMode::UPSERT_SOURCE),
        SourceKind::Kafka => ("kafka", ChangelogMode::APPEND),
    };
    let topics = match &source.topics {
        Topics::List(topics) => topics.join(", "),
        Topics::Pattern(pattern) => format!("every topic that matches {pattern}"),
    };
    let key =
        source.key_columns.iter().filter_map(|i| source.physical.get(*i)).map(|column| column.name.as_str());
    let key: Vec<&str> = key.collect();
    let mut details = vec![
        ("connector", Detail::One(connector.to_owned())),
        ("topics", Detail::One(topics)),
        ("consumer group", Detail::One(source.group_id.clone())),
    ];
    if let Some(format_) = &source.key_format {
        details.push(("key", Detail::One(format!("({}) in {}", key.join(", "), format(format_)))));
    }
    let value = if source.value_includes_key { "with" } else { "without" };
    details.push((
        "value",
        Detail::One(format!("in {}, {value} the key columns", format(&source.value_format))),
    ));
    details.push(("columns read", Detail::Many(columns_read(source))));
    details.push(("starts at", Detail::One(startup(&source.startup))));
    if source.bounded != Bounded::Unbounded {
        details.push(("ends at", Detail::One(bounded(&source.bounded))));
    }
    if !source.client.settings.is_empty() {
        let names = source.client.settings.iter().map(|(name, _)| name.as_str());
        details.push(("client settings", Detail::One(names.collect::<Vec<_>>().join(", "))));
    }
    Operator { name: "Source", table: Some(source.table.clone()), emits: Some(emits), details, input: None }
}

fn columns_read(source: &SourcePlan) -> Vec<String> {
    let columns = source.columns.iter().map(|column| {
        let origin = match &column.source {
            ColumnSource::Physical(_) => "",
            ColumnSource::Metadata(_) => " (metadata)",
            ColumnSource::Computed(_) => " (computed)",
        };
        format!("{} {}{origin}", column.name, column.ty)
    });
    columns.collect()
}

fn startup(startup: &Startup) -> String {
    match startup {
        Startup::GroupOffsets { reset_to_earliest: None } => {
            "committed offsets; without them the job stops".to_owned()
        }
        Startup::GroupOffsets { reset_to_earliest: Some(true) } => {
            "committed offsets, else the earliest".to_owned()
        }
        Startup::GroupOffsets { reset_to_earliest: Some(false) } => {
            "committed offsets, else the latest".to_owned()
        }
        Startup::Earliest => "the earliest offset".to_owned(),
        Startup::Latest => "the latest offset".to_owned(),
        Startup::Timestamp(millis) => format!("the first record at or after {millis} ms"),
        Startup::SpecificOffsets(offsets) => partition_offsets(offsets),
    }
}

fn bounded(bounded: &Bounded) -> String {
    match bounded {
        Bounded::Unbounded => "never".to_owned(),
        Bounded::Latest => "the latest offset at start".to_owned(),
        Bounded::GroupOffsets => "the committed offsets at start".to_owned(),
        Bounded::Timestamp(millis) => format!("the first record at or after {millis} ms"),
        Bounded::SpecificOffsets(offsets) => format!("{}, exclusive", partition_offsets(offsets)),
    }
}

fn partition_offsets(offsets: &[(i32, i64)]) -> String {
    let offsets = offsets.iter().map(|(partition, offset)| format!("partition {partition} offset {offset}"));
    offsets.collect::<Vec<_>>().join(", ")
}

fn format(format: &Format) -> &'static str {
    match format {
        Format::Json(_) => "json",
        Format::Csv(_) => "csv",
        Format::Raw(_) => "raw",
    }
}

fn key_names(plan: &Plan, normalize: &NormalizePlan) -> String {
    let names = normalize.primary_key.iter().filter_map(|i| plan.source.columns.get(*i));
    names.map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn exchange(plan: &Plan, normalize: &NormalizePlan, sql: &PlanSql, shards: u16, input: Operator) -> Operator {
    let by = format!("{} of ({})", key_hash(plan.options.key_hash), key_names(plan, normalize));
    let mut details =
        vec![("hash", Detail::One(by)), ("to", Detail::One(format!("{shards} shards by key group")))];
    if !sql.key_filter.is_empty() {
        details.push(("filter on the key, before the state", Detail::Many(sql.key_filter.clone())));
    }
    Operator {
        name: "Exchange",
        table: None,
        emits: Some(ChangelogMode::UPSERT_SOURCE),
        details,
        input: Some(Box::new(input)),
    }
}

fn changelog_normalize(
    plan: &Plan,
    normalize: &NormalizePlan,
    sql: &PlanSql,
    mode: ChangelogMode,
    input: Operator,
) -> Operator {
    let remembered = match plan.sink.encoding {
        Encoding::Retract => "the rows that were sent",
        Encoding::UpsertBySourceKey => "whether a row was sent",
        Encoding::UpsertByOwnKey => "the keys and rows that were sent",
    };
    let mut details = vec![
        ("state by", Detail::One(format!("({})", key_names(plan, normalize)))),
        ("state holds", Detail::One(format!("the last source row, and {remembered}"))),
    ];
    if !sql.stream_filter.is_empty() {
        details.push(("pushed filter", Detail::Many(sql.stream_filter.clone())));
    }
    let ttl = normalize
        .ttl
        .map_or_else(|| "never".to_owned(), |ttl| format!("{} after its last change", format_duration(ttl)));
    details.push(("state expires", Detail::One(ttl)));
    if let Some(batch) = &normalize.mini_batch {
        let text = format!("{} rows or {}", batch.size, format_duration(batch.latency));
        details.push(("mini-batch", Detail::One(text)));
    }
    Operator {
        name: "ChangelogNormalize",
        table: None,
        emits: Some(mode),
        details,
        input: Some(Box::new(input)),
    }
}

fn lookup_join(lookup: &LookupPlan, sql: &LookupSql, mode: ChangelogMode, input: Operator) -> Operator {
    let join = match lookup.join {
        JoinKind::Inner => "inner: a row without a match gives nothing",
        JoinKind::Left => "left: a row without a match is padded with NULLs",
    };
    let keys = lookup.key.iter().zip(&sql.key).map(|(part, sql)| key_part(part, sql));
    let fetched = lookup.columns.iter().map(|column| format!("{} {}", column.name, column.ty));
    let mut details = vec![
        ("from", Detail::One(dimension_place(&lookup.connector))),
        ("join", Detail::One(join.to_owned())),
        ("lookup key", Detail::Many(keys.collect())),
    ];
    let filters = [
        ("stream condition, before the lookup", &sql.pre_filter),
        ("condition on looked-up rows", &sql.dimension_filter),
        ("residual condition", &sql.residual),
    ];
    details.extend(
        filters
            .into_iter()
            .filter(|(_, terms)| !terms.is_empty())
            .map(|(name, terms)| (name, Detail::Many(terms.clone()))),
    );
    details.push(("columns fetched", Detail::Many(fetched.collect())));
    details.push(("asked by", Detail::One(asked_by(lookup))));
    details.push(("cache", Detail::One(cache(lookup))));
    details.push(("retries", Detail::One(lookup.max_retries.to_string())));
    let name = match lookup.alias == lookup.table {
        true => lookup.table.clone(),
        false => format!("{} AS {}", lookup.table, lookup.alias),
    };
    Operator { name: "Lookup", table: Some(name), emits: Some(mode), details, input: Some(Box::new(input)) }
}

fn key_part(part: &KeyPart, sql: &str) -> String {
    let conversion = match part.comparison {
        Comparison::Same => "as it is",
        Comparison::Integers => "as an integer; out of range: no match",
        Comparison::Decimals => "as a number, all digits; more digits: no match",
        Comparison::TextAsInteger => "text as the integer it spells; another text: no match",
        Comparison::IntegerAsText => "integer as its decimal text",
        Comparison::BooleanAsTinyInt => "TRUE as 1, FALSE as 0",
        Comparison::TinyIntAsBoolean => "0 as FALSE, 1 as TRUE; another number: no match",
    };
    let kind = match &part.source {
        KeySource::Stream(_) => "",
        KeySource::Constant(_) => "constant ",
    };
    format!("{} {} = {kind}{sql} {} ({conversion})", part.column, part.ty.kind, part.source_type.kind)
}

/// Where a key is cached and asked for: with the hash only what a cache can gain from it (E.6).
fn asked_by(lookup: &LookupPlan) -> String {
    let columns =
        lookup.hash_order.iter().filter_map(|i| lookup.key.get(*i)).map(|part| part.column.as_str());
    let columns: Vec<&str> = columns.collect();
    match (lookup.hash, lookup.cache.is_some(), columns.is_empty()) {
        (true, true, false) => format!("the shard that owns the key group of ({})", columns.join(", ")),
        (true, false, _) => "the row's own shard: without a cache the hash gains nothing".to_owned(),
        (true, true, true) => "the row's own shard: a constant key has no hash".to_owned(),
        (false, ..) => "the row's own shard".to_owned(),
    }
}

fn cache(lookup: &LookupPlan) -> String {
    let Some(CachePlan {
        max_rows,
        expire_after_write,
        expire_after_access,
        cache_missing_key,
        missing_key_ttl,
    }) = lookup.cache
    else {
        return "none".to_owned();
    };
    let mut parts = Vec::new();
    parts.extend(max_rows.map(|rows| format!("{rows} keys per replica")));
    parts.extend(expire_after_write.map(|ttl| format!("{} after write", format_duration(ttl))));
    parts.extend(expire_after_access.map(|ttl| format!("{} after access", format_duration(ttl))));
    parts.push(match (cache_missing_key, missing_key_ttl) {
        (false, _) => "absent keys are not cached".to_owned(),
        (true, None) => "absent keys are cached alike".to_owned(),
        (true, Some(ttl)) => format!("absent keys for {}", format_duration(ttl)),
    });
    parts.join(", ")
}

fn dimension_place(connector: &DimensionConnector) -> String {
    match connector {
        DimensionConnector::Mysql(table) => mysql_place(table),
        DimensionConnector::Sqlite(table) => format!("sqlite {} table {}", table.path, table.table),
    }
}

fn mysql_place(table: &MysqlTable) -> String {
    format!("mysql {}:{}/{} table {}", table.host, table.port, table.database, table.table)
}

fn project(plan: &Plan, sql: &PlanSql, mode: ChangelogMode, input: Operator) -> Operator {
    let columns = plan
        .project
        .columns
        .iter()
        .zip(&sql.output)
        .map(|(column, sql)| format!("{} {} = {sql}", column.name, column.ty));
    let details = vec![("columns", Detail::Many(columns.collect()))];
    Operator { name: "Project", table: None, emits: Some(mode), details, input: Some(Box::new(input)) }
}

fn sink(plan: &Plan, input: Operator) -> Operator {
    let (connector, place) = match &plan.sink.connector {
        SinkConnector::Print { .. } => ("print", None),
        SinkConnector::Blackhole => ("blackhole", None),
        SinkConnector::UpsertKafka(sink) => {
            let formats = format!(
                "topic {}, key in {}, value in {}",
                sink.topic,
                format(&sink.key_format),
                format(&sink.value_format)
            );
            ("upsert-kafka", Some(formats))
        }
        SinkConnector::Mysql(sink) => ("mysql", Some(mysql_place(&sink.table))),
    };
    let key = plan.sink.primary_key.iter().filter_map(|i| plan.project.columns.get(*i));
    let key: Vec<&str> = key.map(|column| column.name.as_str()).collect();
    let mut details = vec![("connector", Detail::One(connector.to_owned()))];
    details.extend(place.map(|place| ("to", Detail::One(place))));
    if !key.is_empty() {
        details.push(("primary key", Detail::One(format!("({})", key.join(", ")))));
    }
    let encoding = match (plan.source.kind, plan.sink.encoding) {
        (SourceKind::Kafka, _) => "every row as it comes",
        (_, Encoding::Retract) => "every change, retractions as they were sent",
        (_, Encoding::UpsertBySourceKey) => "upserts and deletes by the source's key",
        (_, Encoding::UpsertByOwnKey) => "upserts and deletes by the sink's own key",
    };
    details.push(("writes", Detail::One(encoding.to_owned())));
    Operator {
        name: "Sink",
        table: Some(plan.sink.table.clone()),
        emits: None,
        details,
        input: Some(Box::new(input)),
    }
}
