//! Calls, and the forms of SQL that are calls in disguise: `EXTRACT(YEAR FROM t)`,
//! `TRIM(BOTH 'x' FROM a)`, `a LIKE p`, `FLOOR(t TO DAY)`.

use sqlparser::ast::{
    CeilFloorKind, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    TrimWhereField,
};

use super::super::functions::TimeUnit;
use super::super::ir::{Operator, Typed};
use super::logic::negated;
use super::{Binder, Bound, CompileError, fault};
use crate::model::{Datum, Type};

impl Binder<'_> {
    pub(super) fn form(&mut self, expr: &Expr) -> Bound {
        match expr {
            Expr::Function(function) => self.function(function, expr),
            Expr::Like { negated: not, any: false, expr: text, pattern, escape_char } => {
                self.pattern("LIKE", *not, [text, pattern], escape_char.as_deref())
            }
            Expr::SimilarTo { negated: not, expr: text, pattern, escape_char } => {
                self.pattern("SIMILAR TO", *not, [text, pattern], escape_char.as_deref())
            }
            Expr::Extract { field, expr: input, .. } => {
                let unit = unit(field)?;
                let args = vec![self.bind(input)?];
                self.call("EXTRACT", args, Some(unit))
            }
            Expr::Floor { expr: input, field } => self.rounded(["FLOOR", "FLOOR TO"], input, field),
            Expr::Ceil { expr: input, field } => self.rounded(["CEIL", "CEIL TO"], input, field),
            Expr::Position { expr: needle, r#in } => {
                self.operands("POSITION", [Some(&**needle), Some(&**r#in)])
            }
            Expr::Substring { expr: text, substring_from, substring_for, .. } => {
                if substring_from.is_none() {
                    return Err(self.fault(
                        expr,
                        "SUBSTRING needs a start",
                        "write SUBSTRING(x FROM 1 FOR n)",
                    ));
                }
                let args = [Some(&**text), substring_from.as_deref(), substring_for.as_deref()];
                self.operands("SUBSTRING", args)
            }
            Expr::Overlay { expr: text, overlay_what, overlay_from, overlay_for } => {
                let (what, from) = (Some(&**overlay_what), Some(&**overlay_from));
                self.operands("OVERLAY", [Some(&**text), what, from, overlay_for.as_deref()])
            }
            Expr::Trim { trim_where, trim_what, expr: text, trim_characters: None } => {
                let name = match trim_where {
                    None | Some(TrimWhereField::Both) => "TRIM BOTH",
                    Some(TrimWhereField::Leading) => "TRIM LEADING",
                    Some(TrimWhereField::Trailing) => "TRIM TRAILING",
                };
                self.operands(name, [Some(&**text), trim_what.as_deref()])
            }
            Expr::RLike { .. } => {
                Err(self.fault(expr, "there is no operator RLIKE", "use LIKE or SIMILAR TO"))
            }
            Expr::ILike { .. } => Err(self.fault(expr, "there is no operator ILIKE", "use LOWER(x) LIKE …")),
            Expr::Subquery(_) | Expr::Exists { .. } => Err(self.fault(
                expr,
                "a query cannot stand inside an expression",
                "add a lookup to the pipeline",
            )),
            _ => Err(self.unsupported(expr)),
        }
    }

    fn function(&mut self, function: &Function, whole: &Expr) -> Bound {
        let name = function.name.to_string().to_ascii_uppercase();
        let Some(args) = positional(function) else {
            let message = format!("{name} is not called with plain arguments");
            return Err(self.fault(whole, &message, "aggregates and windows are not scalar expressions"));
        };
        if let Some(choice) = self.choice(&name, &args) {
            return choice;
        }
        match (name.as_str(), args.as_slice()) {
            ("PROCTIME", []) => {
                let help = "give it a column of its own: proctime AS PROCTIME()";
                Err(self.fault(whole, "PROCTIME() stands alone or not at all", help))
            }
            ("TYPEOF", [input]) => {
                let ty = self.bind(input)?.ty.to_string();
                Ok(Typed::constant(Datum::Str(&ty), Type::STRING.nullable()))
            }
            ("MOD", [left, right]) => {
                let (left, right) = (self.bind(left)?, self.bind(right)?);
                self.compute(Operator::Remainder, left, right)
            }
            ("TIMESTAMPADD" | "TIMESTAMPDIFF", [unit, left, right]) => {
                let Some(unit) = unit_word(unit) else {
                    let message = format!("{unit} is not a unit of time");
                    return Err(self.fault(whole, &message, "write one such as DAY"));
                };
                let args = vec![self.bind(left)?, self.bind(right)?];
                self.call(&name, args, Some(unit))
            }
            _ => {
                let args = self.bind_all(args.iter().copied())?;
                self.call(&name, args, None)
            }
        }
    }

    /// `LIKE` and `SIMILAR TO`.
    fn pattern(&mut self, name: &str, not: bool, sides: [&Expr; 2], escape: Option<&Expr>) -> Bound {
        let [text, pattern] = sides;
        let matched = self.operands(name, [Some(text), Some(pattern), escape])?;
        Ok(if not { negated(matched) } else { matched })
    }

    /// FLOOR and CEIL of numbers, and of times to a unit.
    fn rounded(&mut self, names: [&str; 2], input: &Expr, field: &CeilFloorKind) -> Bound {
        let input = self.bind(input)?;
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => self.call(names[0], vec![input], None),
            CeilFloorKind::DateTimeField(field) => self.call(names[1], vec![input], Some(unit(field)?)),
            CeilFloorKind::Scale(_) => Err(fault(format!("{} takes one argument", names[0]), "use ROUND")),
        }
    }

    fn operands<const N: usize>(&mut self, name: &str, operands: [Option<&Expr>; N]) -> Bound {
        let args = self.bind_all(operands.into_iter().flatten())?;
        self.call(name, args, None)
    }
}

/// Plain arguments of a call; `None` if it has anything else.
pub(super) fn positional(function: &Function) -> Option<Vec<&Expr>> {
    let plain = function.filter.is_none() && function.over.is_none() && function.within_group.is_empty();
    match &function.args {
        FunctionArguments::None if plain => Some(Vec::new()),
        FunctionArguments::List(list)
            if plain && list.duplicate_treatment.is_none() && list.clauses.is_empty() =>
        {
            list.args
                .iter()
                .map(|arg| match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                    _ => None,
                })
                .collect()
        }
        _ => None,
    }
}

fn unit(field: &DateTimeField) -> Result<TimeUnit, CompileError> {
    let name = field.to_string();
    TimeUnit::named(&name).ok_or_else(|| fault(format!("{name} is not a unit of time"), ""))
}

fn unit_word(expr: &Expr) -> Option<TimeUnit> {
    match expr {
        Expr::Identifier(name) if name.quote_style.is_none() => TimeUnit::named(&name.value),
        _ => None,
    }
}
