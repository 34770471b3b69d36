use proptest::prelude::*;

use super::*;
use crate::format::fixture::{add_column, computed, csv, json, lenient_json, raw, source};
use crate::model::{DataType, Field, Header, PartitionId, Timestamp, TopicPartition, Type, Value};
use crate::plan::{ColumnSource, Metadata};

/// Rows as op, key and values.
type Row = (Op, Vec<Value>, Vec<Value>);

struct Bench {
    plan: SourcePlan,
    decoder: Decoder,
    partition: PartitionId,
    out: DecodedRows,
}

impl Bench {
    fn new(plan: SourcePlan) -> Self {
        let partitions = PartitionTable::default();
        let name = TopicPartition { topic: "orders".into(), partition: 3 };
        let partition = partitions.intern(&name);
        let decoder = Decoder::new(&plan, partitions).unwrap();
        Self { plan, decoder, partition, out: DecodedRows::default() }
    }

    /// A batch of one record, whose routed key holds `key`.
    fn batch(&self, key: &[Datum<'_>], value: Option<&[u8]>) -> RecordBatch {
        let mut batch = RecordBatch::default();
        let value = value.map(|value| Slice::append(&mut batch.arena, value));
        let start = batch.arena.len();
        if !key.is_empty() {
            self.plan.key_layout().pack(key, &mut batch.arena);
        }
        let routed_key = Slice::since(&batch.arena, start);
        batch.records.push(Record {
            partition: self.partition,
            offset: 17,
            timestamp: 1_577_934_245_678,
            timestamp_type: 1,
            key: None,
            value,
            routed_key,
            group: 0,
            silent: false,
            doubt: false,
            headers: Some(Box::new([
                Header { key: "h".into(), value: Some(vec![1]) },
                Header { key: "h".into(), value: None },
            ])),
        });
        batch
    }

    fn decode(&mut self, key: &[Datum<'_>], value: Option<&[u8]>) -> Result<Vec<Row>, Box<DataFault>> {
        let batch = self.batch(key, value);
        self.out.clear();
        let decoded = self.decoder.decode_batch(&batch, &mut self.out);
        decoded.map_err(|error| Box::new(error.fault().unwrap().clone()))?;
        Ok(self.rows())
    }

    fn rows(&self) -> Vec<Row> {
        let (key_layout, layout) = (self.plan.key_layout(), self.plan.layout());
        let values = |layout: &crate::model::RowLayout, slice: Slice| {
            let bytes = slice.of(&self.out.arena);
            let count = if bytes.is_empty() { 0 } else { layout.len() };
            (0..count).map(|i| Value::from(layout.get(bytes, i))).collect()
        };
        let row = |row: &DecodedRow| (row.op, values(&key_layout, row.key), values(&layout, row.row));
        self.out.rows.iter().map(row).collect()
    }

    fn reason(&mut self, key: &[Datum<'_>], value: &str) -> Reason {
        self.decode(key, Some(value.as_bytes())).unwrap_err().reason
    }
}

fn columns() -> Vec<(&'static str, DataType)> {
    vec![("id", Type::Int.not_null()), ("n", Type::STRING.nullable()), ("must", Type::Int.not_null())]
}

fn plan() -> SourcePlan {
    source(&columns(), &[0])
}

fn text(value: &str) -> Value {
    Value::Str(value.into())
}

const KEY: [Datum<'static>; 1] = [Datum::Int(1)];

fn upsert(id: i64, n: Value, must: i64) -> Row {
    (Op::Upsert, vec![Value::Int(id)], vec![Value::Int(id), n, Value::Int(must)])
}

#[test]
fn a_value_is_an_upsert_and_a_null_value_a_delete() {
    let mut bench = Bench::new(plan());
    let value = br#"{"id":1,"n":"a","must":2}"#;
    assert_eq!(bench.decode(&KEY, Some(value)).unwrap(), [upsert(1, text("a"), 2)]);
    assert_eq!(bench.decode(&KEY, None).unwrap(), [(Op::Delete, vec![Value::Int(1)], vec![])]);
    let both = br#"[{"id":1,"n":"a","must":2},{"id":1,"n":null,"must":3}]"#;
    let rows = [upsert(1, text("a"), 2), upsert(1, Value::Null, 3)];
    assert_eq!(bench.decode(&KEY, Some(both)).unwrap(), rows, "one record key, two rows");
}

#[test]
fn the_values_copy_of_the_key_wins_and_is_reported() {
    let mut bench = Bench::new(plan());
    let value: &[u8] = br#"{"id":9,"must":2}"#;
    assert_eq!(bench.decode(&KEY, Some(value)).unwrap(), [upsert(9, Value::Null, 2)]);
    assert_eq!(bench.out.key_mismatches, [KeyMismatch { record: 0, row: 0 }]);
    let batch = bench.batch(&KEY, Some(value));
    let fault = bench.decoder.mismatch(bench.out.key_mismatches[0], &batch, &bench.out).unwrap();
    let shown = fault.to_string();
    assert!(shown.starts_with("table orders, topic orders, partition 3, offset 17, column id: "), "{shown}");
    assert!(shown.contains("Int(1)") && shown.contains("Int(9)") && shown.contains("tombstone"), "{shown}");
    let mut strict = Bench::new(SourcePlan { key_mismatch_is_error: true, ..plan() });
    assert_eq!(strict.reason(&KEY, r#"{"id":9,"must":2}"#), Reason::KeyMismatch);
    assert!(strict.out.rows.is_empty() && strict.out.arena.is_empty());
    assert!(strict.decode(&KEY, Some(br#"{"id":1,"must":2}"#)).is_ok());
}

#[test]
fn a_value_without_its_key_column_is_a_fault() {
    let mut bench = Bench::new(plan());
    let fault = bench.decode(&KEY, Some(br#"{"n":"a","must":2}"#)).unwrap_err();
    assert_eq!((fault.reason, fault.column.as_deref()), (Reason::MissingKeyColumn, Some("id")));
    assert!(fault.remedy.contains("value.fields-include: EXCEPT_KEY"), "{}", fault.remedy);
    assert_eq!(bench.reason(&KEY, r#"{"id":null,"must":2}"#), Reason::NotNull);
    let mut as_flink = Bench::new(SourcePlan { lossy_conversion: true, ..plan() });
    let rows = as_flink.decode(&KEY, Some(br#"{"n":"a","must":2}"#)).unwrap();
    assert_eq!(rows[0].1, [Value::Null], "Flink reads a NULL key");
}

#[test]
fn without_the_key_in_values_it_comes_from_the_record_key() {
    let mut bench = Bench::new(SourcePlan { value_includes_key: false, ..plan() });
    let value = br#"{"id":9,"n":"a","must":2}"#;
    assert_eq!(bench.decode(&KEY, Some(value)).unwrap(), [upsert(1, text("a"), 2)]);
    assert!(bench.out.key_mismatches.is_empty());
    let by_csv = SourcePlan { value_includes_key: false, value_format: csv(), ..plan() };
    assert_eq!(Bench::new(by_csv).decode(&KEY, Some(b"a,2")).unwrap(), [upsert(1, text("a"), 2)]);
}

/// Columns that nothing reads are left out of the plan; positions in csv lines are those of the whole table.
#[test]
fn only_needed_columns_are_decoded() {
    let mut pruned = plan();
    pruned.physical.remove(1);
    pruned.columns.remove(1);
    pruned.columns[1].source = ColumnSource::Physical(1);
    let row = (Op::Upsert, vec![Value::Int(1)], vec![Value::Int(1), Value::Int(2)]);
    let mut bench = Bench::new(pruned.clone());
    assert_eq!(
        bench.decode(&KEY, Some(br#"{"n":{"x":[]},"id":1,"must":2}"#)).unwrap(),
        std::slice::from_ref(&row)
    );
    let mut by_csv = Bench::new(SourcePlan { value_format: csv(), ..pruned.clone() });
    assert_eq!(by_csv.decode(&KEY, Some(b"1,a,2")).unwrap(), std::slice::from_ref(&row));
    assert_eq!(by_csv.reason(&KEY, "1,2"), Reason::Malformed);
    let except = SourcePlan { value_format: csv(), value_includes_key: false, ..pruned };
    assert_eq!(Bench::new(except).decode(&KEY, Some(b"a,2")).unwrap(), [row]);
}

#[test]
fn an_empty_value_follows_its_policy() {
    let mut bench = Bench::new(plan());
    let fault = bench.decode(&KEY, Some(b"")).unwrap_err();
    assert_eq!(fault.reason, Reason::EmptyValue);
    let said = "empty value; a delete is a null value (console producer: null.marker)";
    assert_eq!(fault.detail, said);
    let place = ("orders", "orders", 3, 17);
    let at = &fault.place;
    assert_eq!((at.table.as_str(), at.topic.as_str(), at.partition, at.offset), place);
    let mut skip = Bench::new(SourcePlan { on_empty_value: EmptyValue::Skip, ..plan() });
    assert_eq!((skip.decode(&KEY, Some(b"")).unwrap(), skip.out.skipped), (vec![], 1));
    let mut tombstone = Bench::new(SourcePlan { on_empty_value: EmptyValue::Tombstone, ..plan() });
    assert_eq!(tombstone.decode(&KEY, Some(b"")).unwrap()[0].0, Op::Delete);
    let raw_text = [("id", Type::Int.not_null()), ("n", Type::STRING.nullable())];
    let raw_text = SourcePlan { value_format: raw(), value_includes_key: false, ..source(&raw_text, &[0]) };
    assert_eq!(Bench::new(raw_text).decode(&KEY, Some(b"")).unwrap()[0].2, [Value::Int(1), text("")]);
}

#[test]
fn nulls_and_values_that_do_not_fit_are_faults() {
    let mut bench = Bench::new(plan());
    for (value, reason, column) in [
        (r#"{"id":1,"must":null}"#, Reason::NotNull, Some("must")),
        (r#"{"id":1}"#, Reason::NotNull, Some("must")),
        (r#"{"id":1,"must":3000000000}"#, Reason::ValueOutOfRange, Some("must")),
        (r#"{"id":1,"must":1.5}"#, Reason::LossyConversion, Some("must")),
        (r#"{"id":1,"must":"x"}"#, Reason::Malformed, Some("must")),
        (r#"{"id":1,"must":2"#, Reason::Malformed, None),
    ] {
        let fault = bench.decode(&KEY, Some(value.as_bytes())).unwrap_err();
        assert_eq!((fault.reason, fault.column.as_deref()), (reason, column), "{value}");
        assert!(bench.out.rows.is_empty() && bench.out.arena.is_empty());
    }
}

#[test]
fn ignored_parse_errors_drop_messages_and_null_fields() {
    let mut bench = Bench::new(SourcePlan { value_format: lenient_json(), ..plan() });
    assert_eq!(bench.decode(&KEY, Some(b"{broken")).unwrap(), []);
    assert_eq!(bench.out.dropped, 1);
    let nullable = source(&[("id", Type::Int.not_null()), ("v", Type::Int.nullable())], &[0]);
    let mut bench = Bench::new(SourcePlan { value_format: lenient_json(), ..nullable });
    let rows = bench.decode(&KEY, Some(br#"{"id":1,"v":"x"}"#)).unwrap();
    assert_eq!(rows[0].2, [Value::Int(1), Value::Null]);
    assert_eq!(bench.decode(&[], Some(b"{}")).unwrap(), [], "the router dropped the key");
    assert_eq!(bench.out.dropped, 1);
}

#[test]
fn metadata_and_computed_columns() {
    let mut plan = source(&[("id", Type::Int.not_null()), ("v", Type::Int.nullable())], &[0]);
    let headers = Type::Map(Box::new(Type::STRING.nullable()), Box::new(Type::BYTES.nullable()));
    let entry = Type::Row(vec![
        Field { name: "key".into(), ty: Type::STRING.nullable() },
        Field { name: "value".into(), ty: Type::BYTES.nullable() },
    ]);
    for (name, ty, from) in [
        ("topic", Type::STRING, Metadata::Topic),
        ("partition", Type::Int, Metadata::Partition),
        ("offset", Type::BigInt, Metadata::Offset),
        ("timestamp", Type::TimestampLtz(3), Metadata::Timestamp),
        ("kind", Type::STRING, Metadata::TimestampType),
        ("epoch", Type::Int, Metadata::LeaderEpoch),
        ("headers", headers, Metadata::Headers),
        ("list", Type::Array(Box::new(entry.nullable())), Metadata::HeaderList),
    ] {
        add_column(&mut plan, name, ty, ColumnSource::Metadata(from));
    }
    let sum = computed(&plan, "v + 1");
    add_column(&mut plan, "sum", Type::Int, sum);
    let offset = computed(&plan, "metadata_offset + 1");
    add_column(&mut plan, "next", Type::BigInt, offset);
    let mut bench = Bench::new(plan);
    let rows = bench.decode(&KEY, Some(br#"{"id":1,"v":41}"#)).unwrap();
    let at = Timestamp::from_millis(1_577_934_245_678);
    let expected = [
        Value::Int(1),
        Value::Int(41),
        text("orders"),
        Value::Int(3),
        Value::Int(17),
        Value::Timestamp(at),
        text("CreateTime"),
        Value::Null,
        Value::Map(vec![(text("h"), Value::Null)]),
        Value::Array(vec![
            Value::Row(vec![text("h"), Value::Bytes(vec![1])]),
            Value::Row(vec![text("h"), Value::Null]),
        ]),
        Value::Int(42),
        Value::Int(18),
    ];
    assert_eq!(rows[0].2, expected);
    let fault = bench.decode(&KEY, Some(br#"{"id":1,"v":2147483647}"#)).unwrap_err();
    assert_eq!((fault.reason, fault.column.as_deref()), (Reason::ArithmeticOverflow, Some("sum")));
}

#[test]
fn append_only_sources_insert() {
    let append = SourcePlan { kind: SourceKind::Kafka, key_format: None, ..source(&columns(), &[]) };
    let mut bench = Bench::new(append.clone());
    let row = |id| (Op::Insert, vec![], vec![Value::Int(id), Value::Null, Value::Int(2)]);
    assert_eq!(bench.decode(&[], Some(br#"{"id":1,"must":2}"#)).unwrap(), [row(1)]);
    assert_eq!((bench.decode(&[], None).unwrap(), bench.out.skipped), (vec![], 1));
    let keyed =
        SourcePlan { key_format: Some(json()), key_columns: vec![0], value_includes_key: false, ..append };
    let mut bench = Bench::new(keyed);
    let mut batch = bench.batch(&[], Some(br#"{"must":2}"#));
    let fault = bench.decoder.decode_batch(&batch, &mut bench.out).unwrap_err();
    assert_eq!(fault.fault().unwrap().reason, Reason::NullKey);
    batch.records[0].key = Some(Slice::append(&mut batch.arena, br#"{"id":7}"#));
    bench.decoder.decode_batch(&batch, &mut bench.out).unwrap();
    assert_eq!(bench.rows(), [row(7)]);
}

proptest! {
    #[test]
    fn no_value_panics(value in prop::collection::vec(any::<u8>(), 0..60), text in "[{}\\[\\]\"idmust:,0-9n]{0,50}") {
        for format in [json(), lenient_json(), csv()] {
            let mut bench = Bench::new(SourcePlan { value_format: format, ..plan() });
            let _ = (bench.decode(&KEY, Some(&value)), bench.decode(&KEY, Some(text.as_bytes())));
        }
    }
}
