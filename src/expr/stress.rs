//! Every function and operator over values at the edges of every type: nothing
//! may panic, overflow or produce a value that is not of the type it promised.

use bumpalo::Bump;

use super::{Column, Expression, Scope, Settings, functions};
use crate::model::{DataType, Datum, Decimal, Timestamp, Type};

/// Type, name and values at the edges.
fn columns() -> Vec<(Type, Vec<Datum<'static>>)> {
    let decimal = |digits: i128, scale| Datum::Decimal(Decimal::new(digits, scale));
    let nines = 10_i128.pow(38) - 1;
    let at = |millis, nanos| Datum::Timestamp(Timestamp { millis, nanos });
    vec![
        (Type::TinyInt, vec![Datum::Int(-128), Datum::Int(127), Datum::Int(0)]),
        (Type::Int, vec![Datum::Int(i32::MIN.into()), Datum::Int(i32::MAX.into()), Datum::Int(-1)]),
        (Type::BigInt, vec![Datum::Int(i64::MIN), Datum::Int(i64::MAX), Datum::Int(1)]),
        (Type::Float, vec![Datum::Float(f32::NAN), Datum::Float(f32::MAX), Datum::Float(-0.0)]),
        (
            Type::Double,
            vec![Datum::Double(f64::NEG_INFINITY), Datum::Double(f64::MIN_POSITIVE), Datum::Double(1e300)],
        ),
        (
            Type::Decimal { precision: 38, scale: 0 },
            vec![decimal(nines, 0), decimal(-nines, 0), decimal(0, 0)],
        ),
        (
            Type::Decimal { precision: 38, scale: 38 },
            vec![decimal(nines, 38), decimal(-1, 38), decimal(5, 38)],
        ),
        (
            Type::STRING,
            vec![Datum::Str(""), Datum::Str("\u{1F600}a%_\\é"), Datum::Str("2024-02-29 23:59:59.999")],
        ),
        (Type::Char(3), vec![Datum::Str("a  "), Datum::Str("999"), Datum::Str("yes")]),
        (Type::BYTES, vec![Datum::Bytes(&[]), Datum::Bytes(&[255, 0]), Datum::Bytes(b"abc")]),
        (Type::Boolean, vec![Datum::Bool(true), Datum::Bool(false), Datum::Null]),
        (Type::Date, vec![Datum::Date(i32::MIN), Datum::Date(i32::MAX), Datum::Date(-1)]),
        (Type::Time(0), vec![Datum::Time(0), Datum::Time(86_399_999), Datum::Null]),
        (Type::Timestamp(3), vec![at(i64::MIN, 0), at(i64::MAX, 999_999), at(-1, 1)]),
        (Type::TimestampLtz(3), vec![at(i64::MAX, 999_999), at(i64::MIN, 0), at(1_730_613_600_000, 0)]),
    ]
}

/// Constants that stand beside the columns.
const CONSTANTS: [&str; 8] = [
    "-2147483648",
    "0",
    "2",
    "'%'",
    "'yyyy-MM-dd'",
    "INTERVAL '99' YEAR",
    "INTERVAL '-99' DAY",
    "CAST(NULL AS INT)",
];

const UNITS: [&str; 8] = ["MILLISECOND", "SECOND", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "MILLENNIUM"];

struct Stress {
    scope: Scope,
    rows: Vec<Vec<Datum<'static>>>,
    compiled: usize,
    faults: Vec<String>,
}

