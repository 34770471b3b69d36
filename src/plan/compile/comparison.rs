//! Which lookup keys can be compared, and how: exactly, or not at all.

use crate::model::Type;

use super::super::Comparison;

/// How a stream value of type `stream` is compared with a dimension column of type `dimension`.
///
/// # Errors
/// What to do when the two do not go together.
pub(super) fn comparison(stream: &Type, dimension: &Type) -> Result<Comparison, &'static str> {
    use Type::{Boolean, Date, Decimal, Null, Time, Timestamp, TimestampLtz, TinyInt};
    Ok(match (stream, dimension) {
        _ if stream.is_approximate() || dimension.is_approximate() => {
            return Err(
                "FLOAT and DOUBLE have no exact equality: cast both sides to DECIMAL in the database and in the condition",
            );
        }
        (stream, dimension) if stream == dimension && !stream.is_nested() => Comparison::Same,
        // `d.id = NULL` never matches, whatever the column is.
        (Null, _) => Comparison::Same,
        (stream, dimension) if stream.is_text() && dimension.is_text() => Comparison::Same,
        (stream, dimension) if stream.is_binary() && dimension.is_binary() => Comparison::Same,
        (Boolean, TinyInt) => Comparison::BooleanAsTinyInt,
        (TinyInt, Boolean) => Comparison::TinyIntAsBoolean,
        (stream, dimension) if stream.is_integer() && dimension.is_integer() => Comparison::Integers,
        (Decimal { scale: 0, .. }, dimension) if dimension.is_integer() => Comparison::Decimals,
        (stream, Decimal { scale: 0, .. }) if stream.is_integer() => Comparison::Decimals,
        (Decimal { .. }, Decimal { .. }) => Comparison::Decimals,
        (stream, dimension) if stream.is_text() && dimension.is_integer() => Comparison::TextAsInteger,
        (stream, dimension) if stream.is_integer() && dimension.is_text() => Comparison::IntegerAsText,
        (Date, Date)
        | (Time(_), Time(_))
        | (Timestamp(_), Timestamp(_))
        | (TimestampLtz(_), TimestampLtz(_)) => Comparison::Same,
        _ => return Err("cast the stream's side to the type of the dimension column"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(precision: u8, scale: u8) -> Type {
        Type::Decimal { precision, scale }
    }

    #[test]
    fn the_matrix_of_lookup_keys() {
        use Comparison::{
            BooleanAsTinyInt, Decimals, IntegerAsText, Integers, Same, TextAsInteger, TinyIntAsBoolean,
        };
        let cases = [
            (Type::Int, Type::Int, Same),
            (Type::Int, Type::BigInt, Integers),
            (Type::BigInt, Type::TinyInt, Integers),
            (Type::Int, decimal(20, 0), Decimals),
            (decimal(20, 0), Type::BigInt, Decimals),
            (decimal(10, 2), decimal(12, 4), Decimals),
            (Type::STRING, Type::Varchar(20), Same),
            (Type::Char(3), Type::STRING, Same),
            (Type::STRING, Type::Int, TextAsInteger),
            (Type::BigInt, Type::STRING, IntegerAsText),
            (Type::Date, Type::Date, Same),
            (Type::Timestamp(3), Type::Timestamp(6), Same),
            (Type::Boolean, Type::Boolean, Same),
            (Type::Boolean, Type::TinyInt, BooleanAsTinyInt),
            (Type::TinyInt, Type::Boolean, TinyIntAsBoolean),
            (Type::BYTES, Type::Binary(16), Same),
            (Type::Null, Type::Int, Same),
        ];
        for (stream, dimension, expected) in cases {
            assert_eq!(comparison(&stream, &dimension), Ok(expected), "{stream} = {dimension}");
        }
    }

    #[test]
    fn what_has_no_exact_equality_is_refused() {
        let row = Type::Array(Box::new(Type::Int.nullable()));
        let cases = [
            (Type::Double, Type::Double),
            (Type::Int, Type::Float),
            (Type::Int, decimal(10, 2)),
            (decimal(10, 2), Type::STRING),
            (Type::Date, Type::Timestamp(3)),
            (Type::Timestamp(3), Type::TimestampLtz(3)),
            (Type::Boolean, Type::Int),
            (Type::STRING, Type::Date),
            (Type::STRING, Type::BYTES),
            (row.clone(), row),
        ];
        for (stream, dimension) in cases {
            assert!(comparison(&stream, &dimension).is_err(), "{stream} = {dimension}");
        }
    }
}
