//! The hash of a key, by the types of its columns.

use crate::error::{Error, Kind, Result};
use crate::model::{DataType, Datum};

use super::KeyHash;
use super::binary_row::{self, Field, Width};
use super::java::{self, JavaClass};
use super::murmur::{hash_longs, hash_words};

/// Header of a one-field row whose field is NULL: the null bit of field 0 is bit 8.
const NULL_HEADER: u64 = 1 << 8;

/// Hashes keys of one list of column types. Owns a buffer, so that a key costs no allocation.
#[derive(Clone, Debug)]
pub struct KeyHasher {
    form: Form,
    buffer: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Form {
    /// One column that fits its slot: hashed without laying a row out.
    Single(Width),
    Rows(Box<[Field]>),
    JavaSingle(JavaClass),
    JavaRow(Box<[JavaClass]>),
}

impl KeyHasher {
    /// A hasher for keys of these columns, in key order.
    ///
    /// # Errors
    /// [`Kind::Definition`] for a column whose type cannot be hashed.
    pub fn new(types: &[DataType], hash: KeyHash) -> Result<Self> {
        let form = match hash {
            KeyHash::FlinkSql => match collect(types, |ty| Field::of(&ty.kind), hash)?.as_ref() {
                [Field::Fixed(width)] => Form::Single(*width),
                fields => Form::Rows(fields.into()),
            },
            KeyHash::Java => match collect(types, |ty| JavaClass::of(&ty.kind), hash)?.as_ref() {
                [class] => Form::JavaSingle(*class),
                classes => Form::JavaRow(classes.into()),
            },
        };
        Ok(Self { form, buffer: Vec::new() })
    }

    /// Hash of a key; each datum is of its column's type or NULL.
    pub fn hash(&mut self, key: &[Datum<'_>]) -> i32 {
        let first = key.first().copied().unwrap_or(Datum::Null);
        match &self.form {
            Form::Single(width) => match width.slot(first) {
                Some(slot) => hash_longs(&[0, slot]),
                None => hash_longs(&[NULL_HEADER, 0]),
            },
            Form::Rows(fields) => {
                binary_row::write(fields, key, &mut self.buffer);
                hash_words(&self.buffer)
            }
            Form::JavaSingle(class) => java::hash(first, *class),
            Form::JavaRow(classes) => java::hash_row(key.iter().copied().zip(classes.iter().copied())),
        }
    }
}

fn collect<T>(types: &[DataType], of: impl Fn(&DataType) -> Option<T>, hash: KeyHash) -> Result<Box<[T]>> {
    let find = |ty: &DataType| of(ty).ok_or_else(|| refused(ty, hash));
    types.iter().map(find).collect()
}

fn refused(ty: &DataType, hash: KeyHash) -> Error {
    let (name, hint) = match hash {
        KeyHash::FlinkSql => ("flink-sql", "use a scalar column"),
        KeyHash::Java => {
            ("java", "Java hashes arrays by identity: use key-hash: flink-sql or another column")
        }
    };
    Error::new(
        Kind::Definition,
        format!("a key column of type {ty} has no hash under key-hash: {name}; {hint}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Type;

    #[test]
    fn the_short_way_for_one_column_gives_the_hash_of_the_row() {
        let types = [Type::Boolean, Type::TinyInt, Type::SmallInt, Type::Int, Type::BigInt];
        for ty in types {
            let field = Field::of(&ty).unwrap();
            let mut hasher = KeyHasher::new(&[ty.nullable()], KeyHash::FlinkSql).unwrap();
            for datum in [Datum::Int(-1), Datum::Int(300), Datum::Bool(true), Datum::Null] {
                let mut row = Vec::new();
                binary_row::write(&[field], &[datum], &mut row);
                assert_eq!(hasher.hash(&[datum]), hash_words(&row), "{datum:?}");
            }
        }
    }

    #[test]
    fn what_has_no_hash_is_refused() {
        let nested = Type::Array(Box::new(Type::Int.nullable())).nullable();
        assert!(KeyHasher::new(&[nested], KeyHash::FlinkSql).is_err());
        let message = KeyHasher::new(&[Type::BYTES.nullable()], KeyHash::Java).unwrap_err().to_string();
        assert!(message.contains("BYTES") && message.contains("flink-sql"), "{message}");
        assert!(KeyHasher::new(&[Type::BYTES.nullable()], KeyHash::FlinkSql).is_ok());
    }
}
