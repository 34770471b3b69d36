//! Calls whose patterns, zones and units come from columns, and what Flink's
//! vectors do not reach; `tests/vectors/expressions.txt` has the rest.

use bumpalo::Bump;

use crate::expr::{Column, CompileError, Expression, Scope, Settings};
use crate::model::civil::{write_date, write_timestamp_shortest};
use crate::model::{Datum, Decimal, Timestamp, Type};

/// 2024-01-02 13:04:05.678.
const AT: Timestamp = Timestamp { millis: 1_704_200_645_678, nanos: 0 };

fn scope() -> Scope {
    let column = |name: &str, kind: Type| Column {
        qualifier: "t".to_owned(),
        name: name.to_owned(),
        ty: kind.not_null(),
    };
    Scope {
        columns: vec![
            column("a", Type::STRING),
            column("b", Type::STRING),
            column("n", Type::BigInt),
            column("d", Type::Date),
            column("ts", Type::Timestamp(3)),
            column("ltz", Type::TimestampLtz(3)),
            column("clock", Type::Time(0)),
            column("fixed", Type::Char(3)),
            column("exact", Type::Decimal { precision: 20, scale: 3 }),
            column("x", Type::Double),
        ],
    }
}

fn compile(text: &str) -> Result<Expression, CompileError> {
    Expression::compile(text, &scope(), &Settings { time_zone: "Asia/Shanghai".to_owned() })
}

/// Value (or reason) and type of an expression over a row with these texts and this number.
fn eval(text: &str, a: &str, b: &str, n: i64) -> String {
    let row = [
        Datum::Str(a),
        Datum::Str(b),
        Datum::Int(n),
        Datum::Date(19_724),
        Datum::Timestamp(AT),
        Datum::Timestamp(AT),
        Datum::Time(47_045_000),
        Datum::Str("ab "),
        Datum::Decimal(Decimal::new(1_704_200_645_678, 3)),
        Datum::Double(1_704_200_645.678),
    ];
    let expression = compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let arena = Bump::new();
    let mut shown = Vec::new();
    match expression.eval(&row[..], &arena) {
        Ok(Datum::Str(text)) => return format!("{text} {}", expression.ty()),
        Ok(Datum::Date(days)) => write_date(days.into(), &mut shown),
        Ok(Datum::Timestamp(at)) => write_timestamp_shortest(at, b' ', &mut shown),
        Ok(other) => return format!("{other:?} {}", expression.ty()),
        Err(error) => return format!("{}: {}", error.reason, error.detail),
    }
    format!("{} {}", String::from_utf8(shown).unwrap(), expression.ty())
}

fn value(text: &str) -> String {
    eval(text, "", "", 0)
}

fn refusal(text: &str) -> String {
    compile(text).unwrap_err().message
}

#[test]
fn text_types_follow_the_first_argument() {
    assert_eq!(value("UPPER(fixed)"), "AB  CHAR(3) NOT NULL");
    assert_eq!(value("TRIM(fixed)"), "ab VARCHAR(3) NOT NULL");
    assert_eq!(value("fixed || 'x'"), "ab x CHAR(4) NOT NULL");
    assert_eq!(value("fixed || a"), "ab  STRING NOT NULL");
    assert_eq!(value("SUBSTRING(fixed, 2)"), "b  VARCHAR(3)");
    assert_eq!(eval("LPAD(a, n, b)", "hi", "-", 4), "--hi STRING");
    assert_eq!(eval("LPAD(a, n, b)", "hi", "", 4), "Null STRING");
    assert_eq!(eval("REPEAT(a, n)", "abc", "", i64::MAX).split(':').next(), Some("invalid_argument"));
    assert_eq!(refusal("REPLACE(a, 'x', NULL)"), "REPLACE cannot be applied to (STRING, CHAR(1), NULL)");
}

#[test]
fn patterns_of_like_may_come_from_columns() {
    assert_eq!(eval("a LIKE b", "abc", "a%", 0), "Bool(true) BOOLEAN NOT NULL");
    assert_eq!(eval("a NOT LIKE b ESCAPE '!'", "a%", "a!%", 0), "Bool(false) BOOLEAN NOT NULL");
    assert_eq!(eval("a SIMILAR TO b", "abc", "(ab|x)c", 0), "Bool(true) BOOLEAN NOT NULL");
    let fault = eval("a SIMILAR TO b", "abc", "(ab", 0);
    assert_eq!(fault, "invalid_argument: Invalid regular expression '(ab', 0");
    assert_eq!(refusal("a SIMILAR TO '(ab'"), "SIMILAR TO: Invalid regular expression '(ab', 0");
}

