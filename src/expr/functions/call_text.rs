//! Text functions as expressions call them: argument types, result types, NULLs.
//!
//! Result types are Flink's. Where Flink types a function NOT NULL that can
//! give NULL (LPAD, RPAD), the type here says so, unless constants rule it out.

use super::text::{self, Ends, Side};
use super::{Call, Function, digest, letter_case};
use crate::expr::ir::{Nulls, Typed};
use crate::expr::{CompileError, EvalError};
use crate::model::{DataType, Datum, Type};

/// Arguments of CONCAT and CONCAT_WS at most; nobody writes more by hand, and a
/// definition is not a place for generated code.
const PARTS_MAX: usize = 255;

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "||", args: (2, 2), bind: bars },
    Function { name: "CONCAT", args: (1, PARTS_MAX), bind: concat },
    Function { name: "CONCAT_WS", args: (1, PARTS_MAX), bind: concat_ws },
    Function { name: "UPPER", args: (1, 1), bind: upper },
    Function { name: "LOWER", args: (1, 1), bind: lower },
    Function { name: "INITCAP", args: (1, 1), bind: initcap },
    Function { name: "TRIM BOTH", args: (1, 2), bind: trim },
    Function { name: "TRIM LEADING", args: (1, 2), bind: trim },
    Function { name: "TRIM TRAILING", args: (1, 2), bind: trim },
    Function { name: "BTRIM", args: (1, 2), bind: trim },
    Function { name: "LTRIM", args: (1, 2), bind: trim },
    Function { name: "RTRIM", args: (1, 2), bind: trim },
    Function { name: "SUBSTRING", args: (2, 3), bind: substring },
    Function { name: "SUBSTR", args: (2, 3), bind: substring },
    Function { name: "LEFT", args: (2, 2), bind: ends },
    Function { name: "RIGHT", args: (2, 2), bind: ends },
    Function { name: "LPAD", args: (3, 3), bind: pad },
    Function { name: "RPAD", args: (3, 3), bind: pad },
    Function { name: "REPLACE", args: (3, 3), bind: replace },
    Function { name: "REVERSE", args: (1, 1), bind: reverse },
    Function { name: "REPEAT", args: (2, 2), bind: repeat },
    Function { name: "OVERLAY", args: (3, 4), bind: overlay },
    Function { name: "CHAR_LENGTH", args: (1, 1), bind: char_length },
    Function { name: "CHARACTER_LENGTH", args: (1, 1), bind: char_length },
    Function { name: "POSITION", args: (2, 2), bind: position },
    Function { name: "LOCATE", args: (2, 3), bind: position },
    Function { name: "INSTR", args: (2, 4), bind: instr },
    Function { name: "ASCII", args: (1, 1), bind: ascii },
    Function { name: "CHR", args: (1, 1), bind: chr },
    Function { name: "SPLIT_INDEX", args: (3, 3), bind: split_index },
    Function { name: "TRANSLATE", args: (3, 3), bind: translate },
    Function { name: "MD5", args: (1, 1), bind: md5 },
    Function { name: "SHA256", args: (1, 1), bind: sha256 },
];

/// The body got something else than its types promise: no such row exists.
fn nothing<'a>() -> Result<Datum<'a>, EvalError> {
    Ok(Datum::Null)
}

fn optional(found: Option<&str>) -> Datum<'_> {
    found.map_or(Datum::Null, Datum::Str)
}

/// All arguments must be text.
fn all_text(call: &Call<'_>) -> Result<(), CompileError> {
    (0..call.args.len()).try_for_each(|index| call.text(index))
}

/// `kind`, NULL allowed if an argument may be NULL.
fn like_arguments(call: &Call<'_>, kind: Type) -> DataType {
    DataType { kind, nullable: call.nullable() }
}

/// The first argument's text type, with a length that may vary.
fn varying(call: &Call<'_>) -> Type {
    match call.kind(0) {
        Type::Char(length) => Type::Varchar(*length),
        other => other.clone(),
    }
}

/// Text of the arguments one after the other. CHAR keeps a fixed length.
fn bars(call: Call<'_>) -> Result<Typed, CompileError> {
    all_text(&call)?;
    let length = |kind: &Type| match kind {
        Type::Char(length) | Type::Varchar(length) => *length,
        _ => 0,
    };
    let Type::Varchar(most) = Type::STRING else { return Err(call.mismatch()) };
    let sum = length(call.kind(0)).saturating_add(length(call.kind(1))).min(most);
    let fixed = matches!((call.kind(0), call.kind(1)), (Type::Char(_), Type::Char(_)));
    let ty = like_arguments(&call, if fixed { Type::Char(sum) } else { Type::Varchar(sum) });
    Ok(call.build(ty, Nulls::Propagate, |args, arena| match args {
        [Datum::Str(left), Datum::Str(right)] => Ok(Datum::Str(text::concat(&[left, right], arena)?)),
        _ => nothing(),
    }))
}

