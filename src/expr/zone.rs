//! Time zones: the local time of an instant, and the instant of a local time.
//!
//! A zone's clock jumps twice a year in many places. A local time that the jump
//! leaves out moves forward by the jump, as everywhere in Java. A local time
//! that comes twice means the earlier instant in casts and the later one where
//! Flink uses Java's old calendar classes (`UNIX_TIMESTAMP`, `CONVERT_TZ`); the
//! caller says which by [`Overlap`].

use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use crate::model::Timestamp;

/// Which instant a local time means that the clock shows twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// The first: casts to TIMESTAMP_LTZ.
    Earlier,
    /// The second: `UNIX_TIMESTAMP`, `CONVERT_TZ`.
    Later,
}

/// A zone of the zone database, or a fixed distance from UTC. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(Rule);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// Milliseconds that local time is ahead of UTC.
    Fixed(i64),
    Named(TimeZone),
}

/// Java's three-letter ids that the zone database does not have, or has with
/// another meaning. Java: `ZoneId.SHORT_IDS`.
const SHORT_IDS: [(&str, &str); 25] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

const MINUTE: i64 = 60_000;

/// Hours of a fixed offset stop here. Java: `ZoneOffset`.
const OFFSET_HOURS_MAX: i64 = 18;

impl Zone {
    /// Universal time.
    pub const UTC: Self = Self(Rule::Fixed(0));

    /// The zone with this id: a name of the zone database (`Europe/Paris`),
    /// `UTC`, `GMT`, or `GMT+08:00` (also `UTC+8`, `+08:00`). `None` if there is none.
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        if matches!(id, "UTC" | "GMT" | "Z" | "UT") {
            return Some(Self::UTC);
        }
        let offset = ["GMT", "UTC", "UT"].iter().find_map(|prefix| id.strip_prefix(prefix)).unwrap_or(id);
        if offset.starts_with(['+', '-']) {
            return fixed_offset(offset).map(|millis| Self(Rule::Fixed(millis)));
        }
        let short = SHORT_IDS.iter().find(|(name, _)| *name == id);
        let found = TimeZone::get(short.map_or(id, |(_, full)| full)).ok()?;
        Some(Self(Rule::Named(found)))
    }

    /// As [`Zone::named`]; an unknown id is GMT, as in Java's `TimeZone`.
    #[must_use]
    pub fn named_or_gmt(id: &str) -> Self {
        Self::named(id).unwrap_or(Self::UTC)
    }

    /// Milliseconds that local time is ahead of UTC at an instant.
    #[must_use]
    pub fn offset_at(&self, utc_millis: i64) -> i64 {
        match &self.0 {
            Rule::Fixed(millis) => *millis,
            Rule::Named(zone) => millis_of(zone.to_offset(instant(utc_millis))),
        }
    }

    /// What the zone's clock shows at an instant.
    #[must_use]
    pub fn local_of(&self, at: Timestamp) -> Timestamp {
        Timestamp { millis: at.millis.saturating_add(self.offset_at(at.millis)), nanos: at.nanos }
    }

    /// The instant at which the zone's clock shows `local`.
    #[must_use]
    pub fn instant_of(&self, local: Timestamp, overlap: Overlap) -> Timestamp {
        let ahead = match &self.0 {
            Rule::Fixed(millis) => *millis,
            Rule::Named(zone) => named_offset(zone, local.millis, overlap),
        };
        Timestamp { millis: local.millis.saturating_sub(ahead), nanos: local.nanos }
    }
}

fn named_offset(zone: &TimeZone, local_millis: i64, overlap: Overlap) -> i64 {
    let clock = Offset::UTC.to_datetime(instant(local_millis));
    millis_of(match zone.to_ambiguous_timestamp(clock).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } => before,
        AmbiguousOffset::Fold { before, after } => match overlap {
            Overlap::Earlier => before,
            Overlap::Later => after,
        },
    })
}

/// The zone database ends with the years that `jiff` knows; beyond them the
/// nearest one's offset holds.
fn instant(millis: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(millis).unwrap_or(if millis < 0 {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    })
}

fn millis_of(offset: Offset) -> i64 {
    i64::from(offset.seconds()) * 1000
}

/// Reads `+8`, `+08`, `+0800`, `+08:00`.
fn fixed_offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return None,
        None if digits.len() > 2 => digits.split_at_checked(digits.len() - 2)?,
        None => (digits, "0"),
    };
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if hours.len() > 2 || !all_digits(hours) || !all_digits(minutes) {
        return None;
    }
    let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
    (hours <= OFFSET_HOURS_MAX && minutes < 60).then_some(sign * (hours * 60 + minutes) * MINUTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn new_york() -> Zone {
        Zone::named("America/New_York").unwrap()
    }

    fn instant_of(zone: &Zone, local: i64, overlap: Overlap) -> i64 {
        zone.instant_of(Timestamp::from_millis(local), overlap).millis
    }

    #[test]
    fn ids_are_those_that_java_knows() {
        assert_eq!(Zone::named("UTC"), Some(Zone::UTC));
        assert_eq!(Zone::named("GMT+08:00").unwrap().offset_at(0), 8 * HOUR);
        assert_eq!(Zone::named("GMT-3").unwrap().offset_at(0), -3 * HOUR);
        assert_eq!(Zone::named("UTC+0530").unwrap().offset_at(0), 5 * HOUR + HOUR / 2);
        assert_eq!(Zone::named("Asia/Shanghai").unwrap().offset_at(1_704_164_645_000), 8 * HOUR);
        assert_eq!(Zone::named("PST"), Zone::named("America/Los_Angeles"));
        for id in ["Nowhere/Zone", "GMT+", "GMT+8:0", "GMT+19:00", "GMT+08:60", "", "+a"] {
            assert_eq!(Zone::named(id), None, "{id}");
        }
        assert_eq!(Zone::named_or_gmt("Nowhere/Zone"), Zone::UTC);
    }

    #[test]
    fn a_local_time_in_the_spring_gap_moves_forward() {
        // 2024-03-10 02:30:00 does not exist in New York; it is 03:30 EDT.
        let local = 1_710_037_800_000;
        for overlap in [Overlap::Earlier, Overlap::Later] {
            assert_eq!(instant_of(&new_york(), local, overlap), 1_710_055_800_000);
        }
    }

    #[test]
    fn a_local_time_in_the_autumn_overlap_is_what_the_caller_says() {
        // 2024-11-03 01:30:00 comes twice in New York.
        let local = 1_730_597_400_000;
        assert_eq!(instant_of(&new_york(), local, Overlap::Earlier), 1_730_611_800_000);
        assert_eq!(instant_of(&new_york(), local, Overlap::Later), 1_730_615_400_000);
    }

    #[test]
    fn instants_outside_the_zone_database_do_not_fail() {
        for millis in [i64::MIN, i64::MAX] {
            let local = new_york().local_of(Timestamp::from_millis(millis));
            let _ = new_york().instant_of(local, Overlap::Earlier);
        }
    }
}
