use super::*;
use crate::model::Timestamp;

/// 2024-01-02 13:04:05.678, a Tuesday.
const AT: i64 = 1_704_200_645_678;

fn write_at(millis: i64, offset: i64, pattern: &str) -> String {
    let mut out = Vec::new();
    Pattern::compile(pattern).unwrap().write(Timestamp::from_millis(millis), offset, &mut out);
    String::from_utf8(out).unwrap()
}

fn write(pattern: &str) -> String {
    write_at(AT, 0, pattern)
}

fn read(text: &str, pattern: &str, style: Style) -> Option<String> {
    let found = Pattern::compile(pattern).unwrap().read(text, style)?;
    let mut out = Vec::new();
    crate::model::civil::write_timestamp_shortest(found.local, b' ', &mut out);
    Some(String::from_utf8(out).unwrap())
}

fn exact(text: &str, pattern: &str) -> Option<String> {
    read(text, pattern, Style::Exact)
}

fn lenient(text: &str, pattern: &str) -> Option<String> {
    read(text, pattern, Style::Lenient)
}

#[test]
fn patterns_of_flink_vectors() {
    assert_eq!(write("yyyy-MM-dd HH:mm:ss.SSS"), "2024-01-02 13:04:05.678");
    assert_eq!(write("EEE, d MMM yy"), "Tue, 2 Jan 24");
    assert_eq!(write("yyyy'T'HH"), "2024T13");
    assert_eq!(write("%Y-%m"), "%2024-%4");
    assert_eq!(write_at(1_735_520_645_678, 0, "YYYY-ww"), "2025-01");
}

#[test]
fn letters_write_what_java_writes() {
    assert_eq!(write("h a K k hh"), "1 PM 1 13 01");
    assert_eq!(write("EEEE EEEEE MMMM MMMMM G QQQ QQQQ q"), "Tuesday T January J AD Q1 1st quarter 1");
    assert_eq!(write("D DDD e W SSSSSS n A"), "2 002 3 1 678000 678000000 47045678");
    assert_eq!(write("[yyyy][-MM]"), "2024-01");
    assert_eq!(write_at(AT, 28_800_000, "X XX XXX x Z"), "+08 +0800 +08:00 +08 +0800");
    assert_eq!(write_at(AT, 0, "X XXX xxx Z"), "Z Z +00:00 +0000");
    assert_eq!(write_at(AT, -12_600_000, "X XXX"), "-0330 -03:30");
    assert_eq!(write_at(253_402_300_800_000, 0, "yyyy yyyyy y"), "+10000 10000 10000");
}

#[test]
fn patterns_that_java_refuses_are_refused() {
    let message = |pattern: &str| Pattern::compile(pattern).unwrap_err().message().to_owned();
    assert_eq!(message("qqq bad"), "Unknown pattern letter: b");
    assert_eq!(message("ddd"), "Too many pattern letters: d");
    assert_eq!(message("yyyy'T"), "Pattern ends with an incomplete string literal");
    assert_eq!(message("yyyy]"), "Pattern invalid as it contains ] without previous [");
    assert_eq!(message("{yyyy}"), "Pattern includes reserved character: '{'");
    assert!(matches!(Pattern::compile("VV"), Err(PatternError::NotOffered(_))));
    assert!(Pattern::compile("XXX").unwrap().check_write(false).is_err());
    assert!(Pattern::compile("YYYY-MM-dd").unwrap().check_read().is_err());
    assert!(Pattern::compile("hh:mm").unwrap().check_read().is_err());
    assert!(Pattern::compile("hh:mm a").unwrap().check_read().is_ok());
}

#[test]
fn exact_reading_follows_the_pattern_to_the_digit() {
    assert_eq!(exact("2024-01-02", "yyyy-MM-dd").as_deref(), Some("2024-01-02 00:00:00"));
    assert_eq!(exact("20240102030405", "yyyyMMddHHmmss").as_deref(), Some("2024-01-02 03:04:05"));
    assert_eq!(exact("20240102030405678", "yyyyMMddHHmmssSSS").as_deref(), Some("2024-01-02 03:04:05.678"));
    assert_eq!(exact("2-1-24 1:02 PM", "d-M-yy h:mm a").as_deref(), Some("2024-01-02 13:02:00"));
    assert_eq!(exact("Tue, 2 Jan 2024", "EEE, d MMM yyyy").as_deref(), Some("2024-01-02 00:00:00"));
    assert_eq!(
        exact("2024-01-02T03:04:05+08:00", "yyyy-MM-dd'T'HH:mm:ssXXX").as_deref(),
        Some("2024-01-02 03:04:05")
    );
    assert_eq!(exact("2024-01-02 03", "yyyy-MM-dd HH[:mm]").as_deref(), Some("2024-01-02 03:00:00"));
    assert_eq!(exact("2024-01-02 24:00", "yyyy-MM-dd HH:mm").as_deref(), Some("2024-01-03 00:00:00"));
    assert_eq!(exact("+12024", "yyyy").as_deref(), Some("+12024-01-01 00:00:00"));
    assert_eq!(exact("-0005", "uuuu").as_deref(), Some("-0005-01-01 00:00:00"));
    assert_eq!(exact("2024 060", "yyyy DDD").as_deref(), Some("2024-02-29 00:00:00"));
}

#[test]
fn exact_reading_refuses_what_does_not_follow_or_does_not_exist() {
    for (text, pattern) in [
        ("2024-1-2", "yyyy-MM-dd"),
        ("2024-01-02 ", "yyyy-MM-dd"),
        ("2024-02-30", "yyyy-MM-dd"),
        ("2024-13-01", "yyyy-MM-dd"),
        ("12024-01-02", "yyyy-MM-dd"),
        ("+2024", "yyyy"),
        ("mon, 2 Jan 2024", "EEE, d MMM yyyy"),
        ("Mon, 2 Jan 2024", "EEE, d MMM yyyy"),
        ("25:00", "HH:mm"),
        ("0:00 AM", "h:mm a"),
        ("junk", "yyyyMMdd"),
        ("", "yyyy"),
        ("é", "MMM"),
        ("99999999999999999999", "y"),
    ] {
        assert_eq!(exact(text, pattern), None, "{text} by {pattern}");
    }
}

#[test]
fn lenient_reading_forgives_digits_and_what_follows() {
    assert_eq!(lenient("2024-1-2 3:4:5.999", "yyyy-MM-dd HH:mm:ss").as_deref(), Some("2024-01-02 03:04:05"));
    assert_eq!(lenient(" 20240102x", "yyyyMMdd").as_deref(), Some("2024-01-02 00:00:00"));
    assert_eq!(lenient("2 january 99", "d MMM yy").as_deref(), Some("1999-01-02 00:00:00"));
    assert_eq!(lenient("2 JAN 24", "d MMM yy").as_deref(), Some("2024-01-02 00:00:00"));
    for (text, pattern) in
        [("junk", "yyyyMMdd"), ("2024-02-30", "yyyy-MM-dd"), ("-2024", "yyyy"), ("2024/01/02", "yyyy-MM-dd")]
    {
        assert_eq!(lenient(text, pattern), None, "{text} by {pattern}");
    }
    let offset = |text: &str, pattern: &str| {
        Pattern::compile(pattern).unwrap().read(text, Style::Lenient).unwrap().offset
    };
    assert_eq!(offset("03 +0000", "HH X"), Some(0));
    assert_eq!(offset("03 -0330", "HH Z"), Some(-12_600_000));
    assert_eq!(offset("03 Z", "HH XXX"), Some(0));
    assert_eq!(offset("03", "HH"), None);
}
