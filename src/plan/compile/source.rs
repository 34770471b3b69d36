//! A Kafka source: everything but its columns, which are known at the end.

use std::time::Duration;

use crate::clock::Millis;
use crate::config::options::{Role, TableOptions};
use crate::config::{Fault, TableDefinition};

use super::super::{Bounded, EmptyValue, Format, Plan, Secret, SourceKind, SourcePlan, Startup};
use super::context::Context;
use super::schema::{Schema, SchemaKind};
use super::{client, format, topics};

/// Columns in the record key, in key order.
pub(super) fn key_columns(
    context: &mut Context,
    kind: SourceKind,
    schema: &Schema,
    options: &TableOptions,
) -> Option<Vec<usize>> {
    if kind == SourceKind::UpsertKafka {
        if schema.primary_key.is_empty() && !schema.complete {
            return None;
        }
        if schema.primary_key.is_empty() {
            let help = "add `PRIMARY KEY (…) NOT ENFORCED` with the columns that the record key holds";
            context.fault(&schema.span, "an upsert-kafka table needs a PRIMARY KEY", help);
            return None;
        }
        return Some(schema.primary_key.clone());
    }
    if !schema.primary_key.is_empty() {
        let help = "a kafka table is append-only; upsert-kafka reads a topic by key";
        context.fault(&schema.key_span, "a kafka table with an insert-only format has no PRIMARY KEY", help);
        return None;
    }
    match (options.is_written("key.format"), options.is_written("key.fields")) {
        (false, false) => return Some(Vec::new()),
        (true, true) => {}
        (format, _) => {
            let (given, lacks) =
                if format { ("key.format", "key.fields") } else { ("key.fields", "key.format") };
            context.fault(
                &options.span(given),
                format!("'{given}' is given without '{lacks}'"),
                "give both, or neither",
            );
            return None;
        }
    }
    let mut key = Vec::new();
    let fields = options.text("key.fields").unwrap_or_default();
    for field in fields.split(';').map(str::trim).filter(|field| !field.is_empty()) {
        let found = schema.columns.iter().position(|column| column.name == field);
        match found.filter(|i| matches!(schema.columns[*i].kind, SchemaKind::Physical(_))) {
            Some(i) if !key.contains(&i) => key.push(i),
            _ => {
                let names = schema.physical().map(|(_, column)| column.name.as_str());
                let shown = options.shown("key.fields", field);
                let what =
                    format!("'key.fields' names '{shown}', which is not a physical column or is named twice");
                context.faults.add(Fault::new(&options.span("key.fields"), what).allowed(shown, names));
            }
        }
    }
    Some(key)
}

/// Everything but the columns.
pub(super) fn compile(
    context: &mut Context,
    table: &TableDefinition,
    schema: &Schema,
    options: &TableOptions,
    kind: SourceKind,
) -> Option<SourcePlan> {
    let client = client::compile(context, table, options, Role::Source);
    let topics = topics::of_source(context, table, options);
    let startup =
        startup(context, options, kind, client.as_ref().and_then(|client| client.offset_reset.as_deref()));
    let bounded = bounded(context, options);
    let key = format::KeyColumns::of(context, schema, options, kind);
    let (key_format, value_format) = formats(context, schema, options, &key);
    let (topics, mut client) = (topics?, client?);
    if client.settings.iter().all(|(name, _)| name != "isolation.level") {
        client.settings.push(("isolation.level".to_owned(), Secret::new("read_committed")));
    }
    let interval = options.duration("scan.topic-partition-discovery.interval").unwrap_or_default();
    if options.is_written("scan.topic-partition-discovery.interval") {
        client
            .settings
            .push(("topic.metadata.refresh.interval.ms".to_owned(), Secret::new(refresh(interval))));
    }
    Some(SourcePlan {
        table: table.name.written.clone(),
        kind,
        topics,
        discovery: discovery(interval),
        group_id: client.group_id.clone().unwrap_or_default(),
        client: client.into_client(),
        startup: startup?,
        bounded: bounded?,
        key_format,
        value_format: value_format?,
        value_includes_key: key.value_includes_key,
        key_prefix: key.prefix,
        physical_arity: schema.physical().count(),
        physical: Vec::new(),
        key_columns: Vec::new(),
        columns: Vec::new(),
        key_mismatch_is_error: options.choice("on-key-mismatch") == "error",
        on_empty_value: match options.choice("on-empty-value") {
            "skip" => EmptyValue::Skip,
            "tombstone" => EmptyValue::Tombstone,
            _ => EmptyValue::Error,
        },
        lossy_conversion: options.choice("value.lossy-conversion") == "flink",
    })
}

