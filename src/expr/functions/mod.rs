//! The functions that an expression may call.
//!
//! A function is a [`Function`]: a name, how many arguments it takes, and a
//! `bind` that looks at the types (and constants) of the arguments and gives
//! back a typed call. To add some, write a file with
//!
//! ```ignore
//! pub(super) const FUNCTIONS: &[Function] = &[
//!     Function { name: "UPPER", args: (1, 1), bind: upper },
//! ];
//!
//! fn upper(call: Call<'_>) -> Result<Typed, CompileError> {
//!     call.text(0)?; // argument 0 must be CHAR, VARCHAR or STRING
//!     let ty = DataType { kind: Type::STRING, nullable: call.nullable() };
//!     Ok(call.build(ty, Nulls::Propagate, |args, arena| match args {
//!         [Datum::Str(text)] => Ok(Datum::Str(arena.alloc_str(&text.to_uppercase()))),
//!         _ => Ok(Datum::Null),
//!     }))
//! }
//! ```
//!
//! and name the file's list in [`REGISTRY`]. The body may capture what it
//! prepared from constant arguments (a compiled pattern, a zone). Calls whose
//! arguments are all constants are computed when the expression is compiled.
//!
//! Special forms reach the registry under names that cannot be typed as a
//! call, with their operands in this order:
//!
//! | written | name | arguments | unit |
//! |---|---|---|---|
//! | `a \|\| b` | `\|\|` | a, b | |
//! | `a LIKE p [ESCAPE e]` | `LIKE` | a, p[, e] | |
//! | `a SIMILAR TO p [ESCAPE e]` | `SIMILAR TO` | a, p[, e] | |
//! | `TRIM(BOTH c FROM a)` and the like | `TRIM BOTH`, `TRIM LEADING`, `TRIM TRAILING` | a[, c] | |
//! | `SUBSTRING(a FROM b FOR c)` | `SUBSTRING` | a, b[, c] | |
//! | `POSITION(a IN b)` | `POSITION` | a, b | |
//! | `OVERLAY(a PLACING b FROM c FOR d)` | `OVERLAY` | a, b, c[, d] | |
//! | `EXTRACT(u FROM t)` | `EXTRACT` | t | u |
//! | `FLOOR(t TO u)`, `CEIL(t TO u)` | `FLOOR TO`, `CEIL TO` | t | u |
//! | `TIMESTAMPADD(u, n, t)`, `TIMESTAMPDIFF(u, a, b)` | the same | n, t; a, b | u |
//! | `t + i`, `i + t`, `t - i` | `TIME +`, `TIME -` | t, i | |
//! | `(a - b) DAY` | `TIME DIFFERENCE` | a, b | the unit |
//!
//! `t` is a DATE, TIME, TIMESTAMP or TIMESTAMP_LTZ, `i` an interval (the binder
//! has checked that). `NOT LIKE` is the negation of `LIKE`.

mod add_time;
mod call_format;
mod call_like;
mod call_text;
mod call_time;
mod digest;
mod fields;
mod format_pattern;
mod letter_case;
mod like;
mod number;
mod round;
mod round_time;
mod similar;
mod text;
mod time_unit;

use bumpalo::Bump;

use super::ir::{self, Node, Nulls, Typed};
use super::{CompileError, EvalError, Settings, scope};
use crate::error::Reason;
use crate::model::{DataType, Datum, Type};

/// Every list of functions; a name stands in one of them only.
const REGISTRY: &[&[Function]] = &[
    call_format::FUNCTIONS,
    call_like::FUNCTIONS,
    call_text::FUNCTIONS,
    call_time::FUNCTIONS,
    number::FUNCTIONS,
    round::FUNCTIONS,
];

/// A function that expressions may call.
pub(crate) struct Function {
    /// Name in capitals.
    pub(crate) name: &'static str,
    /// Smallest and largest number of arguments.
    pub(crate) args: (usize, usize),
    /// From typed arguments to a typed call.
    pub(crate) bind: fn(Call<'_>) -> Result<Typed, CompileError>,
}

/// A call that is being typed.
pub(crate) struct Call<'s> {
    /// The function's name.
    pub(crate) name: &'static str,
    /// Typed arguments, as many as the function takes.
    pub(crate) args: Vec<Typed>,
    /// The time unit of forms that have one.
    pub(crate) unit: Option<TimeUnit>,
    /// Settings of the definition.
    pub(crate) settings: &'s Settings,
}

