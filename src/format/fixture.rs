//! Plans of small tables for tests of routing, decoding and encoding.

use std::time::Duration;

use crate::clock::Millis;
use crate::expr::{Column, Expression, Scope, Settings};
use crate::model::{DataType, Type};
use crate::plan::{
    Bounded, ColumnSource, CsvOptions, EmptyValue, Encoding, Format, JsonOptions, KafkaClient, KafkaSink,
    MapNullKey, Metadata, OutputColumn, PhysicalColumn, ProjectPlan, RawOptions, SinkConnector, SinkPlan,
    SourceKind, SourcePlan, Startup, StreamColumn, TimestampFormat, Topics,
};

/// json with default options.
pub(crate) fn json() -> Format {
    Format::Json(JsonOptions {
        fail_on_missing_field: false,
        ignore_parse_errors: false,
        timestamp_format: TimestampFormat::Sql,
        map_null_key: MapNullKey::Fail,
        decimal_as_plain_number: true,
        ignore_null_fields: false,
    })
}

/// json with `ignore-parse-errors`.
pub(crate) fn lenient_json() -> Format {
    let Format::Json(options) = json() else { unreachable!("json is json") };
    Format::Json(JsonOptions { ignore_parse_errors: true, ..options })
}

/// csv with default options.
pub(crate) fn csv() -> Format {
    Format::Csv(CsvOptions {
        field_delimiter: ',',
        quote: Some('"'),
        escape: None,
        allow_comments: false,
        ignore_parse_errors: false,
        array_element_delimiter: ";".into(),
        null_literal: None,
        decimal_in_scientific_notation: false,
        trim_spaces: false,
        ignore_trailing_unmappable: false,
        allow_trailing_comma: true,
        fail_on_missing_columns: false,
        empty_string_as_null: false,
    })
}

/// raw, big-endian.
pub(crate) fn raw() -> Format {
    Format::Raw(RawOptions { big_endian: true })
}

fn client() -> KafkaClient {
    KafkaClient { bootstrap_servers: String::new(), settings: Vec::new() }
}

/// An upsert source with these physical columns, all of them in the stream row, and this primary key.
pub(crate) fn source(columns: &[(&str, DataType)], key: &[usize]) -> SourcePlan {
    let physical = |(ordinal, (name, ty)): (usize, &(&str, DataType))| PhysicalColumn {
        name: (*name).to_owned(),
        ty: ty.clone(),
        ordinal,
    };
    let stream = |(i, (name, ty)): (usize, &(&str, DataType))| StreamColumn {
        name: (*name).to_owned(),
        ty: ty.clone(),
        source: ColumnSource::Physical(i),
    };
    SourcePlan {
        table: "orders".into(),
        kind: SourceKind::UpsertKafka,
        topics: Topics::List(vec!["orders".into()]),
        discovery: Millis::MAX,
        client: client(),
        group_id: String::new(),
        startup: Startup::Earliest,
        bounded: Bounded::Unbounded,
        key_format: Some(json()),
        value_format: json(),
        value_includes_key: true,
        key_prefix: String::new(),
        physical_arity: columns.len(),
        physical: columns.iter().enumerate().map(physical).collect(),
        key_columns: key.to_vec(),
        columns: columns.iter().enumerate().map(stream).collect(),
        key_mismatch_is_error: false,
        on_empty_value: EmptyValue::Error,
        lossy_conversion: false,
    }
}

/// Adds a stream column.
pub(crate) fn add_column(source: &mut SourcePlan, name: &str, ty: Type, from: ColumnSource) {
    source.columns.push(StreamColumn { name: name.into(), ty: ty.nullable(), source: from });
}

/// A computed column over the physical columns and the metadata of `source`.
pub(crate) fn computed(source: &SourcePlan, text: &str) -> ColumnSource {
    let column = |name: &str, ty: DataType| Column { qualifier: String::new(), name: name.into(), ty };
    let metadata = Metadata::ALL.iter().map(|one| {
        let ty = if *one == Metadata::Offset { Type::BigInt } else { Type::STRING };
        column(&format!("metadata_{one:?}").to_lowercase(), ty.nullable())
    });
    let physical = source.physical.iter().map(|physical| column(&physical.name, physical.ty.clone()));
    let scope = Scope { columns: physical.chain(metadata).collect() };
    let settings = Settings { time_zone: "UTC".into() };
    ColumnSource::Computed(Expression::compile(text, &scope, &settings).expect("expression"))
}

/// An output row of these columns; its values are never evaluated.
pub(crate) fn project(columns: &[(&str, DataType)]) -> ProjectPlan {
    let settings = Settings { time_zone: "UTC".into() };
    let value = Expression::compile("1", &Scope::default(), &settings).expect("expression");
    let column = |(name, ty): &(&str, DataType)| OutputColumn {
        name: (*name).to_owned(),
        ty: ty.clone(),
        value: value.clone(),
    };
    ProjectPlan { columns: columns.iter().map(column).collect() }
}

/// An upsert-kafka sink whose values hold all `columns` output columns.
pub(crate) fn kafka_sink(columns: usize, primary_key: &[usize]) -> (SinkPlan, KafkaSink) {
    let kafka = KafkaSink {
        topic: "enriched".into(),
        client: client(),
        key_format: json(),
        value_format: json(),
        value_includes_key: true,
        key_prefix: String::new(),
        timestamp_column: None,
        headers_column: None,
        value_columns: (0..columns).collect(),
        buffer: Some((1, Duration::from_secs(1))),
    };
    let sink = sink(SinkConnector::UpsertKafka(Box::new(kafka.clone())), primary_key);
    (sink, kafka)
}

/// A sink with this connector.
pub(crate) fn sink(connector: SinkConnector, primary_key: &[usize]) -> SinkPlan {
    let encoding = Encoding::Retract;
    SinkPlan { table: "enriched".into(), connector, primary_key: primary_key.to_vec(), encoding }
}
