//! LIKE and SIMILAR TO as expressions use them. A constant pattern is made ready
//! when the expression is compiled, any other one for each row.

use super::like::{Like, escape_character};
use super::similar::Similar;
use super::{Call, Function};
use crate::expr::ir::{Nulls, Typed};
use crate::expr::{CompileError, EvalError};
use crate::model::{DataType, Datum, Type};

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "LIKE", args: (2, 3), bind: like },
    Function { name: "SIMILAR TO", args: (2, 3), bind: similar },
];

fn like(call: Call<'_>) -> Result<Typed, CompileError> {
    bind(call, Like::compile, Like::matches)
}

fn similar(call: Call<'_>) -> Result<Typed, CompileError> {
    bind(call, Similar::compile, Similar::matches)
}

fn bind<P: Send + Sync + 'static>(
    call: Call<'_>,
    compile: fn(&str, Option<char>) -> Result<P, EvalError>,
    matches: fn(&P, &str) -> bool,
) -> Result<Typed, CompileError> {
    (0..call.args.len()).try_for_each(|index| call.text(index))?;
    let ty = DataType { kind: Type::Boolean, nullable: call.nullable() };
    let has_escape = call.args.len() == 3;
    let constants = match (call.constant(1), call.constant(2)) {
        (Some(Datum::Str(pattern)), Some(Datum::Str(escape))) => Some((pattern, Some(escape))),
        (Some(Datum::Str(pattern)), None) if !has_escape => Some((pattern, None)),
        _ => None,
    };
    let ready = constants.map(|(pattern, escape)| prepare(pattern, escape, compile)).transpose();
    let ready = ready.map_err(|fault| call.refuse(fault.detail))?;
    Ok(match ready {
        Some(pattern) => call.build(ty, Nulls::Propagate, move |args, _| {
            Ok(args.first().map_or(Datum::Null, |text| match text {
                Datum::Str(text) => Datum::Bool(matches(&pattern, text)),
                _ => Datum::Null,
            }))
        }),
        None => call.build(ty, Nulls::Propagate, move |args, _| {
            let (text, pattern, escape) = match args {
                [Datum::Str(text), Datum::Str(pattern)] => (text, pattern, None),
                [Datum::Str(text), Datum::Str(pattern), Datum::Str(escape)] => (text, pattern, Some(*escape)),
                _ => return Ok(Datum::Null),
            };
            Ok(Datum::Bool(matches(&prepare(pattern, escape, compile)?, text)))
        }),
    })
}

fn prepare<P>(
    pattern: &str,
    escape: Option<&str>,
    compile: fn(&str, Option<char>) -> Result<P, EvalError>,
) -> Result<P, EvalError> {
    compile(pattern, escape.map(escape_character).transpose()?)
}
