//! Conversions that the binder puts in by itself, and CAST.

use sqlparser::ast::{CastKind, DataType as SqlType, Expr};

use super::super::cast::{self, Cast, Failure};
use super::super::ir::{Node, Typed};
use super::super::{CompileError, Settings, syntax, zone::Zone};
use super::{Binder, Bound, fault, fold, types};
use crate::model::{DataType, Datum, Type};

impl Binder<'_> {
    /// `CAST` and `TRY_CAST`.
    pub(super) fn cast(&mut self, kind: &CastKind, input: &Expr, target: &SqlType, whole: &Expr) -> Bound {
        let failure = match kind {
            CastKind::Cast => Failure::Error,
            CastKind::TryCast => Failure::Null,
            CastKind::SafeCast | CastKind::DoubleColon => {
                return Err(self.fault(whole, "this way to cast is not Flink's", "use CAST or TRY_CAST"));
            }
        };
        let target = match syntax::parse_type(&target.to_string())?.kind {
            Type::Time(_) => Type::Time(0),
            other => other,
        };
        let input = self.bind(input)?;
        explicit(input, target, failure, self.settings)
    }

    /// `input` as `target` without being asked to: the operand of a comparison
    /// or a branch of CASE. The binder has made sure that it can be done.
    pub(super) fn implicit(&self, input: Typed, target: &Type) -> Bound {
        if input.ty.kind == *target {
            return Ok(input);
        }
        explicit(input, target.clone(), Failure::Error, self.settings)
    }
}

fn explicit(input: Typed, target: Type, failure: Failure, settings: &Settings) -> Bound {
    let nullable = input.ty.nullable || failure == Failure::Null;
    if input.is_bare_null() {
        return Ok(Typed::constant(Datum::Null, target.nullable()));
    }
    if !cast::allowed(&input.ty.kind, &target) {
        let message = format!("{} cannot be cast to {target}", input.ty.kind);
        return Err(fault(message, cast::advice(&input.ty.kind, &target)));
    }
    let ty = DataType { kind: target.clone(), nullable };
    if cast::is_identity(&input.ty.kind, &target) {
        return Ok(Typed { node: input.node, ty });
    }
    let zone = zone(&input.ty.kind, &target, settings)?;
    let cast = Cast { from: input.ty.kind, to: target, failure, zone };
    Ok(fold(Typed { node: Node::Cast(Box::new(cast), Box::new(input.node)), ty }))
}

/// The session zone, for conversions that depend on it.
fn zone(from: &Type, to: &Type, settings: &Settings) -> Result<Option<Zone>, CompileError> {
    if !cast::needs_zone(from, to) {
        return Ok(None);
    }
    match Zone::named(&settings.time_zone) {
        Some(zone) => Ok(Some(zone)),
        None => Err(fault(format!("there is no time zone {}", settings.time_zone), "")),
    }
}

/// `input` as `target` when no value can be lost.
pub(in crate::expr) fn widen(input: Typed, target: &Type) -> Option<Typed> {
    if !is_widening(&input.ty.kind, target) {
        return None;
    }
    let ty = DataType { kind: target.clone(), nullable: input.ty.nullable };
    if input.is_bare_null() || cast::is_identity(&input.ty.kind, target) {
        return Some(Typed { node: input.node, ty });
    }
    let cast = Cast { from: input.ty.kind, to: target.clone(), failure: Failure::Error, zone: None };
    Some(fold(Typed { node: Node::Cast(Box::new(cast), Box::new(input.node)), ty }))
}

fn is_widening(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (a, b) if a == b => true,
        (Type::Null, _) => true,
        (a, b) if a.is_integer() && b.is_integer() => types::shared(a, b).as_ref() == Some(b),
        (Type::Float | Type::Int | Type::SmallInt | Type::TinyInt, Type::Double) => true,
        (Type::SmallInt | Type::TinyInt, Type::Float) => true,
        (a, Type::Decimal { precision, scale }) => {
            types::as_decimal(a).is_some_and(|(p, s)| s <= *scale && p - s <= precision - scale)
        }
        (Type::Char(a) | Type::Varchar(a), Type::Varchar(b)) => a <= b,
        (Type::Binary(a) | Type::Varbinary(a), Type::Varbinary(b)) => a <= b,
        (Type::Time(a), Type::Time(b))
        | (Type::Timestamp(a), Type::Timestamp(b))
        | (Type::TimestampLtz(a), Type::TimestampLtz(b)) => a <= b,
        (Type::Array(a), Type::Array(b)) => same_values(a, b),
        (Type::Map(k1, v1), Type::Map(k2, v2)) => same_values(k1, k2) && same_values(v1, v2),
        (Type::Row(a), Type::Row(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_values(&a.ty, &b.ty))
        }
        _ => false,
    }
}

/// Whether an element of `from` can stand where `to` is declared, as it is.
fn same_values(from: &DataType, to: &DataType) -> bool {
    (to.nullable || !from.nullable) && cast::is_identity(&from.kind, &to.kind)
}
