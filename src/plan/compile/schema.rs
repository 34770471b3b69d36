//! The columns of a table: names, types, primary key.

use crate::config::ddl::{Column, ColumnKind, Item, TypeText, parse_item};
use crate::config::{Fault, Span, TableDefinition, Text};
use crate::expr::parse_type;
use crate::model::{DataType, Type};

use super::context::Context;

/// Columns of a table: MySQL's own limit, and far beyond a record that a human has described.
const COLUMNS_MAX: usize = 4_096;

/// Columns in declared order.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    /// Where to blame the table as a whole.
    pub span: Span,
    pub columns: Vec<SchemaColumn>,
    /// Positions in `columns`, in declared order; empty: none.
    pub primary_key: Vec<usize>,
    /// `PRIMARY KEY` names columns that are not declared here: a sink that takes the select's columns.
    pub key_names: Vec<(String, Span)>,
    /// Where the primary key is declared.
    pub key_span: Span,
    /// Whether every item was understood. A column whose type was not is there with the type NULL,
    /// so that what reads it is not blamed as well.
    pub complete: bool,
}

#[derive(Clone, Debug)]
pub(super) struct SchemaColumn {
    pub name: String,
    /// Declared type. A computed column has its expression's and holds NULL until that is known.
    pub ty: DataType,
    pub kind: SchemaKind,
    /// The item that declares it.
    pub item: Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SchemaKind {
    /// In the record or the database table, at this position among its like.
    Physical(usize),
    Metadata {
        key: String,
        is_virtual: bool,
    },
    Computed {
        expression: String,
        at: usize,
    },
}

impl Schema {
    /// Reads the columns of a table; `None` if there are none.
    pub fn read(context: &mut Context, table: &TableDefinition) -> Option<Self> {
        let items = table.columns.as_ref()?;
        let faults_before = context.faults.len();
        let mut schema = Self {
            span: table.name.span.clone(),
            columns: Vec::new(),
            primary_key: Vec::new(),
            key_names: Vec::new(),
            key_span: table.name.span.clone(),
            complete: true,
        };
        if COLUMNS_MAX < items.len() {
            let what =
                format!("table '{}' has {} columns, limit {COLUMNS_MAX}", table.name.written, items.len());
            context.fault(&table.name.span, what, "leave out what nothing reads");
        }
        for text in items.iter().take(COLUMNS_MAX) {
            match parse_item(text) {
                Ok(Item::Column(column)) => schema.add(context, text, column),
                Ok(Item::PrimaryKey(names)) => {
                    schema.add_key(context, text, names);
                }
                Err((at, what, help)) => context.fault(&text.place(Some(at)), what, help),
            }
        }
        schema.resolve_key(context);
        schema.complete = context.faults.len() == faults_before;
        context.has_unknown_types |= !schema.complete;
        Some(schema)
    }

    fn add(&mut self, context: &mut Context, item: &Text, column: Column) {
        if let Some(first) = self.columns.iter().find(|known| known.name == column.name) {
            let what = format!("column '{}' is declared twice, first at {}", column.name, first.item.span);
            return context.fault(&item.span, what, "leave one out, or give it another name");
        }
        let (ty, kind) = match column.kind {
            ColumnKind::Physical(ty) => {
                let ordinal = self.physical().count();
                (column_type(context, item, &ty), SchemaKind::Physical(ordinal))
            }
            ColumnKind::Metadata { ty, key, is_virtual } => {
                (column_type(context, item, &ty), SchemaKind::Metadata { key, is_virtual })
            }
            ColumnKind::Computed { expression, at } => {
                (Some(Type::Null.nullable()), SchemaKind::Computed { expression, at })
            }
        };
        if column.primary_key {
            self.add_key(context, item, vec![column.name.clone()]);
        }
        let ty = ty.unwrap_or_else(|| Type::Null.nullable());
        self.columns.push(SchemaColumn { name: column.name, ty, kind, item: item.clone() });
    }

    fn add_key(&mut self, context: &mut Context, item: &Text, names: Vec<String>) {
        if !self.key_names.is_empty() {
            let what = format!("a second PRIMARY KEY, the first is at {}", self.key_span);
            return context.fault(&item.span, what, "a table has one: name all its columns in it");
        }
        self.key_span = item.span.clone();
        self.key_names = names.into_iter().map(|name| (name, item.span.clone())).collect();
    }

    /// Finds the key's columns; they are NOT NULL, as in SQL.
    fn resolve_key(&mut self, context: &mut Context) {
        if self.columns.is_empty() {
            return;
        }
        for (name, span) in std::mem::take(&mut self.key_names) {
            let found = self.columns.iter().position(|column| column.name == name);
            match found {
                Some(i) if self.primary_key.contains(&i) => {
                    context.fault(&span, format!("PRIMARY KEY names column '{name}' twice"), "name it once");
                }
                Some(i) if !matches!(self.columns[i].kind, SchemaKind::Physical(_)) => {
                    let what = format!("PRIMARY KEY column '{name}' is not a physical column");
                    context.fault(
                        &span,
                        what,
                        "a key column stands in the record or table: declare it as `name TYPE`",
                    );
                }
                Some(i) if self.columns[i].ty.kind.is_nested() => {
                    let what = format!("PRIMARY KEY column '{name}' is {}", self.columns[i].ty.kind);
                    context.fault(&span, what, "ARRAY, MAP and ROW cannot be keys");
                }
                Some(i) => {
                    self.columns[i].ty.nullable = false;
                    self.primary_key.push(i);
                }
                None => {
                    let names = self.columns.iter().map(|column| column.name.as_str());
                    let fault = Fault::new(
                        &span,
                        format!("PRIMARY KEY names column '{name}', which is not declared"),
                    );
                    context.faults.add(fault.allowed(&name, names));
                }
            }
        }
    }

    /// Physical columns with their positions in `columns`.
    pub fn physical(&self) -> impl Iterator<Item = (usize, &SchemaColumn)> {
        self.columns.iter().enumerate().filter(|(_, column)| matches!(column.kind, SchemaKind::Physical(_)))
    }
}

fn column_type(context: &mut Context, item: &Text, ty: &TypeText) -> Option<DataType> {
    match parse_type(&ty.text) {
        Ok(parsed) => Some(DataType { nullable: parsed.nullable && !ty.not_null, ..parsed }),
        Err(error) => {
            context.sql_fault(item, ty.at, error);
            None
        }
    }
}