impl Call<'_> {
    /// Type of argument `index`; NULL when there is none.
    pub(crate) fn kind(&self, index: usize) -> &Type {
        self.args.get(index).map_or(&Type::Null, |arg| &arg.ty.kind)
    }

    /// Whether any argument may be NULL.
    pub(crate) fn nullable(&self) -> bool {
        self.args.iter().any(|arg| arg.ty.nullable)
    }

    /// The value of argument `index` if it is a constant.
    pub(crate) fn constant(&self, index: usize) -> Option<Datum<'_>> {
        self.args.get(index).and_then(Typed::value)
    }

    /// Argument `index`, when given, must be text.
    pub(crate) fn text(&self, index: usize) -> Result<(), CompileError> {
        self.require(index, Type::is_text)
    }

    /// Argument `index`, when given, must be an integer.
    pub(crate) fn integer(&self, index: usize) -> Result<(), CompileError> {
        self.require(index, Type::is_integer)
    }

    /// Argument `index`, when given, must be a number.
    pub(crate) fn number(&self, index: usize) -> Result<(), CompileError> {
        self.require(index, Type::is_numeric)
    }

    /// Argument `index`, when given, must be of a kind that `fits`. A bare NULL
    /// has no type and is refused, as in Flink.
    pub(crate) fn require(&self, index: usize, fits: impl Fn(&Type) -> bool) -> Result<(), CompileError> {
        match self.args.get(index) {
            Some(arg) if !fits(&arg.ty.kind) => Err(self.mismatch()),
            _ => Ok(()),
        }
    }

    /// "F cannot be applied to (…)", for arguments whose types do not fit.
    pub(crate) fn mismatch(&self) -> CompileError {
        let types: Vec<String> = self.args.iter().map(|arg| arg.ty.kind.to_string()).collect();
        let name = self.name;
        let bare_null = self.args.iter().any(Typed::is_bare_null);
        CompileError {
            at: None,
            message: format!("{name} cannot be applied to ({})", types.join(", ")),
            help: if bare_null {
                "give NULL a type with CAST(NULL AS …)"
            } else {
                "cast the arguments first"
            }
            .to_owned(),
        }
    }

    /// A fault of the call that is not about types alone.
    pub(crate) fn refuse(&self, message: impl Into<String>) -> CompileError {
        CompileError { at: None, message: format!("{}: {}", self.name, message.into()), help: String::new() }
    }

    /// The typed call.
    pub(crate) fn build<F>(self, ty: DataType, nulls: Nulls, body: F) -> Typed
    where
        F: for<'a> Fn(&[Datum<'a>], &'a Bump) -> Result<Datum<'a>, EvalError> + Send + Sync + 'static,
    {
        let args = self.args.into_iter().map(|arg| arg.node).collect();
        let call = ir::Call { name: self.name, args, nulls, body: std::sync::Arc::new(body) };
        Typed { node: Node::Call(Box::new(call)), ty }
    }
}

/// An argument for which a function has no result.
pub(crate) fn invalid(detail: impl Into<String>) -> EvalError {
    EvalError { reason: Reason::InvalidArgument, detail: detail.into() }
}

/// Units of time in EXTRACT, FLOOR, CEIL, TIMESTAMPADD, TIMESTAMPDIFF and intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    /// 10^-9 s.
    Nanosecond,
    /// 10^-6 s.
    Microsecond,
    /// 10^-3 s.
    Millisecond,
    /// Second.
    Second,
    /// Minute.
    Minute,
    /// Hour.
    Hour,
    /// Day.
    Day,
    /// Week.
    Week,
    /// Month.
    Month,
    /// Quarter of a year.
    Quarter,
    /// Year.
    Year,
    /// Ten years.
    Decade,
    /// Hundred years.
    Century,
    /// Thousand years.
    Millennium,
    /// Seconds since 1970-01-01.
    Epoch,
    /// Day of the week, Sunday 1.
    Dow,
    /// Day of the week, Monday 1.
    Isodow,
    /// Day of the year.
    Doy,
    /// Year of the ISO week.
    Isoyear,
}

/// Every unit with its name.
const UNITS: [(&str, TimeUnit); 19] = [
    ("NANOSECOND", TimeUnit::Nanosecond),
    ("MICROSECOND", TimeUnit::Microsecond),
    ("MILLISECOND", TimeUnit::Millisecond),
    ("SECOND", TimeUnit::Second),
    ("MINUTE", TimeUnit::Minute),
    ("HOUR", TimeUnit::Hour),
    ("DAY", TimeUnit::Day),
    ("WEEK", TimeUnit::Week),
    ("MONTH", TimeUnit::Month),
    ("QUARTER", TimeUnit::Quarter),
    ("YEAR", TimeUnit::Year),
    ("DECADE", TimeUnit::Decade),
    ("CENTURY", TimeUnit::Century),
    ("MILLENNIUM", TimeUnit::Millennium),
    ("EPOCH", TimeUnit::Epoch),
    ("DOW", TimeUnit::Dow),
    ("ISODOW", TimeUnit::Isodow),
    ("DOY", TimeUnit::Doy),
    ("ISOYEAR", TimeUnit::Isoyear),
];

impl TimeUnit {
    /// The unit of that name in any case; `SQL_TSI_DAY` is DAY.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let upper = name.to_ascii_uppercase();
        let bare = upper.strip_prefix("SQL_TSI_").unwrap_or(&upper);
        UNITS.iter().find(|(known, _)| *known == bare).map(|(_, unit)| *unit)
    }

    /// Its name in capitals.
    pub(crate) fn name(self) -> &'static str {
        UNITS.iter().find(|(_, unit)| *unit == self).map_or("", |(name, _)| name)
    }
}

