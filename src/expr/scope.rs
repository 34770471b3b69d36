//! The columns that an expression may name.

use crate::model::DataType;

/// One column in scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Table name or alias that may stand before the column: `orders.user_id`.
    pub qualifier: String,
    /// Column name.
    pub name: String,
    /// Its type.
    pub ty: DataType,
}

/// Columns in order; an expression refers to them by position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The columns.
    pub columns: Vec<Column>,
}

/// Why a name is not a column: what is wrong, and what to write instead.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unresolved {
    pub message: String,
    pub help: String,
}

impl Scope {
    /// Position of the column that `qualifier.name` or a bare `name` means.
    /// Names match exactly, as in Flink.
    pub(super) fn resolve(&self, qualifier: Option<&str>, name: &str) -> Result<usize, Unresolved> {
        let mut found = self.matching(qualifier, name);
        match (found.next(), found.next()) {
            (Some(index), None) => Ok(index),
            (Some(_), Some(_)) => Err(self.ambiguous(qualifier, name)),
            (None, _) => Err(self.unknown(qualifier, name)),
        }
    }

    fn matching<'s>(&'s self, qualifier: Option<&'s str>, name: &'s str) -> impl Iterator<Item = usize> + 's {
        let fits = move |c: &Column| c.name == name && qualifier.is_none_or(|q| c.qualifier == q);
        self.columns.iter().enumerate().filter(move |(_, c)| fits(c)).map(|(i, _)| i)
    }

    fn ambiguous(&self, qualifier: Option<&str>, name: &str) -> Unresolved {
        let spellings: Vec<String> =
            self.matching(qualifier, name).map(|i| self.columns[i].qualified()).collect();
        Unresolved {
            message: format!("column {name} is ambiguous"),
            help: format!("write one of {}", spellings.join(", ")),
        }
    }

    fn unknown(&self, qualifier: Option<&str>, name: &str) -> Unresolved {
        let Some(table) = qualifier else {
            let plain = nearest(name, self.columns.iter().map(|c| c.name.as_str()));
            return Unresolved { message: format!("there is no column {name}"), help: self.suggest(plain) };
        };
        if !self.columns.iter().any(|c| c.qualifier == table) {
            let near = nearest(table, self.columns.iter().map(|c| c.qualifier.as_str()));
            let tables = self.tables().join(", ");
            let help =
                near.map_or_else(|| format!("in scope: {tables}"), |n| format!("did you mean {n}.{name}?"));
            return Unresolved { message: format!("there is no table or alias {table} in scope"), help };
        }
        let own = self.columns.iter().filter(|c| c.qualifier == table);
        let help = match nearest(name, own.clone().map(|c| c.name.as_str())) {
            Some(near) => format!("did you mean {table}.{near}?"),
            None => format!("its columns: {}", list(own.map(|c| c.name.as_str()))),
        };
        Unresolved { message: format!("table {table} has no column {name}"), help }
    }

    fn suggest(&self, near: Option<&str>) -> String {
        match near {
            Some(near) => format!("did you mean {near}?"),
            None if self.columns.is_empty() => "no columns are in scope here".to_owned(),
            None => format!("columns: {}", list(self.columns.iter().map(|c| c.name.as_str()))),
        }
    }

    fn tables(&self) -> Vec<&str> {
        let mut tables: Vec<&str> = Vec::new();
        for column in &self.columns {
            if !tables.contains(&column.qualifier.as_str()) {
                tables.push(&column.qualifier);
            }
        }
        tables
    }
}

impl Column {
    /// `qualifier.name`, or the bare name of a column without qualifier.
    fn qualified(&self) -> String {
        if self.qualifier.is_empty() {
            self.name.clone()
        } else {
            format!("{}.{}", self.qualifier, self.name)
        }
    }
}

/// Names shown in a message before it is cut short.
const SHOWN: usize = 12;

fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let all: Vec<&str> = names.collect();
    let more = if all.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", all[..all.len().min(SHOWN)].join(", "))
}

/// The name most like `wanted`, if any is like it at all.
pub(super) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = wanted.to_lowercase();
    names
        .map(|name| (strsim::jaro_winkler(&wanted, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= LIKE_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Likeness from which a name is worth suggesting; below, suggestions are noise.
const LIKE_ENOUGH: f64 = 0.75;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Type;

    fn scope() -> Scope {
        let column = |qualifier: &str, name: &str| Column {
            qualifier: qualifier.to_owned(),
            name: name.to_owned(),
            ty: Type::Int.nullable(),
        };
        Scope { columns: vec![column("orders", "user_id"), column("orders", "id"), column("u", "id")] }
    }

    #[test]
    fn names_resolve_with_and_without_table() {
        assert_eq!(scope().resolve(Some("u"), "id"), Ok(2));
        assert_eq!(scope().resolve(None, "user_id"), Ok(0));
    }

    #[test]
    fn faults_name_what_was_meant() {
        let fault = |qualifier, name| {
            let fault = scope().resolve(qualifier, name).unwrap_err();
            format!("{}; {}", fault.message, fault.help)
        };
        assert_eq!(fault(None, "id"), "column id is ambiguous; write one of orders.id, u.id");
        assert_eq!(fault(None, "usr_id"), "there is no column usr_id; did you mean user_id?");
        assert_eq!(
            fault(Some("order"), "id"),
            "there is no table or alias order in scope; did you mean orders.id?"
        );
        assert_eq!(fault(Some("u"), "ID_"), "table u has no column ID_; did you mean u.id?");
    }
}
