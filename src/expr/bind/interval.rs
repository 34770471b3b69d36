//! Interval literals: `INTERVAL '1' DAY`, `INTERVAL '2 03:04:05.678' DAY TO SECOND(3)`.

use sqlparser::ast::{DateTimeField, Expr, Interval, UnaryOperator, Value};

use super::super::ir::Typed;
use super::{Bound, CompileError, fault};
use crate::model::{Datum, Type};

/// Digits of the leading field unless the literal says otherwise.
const LEADING_DIGITS: u64 = 2;

/// Most leading digits that can be asked for. Flink refuses DAY(4).
const MOST_LEADING_DIGITS: u64 = 3;

/// Fields in falling size: name, months or milliseconds of one, and how many of
/// them make one of the field before.
const FIELDS: [(Field, i64); 8] = [
    (Field::Year, 12),
    (Field::Quarter, 3),
    (Field::Month, 1),
    (Field::Week, 604_800_000),
    (Field::Day, 86_400_000),
    (Field::Hour, 3_600_000),
    (Field::Minute, 60_000),
    (Field::Second, 1000),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
}

impl Field {
    fn of(field: &DateTimeField) -> Option<Self> {
        Some(match field {
            DateTimeField::Year => Self::Year,
            DateTimeField::Quarter => Self::Quarter,
            DateTimeField::Month => Self::Month,
            DateTimeField::Week(None) => Self::Week,
            DateTimeField::Day => Self::Day,
            DateTimeField::Hour => Self::Hour,
            DateTimeField::Minute => Self::Minute,
            DateTimeField::Second => Self::Second,
            _ => return None,
        })
    }

    fn counts_months(self) -> bool {
        self <= Self::Month
    }

    /// Months or milliseconds of one.
    fn unit(self) -> i64 {
        FIELDS.iter().find(|(field, _)| *field == self).map_or(0, |(_, unit)| *unit)
    }

    /// The field that follows in `DAY TO SECOND` and `YEAR TO MONTH`.
    fn next(self) -> Option<Self> {
        Some(match self {
            Self::Year => Self::Month,
            Self::Day => Self::Hour,
            Self::Hour => Self::Minute,
            Self::Minute => Self::Second,
            _ => return None,
        })
    }

    /// Values that the field may have when another stands before it.
    fn limit(self) -> i64 {
        match self {
            Self::Month => 12,
            Self::Hour => 24,
            _ => 60,
        }
    }
}

/// A literal with its unit.
pub(super) fn literal(interval: &Interval) -> Bound {
    let (text, outer_minus) = value_text(&interval.value)?;
    let malformed = || fault(format!("'{text}' is not of this interval's form"), "");
    let Some(first) = interval.leading_field.as_ref().and_then(Field::of) else {
        return Err(fault("an interval needs a unit", "write INTERVAL '1' DAY"));
    };
    let last = match &interval.last_field {
        Some(field) => Field::of(field).ok_or_else(malformed)?,
        None => first,
    };
    let digits = interval.leading_precision.unwrap_or(LEADING_DIGITS);
    if digits > MOST_LEADING_DIGITS && first == Field::Day {
        return Err(fault(format!("a day interval has {MOST_LEADING_DIGITS} leading digits at most"), ""));
    }
    let (minus, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = amount(body.trim(), first, last, digits)?.ok_or_else(malformed)?;
    let value = if minus == outer_minus { magnitude } else { -magnitude };
    if first.counts_months() {
        let months = i32::try_from(value).map_err(|_| malformed())?;
        return Ok(Typed::constant(Datum::Months(months), Type::IntervalMonths.not_null()));
    }
    Ok(Typed::constant(Datum::Millis(value), Type::IntervalMillis.not_null()))
}

/// The text of the literal and whether a minus stands before it.
fn value_text(value: &Expr) -> Result<(&str, bool), CompileError> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Ok((text.trim(), false)),
            _ => Err(fault("the value of an interval stands in quotes", "write INTERVAL '1' DAY")),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            value_text(expr).map(|(text, minus)| (text, !minus))
        }
        _ => {
            Err(fault("the value of an interval is a literal", "multiply an interval: n * INTERVAL '1' DAY"))
        }
    }
}

/// Months or milliseconds of the fields `first` to `last`; `Ok(None)` for text
/// of another form.
fn amount(body: &str, first: Field, last: Field, digits: u64) -> Result<Option<i64>, CompileError> {
    let mut rest = body;
    let mut total = 0_i64;
    let mut field = first;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let Ok(count) = number.parse::<i64>() else { return Ok(None) };
        if field == first && number.trim_start_matches('0').len() as u64 > digits {
            let name = format!("{first:?}").to_uppercase();
            let help = format!("say how many digits: {name}({})", number.len());
            return Err(fault(
                format!("{number} has more than the {digits} digits of {name}({digits})"),
                help,
            ));
        }
        if field != first && count >= field.limit() {
            return Ok(None);
        }
        total = total.saturating_add(count.saturating_mul(field.unit()));
        rest = after;
        if field == Field::Second
            && let Some(fraction) = rest.strip_prefix('.')
        {
            let Some(millis) = fraction_millis(fraction) else { return Ok(None) };
            return Ok((field == last).then(|| total.saturating_add(millis)));
        }
        if field == last {
            return Ok(rest.is_empty().then_some(total));
        }
        let Some(next) = field.next() else { return Ok(None) };
        let separator = match field {
            Field::Year => '-',
            Field::Day => ' ',
            _ => ':',
        };
        let Some(after) = rest.strip_prefix(separator) else { return Ok(None) };
        rest = after.trim_start();
        field = next;
    }
}

/// Milliseconds of a fraction of a second; further digits are cut.
fn fraction_millis(digits: &str) -> Option<i64> {
    if digits.is_empty() || digits.len() > 9 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    format!("{digits:0<3}").get(..3)?.parse().ok()
}
