//! DECIMAL arithmetic: exact, then rounded half up (away from zero) to the
//! scale of the result.
//!
//! Almost every operation fits 128 bits. What does not is computed once more
//! with numbers of any size.

use num_bigint::BigInt;
use num_bigint::Sign;

use crate::model::Decimal;

/// Significant digits of a quotient before it is rounded to its scale.
/// Flink: `DecimalDataUtils.divide` with Java's `MathContext(38, HALF_UP)`.
const QUOTIENT_DIGITS: u32 = 38;

/// `a + b` at `scale`; `None` if it needs more than 38 digits.
pub(super) fn add(a: Decimal, b: Decimal, scale: u8) -> Option<Decimal> {
    let common = a.scale().max(b.scale());
    let exact = || aligned(a, common)?.checked_add(aligned(b, common)?);
    match exact() {
        Some(sum) => round(sum, common, scale),
        None => round_big(big_aligned(a, common) + big_aligned(b, common), u32::from(common), scale),
    }
}

/// `a * b` at `scale`; `None` if it needs more than 38 digits.
pub(super) fn multiply(a: Decimal, b: Decimal, scale: u8) -> Option<Decimal> {
    let digits = u32::from(a.scale()) + u32::from(b.scale());
    match (a.unscaled().checked_mul(b.unscaled()), u8::try_from(digits)) {
        (Some(product), Ok(digits)) => round(product, digits, scale),
        _ => round_big(BigInt::from(a.unscaled()) * BigInt::from(b.unscaled()), digits, scale),
    }
}

/// `a / b` at `scale`, `b` not zero; `None` if it needs more than 38 digits.
pub(super) fn divide(a: Decimal, b: Decimal, scale: u8) -> Option<Decimal> {
    quick_quotient(a, b, scale).or_else(|| {
        let (digits, at) = long_quotient(a, b);
        round_big(digits, at, scale)
    })
}

/// The quotient when all of it fits 128 bits, and so few digits are in play that
/// rounding to 38 digits first cannot change it.
fn quick_quotient(a: Decimal, b: Decimal, scale: u8) -> Option<Decimal> {
    let shift = i32::from(scale) - i32::from(a.scale()) + i32::from(b.scale());
    let factor = power(u32::try_from(shift).ok()?)?;
    let dividend = a.unscaled().checked_mul(factor)?;
    let divisor = b.unscaled();
    let (quotient, rest) = (dividend.checked_div(divisor)?, dividend.checked_rem(divisor)?);
    if digits(quotient) + digits(divisor) >= QUOTIENT_DIGITS {
        return None;
    }
    let up = rest.unsigned_abs() * 2 >= divisor.unsigned_abs();
    let away = if (a.unscaled() < 0) == (divisor < 0) { 1 } else { -1 };
    fitting(if up && rest != 0 { quotient + away } else { quotient }, scale)
}

/// The quotient with 38 significant digits at least, rounded half up to 38, and
/// the digits after its point.
fn long_quotient(a: Decimal, b: Decimal) -> (BigInt, u32) {
    let (dividend, divisor) = (BigInt::from(a.unscaled()), BigInt::from(b.unscaled()));
    // Enough zeros behind the dividend for 39 digits or more in the quotient.
    let zeros = QUOTIENT_DIGITS + 2 + digits(b.unscaled());
    let quotient = dividend * big_power(zeros) / divisor;
    let at = i64::from(zeros) + i64::from(a.scale()) - i64::from(b.scale());
    let surplus = big_digits(&quotient).saturating_sub(QUOTIENT_DIGITS);
    // `at` exceeds `surplus` by construction: zeros >= 40 + digits(b), scales <= 38.
    let rounded = big_half_up(quotient, surplus);
    let at = at - i64::from(surplus);
    match u32::try_from(at) {
        Ok(at) => (rounded, at),
        Err(_) => (rounded * big_power(u32::try_from(-at).unwrap_or(0)), 0),
    }
}

/// `a % b` with the sign of `a`, at `scale`, `b` not zero.
pub(super) fn remainder(a: Decimal, b: Decimal, scale: u8) -> Option<Decimal> {
    let common = a.scale().max(b.scale());
    let exact = || aligned(a, common)?.checked_rem(aligned(b, common)?);
    match exact() {
        Some(rest) => round(rest, common, scale),
        None => round_big(big_aligned(a, common) % big_aligned(b, common), u32::from(common), scale),
    }
}

