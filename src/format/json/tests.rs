//! Flink's acceptance tables for json, hostile messages, and what rows look like as JSON.

use proptest::prelude::*;

use super::scan::Token;
use super::*;
use crate::model::{DataType, Decimal, Field, Timestamp, Type, Value, nested};
use crate::plan::MapNullKey;

fn options() -> JsonOptions {
    JsonOptions {
        fail_on_missing_field: false,
        ignore_parse_errors: false,
        timestamp_format: TimestampFormat::Sql,
        map_null_key: MapNullKey::Fail,
        decimal_as_plain_number: true,
        ignore_null_fields: false,
    }
}

fn ignoring() -> JsonOptions {
    JsonOptions { ignore_parse_errors: true, ..options() }
}

fn fields(types: &[(&str, Type)]) -> Vec<FieldSpec> {
    let field = |(column, (name, ty)): (usize, &(&str, Type))| FieldSpec {
        name: (*name).to_owned(),
        column,
        ordinal: column,
        ty: ty.clone().nullable(),
    };
    types.iter().enumerate().map(field).collect()
}

type Rows = Vec<Vec<Option<Value>>>;

/// All rows of a message, or the reason why there are none.
fn rows(options: &JsonOptions, types: &[(&str, Type)], lossy: bool, bytes: &[u8]) -> Result<Rows, Reason> {
    let mut reader = JsonReader::new(options, fields(types), types.len(), lossy).unwrap();
    let mut rows = Vec::new();
    for _ in 0..2 {
        // Twice, so that the guessed order of fields is used as well.
        rows.clear();
        let arena = Bump::new();
        let read = reader.read(bytes, &arena, |row| {
            let value = |i: usize| row.is_present(i).then(|| Value::from(row.values[i]));
            rows.push((0..row.values.len()).map(value).collect());
            Ok(())
        });
        read.map_err(|fault| fault.reason)?;
    }
    Ok(rows)
}

/// The value that a column `x` of type `ty` gets from the JSON `value`.
fn field(options: &JsonOptions, ty: &Type, value: &str, lossy: bool) -> Result<Value, Reason> {
    let message = format!("{{\"x\":{value}}}");
    let mut rows = rows(options, &[("x", ty.clone())], lossy, message.as_bytes())?;
    Ok(rows.remove(0).remove(0).unwrap())
}

fn strict(ty: &Type, value: &str) -> Result<Value, Reason> {
    field(&options(), ty, value, false)
}

fn as_flink(ty: &Type, value: &str) -> Result<Value, Reason> {
    field(&options(), ty, value, true)
}

fn text(value: &str) -> Value {
    Value::Str(value.to_owned())
}

fn decimal(precision: u8, scale: u8) -> Type {
    Type::Decimal { precision, scale }
}

#[test]
fn booleans() {
    for value in ["true", "\"true\"", "\"TRUE\"", "\" true \""] {
        assert_eq!(strict(&Type::Boolean, value), Ok(Value::Bool(true)), "{value}");
    }
    for value in ["false", "\"False\""] {
        assert_eq!(strict(&Type::Boolean, value), Ok(Value::Bool(false)), "{value}");
    }
    for value in ["\"yes\"", "\"trueA\"", "1", "0"] {
        assert_eq!(strict(&Type::Boolean, value), Err(Reason::LossyConversion), "{value}");
        assert_eq!(as_flink(&Type::Boolean, value), Ok(Value::Bool(false)), "{value}");
    }
}

#[test]
fn integers() {
    for ty in [Type::Int, Type::BigInt] {
        for value in ["1", "\"1\"", "\" 1 \"", "1.0"] {
            assert_eq!(strict(&ty, value), Ok(Value::Int(1)), "{value}");
        }
        assert_eq!(strict(&ty, "1e2"), Ok(Value::Int(100)));
        for (value, cut) in [("1.9", 1), ("-1.9", -1), ("112.013", 112)] {
            assert_eq!(strict(&ty, value), Err(Reason::LossyConversion), "{value}");
            assert_eq!(as_flink(&ty, value), Ok(Value::Int(cut)), "{value}");
        }
        for value in ["\"1.5\"", "\"\"", "\"abc\"", "true", "{}", "[1]"] {
            assert_eq!(as_flink(&ty, value), Err(Reason::Malformed), "{value}");
        }
        assert_eq!(as_flink(&ty, "1e30"), Err(Reason::ValueOutOfRange));
        assert_eq!(as_flink(&ty, "9223372036854775808"), Err(Reason::ValueOutOfRange));
    }
    assert_eq!(as_flink(&Type::Int, "2147483648"), Err(Reason::ValueOutOfRange));
}

