//! The benchmark's order stream keeps its promises: what is measured is measured on these shares and sizes.

#[path = "../../benches/workload/orders.rs"]
mod orders;
#[path = "../../benches/workload/random.rs"]
pub(crate) mod random;
#[path = "../../benches/workload/tables.rs"]
mod tables;

use std::collections::HashMap;

use orders::{Orders, PARTITIONS, USERS, Users, murmur2, partition_of};

const ROWS: u64 = 200_000;

fn value_of(order: &orders::Order) -> serde_json::Value {
    let mut value = Vec::new();
    order.write_value(&mut value);
    serde_json::from_slice(&value).unwrap()
}

#[test]
fn values_are_181_bytes_on_average() {
    let users = Users::new();
    let (mut bytes, mut upserts) = (0, 0);
    for order in Orders::new(&users, 1_000_000).filter(|order| order.values.is_some()) {
        let mut value = Vec::new();
        order.write_value(&mut value);
        bytes += value.len();
        upserts += 1;
    }
    let mean = f64::from(u32::try_from(bytes).unwrap()) / f64::from(upserts);
    assert!((180.0..182.0).contains(&mean), "{mean}");
}

#[test]
fn four_rows_of_ten_open_an_order_and_one_of_a_hundred_deletes_one() {
    let users = Users::new();
    let mut versions: HashMap<u64, u64> = HashMap::new();
    let (mut tombstones, mut young) = (0_u64, 0_u64);
    for (row, order) in (1_u64..).zip(Orders::new(&users, ROWS)) {
        let opened = versions.len() as u64;
        let version = versions.entry(order.order_id).or_insert(0);
        *version += 1;
        if *version == 1 {
            assert!(order.values.is_some(), "an order opens with a tombstone in row {row}");
            assert_eq!(order.order_id, opened);
        } else {
            young += u64::from(opened - order.order_id <= 20_000);
        }
        tombstones += u64::from(order.values.is_none());
        assert!((versions.len() as u64).abs_diff((row * 2).div_ceil(5)) <= 1, "uneven in row {row}");
    }
    assert_eq!(versions.len() as u64, ROWS * 2 / 5);
    assert!((1_800..2_200).contains(&tombstones), "{tombstones}");
    assert!(young > ROWS * 6 / 10 * 7 / 10, "{young}");
    assert!(young < ROWS * 6 / 10 * 95 / 100, "{young}");
}

#[test]
fn users_follow_zipf_and_products_are_uniform() {
    let users = Users::new();
    let mut by_user: HashMap<u32, u32> = HashMap::new();
    let mut by_product: HashMap<u32, u32> = HashMap::new();
    for values in Orders::new(&users, ROWS).filter_map(|order| order.values) {
        *by_user.entry(values.user_id).or_default() += 1;
        *by_product.entry(values.product_id).or_default() += 1;
    }
    let mut counts: Vec<u32> = by_user.values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    // The harmonic number of 100,000 is 12.09: the first user gets 8.27 % of the rows, the second half of that.
    let share = |rank: usize| f64::from(counts[rank]) / 198_000.0;
    assert!((0.080..0.086).contains(&share(0)), "{}", share(0));
    assert!((0.039..0.044).contains(&share(1)), "{}", share(1));
    assert!(by_user.keys().all(|&id| id < USERS));
    assert_eq!(by_product.len(), 10_000);
    assert!(by_product.values().all(|&count| count < 60));
}

#[test]
fn a_longer_stream_starts_with_the_shorter_one() {
    let users = Users::new();
    let bytes = |rows: u64| {
        let mut out = Vec::new();
        for order in Orders::new(&users, rows).take(5_000) {
            order.write_key(&mut out);
            order.write_value(&mut out);
        }
        out
    };
    assert_eq!(bytes(5_000), bytes(50_000));
    assert!(Orders::upserts(&users, ROWS).all(|order| order.values.is_some()));
}

#[test]
fn a_value_holds_what_the_row_says() {
    let users = Users::new();
    let order = Orders::new(&users, 10).nth(9).unwrap();
    let values = order.values.unwrap();
    let json = value_of(&order);
    assert_eq!(json["order_id"].as_u64(), Some(order.order_id));
    assert_eq!(json["user_id"].as_u64(), Some(u64::from(values.user_id)));
    assert_eq!(json["product_id"].as_u64(), Some(u64::from(values.product_id)));
    assert_eq!(json["amount"].to_string(), format!("{}.{:02}", values.cents / 100, values.cents % 100));
    assert_eq!(json["status"].as_str(), Some(values.status()));
    assert_eq!(json["log_ts"].as_str(), Some("2025-06-01 00:00:00.063"));
    assert_eq!(values.log_ts(), "2025-06-01 00:00:00.063");
    assert_eq!(json["note"].as_str().map(str::len), Some(30));
}

#[test]
fn every_fiftieth_user_is_missing_and_no_product_is() {
    assert_eq!((0..USERS).filter_map(tables::user).count(), 98_000);
    assert_eq!(tables::user(50), None);
    let user = tables::user(51).unwrap();
    assert_eq!((user.name.as_str(), user.level, user.city), ("Customer 000051", 2, "Osaka"));
    assert_eq!(tables::user(USERS), None);
    assert_eq!((0..orders::PRODUCTS).filter_map(tables::product).count(), 10_000);
    let product = tables::product(2).unwrap();
    assert_eq!((product.title.as_str(), product.cents), ("Product number 00002", 173));
}

/// Kafka's own vectors (`UtilsTest.testMurmur2`).
#[test]
fn keys_go_where_java_producers_put_them() {
    let vectors = [
        ("21", -973_932_308),
        ("foobar", -790_332_482),
        ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ("abc", 479_470_107),
    ];
    for (key, hash) in vectors {
        assert_eq!(murmur2(key.as_bytes()).cast_signed(), hash, "{key}");
        assert_eq!(partition_of(key.as_bytes()), (hash & 0x7fff_ffff) % PARTITIONS);
    }
}
