//! Numbers from text, exactly: no detour through floating point.
//!
//! Java: `Long.parseLong`, `BigDecimal(String)`, `Double.parseDouble`; Flink:
//! `DecimalData.fromBigDecimal` (half up to the scale).

use crate::error::Reason;
use crate::model::{Decimal, javanum};

use super::misfit::Misfit;

/// Digits that a `u64` surely holds.
const SAFE_DIGITS: usize = 18;

/// Digits of the widest DECIMAL.
const DECIMAL_DIGITS: i64 = 38;

/// Exponents beyond this give zero or no DECIMAL at all, whatever the digits of a Kafka record.
const EXPONENT_MAX: i64 = 1 << 40;

const NOT_AN_INTEGER: Misfit = Misfit { reason: Reason::Malformed, what: "is not an integer" };
const NOT_A_NUMBER: Misfit = Misfit { reason: Reason::Malformed, what: "is not a number" };
const BEYOND_RANGE: Misfit =
    Misfit { reason: Reason::ValueOutOfRange, what: "is outside of the type's range" };

/// An integer in plain digits, with or without a sign, within `range`.
pub(super) fn integer(text: &str, range: (i64, i64)) -> Result<i64, Misfit> {
    let (negative, digits) = sign(text.as_bytes());
    if digits.is_empty() {
        return Err(NOT_AN_INTEGER);
    }
    let mut magnitude: u64 = 0;
    let mut beyond = false;
    for (i, b) in digits.iter().enumerate() {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return Err(NOT_AN_INTEGER);
        }
        if i < SAFE_DIGITS {
            magnitude = magnitude * 10 + u64::from(digit);
        } else {
            let grown = magnitude.checked_mul(10).and_then(|grown| grown.checked_add(digit.into()));
            beyond |= grown.is_none();
            magnitude = grown.unwrap_or(magnitude);
        }
    }
    let value = if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
    match value {
        Some(value) if !beyond && (range.0..=range.1).contains(&value) => Ok(value),
        _ => Err(BEYOND_RANGE),
    }
}

/// An integer in any notation of a number (`1e2`, `1.0`). A fraction is refused, or with `truncate`
/// cut off.
pub(super) fn integer_of_any_form(text: &str, range: (i64, i64), truncate: bool) -> Result<i64, Misfit> {
    let number = Parts::of(text.as_bytes()).ok_or(NOT_A_NUMBER)?;
    let scaled = number.at_scale(0, Rounding::Down);
    if !scaled.exact && !truncate {
        return Err(Misfit::lossy("has a fraction, which an integer type would lose"));
    }
    let value = scaled.unscaled.and_then(|value| i64::try_from(value).ok());
    value.filter(|value| (range.0..=range.1).contains(value)).ok_or(BEYOND_RANGE)
}

/// A DECIMAL(precision, scale), rounded half up to the scale.
pub(super) fn decimal(text: &str, precision: u8, scale: u8) -> Result<Decimal, Misfit> {
    if let Some(value) = short_decimal(text.as_bytes(), scale) {
        let value = Decimal::new(value.into(), scale);
        return if value.fits(precision) { Ok(value) } else { Err(BEYOND_RANGE) };
    }
    let number = Parts::of(text.as_bytes()).ok_or(NOT_A_NUMBER)?;
    let unscaled = number.at_scale(scale, Rounding::HalfUp).unscaled.ok_or(BEYOND_RANGE)?;
    let value = Decimal::new(unscaled, scale);
    if value.fits(precision) { Ok(value) } else { Err(BEYOND_RANGE) }
}

