//! Fields, rounding and arithmetic of dates and times, as expressions call them.
//!
//! A TIMESTAMP_LTZ is looked at in the session's zone by EXTRACT, FLOOR and
//! CEIL, and counted in UTC by everything that adds or subtracts.

use super::{Call, Function, TimeUnit, add_time, fields, invalid, round_time};
use crate::error::Reason;
use crate::expr::ir::{Nulls, Typed};
use crate::expr::zone::Zone;
use crate::expr::{CompileError, EvalError};
use crate::model::civil::MILLIS_PER_DAY;
use crate::model::{DataType, Datum, Timestamp, Type};

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "EXTRACT", args: (1, 1), bind: extract },
    Function { name: "YEAR", args: (1, 1), bind: field },
    Function { name: "QUARTER", args: (1, 1), bind: field },
    Function { name: "MONTH", args: (1, 1), bind: field },
    Function { name: "WEEK", args: (1, 1), bind: field },
    Function { name: "DAYOFYEAR", args: (1, 1), bind: field },
    Function { name: "DAYOFMONTH", args: (1, 1), bind: field },
    Function { name: "DAYOFWEEK", args: (1, 1), bind: field },
    Function { name: "HOUR", args: (1, 1), bind: field },
    Function { name: "MINUTE", args: (1, 1), bind: field },
    Function { name: "SECOND", args: (1, 1), bind: field },
    Function { name: "FLOOR TO", args: (1, 1), bind: floor },
    Function { name: "CEIL TO", args: (1, 1), bind: ceil },
    Function { name: "TIMESTAMPADD", args: (2, 2), bind: timestamp_add },
    Function { name: "TIMESTAMPDIFF", args: (2, 2), bind: timestamp_diff },
    Function { name: "TIME +", args: (2, 2), bind: add_interval },
    Function { name: "TIME -", args: (2, 2), bind: add_interval },
    Function { name: "TIME DIFFERENCE", args: (2, 2), bind: difference },
];

/// Precision of a DATE that is moved by hours. Flink: `TIMESTAMPADD(HOUR, 1, DATE '…')`.
const MOVED_DATE_PRECISION: u8 = 6;

/// The zone of the definition.
pub(super) fn session_zone(call: &Call<'_>) -> Result<Zone, CompileError> {
    let id = &call.settings.time_zone;
    Zone::named(id).ok_or_else(|| call.refuse(format!("there is no time zone {id}")))
}

/// A date, time or timestamp as milliseconds (and nanoseconds within them).
fn moment(datum: &Datum<'_>) -> Option<Timestamp> {
    Some(match datum {
        Datum::Date(days) => Timestamp::from_millis(i64::from(*days) * MILLIS_PER_DAY),
        Datum::Time(millis) => Timestamp::from_millis(i64::from(*millis)),
        Datum::Timestamp(at) => *at,
        _ => return None,
    })
}

fn is_temporal(kind: &Type) -> bool {
    matches!(kind, Type::Date | Type::Time(_) | Type::Timestamp(_) | Type::TimestampLtz(_))
}

/// Days as a DATE.
fn date(days: i64) -> Result<Datum<'static>, EvalError> {
    i32::try_from(days).map(Datum::Date).map_err(|_| EvalError {
        reason: Reason::ArithmeticOverflow,
        detail: format!("{days} days from 1970 are no DATE"),
    })
}

fn unit_of(call: &Call<'_>) -> Result<TimeUnit, CompileError> {
    call.unit.ok_or_else(|| call.refuse("needs a unit of time"))
}

fn extract(call: Call<'_>) -> Result<Typed, CompileError> {
    let unit = unit_of(&call)?;
    bind_extract(call, unit)
}

/// YEAR(t) is EXTRACT(YEAR FROM t), and so on.
fn field(call: Call<'_>) -> Result<Typed, CompileError> {
    let unit = match call.name {
        "DAYOFYEAR" => TimeUnit::Doy,
        "DAYOFMONTH" => TimeUnit::Day,
        "DAYOFWEEK" => TimeUnit::Dow,
        name => TimeUnit::named(name).ok_or_else(|| call.refuse("is no field"))?,
    };
    bind_extract(call, unit)
}

