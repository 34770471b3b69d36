//! Flink's csv behaviour, hostile lines, and what rows look like as csv.

use proptest::prelude::*;

use super::*;
use crate::model::{Decimal, Field, Timestamp, Value};

fn options() -> CsvOptions {
    CsvOptions {
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
    }
}

fn ignoring() -> CsvOptions {
    CsvOptions { ignore_parse_errors: true, ..options() }
}

fn fields(types: &[Type]) -> Vec<FieldSpec> {
    let field = |(column, ty): (usize, &Type)| FieldSpec {
        name: format!("f{column}"),
        column,
        ordinal: column,
        ty: ty.clone().nullable(),
    };
    types.iter().enumerate().map(field).collect()
}

type Row = Vec<Value>;

/// The row of a message, `Ok(None)` if it was dropped, or the reason for a fault.
fn read(options: &CsvOptions, types: &[Type], lossy: bool, bytes: &[u8]) -> Result<Option<Row>, Reason> {
    let reader = CsvReader::new(options, fields(types), (types.len(), types.len()), lossy).unwrap();
    let arena = Bump::new();
    let mut row = None;
    let read = reader.read(bytes, &arena, |fields| {
        row = Some(fields.values.iter().map(|datum| Value::from(*datum)).collect());
        Ok(())
    });
    read.map(|_| row).map_err(|fault| fault.reason)
}

const ROW: [Type; 3] = [Type::STRING, Type::Int, Type::STRING];

fn text(value: &str) -> Value {
    Value::Str(value.into())
}

fn row(a: &str, b: i64, c: &str) -> Result<Option<Row>, Reason> {
    Ok(Some(vec![text(a), Value::Int(b), text(c)]))
}

fn strict(line: &str) -> Result<Option<Row>, Reason> {
    read(&options(), &ROW, false, line.as_bytes())
}

fn lenient(line: &str) -> Result<Option<Row>, Reason> {
    read(&ignoring(), &ROW, false, line.as_bytes())
}

#[test]
fn lines_as_flink_reads_them() {
    assert_eq!(strict("a,1,b"), row("a", 1, "b"));
    assert_eq!(strict("a,1,b\r\n"), row("a", 1, "b"));
    assert_eq!(strict("a,1,b\nc,2,d"), row("a", 1, "b"), "only the first line");
    assert_eq!(strict("a, 1 ,b "), row("a", 1, "b "), "numbers are trimmed, text is not");
    assert_eq!(strict("a,1,"), row("a", 1, ""), "an empty field is not NULL");
    assert_eq!(strict("a,1,b,"), row("a", 1, "b"), "one trailing delimiter");
    assert_eq!(strict("\"a,x\",1,\"q\"\"q\""), row("a,x", 1, "q\"q"));
    assert_eq!(strict("\"a\nb\" ,1,c"), row("a\nb", 1, "c"));
    assert_eq!(strict("a,       12          ,b"), row("a", 12, "b"));
    for line in
        ["a,,b", "a,1", "", "\n", "a,1,b,c", "a,1.5,b", "a,abc,b", "a,null,b", "\"a,1,b", "\"a\"x,1,b"]
    {
        assert_eq!(strict(line), Err(Reason::Malformed), "{line}");
    }
    assert_eq!(strict("a,2147483648,b"), Err(Reason::ValueOutOfRange));
    assert_eq!(read(&options(), &ROW, false, b"a,1,\xff"), Err(Reason::Malformed));
}

#[test]
fn lines_under_ignore_parse_errors() {
    let some = |a: &str, c: Value| Ok(Some(vec![text(a), Value::Null, c]));
    assert_eq!(lenient("Test"), some("Test", Value::Null));
    assert_eq!(lenient("a,,b"), some("a", text("b")));
    assert_eq!(lenient("Test,null,Test"), some("Test", text("Test")));
    assert_eq!(lenient("\n"), some("", Value::Null));
    assert_eq!(lenient(""), Ok(None));
    assert_eq!(lenient("Test,12,Test,Test"), Ok(None), "an extra column drops the row");
    let counted = CsvOptions { fail_on_missing_columns: true, ..ignoring() };
    assert_eq!(read(&counted, &ROW, false, b"Test"), Ok(None));
}

