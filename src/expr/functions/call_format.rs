//! Dates and times to text and back: DATE_FORMAT, TO_DATE, TO_TIMESTAMP,
//! TO_TIMESTAMP_LTZ, UNIX_TIMESTAMP, FROM_UNIXTIME, CONVERT_TZ.
//!
//! Text that is no date or time gives NULL, also where Flink gives a number or
//! a day that means nothing (UNIX_TIMESTAMP, TO_DATE with a pattern), and the
//! result's type says so. Constant patterns and zones are made ready when the
//! expression is compiled.

use bumpalo::Bump;

use super::call_time::session_zone;
use super::format_pattern::{Pattern, PatternError, Style};
use super::{Call, Function, invalid};
use crate::expr::cast::time_text;
use crate::expr::ir::{Nulls, Typed};
use crate::expr::zone::{Overlap, Zone};
use crate::expr::{CompileError, EvalError};
use crate::model::civil::{MILLIS_PER_DAY, days_from_civil, write_timestamp};
use crate::model::{Datum, Decimal, Timestamp, Type};

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "DATE_FORMAT", args: (2, 2), bind: date_format },
    Function { name: "TO_DATE", args: (1, 2), bind: to_date },
    Function { name: "TO_TIMESTAMP", args: (1, 2), bind: to_timestamp },
    Function { name: "TO_TIMESTAMP_LTZ", args: (1, 3), bind: to_timestamp_ltz },
    Function { name: "UNIX_TIMESTAMP", args: (1, 2), bind: unix_timestamp },
    Function { name: "FROM_UNIXTIME", args: (1, 2), bind: from_unixtime },
    Function { name: "CONVERT_TZ", args: (3, 3), bind: convert_tz },
];

/// The form that functions without a pattern argument read and write.
const STANDARD: &str = "yyyy-MM-dd HH:mm:ss";

/// Precision of what TO_TIMESTAMP and TO_TIMESTAMP_LTZ give.
const READ_PRECISION: u8 = 3;

/// What a pattern is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    WriteLocal,
    WriteInZone,
    Read,
}

fn compile(text: &str, purpose: Purpose) -> Result<Pattern, PatternError> {
    let pattern = Pattern::compile(text)?;
    match purpose {
        Purpose::Read => pattern.check_read()?,
        Purpose::WriteLocal => pattern.check_write(false)?,
        Purpose::WriteInZone => pattern.check_write(true)?,
    }
    Ok(pattern)
}

/// A pattern argument: ready if it is a constant, else made per row.
enum Source {
    Ready(Pattern),
    PerRow(Purpose),
}

impl Source {
    /// Argument `index`, or the standard form if it is not given.
    fn of(call: &Call<'_>, index: usize, purpose: Purpose) -> Result<Self, CompileError> {
        let text = match (call.args.len() > index, call.constant(index)) {
            (false, _) => STANDARD,
            (true, Some(Datum::Str(text))) => text,
            (true, _) => return Ok(Self::PerRow(purpose)),
        };
        compile(text, purpose).map(Self::Ready).map_err(|fault| call.refuse(fault.message()))
    }

    /// Uses the pattern, for which a row gives `text`.
    fn with<R>(&self, text: Option<&Datum<'_>>, use_it: impl FnOnce(&Pattern) -> R) -> Result<R, EvalError> {
        match (self, text) {
            (Self::Ready(pattern), _) => Ok(use_it(pattern)),
            (Self::PerRow(purpose), Some(Datum::Str(text))) => compile(text, *purpose)
                .map(|pattern| use_it(&pattern))
                .map_err(|fault| invalid(format!("pattern '{text}': {}", fault.message()))),
            (Self::PerRow(_), _) => Err(invalid("a pattern must be text")),
        }
    }
}

/// Writes into the arena.
fn written<'a>(pattern: &Pattern, local: Timestamp, offset: i64, arena: &'a Bump) -> Datum<'a> {
    let mut out = bumpalo::collections::Vec::with_capacity_in(STANDARD.len() + 8, arena);
    pattern.write(local, offset, &mut out);
    std::str::from_utf8(out.into_bump_slice()).map_or(Datum::Null, Datum::Str)
}

/// DATE_FORMAT of a TIMESTAMP, a TIMESTAMP_LTZ in the session's zone, or a text
/// in the standard form.
fn date_format(call: Call<'_>) -> Result<Typed, CompileError> {
    call.require(0, |kind| kind.is_text() || matches!(kind, Type::Timestamp(_) | Type::TimestampLtz(_)))?;
    call.text(1)?;
    let zone = match call.kind(0) {
        Type::TimestampLtz(_) => session_zone(&call)?,
        _ => Zone::UTC,
    };
    let pattern = Source::of(&call, 1, Purpose::WriteLocal)?;
    let standard = compile(STANDARD, Purpose::Read).map_err(|fault| call.refuse(fault.message()))?;
    Ok(call.build(Type::STRING.nullable(), Nulls::Propagate, move |args, arena| {
        let local = match args.first() {
            Some(Datum::Timestamp(at)) => zone.local_of(*at),
            Some(Datum::Str(text)) => match standard.read(text, Style::Lenient) {
                Some(read) => read.local,
                None => return Ok(Datum::Null),
            },
            _ => return Ok(Datum::Null),
        };
        pattern.with(args.get(1), |pattern| written(pattern, local, 0, arena))
    }))
}

