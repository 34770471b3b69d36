use proptest::prelude::*;

use super::*;
use crate::format::fixture::{csv, json, lenient_json, raw, source};
use crate::keygroup::KeyHash;
use crate::model::{DataType, Type};

fn columns() -> Vec<(&'static str, DataType)> {
    vec![("v", Type::STRING.nullable()), ("b", Type::STRING.not_null()), ("a", Type::Int.not_null())]
}

fn router(plan: &SourcePlan) -> Router {
    let types: Vec<DataType> = plan.key_columns.iter().map(|&i| plan.physical[i].ty.clone()).collect();
    let hasher = KeyHasher::new(&types, KeyHash::FlinkSql).unwrap();
    Router::new(plan, hasher, KeyGroups::new(6, Some(128)).unwrap()).unwrap()
}

fn route(plan: &SourcePlan, key: Option<&[u8]>) -> Result<(Vec<u8>, u16, u16), RowFault> {
    let mut arena = vec![7, 7];
    let routed = router(plan).route(PartitionId(0), key, &mut arena)?;
    Ok((routed.key.of(&arena).to_vec(), routed.group, routed.shard.0))
}

/// The key (1, 'a') of INT, STRING in the order of the PRIMARY KEY: key group 107 in Flink.
#[test]
fn keys_go_where_flink_sends_them() {
    let plan = source(&columns(), &[2, 1]);
    let (key, group, shard) = route(&plan, Some(br#"{"b":"a","a":1}"#)).unwrap();
    assert_eq!((group, shard), (107, 5));
    assert_eq!(plan.key_layout().get(&key, 0), Datum::Int(1));
    assert_eq!(plan.key_layout().get(&key, 1), Datum::Str("a"));
    assert_eq!(router(&plan).shard_of_key(&key), (107, ShardId(5)));
    let by_csv = SourcePlan { key_format: Some(csv()), ..plan.clone() };
    assert_eq!(route(&by_csv, Some(b"1,a")).unwrap(), (key, group, shard));
    let by_raw = SourcePlan { key_format: Some(raw()), ..source(&columns(), &[2]) };
    assert_eq!(route(&by_raw, Some(&[0, 0, 0, 42])).unwrap().1, 69);
}

#[test]
fn the_prefix_is_not_in_the_record_key() {
    let columns = [("k_id", Type::Int.not_null()), ("id", Type::STRING.nullable())];
    let plan = SourcePlan { key_prefix: "k_".into(), value_includes_key: false, ..source(&columns, &[0]) };
    assert_eq!(route(&plan, Some(br#"{"id":42,"k_id":1}"#)).unwrap().1, 69);
}

#[test]
fn keys_without_a_row_are_faults() {
    let plan = source(&columns(), &[2, 1]);
    let fault = |key: Option<&[u8]>| route(&plan, key).unwrap_err();
    assert_eq!(fault(None).reason, Reason::NullKey);
    for key in ["", "{", "null", r#"{"a":"x","b":""}"#, r#"[{"a":1,"b":""},{"a":2,"b":""}]"#] {
        assert_eq!(fault(Some(key.as_bytes())).reason, Reason::Malformed, "{key}");
    }
    for key in [r#"{"a":1}"#, r#"{"a":1,"b":null}"#] {
        let fault = fault(Some(key.as_bytes()));
        assert_eq!((fault.reason, fault.column.as_deref()), (Reason::NotNull, Some("b")));
        assert!(fault.detail.starts_with("record key: "), "{}", fault.detail);
    }
    let by_raw = SourcePlan { key_format: Some(raw()), ..source(&columns(), &[1]) };
    assert_eq!(route(&by_raw, None).unwrap_err().reason, Reason::NullKey, "also where raw could read NULL");
}

#[test]
fn a_key_that_the_format_drops_has_no_packed_key() {
    let plan = SourcePlan { key_format: Some(lenient_json()), ..source(&columns(), &[2, 1]) };
    assert_eq!(route(&plan, Some(b"{broken")).unwrap(), (Vec::new(), 0, 0));
    assert!(route(&plan, Some(br#"{"a":"x","b":"y"}"#)).is_err(), "a key column must not become NULL");
}

#[test]
fn records_without_a_key_stay_with_their_partition() {
    let plan = SourcePlan { kind: SourceKind::Kafka, ..source(&columns(), &[]) };
    let mut router = router(&plan);
    for partition in 0..20 {
        let routed = router.route(PartitionId(partition), None, &mut Vec::new()).unwrap();
        assert_eq!(u32::from(routed.shard.0), partition % 6);
        assert!(routed.key.is_empty());
    }
}

proptest! {
    #[test]
    fn no_key_panics(key in prop::collection::vec(any::<u8>(), 0..40), text in "[{}\\[\\]\"ab:,0-9]{0,30}") {
        for format in [json(), lenient_json(), csv()] {
            let plan = SourcePlan { key_format: Some(format), ..source(&columns(), &[2, 1]) };
            let _ = (route(&plan, Some(&key)), route(&plan, Some(text.as_bytes())));
        }
    }
}
