//! The distinct lookup keys that are in a dimension table.

use crate::clock::Clock;
use crate::db::{Access, Databases, distinct_values};
use crate::error::{Error, Result};

use super::declared::Columns;
use super::keys::Keys;

/// Asks the database; one key more than the limit at most.
///
/// # Errors
/// A server that refuses or is unreachable, a table that is not as declared.
pub(super) fn read(columns: &Columns, time_zone: &str, limit: usize) -> Result<Keys> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::bug(format!("starting the runtime: {error}")))?;
    let access = Access::new(Databases::default(), Clock::system(), time_zone);
    let Columns { table, source, columns } = columns;
    let values = runtime.block_on(distinct_values(source, table, columns, limit + 1, &access))?;
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let plural = if names.len() == 1 { "" } else { "s" };
    let origin = format!("table {table}, column{plural} {}", names.join(", "));
    let types = columns.iter().map(|column| column.ty.clone()).collect();
    Ok(Keys::new(origin, types, values, limit))
}
