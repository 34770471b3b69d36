//! The proleptic Gregorian calendar: days to year, month and day and back, and
//! dates, times and timestamps as text.
//!
//! Everything counts from 1970-01-01 and floors, so that moments before it are
//! as right as those after it. Text is written without an allocation of its
//! own, to anything that bytes can be appended to.

use super::Timestamp;

/// Milliseconds of a day.
pub const MILLIS_PER_DAY: i64 = 86_400_000;

/// Days of 400 years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;

/// Days from 0000-03-01, where an era starts, to 1970-01-01.
const EPOCH_FROM_ERA: i64 = 719_468;

/// Days since 1970-01-01 of a day that exists; `month` 1 to 12. Days beyond the
/// month's end run on into the next month.
#[must_use]
pub fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let (month, day) = (i64::from(month), i64::from(day));
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - EPOCH_FROM_ERA
}

/// Year, month (1 to 12) and day (1 to 31) of a number of days since 1970-01-01.
#[must_use]
pub fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + EPOCH_FROM_ERA;
    let era = shifted.div_euclid(DAYS_PER_ERA);
    let day_of_era = shifted.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day as u32)
}

/// Whether `year` has a 29th of February.
#[must_use]
pub fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month; `month` 1 to 12.
#[must_use]
pub fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Whole days since 1970-01-01 and milliseconds within the day.
#[must_use]
pub fn split_millis(millis: i64) -> (i64, i64) {
    (millis.div_euclid(MILLIS_PER_DAY), millis.rem_euclid(MILLIS_PER_DAY))
}

/// Appends `yyyy-MM-dd`; years beyond four digits carry a sign, as Java's
/// `LocalDate` writes them.
pub fn write_date(days: i64, out: &mut impl Extend<u8>) {
    let (year, month, day) = civil_from_days(days);
    write_year(year, out);
    out.extend([b'-', tens(month), units(month), b'-', tens(day), units(day)]);
}

fn write_year(year: i64, out: &mut impl Extend<u8>) {
    if year < 0 {
        out.extend([b'-']);
    } else if year > 9999 {
        out.extend([b'+']);
    }
    let value = year.unsigned_abs();
    let mut digits = [b'0'; 20];
    let (mut rest, mut at) = (value, digits.len());
    while rest > 0 || digits.len() - at < 4 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend(digits[at..].iter().copied());
}

/// Appends `HH:mm:ss` and, for a precision above 0, that many fraction digits.
/// `millis` counts from midnight.
pub fn write_time(millis: i64, precision: u8, out: &mut impl Extend<u8>) {
    let clock = millis.rem_euclid(MILLIS_PER_DAY);
    write_clock(clock, out);
    write_fraction((clock % 1000) as u32 * 1_000_000, precision, out);
}

fn write_clock(millis_of_day: i64, out: &mut impl Extend<u8>) {
    let seconds = (millis_of_day / 1000) as u32;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    out.extend([tens(hour), units(hour), b':', tens(minute), units(minute)]);
    out.extend([b':', tens(second), units(second)]);
}

/// Appends `.` and `precision` digits of the nanoseconds; nothing for 0.
fn write_fraction(nano_of_second: u32, precision: u8, out: &mut impl Extend<u8>) {
    if precision == 0 {
        return;
    }
    let mut digits = [b'0'; 10];
    digits[0] = b'.';
    let mut rest = nano_of_second;
    for digit in digits[1..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let end = usize::from(precision.min(9)) + 1;
    out.extend(digits[..end].iter().copied());
}

/// Appends `yyyy-MM-dd`, the separator (a blank in SQL, `T` in ISO 8601),
/// `HH:mm:ss` and exactly `precision` fraction digits.
pub fn write_timestamp(at: Timestamp, precision: u8, separator: u8, out: &mut impl Extend<u8>) {
    let (days, clock) = split_millis(at.millis);
    write_date(days, out);
    out.extend([separator]);
    write_clock(clock, out);
    write_fraction(at.nano_of_second(), precision, out);
}

/// As [`write_timestamp`], with as many fraction digits as the value needs and
/// no point if it needs none.
pub fn write_timestamp_shortest(at: Timestamp, separator: u8, out: &mut impl Extend<u8>) {
    write_timestamp(at, fraction_digits(at.nano_of_second()), separator, out);
}

/// Fraction digits that nanoseconds of a second need, 0 to 9.
#[must_use]
pub fn fraction_digits(nano_of_second: u32) -> u8 {
    let (mut digits, mut rest) = (9, nano_of_second);
    while digits > 0 && rest.is_multiple_of(10) {
        rest /= 10;
        digits -= 1;
    }
    digits
}

/// Last decimal digit but one, as a character.
fn tens(value: u32) -> u8 {
    b'0' + (value / 10 % 10) as u8
}

/// Last decimal digit, as a character.
fn units(value: u32) -> u8 {
    b'0' + (value % 10) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(days: i64) -> String {
        let mut out = Vec::new();
        write_date(days, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn known_days() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(2024, 2, 29), 19_782);
        assert_eq!(days_from_civil(1969, 12, 31), -1);
        assert_eq!(days_from_civil(0, 3, 1), -EPOCH_FROM_ERA);
        assert_eq!(date(19_782), "2024-02-29");
        assert_eq!(date(-1), "1969-12-31");
        assert_eq!(date(days_from_civil(5, 1, 2)), "0005-01-02");
        assert_eq!(date(days_from_civil(-1, 1, 2)), "-0001-01-02");
        assert_eq!(date(days_from_civil(12_024, 1, 2)), "+12024-01-02");
    }

    #[test]
    fn every_day_of_a_millennium_survives_a_round_trip() {
        let (from, to) = (days_from_civil(1500, 1, 1), days_from_civil(2500, 1, 1));
        for days in from..to {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
            assert!(day >= 1 && day <= days_in_month(year, month), "{year}-{month}-{day}");
        }
    }

    #[test]
    fn timestamps_print_the_digits_of_their_precision() {
        let print = |at: Timestamp, precision| {
            let mut out = Vec::new();
            write_timestamp(at, precision, b' ', &mut out);
            String::from_utf8(out).unwrap()
        };
        let at = Timestamp { millis: 1_704_164_645_678, nanos: 901_234 };
        assert_eq!(print(at, 0), "2024-01-02 03:04:05");
        assert_eq!(print(at, 3), "2024-01-02 03:04:05.678");
        assert_eq!(print(at, 9), "2024-01-02 03:04:05.678901234");
        assert_eq!(print(Timestamp::from_millis(-1), 3), "1969-12-31 23:59:59.999");
        let mut out = Vec::new();
        write_timestamp_shortest(Timestamp::from_millis(1_500), b'T', &mut out);
        write_timestamp_shortest(Timestamp::from_millis(1_000), b'T', &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "1970-01-01T00:00:01.51970-01-01T00:00:01");
    }
}
