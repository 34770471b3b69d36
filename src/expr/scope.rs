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
