//! Runs every line of `tests/vectors/expressions.txt`, whose head explains the
//! form: once over columns, where type and value must be the line's, and once
//! with the columns' values written into the expression as constants, where the
//! value must be the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bumpalo::Bump;
use lookaside::expr::{Column, Expression, Scope, Settings, parse_type};
use lookaside::model::civil::{self, days_from_civil};
use lookaside::model::{DataType, Datum, Decimal, Timestamp, Type, Value, javanum};

/// Lines per group. Flink printed 712 expressions; functions that this version
/// leaves out are not here (regular expressions, JSON, URLs, codecs, the current
/// time), those with two zones stand twice.
const LINES: [(u32, usize); 32] = [
    (1, 19),
    (2, 21),
    (3, 10),
    (4, 15),
    (5, 11),
    (6, 22),
    (7, 43),
    (8, 19),
    (9, 30),
    (10, 29),
    (11, 25),
    (12, 28),
    (13, 32),
    (14, 12),
    (15, 10),
    (16, 36),
    (17, 15),
    (18, 12),
    (19, 9),
    (20, 28),
    (21, 24),
    (22, 31),
    (24, 2),
    (26, 19),
    (27, 11),
    (28, 17),
    (29, 9),
    (30, 18),
    (31, 22),
    (32, 9),
    (33, 14),
    (34, 54),
];

/// One line of the file.
struct Vector {
    line: usize,
    group: u32,
    expression: String,
    operands: Vec<Operand>,
    /// `None` if the expression is refused.
    ty: Option<String>,
    value: String,
    /// The value over constants.
    constant: String,
    zones: Vec<String>,
}

/// A column: its value as the line writes it, and as it is.
struct Operand {
    literal: String,
    ty: DataType,
    value: Value,
}