impl Stress {
    fn new() -> Self {
        let columns = columns();
        let column = |(i, (kind, values)): (usize, &(Type, Vec<Datum<'static>>))| Column {
            qualifier: String::new(),
            name: format!("c{i}"),
            ty: DataType { kind: kind.clone(), nullable: values.contains(&Datum::Null) },
        };
        let scope = Scope { columns: columns.iter().enumerate().map(column).collect() };
        // Row r, shifted by s, pairs each edge with each.
        let row = |r: usize, s: usize| {
            let pick =
                |(i, (_, values)): (usize, &(Type, Vec<Datum<'static>>))| values[(r + s * i) % values.len()];
            columns.iter().enumerate().map(pick).collect()
        };
        let rows = (0..3).flat_map(|r| (0..2).map(move |s| (r, s))).map(|(r, s)| row(r, s)).collect();
        Self { scope, rows, compiled: 0, faults: Vec::new() }
    }

    fn operands(&self) -> Vec<String> {
        let columns = self.scope.columns.iter().map(|c| c.name.clone());
        columns.chain(CONSTANTS.iter().map(|c| (*c).to_owned())).collect()
    }

    fn finish(&self) {
        assert!(self.compiled > 1000, "{}", self.compiled);
        assert!(self.faults.is_empty(), "{}", self.faults.join("\n"));
    }

    fn run(&mut self, text: &str) {
        let settings = Settings { time_zone: "America/New_York".to_owned() };
        let compile = || Expression::compile(text, &self.scope, &settings);
        let expression = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(compile)) {
            Ok(Ok(expression)) => expression,
            Ok(Err(_)) => return,
            Err(_) => return self.faults.push(format!("{text} panics when compiled")),
        };
        self.compiled += 1;
        let mut arena = Bump::new();
        for row in &self.rows {
            let eval = || expression.eval(&row[..], &arena);
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(eval)) {
                Err(_) => self.faults.push(format!("{text} panics in {row:?}")),
                Ok(Ok(value)) if !belongs(value, expression.ty()) => {
                    self.faults.push(format!("{text}: {value:?} is not {} in {row:?}", expression.ty()));
                }
                Ok(_) => {}
            }
            arena.reset();
        }
    }
}

/// Whether a value is one of the type.
fn belongs(value: Datum<'_>, ty: &DataType) -> bool {
    match (value, &ty.kind) {
        (Datum::Null, _) => ty.nullable,
        (Datum::Int(v), kind) => kind.integer_range().is_some_and(|(min, max)| (min..=max).contains(&v)),
        (Datum::Decimal(v), Type::Decimal { precision, scale }) => v.scale() == *scale && v.fits(*precision),
        (Datum::Str(v), Type::Char(n)) => v.chars().count() == *n as usize,
        (Datum::Str(v), Type::Varchar(n)) => v.chars().count() <= *n as usize,
        (Datum::Bytes(v), Type::Binary(n)) => v.len() == *n as usize,
        (Datum::Bytes(v), Type::Varbinary(n)) => v.len() <= *n as usize,
        (Datum::Timestamp(v), Type::Timestamp(_) | Type::TimestampLtz(_)) => v.nanos < 1_000_000,
        (Datum::Time(v), Type::Time(_)) => (0..86_400_000).contains(&v),
        (Datum::Bool(_), Type::Boolean)
        | (Datum::Float(_), Type::Float)
        | (Datum::Double(_), Type::Double)
        | (Datum::Date(_), Type::Date)
        | (Datum::Months(_), Type::IntervalMonths)
        | (Datum::Millis(_), Type::IntervalMillis) => true,
        _ => false,
    }
}

#[test]
fn operators_and_casts_at_the_edges() {
    let mut stress = Stress::new();
    let operands = stress.operands();
    for a in &operands {
        for b in &operands {
            for operator in ["+", "-", "*", "/", "%", "=", "<", "||", "LIKE", "IS DISTINCT FROM", "IN"] {
                let right = if operator == "IN" { format!("({b}, {b})") } else { b.clone() };
                stress.run(&format!("{a} {operator} {right}"));
            }
            for call in ["COALESCE", "GREATEST", "NULLIF", "MOD"] {
                stress.run(&format!("{call}({a}, {b})"));
            }
            stress.run(&format!("CASE WHEN c10 THEN {a} ELSE {b} END"));
            stress.run(&format!("({a} - {b}) DAY"));
        }
        for ty in [
            "BOOLEAN",
            "TINYINT",
            "INT",
            "BIGINT",
            "FLOAT",
            "DOUBLE",
            "DECIMAL(38, 0)",
            "DECIMAL(38, 38)",
            "DECIMAL(5, 2)",
            "CHAR(4)",
            "VARCHAR(2)",
            "STRING",
            "BINARY(3)",
            "VARBINARY(1)",
            "DATE",
            "TIME",
            "TIMESTAMP(0)",
            "TIMESTAMP(9)",
            "TIMESTAMP_LTZ(3)",
        ] {
            stress.run(&format!("CAST({a} AS {ty})"));
            stress.run(&format!("TRY_CAST({a} AS {ty})"));
        }
        stress.run(&format!("- {a}"));
    }
    stress.finish();
}

#[test]
fn functions_at_the_edges() {
    let mut stress = Stress::new();
    let operands = stress.operands();
    for (name, least, most) in functions::signatures() {
        for count in least..=most.min(3) {
            // Every third operand is enough where three stand together.
            let operands: Vec<&String> = operands.iter().step_by(if count == 3 { 3 } else { 1 }).collect();
            let combinations = operands.len().pow(u32::try_from(count).unwrap());
            for combination in 0..combinations {
                let pick =
                    |i: usize| operands[combination / operands.len().pow(i as u32) % operands.len()].as_str();
                let args: Vec<&str> = (0..count).map(pick).collect();
                stress.run(&format!("{name}({})", args.join(", ")));
            }
        }
    }
    for a in &operands {
        for unit in UNITS {
            for form in ["EXTRACT({u} FROM {a})", "FLOOR({a} TO {u})", "CEIL({a} TO {u})"] {
                stress.run(&form.replace("{u}", unit).replace("{a}", a));
            }
            for b in &operands {
                stress.run(&format!("TIMESTAMPADD({unit}, {a}, {b})"));
                stress.run(&format!("TIMESTAMPDIFF({unit}, {a}, {b})"));
            }
        }
    }
    stress.finish();
}
