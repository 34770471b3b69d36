//! Days since 1970-01-01 and calendar dates, as the server writes and reads them.

/// Milliseconds of a day.
pub(super) const DAY: i64 = 86_400_000;

/// Year, month and day of a day number (proleptic Gregorian calendar, as MySQL uses).
pub(super) fn civil(days: i64) -> (i64, u8, u8) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u8, day as u8)
}

/// The day number of a date; `None` for one that the calendar does not have (2024-02-30, 2025-00-15).
pub(super) fn day_number(year: i64, month: u8, day: u8) -> Option<i64> {
    if !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let era = shifted_year.div_euclid(400);
    let year_of_era = shifted_year.rem_euclid(400);
    let march_month = (i64::from(month) + 9) % 12;
    let of_year = (153 * march_month + 2) / 5 + i64::from(day) - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    let days = era * 146_097 + of_era - 719_468;
    (civil(days) == (year, month, day)).then_some(days)
}

/// `2024-01-31`; `None` outside of the years 0000 to 9999, which MySQL cannot write.
pub(super) fn date_text(days: i64) -> Option<String> {
    let (year, month, day) = civil(days);
    (0..=9999).contains(&year).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// `13:05:07.250` with `digits` of the nanosecond; the caller knows that the rest is zero.
pub(super) fn time_text(second_of_day: i64, nanos: u32, digits: u8) -> String {
    let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    let mut text = format!("{hour:02}:{minute:02}:{second:02}");
    if digits > 0 {
        let fraction = format!("{nanos:09}");
        text.push('.');
        text.push_str(fraction.get(..usize::from(digits.min(9))).unwrap_or(&fraction));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_the_calendar_and_no_others() {
        assert_eq!(day_number(1970, 1, 1), Some(0));
        assert_eq!(day_number(2000, 2, 29), Some(11_016));
        assert_eq!(day_number(1969, 12, 31), Some(-1));
        assert_eq!(day_number(1, 1, 1), Some(-719_162));
        assert_eq!(day_number(2023, 2, 29), None);
        assert_eq!(day_number(2025, 0, 15), None);
        assert_eq!(day_number(2025, 4, 31), None);
    }

    #[test]
    fn texts_have_the_asked_digits() {
        assert_eq!(date_text(11_016).as_deref(), Some("2000-02-29"));
        assert_eq!(date_text(-719_528).as_deref(), Some("0000-01-01"));
        assert_eq!(date_text(-800_000), None);
        assert_eq!(date_text(3_000_000), None);
        assert_eq!(time_text(47_107, 250_000_000, 3), "13:05:07.250");
        assert_eq!(time_text(0, 0, 0), "00:00:00");
    }
}