#[test]
fn null_literals_and_empty_strings() {
    let literal = CsvOptions { null_literal: Some("NULL".into()), ..options() };
    let nulls = Ok(Some(vec![Value::Null, Value::Null, text("")]));
    assert_eq!(read(&literal, &ROW, false, b"\"NULL\",NULL,"), nulls, "also when quoted");
    let empty = CsvOptions { empty_string_as_null: true, ..options() };
    assert_eq!(read(&empty, &ROW, false, b",,"), Ok(Some(vec![Value::Null; 3])));
}

#[test]
fn dialects() {
    let with = |options: CsvOptions, line: &str| read(&options, &ROW, false, line.as_bytes());
    assert_eq!(with(CsvOptions { allow_comments: true, ..options() }, "#x,1,y"), Err(Reason::Malformed));
    assert_eq!(with(CsvOptions { allow_comments: true, ..ignoring() }, "#Test,12,Test"), Ok(None));
    assert_eq!(with(CsvOptions { allow_comments: true, ..options() }, "#x\n\na,1,b"), row("a", 1, "b"));
    assert_eq!(strict("#Test,12,Test"), row("#Test", 12, "Test"));
    assert_eq!(with(CsvOptions { field_delimiter: ';', ..options() }, "a;1;b,c"), row("a", 1, "b,c"));
    assert_eq!(with(CsvOptions { field_delimiter: '\u{1}', ..options() }, "a\u{1}1\u{1}b"), row("a", 1, "b"));
    assert_eq!(with(CsvOptions { field_delimiter: '§', ..options() }, "a§1§b"), row("a", 1, "b"));
    assert_eq!(with(CsvOptions { quote: None, ..options() }, "5\" pipe,1,\"b"), row("5\" pipe", 1, "\"b"));
    assert_eq!(with(CsvOptions { quote: Some('\''), ..options() }, "'a,''b',1,\"c"), row("a,'b", 1, "\"c"));
    let escape = CsvOptions { escape: Some('\\'), ..options() };
    assert_eq!(with(escape.clone(), "a\\,\\n\\\\x,1,\"\\\"q\\\"\""), row("a,\n\\x", 1, "\"q\""));
    assert_eq!(with(escape, "a\\"), Err(Reason::Malformed));
    assert_eq!(with(CsvOptions { trim_spaces: true, ..options() }, " a , 1 , \" b \" "), row("a", 1, " b "));
    let more = CsvOptions { ignore_trailing_unmappable: true, ..options() };
    assert_eq!(with(more, "a,1,b,c,d"), row("a", 1, "b"));
    assert_eq!(
        with(CsvOptions { allow_trailing_comma: false, ..options() }, "a,1,b,"),
        Err(Reason::Malformed)
    );
}

fn value(ty: Type, text: &str, lossy: bool) -> Result<Value, Reason> {
    read(&options(), &[ty], lossy, text.as_bytes()).map(|row| row.unwrap().remove(0))
}