fn bind_extract(call: Call<'_>, unit: TimeUnit) -> Result<Typed, CompileError> {
    call.require(0, is_temporal)?;
    if matches!(call.kind(0), Type::Time(_)) && !unit.is_of_clock() {
        return Err(call.refuse(format!("a TIME has no {}", unit.name())));
    }
    let zone = local_zone(&call)?;
    let ty = DataType { kind: Type::BigInt, nullable: call.nullable() };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| {
        let at = args.first().and_then(moment).map(|at| zone.local_of(at));
        Ok(at.map_or(Datum::Null, |at| Datum::Int(fields::extract(unit, at))))
    }))
}

/// The session's zone for a TIMESTAMP_LTZ; other values are local already.
fn local_zone(call: &Call<'_>) -> Result<Zone, CompileError> {
    if matches!(call.kind(0), Type::TimestampLtz(_)) { session_zone(call) } else { Ok(Zone::UTC) }
}

fn floor(call: Call<'_>) -> Result<Typed, CompileError> {
    round(call, round_time::floor)
}

fn ceil(call: Call<'_>) -> Result<Typed, CompileError> {
    round(call, round_time::ceil)
}

/// Rounds local time. The way back to an instant takes the offset that held at
/// the argument, as Flink does: on the day of a clock change that is not the
/// local midnight.
fn round(call: Call<'_>, rounded: fn(TimeUnit, i64) -> i64) -> Result<Typed, CompileError> {
    call.require(0, is_temporal)?;
    let unit = unit_of(&call)?;
    let fits = match call.kind(0) {
        Type::Time(_) => unit.is_of_clock(),
        _ => unit.fixed_millis().is_some() || unit.months().is_some(),
    };
    if !fits {
        return Err(call.refuse(format!("a {} is not rounded to {}", call.kind(0), unit.name())));
    }
    let zone = local_zone(&call)?;
    let ty = DataType { kind: call.kind(0).clone(), nullable: call.nullable() };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| match args {
        [Datum::Date(days)] => {
            date(rounded(unit, i64::from(*days) * MILLIS_PER_DAY).div_euclid(MILLIS_PER_DAY))
        }
        [Datum::Time(millis)] => {
            Ok(Datum::Time(add_time::add_to_clock(0, rounded(unit, i64::from(*millis)))))
        }
        [Datum::Timestamp(at)] => {
            let offset = zone.offset_at(at.millis);
            let local = rounded(unit, at.millis.saturating_add(offset));
            Ok(Datum::Timestamp(Timestamp::from_millis(local.saturating_sub(offset))))
        }
        _ => Ok(Datum::Null),
    }))
}

/// TIMESTAMPADD: a DATE moved by hours and less becomes a TIMESTAMP.
fn timestamp_add(call: Call<'_>) -> Result<Typed, CompileError> {
    call.integer(0)?;
    call.require(1, is_temporal)?;
    let unit = unit_of(&call)?;
    if unit.fixed_millis().or(unit.months()).is_none() && !unit.is_of_clock() {
        return Err(call.refuse(format!("{} cannot be added", unit.name())));
    }
    let kind = match call.kind(1) {
        Type::Date if unit.is_of_clock() => Type::Timestamp(MOVED_DATE_PRECISION),
        Type::Time(_) if !unit.is_of_clock() => {
            return Err(call.refuse(format!("{} cannot be added to a TIME", unit.name())));
        }
        Type::Timestamp(precision) => Type::Timestamp((*precision).max(digits_of(unit))),
        Type::TimestampLtz(precision) => Type::TimestampLtz((*precision).max(digits_of(unit))),
        other => other.clone(),
    };
    let stays_date = kind == Type::Date;
    let ty = DataType { kind, nullable: call.nullable() };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| {
        let [Datum::Int(count), target] = args else { return Ok(Datum::Null) };
        let Some(at) = moment(target) else { return Ok(Datum::Null) };
        let moved = add_time::timestamp_add(unit, *count, at.millis)?;
        match target {
            Datum::Time(_) => Ok(Datum::Time(add_time::add_to_clock(0, moved))),
            Datum::Date(_) if stays_date => date(moved.div_euclid(MILLIS_PER_DAY)),
            _ => Ok(Datum::Timestamp(Timestamp { millis: moved, nanos: at.nanos })),
        }
    }))
}

/// Fraction digits that a unit below the second needs.
fn digits_of(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Millisecond | TimeUnit::Microsecond | TimeUnit::Nanosecond => 3,
        _ => 0,
    }
}

