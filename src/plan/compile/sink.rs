//! The sink: its table, and what is sent to it.

use std::time::Duration;

use crate::config::options::{Role, TableOptions};
use crate::config::{Definition, Fault, TableDefinition};

use super::super::{
    Encoding, Format, KafkaClient, KafkaSink, MysqlSink, Plan, SinkConnector, SinkPlan, Topics,
};
use super::context::Context;
use super::output::OutputDraft;
use super::schema::{Schema, SchemaColumn, SchemaKind};
use super::{client, dimension, format, metadata, sink_key, topics};

/// What the sink's table says.
pub(super) struct SinkTable<'a> {
    pub table: &'a TableDefinition,
    pub options: TableOptions,
    /// `None` if the options are faulty.
    target: Option<Target>,
    /// Without columns: it takes the select's.
    pub schema: Schema,
}

impl SinkTable<'_> {
    pub fn connector(&self) -> &str {
        self.table.connector.as_ref().map_or("", |connector| connector.value())
    }
}

/// What the options of the connector come to, before the output is known.
enum Target {
    Print,
    Blackhole,
    Kafka(KafkaTarget),
    Mysql(MysqlSink),
}

struct KafkaTarget {
    topic: String,
    client: KafkaClient,
    key_format: Format,
    value_format: Format,
    buffer: Option<(usize, Duration)>,
}

/// Reads the sink's table.
pub(super) fn resolve<'a>(context: &mut Context, definition: &'a Definition) -> Option<SinkTable<'a>> {
    let table = context.table(definition, &definition.pipeline.into, Role::Sink)?;
    let options = context.options(table, Role::Sink);
    let schema = match &table.columns {
        Some(_) => Schema::read(context, table),
        None => Some(Schema {
            span: table.name.span.clone(),
            columns: Vec::new(),
            primary_key: Vec::new(),
            key_names: Vec::new(),
            key_span: table.name.span.clone(),
            complete: true,
        }),
    };
    let options = options?;
    let target = target(context, table, &options);
    let sink = SinkTable { table, options, target, schema: schema? };
    check_metadata(context, &sink);
    Some(sink)
}

fn target(context: &mut Context, table: &TableDefinition, options: &TableOptions) -> Option<Target> {
    match table.connector.as_ref()?.value() {
        "print" => Some(Target::Print),
        "blackhole" => Some(Target::Blackhole),
        "upsert-kafka" => {
            let topic = topics::of_sink(context, table, options);
            let client = client::compile(context, table, options, Role::Sink);
            let key_format = format::compile(context, options, "key.", "key.format");
            let value_format = format::compile(context, options, "value.", "value.format");
            let buffer = buffer(context, options);
            if options.choice("sink.delivery-guarantee") == "none" {
                let reason = "at-least-once is the least that is given";
                context.note(&table.name.written, "sink.delivery-guarantee none", reason);
            }
            Some(Target::Kafka(KafkaTarget {
                topic: topic?,
                client: client?.into_client(),
                key_format: key_format?,
                value_format: value_format?,
                buffer: buffer?,
            }))
        }
        _ => {
            let number = |name: &str| options.integer(name);
            Some(Target::Mysql(MysqlSink {
                table: dimension::mysql_table(context, table, options)?,
                flush_rows: number("sink.buffer-flush.max-rows")
                    .and_then(|n| usize::try_from(n).ok())
                    .unwrap_or(100),
                flush_interval: options
                    .duration("sink.buffer-flush.interval")
                    .unwrap_or(Duration::from_secs(1)),
                max_retries: number("sink.max-retries").and_then(|n| u32::try_from(n).ok()).unwrap_or(3),
            }))
        }
    }
}

/// Metadata columns of a sink: `timestamp` and `headers` of upsert-kafka can be written.
fn check_metadata(context: &mut Context, sink: &SinkTable<'_>) {
    for column in &sink.schema.columns {
        let SchemaKind::Metadata { key, is_virtual } = &column.kind else { continue };
        let name = &column.name;
        if sink.connector() != "upsert-kafka" {
            context.fault(
                &column.item.span,
                format!("column '{name}': a {} table has no metadata", sink.connector()),
                "declare it as `name TYPE`, and fill it in 'select'",
            );
            continue;
        }
        let Some(found) = metadata::named(key) else {
            let fault = Fault::new(
                &column.item.span,
                format!("column '{name}': Kafka records have no metadata '{key}'"),
            );
            context.faults.add(fault.allowed(key, metadata::names()));
            continue;
        };
        if *is_virtual {
            continue;
        }
        match key.as_str() {
            "timestamp" | "headers" => {
                let own = metadata::ty(found).kind;
                if !metadata::same_shape(&own, &column.ty.kind) {
                    let what = format!("column '{name}' is written to '{key}', which is {own}");
                    context.fault(&column.item.span, what, format!("declare it as {own}"));
                }
            }
            "header-list" => {
                context.fault(
                    &column.item.span,
                    "writing 'header-list' is not supported yet",
                    "'headers' can be written",
                );
            }
            _ => {
                let what = format!("column '{name}': metadata '{key}' cannot be written");
                context.fault(
                    &column.item.span,
                    what,
                    "declare the column VIRTUAL; 'timestamp' and 'headers' can be written",
                );
            }
        }
    }
}

