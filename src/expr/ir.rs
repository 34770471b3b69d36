//! The typed form of an expression: a tree whose types were settled when it was
//! compiled, so that evaluation only computes.

use std::fmt;
use std::sync::Arc;

use bumpalo::Bump;

use super::EvalError;
use super::cast::Cast;
use crate::model::{DataType, Datum, Type};

/// A node with its type: what the binder passes around.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    /// How to compute the value.
    pub(crate) node: Node,
    /// Its type.
    pub(crate) ty: DataType,
}

impl Typed {
    /// A constant of a type.
    pub(crate) fn constant(value: Datum<'_>, ty: DataType) -> Self {
        Self { node: Node::Constant(Constant::new(value)), ty }
    }

    /// The value, when it does not depend on the row.
    pub(crate) fn value(&self) -> Option<Datum<'_>> {
        match &self.node {
            Node::Constant(constant) => Some(constant.datum()),
            _ => None,
        }
    }

    /// Whether this is the bare word NULL.
    pub(crate) fn is_bare_null(&self) -> bool {
        self.ty.kind == Type::Null
    }
}

/// A constant, owned by the expression.
#[derive(Clone, Debug)]
pub(crate) enum Constant {
    /// Anything that borrows nothing.
    Plain(Datum<'static>),
    /// Text.
    Text(Arc<str>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// ARRAY, MAP, ROW.
    Nested(Arc<[u8]>),
}

impl Constant {
    pub(crate) fn new(value: Datum<'_>) -> Self {
        Self::Plain(match value {
            Datum::Str(text) => return Self::Text(text.into()),
            Datum::Bytes(bytes) => return Self::Bytes(bytes.into()),
            Datum::Nested(bytes) => return Self::Nested(bytes.into()),
            Datum::Null => Datum::Null,
            Datum::Bool(v) => Datum::Bool(v),
            Datum::Int(v) => Datum::Int(v),
            Datum::Float(v) => Datum::Float(v),
            Datum::Double(v) => Datum::Double(v),
            Datum::Decimal(v) => Datum::Decimal(v),
            Datum::Date(v) => Datum::Date(v),
            Datum::Time(v) => Datum::Time(v),
            Datum::Timestamp(v) => Datum::Timestamp(v),
            Datum::Months(v) => Datum::Months(v),
            Datum::Millis(v) => Datum::Millis(v),
        })
    }

    pub(crate) fn datum(&self) -> Datum<'_> {
        match self {
            Self::Plain(datum) => *datum,
            Self::Text(text) => Datum::Str(text),
            Self::Bytes(bytes) => Datum::Bytes(bytes),
            Self::Nested(bytes) => Datum::Nested(bytes),
        }
    }
}

/// How to compute a value.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// Column of the row, by position.
    Column(usize),
    /// The same value for every row.
    Constant(Constant),
    /// `PROCTIME()`: a column that marks processing time and is never read.
    ProcessingTime,
    /// Logical negation.
    Not(Box<Node>),
    /// AND of all, left to right, stopping at the first FALSE.
    All(Box<[Node]>),
    /// OR of all, left to right, stopping at the first TRUE.
    Any(Box<[Node]>),
    /// `IS [NOT] NULL/TRUE/FALSE`; never NULL.
    Test(Test, Box<Node>),
    /// Comparison of two values that compare with each other.
    Compare(Comparison, Box<[Node; 2]>),
    /// `IS DISTINCT FROM`; never NULL.
    Distinct(Box<[Node; 2]>),
    /// The first value against the others: `v IN (a, b)`.
    In(Box<Node>, Box<[Node]>),
    /// The value against many constants, none NULL, in ascending order.
    InSorted(Box<Node>, Arc<[Constant]>),
    /// First result whose condition is TRUE, else the last node.
    Case(Box<[(Node, Node)]>, Box<Node>),
    /// First value that is not NULL.
    Coalesce(Box<[Node]>),
    /// Largest (`true`) or smallest value; NULL if one is NULL.
    Extreme(bool, Box<[Node]>),
    /// `+ - * / %`.
    Arithmetic(Operator, Numbers, Box<[Node; 2]>),
    /// Unary minus.
    Negate(Numbers, Box<Node>),
    /// Conversion to another type.
    Cast(Box<Cast>, Box<Node>),
    /// A function of the registry.
    Call(Box<Call>),
}

/// `IS …` tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// IS NULL, IS UNKNOWN.
    Null,
    /// IS NOT NULL, IS NOT UNKNOWN.
    NotNull,
    /// IS TRUE.
    True,
    /// IS NOT TRUE.
    NotTrue,
    /// IS FALSE.
    False,
    /// IS NOT FALSE.
    NotFalse,
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// `=`
    Equal,
    /// `<>`, `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// Arithmetic operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`, `MOD`
    Remainder,
}

