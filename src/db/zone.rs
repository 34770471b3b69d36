//! The session's time zone, by the names that a definition uses.

use jiff::tz::{Offset, TimeZone};

/// The zone of an IANA name, `UTC`, or an offset (`GMT+08:00`, `UTC-3`, `+05:30`); `None` for anything else.
#[must_use]
pub fn time_zone(name: &str) -> Option<TimeZone> {
    let name = name.trim();
    let rest = name.strip_prefix("GMT").or_else(|| name.strip_prefix("UTC")).unwrap_or(name);
    if rest.is_empty() || rest == "Z" {
        return Some(TimeZone::UTC);
    }
    if let Some(seconds) = offset_seconds(rest) {
        return Some(TimeZone::fixed(Offset::from_seconds(seconds).ok()?));
    }
    TimeZone::get(name).ok()
}

fn offset_seconds(text: &str) -> Option<i32> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text.get(1..)?.split_once(':').unwrap_or((text.get(1..)?, "0"));
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 18 && (0..60).contains(&minutes)).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(name: &str) -> Option<i32> {
        Some(time_zone(name)?.to_fixed_offset().ok()?.seconds())
    }

    #[test]
    fn offsets_and_names() {
        assert_eq!(offset("UTC"), Some(0));
        assert_eq!(offset("GMT+08:00"), Some(28_800));
        assert_eq!(offset("-05:30"), Some(-19_800));
        assert_eq!(offset("UTC-3"), Some(-10_800));
        assert!(time_zone("Asia/Shanghai").is_some());
        assert!(time_zone("Mars/Olympus").is_none());
    }
}
