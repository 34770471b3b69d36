//! What definitions come to: keys, filters, projections, sinks.

use std::time::Duration;

use bumpalo::Bump;

use super::super::{
    Bounded, ColumnSource, Comparison, Encoding, Format, JoinKind, KeySource, Metadata, Plan, SinkConnector,
    Startup, Topics,
};
use super::compile;
use crate::clock::Millis;
use crate::config::{References, load_texts};
use crate::expr::Expression;
use crate::model::{Datum, Type};

/// The tables of E.1's trace set L, and a pipeline.
fn definition(pipeline: &str) -> String {
    let tables = r"
name: test
tables:
  o:
    connector: upsert-kafka
    topic: o
    properties.bootstrap.servers: localhost:9092
    key.format: json
    value.format: json
    columns:
    - oid INT
    - note STRING
    - cid BIGINT
    - amt INT
    - label STRING
    - ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL
    - part BIGINT METADATA FROM 'partition'
    - doubled AS amt * 2
    - spread AS `part` * 10 + oid
    - proctime AS PROCTIME()
    - PRIMARY KEY (oid) NOT ENFORCED
  a:
    connector: kafka
    topic: a;b
    format: json
    properties.bootstrap.servers: localhost:9092
    columns: [oid INT, cid INT, amt INT]
  d:
    connector: mysql
    url: mysql://localhost/db
    table-name: d
    columns: [id INT, name STRING, age INT, spare STRING]
  u:
    connector: mysql
    url: mysql://localhost/db
    table-name: u
    columns: [id INT PRIMARY KEY NOT ENFORCED, name STRING]
  out: {connector: print}
";
    format!("{tables}{pipeline}")
}