#[test]
fn patterns_of_times_may_come_from_columns() {
    assert_eq!(eval("DATE_FORMAT(ts, b)", "", "HH:mm", 0), "13:04 STRING");
    assert_eq!(eval("DATE_FORMAT(ltz, b)", "", "HH:mm", 0), "21:04 STRING");
    let fault = eval("DATE_FORMAT(ts, b)", "", "bad", 0);
    assert_eq!(fault, "invalid_argument: pattern 'bad': Unknown pattern letter: b");
    assert_eq!(refusal("DATE_FORMAT(ts, 'bad')"), "DATE_FORMAT: Unknown pattern letter: b");
    assert_eq!(eval("TO_DATE(a, b)", "02/01/2024", "dd/MM/yyyy", 0), "2024-01-02 DATE");
    assert_eq!(eval("TO_TIMESTAMP(a, b)", "2024", "bad", 0), "Null TIMESTAMP(3)");
    assert_eq!(
        refusal("TO_TIMESTAMP(a, 'hh:mm')"),
        "TO_TIMESTAMP: an hour of 12 (h, K) says nothing without AM or PM: write H, or add a"
    );
}

#[test]
fn texts_are_read_as_by_the_java_class_that_flink_uses() {
    let read = |text: &str, a: &str| eval(text, a, "", 0);
    assert_eq!(read("TO_DATE(a, 'yyyy-MM-dd')", "2024-01-02 10:00:00"), "2024-01-02 DATE");
    let fallen_back = read("TO_TIMESTAMP(a, 'yyyy/MM/dd')", " 1999-9-10 05:20:10");
    assert_eq!(fallen_back, "1999-09-10 05:20:10 TIMESTAMP(3)");
    assert_eq!(read("UNIX_TIMESTAMP(a)", "2024-1-2 3:4:5"), "Int(1704135845) BIGINT");
    assert_eq!(read("UNIX_TIMESTAMP(a, 'yyyy')", "junk"), "Null BIGINT");
    assert_eq!(read("CONVERT_TZ(a, 'UTC', 'UTC')", "junk"), "Null STRING");
    assert_eq!(
        eval("CONVERT_TZ(a, b, 'UTC')", "2024-07-01 12:00:00", "Europe/Paris", 0),
        "2024-07-01 10:00:00 STRING"
    );
}

#[test]
fn numbers_become_instants() {
    let of = |n: i64| eval("TO_TIMESTAMP_LTZ(n, 0)", "", "", n);
    assert_eq!(of(1_704_200_645), "2024-01-02 13:04:05 TIMESTAMP_LTZ(3)");
    assert_eq!(of(253_402_300_800), "Null TIMESTAMP_LTZ(3)");
    assert_eq!(of(i64::MAX), "Null TIMESTAMP_LTZ(3)");
    assert_eq!(value("TO_TIMESTAMP_LTZ(x, 0)"), "2024-01-02 13:04:05.678 TIMESTAMP_LTZ(3)");
    assert_eq!(value("TO_TIMESTAMP_LTZ(exact, 0)"), "2024-01-02 13:04:05 TIMESTAMP_LTZ(3)");
    let precision = eval("TO_TIMESTAMP_LTZ(5, n)", "", "", 6);
    assert_eq!(precision, "invalid_argument: precision 6 is neither 0 (seconds) nor 3 (milliseconds)");
    let zone = refusal("TO_TIMESTAMP_LTZ(a, 'yyyy', 'Nowhere/Zone')");
    assert_eq!(zone, "TO_TIMESTAMP_LTZ: there is no time zone Nowhere/Zone");
    assert_eq!(
        eval("FROM_UNIXTIME(n, 'yyyy-MM-dd HHXXX')", "", "", 1_704_200_645),
        "2024-01-02 21+08:00 STRING"
    );
    let far = eval("FROM_UNIXTIME(n)", "", "", i64::MAX);
    assert_eq!(far, "invalid_argument: FROM_UNIXTIME(9223372036854775807) is more than a million years away");
}

#[test]
fn a_time_of_day_has_no_calendar() {
    assert_eq!(value("EXTRACT(HOUR FROM clock)"), "Int(13) BIGINT NOT NULL");
    assert_eq!(value("FLOOR(clock TO HOUR)"), "Time(46800000) TIME(0) NOT NULL");
    assert_eq!(value("CEIL(clock TO HOUR)"), "Time(50400000) TIME(0) NOT NULL");
    assert_eq!(value("TIMESTAMPADD(HOUR, 12, clock)"), "Time(3845000) TIME(0) NOT NULL");
    assert_eq!(refusal("EXTRACT(YEAR FROM clock)"), "EXTRACT: a TIME has no YEAR");
    assert_eq!(refusal("FLOOR(clock TO MONTH)"), "FLOOR TO: a TIME(0) is not rounded to MONTH");
    assert_eq!(refusal("TIMESTAMPADD(DAY, 1, clock)"), "TIMESTAMPADD: DAY cannot be added to a TIME");
    assert!(refusal("clock + INTERVAL '1' MONTH").contains("cannot be applied"));
}

