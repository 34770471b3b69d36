//! CASE and its kin: COALESCE, IFNULL, NULLIF, IF, GREATEST, LEAST; array and
//! map constructors, whose elements share a type as branches do.

use sqlparser::ast::{CaseWhen, Expr};

use super::super::ir::{Comparison, Node, Typed};
use super::{Binder, Bound, CompileError, fault, types};
use crate::model::{DataType, Datum, Type, Value, nested};

impl Binder<'_> {
    pub(super) fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Bound {
        let operand = operand.map(|operand| self.bind(operand)).transpose()?;
        let mut tests = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        for when in conditions {
            tests.push(match &operand {
                None => self.condition(&when.condition)?,
                Some(operand) => {
                    let wanted = self.bind(&when.condition)?;
                    let compared = self.compare(Comparison::Equal, operand.clone(), wanted);
                    compared.map_err(|error| self.placed(error, &when.condition))?
                }
            });
            results.push(self.bind(&when.result)?);
        }
        results.push(match otherwise {
            Some(otherwise) => self.bind(otherwise)?,
            None => Typed::constant(Datum::Null, Type::Null.nullable()),
        });
        let (results, kind) = self.alike("CASE", results)?;
        let nullable = results.iter().any(|result| result.ty.nullable);
        let mut nodes: Vec<Node> = results.into_iter().map(|result| result.node).collect();
        let last = nodes.pop().map(Box::new);
        let branches = tests.into_iter().map(|test| test.node).zip(nodes).collect();
        match last {
            Some(last) => Ok(Typed { node: Node::Case(branches, last), ty: DataType { kind, nullable } }),
            None => Err(fault("CASE needs a branch", "")),
        }
    }

    /// A function that the binder reads itself; `None` for all others.
    pub(super) fn choice(&mut self, name: &str, args: &[&Expr]) -> Option<Bound> {
        Some(match (name, args) {
            ("COALESCE", [_, ..]) => self.coalesce(name, args),
            ("IFNULL", [_, _]) => self.coalesce(name, args),
            ("NULLIF", [value, other]) => self.null_if(value, other),
            ("IF", [condition, yes, no]) => self.if_else(condition, yes, no),
            ("GREATEST" | "LEAST", [_, ..]) => self.extreme(name, args),
            ("COALESCE" | "IFNULL" | "NULLIF" | "IF" | "GREATEST" | "LEAST", _) => {
                Err(fault(format!("{name} does not take {} arguments", args.len()), ""))
            }
            _ => return None,
        })
    }

    fn coalesce(&mut self, name: &str, args: &[&Expr]) -> Bound {
        let values = self.bind_all(args.iter().copied())?;
        let nullable = values.iter().all(|value| value.ty.nullable);
        let (values, kind) = match first_date(&values) {
            Some(kind) => (self.all_as(values, &kind)?, kind),
            None => self.alike(name, values)?,
        };
        let nodes = values.into_iter().map(|value| value.node).collect();
        Ok(Typed { node: Node::Coalesce(nodes), ty: DataType { kind, nullable } })
    }

    fn null_if(&mut self, value: &Expr, other: &Expr) -> Bound {
        let (value, other) = (self.bind(value)?, self.bind(other)?);
        let equal = self.compare(Comparison::Equal, value.clone(), other)?;
        let null = Typed::constant(Datum::Null, value.ty.kind.clone().nullable());
        let node = Node::Case(Box::new([(equal.node, null.node)]), Box::new(value.node));
        Ok(Typed { node, ty: value.ty.kind.nullable() })
    }

    fn if_else(&mut self, condition: &Expr, yes: &Expr, no: &Expr) -> Bound {
        let test = self.condition(condition)?;
        let results = vec![self.bind(yes)?, self.bind(no)?];
        if results.iter().any(Typed::is_bare_null) {
            return Err(fault("IF does not take a bare NULL", "write CAST(NULL AS …), or use CASE"));
        }
        let nullable = test.ty.nullable || results.iter().any(|result| result.ty.nullable);
        let (results, kind) = self.alike("IF", results)?;
        let [yes, no] = <[Typed; 2]>::try_from(results).map_err(|_| fault("IF takes three arguments", ""))?;
        let node = Node::Case(Box::new([(test.node, yes.node)]), Box::new(no.node));
        Ok(Typed { node, ty: DataType { kind, nullable } })
    }

    fn extreme(&mut self, name: &str, args: &[&Expr]) -> Bound {
        let values = self.bind_all(args.iter().copied())?;
        let nullable = values.iter().any(|value| value.ty.nullable);
        if let Some(value) = values.iter().find(|value| value.ty.kind.is_nested()) {
            return Err(fault(format!("values of {} have no order", value.ty.kind), ""));
        }
        let (values, kind) = self.alike(name, values)?;
        let nodes = values.into_iter().map(|value| value.node).collect();
        Ok(Typed { node: Node::Extreme(name == "GREATEST", nodes), ty: DataType { kind, nullable } })
    }

    /// All values in the type that they share.
    fn alike(&mut self, name: &str, values: Vec<Typed>) -> Result<(Vec<Typed>, Type), CompileError> {
        let mut kind = Type::Null;
        for value in &values {
            kind = types::shared(&kind, &value.ty.kind).ok_or_else(|| {
                let message = format!("{name} mixes {kind} and {}", value.ty.kind);
                fault(message, "cast the values to one type")
            })?;
        }
        if kind == Type::Null {
            return Err(fault(format!("{name} has nothing but NULL"), "write CAST(NULL AS …)"));
        }
        Ok((self.all_as(values, &kind)?, kind))
    }

    fn all_as(&mut self, values: Vec<Typed>, kind: &Type) -> Result<Vec<Typed>, CompileError> {
        let branch = |kind: &Type, value: &Type| match (kind, value) {
            // A shorter CHAR is not padded on its way into a longer text.
            (Type::Varchar(_), Type::Char(_) | Type::Varchar(_)) => true,
            (Type::Varbinary(_), Type::Binary(_) | Type::Varbinary(_)) => true,
            _ => false,
        };
        values
            .into_iter()
            .map(|value| {
                if branch(kind, &value.ty.kind) {
                    return Ok(value);
                }
                self.implicit(value, kind)
            })
            .collect()
    }

    /// `ARRAY[a, b, …]`.
    pub(super) fn array(&mut self, items: &[Expr]) -> Bound {
        let values = self.bind_all(items)?;
        let (values, element) = self.elements("ARRAY", values)?;
        let ty = Type::Array(Box::new(element)).not_null();
        constructed(values, ty, Value::Array)
    }

    /// `MAP[k, v, …]`.
    pub(super) fn map(&mut self, items: &[Expr]) -> Bound {
        if !items.len().is_multiple_of(2) {
            return Err(fault("MAP takes keys and values in turn", ""));
        }
        let (keys, values): (Vec<_>, Vec<_>) =
            self.bind_all(items)?.into_iter().enumerate().partition(|(index, _)| index.is_multiple_of(2));
        let (keys, key) = self.elements("MAP", keys.into_iter().map(|(_, k)| k).collect())?;
        let (values, value) = self.elements("MAP", values.into_iter().map(|(_, v)| v).collect())?;
        let ty = Type::Map(Box::new(key), Box::new(value)).not_null();
        let interleaved = keys.into_iter().zip(values).flat_map(|(k, v)| [k, v]).collect();
        constructed(interleaved, ty, |flat| {
            Value::Map(flat.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
        })
    }

    fn elements(&mut self, name: &str, values: Vec<Typed>) -> Result<(Vec<Typed>, DataType), CompileError> {
        let nullable = values.iter().any(|value| value.ty.nullable);
        let (values, kind) = self.alike(name, values)?;
        Ok((values, DataType { kind, nullable }))
    }
}

