//! The lookup key of a row, converted to the types of the dimension's columns.
//!
//! A conversion is exact or there is no match: a key that the column cannot
//! hold equals none of its values, and a key bound in the column's own type
//! cannot match through an implicit cast of the database.

use bumpalo::Bump;

use crate::error::RowFault;
use crate::expr::{Columns, Expression};
use crate::model::{ColumnCopier, Datum, Decimal, RowLayout, Type, Value};
use crate::plan::{Comparison, JoinedLayout, JoinedRow, KeySource, LookupPlan};

use super::fault_in;

/// Builds the keys of one lookup.
#[derive(Debug)]
pub(super) struct KeyBuilder {
    table: String,
    parts: Vec<Part>,
    layout: RowLayout,
    plain: Option<PlainKey>,
}

/// A key that is one column of the joined row, in the form that the dimension's column has: its packed bytes
/// are copied, with no value made of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainKey {
    /// Part of the joined row.
    pub part: usize,
    pub copier: ColumnCopier,
}

impl PlainKey {
    fn of(parts: &[Part], layout: &RowLayout, joined: &JoinedLayout) -> Option<Self> {
        let [Part { source: Source::Column(at), comparison, ty }] = parts else { return None };
        let (part, row, column) = joined.column(*at)?;
        // Times may have more digits than the column keeps: these are compared as values.
        let is_exact = match comparison {
            Comparison::Same => !matches!(ty, Type::Time(_) | Type::Timestamp(_) | Type::TimestampLtz(_)),
            Comparison::Integers => true,
            _ => false,
        };
        let copier = row.copier(column, layout).filter(|_| is_exact)?;
        Some(Self { part, copier })
    }
}

#[derive(Debug)]
struct Part {
    source: Source,
    comparison: Comparison,
    ty: Type,
}

#[derive(Debug)]
enum Source {
    /// Nothing but a column of the joined row: read without the expression around it.
    Column(usize),
    Stream(Expression),
    Constant(Value),
}

impl KeyBuilder {
    /// Evaluates the constants.
    pub fn new(plan: &LookupPlan, joined: &JoinedLayout) -> Result<Self, RowFault> {
        let bump = Bump::new();
        let mut parts = Vec::with_capacity(plan.key.len());
        for part in &plan.key {
            let source = match &part.source {
                KeySource::Stream(expression) => match expression.as_column() {
                    Some(at) => Source::Column(at),
                    None => Source::Stream(expression.clone()),
                },
                KeySource::Constant(expression) => {
                    let none: [Datum<'_>; 0] = [];
                    let value = expression.eval(&none[..], &bump).map_err(|e| fault_in(&plan.table, e))?;
                    Source::Constant(value.into())
                }
            };
            parts.push(Part { source, comparison: part.comparison, ty: part.ty.kind.clone() });
        }
        let layout = plan.key_layout();
        let plain = PlainKey::of(&parts, &layout, joined);
        Ok(Self { table: plan.table.clone(), parts, layout, plain })
    }

    /// How the key is copied, if it can be.
    pub fn plain(&self) -> Option<PlainKey> {
        self.plain
    }

    /// The parts of the row's key; `None` if one is NULL or has no exact value in its column's type.
    pub fn build<'a>(
        &'a self,
        row: &'a JoinedRow<'a>,
        bump: &'a Bump,
    ) -> Result<Option<&'a [Datum<'a>]>, RowFault> {
        let key = bump.alloc_slice_fill_copy(self.parts.len(), Datum::Null);
        for (part, slot) in self.parts.iter().zip(key.iter_mut()) {
            let value = match &part.source {
                Source::Column(at) => row.datum(*at),
                Source::Stream(expression) => {
                    expression.eval(row, bump).map_err(|e| fault_in(&self.table, e))?
                }
                // Nested values are no lookup keys.
                Source::Constant(value) => value.datum(&[]),
            };
            match convert(value, part.comparison, &part.ty, bump) {
                Some(converted) => *slot = converted,
                None => return Ok(None),
            }
        }
        Ok(Some(key))
    }

    /// Appends the packed key.
    pub fn pack(&self, key: &[Datum<'_>], out: &mut Vec<u8>) {
        self.layout.pack(key, out);
    }
}

/// `value` in the type of the dimension's column; `None` if it is NULL or the type has no such value.
fn convert<'a>(value: Datum<'a>, how: Comparison, ty: &Type, bump: &'a Bump) -> Option<Datum<'a>> {
    match (how, value) {
        (_, Datum::Null) => None,
        (Comparison::Same, value) => same(value, ty),
        (Comparison::Integers, Datum::Int(v)) => in_range(v, ty),
        (Comparison::Decimals, value) => decimals(value, ty),
        (Comparison::TextAsInteger, Datum::Str(text)) => canonical_integer(text, ty),
        (Comparison::IntegerAsText, Datum::Int(v)) => {
            Some(Datum::Str(bump.alloc_str(itoa::Buffer::new().format(v))))
        }
        (Comparison::BooleanAsTinyInt, Datum::Bool(v)) => Some(Datum::Int(v.into())),
        (Comparison::TinyIntAsBoolean, Datum::Int(v @ (0 | 1))) => Some(Datum::Bool(v == 1)),
        _ => None,
    }
}

