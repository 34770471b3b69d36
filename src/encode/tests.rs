use super::*;
use crate::format::fixture::{csv, kafka_sink, project, raw, sink};
use crate::model::{DataType, Decimal, EncodedRecord, Field, Timestamp, Type, Value};
use crate::plan::KafkaSink;

fn print_sink(identifier: &str) -> SinkPlan {
    let connector = SinkConnector::Print { identifier: identifier.into(), standard_error: false };
    sink(connector, &[])
}

fn with_all(row: &[Value], before: &mut Vec<Datum<'_>>, call: &mut dyn FnMut(&[Datum<'_>])) {
    match row.split_first() {
        None => call(before),
        Some((first, rest)) => first.with_datum(|datum| {
            let mut next: Vec<Datum<'_>> = before.clone();
            next.push(datum);
            with_all(rest, &mut next, call);
        }),
    }
}

fn printed(identifier: &str, kind: RowKind, columns: &[(Type, Value)]) -> String {
    let types: Vec<(&str, DataType)> = columns.iter().map(|(ty, _)| ("c", ty.clone().nullable())).collect();
    let row: Vec<Value> = columns.iter().map(|(_, value)| value.clone()).collect();
    let mut encoder = Encoder::new(&print_sink(identifier), &project(&types)).unwrap();
    let mut out = OutputBatch::default();
    with_all(&row, &mut Vec::new(), &mut |row| encoder.encode(kind, row, &mut out).unwrap());
    assert_eq!(out.rows(), 1);
    String::from_utf8(out.arena).unwrap()
}

fn text(value: &str) -> Value {
    Value::Str(value.into())
}

fn at(millis: i64, nanos: u32) -> Value {
    Value::Timestamp(Timestamp { millis, nanos })
}

/// The row that Flink's print sink was seen to write.
#[test]
fn rows_print_as_flink_prints_them() {
    let ints = Type::Array(Box::new(Type::Int.nullable()));
    let map = Type::Map(Box::new(Type::STRING.nullable()), Box::new(Type::Int.nullable()));
    let inner = Type::Row(vec![
        Field { name: "x".into(), ty: Type::Int.nullable() },
        Field { name: "y".into(), ty: Type::STRING.nullable() },
    ]);
    let row = [
        (Type::STRING, text("k")),
        (Type::Int, Value::Int(1)),
        (Type::STRING, text("x")),
        (Type::Double, Value::Double(1.5)),
        (Type::Decimal { precision: 10, scale: 3 }, Value::Decimal(Decimal::new(1200, 3))),
        (Type::Timestamp(3), at(1_577_934_245_600, 0)),
        (Type::Date, Value::Date(18_263)),
        (Type::Time(0), Value::Time(11_045_000)),
        (ints, Value::Array(vec![Value::Int(1), Value::Null])),
        (map, Value::Map(vec![(text("k"), Value::Int(1))])),
        (inner, Value::Row(vec![Value::Int(1), text("y")])),
        (Type::BYTES, Value::Bytes(vec![1, 2])),
        (Type::Boolean, Value::Bool(true)),
    ];
    let expected = "+I[k, 1, x, 1.5, 1.200, 2020-01-02T03:04:05.600, 2020-01-02, 03:04:05, [1, null], {k=1}, \
                    +I[1, y], [1, 2], true]\n";
    assert_eq!(printed("", RowKind::Insert, &row), expected);
}

