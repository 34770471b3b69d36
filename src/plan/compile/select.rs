//! `select`: names and expressions of the output.

use crate::config::{Definition, Fault, Span, Text};
use crate::expr::Expression;
use crate::model::Type;

use super::context::Context;
use super::joined::Joined;

/// One selected value.
#[derive(Clone, Debug)]
pub(super) struct Selected {
    pub name: String,
    pub value: Expression,
    /// For people.
    pub sql: String,
    pub span: Span,
}

/// Compiles every item; `None` if one is faulty.
pub(super) fn compile(context: &mut Context, definition: &Definition, row: &Joined) -> Option<Vec<Selected>> {
    let before = context.faults.len();
    let pipeline = &definition.pipeline;
    let mut selected: Vec<Selected> = Vec::new();
    match &pipeline.select {
        Some(items) if items.is_empty() => context.fault(&pipeline.span, "'select' is empty", ""),
        Some(items) => items.iter().for_each(|item| add(context, item, row, &mut selected)),
        // Everything, as nothing was looked up.
        None if pipeline.lookups.is_empty() => {
            wildcard(&Text::plain(&pipeline.span, "*"), None, row, &mut selected);
        }
        None => {
            let help = "list the columns, or write \"*\" for all of them";
            context.fault(&pipeline.span, "'pipeline' has lookups and no 'select'", help);
        }
    }
    for (i, item) in selected.iter().enumerate() {
        if selected[..i].iter().any(|known| known.name == item.name) {
            let what = format!("'select' gives the name '{}' twice", item.name);
            context.fault(&item.span, what, "names reach the sink, so each is given once: write `… AS name`");
        }
    }
    (context.faults.len() == before).then_some(selected)
}

fn add(context: &mut Context, item: &Text, row: &Joined, selected: &mut Vec<Selected>) {
    let sql = item.value().trim();
    if sql == "*" {
        return wildcard(item, None, row, selected);
    }
    if let Some(alias) = sql.strip_suffix(".*").filter(|alias| !alias.contains(char::is_whitespace)) {
        let alias = alias.trim_matches('`');
        if row.parts.iter().any(|part| part.alias == alias) {
            return wildcard(item, Some(alias), row, selected);
        }
        let fault = Fault::new(&item.span, format!("there is no table '{alias}' in this pipeline"));
        let names = row.parts.iter().map(|part| part.alias.as_str());
        return context.faults.add(fault.allowed(alias, names));
    }
    let base = item.value().len() - item.value().trim_start().len();
    let (sql, alias) = split_alias(sql);
    let Some(value) = context.expression(item, base, sql, &row.scope) else { return };
    let name = match (alias, value.as_column()) {
        (Some(alias), _) => alias,
        (None, Some(column)) => row.scope.columns[column].name.clone(),
        (None, None) => {
            let what = format!("'{sql}' has no name");
            return context.fault(&item.span, what, "write `… AS name`: values reach the sink by name");
        }
    };
    if matches!(value.ty().kind, Type::IntervalMonths | Type::IntervalMillis) {
        let what = format!("'{name}' is {}, which no column can hold", value.ty().kind);
        return context.fault(&item.span, what, "give it a type: CAST(… AS type)");
    }
    if let Some(column) = value.columns().into_iter().find(|column| row.is_processing_time(*column)) {
        let what = format!("'{}' is the processing time, which has no value of its own", row.name(column));
        return context.fault(&item.span, what, "lookups always run in processing time: leave it out");
    }
    selected.push(Selected { name, value, sql: sql.to_owned(), span: item.span.clone() });
}

/// Every column of one table, or of all.
fn wildcard(item: &Text, alias: Option<&str>, row: &Joined, selected: &mut Vec<Selected>) {
    for part in row.parts.iter().filter(|part| alias.is_none_or(|alias| alias == part.alias)) {
        for i in part.start..part.start + part.len {
            if row.is_processing_time(i) {
                continue;
            }
            let column = &row.scope.columns[i];
            let value = Expression::column(i, column.ty.clone());
            selected.push(Selected {
                name: column.name.clone(),
                value,
                sql: row.name(i),
                span: item.span.clone(),
            });
        }
    }
}

/// `expression AS name`: the AS before the last word, outside of parentheses and quotes.
fn split_alias(sql: &str) -> (&str, Option<String>) {
    let Some((head, name)) = last_word(sql) else { return (sql, None) };
    let head = head.trim_end();
    let Some(before) = head.len().checked_sub(2).filter(|at| head.is_char_boundary(*at)) else {
        return (sql, None);
    };
    let (expression, keyword) = head.split_at(before);
    let separated = expression.ends_with(|c: char| c.is_whitespace() || c == ')' || c == '`' || c == '\'');
    if !keyword.eq_ignore_ascii_case("AS") || !separated {
        return (sql, None);
    }
    (expression.trim_end(), Some(name))
}

/// The identifier at the end, bare or in backticks, and what stands before it.
fn last_word(sql: &str) -> Option<(&str, String)> {
    if let Some(inner) = sql.strip_suffix('`') {
        let at = inner.rfind('`')?;
        return Some((&inner[..at], inner[at + 1..].to_owned()));
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let at = sql
        .rfind(|c: char| !is_word(c))
        .map_or(0, |at| at + sql[at..].chars().next().map_or(1, char::len_utf8));
    let (head, name) = sql.split_at(at);
    (!name.is_empty() && head.ends_with(char::is_whitespace)).then(|| (head, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_stands_behind_the_last_as() {
        let cases = [
            ("orders.user_id AS id", "orders.user_id", Some("id")),
            ("CAST(a AS INT)", "CAST(a AS INT)", None),
            ("CAST(a AS INT) as `b c`", "CAST(a AS INT)", Some("b c")),
            ("u.name", "u.name", None),
            ("CASE WHEN a THEN b END AS x", "CASE WHEN a THEN b END", Some("x")),
            ("a + b", "a + b", None),
            ("'x AS y'", "'x AS y'", None),
            ("DATE '2020-01-01' AS d", "DATE '2020-01-01'", Some("d")),
            ("alias", "alias", None),
            ("has b", "has b", None),
        ];
        for (sql, expression, name) in cases {
            assert_eq!(split_alias(sql), (expression, name.map(str::to_owned)), "{sql}");
        }
    }
}
