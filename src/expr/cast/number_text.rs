//! Numbers and truth values in text, by the rules of Flink's casts.

use crate::model::Decimal;

/// `true`, `t`, `yes`, `y`, `1` and their opposites, in any case; no blanks.
pub(in crate::expr) fn boolean(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(&["true", "t", "yes", "y", "1"]) {
        Some(true)
    } else if is(&["false", "f", "no", "n", "0"]) {
        Some(false)
    } else {
        None
    }
}

/// One sign, digits, and a fraction of digits that is cut off. Blanks around it
/// do not count; exponents are no numbers here.
pub(in crate::expr) fn integer(text: &str) -> Option<i64> {
    let trimmed = text.trim_matches(' ');
    let (negative, digits) = match trimmed.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (whole, fraction) = match digits.iter().position(|b| *b == b'.') {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &[][..]),
    };
    if digits.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut value = 0_i64;
    for b in whole {
        if !b.is_ascii_digit() {
            return None;
        }
        let digit = i64::from(b - b'0');
        value = value.checked_mul(10)?;
        value = if negative { value.checked_sub(digit)? } else { value.checked_add(digit)? };
    }
    Some(value)
}

/// What Java's `Double.parseDouble` accepts.
pub(in crate::expr) fn double(text: &str) -> Option<f64> {
    match java_float(text)? {
        Written::Decimal(body) => body.parse().ok(),
        Written::Hex(value) => Some(value),
    }
}

/// What Java's `Float.parseFloat` accepts.
pub(in crate::expr) fn float(text: &str) -> Option<f32> {
    match java_float(text)? {
        Written::Decimal(body) => body.parse().ok(),
        Written::Hex(value) => Some(value as f32),
    }
}

enum Written<'t> {
    /// Text that Rust reads in the same way.
    Decimal(&'t str),
    /// A hexadecimal number.
    Hex(f64),
}

/// Checks Java's grammar: blanks and control characters around, a sign, `NaN`,
/// `Infinity`, or digits with an exponent and a type suffix; or a hex float.
fn java_float(text: &str) -> Option<Written<'_>> {
    let trimmed = text.trim_matches(|c: char| c <= ' ');
    let unsigned = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    if unsigned == "NaN" || unsigned == "Infinity" {
        return Some(Written::Decimal(trimmed));
    }
    if unsigned.starts_with("0x") || unsigned.starts_with("0X") {
        let value = hex_float(&unsigned[2..])?;
        return Some(Written::Hex(if trimmed.starts_with('-') { -value } else { value }));
    }
    let body = trimmed.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(trimmed);
    let starts_numeric = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let plain = body.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b));
    (starts_numeric && plain).then_some(Written::Decimal(body))
}

/// `1.8p3` in hexadecimal; the exponent is a power of two and must be there.
fn hex_float(text: &str) -> Option<f64> {
    let text = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0_f64;
    for c in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(c.to_digit(16)?);
    }
    let shift = exponent.saturating_sub(i32::try_from(fraction.len()).ok()?.saturating_mul(4));
    Some(value * 2.0_f64.powi(shift))
}

/// Most digits before the point that a DECIMAL has; beyond, nothing fits.
const MOST_DIGITS: i64 = 38;

/// A decimal number with an optional exponent, rounded half up to `scale`;
/// `None` if it is none or has more than 38 digits at that scale.
pub(in crate::expr) fn decimal(text: &str, scale: u8) -> Option<Decimal> {
    let trimmed = text.trim_matches(|c: char| c <= ' ');
    let (mantissa, exponent) = match trimmed.find(['e', 'E']) {
        Some(at) => (&trimmed[..at], exponent(&trimmed[at + 1..])?),
        None => (trimmed, 0),
    };
    let (negative, digits) = match mantissa.as_bytes().first()? {
        b'-' => (true, &mantissa[1..]),
        b'+' => (false, &mantissa[1..]),
        _ => (false, mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = || whole.bytes().chain(fraction.bytes());
    if whole.is_empty() && fraction.is_empty() || !all().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Digits that count: those before the point and `scale` behind it.
    let kept = i64::try_from(whole.len()).ok()?.saturating_add(exponent).saturating_add(scale.into());
    let magnitude = digits_up_to(all(), kept)?;
    let value = Decimal::new(if negative { -magnitude } else { magnitude }, scale);
    value.fits(38).then_some(value)
}

/// An exponent; one that is too large to matter saturates.
fn exponent(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let limit = i64::from(i32::MAX);
    let value = unsigned.parse::<i64>().unwrap_or(limit).min(limit);
    Some(if text.starts_with('-') { -value } else { value })
}

/// The first `kept` digits as a number, filled up with zeros, rounded half up by
/// the digit after them.
fn digits_up_to(digits: impl Iterator<Item = u8>, kept: i64) -> Option<i128> {
    let mut value = 0_i128;
    let mut read = 0_i64;
    for b in digits {
        if read >= kept {
            let up = read == kept && b >= b'5';
            return Some(value + i128::from(up));
        }
        value = value.checked_mul(10)?.checked_add(i128::from(b - b'0'))?;
        read += 1;
    }
    if value == 0 {
        return Some(0);
    }
    let zeros = kept - read;
    if zeros > MOST_DIGITS {
        return None;
    }
    value.checked_mul(10_i128.checked_pow(u32::try_from(zeros.max(0)).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(integer(" 7.9 "), Some(7));
        assert_eq!(integer("-4.9"), Some(-4));
        assert_eq!(integer("4."), Some(4));
        assert_eq!(integer(".5"), Some(0));
        assert_eq!(integer("-9223372036854775808"), Some(i64::MIN));
        for junk in ["", "+", "- 42", "4.x", "1e3", "0x10", "1_000", "abc", "9223372036854775808"] {
            assert_eq!(integer(junk), None, "{junk}");
        }
    }

    #[test]
    fn doubles() {
        assert_eq!(double("1e400"), Some(f64::INFINITY));
        assert_eq!(double(" 1.5d "), Some(1.5));
        assert_eq!(double("0x1p3"), Some(8.0));
        assert_eq!(double("-0x.8p1"), Some(-1.0));
        assert!(double("NaN").unwrap().is_nan());
        assert_eq!(float("1e39"), Some(f32::INFINITY));
        for junk in ["", "inf", "nan", "infinity", "1e", "--1", "0x1", "."] {
            assert_eq!(double(junk), None, "{junk}");
        }
    }

    #[test]
    fn decimals_round_once() {
        let shown = |text, scale| decimal(text, scale).map(|d| d.to_string());
        assert_eq!(shown("1.005", 2).as_deref(), Some("1.01"));
        assert_eq!(shown("-1.005", 2).as_deref(), Some("-1.01"));
        assert_eq!(shown("0.499999999999999999999999999999999999999999", 0).as_deref(), Some("0"));
        assert_eq!(shown("1.5e3", 2).as_deref(), Some("1500.00"));
        assert_eq!(shown("4e-3", 2).as_deref(), Some("0.00"));
        assert_eq!(shown("5e-3", 2).as_deref(), Some("0.01"));
        assert_eq!(shown("9e-9", 2).as_deref(), Some("0.00"));
        assert_eq!(shown("0e99999999999", 2).as_deref(), Some("0.00"));
        let long = "12345678901234567890123456789012345678.9";
        assert_eq!(shown(long, 0).as_deref(), Some("12345678901234567890123456789012345679"));
        for junk in ["", "abc", "NaN", ".", "1e", "1e99", "1.2.3"] {
            assert_eq!(shown(junk, 2), None, "{junk}");
        }
    }
}