fn plan(yaml: &str) -> Plan {
    let definition = load_texts(&[("test.yaml".to_owned(), yaml.to_owned())], &References::process());
    let plan = definition.and_then(|definition| compile(&definition));
    plan.unwrap_or_else(|faults| {
        panic!("{}", faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })
}

fn faults(yaml: &str) -> Vec<String> {
    let definition = load_texts(&[("test.yaml".to_owned(), yaml.to_owned())], &References::process());
    let compiled = definition.and_then(|definition| compile(&definition));
    compiled.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// A plan with one lookup in `d`.
fn lookup(from: &str, join: &str, condition: &str, select: &str) -> Plan {
    plan(&definition(&format!(
        "pipeline:\n  from: {from}\n  lookup:\n  - table: d\n    type: {join}\n    condition: {condition}\n  select: [{select}]\n  into: out\n"
    )))
}

fn key(plan: &Plan) -> Vec<(&str, bool)> {
    let parts = plan.lookups[0].key.iter();
    parts.map(|part| (part.column.as_str(), matches!(part.source, KeySource::Constant(_)))).collect()
}

fn stream_columns(plan: &Plan) -> Vec<&str> {
    plan.source.columns.iter().map(|column| column.name.as_str()).collect()
}

fn physical(plan: &Plan) -> Vec<&str> {
    plan.source.physical.iter().map(|column| column.name.as_str()).collect()
}

fn fetched(plan: &Plan) -> Vec<&str> {
    plan.lookups[0].columns.iter().map(|column| column.name.as_str()).collect()
}

fn holds(condition: Option<&Expression>, row: &[Datum<'_>]) -> bool {
    condition.expect("a condition").holds(row, &Bump::new()).expect("no fault")
}

#[test]
fn keys_stand_in_the_order_of_the_dimension_and_are_hashed_in_that_of_the_condition() {
    // E.1: ON d.age=… AND d.id=… gives key (id, age); E.6: the hash keeps the order of ON.
    let plan = lookup("o", "inner", "d.age = o.amt AND d.id = o.cid", "o.oid");
    assert_eq!(key(&plan), [("id", false), ("age", false)]);
    assert_eq!(plan.lookups[0].hash_order, [1, 0]);
    assert_eq!(plan.lookups[0].key[0].comparison, Comparison::Integers);
    assert_eq!(plan.lookups[0].key[1].comparison, Comparison::Same);
}

#[test]
fn of_two_expressions_for_one_column_the_first_is_the_key() {
    // E.1: d.id=o.cid AND d.id=o.oid: one becomes the key, the other a residual condition.
    let plan = lookup("o", "inner", "d.id = o.cid AND d.id = o.oid", "o.amt");
    assert_eq!(key(&plan), [("id", false)]);
    let lookup = &plan.lookups[0];
    assert!(lookup.residual.is_some() && lookup.pre_filter.is_none() && lookup.dimension_filter.is_none());
    assert_eq!(fetched(&plan), ["id"], "the residual condition reads it");
    assert_eq!(stream_columns(&plan), ["oid", "cid", "amt"]);
    // oid, cid, amt, d.id
    let row = |oid, id| [Datum::Int(oid), Datum::Int(id), Datum::Int(0), Datum::Int(id)];
    assert!(holds(lookup.residual.as_ref(), &row(7, 7)));
    assert!(!holds(lookup.residual.as_ref(), &row(8, 7)));
}

#[test]
fn a_constant_is_the_key_and_the_expression_a_filter_on_the_stream() {
    // E.1: d.id=o.cid AND d.id=1: key = constant 1, cid=1 becomes a left filter.
    for condition in ["d.id = o.cid AND d.id = 1", "1 = d.id AND o.cid = d.id"] {
        let plan = lookup("o", "left", condition, "d.name");
        assert_eq!(key(&plan), [("id", true)], "{condition}");
        let lookup = &plan.lookups[0];
        assert!(lookup.hash_order.is_empty() && lookup.residual.is_none());
        assert_eq!(stream_columns(&plan), ["oid", "cid"]);
        assert!(holds(lookup.pre_filter.as_ref(), &[Datum::Int(9), Datum::Int(1)]));
        assert!(!holds(lookup.pre_filter.as_ref(), &[Datum::Int(9), Datum::Int(2)]));
    }
}

#[test]
fn the_rest_of_a_condition_goes_to_the_side_that_it_reads() {
    let condition = "d.id = o.cid AND o.amt > 10 AND d.age > 30 AND d.age > o.amt";
    let plan = lookup("o", "left", condition, "d.name");
    let lookup = &plan.lookups[0];
    assert_eq!(fetched(&plan), ["name", "age"]);
    assert_eq!(stream_columns(&plan), ["oid", "cid", "amt"]);
    assert!(holds(lookup.pre_filter.as_ref(), &[Datum::Int(1), Datum::Int(1), Datum::Int(11)]));
    // The dimension's filter sees name and age alone.
    assert!(holds(lookup.dimension_filter.as_ref(), &[Datum::Null, Datum::Int(31)]));
    assert!(!holds(lookup.dimension_filter.as_ref(), &[Datum::Null, Datum::Int(30)]));
    let joined = |amt, age| [Datum::Int(1), Datum::Int(1), Datum::Int(amt), Datum::Null, Datum::Int(age)];
    assert!(holds(lookup.residual.as_ref(), &joined(40, 41)));
    assert!(!holds(lookup.residual.as_ref(), &joined(41, 41)));
    assert!(lookup.columns.iter().all(|column| column.ty.nullable));
}

#[test]
fn an_expression_over_a_dimension_column_is_no_key() {
    // G67: only age = 11 is a lookup key.
    let plan = lookup("o", "inner", "o.cid = d.id + 4 AND d.age = 11", "d.name");
    assert_eq!(key(&plan), [("age", true)]);
    assert!(plan.lookups[0].residual.is_some());
    // An expression over the stream is one.
    let plan = lookup("o", "inner", "d.id = o.amt + 1", "d.name");
    assert_eq!(key(&plan), [("id", false)]);
    // G66: a key that never matches.
    assert_eq!(key(&lookup("o", "inner", "d.id = NULL", "d.name")), [("id", true)]);
}

#[test]
fn text_and_integers_compare_as_keys_and_nowhere_else() {
    let plan = lookup("o", "inner", "d.id = o.label AND d.name = o.cid", "o.oid");
    let comparisons: Vec<_> = plan.lookups[0].key.iter().map(|part| part.comparison).collect();
    assert_eq!(comparisons, [Comparison::TextAsInteger, Comparison::IntegerAsText]);
    let yaml = definition("pipeline:\n  from: o\n  where: o.label = o.cid\n  into: out\n  select: [o.oid]\n");
    assert_eq!(faults(&yaml).len(), 1, "{:?}", faults(&yaml));
}

#[test]
fn where_is_decided_as_early_as_its_columns_allow() {
    let yaml = "pipeline:
  from: o
  lookup: [{table: d, type: left, condition: d.id = o.cid}]
  where: o.oid > 1 AND o.amt > 2 AND d.age > 3 AND o.note <> 'x'
  select: [o.oid]
  into: out
";
    let plan = plan(&definition(yaml));
    let normalize = plan.normalize.as_ref().expect("upsert-kafka");
    assert_eq!(stream_columns(&plan), ["oid", "note", "cid", "amt"]);
    assert_eq!(normalize.primary_key, [0]);
    assert_eq!(normalize.key_filter.as_ref().map(Expression::columns), Some(vec![0]));
    assert_eq!(normalize.filter.as_ref().map(Expression::columns), Some(vec![1, 3]));
    assert_eq!(plan.filter.as_ref().map(Expression::columns), Some(vec![4]), "d.age of the joined row");
}

#[test]
fn where_of_an_append_only_stream_spares_calls_but_pads_nothing() {
    let yaml = |join| {
        definition(&format!(
            "pipeline:\n  from: a\n  lookup: [{{table: d, type: {join}, condition: d.id = a.cid AND a.oid > 1}}]\n  where: a.amt > 2\n  select: [a.oid]\n  into: out\n"
        ))
    };
    let inner = plan(&yaml("inner"));
    assert!(inner.normalize.is_none() && inner.filter.is_none());
    assert_eq!(inner.lookups[0].pre_filter.as_ref().map(Expression::columns), Some(vec![0, 2]));
    let left = plan(&yaml("left"));
    assert_eq!(left.lookups[0].pre_filter.as_ref().map(Expression::columns), Some(vec![0]));
    assert_eq!(left.filter.as_ref().map(Expression::columns), Some(vec![2]));
}

#[test]
fn what_nothing_reads_is_left_out() {
    let plan = plan(&definition("pipeline: {from: o, select: [o.amt], into: out}\n"));
    assert_eq!(physical(&plan), ["oid", "amt"]);
    assert_eq!(plan.source.physical[1].ordinal, 3);
    assert_eq!(plan.source.physical_arity, 5);
    assert_eq!(plan.source.key_columns, [0]);
    assert_eq!(stream_columns(&plan), ["oid", "amt"]);
}

#[test]
fn metadata_and_computed_columns_say_where_their_values_come_from() {
    let plan = plan(&definition("pipeline: {from: o, select: [o.doubled, o.part, o.ts], into: out}\n"));
    assert_eq!(physical(&plan), ["oid", "amt"], "amt is read by the computed column alone");
    assert_eq!(stream_columns(&plan), ["oid", "ts", "part", "doubled"]);
    let sources: Vec<_> = plan.source.columns.iter().map(|column| &column.source).collect();
    assert!(matches!(sources[0], ColumnSource::Physical(0)));
    assert!(matches!(sources[1], ColumnSource::Metadata(Metadata::Timestamp)));
    // Scope of computed columns: physical columns, then every metadata.
    let ColumnSource::Computed(part) = sources[2] else { panic!("BIGINT of an INT is a cast") };
    assert_eq!((part.columns(), &part.ty().kind), (vec![2 + 1], &Type::BigInt));
    let ColumnSource::Computed(doubled) = sources[3] else { panic!("computed") };
    assert_eq!(doubled.columns(), [1]);
    let row = [Datum::Int(1), Datum::Int(21)];
    assert_eq!(doubled.eval(row.as_slice(), &Bump::new()), Ok(Datum::Int(42)));
}

#[test]
fn a_computed_column_reads_metadata_as_it_is_declared() {
    let plan = plan(&definition("pipeline: {from: o, select: [o.spread], into: out}\n"));
    assert_eq!((physical(&plan), stream_columns(&plan)), (vec!["oid"], vec!["oid", "spread"]));
    let ColumnSource::Computed(spread) = &plan.source.columns[1].source else { panic!("computed") };
    assert_eq!((spread.columns(), &spread.ty().kind), (vec![0, 2], &Type::BigInt));
    // oid, then topic and partition.
    let row = [Datum::Int(7), Datum::Str("t"), Datum::Int(3)];
    assert_eq!(spread.eval(row.as_slice(), &Bump::new()), Ok(Datum::Int(37)));
}

#[test]
fn without_select_every_column_but_the_processing_time_is_taken() {
    let plan = plan(&definition("pipeline: {from: o, into: out}\n"));
    let names: Vec<_> = plan.project.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["oid", "note", "cid", "amt", "label", "ts", "part", "doubled", "spread"]);
    let yaml = definition("pipeline: {from: o, lookup: [{table: d, condition: d.id = o.cid}], into: out}\n");
    assert!(faults(&yaml)[0].contains("no 'select'"));
    let yaml = yaml.replace("into: out}", "select: [o.*], into: out}");
    assert_eq!(super::tests::plan(&yaml).project.columns.len(), 9);
}

#[test]
fn output_is_widened_to_the_sinks_types_in_the_sinks_order() {
    let columns = "columns: [id BIGINT, 'amt DECIMAL(20, 2)']";
    let yaml = definition("pipeline: {from: a, select: [a.amt, a.oid AS id], into: out}\n")
        .replace("out: {connector: print}", &format!("out: {{connector: print, {columns}}}"));
    let plan = plan(&yaml);
    let columns: Vec<_> = plan
        .project
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.value.ty().kind.clone()))
        .collect();
    assert_eq!(columns, [("id", Type::BigInt), ("amt", Type::Decimal { precision: 20, scale: 2 })]);
    let narrow = yaml.replace("id BIGINT", "id SMALLINT");
    assert!(faults(&narrow)[0].contains("write CAST(… AS SMALLINT) AS id"), "{:?}", faults(&narrow));
}