#[test]
fn types() {
    let at = |millis| Ok(Value::Timestamp(Timestamp::from_millis(millis)));
    assert_eq!(value(Type::Boolean, "true", false), Ok(Value::Bool(true)));
    assert_eq!(value(Type::Boolean, "yes", false), Err(Reason::LossyConversion));
    assert_eq!(value(Type::Boolean, "yes", true), Ok(Value::Bool(false)));
    let money = Type::Decimal { precision: 10, scale: 2 };
    assert_eq!(value(money.clone(), "1.239", false), Ok(Value::Decimal(Decimal::new(124, 2))));
    assert_eq!(value(money.clone(), "123456789.1", false), Err(Reason::ValueOutOfRange));
    assert_eq!(value(money, "123456789.1", true), Ok(Value::Null));
    assert_eq!(value(Type::Date, "2020-01-02", false), Ok(Value::Date(18_263)));
    assert_eq!(value(Type::Time(2), "12:12:12.232312", false), Ok(Value::Time(43_932_230)));
    assert_eq!(value(Type::Timestamp(3), "2020-01-02 03:04:05.5", false), at(1_577_934_245_500));
    assert_eq!(value(Type::Timestamp(3), "2020-01-02T03:04:05", false), Err(Reason::Malformed));
    assert_eq!(value(Type::TimestampLtz(3), "2020-01-02 03:04:05Z", false), at(1_577_934_245_000));
    assert_eq!(value(Type::TimestampLtz(3), "2020-01-02 03:04:05", false), Err(Reason::Malformed));
    assert_eq!(value(Type::BYTES, "AQID", false), Ok(Value::Bytes(vec![1, 2, 3])));
    assert_eq!(value(Type::Double, "1.5", false), Ok(Value::Double(1.5)));
    let array = Type::Array(Box::new(Type::Int.nullable()));
    let items = Value::Array(vec![Value::Int(1), Value::Int(2), Value::Int(3)]);
    assert_eq!(value(array.clone(), "1;2;3", false), Ok(items));
    let nested = Type::Row(vec![
        Field { name: "a".into(), ty: Type::Int.nullable() },
        Field { name: "b".into(), ty: Type::STRING.nullable() },
    ]);
    assert_eq!(value(nested.clone(), "7;z", false), Ok(Value::Row(vec![Value::Int(7), text("z")])));
    assert_eq!(value(nested, "7", false), Err(Reason::Malformed));
    let refused = [Type::Time(6), Type::Array(Box::new(array.nullable()))];
    for ty in refused {
        assert!(CsvReader::new(&options(), fields(&[ty]), (1, 1), false).is_err());
    }
}

#[test]
fn a_fault_for_an_empty_number_says_what_null_is() {
    let reader = CsvReader::new(&options(), fields(&ROW), (3, 3), false).unwrap();
    let fault = reader.read(b"a,,b", &Bump::new(), |_| Ok(())).unwrap_err();
    assert_eq!(fault.column.as_deref(), Some("f1"));
    assert!(fault.remedy.contains("csv.null-literal"), "{}", fault.remedy);
}