/// A nested value built from its elements.
fn constructed(
    elements: Vec<Typed>,
    ty: DataType,
    build: impl Fn(Vec<Value>) -> Value + Send + Sync + 'static,
) -> Bound {
    use super::super::ir::{Call, Nulls};
    let args = elements.into_iter().map(|element| element.node).collect();
    let body = move |values: &[Datum<'_>]| {
        let mut bytes = Vec::new();
        nested::encode(&build(values.iter().map(|value| Value::from(*value)).collect()), &mut bytes);
        bytes
    };
    let call = Call {
        name: "constructor",
        args,
        nulls: Nulls::Seen,
        body: std::sync::Arc::new(move |values, arena| {
            Ok(Datum::Nested(arena.alloc_slice_copy(&body(values))))
        }),
    };
    Ok(Typed { node: Node::Call(Box::new(call)), ty })
}

/// COALESCE of a DATE first and a TIMESTAMP after it is a DATE in Flink.
fn first_date(values: &[Typed]) -> Option<Type> {
    let (first, rest) = values.split_first()?;
    let later = rest.iter().any(|value| matches!(value.ty.kind, Type::Timestamp(_)));
    let fits = rest.iter().all(|value| matches!(value.ty.kind, Type::Timestamp(_) | Type::Date | Type::Null));
    (first.ty.kind == Type::Date && later && fits).then_some(Type::Date)
}