/// TO_DATE: what CAST reads, or what follows the pattern.
fn to_date(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    call.text(1)?;
    let ty = Type::Date.nullable();
    if call.args.len() == 1 {
        return Ok(call.build(ty, Nulls::Propagate, |args, _| match args {
            [Datum::Str(text)] => Ok(time_text::date(text).map_or(Datum::Null, Datum::Date)),
            _ => Ok(Datum::Null),
        }));
    }
    let pattern = Source::of(&call, 1, Purpose::Read)?;
    Ok(call.build(ty, Nulls::Propagate, move |args, _| {
        let Some(Datum::Str(text)) = args.first() else { return Ok(Datum::Null) };
        let read = pattern.with(args.get(1), |pattern| pattern.read(text, Style::Lenient))?;
        let days = read.map(|read| read.local.millis.div_euclid(MILLIS_PER_DAY));
        Ok(days.and_then(|days| i32::try_from(days).ok()).map_or(Datum::Null, Datum::Date))
    }))
}

/// TO_TIMESTAMP: what CAST reads, or what follows the pattern. A text that does
/// not follow the pattern may still have the form that CAST reads, and a
/// pattern that means nothing gives NULL for every row: both are Flink's.
fn to_timestamp(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    call.text(1)?;
    let ty = Type::Timestamp(READ_PRECISION).nullable();
    if call.args.len() == 1 {
        return Ok(call.build(ty, Nulls::Propagate, |args, _| match args {
            [Datum::Str(text)] => Ok(timestamp(time_text::timestamp(text))),
            _ => Ok(Datum::Null),
        }));
    }
    let ready = match call.constant(1) {
        Some(Datum::Str(text)) => Some(match compile(text, Purpose::Read) {
            Ok(pattern) => Some(pattern),
            Err(PatternError::Malformed(_)) => None,
            Err(PatternError::NotOffered(message)) => return Err(call.refuse(message)),
        }),
        _ => None,
    };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| {
        let [Datum::Str(text), Datum::Str(pattern)] = args else { return Ok(Datum::Null) };
        let per_row;
        let pattern = match &ready {
            Some(pattern) => pattern.as_ref(),
            None => {
                per_row = compile(pattern, Purpose::Read).ok();
                per_row.as_ref()
            }
        };
        let Some(pattern) = pattern else { return Ok(Datum::Null) };
        let read = pattern.read(text, Style::Exact).map(|read| read.local);
        Ok(timestamp(read.or_else(|| time_text::timestamp(text.trim()))))
    }))
}

fn timestamp(at: Option<Timestamp>) -> Datum<'static> {
    at.map_or(Datum::Null, |at| Datum::Timestamp(at.truncate(READ_PRECISION)))
}

fn to_timestamp_ltz(call: Call<'_>) -> Result<Typed, CompileError> {
    if call.kind(0).is_numeric() { ltz_of_number(call) } else { ltz_of_text(call) }
}

/// Seconds (precision 0) or milliseconds (3) since 1970. NULL outside the years
/// 0 to 9999.
fn ltz_of_number(call: Call<'_>) -> Result<Typed, CompileError> {
    call.integer(1)?;
    if call.args.len() > 2 {
        return Err(call.mismatch());
    }
    let unsupported =
        |precision: i64| format!("precision {precision} is neither 0 (seconds) nor 3 (milliseconds)");
    if let Some(Datum::Int(precision)) = call.constant(1)
        && !matches!(precision, 0 | 3)
    {
        return Err(call.refuse(unsupported(precision)));
    }
    let range = days_from_civil(0, 1, 1) * MILLIS_PER_DAY..days_from_civil(10_000, 1, 1) * MILLIS_PER_DAY;
    let ty = Type::TimestampLtz(READ_PRECISION).nullable();
    Ok(call.build(ty, Nulls::Propagate, move |args, _| {
        let factor = match args.get(1) {
            None | Some(Datum::Int(3)) => 1,
            Some(Datum::Int(0)) => 1000,
            Some(Datum::Int(other)) => return Err(invalid(unsupported(*other))),
            Some(_) => return Ok(Datum::Null),
        };
        let millis = args.first().and_then(|number| scaled(number, factor));
        let millis = millis.filter(|millis| range.contains(millis));
        Ok(timestamp(millis.map(Timestamp::from_millis)))
    }))
}

/// A number times `factor`, without its fraction. Flink cuts a DECIMAL of
/// seconds first, a DOUBLE last.
fn scaled(number: &Datum<'_>, factor: i64) -> Option<i64> {
    match number {
        Datum::Int(value) => value.checked_mul(factor),
        Datum::Double(value) => Some((value * factor as f64) as i64),
        Datum::Float(value) => Some((f64::from(*value) * factor as f64) as i64),
        Datum::Decimal(value) => whole(*value)?.checked_mul(factor),
        _ => None,
    }
}