fn concat(call: Call<'_>) -> Result<Typed, CompileError> {
    all_text(&call)?;
    let ty = like_arguments(&call, Type::STRING);
    Ok(call.build(ty, Nulls::Propagate, |args, arena| {
        let parts: smallvec::SmallVec<[&str; 8]> = args.iter().filter_map(text_of).collect();
        Ok(Datum::Str(text::concat(&parts, arena)?))
    }))
}

fn text_of<'a>(datum: &Datum<'a>) -> Option<&'a str> {
    match datum {
        Datum::Str(text) => Some(text),
        _ => None,
    }
}

/// NULL only for a NULL separator; Flink's type is nullable if any argument is.
fn concat_ws(call: Call<'_>) -> Result<Typed, CompileError> {
    all_text(&call)?;
    let ty = like_arguments(&call, Type::STRING);
    Ok(call.build(ty, Nulls::Seen, |args, arena| match args {
        [Datum::Str(separator), parts @ ..] => {
            Ok(Datum::Str(text::concat_ws(separator, parts.iter().map(text_of), arena)?))
        }
        _ => nothing(),
    }))
}

/// A call with one text argument and a body that cannot fail.
fn mapped(
    call: Call<'_>,
    kind: Type,
    map: for<'a> fn(&'a str, &'a bumpalo::Bump) -> &'a str,
) -> Result<Typed, CompileError> {
    call.text(0)?;
    let ty = like_arguments(&call, kind);
    Ok(call.build(ty, Nulls::Propagate, move |args, arena| match args {
        [Datum::Str(text)] => Ok(Datum::Str(map(text, arena))),
        _ => nothing(),
    }))
}

fn upper(call: Call<'_>) -> Result<Typed, CompileError> {
    let kind = call.kind(0).clone();
    mapped(call, kind, letter_case::upper)
}

fn lower(call: Call<'_>) -> Result<Typed, CompileError> {
    let kind = call.kind(0).clone();
    mapped(call, kind, letter_case::lower)
}

fn initcap(call: Call<'_>) -> Result<Typed, CompileError> {
    let kind = call.kind(0).clone();
    mapped(call, kind, |text, arena| letter_case::initcap(text, arena))
}

fn md5(call: Call<'_>) -> Result<Typed, CompileError> {
    mapped(call, Type::Char(32), |text, arena| digest::md5(text, arena))
}

fn sha256(call: Call<'_>) -> Result<Typed, CompileError> {
    mapped(call, Type::Char(64), |text, arena| digest::sha256(text, arena))
}

/// The text first, the characters to cut second; blanks if there are none.
fn trim(call: Call<'_>) -> Result<Typed, CompileError> {
    all_text(&call)?;
    let ends = match call.name {
        "TRIM LEADING" | "LTRIM" => Ends::Leading,
        "TRIM TRAILING" | "RTRIM" => Ends::Trailing,
        _ => Ends::Both,
    };
    let ty = like_arguments(&call, varying(&call));
    Ok(call.build(ty, Nulls::Propagate, move |args, _| match args {
        [Datum::Str(text)] => Ok(Datum::Str(text::trim(text, " ", ends))),
        [Datum::Str(text), Datum::Str(set)] => Ok(Datum::Str(text::trim(text, set, ends))),
        _ => nothing(),
    }))
}

fn substring(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    call.integer(1)?;
    call.integer(2)?;
    let ty = varying(&call).nullable();
    Ok(call.build(ty, Nulls::Propagate, |args, _| match args {
        [Datum::Str(text), Datum::Int(start)] => Ok(optional(text::substring(text, *start, None))),
        [Datum::Str(text), Datum::Int(start), Datum::Int(length)] => {
            Ok(optional(text::substring(text, *start, Some(*length))))
        }
        _ => nothing(),
    }))
}

fn ends(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    call.integer(1)?;
    let from_left = call.name == "LEFT";
    Ok(call.build(Type::STRING.nullable(), Nulls::Propagate, move |args, _| match args {
        [Datum::Str(text), Datum::Int(length)] if from_left => Ok(Datum::Str(text::left(text, *length))),
        [Datum::Str(text), Datum::Int(length)] => Ok(Datum::Str(text::right(text, *length))),
        _ => nothing(),
    }))
}

fn pad(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    call.integer(1)?;
    call.text(2)?;
    let side = if call.name == "LPAD" { Side::Left } else { Side::Right };
    let never_null = matches!(call.constant(1), Some(Datum::Int(0..)))
        && matches!(call.constant(2), Some(Datum::Str(pad)) if !pad.is_empty());
    let ty = DataType { kind: Type::STRING, nullable: call.nullable() || !never_null };
    Ok(call.build(ty, Nulls::Propagate, move |args, arena| match args {
        [Datum::Str(text), Datum::Int(length), Datum::Str(pad)] => {
            Ok(optional(text::pad(side, text, *length, pad, arena)?))
        }
        _ => nothing(),
    }))
}