/// What arithmetic computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Integers whose result must lie in the range.
    Integer {
        /// Smallest result.
        min: i64,
        /// Largest result.
        max: i64,
    },
    /// 32-bit floats.
    Float,
    /// 64-bit floats.
    Double,
    /// Exact decimals, rounded to the scale; NULL if the precision is exceeded.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Intervals of months.
    Months,
    /// Intervals of milliseconds.
    Millis,
}

/// What a function does with NULL arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// The result is NULL if any argument is; the body sees none.
    Propagate,
    /// The body decides.
    Seen,
}

/// The body of a function: the values of the arguments to the value of the call.
/// What it builds goes into the arena.
pub(crate) type Body =
    Arc<dyn for<'a> Fn(&[Datum<'a>], &'a Bump) -> Result<Datum<'a>, EvalError> + Send + Sync>;

/// A call of a function of the registry.
#[derive(Clone)]
pub(crate) struct Call {
    /// Name, for messages.
    pub(crate) name: &'static str,
    /// Arguments.
    pub(crate) args: Box<[Node]>,
    /// What NULL does.
    pub(crate) nulls: Nulls,
    /// What it computes.
    pub(crate) body: Body,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("name", &self.name).field("args", &self.args).finish_non_exhaustive()
    }
}

impl Node {
    /// Calls `visit` with each direct operand.
    fn operands<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        match self {
            Self::Column(_) | Self::Constant(_) | Self::ProcessingTime => {}
            Self::Not(input)
            | Self::Test(_, input)
            | Self::Negate(_, input)
            | Self::Cast(_, input)
            | Self::InSorted(input, _) => visit(input),
            Self::All(items) | Self::Any(items) | Self::Coalesce(items) | Self::Extreme(_, items) => {
                items.iter().for_each(visit);
            }
            Self::Compare(_, sides) | Self::Distinct(sides) | Self::Arithmetic(_, _, sides) => {
                sides.iter().for_each(visit);
            }
            Self::In(value, items) => {
                visit(value);
                items.iter().for_each(visit);
            }
            Self::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                visit(otherwise);
            }
            Self::Call(call) => call.args.iter().for_each(visit),
        }
    }

    /// Calls `visit` with each direct operand, to be changed.
    fn operands_mut(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        match self {
            Self::Column(_) | Self::Constant(_) | Self::ProcessingTime => {}
            Self::Not(input)
            | Self::Test(_, input)
            | Self::Negate(_, input)
            | Self::Cast(_, input)
            | Self::InSorted(input, _) => visit(input),
            Self::All(items) | Self::Any(items) | Self::Coalesce(items) | Self::Extreme(_, items) => {
                items.iter_mut().for_each(visit);
            }
            Self::Compare(_, sides) | Self::Distinct(sides) | Self::Arithmetic(_, _, sides) => {
                sides.iter_mut().for_each(visit);
            }
            Self::In(value, items) => {
                visit(value);
                items.iter_mut().for_each(visit);
            }
            Self::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                visit(otherwise);
            }
            Self::Call(call) => call.args.iter_mut().for_each(visit),
        }
    }

    /// Adds the positions of the columns below this node.
    pub(crate) fn collect_columns(&self, found: &mut Vec<usize>) {
        if let Self::Column(index) = self {
            found.push(*index);
        }
        self.operands(&mut |operand| operand.collect_columns(found));
    }

    /// Gives every column a new position.
    pub(crate) fn renumber(&mut self, new: &dyn Fn(usize) -> usize) {
        if let Self::Column(index) = self {
            *index = new(*index);
        }
        self.operands_mut(&mut |operand| operand.renumber(new));
    }

    /// Puts another node in the place of every column.
    pub(crate) fn substitute(&mut self, with: &dyn Fn(usize) -> Self) {
        if let Self::Column(index) = self {
            *self = with(*index);
        } else {
            self.operands_mut(&mut |operand| operand.substitute(with));
        }
    }

    /// Whether the value depends on no column, and is not there yet.
    pub(crate) fn is_foldable(&self) -> bool {
        !matches!(self, Self::Constant(_)) && self.is_column_free()
    }

    fn is_column_free(&self) -> bool {
        let mut free = !matches!(self, Self::Column(_) | Self::ProcessingTime);
        self.operands(&mut |operand| free = free && operand.is_column_free());
        free
    }

    /// The largest parts that could have been computed when the expression was
    /// compiled, but have no value.
    pub(crate) fn collect_hopeless<'n>(&'n self, found: &mut Vec<&'n Node>) {
        if self.is_foldable() {
            found.push(self);
            return;
        }
        self.operands(&mut |operand| operand.collect_hopeless(found));
    }
}
