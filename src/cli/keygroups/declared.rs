//! What a definition says about the keys of its tables.

use std::path::Path;

use crate::config::ddl::{ColumnKind, Item, parse_item};
use crate::config::{Definition, DefinitionSource, References, TableDefinition, nearest};
use crate::expr::parse_type;
use crate::model::DataType;
use crate::plan::{DimensionColumn, DimensionConnector, LookupPlan, Plan, compile};

use super::{Failure, usage};

/// Columns of a dimension table.
#[derive(Debug)]
pub(super) struct Columns {
    /// Name of the table in the definition.
    pub table: String,
    /// Where it is.
    pub source: DimensionConnector,
    /// The columns, in the order in which they are hashed.
    pub columns: Vec<DimensionColumn>,
}

/// The definition and its plan.
pub(super) fn load(path: &Path) -> Result<(Definition, Plan), Failure> {
    let source = DefinitionSource::from(path);
    let definition = crate::config::load(&source, &References::process()).map_err(Failure::Definition)?;
    let plan = compile(&definition).map_err(Failure::Definition)?;
    Ok((definition, plan))
}

/// The named columns of a dimension table; without names, those that `lookup.enable_hash` goes by.
pub(super) fn columns(
    definition: &Definition,
    plan: &Plan,
    name: &str,
    columns: &[String],
) -> Result<Columns, Failure> {
    let lookup = find_lookup(plan, name)?;
    let columns = match columns {
        [] => hash_columns(lookup)?,
        names => {
            let declared = definition.tables.iter().find(|table| table.name.value() == lookup.table);
            let declared = declared.map(declared_columns).unwrap_or_default();
            let find = |name: &String| find_column(&declared, &lookup.table, name);
            names.iter().map(find).collect::<Result<_, _>>()?
        }
    };
    Ok(Columns { table: lookup.table.clone(), source: lookup.connector.clone(), columns })
}

/// The lookup of this alias, else the first of this table.
fn find_lookup<'a>(plan: &'a Plan, name: &str) -> Result<&'a LookupPlan, Failure> {
    let by = |part: fn(&LookupPlan) -> &str| plan.lookups.iter().find(move |lookup| part(lookup) == name);
    by(|lookup| &lookup.alias).or_else(|| by(|lookup| &lookup.table)).ok_or_else(|| {
        let names = plan.lookups.iter().map(|lookup| lookup.table.as_str());
        Failure::Error(unknown("the pipeline has no lookup in table", name, names))
    })
}

fn hash_columns(lookup: &LookupPlan) -> Result<Vec<DimensionColumn>, Failure> {
    let parts = lookup.hash_order.iter().filter_map(|&at| lookup.key.get(at));
    let columns: Vec<_> =
        parts.map(|part| DimensionColumn { name: part.column.clone(), ty: part.ty.clone() }).collect();
    if columns.is_empty() {
        let what = "its lookup key is constant, so nothing is hashed; name a --column";
        return Err(usage(format!("table {}: {what}", lookup.table)).into());
    }
    Ok(columns)
}

/// The columns of a table that was compiled, so that each of them can be read.
fn declared_columns(table: &TableDefinition) -> Vec<DimensionColumn> {
    let column = |item| match parse_item(item).ok()? {
        Item::Column(column) => match column.kind {
            ColumnKind::Physical(ty) => {
                let DataType { kind, nullable } = parse_type(&ty.text).ok()?;
                let ty = DataType { kind, nullable: nullable && !ty.not_null };
                Some(DimensionColumn { name: column.name, ty })
            }
            ColumnKind::Metadata { .. } | ColumnKind::Computed { .. } => None,
        },
        Item::PrimaryKey(_) => None,
    };
    table.columns.iter().flatten().filter_map(column).collect()
}

fn find_column(declared: &[DimensionColumn], table: &str, name: &str) -> Result<DimensionColumn, Failure> {
    declared.iter().find(|column| column.name == name).cloned().ok_or_else(|| {
        let names = declared.iter().map(|column| column.name.as_str());
        unknown(&format!("table {table} has no column"), name, names).into()
    })
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> crate::error::Error {
    let known: Vec<&str> = known.collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; there is {}", known.join(", ")),
    };
    usage(format!("{what} `{name}`{hint}"))
}