/// Our form of the interval: 0 looks never.
fn discovery(interval: Duration) -> Millis {
    match Millis::try_from(interval.as_millis()) {
        Ok(millis) if 0 < millis => millis,
        _ => Millis::MAX,
    }
}

/// librdkafka's form of the interval: -1 never refreshes.
fn refresh(interval: Duration) -> String {
    match interval.as_millis() {
        0 => "-1".to_owned(),
        millis => millis.to_string(),
    }
}

/// The consumer group is the job's name, unless `properties.group.id` says otherwise.
pub(super) fn name_group(plan: &mut Plan) {
    if plan.source.group_id.is_empty() {
        plan.source.group_id.clone_from(&plan.name);
    }
}

fn formats(
    context: &mut Context,
    schema: &Schema,
    options: &TableOptions,
    key: &format::KeyColumns,
) -> (Option<Format>, Option<Format>) {
    let key_format = match options.is_written("key.format") {
        true => format::compile(context, options, "key.", "key.format"),
        false => None,
    };
    let (prefix, chooser) = match (options.is_written("value.format"), options.is_written("format")) {
        (true, true) => {
            context.fault(
                &options.span("format"),
                "'format' and 'value.format' are both given",
                "give one of them",
            );
            return (key_format, None);
        }
        (false, true) => ("", "format"),
        _ => ("value.", "value.format"),
    };
    let value_format = format::compile(context, options, prefix, chooser);
    format::check_types(context, schema, key, key_format.as_ref(), value_format.as_ref());
    (key_format, value_format)
}

fn startup(
    context: &mut Context,
    options: &TableOptions,
    kind: SourceKind,
    offset_reset: Option<&str>,
) -> Option<Startup> {
    if kind == SourceKind::UpsertKafka {
        return Some(Startup::Earliest);
    }
    let mode = options.choice("scan.startup.mode");
    companions(context, options, "scan.startup", mode)?;
    Some(match mode {
        "earliest-offset" => Startup::Earliest,
        "latest-offset" => Startup::Latest,
        "timestamp" => Startup::Timestamp(options.integer("scan.startup.timestamp-millis")?),
        "specific-offsets" => {
            Startup::SpecificOffsets(options.partition_offsets("scan.startup.specific-offsets")?)
        }
        _ => Startup::GroupOffsets {
            reset_to_earliest: match offset_reset {
                Some("earliest" | "smallest" | "beginning") => Some(true),
                Some("latest" | "largest" | "end") => Some(false),
                _ => None,
            },
        },
    })
}

fn bounded(context: &mut Context, options: &TableOptions) -> Option<Bounded> {
    let mode = options.choice("scan.bounded.mode");
    companions(context, options, "scan.bounded", mode)?;
    Some(match mode {
        "latest-offset" => Bounded::Latest,
        "group-offsets" => Bounded::GroupOffsets,
        "timestamp" => Bounded::Timestamp(options.integer("scan.bounded.timestamp-millis")?),
        "specific-offsets" => {
            Bounded::SpecificOffsets(options.partition_offsets("scan.bounded.specific-offsets")?)
        }
        _ => Bounded::Unbounded,
    })
}

/// The option that a mode needs is there, and those of other modes are not.
fn companions(context: &mut Context, options: &TableOptions, group: &str, mode: &str) -> Option<()> {
    let before = context.faults.len();
    for (owner, option) in [("timestamp", "timestamp-millis"), ("specific-offsets", "specific-offsets")] {
        let option = format!("{group}.{option}");
        let mode_option = format!("{group}.mode");
        if mode == owner && !options.is_written(&option) {
            let what = format!("'{mode_option}' is '{mode}' and needs '{option}'");
            context.fault(&options.span(&mode_option), what, "give it, or choose another mode");
        }
        if mode != owner && options.is_written(&option) {
            let what = format!("'{option}' is given, but '{mode_option}' is '{mode}'");
            context.fault(&options.span(&option), what, format!("it belongs to mode '{owner}'"));
        }
    }
    let specific = format!("{group}.specific-offsets");
    if mode == "specific-offsets" && options.text("topic").is_some_and(|topic| topic.contains(';')) {
        context.fault(
            &options.span(&specific),
            "offsets by partition need a single topic",
            "name one topic, or choose another mode",
        );
    }
    (context.faults.len() == before).then_some(())
}