/// The unscaled value of the usual case: few plain digits and no more of them after the point
/// than the scale has. `None` leaves the text to the general way.
fn short_decimal(text: &[u8], scale: u8) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.len() > SAFE_DIGITS || usize::from(scale) > SAFE_DIGITS {
        return None;
    }
    let (mut value, mut fraction, mut seen) = (0_i64, None, 0_usize);
    for b in digits {
        let digit = b.wrapping_sub(b'0');
        if digit <= 9 {
            value = value * 10 + i64::from(digit);
            seen += 1;
            fraction = fraction.map(|count: usize| count + 1);
        } else if *b == b'.' && fraction.is_none() {
            fraction = Some(0);
        } else {
            return None;
        }
    }
    let missing = usize::from(scale).checked_sub(fraction.unwrap_or(0))?;
    if seen == 0 || seen + missing > SAFE_DIGITS {
        return None;
    }
    let value = value * 10_i64.pow(missing as u32);
    Some(if negative { -value } else { value })
}

/// A FLOAT or DOUBLE as Java reads it: decimal notation, `NaN`, `Infinity`, an `f` or `d` behind.
pub(super) fn float<F: std::str::FromStr>(text: &str) -> Result<F, Misfit> {
    let (_, unsigned) = sign(text.as_bytes());
    let special = matches!(unsigned, b"NaN" | b"Infinity");
    let digits = match text.as_bytes() {
        [.., b'f' | b'F' | b'd' | b'D'] if !special => &text[..text.len() - 1],
        _ => text,
    };
    let plain = || digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if !special && !plain() {
        return Err(NOT_A_NUMBER);
    }
    digits.parse().map_err(|_| NOT_A_NUMBER)
}

/// Whether a text names infinity itself, rather than a number too large for its type.
pub(super) fn names_infinity(text: &str) -> bool {
    sign(text.as_bytes()).1 == b"Infinity"
}

/// A BOOLEAN from text without blanks around it. Flink takes all but `true` for FALSE; `lossy` does too.
pub(super) fn boolean(text: &str, lossy: bool) -> Result<bool, Misfit> {
    if text.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if lossy || text.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(Misfit::lossy("is neither true nor false, and would silently become FALSE"))
    }
}

/// What Java's `String.trim` cuts off.
pub(super) fn is_java_blank(c: char) -> bool {
    c <= ' '
}