#[test]
fn every_vector_holds_over_columns_and_as_constants() {
    let vectors = vectors();
    let mut faults = Vec::new();
    for vector in &vectors {
        for zone in &vector.zones {
            let settings = Settings { time_zone: zone.clone() };
            let mut note = |form: &str, outcome: Result<(), String>| {
                if let Err(fault) = outcome {
                    let Vector { line, expression, .. } = vector;
                    faults.push(format!("line {line}, {zone}, {form}: {expression}\n    {fault}"));
                }
            };
            note("columns", over_columns(vector, &settings));
            note("constants", as_constants(vector, &settings));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn no_vector_is_missing() {
    let mut counted = BTreeMap::new();
    for vector in vectors() {
        *counted.entry(vector.group).or_insert(0) += 1;
    }
    assert_eq!(counted.into_iter().collect::<Vec<_>>(), LINES);
}

fn over_columns(vector: &Vector, settings: &Settings) -> Result<(), String> {
    let column = |(i, operand): (usize, &Operand)| Column {
        qualifier: "t".to_owned(),
        name: format!("c{i}"),
        ty: operand.ty.clone(),
    };
    let scope = Scope { columns: vector.operands.iter().enumerate().map(column).collect() };
    let compiled = Expression::compile(&vector.expression, &scope, settings);
    let expected_type = match &vector.ty {
        Some(ty) => ty,
        None => return refused(compiled),
    };
    let compiled = compiled.map_err(|error| format!("refused: {error}"))?;
    same("type", expected_type, &type_text(compiled.ty()))?;
    with_row(&vector.operands, &[], &mut |row| outcome_is(&vector.value, &compiled, row))
}

fn as_constants(vector: &Vector, settings: &Settings) -> Result<(), String> {
    let text = with_constants(vector);
    let compiled = Expression::compile(&text, &Scope::default(), settings);
    match compiled {
        compiled if vector.constant == "rejected" => refused(compiled),
        // What fails for every row may as well fail at once.
        Err(_) if vector.constant.starts_with("fault") => Ok(()),
        Err(error) => Err(format!("{text} is refused: {error}")),
        Ok(compiled) => outcome_is(&vector.constant, &compiled, &[]),
    }
}

fn refused(compiled: Result<Expression, lookaside::expr::CompileError>) -> Result<(), String> {
    match compiled {
        Ok(compiled) => Err(format!("must be refused, but is a {}", type_text(compiled.ty()))),
        Err(error) if error.message.is_empty() => Err("refused without a message".to_owned()),
        Err(_) => Ok(()),
    }
}

fn outcome_is(expected: &str, compiled: &Expression, row: &[Datum<'_>]) -> Result<(), String> {
    let arena = Bump::new();
    let outcome = match compiled.eval(row, &arena) {
        Ok(value) => value_text(value, &compiled.ty().kind),
        Err(fault) if fault.detail.is_empty() => {
            return Err(format!("fault {} without a detail", fault.reason));
        }
        Err(fault) => format!("fault {}", fault.reason),
    };
    same("value", expected, &outcome)
}

fn same(what: &str, expected: &str, found: &str) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{what}: expected {expected}, found {found}")) }
}

/// Turns the values into borrowed ones, one after the other, and calls `use_it` with all.
fn with_row(
    operands: &[Operand],
    row: &[Datum<'_>],
    use_it: &mut dyn FnMut(&[Datum<'_>]) -> Result<(), String>,
) -> Result<(), String> {
    match operands.split_first() {
        None => use_it(row),
        Some((first, rest)) => first.value.with_datum(|datum| {
            let longer: Vec<Datum<'_>> = row.iter().copied().chain([datum]).collect();
            with_row(rest, &longer, use_it)
        }),
    }
}

/// The expression with `CAST('7' AS INT)` where `c0` stands.
fn with_constants(vector: &Vector) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut rest = vector.expression.as_str();
    while let Some(c) = rest.chars().next() {
        quoted ^= c == '\'';
        let digits = rest[1.min(rest.len())..].bytes().take_while(u8::is_ascii_digit).count();
        if !quoted && c == 'c' && digits > 0 && !out.ends_with(|c: char| c.is_alphanumeric()) {
            let operand = &vector.operands[rest[1..=digits].parse::<usize>().unwrap()];
            let literal = match operand.literal.as_str() {
                bare if bare == "NULL" || bare.ends_with('\'') => bare.to_owned(),
                other => format!("'{other}'"),
            };
            out.push_str(&format!("CAST({literal} AS {})", operand.ty.kind));
            rest = &rest[1 + digits..];
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

fn vectors() -> Vec<Vector> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/expressions.txt");
    let text = fs::read_to_string(path).unwrap();
    let is_vector = |line: &str| !line.is_empty() && !line.starts_with('#');
    let lines = text.lines().enumerate().filter(|(_, line)| is_vector(line));
    lines.map(|(i, line)| vector(i + 1, line)).collect()
}

fn vector(line: usize, text: &str) -> Vector {
    let fields: Vec<&str> = text.split(" ¦ ").collect();
    let [group, expression, operands, ty, value, marks @ ..] = fields.as_slice() else {
        panic!("line {line} has too few fields: {text}");
    };
    let mut zones = vec!["UTC".to_owned()];
    let mut constant = *value;
    for mark in marks {
        match mark.split_once(": ") {
            Some(("zone", names)) => zones = names.split(", ").map(str::to_owned).collect(),
            Some(("constants", other)) => constant = other,
            Some(("differs" | "flink", _)) => {}
            _ => panic!("line {line} has an unknown mark: {mark}"),
        }
    }
    assert_eq!(*ty == "-", *value == "rejected", "line {line}: only a refused expression has no type");
    Vector {
        line,
        group: group.parse().unwrap(),
        expression: (*expression).to_owned(),
        operands: if *operands == "-" { Vec::new() } else { split_operands(operands) },
        ty: (*ty != "-").then(|| (*ty).to_owned()),
        value: (*value).to_owned(),
        constant: constant.to_owned(),
        zones,
    }
}

/// Splits at commas outside quotes and parentheses.
fn split_operands(text: &str) -> Vec<Operand> {
    let (mut parts, mut depth, mut quoted, mut from) = (Vec::new(), 0, false, 0);
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 2;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts.into_iter().map(operand).collect()
}

fn operand(text: &str) -> Operand {
    let (literal, ty) = text.rsplit_once(':').unwrap();
    let nullable = ty.ends_with('?') || literal == "NULL";
    let kind = parse_type(ty.trim_end_matches('?')).unwrap_or_else(|error| panic!("{text}: {error}")).kind;
    let value = if literal == "NULL" { Value::Null } else { value(literal, &kind) };
    Operand { literal: literal.to_owned(), ty: DataType { kind, nullable }, value }
}

fn value(literal: &str, kind: &Type) -> Value {
    match kind {
        Type::Boolean => Value::Bool(literal == "TRUE"),
        Type::TinyInt | Type::SmallInt | Type::Int | Type::BigInt => Value::Int(literal.parse().unwrap()),
        Type::Float => Value::Float(literal.parse().unwrap()),
        Type::Double => Value::Double(literal.parse().unwrap()),
        Type::Decimal { scale, .. } => {
            Value::Decimal(Decimal::parse(literal).and_then(|number| number.rescale(*scale)).unwrap())
        }
        Type::Char(length) => {
            let length = *length as usize;
            Value::Str(format!("{:<length$}", unquoted(literal)))
        }
        Type::Varchar(_) => Value::Str(unquoted(literal)),
        Type::Binary(_) | Type::Varbinary(_) => {
            let digits = literal.trim_start_matches('x').trim_matches('\'');
            let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            Value::Bytes((0..digits.len()).step_by(2).map(byte).collect())
        }
        Type::Date => Value::Date(i32::try_from(days(literal)).unwrap()),
        Type::Time(_) => Value::Time(i32::try_from(nanos_of_day(literal) / 1_000_000).unwrap()),
        Type::Timestamp(_) | Type::TimestampLtz(_) => {
            let (date, time) = literal.split_once(' ').unwrap();
            let nanos = nanos_of_day(time);
            let millis = days(date) * civil::MILLIS_PER_DAY + nanos / 1_000_000;
            Value::Timestamp(Timestamp { millis, nanos: u32::try_from(nanos % 1_000_000).unwrap() })
        }
        other => panic!("no column of type {other} in the vectors"),
    }
}

/// `'it''s'` or `U&'\000a'` without its dress.
fn unquoted(literal: &str) -> String {
    let inner = literal.trim_start_matches("U&").strip_prefix('\'').unwrap().strip_suffix('\'').unwrap();
    let inner = inner.replace("''", "'");
    if !literal.starts_with("U&") {
        return inner;
    }
    let mut parts = inner.split('\\');
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (code, rest) = part.split_at(4);
        out.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        out.push_str(rest);
    }
    out
}

fn days(date: &str) -> i64 {
    let parts: Vec<i64> = date.split('-').map(|part| part.parse().unwrap()).collect();
    days_from_civil(parts[0], u32::try_from(parts[1]).unwrap(), u32::try_from(parts[2]).unwrap())
}

fn nanos_of_day(time: &str) -> i64 {
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let seconds = clock.split(':').fold(0, |sum, part| sum * 60 + part.parse::<i64>().unwrap());
    seconds * 1_000_000_000 + format!("{fraction:0<9}").parse::<i64>().unwrap()
}

fn type_text(ty: &DataType) -> String {
    format!("{}{}", ty.kind, if ty.nullable { "?" } else { "" })
}

fn value_text(value: Datum<'_>, kind: &Type) -> String {
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    };
    match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Bool(known) => known.to_string().to_uppercase(),
        Datum::Int(number) => number.to_string(),
        Datum::Float(number) => written(&|out| javanum::write_float(number, out)),
        Datum::Double(number) => written(&|out| javanum::write_double(number, out)),
        Datum::Decimal(number) => number.to_string(),
        Datum::Str(text) => format!("'{}'", escaped(text)),
        Datum::Bytes(bytes) => {
            format!("x'{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        Datum::Date(days) => written(&|out| civil::write_date(days.into(), out)),
        Datum::Time(millis) => written(&|out| civil::write_time(millis.into(), 0, out)),
        Datum::Timestamp(at) => {
            let digits = civil::fraction_digits(at.nano_of_second()).next_multiple_of(3);
            let zone = if matches!(kind, Type::TimestampLtz(_)) { "Z" } else { "" };
            written(&|out| civil::write_timestamp(at, digits, b' ', out)) + zone
        }
        Datum::Months(months) => format!("P{months}M"),
        Datum::Millis(millis) => {
            assert_eq!(millis % 3_600_000, 0, "the vectors have whole hours");
            format!("PT{}H", millis / 3_600_000)
        }
        Datum::Nested(bytes) => format!("{:?}", lookaside::model::nested::decode(bytes)),
    }
}

fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        c if c.is_control() || c == '\u{fffd}' => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}