#[test]
fn narrow_integers_take_no_fraction() {
    assert_eq!(strict(&Type::TinyInt, "127"), Ok(Value::Int(127)));
    assert_eq!(strict(&Type::SmallInt, "\"300\""), Ok(Value::Int(300)));
    assert_eq!(as_flink(&Type::TinyInt, "128"), Err(Reason::ValueOutOfRange));
    for value in ["1.0", "1.5"] {
        assert_eq!(as_flink(&Type::TinyInt, value), Err(Reason::Malformed));
        assert_eq!(as_flink(&Type::SmallInt, value), Err(Reason::Malformed));
    }
}

#[test]
fn floats() {
    assert_eq!(strict(&Type::Double, "1"), Ok(Value::Double(1.0)));
    assert_eq!(strict(&Type::Float, "\"1.5\""), Ok(Value::Float(1.5)));
    assert_eq!(strict(&Type::Double, "\" 2.5 \""), Ok(Value::Double(2.5)));
    assert_eq!(strict(&Type::Double, "\"Infinity\""), Ok(Value::Double(f64::INFINITY)));
    assert!(matches!(strict(&Type::Double, "\"NaN\""), Ok(Value::Double(v)) if v.is_nan()));
    assert_eq!(as_flink(&Type::Double, "1e400"), Ok(Value::Double(f64::INFINITY)));
    assert_eq!(strict(&Type::Double, "1e400"), Err(Reason::ValueOutOfRange));
    assert_eq!(as_flink(&Type::Double, "\"112.013.123\""), Err(Reason::Malformed));
    assert_eq!(field(&ignoring(), &Type::Double, "\"112.013.123\"", true), Ok(Value::Null));
    let bare = rows(&ignoring(), &[("x", Type::Double)], true, b"{\"x\":NaN}");
    assert_eq!(bare, Ok(Vec::new()), "a bare NaN breaks the message");
}

#[test]
fn decimals() {
    let shown = |ty: &Type, value: &str| {
        strict(ty, value).map(|value| match value {
            Value::Decimal(value) => value.to_string(),
            other => format!("{other:?}"),
        })
    };
    assert_eq!(shown(&decimal(10, 3), "1.2345").as_deref(), Ok("1.235"));
    assert_eq!(shown(&decimal(10, 2), "\" 20 \"").as_deref(), Ok("20.00"));
    let exact = "799.929496989092949698";
    assert_eq!(shown(&decimal(38, 18), exact).as_deref(), Ok(exact));
    assert_eq!(shown(&decimal(38, 18), &format!("\"{exact}\"")).as_deref(), Ok(exact));
    assert_eq!(shown(&decimal(10, 3), "\"abc\""), Err(Reason::Malformed));
    assert_eq!(shown(&decimal(10, 3), "true"), Err(Reason::Malformed));
    assert_eq!(shown(&decimal(10, 3), "12345678.9"), Err(Reason::ValueOutOfRange));
    assert_eq!(as_flink(&decimal(10, 3), "12345678.9"), Ok(Value::Null));
}

#[test]
fn strings_take_everything() {
    for (value, read) in [
        ("\"a\"", "a"),
        ("1.10", "1.10"),
        ("1e2", "1e2"),
        ("true", "true"),
        ("[ 1, \"a b\" , null ]", "[1,\"a b\",null]"),
        ("{ \"k\" : \"\\u0041\\n\" }", "{\"k\":\"A\\n\"}"),
        ("\"\\u00e9\\ud83d\\ude00\\/\\\\\"", "é😀/\\"),
        ("\"\\ud83dx\"", "?x"),
    ] {
        assert_eq!(strict(&Type::STRING, value), Ok(text(read)), "{value}");
    }
    assert_eq!(strict(&Type::Varchar(2), "\"long\""), Ok(text("long")), "lengths are not enforced here");
}