const KAFKA_SINK: &str = "out:
    connector: upsert-kafka
    topic: out
    properties.bootstrap.servers: localhost:9092
    key.format: json
    value.format: json
    columns: [COLUMNS]";

fn to_kafka(columns: &str, pipeline: &str) -> String {
    definition(pipeline).replace("out: {connector: print}", &KAFKA_SINK.replace("COLUMNS", columns))
}

#[test]
fn the_sinks_key_decides_what_is_remembered() {
    let print = plan(&definition("pipeline: {from: o, select: [o.oid], into: out}\n"));
    assert_eq!((print.sink.encoding, print.sink.primary_key.len()), (Encoding::Retract, 0));
    let pipeline = "pipeline: {from: o, lookup: [{table: u, condition: u.id = o.cid}], select: [u.name, o.oid AS id], into: out}\n";
    let by_source = plan(&to_kafka("name STRING, id INT, PRIMARY KEY (id) NOT ENFORCED", pipeline));
    assert_eq!((by_source.sink.encoding, by_source.sink.primary_key), (Encoding::UpsertBySourceKey, vec![1]));
    let by_own = plan(&to_kafka("'name STRING', 'id INT', 'PRIMARY KEY (id, name) NOT ENFORCED'", pipeline));
    assert_eq!(by_own.sink.encoding, Encoding::UpsertByOwnKey);
    assert_eq!(by_own.sink.primary_key, [1, 0]);
}

