//! ARRAY, MAP and ROW, converted element by element.

use super::Place;
use crate::model::{Datum, Type, Value, nested};

/// Whether every element can be cast.
pub(super) fn allowed(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (Type::Array(a), Type::Array(b)) => super::allowed(&a.kind, &b.kind),
        (Type::Map(k1, v1), Type::Map(k2, v2)) => {
            super::allowed(&k1.kind, &k2.kind) && super::allowed(&v1.kind, &v2.kind)
        }
        (Type::Row(a), Type::Row(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| super::allowed(&a.ty.kind, &b.ty.kind))
        }
        _ => false,
    }
}

/// The nested value with each element converted; `None` if one has no value.
pub(super) fn convert<'a>(from: &Type, to: &Type, input: Datum<'a>, place: Place<'a>) -> Option<Datum<'a>> {
    let Datum::Nested(bytes) = input else { return None };
    let converted = value(from, to, &nested::decode(bytes)?, place)?;
    let mut out = Vec::with_capacity(bytes.len());
    nested::encode(&converted, &mut out);
    Some(Datum::Nested(place.arena.alloc_slice_copy(&out)))
}

fn value(from: &Type, to: &Type, input: &Value, place: Place<'_>) -> Option<Value> {
    match (from, to, input) {
        (_, _, Value::Null) => Some(Value::Null),
        (Type::Array(a), Type::Array(b), Value::Array(items)) => {
            let items: Option<Vec<Value>> =
                items.iter().map(|item| value(&a.kind, &b.kind, item, place)).collect();
            items.map(Value::Array)
        }
        (Type::Map(k1, v1), Type::Map(k2, v2), Value::Map(entries)) => {
            let entry = |(k, v): &(Value, Value)| {
                Some((value(&k1.kind, &k2.kind, k, place)?, value(&v1.kind, &v2.kind, v, place)?))
            };
            entries.iter().map(entry).collect::<Option<Vec<_>>>().map(Value::Map)
        }
        (Type::Row(a), Type::Row(b), Value::Row(values)) => {
            let fields = a.iter().zip(b).zip(values);
            let fields: Option<Vec<Value>> =
                fields.map(|((a, b), v)| value(&a.ty.kind, &b.ty.kind, v, place)).collect();
            fields.map(Value::Row)
        }
        (a, b, scalar) => scalar.with_datum(|datum| converted_scalar(a, b, datum, place)),
    }
}

fn converted_scalar(from: &Type, to: &Type, input: Datum<'_>, place: Place<'_>) -> Option<Value> {
    let arena = bumpalo::Bump::new();
    super::convert(from, to, input, Place { zone: place.zone, arena: &arena }).map(Value::from)
}