#[test]
fn bytes_are_base64() {
    assert_eq!(strict(&Type::BYTES, "\"AQID\""), Ok(Value::Bytes(vec![1, 2, 3])));
    assert_eq!(strict(&Type::BYTES, "\"\""), Ok(Value::Bytes(Vec::new())));
    assert_eq!(strict(&Type::BYTES, "\"A\""), Err(Reason::Malformed));
    assert_eq!(strict(&Type::BYTES, "1"), Err(Reason::Malformed));
}

#[test]
fn dates_and_times() {
    assert_eq!(strict(&Type::Date, "\"2020-01-02\""), Ok(Value::Date(18_263)));
    for value in ["\"2020-1-2\"", "20191112", "\"20191112\"", "\"2020-01-02 00:00:00\""] {
        assert_eq!(as_flink(&Type::Date, value), Err(Reason::Malformed), "{value}");
    }
    assert_eq!(strict(&Type::Time(0), "\"01:02:03.9999\""), Ok(Value::Time(3_723_999)));
    for value in ["\"01:02:03Z\"", "\"01:02\"", "\"18:00:243\""] {
        assert_eq!(as_flink(&Type::Time(3), value), Err(Reason::Malformed), "{value}");
    }
}

#[test]
fn timestamps() {
    let at = |millis, nanos| Ok(Value::Timestamp(Timestamp { millis, nanos }));
    let base = 1_577_934_245_000;
    let iso = JsonOptions { timestamp_format: TimestampFormat::Iso8601, ..options() };
    let (local, zoned) = (Type::Timestamp(3), Type::TimestampLtz(3));
    assert_eq!(strict(&local, "\"2020-01-02 03:04:05.123456789\""), at(base + 123, 456_789));
    assert_eq!(strict(&zoned, "\"2020-01-02 03:04:05.6Z\""), at(base + 600, 0));
    assert_eq!(field(&iso, &local, "\"2020-01-02T03:04\"", false), at(base - 5_000, 0));
    assert_eq!(field(&iso, &zoned, "\"2020-01-02T03:04:05Z\"", false), at(base, 0));
    for value in ["\"2020-01-02T03:04:05\"", "\"2020-01-02 03:04\"", "\"2020-01-02 03:04:05Z\"", "1577934245"]
    {
        assert_eq!(as_flink(&local, value), Err(Reason::Malformed), "{value}");
    }
    for value in ["\"2020-01-02 03:04:05\"", "\"2020-01-02 03:04:05+08:00\"", "\"2020-01-02 03:04:05+0800\""]
    {
        assert_eq!(as_flink(&zoned, value), Err(Reason::Malformed), "{value}");
    }
}

#[test]
fn nested_values_convert_their_parts() {
    let array = Type::Array(Box::new(Type::Int.nullable()));
    let map = Type::Map(Box::new(Type::STRING.nullable()), Box::new(Type::Int.nullable()));
    let row = Type::Row(vec![
        Field { name: "a".into(), ty: Type::Int.nullable() },
        Field { name: "b".into(), ty: array.clone().nullable() },
    ]);
    assert_eq!(strict(&array, "[1, null]"), Ok(Value::Array(vec![Value::Int(1), Value::Null])));
    assert_eq!(as_flink(&array, "[123,\"abc\"]"), Err(Reason::Malformed));
    let cut = Value::Array(vec![Value::Int(123), Value::Null]);
    assert_eq!(field(&ignoring(), &array, "[123,\"abc\"]", false), Ok(cut));
    let entries = Value::Map(vec![(text("key1"), Value::Int(123)), (text("key2"), Value::Null)]);
    assert_eq!(field(&ignoring(), &map, "{\"key1\":\"123\",\"key2\":\"abc\"}", false), Ok(entries));
    let inner = Value::Row(vec![Value::Null, Value::Array(vec![Value::Int(7)])]);
    assert_eq!(strict(&row, "{\"other\":{},\"b\":[7]}"), Ok(inner));
    for (ty, value) in [(&array, "{}"), (&map, "[]"), (&row, "1")] {
        assert_eq!(as_flink(ty, value), Err(Reason::Malformed), "{value}");
    }
    assert_eq!(strict(&array, "null"), Ok(Value::Null));
}

const ID: [(&str, Type); 2] = [("id", Type::Int), ("n", Type::STRING)];

fn message(bytes: &[u8]) -> Result<Rows, Reason> {
    rows(&options(), &ID, false, bytes)
}