/// The nearest DOUBLE.
pub(in crate::expr) fn to_double(value: Decimal) -> f64 {
    /// Integers up to 2^53 and powers of ten up to 10^22 are exact, so that one
    /// division rounds once.
    const EXACT_INTEGER: u128 = 1 << 53;
    let unscaled = value.unscaled();
    if unscaled.unsigned_abs() <= EXACT_INTEGER && value.scale() <= 22 {
        return unscaled as f64 / 10_f64.powi(i32::from(value.scale()));
    }
    let mut text: smallvec::SmallVec<[u8; 48]> = smallvec::SmallVec::new();
    text.extend(itoa::Buffer::new().format(unscaled).bytes());
    text.extend(*b"e-");
    text.extend(itoa::Buffer::new().format(value.scale()).bytes());
    std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// `unscaled × 10^-digits` cut down or filled up to `scale`.
pub(in crate::expr) fn round(unscaled: i128, digits: u8, scale: u8) -> Option<Decimal> {
    if digits <= scale {
        return fitting(unscaled.checked_mul(power(u32::from(scale - digits))?)?, scale);
    }
    let Some(divisor) = power(u32::from(digits - scale)) else {
        return round_big(unscaled.into(), u32::from(digits), scale);
    };
    let (quotient, rest) = (unscaled / divisor, unscaled % divisor);
    let up = rest.unsigned_abs() * 2 >= divisor.unsigned_abs();
    fitting(if up { quotient + unscaled.signum() } else { quotient }, scale)
}

fn round_big(unscaled: BigInt, digits: u32, scale: u8) -> Option<Decimal> {
    let scale_digits = u32::from(scale);
    let rounded = if digits <= scale_digits {
        unscaled * big_power(scale_digits - digits)
    } else {
        big_half_up(unscaled, digits - scale_digits)
    };
    fitting(i128::try_from(rounded).ok()?, scale)
}

/// `value / 10^drop`, rounded half up.
fn big_half_up(value: BigInt, drop: u32) -> BigInt {
    if drop == 0 {
        return value;
    }
    let divisor = big_power(drop);
    let half = &divisor / 2;
    let shifted = if value.sign() == Sign::Minus { value - half } else { value + half };
    shifted / divisor
}

fn fitting(unscaled: i128, scale: u8) -> Option<Decimal> {
    let value = Decimal::new(unscaled, scale);
    value.fits(38).then_some(value)
}

fn aligned(value: Decimal, scale: u8) -> Option<i128> {
    value.unscaled().checked_mul(power(u32::from(scale - value.scale()))?)
}

fn big_aligned(value: Decimal, scale: u8) -> BigInt {
    BigInt::from(value.unscaled()) * big_power(u32::from(scale - value.scale()))
}

/// 10^exponent, up to the largest that an `i128` holds.
fn power(exponent: u32) -> Option<i128> {
    10_i128.checked_pow(exponent)
}

fn big_power(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

fn digits(value: i128) -> u32 {
    value.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1)
}

fn big_digits(value: &BigInt) -> u32 {
    u32::try_from(value.magnitude().to_string().len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    fn shown(result: Option<Decimal>) -> String {
        result.map_or("NULL".to_owned(), |d| d.to_string())
    }

    #[test]
    fn sums_beyond_128_bits_are_right() {
        let (a, b) = (decimal("12345678901234567890.123456789012345678"), decimal("0.000000000000000001"));
        assert_eq!(shown(add(a, b, 17)), "12345678901234567890.12345678901234568");
        let nines = decimal("99999999999999999999999999999999999999");
        assert_eq!(shown(add(nines, decimal("1"), 0)), "NULL");
        let tiny = decimal("0.00000000000000000000000000000000000001");
        assert_eq!(shown(add(nines, tiny, 0)), "99999999999999999999999999999999999999");
    }

    #[test]
    fn products_round_half_up() {
        let a = decimal("0.123456789012345678");
        assert_eq!(shown(multiply(a, a, 33)), "0.015241578753238836527968299765280");
        assert_eq!(shown(multiply(decimal("1.234567890123456789"), decimal("1.5"), 6)), "1.851852");
        assert_eq!(shown(multiply(decimal("-0.5"), decimal("0.1"), 1)), "-0.1");
    }

    #[test]
    fn quotients_have_the_digits_of_their_type() {
        assert_eq!(shown(divide(decimal("1.00"), decimal("3.00"), 13)), "0.3333333333333");
        assert_eq!(shown(divide(decimal("2.0000"), decimal("3.0"), 10)), "0.6666666667");
        let one = decimal("1.0000000000");
        assert_eq!(shown(divide(one, decimal("3.0000000000"), 18)), "0.333333333333333333");
        assert_eq!(shown(divide(decimal("-1"), decimal("8"), 2)), "-0.13");
        let (a, b) = (decimal("99999999999999999999999999999999999999"), decimal("7"));
        assert_eq!(shown(divide(a, b, 6)), "NULL");
        assert_eq!(shown(divide(a, b, 0)), "14285714285714285714285714285714285714");
        assert_eq!(shown(divide(decimal("1"), a, 6)), "0.000000");
    }

    #[test]
    fn remainders_take_the_sign_of_the_dividend() {
        assert_eq!(shown(remainder(decimal("7.2"), decimal("2.0001"), 4)), "1.1997");
        assert_eq!(shown(remainder(decimal("-7.5"), decimal("2"), 1)), "-1.5");
    }

    #[test]
    fn doubles_are_the_nearest() {
        assert_eq!(to_double(decimal("0.1")), 0.1);
        assert_eq!(to_double(decimal("12345678901234567890.123456789")), 12345678901234567890.123456789);
        assert_eq!(to_double(decimal("-2.5")), -2.5);
    }
}