#[test]
fn values_print_as_their_java_objects() {
    let minute = 1_577_934_240_000;
    for (ty, value, shown) in [
        (Type::STRING, Value::Null, "null"),
        (Type::Timestamp(3), at(minute, 0), "2020-01-02T03:04"),
        (Type::Timestamp(9), at(minute, 1), "2020-01-02T03:04:00.000000001"),
        (Type::Timestamp(6), at(minute + 5_100, 20_000), "2020-01-02T03:04:05.100020"),
        (Type::TimestampLtz(3), at(minute, 0), "2020-01-02T03:04:00Z"),
        (Type::TimestampLtz(3), at(-1, 0), "1969-12-31T23:59:59.999Z"),
        (Type::Time(0), Value::Time(3_600_000), "01:00"),
        (Type::Time(3), Value::Time(3_600_050), "01:00:00.050"),
        (Type::BYTES, Value::Bytes(vec![255, 0]), "[-1, 0]"),
        (Type::Float, Value::Float(1e10), "1.0E10"),
        (Type::Decimal { precision: 10, scale: 2 }, Value::Decimal(Decimal::new(2000, 2)), "20.00"),
    ] {
        assert_eq!(printed("", RowKind::Delete, &[(ty, value)]), format!("-D[{shown}]\n"));
    }
    let one = [(Type::Int, Value::Int(1))];
    assert_eq!(printed("ID", RowKind::UpdateBefore, &one), "ID> -U[1]\n");
    assert_eq!(printed("", RowKind::UpdateAfter, &one), "+U[1]\n");
}

fn columns() -> Vec<(&'static str, DataType)> {
    vec![("v", Type::STRING.nullable()), ("k_b", Type::STRING.not_null()), ("k_a", Type::Int.not_null())]
}