/// Both arguments count from the same zero: a TIMESTAMP_LTZ goes only with its
/// like, a TIME too.
fn check_pair(call: &Call<'_>) -> Result<(), CompileError> {
    call.require(0, is_temporal)?;
    call.require(1, is_temporal)?;
    let family = |kind: &Type| match kind {
        Type::TimestampLtz(_) => 2,
        Type::Time(_) => 1,
        _ => 0,
    };
    if family(call.kind(0)) == family(call.kind(1)) { Ok(()) } else { Err(call.mismatch()) }
}

fn timestamp_diff(call: Call<'_>) -> Result<Typed, CompileError> {
    check_pair(&call)?;
    let unit = unit_of(&call)?;
    if unit.fixed_millis().or(unit.months()).is_none() && !unit.is_of_clock() {
        return Err(call.refuse(format!("{} cannot be counted", unit.name())));
    }
    let ty = DataType { kind: Type::Int, nullable: call.nullable() };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| {
        let [start, end] = args else { return Ok(Datum::Null) };
        let (Some(start), Some(end)) = (moment(start), moment(end)) else { return Ok(Datum::Null) };
        let count = add_time::timestamp_diff(unit, start.millis, end.millis);
        if i32::try_from(count).is_ok() {
            return Ok(Datum::Int(count));
        }
        let detail = format!("TIMESTAMPDIFF({}, …) is {count}, which is no INT", unit.name());
        Err(EvalError { reason: Reason::ArithmeticOverflow, detail })
    }))
}

/// `t + i` and `t - i`. A DATE stays one if the interval is a constant of whole
/// days, or counts months.
fn add_interval(call: Call<'_>) -> Result<Typed, CompileError> {
    call.require(0, is_temporal)?;
    call.require(1, |kind| matches!(kind, Type::IntervalMonths | Type::IntervalMillis))?;
    let sign = if call.name == "TIME -" { -1 } else { 1 };
    let whole_days = matches!(call.constant(1), Some(Datum::Millis(millis)) if millis % MILLIS_PER_DAY == 0)
        || matches!(call.constant(1), Some(Datum::Null));
    let kind = match (call.kind(0), call.kind(1)) {
        (Type::Time(_), Type::IntervalMonths) => return Err(call.mismatch()),
        (Type::Date, Type::IntervalMillis) if !whole_days => Type::Timestamp(MOVED_DATE_PRECISION),
        (kind, _) => kind.clone(),
    };
    let stays_date = kind == Type::Date;
    let ty = DataType { kind, nullable: call.nullable() };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| {
        let [target, interval] = args else { return Ok(Datum::Null) };
        let Some(at) = moment(target) else { return Ok(Datum::Null) };
        let moved = match (target, interval) {
            (Datum::Time(millis), Datum::Millis(by)) => {
                return Ok(Datum::Time(add_time::add_to_clock(*millis, sign * (by % MILLIS_PER_DAY))));
            }
            (_, Datum::Months(by)) => add_time::add_months_to_millis(at.millis, sign * i64::from(*by))?,
            (_, Datum::Millis(by)) => add_time::add_millis(at.millis, by.saturating_mul(sign))?,
            _ => return Err(invalid("an interval was expected")),
        };
        if stays_date {
            return date(moved.div_euclid(MILLIS_PER_DAY));
        }
        Ok(Datum::Timestamp(Timestamp { millis: moved, nanos: at.nanos }))
    }))
}

/// `(a - b) DAY`: an interval, of months for YEAR and MONTH, else of
/// milliseconds that are not cut to the unit.
fn difference(call: Call<'_>) -> Result<Typed, CompileError> {
    check_pair(&call)?;
    let months = unit_of(&call)?.months().is_some();
    let kind = if months { Type::IntervalMonths } else { Type::IntervalMillis };
    let ty = DataType { kind, nullable: call.nullable() };
    Ok(call.build(ty, Nulls::Propagate, move |args, _| {
        let [end, start] = args else { return Ok(Datum::Null) };
        let (Some(end), Some(start)) = (moment(end), moment(start)) else { return Ok(Datum::Null) };
        if !months {
            return Ok(Datum::Millis(end.millis.saturating_sub(start.millis)));
        }
        let count = add_time::months_between(start.millis, end.millis);
        i32::try_from(count).map(Datum::Months).map_err(|_| EvalError {
            reason: Reason::ArithmeticOverflow,
            detail: format!("{count} months are no INTERVAL"),
        })
    }))
}