#[test]
fn absent_null_and_unknown_fields() {
    let row = |id: Option<Value>, n: Option<Value>| Ok(vec![vec![id, n]]);
    assert_eq!(message(b"{\"id\":1}"), row(Some(Value::Int(1)), None));
    assert_eq!(message(b"{\"id\":1,\"n\":null}"), row(Some(Value::Int(1)), Some(Value::Null)));
    assert_eq!(message(b"{\"ID\":1,\"n\":\"a\"}"), row(None, Some(text("a"))));
    assert_eq!(
        message(b"{\"id\":1,\"x\":{\"y\":[1,{}]},\"n\":\"a\"}"),
        row(Some(Value::Int(1)), Some(text("a")))
    );
    assert_eq!(message(b"{\"id\":1,\"id\":2}"), row(Some(Value::Int(2)), None), "the last of a name wins");
    assert_eq!(message(b"{\"i\\u0064\":3}"), row(Some(Value::Int(3)), None));
    let must = JsonOptions { fail_on_missing_field: true, ..options() };
    assert_eq!(rows(&must, &ID, false, b"{\"id\":1}"), Err(Reason::MissingField));
    assert!(rows(&must, &ID, false, b"{\"id\":1,\"n\":null}").is_ok());
}

#[test]
fn what_flink_takes_beyond_the_standard() {
    let one = |id| Ok(vec![vec![Some(Value::Int(id)), None]]);
    assert_eq!(message(b"{\"id\":1}{\"id\":2}"), one(1), "text behind the object is not read");
    assert_eq!(message(b"{\"id\":1} \xff"), one(1));
    assert_eq!(message(b"\xEF\xBB\xBF{\"id\":1}"), one(1), "a byte order mark is passed over");
    assert_eq!(message(b" \r\n{\"id\":1}"), one(1));
    let row = vec![Some(Value::Int(1)), Some(text("a\u{1}\nb"))];
    assert_eq!(message(b"{\"id\":1,\"n\":\"a\x01\nb\"}"), Ok(vec![row]), "control characters need no escape");
    let two = Ok(vec![vec![Some(Value::Int(1)), None], vec![Some(Value::Int(2)), None]]);
    assert_eq!(message(b"[{\"id\":1},{\"id\":2}]"), two, "an array holds rows");
    assert_eq!(message(b"[]"), Ok(Vec::new()));
}

#[test]
fn a_message_of_countless_rows_ends_in_a_fault_and_not_in_memory() {
    let wide: Vec<(String, Type)> = (0..4000).map(|i| (format!("c{i}"), Type::Int)).collect();
    let wide: Vec<(&str, Type)> = wide.iter().map(|(name, ty)| (name.as_str(), ty.clone())).collect();
    let message = format!("[{}]", vec!["{}"; 10_000].join(","));
    let mut reader = JsonReader::new(&options(), fields(&wide), wide.len(), false).unwrap();
    let mut arena = Bump::new();
    let fault = reader.read(message.as_bytes(), &arena, |_| Ok(())).unwrap_err();
    assert_eq!(fault.reason, Reason::Malformed);
    crate::format::recycle(&mut arena);
    assert!(arena.allocated_bytes() < 1 << 20, "{}", arena.allocated_bytes());
}

#[test]
fn broken_messages() {
    let broken: [&[u8]; 20] = [
        b"",
        b" ",
        b"null",
        b"1",
        b"\"a\"",
        b"{",
        b"{\"id\"",
        b"{\"id\":",
        b"{\"id\":1",
        b"{\"id\":1,}",
        b"{'id':1}",
        b"{\"id\":01}",
        b"{\"id\":1.}",
        b"{\"id\":+1}",
        b"{\"id\":1 /* c */}",
        b"{\"x\":\"\\q\"}",
        b"{\"x\":\"\\u12\"}",
        b"{\"n\":\"\xff\"}",
        b"[{\"id\":1},null]",
        b"{\"x\":tru}",
    ];
    for bytes in broken {
        assert_eq!(message(bytes), Err(Reason::Malformed), "{}", String::from_utf8_lossy(bytes));
    }
    assert_eq!(rows(&ignoring(), &ID, false, b"{\"id\":"), Ok(Vec::new()));
    let around = rows(&ignoring(), &ID, false, b"[{\"id\":1},null,{\"id\":2}]").unwrap();
    assert_eq!(around.len(), 2, "a null element is dropped, its neighbours stay");
    let cut = rows(&ignoring(), &ID, false, b"{\"id\":\"x\",\"n\":\"a\"}");
    assert_eq!(cut, Ok(vec![vec![Some(Value::Null), Some(text("a"))]]), "a bad field becomes NULL");
    let deep = format!("{{\"x\":{}1{}}}", "[".repeat(1001), "]".repeat(1001));
    assert_eq!(message(deep.as_bytes()), Err(Reason::Malformed));
}

