//! A table of the live database: columns, indexes, generated values.

/// A table of the live database.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// Schema (database) of the table; empty where there is but one.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Columns in order; empty: there is no such table, or the user may not see it.
    pub columns: Vec<ColumnInfo>,
    /// Its indexes; a view has none.
    pub indexes: Vec<Index>,
    /// The version that the server or library says it has.
    pub server: String,
    /// Bytes that one statement may have.
    pub packet_max: usize,
}

/// A column of the live database.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ColumnInfo {
    /// Name as the database spells it.
    pub name: String,
    /// The type's name in lower case, without length or sign: `int`, `varchar`, `datetime`, …
    pub data_type: String,
    /// The whole type in lower case: `int(10) unsigned`.
    pub column_type: String,
    /// Code points of text, bytes of binary columns.
    pub length: Option<u64>,
    /// Digits in all of DECIMAL.
    pub precision: Option<u8>,
    /// Digits after the point of DECIMAL.
    pub scale: Option<u8>,
    /// Fraction digits of times.
    pub fraction: u8,
    /// Character set of text.
    pub charset: Option<String>,
    /// Collation of text.
    pub collation: Option<String>,
    /// Whether NULL may be stored.
    pub nullable: bool,
    /// Whether an INSERT may leave the column out.
    pub has_default: bool,
    /// Whether the database computes the column, so that nobody can write it.
    pub generated: bool,
}

impl ColumnInfo {
    /// Whether an integer column is UNSIGNED.
    #[must_use]
    pub fn unsigned(&self) -> bool {
        self.column_type.contains("unsigned")
    }
}

/// An index of the live database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name; the primary key's is [`PRIMARY`].
    pub name: String,
    /// Whether it allows each combination of values once.
    pub unique: bool,
    /// Whether it covers but some rows, or but the first characters of some column.
    pub partial: bool,
    /// Its columns in order; an expression stands as an empty name.
    pub columns: Vec<String>,
}

/// Name of the index of a primary key.
pub(super) const PRIMARY: &str = "PRIMARY";

impl TableInfo {
    /// The column of this name; in the databases that are spoken with, column names have no case.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&ColumnInfo> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Columns of the primary key, else of the first unique index over NOT NULL columns; empty if there is neither.
    #[must_use]
    pub fn identity(&self) -> &[String] {
        let mut unique = self.indexes.iter().filter(|index| self.identifies(index));
        let primary = unique.clone().find(|index| index.name == PRIMARY);
        primary.or_else(|| unique.next()).map_or(&[], |index| index.columns.as_slice())
    }

    /// Whether two rows can never have equal values in the columns of `index`.
    #[must_use]
    pub fn identifies(&self, index: &Index) -> bool {
        let not_null = |name: &String| self.column(name).is_some_and(|column| !column.nullable);
        index.unique && !index.partial && index.columns.iter().all(not_null)
    }

    /// Its name in a statement and in messages: `` `shop`.`users` ``.
    #[must_use]
    pub fn quoted_name(&self) -> String {
        match self.schema.as_str() {
            "" => quoted(&self.name),
            schema => format!("{}.{}", quoted(schema), quoted(&self.name)),
        }
    }
}

/// An identifier in backticks.
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Position-wise access to a row of texts, as catalogs are read.
pub(super) type TextRow = Vec<Option<String>>;

/// A text of a row; NULL is the empty one.
pub(super) fn field(row: &TextRow, i: usize) -> &str {
    row.get(i).and_then(Option::as_deref).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn identifiers_cannot_leave_their_quotes() {
        assert_eq!(quoted("a`b; DROP"), "`a``b; DROP`");
    }
}
