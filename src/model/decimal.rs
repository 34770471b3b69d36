//! An exact decimal of at most 38 digits.

use std::fmt;

/// `unscaled × 10^-scale`, |unscaled| < 10^38. Stored in two halves so that a
/// [`super::Datum`] keeps an alignment of 8.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    high: i64,
    low: u64,
    scale: u8,
}

/// Powers of ten that an `i128` holds.
pub(crate) const POWERS_OF_TEN: [i128; 39] = powers();

const fn powers() -> [i128; 39] {
    let mut table = [1_i128; 39];
    let mut i = 1;
    while i < 39 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
}

impl Decimal {
    /// The number `unscaled × 10^-scale`.
    #[must_use]
    pub fn new(unscaled: i128, scale: u8) -> Self {
        Self { high: (unscaled >> 64) as i64, low: unscaled as u64, scale }
    }

    /// The digits without the point.
    #[must_use]
    pub fn unscaled(self) -> i128 {
        (i128::from(self.high) << 64) | i128::from(self.low)
    }

    /// Digits after the point.
    #[must_use]
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// Whether the number has at most `precision` digits at its scale.
    #[must_use]
    pub fn fits(self, precision: u8) -> bool {
        self.unscaled().unsigned_abs() < POWERS_OF_TEN[usize::from(precision.min(38))].unsigned_abs()
    }

    /// The same number with `scale` digits after the point, rounded half up
    /// (away from zero); `None` if it does not fit 38 digits.
    #[must_use]
    pub fn rescale(self, scale: u8) -> Option<Self> {
        let unscaled = self.unscaled();
        if self.scale <= scale {
            let factor = POWERS_OF_TEN.get(usize::from(scale - self.scale))?;
            let grown = unscaled.checked_mul(*factor)?;
            let fitted = Self::new(grown, scale);
            return fitted.fits(38).then_some(fitted);
        }
        let Some(divisor) = POWERS_OF_TEN.get(usize::from(self.scale - scale)) else {
            return Some(Self::new(0, scale));
        };
        let (quotient, remainder) = (unscaled / divisor, unscaled % divisor);
        let up = remainder.unsigned_abs() * 2 >= divisor.unsigned_abs();
        let step = if up { unscaled.signum() } else { 0 };
        Some(Self::new(quotient + step, scale))
    }

    /// Reads plain or exponent notation (`12`, `-1.50`, `2E+1`); `None` for
    /// anything else, or for more than 38 significant digits (digits past a
    /// fraction of 38 are rounded half up).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (negative, digits) = match mantissa.as_bytes().first()? {
            b'-' => (true, &mantissa[1..]),
            b'+' => (false, &mantissa[1..]),
            _ => (false, mantissa),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut unscaled: i128 = 0;
        let mut scale = -i64::from(exponent);
        let mut dropped: Option<u8> = None;
        for (i, b) in whole.bytes().chain(fraction.bytes()).enumerate() {
            if !b.is_ascii_digit() {
                return None;
            }
            let in_fraction = i >= whole.len();
            if dropped.is_some() || unscaled >= POWERS_OF_TEN[37] {
                dropped = dropped.or(Some(b));
                if !in_fraction {
                    scale -= 1;
                }
                continue;
            }
            unscaled = unscaled * 10 + i128::from(b - b'0');
            if in_fraction {
                scale += 1;
            }
        }
        if dropped.is_some_and(|b| b >= b'5') {
            unscaled += 1;
        }
        if unscaled == 0 {
            scale = scale.clamp(0, 38);
        }
        Self::normalized(if negative { -unscaled } else { unscaled }, scale)
    }

    /// Brings any exponent into `0 ..= 38` digits after the point.
    fn normalized(unscaled: i128, scale: i64) -> Option<Self> {
        if scale < 0 {
            let factor = POWERS_OF_TEN.get(usize::try_from(-scale).ok()?)?;
            let grown = Self::new(unscaled.checked_mul(*factor)?, 0);
            return grown.fits(38).then_some(grown);
        }
        match u8::try_from(scale) {
            Ok(scale) if scale <= 38 => Some(Self::new(unscaled, scale)),
            Ok(scale) => Self::new(unscaled, scale).rescale(38),
            Err(_) => Some(Self::new(0, 38)),
        }
    }
}

impl fmt::Display for Decimal {
    /// Plain notation with every digit of the scale: `20.00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unscaled = self.unscaled();
        let sign = if unscaled < 0 { "-" } else { "" };
        let digits = unscaled.unsigned_abs();
        if self.scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let power = POWERS_OF_TEN[usize::from(self.scale.min(38))].unsigned_abs();
        let width = usize::from(self.scale);
        write!(f, "{sign}{}.{:0width$}", digits / power, digits % power)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    fn parsed(text: &str) -> Option<String> {
        Decimal::parse(text).map(|d| d.to_string())
    }

    #[test]
    fn reads_plain_and_exponent_notation() {
        assert_eq!(parsed("20.00").as_deref(), Some("20.00"));
        assert_eq!(parsed("-0.05").as_deref(), Some("-0.05"));
        assert_eq!(parsed("2E+1").as_deref(), Some("20"));
        assert_eq!(parsed("1.5e-3").as_deref(), Some("0.0015"));
        assert_eq!(parsed(".5").as_deref(), Some("0.5"));
        assert_eq!(parsed("5.").as_deref(), Some("5"));
        assert_eq!(parsed("0e999").as_deref(), Some("0"));
        assert_eq!(parsed("1e39"), None);
        assert_eq!(parsed("abc"), None);
        assert_eq!(parsed("."), None);
        assert_eq!(parsed(""), None);
        assert_eq!(parsed("1.2.3"), None);
    }

    #[test]
    fn rescale_rounds_half_away_from_zero() {
        let round =
            |text: &str, scale| Decimal::parse(text).and_then(|d| d.rescale(scale)).map(|d| d.to_string());
        assert_eq!(round("1.005", 2).as_deref(), Some("1.01"));
        assert_eq!(round("-1.005", 2).as_deref(), Some("-1.01"));
        assert_eq!(round("1.004", 2).as_deref(), Some("1.00"));
        assert_eq!(round("7", 3).as_deref(), Some("7.000"));
    }
}
