//! Durations as Flink writes them: `10 min`, `1s`, `250 ms`; a bare number is milliseconds
//! (Flink: `TimeUtils.parseDuration`).

use std::time::Duration;

/// Unit names and their nanoseconds.
const UNITS: &[(&[&str], u64)] = &[
    (&["d", "day", "days"], 86_400_000_000_000),
    (&["h", "hour", "hours"], 3_600_000_000_000),
    (&["m", "min", "minute", "minutes"], 60_000_000_000),
    (&["s", "sec", "secs", "second", "seconds"], 1_000_000_000),
    (&["", "ms", "milli", "millis", "millisecond", "milliseconds"], 1_000_000),
    (&["µs", "micro", "micros", "microsecond", "microseconds"], 1_000),
    (&["ns", "nano", "nanos", "nanosecond", "nanoseconds"], 1),
];

/// Reads a duration.
///
/// # Errors
/// A sentence that says what is wrong with the text.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_lowercase();
    if number.is_empty() {
        return Err(
            "a duration is a whole number with a unit, such as '10 min', '1 s' or '250 ms'".to_owned()
        );
    }
    let Some((_, nanos)) = UNITS.iter().find(|(names, _)| names.contains(&unit.as_str())) else {
        return Err(format!("'{unit}' is not a unit of time; units are d, h, min, s, ms, µs and ns"));
    };
    let total = number.parse::<u64>().ok().and_then(|number| number.checked_mul(*nanos));
    total.map(Duration::from_nanos).ok_or_else(|| "the duration is too long (limit: 584 years)".to_owned())
}

/// The shortest text that [`parse_duration`] reads back as the same duration.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let units =
        [(86_400_000_000_000, "d"), (3_600_000_000_000, "h"), (60_000_000_000, "min"), (1_000_000_000, "s")];
    let unit = units
        .into_iter()
        .chain([(1_000_000, "ms"), (1_000, "µs")])
        .find(|(unit, _)| nanos.is_multiple_of(*unit));
    match unit {
        _ if nanos == 0 => "0 s".to_owned(),
        Some((unit, name)) => format!("{} {name}", nanos / unit),
        None => format!("{nanos} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flinks_spellings_are_read() {
        let cases = [
            ("10 min", 600_000),
            ("1 s", 1000),
            ("0 s", 0),
            ("1h", 3_600_000),
            ("100ms", 100),
            ("42", 42),
            ("2 Days", 172_800_000),
            (" 7 seconds ", 7000),
        ];
        for (text, millis) in cases {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse_duration("5 µs"), Ok(Duration::from_micros(5)));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "min", "-1 s", "1.5 s", "1 fortnight", "99999999999999999999"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_printed_duration_is_read_back() {
        for millis in [0, 1, 999, 1000, 60_000, 90_000, 3_600_000, 86_400_000] {
            let duration = Duration::from_millis(millis);
            assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
        assert_eq!(format_duration(Duration::from_secs(600)), "10 min");
    }
}
