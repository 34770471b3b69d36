//! Operators on numbers, text, times and intervals.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use super::super::functions::TimeUnit;
use super::super::ir::{Comparison, Node, Operator, Typed};
use super::super::syntax;
use super::{Binder, Bound, fault, literal, types};
use crate::model::{DataType, Type};

impl Binder<'_> {
    pub(super) fn binary(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr, whole: &Expr) -> Bound {
        let comparison = match op {
            BinaryOperator::And | BinaryOperator::Or => return self.connective(whole, op),
            BinaryOperator::Eq => Some(Comparison::Equal),
            BinaryOperator::NotEq => Some(Comparison::NotEqual),
            BinaryOperator::Lt => Some(Comparison::Less),
            BinaryOperator::LtEq => Some(Comparison::LessOrEqual),
            BinaryOperator::Gt => Some(Comparison::Greater),
            BinaryOperator::GtEq => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        if let Some(comparison) = comparison {
            let (left, right) = (self.bind(left)?, self.bind(right)?);
            return self.compare(comparison, left, right);
        }
        let operator = match op {
            BinaryOperator::Plus => Operator::Add,
            BinaryOperator::Minus => Operator::Subtract,
            BinaryOperator::Multiply => Operator::Multiply,
            BinaryOperator::Divide => Operator::Divide,
            BinaryOperator::Modulo => Operator::Remainder,
            BinaryOperator::StringConcat => {
                let args = vec![self.bind(left)?, self.bind(right)?];
                return self.call("||", args, None);
            }
            other => {
                let message = format!("there is no operator {other}");
                return Err(self.fault(whole, &message, ""));
            }
        };
        let (left, right) = (self.bind(left)?, self.bind(right)?);
        self.compute(operator, left, right)
    }

    pub(super) fn compute(&mut self, operator: Operator, left: Typed, right: Typed) -> Bound {
        if is_temporal(&left.ty.kind) || is_temporal(&right.ty.kind) {
            return self.move_time(operator, left, right);
        }
        if is_interval(&left.ty.kind) || is_interval(&right.ty.kind) {
            return intervals(operator, left, right);
        }
        numbers(operator, left, right)
    }

    /// A time plus or minus an interval.
    fn move_time(&mut self, operator: Operator, left: Typed, right: Typed) -> Bound {
        match operator {
            Operator::Add if is_interval(&right.ty.kind) => self.call("TIME +", vec![left, right], None),
            Operator::Add if is_interval(&left.ty.kind) => self.call("TIME +", vec![right, left], None),
            Operator::Subtract if is_interval(&right.ty.kind) => self.call("TIME -", vec![left, right], None),
            Operator::Subtract if is_temporal(&left.ty.kind) && is_temporal(&right.ty.kind) => {
                Err(fault("a difference of times needs a unit", "write (a - b) DAY, or use TIMESTAMPDIFF"))
            }
            _ => Err(mismatch(operator, &left, &right, "use an interval: x + INTERVAL '1' DAY")),
        }
    }

    /// `(a - b) DAY`.
    pub(super) fn difference(&mut self, unit: TimeUnit, value: &Expr) -> Bound {
        match syntax::bare(value) {
            Expr::BinaryOp { left, op: BinaryOperator::Minus, right } => {
                let (left, right) = (self.bind(left)?, self.bind(right)?);
                if is_temporal(&left.ty.kind) && is_temporal(&right.ty.kind) {
                    return self.call("TIME DIFFERENCE", vec![left, right], Some(unit));
                }
                Err(mismatch(Operator::Subtract, &left, &right, "a unit belongs to a difference of times"))
            }
            _ => Err(self.fault(value, "a unit after parentheses belongs to (a - b)", "")),
        }
    }

    /// Unary plus and minus.
    pub(super) fn sign(&mut self, op: UnaryOperator, inner: &Expr, whole: &Expr) -> Bound {
        let minus = match op {
            UnaryOperator::Minus => true,
            UnaryOperator::Plus => false,
            other => return Err(self.fault(whole, &format!("there is no operator {other}"), "")),
        };
        if minus
            && let Expr::Value(value) = inner
            && let Value::Number(digits, false) = &value.value
        {
            return literal::number(digits, true);
        }
        let input = self.bind(inner)?;
        let Some(numbers) = types::numbers(&input.ty.kind) else {
            let message = format!("a sign cannot stand before {}", input.ty.kind);
            return Err(self.fault(whole, &message, ""));
        };
        if !minus {
            return Ok(input);
        }
        Ok(Typed { node: Node::Negate(numbers, Box::new(input.node)), ty: input.ty })
    }
}

/// Whether values of the type are points in time.
pub(super) fn is_temporal(kind: &Type) -> bool {
    matches!(kind, Type::Date | Type::Time(_) | Type::Timestamp(_) | Type::TimestampLtz(_))
}

/// Whether values of the type are lengths of time.
pub(super) fn is_interval(kind: &Type) -> bool {
    matches!(kind, Type::IntervalMonths | Type::IntervalMillis)
}

fn numbers(operator: Operator, left: Typed, right: Typed) -> Bound {
    let refused = |help: &str| mismatch(operator, &left, &right, help);
    if left.is_bare_null() || right.is_bare_null() {
        return Err(refused("give NULL a type with CAST(NULL AS …)"));
    }
    let approximate = left.ty.kind.is_approximate() || right.ty.kind.is_approximate();
    if operator == Operator::Remainder && approximate {
        return Err(refused("% takes integers and DECIMAL"));
    }
    let Some((kind, may_exceed)) = types::arithmetic(operator, &left.ty.kind, &right.ty.kind) else {
        return Err(refused("cast the operands to numbers first"));
    };
    let Some(numbers) = types::numbers(&kind) else { return Err(refused("")) };
    let nullable = left.ty.nullable || right.ty.nullable || may_exceed;
    let sides = Box::new([left.node, right.node]);
    Ok(Typed { node: Node::Arithmetic(operator, numbers, sides), ty: DataType { kind, nullable } })
}

/// Interval with interval, or interval times integer.
fn intervals(operator: Operator, left: Typed, right: Typed) -> Bound {
    let (a, b) = (&left.ty.kind, &right.ty.kind);
    let kind = match operator {
        Operator::Add | Operator::Subtract if a == b => a.clone(),
        Operator::Multiply if is_interval(a) && b.is_integer() => a.clone(),
        Operator::Multiply if is_interval(b) && a.is_integer() => b.clone(),
        _ => return Err(mismatch(operator, &left, &right, "")),
    };
    let Some(numbers) = types::numbers(&kind) else { return Err(mismatch(operator, &left, &right, "")) };
    let nullable = left.ty.nullable || right.ty.nullable;
    let sides = Box::new([left.node, right.node]);
    Ok(Typed { node: Node::Arithmetic(operator, numbers, sides), ty: DataType { kind, nullable } })
}

fn mismatch(operator: Operator, left: &Typed, right: &Typed, help: &str) -> super::CompileError {
    let symbol = match operator {
        Operator::Add => '+',
        Operator::Subtract => '-',
        Operator::Multiply => '*',
        Operator::Divide => '/',
        Operator::Remainder => '%',
    };
    fault(format!("{} {symbol} {} does not exist", left.ty.kind, right.ty.kind), help)
}