/// What is sent, and where.
pub(super) fn compile(
    context: &mut Context,
    mut sink: SinkTable<'_>,
    output: &[OutputDraft],
    input: &sink_key::Input<'_>,
) -> Option<SinkPlan> {
    let before = context.faults.len();
    let primary_key = sink_key::positions(context, &sink, output);
    let encoding = match sink.connector() {
        "upsert-kafka" | "mysql" | "jdbc" => sink_key::check(context, &sink, &primary_key, output, input),
        _ => Encoding::Retract,
    };
    let connector = match sink.target.take()? {
        Target::Print => SinkConnector::Print {
            identifier: sink.options.text("print-identifier").unwrap_or_default().to_owned(),
            standard_error: sink.options.boolean("standard-error"),
        },
        Target::Blackhole => SinkConnector::Blackhole,
        Target::Kafka(target) => kafka(context, &sink, target, &primary_key, output),
        Target::Mysql(target) => {
            dimension::check_columns(context, &as_schema(&sink, output), sink.table);
            SinkConnector::Mysql(target)
        }
    };
    let plan = SinkPlan { table: sink.table.name.written.clone(), connector, primary_key, encoding };
    (context.faults.len() == before).then_some(plan)
}

fn kafka(
    context: &mut Context,
    sink: &SinkTable<'_>,
    target: KafkaTarget,
    primary_key: &[usize],
    output: &[OutputDraft],
) -> SinkConnector {
    let schema = as_schema(sink, output);
    let key = format::KeyColumns::with(context, &schema, &sink.options, primary_key.to_vec());
    format::check_types(context, &schema, &key, Some(&target.key_format), Some(&target.value_format));
    let written = |key: &str| output.iter().position(|column| column.metadata.as_deref() == Some(key));
    let in_value =
        |i: &usize| output[*i].metadata.is_none() && (key.value_includes_key || !primary_key.contains(i));
    SinkConnector::UpsertKafka(Box::new(KafkaSink {
        topic: target.topic,
        client: target.client,
        key_format: target.key_format,
        value_format: target.value_format,
        value_includes_key: key.value_includes_key,
        timestamp_column: written("timestamp"),
        headers_column: written("headers"),
        value_columns: (0..output.len()).filter(in_value).collect(),
        key_prefix: key.prefix,
        buffer: target.buffer,
    }))
}

/// The output row as columns, for checks that blame the sink's own lines where it has some.
fn as_schema(sink: &SinkTable<'_>, output: &[OutputDraft]) -> Schema {
    let columns = output.iter().enumerate().map(|(i, column)| {
        let declared = sink.schema.columns.iter().find(|known| known.name == column.name);
        SchemaColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            kind: match &column.metadata {
                None => SchemaKind::Physical(i),
                Some(key) => SchemaKind::Metadata { key: key.clone(), is_virtual: false },
            },
            item: declared.map_or_else(
                || crate::config::Text::plain(&column.span, &column.name),
                |declared| declared.item.clone(),
            ),
        }
    });
    Schema { columns: columns.collect(), ..sink.schema.clone() }
}

/// Both, or neither (Flink: C.1). `None` when there is a fault.
#[expect(clippy::option_option, reason = "outer: a fault; inner: no buffer")]
fn buffer(context: &mut Context, options: &TableOptions) -> Option<Option<(usize, Duration)>> {
    const ROWS: &str = "sink.buffer-flush.max-rows";
    const INTERVAL: &str = "sink.buffer-flush.interval";
    let rows = options.integer(ROWS).and_then(|rows| usize::try_from(rows).ok()).unwrap_or(0);
    let interval = options.duration(INTERVAL).unwrap_or_default();
    match (rows, interval.is_zero()) {
        (0, true) => Some(None),
        (0, false) | (_, true) => {
            let span = options.span(if rows == 0 { INTERVAL } else { ROWS });
            let what = format!("'{ROWS}' and '{INTERVAL}' must both be above 0, or both be off");
            context.fault(&span, what, "give both, or neither");
            None
        }
        (rows, false) => Some(Some((rows, interval))),
    }
}

/// A job that reads what it writes never ends.
pub(super) fn refuse_loop(context: &mut Context, definition: &Definition, plan: &Plan) {
    let SinkConnector::UpsertKafka(sink) = &plan.sink.connector else { return };
    let source = &plan.source;
    let reads = match &source.topics {
        Topics::List(topics) => topics.contains(&sink.topic),
        Topics::Pattern(pattern) => {
            regex::Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|pattern| pattern.is_match(&sink.topic))
        }
    };
    if reads && source.client.bootstrap_servers == sink.client.bootstrap_servers {
        let what = "the pipeline writes to the topic that it reads";
        context.fault(&definition.pipeline.into.span, what, "give the sink a topic of its own");
    }
}