/// Key and value of each record.
fn records(kafka: KafkaSink, rows: &[(RowKind, [Datum<'_>; 3])]) -> Vec<(String, Option<String>)> {
    let sink =
        SinkPlan { connector: SinkConnector::UpsertKafka(Box::new(kafka)), ..kafka_sink(3, &[2, 1]).0 };
    let mut encoder = Encoder::new(&sink, &project(&columns())).unwrap();
    let mut out = OutputBatch::default();
    for (kind, row) in rows {
        encoder.encode(*kind, row, &mut out).unwrap();
    }
    let Payload::Records(records) = &out.payload else { panic!("{:?}", out.payload) };
    let shown = |slice: Slice| String::from_utf8(slice.of(&out.arena).to_vec()).unwrap();
    let record = |record: &EncodedRecord| (shown(record.key), record.value.map(shown));
    records.iter().map(record).collect()
}

const ROW: [Datum<'static>; 3] = [Datum::Str("x"), Datum::Str("b"), Datum::Int(1)];

#[test]
fn additions_have_a_value_and_the_rest_are_tombstones() {
    let gone = [Datum::Null, Datum::Str("b"), Datum::Int(1)];
    let rows = [
        (RowKind::Insert, ROW),
        (RowKind::UpdateBefore, ROW),
        (RowKind::UpdateAfter, ROW),
        (RowKind::Delete, gone),
    ];
    let key = || r#"{"k_a":1,"k_b":"b"}"#.to_owned();
    let value = || Some(r#"{"v":"x","k_b":"b","k_a":1}"#.to_owned());
    let expected = [(key(), value()), (key(), None), (key(), value()), (key(), None)];
    assert_eq!(records(kafka_sink(3, &[2, 1]).1, &rows), expected, "the key is in PRIMARY KEY order");
}

#[test]
fn values_without_the_key_and_keys_without_the_prefix() {
    let kafka = KafkaSink { value_includes_key: false, key_prefix: "k_".into(), ..kafka_sink(3, &[2, 1]).1 };
    let written = records(kafka.clone(), &[(RowKind::Insert, ROW)]);
    assert_eq!(written, [(r#"{"a":1,"b":"b"}"#.to_owned(), Some(r#"{"v":"x"}"#.to_owned()))]);
    let by_csv = KafkaSink { key_format: csv(), value_format: raw(), ..kafka };
    let written = records(by_csv.clone(), &[(RowKind::Insert, ROW)]);
    assert_eq!(written, [("1,b".to_owned(), Some("x".to_owned()))]);
    let null = [Datum::Null, Datum::Str("b"), Datum::Int(1)];
    let written = records(by_csv, &[(RowKind::Insert, null)]);
    assert_eq!(written, [("1,b".to_owned(), None)], "raw writes NULL as a null value");
}

#[test]
fn writable_metadata_goes_beside_the_record() {
    let headers = Type::Map(Box::new(Type::STRING.nullable()), Box::new(Type::BYTES.nullable()));
    let columns = [
        ("id", Type::Int.not_null()),
        ("at", Type::TimestampLtz(3).nullable()),
        ("headers", headers.nullable()),
    ];
    let (mut sink, mut kafka) = kafka_sink(1, &[0]);
    kafka.timestamp_column = Some(1);
    kafka.headers_column = Some(2);
    sink.connector = SinkConnector::UpsertKafka(Box::new(kafka));
    let mut encoder = Encoder::new(&sink, &project(&columns)).unwrap();
    let mut out = OutputBatch::default();
    let map = Value::Map(vec![(text("h"), Value::Bytes(vec![1])), (text("n"), Value::Null)]);
    for (kind, time) in
        [(RowKind::Insert, at(7, 0)), (RowKind::Delete, at(8, 0)), (RowKind::Insert, Value::Null)]
    {
        let row = [Value::Int(1), time, map.clone()];
        with_all(&row, &mut Vec::new(), &mut |row| encoder.encode(kind, row, &mut out).unwrap());
    }
    let Payload::Records(records) = &out.payload else { panic!("{:?}", out.payload) };
    let times: Vec<_> = records.iter().map(|record| record.timestamp).collect();
    assert_eq!(times, [Some(7), Some(8), None], "a tombstone has its timestamp too");
    let headers = records[1].headers.as_deref().unwrap();
    assert_eq!((headers[0].key.as_str(), headers[0].value.as_deref()), ("h", Some(&[1_u8][..])));
    assert_eq!((headers[1].key.as_str(), headers[1].value.as_deref()), ("n", None));
}

#[test]
fn a_null_that_the_sink_does_not_allow_is_a_fault() {
    let columns = [("id", Type::Int.not_null()), ("v", Type::Int.not_null())];
    let mut encoder = Encoder::packing(&sink(SinkConnector::Blackhole, &[0]), &project(&columns));
    let mut out = OutputBatch::default();
    let mut fault =
        |kind, row: [Datum<'_>; 2]| encoder.encode(kind, &row, &mut out).err().map(|fault| fault.column);
    let named = |name: &str| Some(Some(name.to_owned()));
    assert_eq!(fault(RowKind::Insert, [Datum::Int(1), Datum::Null]), named("v"));
    assert_eq!(fault(RowKind::Delete, [Datum::Null, Datum::Int(1)]), named("id"));
    assert_eq!(fault(RowKind::Delete, [Datum::Int(1), Datum::Null]), None, "a delete may have its key alone");
    assert_eq!(out.rows(), 1);
}

#[test]
fn packed_rows_and_counts() {
    let project = project(&[("id", Type::Int.not_null())]);
    let mut rows = OutputBatch::default();
    let mut packing = Encoder::packing(&print_sink(""), &project);
    packing.encode(RowKind::Insert, &[Datum::Int(7)], &mut rows).unwrap();
    packing.encode(RowKind::Delete, &[Datum::Int(7)], &mut rows).unwrap();
    let Payload::Rows(records) = &rows.payload else { panic!("{:?}", rows.payload) };
    assert_eq!(
        (records[1].kind, project.layout().get(records[1].row.of(&rows.arena), 0)),
        (RowKind::Delete, Datum::Int(7))
    );
    let mut count = OutputBatch::default();
    let mut counting = Encoder::new(&sink(SinkConnector::Blackhole, &[]), &project).unwrap();
    counting.encode(RowKind::Insert, &[Datum::Int(7)], &mut count).unwrap();
    assert_eq!((count.rows(), count.arena.is_empty()), (1, true));
}