fn written(options: &CsvOptions, types: &[Type], row: &[Value]) -> String {
    let mut writer = CsvWriter::new(options, fields(types)).unwrap();
    let mut out = Vec::new();
    let mut datums = Vec::new();
    with_all(row, &mut datums, &mut |datums| writer.write(datums, &mut out));
    String::from_utf8(out).unwrap()
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

fn one(options: &CsvOptions, ty: Type, value: Value) -> String {
    written(options, &[ty], &[value])
}

#[test]
fn rows_as_csv() {
    assert_eq!(written(&options(), &ROW, &[text("a"), Value::Int(1), Value::Null]), "a,1,");
    for (plain, quoted) in [
        ("abc-d.e", "abc-d.e"),
        ("", ""),
        ("a b", "\"a b\""),
        ("a,b", "\"a,b\""),
        ("q\"q", "\"q\"\"q\""),
        ("a\nb", "\"a\nb\""),
        ("#x", "\"#x\""),
        ("abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"),
        ("abcdefghijklmnopqrstuvwxy", "\"abcdefghijklmnopqrstuvwxy\""),
    ] {
        assert_eq!(one(&options(), Type::STRING, text(plain)), quoted);
    }
    let at = Value::Timestamp(Timestamp::from_millis(1_577_934_245_600));
    assert_eq!(one(&options(), Type::Timestamp(3), at.clone()), "\"2020-01-02 03:04:05.6\"");
    assert_eq!(one(&options(), Type::TimestampLtz(3), at), "\"2020-01-02 03:04:05.6Z\"");
    assert_eq!(one(&options(), Type::Date, Value::Date(18_263)), "2020-01-02");
    assert_eq!(one(&options(), Type::Double, Value::Double(1e20)), "1.0E20");
    let null = CsvOptions { null_literal: Some("n/a".into()), ..options() };
    assert_eq!(one(&null, Type::Int, Value::Null), "n/a");
    let bare = CsvOptions { quote: None, ..options() };
    assert_eq!(one(&bare, Type::STRING, text("a b")), "a b");
    let escape = CsvOptions { escape: Some('\\'), ..options() };
    assert_eq!(one(&escape, Type::STRING, text("a\\b")), "\"a\\\\b\"");
}

#[test]
fn decimals_and_nested_values_as_csv() {
    let money = Type::Decimal { precision: 10, scale: 2 };
    let flink = CsvOptions { decimal_in_scientific_notation: true, ..options() };
    let decimal = |unscaled| Value::Decimal(Decimal::new(unscaled, 2));
    assert_eq!(one(&options(), money.clone(), decimal(10_000)), "100.00");
    assert_eq!(one(&flink, money.clone(), decimal(10_000)), "1E+2");
    assert_eq!(one(&flink, money, decimal(0)), "0.00");
    let array = Type::Array(Box::new(Type::Int.nullable()));
    let items = Value::Array(vec![Value::Int(1), Value::Null, Value::Int(3)]);
    assert_eq!(one(&options(), array, items), "1;;3");
    let nested = Type::Row(vec![
        Field { name: "a".into(), ty: Type::Int.nullable() },
        Field { name: "b".into(), ty: Type::STRING.nullable() },
    ]);
    assert_eq!(one(&options(), nested, Value::Row(vec![Value::Int(7), text("z w")])), "\"7;z w\"");
}

proptest! {
    #[test]
    fn no_line_panics(bytes in prop::collection::vec(any::<u8>(), 0..40), line in "[a1\",;\\\\ \n\r#']{0,30}") {
        let odd = CsvOptions {
            escape: Some('\\'), allow_comments: true, trim_spaces: true, field_delimiter: ';', ..ignoring()
        };
        for input in [bytes.as_slice(), line.as_bytes()] {
            let _ = (strict(&String::from_utf8_lossy(input)), read(&odd, &ROW, true, input));
        }
    }

    #[test]
    fn rows_survive_writing_and_reading(a in ".{0,30}", b in any::<i32>(), c in "[a\",\n\\\\ ]{0,10}", escape in any::<bool>()) {
        let options = CsvOptions { escape: escape.then_some('\\'), ..options() };
        let values = [text(&a), Value::Int(b.into()), text(&c)];
        let line = written(&options, &ROW, &values);
        prop_assert_eq!(read(&options, &ROW, false, line.as_bytes()), Ok(Some(values.to_vec())), "{}", line);
    }

    /// A strict reader of the standard gives the same fields for lines that a strict writer makes.
    #[test]
    fn standard_lines_read_as_csv_core_reads_them(fields in prop::collection::vec("[a-z,\" \n]{0,8}", 1..6)) {
        let quoted: Vec<String> = fields.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect();
        let line = quoted.join(",");
        let arena = Bump::new();
        let read = split::fields(&line, Dialect::of(&options()), &arena).unwrap();
        prop_assert_eq!(read.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>(), core_fields(&line));
    }
}

fn core_fields(line: &str) -> Vec<String> {
    let (mut reader, mut fields, mut field) = (csv_core::Reader::new(), Vec::new(), Vec::new());
    let mut input = line.as_bytes();
    loop {
        let mut buffer = [0; 8];
        let (result, read, wrote) = reader.read_field(input, &mut buffer);
        input = &input[read..];
        field.extend_from_slice(&buffer[..wrote]);
        match result {
            csv_core::ReadFieldResult::Field { .. } => {
                fields.push(String::from_utf8(std::mem::take(&mut field)).unwrap())
            }
            csv_core::ReadFieldResult::End => return fields,
            csv_core::ReadFieldResult::InputEmpty | csv_core::ReadFieldResult::OutputFull => {}
        }
    }
}