fn whole(value: Decimal) -> Option<i64> {
    let divisor = 10_i128.checked_pow(u32::from(value.scale()))?;
    i64::try_from(value.unscaled() / divisor).ok()
}

/// A local time in UTC, or in the zone that the third argument names.
fn ltz_of_text(call: Call<'_>) -> Result<Typed, CompileError> {
    (0..call.args.len()).try_for_each(|index| call.text(index))?;
    let zone = match call.constant(2) {
        Some(Datum::Str(id)) => {
            Some(Zone::named(id).ok_or_else(|| call.refuse(format!("there is no time zone {id}")))?)
        }
        _ if call.args.len() < 3 => Some(Zone::UTC),
        _ => None,
    };
    let pattern = match call.args.len() {
        1 => None,
        _ => Some(Source::of(&call, 1, Purpose::Read)?),
    };
    let ty = Type::TimestampLtz(READ_PRECISION).nullable();
    Ok(call.build(ty, Nulls::Propagate, move |args, _| {
        let Some(Datum::Str(text)) = args.first() else { return Ok(Datum::Null) };
        let read = match &pattern {
            None => time_text::timestamp(text),
            Some(pattern) => {
                let read = pattern.with(args.get(1), |pattern| pattern.read(text, Style::Exact))?;
                read.map(|read| read.local)
            }
        };
        let per_row = match (&zone, args.get(2)) {
            (None, Some(Datum::Str(id))) => Zone::named(id),
            _ => None,
        };
        let zone = zone.as_ref().or(per_row.as_ref());
        Ok(timestamp(zone.zip(read).map(|(zone, local)| zone.instant_of(local, Overlap::Earlier))))
    }))
}

/// Seconds since 1970 of a text in the session's zone, or in the zone that the
/// text names.
fn unix_timestamp(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    call.text(1)?;
    let zone = session_zone(&call)?;
    let pattern = Source::of(&call, 1, Purpose::Read)?;
    Ok(call.build(Type::BigInt.nullable(), Nulls::Propagate, move |args, _| {
        let Some(Datum::Str(text)) = args.first() else { return Ok(Datum::Null) };
        let Some(read) = pattern.with(args.get(1), |pattern| pattern.read(text, Style::Lenient))? else {
            return Ok(Datum::Null);
        };
        let at = match read.offset {
            Some(offset) => Timestamp::from_millis(read.local.millis - offset),
            None => zone.instant_of(read.local, Overlap::Later),
        };
        Ok(Datum::Int(at.seconds()))
    }))
}

/// Years around 1970 that FROM_UNIXTIME writes; more are a fault of the unit
/// (milliseconds or microseconds instead of seconds).
const UNIX_YEARS_MAX: i64 = 1_000_000;

/// Seconds since 1970 as text in the session's zone.
fn from_unixtime(call: Call<'_>) -> Result<Typed, CompileError> {
    call.integer(0)?;
    call.text(1)?;
    let zone = session_zone(&call)?;
    let pattern = Source::of(&call, 1, Purpose::WriteInZone)?;
    Ok(call.build(Type::STRING.nullable(), Nulls::Propagate, move |args, arena| {
        let Some(Datum::Int(seconds)) = args.first() else { return Ok(Datum::Null) };
        if seconds.unsigned_abs() / 86_400 / 366 > UNIX_YEARS_MAX.unsigned_abs() {
            return Err(invalid(format!("FROM_UNIXTIME({seconds}) is more than a million years away")));
        }
        let at = Timestamp::from_millis(seconds * 1000);
        let offset = zone.offset_at(at.millis);
        pattern.with(args.get(1), |pattern| written(pattern, zone.local_of(at), offset, arena))
    }))
}

/// A text in the standard form, from one zone to another. An unknown zone is
/// GMT, as in Flink.
fn convert_tz(call: Call<'_>) -> Result<Typed, CompileError> {
    (0..call.args.len()).try_for_each(|index| call.text(index))?;
    let constant_zone = |index: usize| match call.constant(index) {
        Some(Datum::Str(id)) => Some(Zone::named_or_gmt(id)),
        _ => None,
    };
    let ready = (constant_zone(1), constant_zone(2));
    let standard = compile(STANDARD, Purpose::Read).map_err(|fault| call.refuse(fault.message()))?;
    Ok(call.build(Type::STRING.nullable(), Nulls::Propagate, move |args, arena| {
        let [Datum::Str(text), Datum::Str(from), Datum::Str(to)] = args else { return Ok(Datum::Null) };
        let Some(read) = standard.read(text, Style::Lenient) else { return Ok(Datum::Null) };
        let from = ready.0.clone().unwrap_or_else(|| Zone::named_or_gmt(from));
        let to = ready.1.clone().unwrap_or_else(|| Zone::named_or_gmt(to));
        let local = to.local_of(from.instant_of(read.local, Overlap::Later));
        let mut out = bumpalo::collections::Vec::with_capacity_in(STANDARD.len(), arena);
        write_timestamp(local, 0, b' ', &mut out);
        Ok(std::str::from_utf8(out.into_bump_slice()).map_or(Datum::Null, Datum::Str))
    }))
}
