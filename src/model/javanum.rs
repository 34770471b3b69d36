//! Numbers as Java prints them, which is how Flink prints them.
//!
//! `Double.toString` and `Float.toString` write the shortest digits that read
//! back to the same number, at least one digit after the point, and an `E` form
//! below 1.0E-3 and from 1.0E7. `BigDecimal.toString` turns to an `E` form
//! only where plain digits would need zeros that the number does not have.

use super::Decimal;

/// Below this a DOUBLE has so few bits left that one digit may tell it from its
/// neighbours; Java then still writes the nearest two digits.
const COARSE_DOUBLE: f64 = 1e-320;

/// The same for FLOAT.
const COARSE_FLOAT: f32 = 1e-43;

/// Appends what Java's `Double.toString` gives.
pub fn write_double(value: f64, out: &mut impl Extend<u8>) {
    if !value.is_finite() {
        return write_special(value.is_nan(), value < 0.0, out);
    }
    if value != 0.0 && value.abs() < COARSE_DOUBLE {
        return write_digits(&format!("{value:.1e}"), out);
    }
    write_digits(ryu::Buffer::new().format_finite(value), out);
}

/// Appends what Java's `Float.toString` gives.
pub fn write_float(value: f32, out: &mut impl Extend<u8>) {
    if !value.is_finite() {
        return write_special(value.is_nan(), value < 0.0, out);
    }
    if value != 0.0 && value.abs() < COARSE_FLOAT {
        return write_digits(&format!("{value:.1e}"), out);
    }
    write_digits(ryu::Buffer::new().format_finite(value), out);
}

fn write_special(nan: bool, negative: bool, out: &mut impl Extend<u8>) {
    let text = match (nan, negative) {
        (true, _) => "NaN",
        (false, true) => "-Infinity",
        (false, false) => "Infinity",
    };
    out.extend(text.bytes());
}

/// Lays out the digits of a number in any usual notation Java's way.
fn write_digits(text: &str, out: &mut impl Extend<u8>) {
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().unwrap_or(0)),
        None => (text, 0),
    };
    let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
    if unsigned.len() < mantissa.len() {
        out.extend([b'-']);
    }
    let mut digits = [b'0'; 40];
    let (mut len, mut point) = (0_usize, None);
    for b in unsigned.bytes() {
        if b == b'.' {
            point = Some(len);
        } else if let Some(slot) = digits.get_mut(len) {
            *slot = b;
            len += 1;
        }
    }
    let mut decimal_at = point.unwrap_or(len) as i32 + exponent;
    let leading = digits[..len].iter().take_while(|b| **b == b'0').count();
    if leading == len {
        out.extend(*b"0.0");
        return;
    }
    decimal_at -= leading as i32;
    let trailing = digits[leading..len].iter().rev().take_while(|b| **b == b'0').count();
    lay_out(&digits[leading..len - trailing], decimal_at, out);
}

/// Writes `0.digits × 10^decimal_at`; the digits have no zeros at either end.
fn lay_out(digits: &[u8], decimal_at: i32, out: &mut impl Extend<u8>) {
    let scientific = decimal_at - 1;
    if !(-3..7).contains(&scientific) {
        let (first, rest) = digits.split_at(1.min(digits.len()));
        out.extend(first.iter().copied());
        out.extend([b'.']);
        out.extend(if rest.is_empty() { b"0" } else { rest }.iter().copied());
        out.extend([b'E']);
        out.extend(itoa::Buffer::new().format(scientific).bytes());
        return;
    }
    if decimal_at <= 0 {
        out.extend(*b"0.");
        out.extend(std::iter::repeat_n(b'0', decimal_at.unsigned_abs() as usize));
        out.extend(digits.iter().copied());
        return;
    }
    let whole = decimal_at as usize;
    let shown = whole.min(digits.len());
    out.extend(digits[..shown].iter().copied());
    out.extend(std::iter::repeat_n(b'0', whole - shown));
    out.extend([b'.']);
    out.extend(if shown == digits.len() { b"0" } else { &digits[shown..] }.iter().copied());
}