fn replace(call: Call<'_>) -> Result<Typed, CompileError> {
    all_text(&call)?;
    let ty = like_arguments(&call, Type::STRING);
    Ok(call.build(ty, Nulls::Propagate, |args, arena| match args {
        [Datum::Str(text), Datum::Str(search), Datum::Str(replacement)] => {
            Ok(Datum::Str(text::replace(text, search, replacement, arena)?))
        }
        _ => nothing(),
    }))
}

fn reverse(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    Ok(call.build(Type::STRING.nullable(), Nulls::Propagate, |args, arena| match args {
        [Datum::Str(text)] => Ok(Datum::Str(text::reverse(text, arena))),
        _ => nothing(),
    }))
}

fn repeat(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    call.integer(1)?;
    let ty = like_arguments(&call, Type::STRING);
    Ok(call.build(ty, Nulls::Propagate, |args, arena| match args {
        [Datum::Str(text), Datum::Int(times)] => Ok(Datum::Str(text::repeat(text, *times, arena)?)),
        _ => nothing(),
    }))
}

fn overlay(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    call.text(1)?;
    call.integer(2)?;
    call.integer(3)?;
    let ty = like_arguments(&call, Type::STRING);
    Ok(call.build(ty, Nulls::Propagate, |args, arena| match args {
        [Datum::Str(text), Datum::Str(placing), Datum::Int(start)] => {
            Ok(Datum::Str(text::overlay(text, placing, *start, None, arena)))
        }
        [Datum::Str(text), Datum::Str(placing), Datum::Int(start), Datum::Int(length)] => {
            Ok(Datum::Str(text::overlay(text, placing, *start, Some(*length), arena)))
        }
        _ => nothing(),
    }))
}

fn char_length(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    let ty = like_arguments(&call, Type::Int);
    Ok(call.build(ty, Nulls::Propagate, |args, _| match args {
        [Datum::Str(text)] => Ok(Datum::Int(text::char_length(text))),
        _ => nothing(),
    }))
}

/// POSITION and LOCATE: the text to find first.
fn position(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    call.text(1)?;
    call.integer(2)?;
    let ty = like_arguments(&call, Type::Int);
    Ok(call.build(ty, Nulls::Propagate, |args, _| match args {
        [Datum::Str(search), Datum::Str(text)] => Ok(Datum::Int(text::position(search, text, 1))),
        [Datum::Str(search), Datum::Str(text), Datum::Int(from)] => {
            Ok(Datum::Int(text::position(search, text, *from)))
        }
        _ => nothing(),
    }))
}

/// INSTR: the text to search in first.
fn instr(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    call.text(1)?;
    call.integer(2)?;
    call.integer(3)?;
    let ty = like_arguments(&call, Type::Int);
    Ok(call.build(ty, Nulls::Propagate, |args, _| {
        let number = |index: usize| match args.get(index) {
            Some(Datum::Int(value)) => *value,
            _ => 1,
        };
        match args {
            [Datum::Str(text), Datum::Str(search), ..] => {
                Ok(Datum::Int(text::instr(text, search, number(2), number(3))?))
            }
            _ => nothing(),
        }
    }))
}

fn ascii(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    let ty = like_arguments(&call, Type::Int);
    Ok(call.build(ty, Nulls::Propagate, |args, _| match args {
        [Datum::Str(text)] => Ok(Datum::Int(text::ascii(text))),
        _ => nothing(),
    }))
}

fn chr(call: Call<'_>) -> Result<Typed, CompileError> {
    call.integer(0)?;
    Ok(call.build(Type::STRING.nullable(), Nulls::Propagate, |args, arena| match args {
        [Datum::Int(code)] => Ok(Datum::Str(text::chr(*code, arena))),
        _ => nothing(),
    }))
}

/// The separator is a text or the code of a character.
fn split_index(call: Call<'_>) -> Result<Typed, CompileError> {
    call.text(0)?;
    call.require(1, |kind| kind.is_text() || kind.is_integer())?;
    call.integer(2)?;
    Ok(call.build(Type::STRING.nullable(), Nulls::Propagate, |args, _| match args {
        [Datum::Str(text), Datum::Str(separator), Datum::Int(index)] => {
            Ok(optional(text::split_index(text, separator, *index)))
        }
        [Datum::Str(text), Datum::Int(code), Datum::Int(index)] => {
            Ok(optional(text::split_index_code(text, *code, *index)))
        }
        _ => nothing(),
    }))
}

fn translate(call: Call<'_>) -> Result<Typed, CompileError> {
    all_text(&call)?;
    let ty = like_arguments(&call, Type::STRING);
    Ok(call.build(ty, Nulls::Propagate, |args, arena| match args {
        [Datum::Str(text), Datum::Str(from), Datum::Str(to)] => {
            Ok(Datum::Str(text::translate(text, from, to, arena)))
        }
        _ => nothing(),
    }))
}