#[test]
fn a_date_stays_one_as_long_as_whole_days_are_added() {
    assert_eq!(value("d + INTERVAL '24' HOUR"), "2024-01-03 DATE NOT NULL");
    assert_eq!(value("d - INTERVAL '1 12' DAY TO HOUR"), "2023-12-31 12:00:00 TIMESTAMP(6) NOT NULL");
    assert_eq!(value("d + (ts - d) DAY"), "2024-01-02 13:04:05.678 TIMESTAMP(6) NOT NULL");
    assert_eq!(value("INTERVAL '1' MONTH + d"), "2024-02-02 DATE NOT NULL");
    assert_eq!(value("TIMESTAMPADD(MILLISECOND, 5, d)"), "2024-01-02 00:00:00.005 TIMESTAMP(6) NOT NULL");
    let far = eval("TIMESTAMPADD(YEAR, n, d)", "", "", i64::MAX);
    assert_eq!(far, "arithmetic_overflow: TIMESTAMPADD leaves the calendar's range");
}

#[test]
fn distances_need_two_of_a_kind() {
    assert_eq!(value("TIMESTAMPDIFF(HOUR, d, ts)"), "Int(13) INT NOT NULL");
    assert_eq!(value("(ts - d) MONTH"), "Months(0) INTERVAL MONTH NOT NULL");
    assert_eq!(
        refusal("(ltz - ts) DAY"),
        "TIME DIFFERENCE cannot be applied to (TIMESTAMP_LTZ(3), TIMESTAMP(3))"
    );
    assert_eq!(refusal("TIMESTAMPDIFF(DOW, d, ts)"), "TIMESTAMPDIFF: DOW cannot be counted");
}

proptest::proptest! {
    /// Rows are hostile: whatever texts and numbers they hold, a call ends in a
    /// value or a fault.
    #[test]
    fn no_row_makes_a_function_panic(a in "\\PC{0,12}", b in "[yMdHhmsSaEXZ'\\[\\]%_(|. -]{0,10}", n: i64) {
        for text in [
            "SUBSTRING(a, n)", "SUBSTRING(a, n, 2)", "LEFT(a, n)", "RIGHT(a, n)", "OVERLAY(a PLACING b FROM n)",
            "LPAD(a, MOD(n, 20), b)", "INSTR(a, b, n)", "LOCATE(b, a, n)", "SPLIT_INDEX(a, b, n)", "CHR(n)",
            "TRANSLATE(a, b, 'x')", "REPLACE(a, b, 'x')", "INITCAP(a)", "UPPER(a)", "TRIM(BOTH b FROM a)",
            "a LIKE b ESCAPE '_'", "a SIMILAR TO b", "DATE_FORMAT(ts, b)", "TO_DATE(a, b)", "TO_DATE(a)",
            "TO_TIMESTAMP(a, b)", "TO_TIMESTAMP(a)", "UNIX_TIMESTAMP(a, b)", "FROM_UNIXTIME(n, b)",
            "CONVERT_TZ(a, b, a)", "TO_TIMESTAMP_LTZ(n, 3)", "TO_TIMESTAMP_LTZ(n)", "TIMESTAMPADD(WEEK, n, d)",
            "TIMESTAMPADD(MONTH, n, ltz)", "TIMESTAMPADD(SECOND, n, clock)", "ts + n * INTERVAL '1' SECOND",
        ] {
            let _ = eval(text, &a, &b, n);
        }
    }

    /// A source may bring any 64 bits as a timestamp.
    #[test]
    fn no_moment_makes_a_function_panic(millis: i64, other: i64, nanos in 0_u32..1_000_000) {
        let at = Timestamp { millis, nanos };
        for (_, unit) in super::UNITS {
            let _ = super::fields::extract(unit, at);
            let _ = super::round_time::floor(unit, millis);
            let _ = super::round_time::ceil(unit, millis);
            let _ = super::add_time::timestamp_add(unit, other, millis);
            let _ = super::add_time::timestamp_diff(unit, millis, other);
        }
        let _ = super::add_time::add_millis(millis, other);
        let pattern = super::format_pattern::Pattern::compile("G u y Y M D d E w W e H n N A X").unwrap();
        pattern.write(at, 0, &mut Vec::new());
        let zone = crate::expr::zone::Zone::named("America/New_York").unwrap();
        let _ = zone.instant_of(zone.local_of(at), crate::expr::zone::Overlap::Later);
    }

    /// A text written by a pattern is read back as what was written.
    #[test]
    fn what_is_written_is_read_back(millis in -62_135_596_800_000_i64..253_402_300_799_999) {
        let patterns = ["yyyy-MM-dd HH:mm:ss.SSS", "yyyyMMddHHmmssSSS", "EEE, d MMM yyyy h:m:s.SSS a", "uuuu-DDD A"];
        for text in patterns {
            let pattern = super::format_pattern::Pattern::compile(text).unwrap();
            let mut out = Vec::new();
            pattern.write(Timestamp::from_millis(millis), 0, &mut out);
            let read = pattern.read(std::str::from_utf8(&out).unwrap(), super::format_pattern::Style::Exact);
            proptest::prop_assert_eq!(read.map(|read| read.local), Some(Timestamp::from_millis(millis)));
        }
    }
}