#[test]
fn a_lookup_that_may_give_several_rows_needs_its_key_in_the_sinks() {
    let pipeline = "pipeline: {from: o, lookup: [{table: d, condition: d.age = o.amt}], select: [o.oid, d.id], into: out}\n";
    let columns = "'oid INT', 'id INT', 'PRIMARY KEY (oid, id) NOT ENFORCED'";
    let found = faults(&to_kafka(columns, pipeline));
    assert!(found.len() == 1 && found[0].contains("declare `PRIMARY KEY (age) NOT ENFORCED`"), "{found:?}");
    let declared = to_kafka(columns, pipeline)
        .replace("[id INT, name STRING, age INT", "[id INT PRIMARY KEY NOT ENFORCED, name STRING, age INT");
    assert_eq!(plan(&declared).sink.encoding, Encoding::UpsertByOwnKey);
    let lacking = declared.replace("(oid, id) NOT", "(oid) NOT");
    assert!(faults(&lacking)[0].contains("lacks d.id"), "{:?}", faults(&lacking));
}

#[test]
fn an_append_only_stream_goes_under_any_key() {
    let pipeline =
        "pipeline: {from: a, lookup: [{table: d, condition: d.id = a.cid}], select: [d.name], into: out}\n";
    let plan = plan(&to_kafka("name STRING, PRIMARY KEY (name) NOT ENFORCED", pipeline));
    assert_eq!(plan.sink.primary_key, [0]);
}

