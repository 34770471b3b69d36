//! Key groups against what Flink 2.3.0 printed (`tests/vectors/keygroups.txt`),
//! the exchange's own NULL keys, ranges, and the property that ranges tile.

use lookaside::keygroup::{
    GroupRange, KeyGroups, KeyHash, KeyHasher, bit_mix, default_max_parallelism, hash_words, murmur_hash,
    round_up_to_power_of_two,
};
use lookaside::model::{DataType, Datum, Decimal, ShardId, Timestamp, Type, Value, civil};
use proptest::prelude::*;

const VECTORS: &str = include_str!("../vectors/keygroups.txt");

fn lines(kind: &str) -> impl Iterator<Item = Vec<&'static str>> {
    let kind = kind.to_owned();
    VECTORS.lines().map(|line| line.split('|').collect::<Vec<_>>()).filter(move |fields| fields[0] == kind)
}

fn groups(parallelism: u16, max: u16) -> KeyGroups {
    KeyGroups::new(parallelism, Some(max)).unwrap()
}

fn int<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.trim().parse().unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn hash_of(types: &[DataType], values: &[Value], hash: KeyHash) -> i32 {
    let mut hasher = KeyHasher::new(types, hash).unwrap();
    with_datums(values, &mut Vec::new(), &mut |key| hasher.hash(key))
}

