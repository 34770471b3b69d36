//! Metadata of Kafka records as columns: names, types, which are writable (Flink: C.4).

use crate::model::{DataType, Field, Type};

use super::super::Metadata;

/// The key under which a definition names it.
pub(super) fn name(metadata: Metadata) -> &'static str {
    match metadata {
        Metadata::Topic => "topic",
        Metadata::Partition => "partition",
        Metadata::Headers => "headers",
        Metadata::HeaderList => "header-list",
        Metadata::LeaderEpoch => "leader-epoch",
        Metadata::Offset => "offset",
        Metadata::Timestamp => "timestamp",
        Metadata::TimestampType => "timestamp-type",
    }
}

/// Its own type.
pub(super) fn ty(metadata: Metadata) -> DataType {
    match metadata {
        Metadata::Topic | Metadata::TimestampType => Type::STRING.not_null(),
        Metadata::Partition => Type::Int.not_null(),
        Metadata::Headers => {
            Type::Map(Box::new(Type::STRING.not_null()), Box::new(Type::BYTES.nullable())).not_null()
        }
        Metadata::HeaderList => {
            let field = |name: &str, ty: Type| Field { name: name.to_owned(), ty: ty.nullable() };
            let header = Type::Row(vec![field("key", Type::STRING), field("value", Type::BYTES)]);
            Type::Array(Box::new(header.nullable())).not_null()
        }
        Metadata::LeaderEpoch => Type::Int.nullable(),
        Metadata::Offset => Type::BigInt.not_null(),
        Metadata::Timestamp => Type::TimestampLtz(3).not_null(),
    }
}

/// The metadata of this name.
pub(super) fn named(key: &str) -> Option<Metadata> {
    Metadata::ALL.into_iter().find(|metadata| name(*metadata) == key)
}

/// Every name.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    Metadata::ALL.into_iter().map(name)
}

/// Its position in [`Metadata::ALL`].
pub(super) fn position(metadata: Metadata) -> usize {
    Metadata::ALL.iter().position(|known| *known == metadata).unwrap_or(0)
}

/// Whether two types hold the same values, nullability inside and names of fields aside.
pub(super) fn same_shape(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Array(a), Type::Array(b)) => same_shape(&a.kind, &b.kind),
        (Type::Map(a_key, a_value), Type::Map(b_key, b_value)) => {
            same_shape(&a_key.kind, &b_key.kind) && same_shape(&a_value.kind, &b_value.kind)
        }
        (Type::Row(a), Type::Row(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shape(&a.ty.kind, &b.ty.kind))
        }
        (a, b) => a == b,
    }
}
