//! Writing a date and time by a pattern.

use super::{Field, FieldKind, Item, NumberForm, Pattern, Sign};
use crate::expr::functions::fields::{day_of_week, day_of_year};
use crate::model::Timestamp;
use crate::model::civil::{civil_from_days, split_millis};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From Sunday.
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const QUARTERS: [&str; 4] = ["1st quarter", "2nd quarter", "3rd quarter", "4th quarter"];

/// A local date and time, taken apart.
struct Parts {
    days: i64,
    year: i64,
    month: i64,
    day: i64,
    /// Milliseconds of the day.
    clock: i64,
    nano_of_second: i64,
    /// Milliseconds ahead of UTC.
    offset: i64,
}

impl Pattern {
    /// Appends `local` as text; `offset` is what its zone is ahead of UTC, in
    /// milliseconds, for patterns that show it.
    pub fn write(&self, local: Timestamp, offset: i64, out: &mut impl Extend<u8>) {
        let (days, clock) = split_millis(local.millis);
        let (year, month, day) = civil_from_days(days);
        let nano_of_second = i64::from(local.nano_of_second());
        let parts = Parts { days, year, month: month.into(), day: day.into(), clock, nano_of_second, offset };
        write_items(&self.items, &parts, out);
    }
}

fn write_items(items: &[Item], parts: &Parts, out: &mut impl Extend<u8>) {
    for item in items {
        match item {
            Item::Literal(text) => out.extend(text.bytes()),
            Item::Optional(inner) => write_items(inner, parts, out),
            Item::Field(field) => write_field(*field, parts, out),
        }
    }
}

fn write_field(field: Field, parts: &Parts, out: &mut impl Extend<u8>) {
    match field.kind {
        FieldKind::Fraction => write_fraction(parts.nano_of_second, field.count, out),
        FieldKind::OffsetOrZ if parts.offset == 0 => out.extend(*b"Z"),
        FieldKind::OffsetOrZ | FieldKind::Offset => write_offset(field, parts.offset, out),
        _ => match field.number() {
            Some(form) => write_number(number_of(field, parts), form, out),
            None => out.extend(name_of(field, parts).bytes()),
        },
    }
}

fn number_of(field: Field, parts: &Parts) -> i64 {
    let hour = parts.clock / 3_600_000;
    let two_digits = |year: i64| if field.count == 2 { year.abs() % 100 } else { year };
    match field.kind {
        FieldKind::YearOfEra if parts.year <= 0 => two_digits(1 - parts.year),
        FieldKind::YearOfEra | FieldKind::Year => two_digits(parts.year),
        FieldKind::WeekYear => two_digits(civil_from_days(saturday(parts.days)).0),
        FieldKind::Quarter => (parts.month + 2) / 3,
        FieldKind::Month => parts.month,
        FieldKind::WeekOfYear => (day_of_year(saturday(parts.days)) - 1) / 7 + 1,
        FieldKind::WeekOfMonth => (parts.day - 1 + day_of_week(parts.days - parts.day + 1)) / 7 + 1,
        FieldKind::DayOfYear => day_of_year(parts.days),
        FieldKind::DayOfWeek => day_of_week(parts.days) + 1,
        FieldKind::ClockHour12 => (hour + 11) % 12 + 1,
        FieldKind::Hour12 => hour % 12,
        FieldKind::ClockHour24 => (hour + 23) % 24 + 1,
        FieldKind::Hour24 => hour,
        FieldKind::Minute => parts.clock / 60_000 % 60,
        FieldKind::Second => parts.clock / 1000 % 60,
        FieldKind::MilliOfDay => parts.clock,
        FieldKind::NanoOfSecond => parts.nano_of_second,
        FieldKind::NanoOfDay => parts.clock / 1000 * 1_000_000_000 + parts.nano_of_second,
        _ => parts.day,
    }
}

/// The last day of the week that a day lies in; weeks belong to its year.
fn saturday(days: i64) -> i64 {
    days + 6 - day_of_week(days)
}

fn name_of(field: Field, parts: &Parts) -> &'static str {
    let index = |value: i64| usize::try_from(value).unwrap_or(0);
    match (field.kind, field.count) {
        (FieldKind::Era, 5) => ["B", "A"][usize::from(parts.year > 0)],
        (FieldKind::Era, 4) => ["Before Christ", "Anno Domini"][usize::from(parts.year > 0)],
        (FieldKind::Era, _) => ["BC", "AD"][usize::from(parts.year > 0)],
        (FieldKind::HalfDay, _) => ["AM", "PM"][usize::from(parts.clock >= 43_200_000)],
        (FieldKind::Month, count) => shortened(MONTHS[index(parts.month - 1) % 12], count),
        (FieldKind::Quarter, count) => {
            let quarter = index((parts.month - 1) / 3) % 4;
            match count {
                4 => QUARTERS[quarter],
                5 => &QUARTERS[quarter][..1],
                _ => ["Q1", "Q2", "Q3", "Q4"][quarter],
            }
        }
        (FieldKind::DayName, 1..=3) => &DAYS[index(day_of_week(parts.days)) % 7][..3],
        (_, count) => shortened(DAYS[index(day_of_week(parts.days)) % 7], count),
    }
}

/// Three letters show a short name, four the full one, five its first letter.
fn shortened(name: &str, count: usize) -> &str {
    match count {
        4 => name,
        5 => &name[..1],
        _ => &name[..3],
    }
}

fn write_number(value: i64, form: NumberForm, out: &mut impl Extend<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value.unsigned_abs());
    if value < 0 {
        out.extend(*b"-");
    } else if form.sign == Sign::PlusIfLong && digits.len() > form.min {
        out.extend(*b"+");
    }
    out.extend(std::iter::repeat_n(b'0', form.min.saturating_sub(digits.len())));
    out.extend(digits.bytes());
}

fn write_fraction(nano_of_second: i64, count: usize, out: &mut impl Extend<u8>) {
    let mut divisor = 100_000_000;
    for _ in 0..count {
        out.extend([b'0' + (nano_of_second / divisor % 10) as u8]);
        divisor = (divisor / 10).max(1);
    }
}

/// One letter shows minutes only if there are any, three put a colon before
/// them; `Z` always shows both and no colon.
fn write_offset(field: Field, offset: i64, out: &mut impl Extend<u8>) {
    let minutes = offset.abs() / 60_000;
    let two = |value: i64| [b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8];
    out.extend([if offset < 0 { b'-' } else { b'+' }]);
    out.extend(two(minutes / 60));
    if field.count == 1 && minutes % 60 == 0 {
        return;
    }
    if field.count == 3 {
        out.extend(*b":");
    }
    out.extend(two(minutes % 60));
}