fn with_datums(
    values: &[Value],
    before: &mut Vec<Datum<'_>>,
    call: &mut dyn FnMut(&[Datum<'_>]) -> i32,
) -> i32 {
    let Some((first, rest)) = values.split_first() else { return call(before) };
    first.with_datum(|datum| {
        let mut next: Vec<Datum<'_>> = before.clone();
        next.push(datum);
        with_datums(rest, &mut next, call)
    })
}

#[test]
fn mixes_of_an_integer_match_flink() {
    let mut count = 0;
    for fields in lines("MM") {
        let hash: i32 = int(fields[1]);
        assert_eq!(murmur_hash(hash), int::<i32>(fields[2]), "murmurHash({hash})");
        assert_eq!(groups(6, 128).group(hash), int::<u16>(fields[3]), "{hash}");
        for (parallelism, expected) in [(6, fields[4]), (4, fields[5])] {
            let groups = groups(parallelism, 128);
            assert_eq!(groups.shard(groups.group(hash)), ShardId(int(expected)), "{hash} at {parallelism}");
        }
        assert_eq!(groups(1, 1000).group(hash), int::<u16>(fields[6]));
        assert_eq!(groups(1, 32768).group(hash), int::<u16>(fields[7]));
        count += 1;
    }
    assert_eq!(count, 18);
    for fields in lines("BITMIX") {
        assert_eq!(bit_mix(int(fields[1])), int::<i32>(fields[2]));
    }
    for fields in lines("ROUNDUP") {
        assert_eq!(round_up_to_power_of_two(int(fields[1])), int::<u32>(fields[2]));
    }
    assert_eq!(murmur_hash(i32::MIN), 1_718_298_732);
}

#[test]
fn default_and_bounds_of_max_parallelism_match_flink() {
    for fields in lines("DEFMAX") {
        assert_eq!(default_max_parallelism(int(fields[1])), int::<u16>(fields[2]), "{}", fields[1]);
    }
    assert!(KeyGroups::new(1, Some(1)).is_ok());
    assert!(KeyGroups::new(32768, Some(32768)).is_ok());
    for (parallelism, max, named) in [
        (0, Some(1), "parallelism is 0"),
        (2, Some(1), "max-parallelism 1"),
        (1, Some(32769), "32768"),
        (1, Some(0), "0"),
    ] {
        let error = KeyGroups::new(parallelism, max).unwrap_err();
        assert_eq!(error.kind(), lookaside::error::Kind::Definition);
        assert!(error.to_string().contains(named), "{error}");
    }
}

#[test]
fn ranges_of_each_shard_match_flink() {
    let mut count = 0;
    for (kind, max) in [("RANGE128", 128), ("RANGE10", 10)] {
        for fields in lines(kind) {
            let groups = groups(int(fields[1]), max);
            let printed: String = (0..groups.parallelism())
                .map(|shard| groups.range(ShardId(shard)))
                .map(|range| format!("[{},{}] ", range.first, range.last))
                .collect();
            assert_eq!(printed.trim(), fields[2].trim());
            count += 1;
        }
    }
    assert_eq!(count, 10);
}

/// Flink's `KeyGroupRangeTest`.
#[test]
fn ranges_intersect_in_what_both_hold() {
    let range = |first, last| GroupRange::new(first, last).unwrap();
    assert_eq!(range(0, 10).intersect(range(3, 7)), Some(range(3, 7)));
    assert_eq!(range(0, 5).intersect(range(6, 10)), None);
    for (a, b, both) in
        [(range(0, 10), range(5, 20), range(5, 10)), (range(3, 12), range(0, 10), range(3, 10))]
    {
        assert_eq!(a.intersect(b), Some(both));
        assert_eq!(b.intersect(a), Some(both));
    }
    assert_eq!(range(3, 12).len(), 10);
    assert_eq!(GroupRange::new(3, 2), None);
}

/// Flink's `CEPRescalingTest`.
#[test]
fn seven_and_ten_of_ten_groups_go_to_two_shards() {
    let groups = groups(2, 10);
    let placed = |key| (groups.group(key), groups.shard(groups.group(key)).0);
    assert_eq!((placed(7), placed(10)), ((1, 0), (9, 1)));
}

#[test]
fn keys_of_the_sql_exchange_match_flink() {
    let mut count = 0;
    for fields in lines("ROW") {
        let (types, values) = row_key(fields[1]);
        if fields[1] == "DECIMAL(20,2) NULL" || fields[1] == "TIMESTAMP(6) NULL" {
            continue; // The exchange's form differs: see the test below.
        }
        let hash = hash_of(&types, &values, KeyHash::FlinkSql);
        assert_eq!(hash, int::<i32>(fields[4]), "{}", fields[1]);
        assert_eq!(hash_words(&bytes(fields[3])), hash, "bytes of {}", fields[1]);
        assert_eq!(murmur_hash(hash), int::<i32>(fields[5]));
        let settings = [(6, 128), (4, 128), (3, 128), (7, 1000), (10, 32768)];
        let printed = settings.map(|(parallelism, max)| {
            let groups = groups(parallelism, max);
            let group = groups.group(hash);
            format!("{group}/{}", groups.shard(group).0)
        });
        assert_eq!(printed.join(" "), fields[6], "{}", fields[1]);
        count += 1;
    }
    assert_eq!(count, 56);
    let (types, values): (Vec<_>, Vec<_>) = (0..56).map(|i| (Type::Int.nullable(), Value::Int(i))).unzip();
    assert_eq!(hash_of(&types, &values, KeyHash::FlinkSql), -1_706_456_537);
}

/// The generated key projection reserves the room of a wide NULL, the row serializer does not.
#[test]
fn null_keys_hash_as_the_exchange_lays_them_out() {
    let hash = |ty: Type| hash_of(&[ty.nullable()], &[Value::Null], KeyHash::FlinkSql);
    assert_eq!(hash(Type::Decimal { precision: 20, scale: 2 }), -1_380_280_760);
    assert_eq!(hash(Type::Timestamp(6)), -340_882_661);
    for ty in [Type::Int, Type::STRING, Type::Timestamp(3), Type::Decimal { precision: 18, scale: 2 }] {
        assert_eq!(hash(ty), -1_748_325_344);
    }
}

#[test]
fn keys_of_a_java_data_stream_match_flink() {
    let mut count = 0;
    for fields in lines("KEY") {
        let Some((types, values)) = java_key(fields[1]) else { continue };
        let hash = hash_of(&types, &values, KeyHash::Java);
        assert_eq!(hash, int::<i32>(fields[2]), "{}", fields[1]);
        assert_eq!(murmur_hash(hash), int::<i32>(fields[3]));
        let groups = groups(6, 128);
        assert_eq!(
            (groups.group(hash), groups.shard(groups.group(hash)).0),
            (int(fields[4]), int(fields[5]))
        );
        count += 1;
    }
    assert_eq!(count, 28);
}

#[test]
fn a_composite_java_key_is_a_row() {
    let (int, text) = (Type::Int.nullable(), Type::STRING.nullable());
    let key = [Value::Int(1), Value::Str("a".into())];
    assert_eq!(hash_of(&[int, text], &key, KeyHash::Java), 2081);
}

#[test]
fn six_integers_land_on_three_of_six_shards() {
    let groups = groups(6, 128);
    let mut hasher = KeyHasher::new(&[Type::Int.not_null()], KeyHash::Java).unwrap();
    let shards: Vec<u16> =
        (0..6).map(|key| groups.shard(groups.group(hasher.hash(&[Datum::Int(key)]))).0).collect();
    assert_eq!(shards, [4, 4, 5, 5, 0, 5]);
}

fn bytes(words: &str) -> Vec<u8> {
    let hex: String = words.split(' ').collect();
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// `INT,STRING (1,'a')` → types and values.
fn row_key(text: &str) -> (Vec<DataType>, Vec<Value>) {
    if text == "()" {
        return (Vec::new(), Vec::new());
    }
    if text == "57xINT 0..56" {
        return (0..57).map(|i| (Type::Int.nullable(), Value::Int(i))).unzip();
    }
    let (types, values) = text.split_once(' ').unwrap();
    let Some(values) = values.strip_prefix('(') else {
        let ty = parse_type(types);
        let value = parse_value(&ty, values);
        return (vec![ty.nullable()], vec![value]);
    };
    let values = values.strip_suffix(')').unwrap().split(',');
    types
        .split(',')
        .zip(values)
        .map(|(ty, value)| {
            let ty = parse_type(ty);
            let value = parse_value(&ty, value);
            (ty.nullable(), value)
        })
        .unzip()
}

fn parse_type(text: &str) -> Type {
    let (name, arguments) = text.split_once('(').unwrap_or((text, ")"));
    let numbers: Vec<u8> =
        arguments.trim_end_matches(')').split(',').filter(|part| !part.is_empty()).map(int).collect();
    match (name, numbers.as_slice()) {
        ("BOOLEAN", _) => Type::Boolean,
        ("TINYINT", _) => Type::TinyInt,
        ("SMALLINT", _) => Type::SmallInt,
        ("INT", _) => Type::Int,
        ("BIGINT", _) => Type::BigInt,
        ("FLOAT", _) => Type::Float,
        ("DOUBLE", _) => Type::Double,
        ("STRING", _) => Type::STRING,
        ("BYTES", _) => Type::BYTES,
        ("DATE", _) => Type::Date,
        ("CHAR", [n]) => Type::Char((*n).into()),
        ("DECIMAL", [precision, scale]) => Type::Decimal { precision: *precision, scale: *scale },
        ("TIME", [p]) => Type::Time(*p),
        ("TIMESTAMP", [p]) => Type::Timestamp(*p),
        ("TIMESTAMP_LTZ", [p]) => Type::TimestampLtz(*p),
        _ => panic!("type {text}"),
    }
}

fn parse_value(ty: &Type, text: &str) -> Value {
    if text == "NULL" {
        return Value::Null;
    }
    match ty {
        Type::Boolean => Value::Bool(int(text)),
        Type::TinyInt | Type::SmallInt | Type::Int | Type::BigInt => Value::Int(int(text)),
        Type::Float => Value::Float(int(text)),
        Type::Double => Value::Double(int(text)),
        Type::Decimal { scale, .. } => Value::Decimal(Decimal::parse(text).unwrap().rescale(*scale).unwrap()),
        Type::Char(_) | Type::Varchar(_) => Value::Str(text.trim_matches('\'').to_owned()),
        Type::Binary(_) | Type::Varbinary(_) => Value::Bytes(bytes(text)),
        Type::Date => Value::Date(day(text)),
        Type::Time(_) => Value::Time(clock(text).0 as i32),
        Type::TimestampLtz(_) => {
            Value::Timestamp(Timestamp::from_millis(int(text.trim_start_matches("epoch "))))
        }
        _ => Value::Timestamp(moment(text)),
    }
}

fn day(text: &str) -> i32 {
    let parts: Vec<u32> = text.split('-').map(int).collect();
    civil::days_from_civil(parts[0].into(), parts[1], parts[2]) as i32
}

/// Milliseconds of the day and nanoseconds of the millisecond.
fn clock(text: &str) -> (i64, u32) {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds = whole.split(':').fold(0, |sum, part| sum * 60 + int::<i64>(part));
    let nanos: u32 = int(&format!("{fraction:0<9}"));
    (seconds * 1000 + i64::from(nanos / 1_000_000), nanos % 1_000_000)
}

fn moment(text: &str) -> Timestamp {
    let (date, time) = text.split_once('T').unwrap();
    let (millis, nanos) = clock(time);
    Timestamp { millis: i64::from(day(date)) * civil::MILLIS_PER_DAY + millis, nanos }
}

/// `Integer -1` → a column and a value; `None` for classes that no definition can declare.
fn java_key(text: &str) -> Option<(Vec<DataType>, Vec<Value>)> {
    let (class, value) = text.split_once(' ').unwrap_or((text, ""));
    let (ty, value) = match class {
        "Integer" => (Type::Int, Value::Int(int(value))),
        "Long" => (
            Type::BigInt,
            Value::Int(match value {
                "MAX" => i64::MAX,
                "MIN" => i64::MIN,
                _ => int(value),
            }),
        ),
        "String" => (Type::STRING, Value::Str(value.trim_matches('"').to_owned())),
        "Boolean" => (Type::Boolean, Value::Bool(int(value))),
        "Byte" => (Type::TinyInt, Value::Int(int(value))),
        "Short" => (Type::SmallInt, Value::Int(int(value))),
        "Float" => (Type::Float, Value::Float(int(value))),
        "Double" => (Type::Double, Value::Double(int(value))),
        "BigDecimal" => {
            let value = Decimal::parse(value).unwrap();
            (Type::Decimal { precision: 10, scale: value.scale() }, Value::Decimal(value))
        }
        "LocalDate" => (Type::Date, Value::Date(day(value))),
        "LocalDateTime" => (Type::Timestamp(3), Value::Timestamp(moment(value))),
        "Instant" => {
            (Type::TimestampLtz(3), Value::Timestamp(Timestamp::from_millis(int(&value.replace('.', "")))))
        }
        _ => return None,
    };
    Some((vec![ty.nullable()], vec![value]))
}

proptest! {
    /// Flink's `CheckpointCoordinatorTest.testCreateKeyGroupPartitions`.
    #[test]
    fn ranges_tile_all_groups(max in 1_u16..=32768, share in 0.0_f64..1.0) {
        let parallelism = 1 + (f64::from(max - 1) * share) as u16;
        check_tiling(parallelism, max);
    }

    #[test]
    fn every_hash_has_a_group(hash in any::<i32>(), max in 1_u16..=32768) {
        prop_assert!(KeyGroups::new(1, Some(max)).unwrap().group(hash) < max);
    }
}

#[test]
fn ranges_tile_at_the_edges() {
    for (max, parallelism) in [(1, 1), (13, 1), (13, 2), (32767, 1), (32767, 32767)] {
        check_tiling(parallelism, max);
    }
}

fn check_tiling(parallelism: u16, max: u16) {
    let groups = groups(parallelism, max);
    let mut next = 0;
    for shard in (0..parallelism).map(ShardId) {
        let range = groups.range(shard);
        assert_eq!(range.first, next);
        for group in range.first..=range.last {
            assert_eq!(groups.shard(group), shard);
            assert!(range.contains(group));
        }
        next = range.last + 1;
    }
    assert_eq!(next, max);
}