/// A time with more digits than its column keeps equals none of its values.
fn same<'a>(value: Datum<'a>, ty: &Type) -> Option<Datum<'a>> {
    match (value, ty) {
        (Datum::Timestamp(t), Type::Timestamp(p) | Type::TimestampLtz(p)) => {
            (t.truncate(*p) == t).then_some(value)
        }
        (Datum::Time(millis), Type::Time(p)) => {
            let unit = 10_i32.pow(u32::from(3_u8.saturating_sub(*p)));
            (millis % unit == 0).then_some(value)
        }
        _ => Some(value),
    }
}

fn in_range<'a>(value: i64, ty: &Type) -> Option<Datum<'a>> {
    let (min, max) = ty.integer_range()?;
    (min..=max).contains(&value).then_some(Datum::Int(value))
}

fn decimals<'a>(value: Datum<'a>, ty: &Type) -> Option<Datum<'a>> {
    let value = match value {
        Datum::Int(v) => Decimal::new(v.into(), 0),
        Datum::Decimal(v) => v,
        _ => return None,
    };
    let scale = match ty {
        Type::Decimal { scale, .. } => *scale,
        _ => 0,
    };
    let scaled = value.rescale(scale)?;
    if scaled.rescale(value.scale().max(scale))? != value.rescale(value.scale().max(scale))? {
        return None;
    }
    match ty {
        Type::Decimal { precision, .. } => scaled.fits(*precision).then_some(Datum::Decimal(scaled)),
        _ => in_range(i64::try_from(scaled.unscaled()).ok()?, ty),
    }
}

/// `7` is 7; `007`, `+7`, ` 7`, `-0` and `7.0` are texts that equal no integer.
fn canonical_integer<'a>(text: &str, ty: &Type) -> Option<Datum<'a>> {
    let value: i64 = text.parse().ok()?;
    (itoa::Buffer::new().format(value) == text).then_some(())?;
    in_range(value, ty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    fn to<'a>(bump: &'a Bump, value: Datum<'a>, how: Comparison, ty: &Type) -> Option<Datum<'a>> {
        convert(value, how, ty, bump)
    }

    #[test]
    fn integers_match_only_inside_the_range_of_the_column() {
        let bump = Bump::new();
        let int = |v, ty| to(&bump, Datum::Int(v), Comparison::Integers, ty);
        assert_eq!(int(300, &Type::TinyInt), None);
        assert_eq!(int(-128, &Type::TinyInt), Some(Datum::Int(-128)));
        assert_eq!(int(99_999_999_999, &Type::Int), None);
        assert_eq!(int(99_999_999_999, &Type::BigInt), Some(Datum::Int(99_999_999_999)));
        assert_eq!(to(&bump, Datum::Null, Comparison::Integers, &Type::Int), None);
    }

    #[test]
    fn text_matches_an_integer_only_in_its_canonical_form() {
        let bump = Bump::new();
        let text = |v| to(&bump, Datum::Str(v), Comparison::TextAsInteger, &Type::Int);
        assert_eq!(text("7"), Some(Datum::Int(7)));
        assert_eq!(text("-7"), Some(Datum::Int(-7)));
        for other in ["007", "+7", " 7", "7 ", "-0", "7.0", "6x", "", "99999999999"] {
            assert_eq!(text(other), None, "{other:?}");
        }
        let back = to(&bump, Datum::Int(-12), Comparison::IntegerAsText, &Type::STRING);
        assert_eq!(back, Some(Datum::Str("-12")));
    }

    #[test]
    fn decimals_match_without_rounding() {
        let bump = Bump::new();
        let ten_two = Type::Decimal { precision: 10, scale: 2 };
        let decimal =
            |u, s, ty: &Type| to(&bump, Datum::Decimal(Decimal::new(u, s)), Comparison::Decimals, ty);
        assert_eq!(decimal(75, 3, &ten_two), None, "0.075 is not 0.08");
        assert_eq!(decimal(80, 3, &ten_two), Some(Datum::Decimal(Decimal::new(8, 2))));
        assert_eq!(decimal(99_999_999_999, 0, &ten_two), None, "too wide");
        assert_eq!(decimal(700, 2, &Type::Int), Some(Datum::Int(7)));
        assert_eq!(decimal(740, 2, &Type::Int), None);
        let int = to(&bump, Datum::Int(5), Comparison::Decimals, &ten_two);
        assert_eq!(int, Some(Datum::Decimal(Decimal::new(500, 2))));
    }

    #[test]
    fn times_and_booleans_match_exactly() {
        let bump = Bump::new();
        let at = |millis, p| {
            to(&bump, Datum::Timestamp(Timestamp::from_millis(millis)), Comparison::Same, &Type::Timestamp(p))
        };
        assert_eq!(at(1500, 0), None);
        assert!(at(1500, 1).is_some() && at(2000, 0).is_some());
        assert_eq!(to(&bump, Datum::Time(1500), Comparison::Same, &Type::Time(0)), None);
        assert_eq!(
            to(&bump, Datum::Bool(true), Comparison::BooleanAsTinyInt, &Type::TinyInt),
            Some(Datum::Int(1))
        );
        let boolean = |v| to(&bump, Datum::Int(v), Comparison::TinyIntAsBoolean, &Type::Boolean);
        assert_eq!(
            [boolean(0), boolean(1), boolean(2)],
            [Some(Datum::Bool(false)), Some(Datum::Bool(true)), None]
        );
    }
}