#[test]
fn keys_of_a_map_are_text() {
    let ty = Type::Array(Box::new(
        Type::Map(Box::new(Type::Int.nullable()), Box::new(Type::Int.nullable())).nullable(),
    ));
    assert!(JsonReader::new(&options(), fields(&[("x", ty.clone())]), 1, false).is_err());
    assert!(JsonWriter::new(&options(), fields(&[("x", ty)])).is_err());
}

#[test]
fn a_fault_names_column_value_and_remedy() {
    let mut reader = JsonReader::new(&options(), fields(&ID), 2, false).unwrap();
    let arena = Bump::new();
    let fault = reader.read(b"{\"id\":1.9}", &arena, |_| Ok(())).unwrap_err();
    assert_eq!(fault.column.as_deref(), Some("id"));
    assert_eq!(fault.detail, "`1.9` as INT: has a fraction, which an integer type would lose");
    assert!(fault.remedy.contains("value.lossy-conversion"), "{}", fault.remedy);
}

fn written(options: &JsonOptions, ty: &Type, value: &Value) -> Result<String, Reason> {
    let mut writer = JsonWriter::new(options, fields(&[("x", ty.clone())])).unwrap();
    let mut out = Vec::new();
    let wrote = value.with_datum(|datum| writer.write(&[datum], &mut out));
    wrote.map(|()| String::from_utf8(out).unwrap()).map_err(|fault| fault.reason)
}

fn plain(ty: &Type, value: &Value) -> String {
    let text = written(&options(), ty, value).unwrap();
    text.strip_prefix("{\"x\":").and_then(|text| text.strip_suffix('}')).unwrap().to_owned()
}

#[test]
fn rows_as_json() {
    let at = |millis| Value::Timestamp(Timestamp::from_millis(millis));
    let base = 1_577_934_245_000;
    for (ty, value, shown) in [
        (Type::BigInt, Value::Int(-5), "-5"),
        (Type::Boolean, Value::Bool(true), "true"),
        (Type::Double, Value::Double(1.0), "1.0"),
        (Type::Double, Value::Double(1e20), "1.0E20"),
        (Type::Double, Value::Double(1e-4), "1.0E-4"),
        (Type::Double, Value::Double(f64::NAN), "\"NaN\""),
        (Type::STRING, text("é/\"\\\n\u{1}\u{7f}"), "\"é/\\\"\\\\\\n\\u0001\u{7f}\""),
        (Type::BYTES, Value::Bytes(vec![1, 2, 3, 4]), "\"AQIDBA==\""),
        (Type::Date, Value::Date(18_263), "\"2020-01-02\""),
        (Type::Time(3), Value::Time(3_723_000), "\"01:02:03\""),
        (Type::Time(3), Value::Time(3_723_450), "\"01:02:03.45\""),
        (Type::Timestamp(3), at(base + 670), "\"2020-01-02 03:04:05.67\""),
        (Type::Timestamp(3), at(base), "\"2020-01-02 03:04:05\""),
        (Type::TimestampLtz(3), at(base), "\"2020-01-02 03:04:05Z\""),
        (Type::STRING, Value::Null, "null"),
    ] {
        assert_eq!(plain(&ty, &value), shown);
    }
    let iso = JsonOptions { timestamp_format: TimestampFormat::Iso8601, ..options() };
    assert_eq!(
        written(&iso, &Type::Timestamp(3), &at(base)).as_deref(),
        Ok("{\"x\":\"2020-01-02T03:04:05\"}")
    );
    let omit = JsonOptions { ignore_null_fields: true, ..options() };
    assert_eq!(written(&omit, &Type::Int, &Value::Null).as_deref(), Ok("{}"));
}