/// Appends a decimal with every digit of its scale and no exponent.
pub fn write_decimal(value: Decimal, out: &mut impl Extend<u8>) {
    write_plain(value.unscaled(), usize::from(value.scale()), out);
}

fn write_plain(unscaled: i128, scale: usize, out: &mut impl Extend<u8>) {
    if unscaled < 0 {
        out.extend([b'-']);
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(unscaled.unsigned_abs()).as_bytes();
    if scale == 0 {
        return out.extend(digits.iter().copied());
    }
    if digits.len() <= scale {
        out.extend(*b"0.");
        out.extend(std::iter::repeat_n(b'0', scale - digits.len()));
        return out.extend(digits.iter().copied());
    }
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    out.extend(whole.iter().copied());
    out.extend([b'.']);
    out.extend(fraction.iter().copied());
}

/// Appends what Java's `BigDecimal.toString` gives for `unscaled × 10^-scale`:
/// `20.00`, but `2E+1` for 2 × 10^1 and `1E-7` for 1 × 10^-7.
pub fn write_big_decimal(unscaled: i128, scale: i32, out: &mut impl Extend<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(unscaled.unsigned_abs()).as_bytes();
    let adjusted = digits.len() as i32 - 1 - scale;
    if scale >= 0 && adjusted >= -6 {
        return write_plain(unscaled, scale as usize, out);
    }
    if unscaled < 0 {
        out.extend([b'-']);
    }
    let (first, rest) = digits.split_at(1.min(digits.len()));
    out.extend(first.iter().copied());
    if !rest.is_empty() {
        out.extend([b'.']);
        out.extend(rest.iter().copied());
    }
    if adjusted != 0 {
        out.extend([b'E']);
        if adjusted > 0 {
            out.extend([b'+']);
        }
        out.extend(itoa::Buffer::new().format(adjusted).bytes());
    }
}

/// Unscaled digits and scale without trailing zeros, as Java's
/// `BigDecimal.stripTrailingZeros`: 20.00 is (2, -1), zero is (0, 0).
#[must_use]
pub fn stripped(value: Decimal) -> (i128, i32) {
    let (mut unscaled, mut scale) = (value.unscaled(), i32::from(value.scale()));
    if unscaled == 0 {
        return (0, 0);
    }
    while unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    (unscaled, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(value: f64) -> String {
        let mut out = Vec::new();
        write_double(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn float(value: f32) -> String {
        let mut out = Vec::new();
        write_float(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn big(unscaled: i128, scale: i32) -> String {
        let mut out = Vec::new();
        write_big_decimal(unscaled, scale, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_look_like_java() {
        for (value, text) in [
            (1e7, "1.0E7"),
            (1.0, "1.0"),
            (0.0001, "1.0E-4"),
            (0.001, "0.001"),
            (123_456_789.125, "1.23456789125E8"),
            (9_999_999.5, "9999999.5"),
            (-0.0, "-0.0"),
            (100.0, "100.0"),
            (1234.5, "1234.5"),
            (1e300, "1.0E300"),
            (5e-324, "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double(value), text);
        }
    }

    #[test]
    fn floats_look_like_java() {
        assert_eq!(float(0.1), "0.1");
        assert_eq!(float(1e7), "1.0E7");
        assert_eq!(float(0.333_333_34), "0.33333334");
        assert_eq!(float(f32::from_bits(1)), "1.4E-45");
    }

    #[test]
    fn decimals_look_like_java() {
        assert_eq!(big(2000, 2), "20.00");
        assert_eq!(big(2, -1), "2E+1");
        assert_eq!(big(1, 7), "1E-7");
        assert_eq!(big(-12, 8), "-1.2E-7");
        assert_eq!(big(1, 6), "0.000001");
        assert_eq!(big(0, 2), "0.00");
        assert_eq!(stripped(Decimal::new(2000, 2)), (2, -1));
        assert_eq!(stripped(Decimal::new(0, 2)), (0, 0));
        let mut out = Vec::new();
        write_decimal(Decimal::new(-5, 3), &mut out);
        assert_eq!(out, b"-0.005");
    }
}
