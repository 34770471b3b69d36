//! Functions of numbers.

use super::{Call, Function};
use crate::expr::CompileError;
use crate::expr::ir::{Nulls, Typed};
use crate::model::{DataType, Datum, Type};

/// What this file registers.
pub(super) const FUNCTIONS: &[Function] = &[Function { name: "SQRT", args: (1, 1), bind: sqrt }];

fn sqrt(call: Call<'_>) -> Result<Typed, CompileError> {
    call.number(0)?;
    let ty = DataType { kind: Type::Double, nullable: call.nullable() };
    Ok(call.build(ty, Nulls::Propagate, |args, _| {
        let [value] = args else { return Ok(Datum::Null) };
        Ok(Datum::Double(crate::expr::arithmetic::to_double(*value).sqrt()))
    }))
}