#[test]
fn a_sink_without_columns_takes_the_selects_and_may_name_its_key() {
    let plan = plan(&to_kafka(
        "PRIMARY KEY (id) NOT ENFORCED",
        "pipeline: {from: o, select: [o.oid AS id, o.amt], into: out}\n",
    ));
    assert_eq!(plan.sink.primary_key, [0]);
    assert_eq!(plan.project.columns[1].ty, Type::Int.nullable());
}

#[test]
fn writable_metadata_stays_out_of_the_value() {
    let columns = "'id INT', 'ts TIMESTAMP_LTZ(3) METADATA FROM ''timestamp''', 'amt INT', 'offset BIGINT METADATA VIRTUAL', 'PRIMARY KEY (id) NOT ENFORCED'";
    let yaml = to_kafka(columns, "pipeline: {from: o, select: [o.oid AS id, o.ts, o.amt], into: out}\n");
    let yaml = yaml.replace(
        "value.format: json\n    columns: ['id",
        "value.format: json\n    value.fields-include: EXCEPT_KEY\n    columns: ['id",
    );
    let plan = plan(&yaml);
    let SinkConnector::UpsertKafka(sink) = plan.sink.connector else { panic!("upsert-kafka") };
    assert_eq!((sink.timestamp_column, sink.headers_column), (Some(1), None));
    assert_eq!(sink.value_columns, [2]);
    assert!(!sink.value_includes_key);
}

#[test]
fn a_kafka_source_is_read_as_its_options_say() {
    let yaml = definition("pipeline: {from: a, into: out}\n").replace(
        "format: json\n    properties.bootstrap.servers: localhost:9092\n    columns: [oid",
        "value.format: json
    key.format: csv
    key.fields: cid; oid
    scan.startup.mode: timestamp
    scan.startup.timestamp-millis: 1500
    scan.bounded.mode: latest-offset
    scan.topic-partition-discovery.interval: 0
    properties.bootstrap.servers: localhost:9092
    'properties.group.id ': my-group
    properties.fetch.max.wait.ms: 50
    properties.auto.offset.reset: latest
    columns: [oid",
    );
    let plan = plan(&yaml);
    let source = &plan.source;
    assert_eq!(source.topics, Topics::List(vec!["a".into(), "b".into()]));
    assert_eq!((&source.startup, &source.bounded), (&Startup::Timestamp(1500), &Bounded::Latest));
    assert_eq!((plan.name.as_str(), source.group_id.as_str()), ("test", "my-group"));
    assert!(matches!((&source.key_format, &source.value_format), (Some(Format::Csv(_)), Format::Json(_))));
    assert_eq!(source.key_columns, [1, 0], "in the order of key.fields");
    let setting = |name: &str| {
        source.client.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.expose())
    };
    assert_eq!(setting("fetch.wait.max.ms"), Some("50"));
    assert_eq!(setting("isolation.level"), Some("read_committed"));
    assert_eq!((setting("topic.metadata.refresh.interval.ms"), source.discovery), (Some("-1"), Millis::MAX));
    assert_eq!(setting("auto.offset.reset"), None);
    assert!(plan.notes.iter().any(|note| note.contains("auto.offset.reset")), "{:?}", plan.notes);
}