/// Appends an integer.
pub(super) fn write_integer(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a decimal with every digit of its scale.
pub(super) fn write_decimal(value: Decimal, out: &mut Vec<u8>) {
    let (unscaled, scale) = (value.unscaled(), usize::from(value.scale()));
    match u64::try_from(unscaled.unsigned_abs()) {
        Ok(magnitude) if scale <= SAFE_DIGITS => write_short_decimal(unscaled < 0, magnitude, scale, out),
        _ => javanum::write_decimal(value, out),
    }
}

/// Sign, 20 digits, a point, and a zero before it.
const SHORT_DECIMAL_BYTES: usize = 24;

/// Digits from the last to the first, into a buffer that goes out in one piece.
fn write_short_decimal(negative: bool, magnitude: u64, scale: usize, out: &mut Vec<u8>) {
    let mut text = [0_u8; SHORT_DECIMAL_BYTES];
    let (mut start, mut rest, mut digits) = (text.len(), magnitude, 0);
    let mut put = |byte: u8| {
        start = start.saturating_sub(1);
        if let Some(slot) = text.get_mut(start) {
            *slot = byte;
        }
    };
    while rest > 0 || digits <= scale {
        if digits == scale && scale > 0 {
            put(b'.');
        }
        put(b'0' + (rest % 10) as u8);
        rest /= 10;
        digits += 1;
    }
    if negative {
        put(b'-');
    }
    out.extend_from_slice(text.get(start..).unwrap_or_default());
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// A number taken apart: `digits × 10^exponent`, where the digits may have a point in between.
struct Parts<'a> {
    negative: bool,
    /// Digits and at most one point, leading zeros cut.
    mantissa: &'a [u8],
    /// Number of digits in `mantissa`.
    count: i64,
    exponent: i64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    /// Towards zero.
    Down,
    /// To the nearest, a half away from zero.
    HalfUp,
}

/// A number at some scale.
struct Scaled {
    /// `None` if it needs more than 38 digits.
    unscaled: Option<i128>,
    /// Whether nothing was rounded off.
    exact: bool,
}

impl<'a> Parts<'a> {
    /// Reads `[+-] digits [. digits] [e [+-] digits]`, with digits on at least one side of the point.
    fn of(text: &'a [u8]) -> Option<Self> {
        let (negative, unsigned) = sign(text);
        let end = unsigned.iter().position(|b| matches!(b, b'e' | b'E'));
        let (mantissa, exponent) = match end {
            Some(at) => (unsigned.get(..at)?, exponent(unsigned.get(at + 1..)?)?),
            None => (unsigned, 0),
        };
        let point = mantissa.iter().position(|b| *b == b'.');
        let digits = mantissa.iter().enumerate().filter(|(i, _)| Some(*i) != point);
        if !digits.clone().all(|(_, b)| b.is_ascii_digit()) || digits.count() == 0 {
            return None;
        }
        let fraction = point.map_or(0, |at| mantissa.len() - at - 1) as i64;
        let zeros = mantissa.iter().take_while(|b| matches!(b, b'0' | b'.')).count();
        let significant = mantissa.get(zeros..).unwrap_or_default();
        let count = significant.iter().filter(|b| **b != b'.').count() as i64;
        Some(Self { negative, mantissa: significant, count, exponent: exponent - fraction })
    }

    /// The number with `scale` digits after the point.
    fn at_scale(&self, scale: u8, rounding: Rounding) -> Scaled {
        let shift = self.exponent + i64::from(scale);
        let kept = self.count + shift.min(0);
        if self.count == 0 || kept < 0 {
            return Scaled { unscaled: Some(0), exact: self.count == 0 };
        }
        if self.count + shift > DECIMAL_DIGITS {
            return Scaled { unscaled: None, exact: true };
        }
        let mut digits = self.mantissa.iter().filter(|b| **b != b'.').map(|b| i128::from(b - b'0'));
        let mut value = digits.by_ref().take(kept as usize).fold(0_i128, |value, digit| value * 10 + digit);
        let next = digits.next();
        let exact = next.unwrap_or(0) == 0 && digits.all(|digit| digit == 0);
        if rounding == Rounding::HalfUp && next.is_some_and(|digit| digit >= 5) {
            value += 1;
        }
        value *= 10_i128.pow(shift.max(0) as u32);
        let signed = if self.negative { -value } else { value };
        Scaled { unscaled: Some(signed), exact }
    }
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_i64;
    for b in digits {
        if !b.is_ascii_digit() {
            return None;
        }
        value = (value * 10 + i64::from(b - b'0')).min(EXPONENT_MAX);
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INT: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);
    const LONG: (i64, i64) = (i64::MIN, i64::MAX);

    fn plain(text: &str, precision: u8, scale: u8) -> Result<String, Reason> {
        decimal(text, precision, scale).map(|value| value.to_string()).map_err(|misfit| misfit.reason)
    }

    #[test]
    fn integers_are_plain_digits_within_their_range() {
        assert_eq!(integer("-2147483648", INT), Ok(i32::MIN.into()));
        assert_eq!(integer("+7", INT), Ok(7));
        assert_eq!(integer("2147483648", INT), Err(BEYOND_RANGE));
        assert_eq!(integer("9223372036854775807", LONG), Ok(i64::MAX));
        assert_eq!(integer("-9223372036854775808", LONG), Ok(i64::MIN));
        assert_eq!(integer("9223372036854775808", LONG), Err(BEYOND_RANGE));
        assert_eq!(integer("99999999999999999999999999", LONG), Err(BEYOND_RANGE));
        for text in ["", "-", "1.0", "abc", " 1", "1e2", "--1"] {
            assert_eq!(integer(text, LONG), Err(NOT_AN_INTEGER), "{text}");
        }
    }

    #[test]
    fn integers_of_any_form_keep_their_value_or_are_refused() {
        assert_eq!(integer_of_any_form("1e2", INT, false), Ok(100));
        assert_eq!(integer_of_any_form("1.0", INT, false), Ok(1));
        assert_eq!(integer_of_any_form("112.013", INT, true), Ok(112));
        assert_eq!(integer_of_any_form("-1.9", INT, true), Ok(-1));
        assert_eq!(integer_of_any_form("9007199254740993.0", LONG, false), Ok(9_007_199_254_740_993));
        assert_eq!(integer_of_any_form("1.9", INT, false).unwrap_err().reason, Reason::LossyConversion);
        assert_eq!(integer_of_any_form("1e10", INT, true), Err(BEYOND_RANGE));
        assert_eq!(integer_of_any_form("1e999999999999999999999", INT, true), Err(BEYOND_RANGE));
        assert_eq!(integer_of_any_form("1e-999999999999999999999", INT, true), Ok(0));
    }

    #[test]
    fn decimals_round_half_up_from_their_text() {
        assert_eq!(plain("1.2345", 10, 3).as_deref(), Ok("1.235"));
        assert_eq!(plain("-1.2345", 10, 3).as_deref(), Ok("-1.235"));
        assert_eq!(plain("20", 10, 2).as_deref(), Ok("20.00"));
        assert_eq!(plain("2E+1", 10, 2).as_deref(), Ok("20.00"));
        assert_eq!(plain(".5", 10, 0).as_deref(), Ok("1"));
        assert_eq!(plain("5.", 10, 0).as_deref(), Ok("5"));
        assert_eq!(plain("799.929496989092949698", 38, 18).as_deref(), Ok("799.929496989092949698"));
        let just_below_half = format!("0.4{}", "9".repeat(60));
        assert_eq!(plain(&just_below_half, 10, 0).as_deref(), Ok("0"));
        assert_eq!(plain("0e99999999999", 10, 0).as_deref(), Ok("0"));
        assert_eq!(plain("12345678.9", 10, 3), Err(Reason::ValueOutOfRange));
        assert_eq!(plain("999.995", 5, 2), Err(Reason::ValueOutOfRange));
        assert_eq!(plain("1e38", 38, 0), Err(Reason::ValueOutOfRange));
        for text in ["abc", "", ".", "1.2.3", "1e", "e1", "0x1", "1 "] {
            assert_eq!(plain(text, 38, 2), Err(Reason::Malformed), "{text}");
        }
    }

    #[test]
    fn floats_are_read_as_java_reads_them() {
        assert_eq!(float("1.5"), Ok(1.5_f64));
        assert_eq!(float("-Infinity"), Ok(f64::NEG_INFINITY));
        assert!(float::<f64>("NaN").unwrap().is_nan());
        assert_eq!(float("1e400"), Ok(f64::INFINITY));
        assert_eq!(float("2.5f"), Ok(2.5_f32));
        for text in ["112.013.123", "inf", "nan", "infinity", "", "d", "-", "1e"] {
            assert_eq!(float::<f64>(text), Err(NOT_A_NUMBER), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-+0-9.eE]{0,50}|.{0,20}", precision in 1_u8..=38) {
            let _ = (integer(&text, LONG), integer_of_any_form(&text, LONG, true), float::<f64>(&text));
            let _ = decimal(&text, precision, precision / 2);
        }

        #[test]
        fn decimals_are_written_with_all_digits(unscaled in any::<i64>(), narrow in -1200_i64..1200, scale in 0_u8..30) {
            for unscaled in [unscaled, narrow] {
                let value = Decimal::new(unscaled.into(), scale);
                let mut out = Vec::new();
                write_decimal(value, &mut out);
                prop_assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
            }
        }

        #[test]
        fn short_and_general_ways_agree(value in -999_999_999_999_i64..999_999_999_999, digits in 0_u8..6, scale in 0_u8..8) {
            let text = Decimal::new(value.into(), digits).to_string();
            let general = Parts::of(text.as_bytes()).unwrap().at_scale(scale, Rounding::HalfUp).unscaled;
            prop_assert_eq!(decimal(&text, 38, scale).ok().map(Decimal::unscaled), general);
        }
    }
}