/// Functions that Flink has and this list leaves out, by family.
const LEFT_OUT: &[(&str, &[&str])] = &[
    (
        "regular expressions",
        &["REGEXP", "REGEXP_EXTRACT", "REGEXP_REPLACE", "REGEXP_EXTRACT_ALL", "REGEXP_COUNT"],
    ),
    (
        "JSON",
        &["JSON_VALUE", "JSON_QUERY", "JSON_EXISTS", "JSON_STRING", "JSON_OBJECT", "JSON_ARRAY", "IS_JSON"],
    ),
    ("URLs", &["PARSE_URL", "URL_ENCODE", "URL_DECODE"]),
    (
        "hashes and codecs other than MD5 and SHA256",
        &[
            "SHA1",
            "SHA224",
            "SHA384",
            "SHA512",
            "SHA2",
            "TO_BASE64",
            "FROM_BASE64",
            "HEX",
            "UNHEX",
            "ENCODE",
            "DECODE",
        ],
    ),
    (
        "arrays and maps",
        &[
            "CARDINALITY",
            "ELEMENT",
            "ARRAY_CONTAINS",
            "ARRAY_JOIN",
            "MAP_KEYS",
            "MAP_VALUES",
            "STR_TO_MAP",
            "SPLIT",
        ],
    ),
    (
        "trigonometry",
        &[
            "SIN", "COS", "TAN", "COT", "ASIN", "ACOS", "ATAN", "ATAN2", "PI", "DEGREES", "RADIANS", "SINH",
            "COSH",
        ],
    ),
    (
        "the current time (a result must not depend on when it is computed)",
        &["NOW", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME"],
    ),
    (
        "values that change by run",
        &["UUID", "RAND", "RAND_INTEGER", "CURRENT_DATABASE", "CURRENT_ROW_TIMESTAMP"],
    ),
];

/// The function called `name` with `given` arguments.
///
/// # Errors
/// Functions that do not exist, with the nearest name, and a wrong number of arguments.
pub(crate) fn find(name: &str, given: usize) -> Result<&'static Function, CompileError> {
    let upper = name.to_ascii_uppercase();
    let Some(function) = all().find(|function| function.name == upper) else { return Err(unknown(&upper)) };
    let (least, most) = function.args;
    if (least..=most).contains(&given) {
        return Ok(function);
    }
    let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let message = format!("{upper} takes {wanted} arguments, not {given}");
    Err(CompileError { at: None, message, help: String::new() })
}

fn all() -> impl Iterator<Item = &'static Function> {
    REGISTRY.iter().flat_map(|list| list.iter())
}

/// Names that can be written as a call, with the fewest and most arguments.
#[cfg(test)]
pub(super) fn signatures() -> impl Iterator<Item = (&'static str, usize, usize)> {
    all().filter(|f| !f.name.contains([' ', '|'])).map(|f| (f.name, f.args.0, f.args.1))
}

fn unknown(name: &str) -> CompileError {
    if let Some((family, _)) = LEFT_OUT.iter().find(|(_, names)| names.contains(&name)) {
        let message = format!("{name} is not supported: functions for {family} are not part of this version");
        return CompileError { at: None, message, help: String::new() };
    }
    let names = all().map(|f| f.name).chain(FORMS).filter(|n| !n.contains([' ', '|']));
    let foreign = FOREIGN.iter().find(|(other, _)| *other == name).map(|(_, ours)| *ours);
    let nearest = foreign.or_else(|| scope::nearest(name, names));
    let help = nearest.map(|near| format!("did you mean {near}?")).unwrap_or_default();
    CompileError { at: None, message: format!("there is no function {name}"), help }
}

/// Names that other systems use, and what does the same here.
const FOREIGN: [(&str, &str); 14] = [
    ("LENGTH", "CHAR_LENGTH"),
    ("LEN", "CHAR_LENGTH"),
    ("NVL", "IFNULL"),
    ("ISNULL", "IFNULL"),
    ("IIF", "IF"),
    ("STRPOS", "POSITION"),
    ("DATEADD", "TIMESTAMPADD"),
    ("DATE_ADD", "TIMESTAMPADD"),
    ("DATEDIFF", "TIMESTAMPDIFF"),
    ("DATE_DIFF", "TIMESTAMPDIFF"),
    ("DATE_TRUNC", "FLOOR(… TO DAY)"),
    ("TO_CHAR", "DATE_FORMAT"),
    ("UCASE", "UPPER"),
    ("LCASE", "LOWER"),
];

/// Functions that the binder reads itself.
const FORMS: [&str; 13] = [
    "CAST",
    "TRY_CAST",
    "COALESCE",
    "IFNULL",
    "NULLIF",
    "IF",
    "GREATEST",
    "LEAST",
    "MOD",
    "TRIM",
    "TYPEOF",
    "PROCTIME",
    "TIMESTAMPADD",
];

#[cfg(test)]
mod tests;
