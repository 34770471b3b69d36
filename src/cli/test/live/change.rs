//! A change of a dimension table, as the statements that make it.
//!
//! `upsert` replaces the row with the same primary key; where none is declared,
//! all rows with the same key leave first and then the new ones come, as they
//! do in a case that runs without a database.

use crate::config::{Fault, Node};
use crate::db::{Bind, Statement, quoted, temporal};
use crate::model::{Type, Value};

use super::super::case::scalar;
use super::super::tables::Declared;
use super::database::text;

/// How a database spells what the others spell otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    Mysql,
    Sqlite,
}

impl Spelling {
    /// Equality that holds for two NULLs.
    fn same(self) -> &'static str {
        match self {
            Self::Mysql => "<=>",
            Self::Sqlite => "IS",
        }
    }

    /// What makes an INSERT replace the row with the same key.
    fn or_update(self, names: &[String]) -> String {
        let set = |new: fn(&str) -> String| {
            let set: Vec<String> = names.iter().map(|name| format!("{name} = {}", new(name))).collect();
            set.join(", ")
        };
        match self {
            Self::Mysql => {
                format!(" ON DUPLICATE KEY UPDATE {}", set(|name| format!("VALUES({name})")))
            }
            Self::Sqlite => format!(" ON CONFLICT DO UPDATE SET {}", set(|name| format!("excluded.{name}"))),
        }
    }
}

/// Makes the statements for one table.
pub(super) struct Changes<'a> {
    pub(super) declared: &'a Declared,
    /// Its quoted name.
    pub(super) table: &'a str,
    pub(super) spelling: Spelling,
}

impl Changes<'_> {
    /// The statements of a step, in order.
    ///
    /// # Errors
    /// Rows that do not fit the declared columns; changes that only happen without a database.
    pub(super) fn statements(&self, change: &Node) -> Result<Vec<Statement>, Fault> {
        let mut statements = Vec::new();
        for entry in change.as_map().unwrap_or_default() {
            let rows = entry.value.as_list().unwrap_or_default();
            match (entry.key.written.as_str(), self.declared.unique) {
                ("upsert", true) => {
                    for row in rows {
                        statements.push(self.insert(row)?);
                    }
                }
                ("upsert", false) => {
                    for row in rows {
                        statements.push(self.delete_same(row)?);
                    }
                    for row in rows {
                        statements.push(self.insert(row)?);
                    }
                }
                ("delete", _) => {
                    for row in rows {
                        statements.push(self.delete(row)?);
                    }
                }
                _ => return Err(Fault::new(&entry.key.span, "a live database fails only by itself")),
            }
        }
        Ok(statements)
    }

    fn insert(&self, row: &Node) -> Result<Statement, Fault> {
        let names: Vec<String> = self.declared.columns.iter().map(|(name, _)| quoted(name)).collect();
        let marks = vec!["?"; names.len()].join(", ");
        let update = if self.declared.unique { self.spelling.or_update(&names) } else { String::new() };
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks}){update}", self.table, names.join(", "));
        Ok(Statement { sql, binds: self.binds(row)?, kept: false })
    }

    fn delete_same(&self, row: &Node) -> Result<Statement, Fault> {
        let all = self.binds(row)?;
        let columns = &self.declared.columns;
        let key = self.declared.key.iter().filter_map(|&at| Some((&columns.get(at)?.0, all.get(at)?)));
        Ok(self.delete_where(key))
    }

    fn delete(&self, row: &Node) -> Result<Statement, Fault> {
        let all = self.binds(row)?;
        let given = self.declared.columns.iter().zip(&all).filter(|((name, _), _)| row.get(name).is_some());
        Ok(self.delete_where(given.map(|((name, _), value)| (name, value))))
    }

    fn delete_where<'a>(&self, key: impl Iterator<Item = (&'a String, &'a Bind)>) -> Statement {
        let (mut conditions, mut binds) = (Vec::new(), Vec::new());
        for (name, value) in key {
            conditions.push(format!("{} {} ?", quoted(name), self.spelling.same()));
            binds.push(value.clone());
        }
        let sql = format!("DELETE FROM {} WHERE {}", self.table, conditions.join(" AND "));
        Statement { sql, binds, kept: false }
    }

    /// Values of every declared column, checked against its type.
    fn binds(&self, row: &Node) -> Result<Vec<Bind>, Fault> {
        let values = self.declared.row(row)?;
        let mut binds = Vec::with_capacity(values.len());
        for ((name, ty), value) in self.declared.columns.iter().zip(values) {
            let written = row.get(name).map(scalar).transpose()?.flatten();
            binds.push(match (value, written) {
                (Value::Bytes(bytes), _) => Bind::Bytes(bytes),
                (Value::Null, _) | (_, None) => Bind::Null,
                (value, Some(written)) => self.bind(&value, &written, ty),
            });
        }
        Ok(binds)
    }

    /// A MySQL server converts text to the column's type; a SQLite column may have none to convert to.
    fn bind(&self, value: &Value, written: &str, ty: &Type) -> Bind {
        let as_written = Bind::Text(text(written, ty));
        if self.spelling == Spelling::Mysql {
            return as_written;
        }
        match (value, ty) {
            (Value::Bool(value), _) => Bind::Signed(i64::from(*value)),
            (Value::Int(value), _) => Bind::Signed(*value),
            (Value::Float(value), _) => Bind::Double(f64::from(*value)),
            (Value::Double(value), _) => Bind::Double(*value),
            // With exactly the declared digits: that is how lookups ask for it.
            (Value::Time(millis), Type::Time(digits)) => {
                temporal::time_text(*millis, *digits).map_or(as_written, Bind::Text)
            }
            (Value::Timestamp(at), Type::Timestamp(digits) | Type::TimestampLtz(digits)) => {
                temporal::timestamp_text(*at, *digits).map_or(as_written, Bind::Text)
            }
            _ => as_written,
        }
    }
}
