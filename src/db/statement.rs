//! The two statements of a lookup.
//!
//! **Batch**: the keys are one JSON parameter that the database reads as a
//! table, so that the join uses the index of the key columns and compares as
//! they do. One text serves any number of keys. Each dialect has its own form.
//!
//! **Plain**: a UNION of one plain `SELECT … WHERE column = ?` per key, for keys
//! that JSON cannot carry unchanged and for older servers. It comes in few
//! sizes, so that servers keep few texts.
//!
//! Both return the number of the key first, counted from 1, then the fetched columns.

use super::dialect::{BatchForm, Bind, Dialect, Key, Statement};
use super::table::{TableInfo, quoted};

/// Keys of a plain statement, largest first; a group of keys is cut into these.
pub(super) const PLAIN_SIZES: [usize; 4] = [64, 16, 4, 1];

/// Keys of one batch: enough to make the round trip vanish, few enough to keep an answer small.
pub(super) const BATCH_KEYS_MAX: usize = 4096;

/// Bytes of the JSON of one batch: half of the smallest `max_allowed_packet` in use (1 MiB).
pub(super) const BATCH_BYTES_MAX: usize = 512 * 1024;

/// The texts of one lookup.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    /// `None`: some key column, or the server, has no batch form.
    pub(super) batch: Option<String>,
    /// One branch of the plain statement.
    plain: String,
    /// What follows the branches.
    order: String,
    /// Placeholders of one branch: the key's number and its parts.
    placeholders: usize,
}

impl Texts {
    pub(super) fn new<D: Dialect>(table: &TableInfo, columns: &[String], key: &[D::Key]) -> Self {
        let source = table.quoted_name();
        let order = order_columns(table, columns, key);
        let prefixed = |name: &String| format!(", d.{}", quoted(name));
        let fetched: String = columns.iter().map(prefixed).collect();
        let sorted: String = order.iter().map(prefixed).collect();
        let first = columns.len() + 2;
        let positions: Vec<String> = (first..first + order.len()).map(|i| i.to_string()).collect();
        let by_name: Vec<String> = order.iter().map(|name| format!("d.{}", quoted(name))).collect();
        let form = BatchForm { source: &source, fetched: &fetched, order: &order_by(&by_name) };
        Self {
            placeholders: key.len() + 1,
            batch: D::batch(&form, key),
            plain: format!(
                "SELECT ? AS i{fetched}{sorted} FROM {source} AS d WHERE {}",
                plain_condition(key)
            ),
            order: order_by(&positions),
        }
    }

    /// The batch statement without keys.
    pub(super) fn probe_batch(&self) -> Option<Statement> {
        let batch = self.batch.clone()?;
        Some(Statement::kept(batch, vec![Bind::Text("[]".to_owned())]))
    }

    /// The plain statement with NULLs for keys.
    pub(super) fn probe_plain(&self) -> Statement {
        Statement::kept(self.plain(1), vec![Bind::Null; self.placeholders])
    }

    /// The plain statement for `keys` keys, each given as its number and then its parts.
    pub(super) fn plain(&self, keys: usize) -> String {
        let branches = vec![self.plain.as_str(); keys].join(" UNION ALL ");
        format!("{branches}{}", self.order)
    }
}

fn order_by(terms: &[String]) -> String {
    if terms.is_empty() { String::new() } else { format!(" ORDER BY {}", terms.join(", ")) }
}

fn plain_condition<K: Key>(key: &[K]) -> String {
    let parts = key.iter().map(|column| format!("d.{} = {}", quoted(column.name()), column.placeholder()));
    parts.collect::<Vec<_>>().join(" AND ")
}

/// What sorts the rows of one key: nothing when there is at most one, else the
/// table's own key, else all fetched columns.
fn order_columns<K: Key>(table: &TableInfo, columns: &[String], key: &[K]) -> Vec<String> {
    let in_key = |name: &String| key.iter().any(|part| part.name().eq_ignore_ascii_case(name));
    let unique = |index| table.identifies(index) && index.columns.iter().all(in_key);
    if table.indexes.iter().any(unique) && key.iter().all(Key::is_exact) {
        return Vec::new();
    }
    let identity = table.identity();
    if identity.is_empty() { columns.to_vec() } else { identity.to_vec() }
}

/// Appends one key to the JSON of a batch.
pub(super) fn push_json_key(json: &mut String, parts: &[Bind]) {
    json.push(if json.is_empty() { '[' } else { ',' });
    for (i, part) in parts.iter().enumerate() {
        json.push(if i == 0 { '[' } else { ',' });
        match part {
            Bind::Null => json.push_str("null"),
            Bind::Signed(value) => json.push_str(itoa::Buffer::new().format(*value)),
            Bind::Unsigned(value) => json.push_str(itoa::Buffer::new().format(*value)),
            Bind::Double(value) => json.push_str(ryu::Buffer::new().format(*value)),
            Bind::Text(text) => push_json_text(json, text),
            Bind::Bytes(bytes) => push_json_hex(json, bytes),
        }
    }
    json.push(']');
}

fn push_json_text(json: &mut String, text: &str) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\0'..='\u{1f}' | '\u{7f}' => json.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => json.push(c),
        }
    }
    json.push('"');
}

fn push_json_hex(json: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    json.push('"');
    for byte in bytes {
        json.push(char::from(DIGITS[usize::from(byte >> 4)]));
        json.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keys_are_escaped() {
        let mut json = String::new();
        push_json_key(&mut json, &[Bind::Text("a\"\\\n\u{0}é".to_owned()), Bind::Signed(-7)]);
        push_json_key(&mut json, &[Bind::Bytes(vec![0, 255]), Bind::Unsigned(u64::MAX), Bind::Double(0.1)]);
        assert_eq!(json, r#"[["a\"\\\u000a\u0000é",-7],["00FF",18446744073709551615,0.1]"#);
    }
}
