//! The whole engine on small expressions: parsing, typing, evaluation.

use bumpalo::Bump;

use super::{Column, CompileError, Expression, Parsed, Scope, Settings, parse_type};
use crate::model::{DataType, Datum, Type};

fn settings() -> Settings {
    Settings { time_zone: "UTC".to_owned() }
}

fn scope() -> Scope {
    let column = |qualifier: &str, name: &str, ty: DataType| Column {
        qualifier: qualifier.to_owned(),
        name: name.to_owned(),
        ty,
    };
    Scope {
        columns: vec![
            column("orders", "user_id", Type::Int.not_null()),
            column("orders", "amount", Type::BigInt.nullable()),
            column("orders", "name", Type::STRING.nullable()),
            column("u", "id", Type::Int.nullable()),
            column("u", "flag", Type::Boolean.nullable()),
        ],
    }
}

fn compile(text: &str) -> Result<Expression, CompileError> {
    Expression::compile(text, &scope(), &settings())
}

fn eval(text: &str, row: &[Datum<'_>]) -> String {
    let expression = compile(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let arena = Bump::new();
    match expression.eval(row, &arena) {
        Ok(value) => format!("{value:?} {}", expression.ty()),
        Err(error) => format!("{}: {}", error.reason, error.detail),
    }
}

fn constant(text: &str) -> String {
    eval(text, &[])
}

#[test]
fn arithmetic_keeps_types_and_refuses_to_wrap() {
    assert_eq!(constant("1 + 2"), "Int(3) INT NOT NULL");
    assert_eq!(constant("1 + 3000000000"), "Int(3000000001) BIGINT NOT NULL");
    assert_eq!(constant("7 / 2.0"), "Decimal(3.500000) DECIMAL(17, 6) NOT NULL");
    assert_eq!(constant("1.5 + 1"), "Decimal(2.5) DECIMAL(12, 1) NOT NULL");
    let row = [Datum::Int(2_147_483_647)];
    let message = "arithmetic_overflow: 2147483647 + 1 is not within -2147483648 to 2147483647";
    assert_eq!(eval("user_id + 1", &row), message);
    assert_eq!(constant("-9223372036854775808"), "Int(-9223372036854775808) BIGINT NOT NULL");
    assert_eq!(eval("user_id / 0", &row), "division_by_zero: 2147483647 is divided by zero");
}

#[test]
fn logic_is_three_valued_and_stops_early() {
    assert_eq!(constant("TRUE AND UNKNOWN"), "Null BOOLEAN");
    assert_eq!(constant("FALSE AND 1 / 0 = 1"), "Bool(false) BOOLEAN NOT NULL");
    assert_eq!(eval("1 / user_id = 1 AND FALSE", &[Datum::Int(0)]), "division_by_zero: 1 is divided by zero");
    assert_eq!(constant("1 IN (2, NULL)"), "Null BOOLEAN");
    assert_eq!(constant("1 NOT IN (1, NULL)"), "Bool(false) BOOLEAN");
    assert_eq!(constant("5 BETWEEN SYMMETRIC 9 AND 1"), "Bool(true) BOOLEAN NOT NULL");
    assert_eq!(constant("CASE WHEN TRUE THEN 1 ELSE 1 / 0 END"), "Int(1) INT NOT NULL");
    assert_eq!(constant("NOT 1 = 2 AND 1 != 2"), "Bool(true) BOOLEAN NOT NULL");
}

#[test]
fn a_long_list_is_searched() {
    let numbers: Vec<String> = (0..50).map(|i| (i * 37 % 101).to_string()).collect();
    let list = format!("user_id IN ({})", numbers.join(", "));
    for (value, found) in
        [(0, true), (37, true), (1, numbers.contains(&"1".to_owned())), (101, false), (-1, false)]
    {
        assert_eq!(eval(&list, &[Datum::Int(value)]), format!("Bool({found}) BOOLEAN NOT NULL"));
    }
    let names = "name NOT IN ('g', 'b', 'a', 'f', 'c', 'e', 'd', 'h', 'é')";
    let row = |name| [Datum::Null, Datum::Null, name];
    assert_eq!(eval(names, &row(Datum::Str("é"))), "Bool(false) BOOLEAN");
    assert_eq!(eval(names, &row(Datum::Str("ee"))), "Bool(true) BOOLEAN");
    assert_eq!(eval(names, &row(Datum::Null)), "Null BOOLEAN");
}

#[test]
fn columns_are_read_by_position() {
    let row = [Datum::Int(7), Datum::Null, Datum::Str("ann"), Datum::Int(7), Datum::Bool(true)];
    assert_eq!(eval("orders.user_id = u.id", &row), "Bool(true) BOOLEAN");
    assert_eq!(eval("COALESCE(amount, user_id)", &row), "Int(7) BIGINT NOT NULL");
    assert_eq!(eval("`name`", &row), "Str(\"ann\") STRING");
    assert_eq!(compile("u.id + user_id").unwrap().columns(), [0, 3]);
    assert_eq!(compile("u.id + user_id").unwrap().remap(&|i| i + 10).columns(), [10, 13]);
    assert_eq!(compile("(u.id)").unwrap().as_column(), Some(3));
}

#[test]
fn conditions_come_apart() {
    let condition = Parsed::parse("u.id = orders.user_id AND (name <> '' AND (flag OR amount = 1))").unwrap();
    let parts: Vec<String> = condition.conjuncts().iter().map(ToString::to_string).collect();
    assert_eq!(parts, ["u.id = orders.user_id", "name <> ''", "flag OR amount = 1"]);
    let (left, right) = condition.conjuncts()[0].equality().unwrap();
    assert_eq!(left.compile(&scope(), &settings()).unwrap().as_column(), Some(3));
    assert_eq!(right.compile(&scope(), &settings()).unwrap().as_column(), Some(0));
    assert!(condition.conjuncts()[1].equality().is_none());
}

#[test]
fn widening_is_implicit_and_narrowing_is_not() {
    let widened =
        |text: &str, target: DataType| compile(text).unwrap().widened_to(&target).map(|e| e.ty().to_string());
    assert_eq!(widened("user_id", Type::BigInt.not_null()).as_deref(), Some("BIGINT NOT NULL"));
    assert_eq!(widened("amount", Type::Int.nullable()), None);
    assert_eq!(
        widened("user_id", Type::Decimal { precision: 12, scale: 2 }.nullable()).as_deref(),
        Some("DECIMAL(12, 2) NOT NULL")
    );
    assert_eq!(widened("user_id", Type::Decimal { precision: 11, scale: 2 }.nullable()), None);
    assert_eq!(widened("'abc'", Type::STRING.nullable()).as_deref(), Some("STRING NOT NULL"));
    assert_eq!(widened("name", Type::Varchar(5).nullable()), None);
}

#[test]
fn processing_time_types_a_column_and_nothing_else() {
    let expression = compile("PROCTIME()").unwrap();
    assert_eq!(expression.ty().to_string(), "TIMESTAMP_LTZ(3) NOT NULL");
    assert!(expression.is_processing_time() && !expression.is_constant());
    assert!(compile("CAST(PROCTIME() AS STRING)").is_err());
}

#[test]
fn faults_say_where_and_what_to_write() {
    let fault = |text: &str| {
        let error = compile(text).unwrap_err();
        format!("{:?} {error}", error.at)
    };
    assert_eq!(fault("amount + usr_id"), "Some(9) there is no column usr_id; did you mean user_id?");
    assert_eq!(
        fault("name = 1"),
        "Some(0) STRING and INT do not compare; cast one side first: CAST(… AS INT)"
    );
    assert_eq!(fault("1 +"), "Some(3) expected an expression, found the end");
    assert_eq!(fault("SQRTT(1)"), "Some(0) there is no function SQRTT; did you mean SQRT?");
    assert_eq!(
        fault("JSON_VALUE(name, '$.a')"),
        "Some(0) JSON_VALUE is not supported: functions for JSON are not part of this version"
    );
    assert_eq!(
        fault("name = \"x\""),
        "Some(7) double quotes are not used; text stands in single quotes: 'x'; names in backticks"
    );
    assert_eq!(
        fault("NULL AND TRUE"),
        "Some(0) a condition must be BOOLEAN, not NULL; write UNKNOWN or CAST(NULL AS BOOLEAN)"
    );
}

#[test]
fn what_has_no_value_for_any_row_is_refused_at_once() {
    let fault = |text: &str| compile(text).unwrap_err().message;
    assert_eq!(fault("amount + 1 / 0"), "1 is divided by zero (division_by_zero)");
    assert_eq!(
        fault("CASE WHEN flag THEN CAST('x' AS INT) ELSE 5 END"),
        "CHAR(1) 'x' has no value as INT (cast_failed)"
    );
    assert_eq!(constant("CASE WHEN FALSE THEN CAST('x' AS INT) ELSE 5 END"), "Int(5) INT NOT NULL");
}

#[test]
fn types_are_read_as_ddl_writes_them() {
    for (text, shown) in [
        ("int", "INT"),
        ("DECIMAL", "DECIMAL(10, 0)"),
        ("NUMERIC(12, 3) NOT NULL", "DECIMAL(12, 3) NOT NULL"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP(3)"),
        ("TIMESTAMP(0) WITH LOCAL TIME ZONE NOT NULL", "TIMESTAMP_LTZ(0) NOT NULL"),
        ("TIME", "TIME(0)"),
        ("CHAR", "CHAR(1)"),
        ("CHARACTER VARYING(5)", "VARCHAR(5)"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("ARRAY<ARRAY<INT NOT NULL>>", "ARRAY<ARRAY<INT NOT NULL>>"),
        ("MAP<STRING, ROW<a INT, `b c` BYTES NOT NULL>>", "MAP<STRING, ROW<`a` INT, `b c` BYTES NOT NULL>>"),
        ("ROW(a INT 'first')", "ROW<`a` INT>"),
    ] {
        assert_eq!(parse_type(text).map(|ty| ty.to_string()), Ok(shown.to_owned()), "{text}");
    }
    for (text, message) in [
        ("INTT", "there is no type INTT; did you mean INT?"),
        ("TEXT", "there is no type TEXT; did you mean STRING?"),
        ("DECIMAL(39, 0)", "the precision of DECIMAL must be 1 to 38, not 39"),
        ("DECIMAL(5, 6)", "the scale of DECIMAL must be 0 to its precision 5, not 6"),
        ("VARCHAR(0)", "a length must be one number from 1 to 2147483647"),
        ("INT BIGINT", "unexpected \"BIGINT\" after the type INT"),
        ("", "a type is missing"),
    ] {
        assert_eq!(parse_type(text).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn a_long_chain_of_conditions_is_no_deep_tree() {
    let text = vec!["user_id = 1"; 3000].join(" OR ");
    assert_eq!(eval(&text, &[Datum::Int(2)]), "Bool(false) BOOLEAN NOT NULL");
    let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(compile(&deep).is_err());
    let sum = vec!["user_id"; 5000].join(" + ");
    assert!(compile(&sum).is_err());
}

#[test]
fn words_that_sql_knows_are_still_names_of_columns() {
    let names = [
        "timestamp",
        "date",
        "time",
        "value",
        "key",
        "user",
        "position",
        "offset",
        "partition",
        "interval",
        "year",
        "left",
        "map",
        "row",
        "array",
        "type",
        "name",
        "order_amount",
        "currentDate",
        "unknown",
        "topic",
        "cast",
    ];
    let column = |name: &&str| Column {
        qualifier: "t".to_owned(),
        name: (*name).to_owned(),
        ty: Type::Int.not_null(),
    };
    let scope = Scope { columns: names.iter().map(column).collect() };
    for (i, name) in names.iter().enumerate() {
        let qualified = Expression::compile(&format!("t.{name}"), &scope, &settings());
        assert_eq!(qualified.map(|e| e.as_column()), Ok(Some(i)), "t.{name}");
        let quoted = Expression::compile(&format!("`{name}` + 1"), &scope, &settings());
        assert_eq!(quoted.map(|e| e.columns()), Ok(vec![i]), "`{name}`");
        if *name == "interval" {
            continue; // begins a literal
        }
        let bare = Expression::compile(name, &scope, &settings());
        assert_eq!(bare.map(|e| e.as_column()), Ok(Some(i)), "{name}");
    }
}

#[test]
fn operators_of_other_systems_are_refused_by_name() {
    let fault = |text: &str| compile(text).unwrap_err().to_string();
    assert_eq!(fault("user_id == 1"), "there is no operator ==; write =");
    assert_eq!(fault("user_id <=> 1"), "there is no operator <=>");
    assert_eq!(fault("user_id::BIGINT"), "this way to cast is not Flink's; use CAST or TRY_CAST");
    assert_eq!(fault("name ILIKE 'a%'"), "there is no operator ILIKE; use LOWER(x) LIKE …");
    assert_eq!(fault("user_id IN (SELECT 1)"), "IN takes a list of values here, not a query");
    assert_eq!(
        fault("COUNT(*)"),
        "COUNT is not called with plain arguments; aggregates and windows are not scalar expressions"
    );
    assert_eq!(fault("LENGTH(name)"), "there is no function LENGTH; did you mean CHAR_LENGTH?");
    assert_eq!(
        fault("NOW()"),
        "NOW is not supported: functions for the current time (a result must not depend on when it is computed) are not part of this version"
    );
}

#[test]
fn nesting_up_to_the_limit_fits_the_stack() {
    for (open, close) in
        [("(", ")"), ("ABS(", ")"), ("CASE WHEN user_id = 1 THEN 1 ELSE ", " END"), ("- ", "")]
    {
        for depth in [20, 40, 80, 160, 1000] {
            let text = format!("{}user_id{}", open.repeat(depth), close.repeat(depth));
            if let Ok(expression) = compile(&text) {
                let arena = Bump::new();
                assert!(expression.eval(&[Datum::Int(7)][..], &arena).is_ok());
            } else {
                assert!(depth > 40, "{open} {depth}");
            }
        }
    }
}

/// Pieces that random expressions are made of.
const PIECES: [&str; 48] = [
    "user_id",
    "amount",
    "name",
    "u.id",
    "flag",
    "NULL",
    "TRUE",
    "UNKNOWN",
    "1",
    "0",
    "-7",
    "2.5",
    "1e3",
    "'a'",
    "'12'",
    "x'0a'",
    "9223372036854775807",
    "(",
    ")",
    "+",
    "-",
    "*",
    "/",
    "%",
    "||",
    "=",
    "<>",
    "<",
    "AND",
    "OR",
    "NOT",
    "IS NULL",
    "IN (1, 2)",
    "BETWEEN 1 AND",
    "LIKE",
    "CASE WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST(",
    "AS INT)",
    "AS DECIMAL(5,2))",
    "TRY_CAST(",
    "INTERVAL '1' DAY",
    "DATE '2024-01-31'",
    "COALESCE(",
    ",",
    "ROUND(",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_and_no_row_brings_the_engine_down(
        picks in proptest::collection::vec(0..PIECES.len(), 1..14),
        id in proptest::prelude::any::<i32>(),
        amount in proptest::prelude::any::<i64>(),
        name in ".*",
    ) {
        let text: Vec<&str> = picks.iter().map(|i| PIECES[*i]).collect();
        if let Ok(expression) = compile(&text.join(" ")) {
            let row =
                [Datum::Int(id.into()), Datum::Int(amount), Datum::Str(&name), Datum::Null, Datum::Bool(true)];
            let arena = Bump::new();
            let _ = expression.eval(&row[..], &arena);
        }
    }
}
