//! The texts of a sink's statements: one multi-row INSERT or DELETE per size.
//!
//! Sizes are powers of two, so that a server keeps few texts; a batch is cut
//! into the largest that fit.

use std::sync::Arc;

use crate::db::{TableInfo, quoted};

/// Rows of the largest statement.
const ROWS_MAX: usize = 512;

/// Parameters that a statement can have (the protocol counts them in 16 bits).
const PARAMETERS_MAX: usize = 65_535;

/// Bytes of rows in one statement: half of the smallest `max_allowed_packet` in use (1 MiB).
const BYTES_MAX: usize = 512 * 1024;

/// The statements of one sink table.
pub(super) struct Statements {
    /// By size, largest first.
    upserts: Vec<(usize, Arc<str>)>,
    deletes: Vec<(usize, Arc<str>)>,
    bytes_max: usize,
}

impl Statements {
    /// `columns` are the written ones; `key` the primary key, each with how its placeholder is typed.
    pub(super) fn new(table: &TableInfo, columns: &[&str], key: &[(&str, String)]) -> Self {
        let source = format!("{}.{}", quoted(&table.schema), quoted(&table.name));
        let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        let update = if key.is_empty() { String::new() } else { on_duplicate(&names) };
        let head = format!("INSERT INTO {source} ({}) VALUES ", names.join(", "));
        let row = format!("({})", vec!["?"; names.len()].join(", "));
        let upsert = |rows: usize| format!("{head}{}{update}", vec![row.as_str(); rows].join(", "));
        let key_names: Vec<String> = key.iter().map(|(name, _)| quoted(name)).collect();
        let placeholders: Vec<&str> = key.iter().map(|(_, placeholder)| placeholder.as_str()).collect();
        let key_row = format!("({})", placeholders.join(", "));
        let head = format!("DELETE FROM {source} WHERE ({}) IN ", key_names.join(", "));
        let delete = |rows: usize| format!("{head}({})", vec![key_row.as_str(); rows].join(", "));
        let deletes = if key.is_empty() { Vec::new() } else { texts(key.len(), delete) };
        Self {
            upserts: texts(names.len(), upsert),
            deletes,
            bytes_max: BYTES_MAX.min((table.packet_max / 2).max(1)),
        }
    }

    /// The text of an upsert of the first rows of `rows`, and how many of them it takes.
    pub(super) fn upsert(&self, rows: &[&[u8]]) -> Option<(usize, &Arc<str>)> {
        largest(&self.upserts, rows, self.bytes_max)
    }

    /// The text of a delete of the first rows of `rows`, and how many of them it takes.
    pub(super) fn delete(&self, rows: &[&[u8]]) -> Option<(usize, &Arc<str>)> {
        largest(&self.deletes, rows, self.bytes_max)
    }
}

fn on_duplicate(names: &[String]) -> String {
    let set: Vec<String> = names.iter().map(|name| format!("{name} = VALUES({name})")).collect();
    format!(" ON DUPLICATE KEY UPDATE {}", set.join(", "))
}

fn texts(parameters: usize, text: impl Fn(usize) -> String) -> Vec<(usize, Arc<str>)> {
    let largest = (PARAMETERS_MAX / parameters.max(1)).clamp(1, ROWS_MAX);
    let sizes = (0..usize::BITS).rev().map(|bit| 1 << bit).filter(|size| *size <= largest);
    sizes.map(|size| (size, Arc::from(text(size)))).collect()
}

fn largest<'a>(
    texts: &'a [(usize, Arc<str>)],
    rows: &[&[u8]],
    bytes_max: usize,
) -> Option<(usize, &'a Arc<str>)> {
    let fits = |size: usize| {
        let taken = rows.get(..size);
        taken.is_some_and(|taken| size == 1 || taken.iter().map(|row| row.len()).sum::<usize>() <= bytes_max)
    };
    texts.iter().find(|(size, _)| fits(*size)).map(|(size, text)| (*size, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(count: usize, row: &[u8], bytes_max: usize) -> Vec<usize> {
        let texts = texts(3, |size| size.to_string());
        let rows = vec![row; count];
        let (mut rest, mut sizes) = (rows.as_slice(), Vec::new());
        while let Some((size, text)) = largest(&texts, rest, bytes_max) {
            assert_eq!(**text, size.to_string());
            sizes.push(size);
            rest = &rest[size..];
        }
        sizes
    }

    /// Flink: G83, for more than one row at a time.
    #[test]
    fn the_texts_are_those_of_flinks_dialect() {
        let table = TableInfo {
            schema: "shop".to_owned(),
            name: "tbl".to_owned(),
            columns: Vec::new(),
            indexes: Vec::new(),
            server: String::new(),
            packet_max: 1 << 24,
        };
        let key = [("id", "?".to_owned()), ("__field_3__", "?".to_owned())];
        let statements = Statements::new(&table, &["id", "name", "__field_3__"], &key);
        let rows: [&[u8]; 2] = [b"a", b"b"];
        let (taken, upsert) = statements.upsert(&rows).unwrap();
        assert_eq!(
            (taken, &**upsert),
            (
                2,
                "INSERT INTO `shop`.`tbl` (`id`, `name`, `__field_3__`) VALUES (?, ?, ?), (?, ?, ?) \
                 ON DUPLICATE KEY UPDATE `id` = VALUES(`id`), `name` = VALUES(`name`), \
                 `__field_3__` = VALUES(`__field_3__`)"
            )
        );
        let (taken, delete) = statements.delete(&rows).unwrap();
        assert_eq!(
            (taken, &**delete),
            (2, "DELETE FROM `shop`.`tbl` WHERE (`id`, `__field_3__`) IN ((?, ?), (?, ?))")
        );
        let appending = Statements::new(&table, &["id"], &[]);
        let (_, insert) = appending.upsert(&rows[..1]).unwrap();
        assert_eq!(&**insert, "INSERT INTO `shop`.`tbl` (`id`) VALUES (?)");
        assert!(appending.delete(&rows).is_none());
    }

    #[test]
    fn rows_are_cut_into_few_sizes_that_fit_a_packet() {
        assert_eq!(sizes(100, b"x", 1000), [64, 32, 4]);
        assert_eq!(sizes(1025, b"x", 1000), [512, 512, 1]);
        assert_eq!(sizes(5, b"0123456789", 20), [2, 2, 1]);
        assert_eq!(sizes(2, b"0123456789", 1), [1, 1]);
        assert!(sizes(0, b"", 10).is_empty());
    }

    #[test]
    fn a_statement_has_no_more_parameters_than_the_protocol_counts() {
        let largest = |columns| texts(columns, |size| size.to_string())[0].0;
        assert_eq!(largest(10), 512);
        assert_eq!(largest(200), 256);
        assert_eq!(largest(65_535), 1);
    }
}