#[test]
fn decimals_plain_by_default_and_as_flink_on_request() {
    let flink = JsonOptions { decimal_as_plain_number: false, ..options() };
    for (unscaled, precision, scale, by_default, by_flink) in [
        (123_456_789, 9, 6, "123.456789", "123.456789"),
        (454_621_864_049_246_170, 20, 0, "454621864049246170", "4.5462186404924617E+17"),
        (27, 10, 9, "0.000000027", "2.7E-8"),
        (2000, 10, 2, "20.00", "2E+1"),
        (1050, 10, 2, "10.50", "10.5"),
        (100, 10, 2, "1.00", "1"),
        (10_000, 10, 2, "100.00", "1E+2"),
        (-5, 10, 2, "-0.05", "-0.05"),
        (12_000_000_000_000, 20, 10, "1200.0000000000", "1.2E+3"),
    ] {
        let value = Value::Decimal(Decimal::new(unscaled, scale));
        let ty = decimal(precision, scale);
        assert_eq!(plain(&ty, &value), by_default);
        assert_eq!(written(&flink, &ty, &value), Ok(format!("{{\"x\":{by_flink}}}")));
    }
}

#[test]
fn null_map_keys() {
    let ty = Type::Map(Box::new(Type::STRING.nullable()), Box::new(Type::Int.nullable()));
    let value = Value::Map(vec![(text("a"), Value::Int(1)), (Value::Null, Value::Int(2))]);
    let with = |map_null_key| written(&JsonOptions { map_null_key, ..options() }, &ty, &value);
    assert_eq!(with(MapNullKey::Fail), Err(Reason::InvalidArgument));
    assert_eq!(with(MapNullKey::Drop).as_deref(), Ok("{\"x\":{\"a\":1}}"));
    let literal = with(MapNullKey::Literal("nullKey".into()));
    assert_eq!(literal.as_deref(), Ok("{\"x\":{\"a\":1,\"nullKey\":2}}"));
}

/// The token of a whole text, when nothing but blanks follows it.
fn whole(text: &str) -> Option<Token<'_>> {
    let mut scanner = Scanner::new(text);
    let token = scanner.value().ok()?;
    scanner.next_byte().is_none().then_some(token)
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
        "[\\\\\"/bfnrtu0-9]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::vec((".{0,6}", inner), 0..5)
                .prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_serde_json_writes_is_read_back(value in json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let token = whole(&text);
        prop_assert!(token.is_some(), "{}", text);
        if let (serde_json::Value::String(expected), Some(Token::Text(read))) = (&value, token) {
            let arena = Bump::new();
            prop_assert_eq!(read.resolve(&arena), expected);
        }
    }

    #[test]
    fn only_json_is_taken(text in "[\\[\\]{}\",:0-9.eE+\\-tfn \\\\ua-f]{0,24}") {
        let standard = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
        prop_assert_eq!(whole(&text).is_some(), standard, "{}", text);
    }

    #[test]
    fn strings_are_written_as_serde_json_reads_them(text in ".{0,40}") {
        let mut out = Vec::new();
        write::write_text(&text, &mut out);
        prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), text in "[\\[\\]{}\",:0-9idn\\\\u ]{0,60}") {
        for input in [bytes.as_slice(), text.as_bytes()] {
            let _ = (message(input), rows(&ignoring(), &ID, true, input));
        }
    }

    #[test]
    fn rows_survive_writing_and_reading(id in any::<i64>(), n in ".{0,30}", millis in -10_i64.pow(13)..10_i64.pow(13)) {
        let types = [("id", Type::BigInt), ("n", Type::STRING), ("t", Type::Timestamp(3))];
        let row = [Datum::Int(id), Datum::Str(&n), Datum::Timestamp(Timestamp::from_millis(millis))];
        let mut out = Vec::new();
        JsonWriter::new(&options(), fields(&types)).unwrap().write(&row, &mut out).unwrap();
        let expected: Vec<_> = row.iter().map(|datum| Some(Value::from(*datum))).collect();
        prop_assert_eq!(rows(&options(), &types, false, &out), Ok(vec![expected]));
    }
}

#[test]
fn nested_rows_are_written_with_their_names() {
    let ty = Type::Row(vec![Field { name: "a".into(), ty: DataType { kind: Type::Int, nullable: true } }]);
    let value = Value::Row(vec![Value::Int(1)]);
    assert_eq!(plain(&ty, &value), "{\"a\":1}");
    let mut bytes = Vec::new();
    nested::encode(&value, &mut bytes);
    let reread = strict(&ty, "{\"a\":1}").unwrap();
    assert_eq!(reread, nested::decode(&bytes).unwrap());
}
