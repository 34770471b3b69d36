//! A compiled expression, as the rest of the program sees it.

use std::cmp::Ordering;
use std::sync::Arc;

use bumpalo::Bump;

use super::ir::{Node, Typed};
use super::{Columns, CompileError, EvalError, Parsed, Scope, Settings, bind, eval};
use crate::model::{DataType, Datum, Decimal, Type};

/// The comparison of a column with an exact number, for callers that read the column without making a value of it.
/// It does not hold for NULL.
#[derive(Clone, Copy, Debug)]
pub struct NumberTest {
    /// Position of the column.
    pub column: usize,
    /// What it is compared with.
    pub number: Decimal,
    /// Whether the comparison holds for a value that is less, equal, greater.
    orders: [bool; 3],
}

impl NumberTest {
    /// Whether it holds for a value of the column that stands so to the number.
    #[must_use]
    pub fn holds(&self, order: Ordering) -> bool {
        let [less, equal, greater] = self.orders;
        match order {
            Ordering::Less => less,
            Ordering::Equal => equal,
            Ordering::Greater => greater,
        }
    }
}

/// A compiled expression. Cheap to clone; holds no state between rows.
#[derive(Clone, Debug)]
pub struct Expression {
    node: Arc<Node>,
    ty: DataType,
}

impl Expression {
    /// Parses and types `text` against `scope`.
    ///
    /// # Errors
    /// Syntax, unknown columns (with the nearest name), functions that do not
    /// exist (with the nearest), operand types that do not go together.
    pub fn compile(text: &str, scope: &Scope, settings: &Settings) -> Result<Self, CompileError> {
        Parsed::parse(text)?.compile(scope, settings)
    }

    pub(super) fn new(typed: Typed) -> Self {
        Self { node: Arc::new(typed.node), ty: typed.ty }
    }

    fn typed(&self) -> Typed {
        Typed { node: (*self.node).clone(), ty: self.ty.clone() }
    }

    /// A plain reference to column `index`, of type `ty`.
    #[must_use]
    pub fn column(index: usize, ty: DataType) -> Self {
        Self { node: Arc::new(Node::Column(index)), ty }
    }

    /// The AND of conditions; `None` if there is none. A single one stays as it is.
    #[must_use]
    pub fn and(conditions: Vec<Self>) -> Option<Self> {
        let mut conditions = conditions;
        if conditions.len() < 2 {
            return conditions.pop();
        }
        let nullable = conditions.iter().any(|c| c.ty.nullable);
        let items = conditions.into_iter().map(|c| Arc::unwrap_or_clone(c.node)).collect();
        Some(Self { node: Arc::new(Node::All(items)), ty: DataType { kind: Type::Boolean, nullable } })
    }

    /// Type of the value.
    #[must_use]
    pub fn ty(&self) -> &DataType {
        &self.ty
    }

    /// Positions of the columns that the expression reads, ascending.
    #[must_use]
    pub fn columns(&self) -> Vec<usize> {
        let mut found = Vec::new();
        self.node.collect_columns(&mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The column, when the expression is nothing but a reference to it.
    #[must_use]
    pub fn as_column(&self) -> Option<usize> {
        match &*self.node {
            Node::Column(index) => Some(*index),
            _ => None,
        }
    }

    /// What is asked, when the expression is nothing but the comparison of a column with an exact number.
    #[must_use]
    pub fn as_number_test(&self) -> Option<NumberTest> {
        let Node::Compare(comparison, sides) = &*self.node else { return None };
        let [Node::Column(column), Node::Constant(constant)] = &**sides else { return None };
        let number = match constant.datum() {
            Datum::Int(number) => Decimal::new(number.into(), 0),
            Datum::Decimal(number) => number,
            _ => return None,
        };
        let relation = |order| comparison.admits(order);
        let orders = [Ordering::Less, Ordering::Equal, Ordering::Greater].map(relation);
        Some(NumberTest { column: *column, number, orders })
    }

    /// Whether the value is the same for every row.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        !self.is_processing_time() && self.columns().is_empty()
    }

    /// Whether this is `PROCTIME()`, which types a column and has no value.
    #[must_use]
    pub fn is_processing_time(&self) -> bool {
        matches!(&*self.node, Node::ProcessingTime)
    }

    /// The same expression over a row whose columns stand elsewhere: column `i`
    /// becomes column `new(i)`.
    #[must_use]
    pub fn remap(&self, new: &dyn Fn(usize) -> usize) -> Self {
        let mut node = (*self.node).clone();
        node.renumber(new);
        Self { node: Arc::new(node), ty: self.ty.clone() }
    }

    /// The same expression with another one in the place of every column: column `i` becomes
    /// `with(i)`, which has the column's type.
    #[must_use]
    pub fn substitute(&self, with: &dyn Fn(usize) -> Self) -> Self {
        let mut node = (*self.node).clone();
        node.substitute(&|column| (*with(column).node).clone());
        Self { node: Arc::new(node), ty: self.ty.clone() }
    }

    /// The value as `target`, when every value of this type is one of `target`:
    /// a wider integer, a DECIMAL that holds all digits, FLOAT and what DOUBLE
    /// holds exactly to DOUBLE, longer text, a finer TIMESTAMP, the same type. `None` if it would narrow.
    /// Nullability is not looked at: the result is as nullable as the value.
    #[must_use]
    pub fn widened_to(self, target: &DataType) -> Option<Self> {
        if self.ty.kind == target.kind {
            return Some(self);
        }
        bind::widen(self.typed(), &target.kind).map(Self::new)
    }

    /// The value for one row. Text and bytes borrow from the row, the
    /// expression, or `arena`.
    ///
    /// # Errors
    /// Overflow, failed casts and the like, with their reason.
    pub fn eval<'a, C: Columns + ?Sized>(
        &'a self,
        row: &'a C,
        arena: &'a Bump,
    ) -> Result<Datum<'a>, EvalError> {
        eval::value(&self.node, row, arena)
    }

    /// Whether a condition holds: TRUE, not FALSE or NULL.
    ///
    /// # Errors
    /// As [`Expression::eval`].
    pub fn holds<C: Columns + ?Sized>(&self, row: &C, arena: &Bump) -> Result<bool, EvalError> {
        Ok(eval::truth(&self.node, row, arena)? == Some(true))
    }
}
