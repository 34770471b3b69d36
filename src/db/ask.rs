//! From keys to statements: which keys go together, and which in none.

use crate::model::RowLayout;

use super::dialect::{Bind, Key, Part, Statement};
use super::statement::{BATCH_KEYS_MAX, PLAIN_SIZES, Texts, push_json_key};

/// Keys that go in one statement, and where their rows belong.
pub(super) struct Group {
    pub(super) statement: Statement,
    /// For each key of the statement, its position in the caller's list.
    pub(super) positions: Vec<usize>,
    batched: bool,
}

/// Makes the statements of one dimension table.
pub(super) struct Asker<K> {
    pub(super) key_layout: RowLayout,
    pub(super) key: Vec<K>,
    pub(super) texts: Texts,
    /// Bytes of keys in one statement.
    pub(super) bytes_max: usize,
}

impl Group {
    /// Whether this asks one key by a plain select: there is nothing simpler.
    pub(super) fn is_single(&self) -> bool {
        !self.batched && self.positions.len() == 1
    }
}

impl<K: Key> Asker<K> {
    /// Cuts the keys into statements; keys that no row can have are in none.
    pub(super) fn groups(&self, keys: &[Box<[u8]>]) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut alone: Vec<(usize, Vec<Bind>)> = Vec::new();
        let (mut json, mut positions) = (String::new(), Vec::new());
        for (position, key) in keys.iter().enumerate() {
            let Some((parts, batched)) = self.convert(key) else { continue };
            match &self.texts.batch {
                Some(sql) if batched => {
                    push_json_key(&mut json, &parts);
                    positions.push(position);
                    if self.bytes_max <= json.len() || BATCH_KEYS_MAX <= positions.len() {
                        groups.push(batch_group(sql, &mut json, &mut positions));
                    }
                }
                _ => alone.push((position, parts)),
            }
        }
        if let Some(sql) = &self.texts.batch
            && !positions.is_empty()
        {
            groups.push(batch_group(sql, &mut json, &mut positions));
        }
        groups.extend(self.plain_groups(alone));
        groups
    }

    fn plain_groups(&self, mut keys: Vec<(usize, Vec<Bind>)>) -> Vec<Group> {
        let mut groups = Vec::new();
        while let Some(size) = self.plain_size(&keys) {
            let (mut binds, mut positions) = (Vec::new(), Vec::new());
            for (number, (position, parts)) in keys.drain(..size).enumerate() {
                binds.push(Bind::Signed(number as i64 + 1));
                binds.extend(parts);
                positions.push(position);
            }
            groups.push(Group {
                statement: Statement::kept(self.texts.plain(size), binds),
                positions,
                batched: false,
            });
        }
        groups
    }

    /// How many keys the next plain statement takes: the largest size that there are keys for and that fits a packet.
    fn plain_size(&self, keys: &[(usize, Vec<Bind>)]) -> Option<usize> {
        let fits = |size: &usize| {
            let bytes = |(_, parts): &(usize, Vec<Bind>)| parts.iter().map(Bind::bytes).sum::<usize>();
            *size == 1 || keys.iter().take(*size).map(bytes).sum::<usize>() <= self.bytes_max
        };
        PLAIN_SIZES.into_iter().find(|size| *size <= keys.len() && fits(size))
    }

    /// The parts of a key, and whether all of them may travel in a batch; `None`: no row can have it.
    fn convert(&self, key: &[u8]) -> Option<(Vec<Bind>, bool)> {
        let (mut parts, mut all_batched) = (Vec::with_capacity(self.key.len()), true);
        for (i, column) in self.key.iter().enumerate() {
            match column.convert(self.key_layout.get(key, i)) {
                Part::Absent => return None,
                Part::Value { bind, batched } => {
                    all_batched &= batched;
                    parts.push(bind);
                }
            }
        }
        Some((parts, all_batched))
    }

    /// One plain select of the key at `position`.
    pub(super) fn single(&self, position: usize, keys: &[Box<[u8]>]) -> Option<Group> {
        let (parts, _) = self.convert(keys.get(position)?)?;
        self.plain_groups(vec![(position, parts)]).pop()
    }
}

fn batch_group(sql: &str, json: &mut String, positions: &mut Vec<usize>) -> Group {
    json.push(']');
    Group {
        statement: Statement::kept(sql.to_owned(), vec![Bind::Text(std::mem::take(json))]),
        positions: std::mem::take(positions),
        batched: true,
    }
}