#[test]
fn new_topics_are_looked_for_as_often_as_the_option_says() {
    let discovery = |options: &str| {
        let yaml = definition("pipeline: {from: a, into: out}\n")
            .replace("topic: a;b", &format!("topic-pattern: 'a.*'{options}"));
        plan(&yaml).source.discovery
    };
    assert_eq!(discovery(""), 300_000);
    assert_eq!(discovery("\n    scan.topic-partition-discovery.interval: 10 s"), 10_000);
}

#[test]
fn group_offsets_without_reset_fail_later_and_with_one_fall_back() {
    let start = |extra: &str| {
        let yaml =
            definition("pipeline: {from: a, into: out}\n").replace("topic: a;b", &format!("topic: a{extra}"));
        plan(&yaml).source.startup
    };
    assert_eq!(start(""), Startup::GroupOffsets { reset_to_earliest: None });
    let reset = start("\n    properties.auto.offset.reset: earliest");
    assert_eq!(reset, Startup::GroupOffsets { reset_to_earliest: Some(true) });
}

#[test]
fn the_older_names_of_cache_options_mean_a_partial_cache() {
    let yaml = |options: &str| {
        definition("pipeline: {from: o, lookup: [{table: d, condition: d.id = o.cid}], select: [d.name], into: out}\n")
            .replace("table-name: d\n", &format!("table-name: d\n{options}"))
    };
    let cache = plan(&yaml("    lookup.cache.max-rows: 10\n    lookup.cache.ttl: 10 s\n")).lookups[0].cache;
    let cache = cache.expect("both are given");
    assert_eq!((cache.max_rows, cache.expire_after_write), (Some(10), Some(Duration::from_secs(10))));
    assert!(cache.cache_missing_key);
    assert_eq!(plan(&yaml("")).lookups[0].cache, None);
    assert!(faults(&yaml("    lookup.cache.ttl: 10 s\n"))[0].contains("without 'lookup.cache.max-rows'"));
    assert!(faults(&yaml("    lookup.cache: PARTIAL\n"))[0].contains("grow for ever"));
    assert!(faults(&yaml("    lookup.partial-cache.max-rows: 1\n"))[0].contains("not PARTIAL"));
}

#[test]
fn options_of_the_job() {
    let yaml = definition(
        "pipeline: {from: o, select: [o.oid], into: out}\noptions: {parallelism: 6, max-parallelism: 128, key-hash: java, state.ttl: 1 h, mini-batch.enabled: true, mini-batch.allow-latency: 5 s, mini-batch.size: 100}\n",
    );
    let plan = plan(&yaml);
    assert_eq!((plan.options.parallelism, plan.options.max_parallelism), (Some(6), Some(128)));
    assert_eq!(plan.options.commit_interval, Duration::from_secs(1));
    let normalize = plan.normalize.expect("upsert-kafka");
    assert_eq!(normalize.ttl, Some(Duration::from_secs(3600)));
    assert_eq!(normalize.mini_batch.map(|batch| batch.size), Some(100));
    assert!(
        faults(&yaml.replace("parallelism: 6", "parallelism: 200"))[0]
            .contains("more than 'max-parallelism'")
    );
    assert!(faults(&yaml.replace(", mini-batch.size: 100", ""))[0].contains("mini-batch.size"));
}

#[test]
fn left_lookups_make_columns_nullable_and_inner_ones_do_not() {
    let nullable = |join: &str| {
        let plan = lookup("o", join, "d.id = o.cid", "d.name").lookups[0].clone();
        (plan.join, plan.columns[0].ty.nullable)
    };
    let yaml = |join: &str| {
        definition(&format!(
            "pipeline: {{from: o, lookup: [{{table: u, type: {join}, condition: u.id = o.cid}}], select: [u.id], into: out}}\n"
        ))
    };
    assert_eq!(nullable("left"), (JoinKind::Left, true));
    assert!(!plan(&yaml("inner")).project.columns[0].ty.nullable);
    assert!(plan(&yaml("left")).project.columns[0].ty.nullable);
}
