//! Which field a member of an object is, guessed from the message before.
//!
//! Producers write the same fields in the same order and layout, so what stands
//! between two values, `,"name":`, is nearly always what stood there last time.
//! One comparison of bytes then replaces the reading of punctuation and name;
//! only a wrong guess reads and searches.

use hashbrown::HashMap;

use super::usual::Usual;
use crate::format::FieldSpec;

/// Members that are remembered; later ones are searched for. Bounds what a hostile message with
/// countless members can make the reader keep.
const REMEMBERED_MAX: usize = 256;

/// Longest text between two values that is remembered: long enough for the names of real columns.
const HEAD_MAX: usize = 46;

/// Bytes of a head that are compared at once: few heads are longer.
const FRONT: usize = 16;

/// Finds fields by name.
#[derive(Clone, Debug)]
pub(super) struct Names {
    by_name: HashMap<Box<str>, Target, foldhash::fast::RandomState>,
    /// What stood before the n-th value of the last message.
    heads: Vec<Head>,
}

/// What a member of an object is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The field, and the column that it fills.
    pub field: u32,
    pub column: u32,
    /// What its values usually are.
    pub usual: Usual,
}

impl Target {
    /// A member that nothing reads.
    pub(super) const UNREAD: Self = Self { field: u32::MAX, column: u32::MAX, usual: Usual::Unread };
}

/// The text before a value, and the field that the value is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub target: Target,
    pub len: usize,
    /// The first bytes of `bytes` in two words, and which bytes of them count. Nothing equals a head of no bytes.
    front: [u64; 2],
    mask: [u64; 2],
    bytes: [u8; HEAD_MAX],
}

impl Head {
    const NONE: Self =
        Self { target: Target::UNREAD, len: 0, front: [1; 2], mask: [0; 2], bytes: [0; HEAD_MAX] };

    /// `None` for a text that is too long.
    fn new(text: &[u8], target: Target) -> Option<Self> {
        let mut bytes = [0; HEAD_MAX];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        let mut counts = [0; FRONT];
        counts.iter_mut().take(text.len()).for_each(|byte| *byte = 0xFF);
        let front = two_words(bytes.first_chunk()?);
        Some(Self { target, len: text.len(), front, mask: two_words(&counts), bytes })
    }

    /// Whether `rest` begins with the head.
    #[inline]
    pub(super) fn begins(&self, rest: &[u8]) -> bool {
        match rest.first_chunk() {
            Some(front) if self.len <= FRONT => {
                let [first, second] = two_words(front);
                first & self.mask[0] == self.front[0] && second & self.mask[1] == self.front[1]
            }
            _ => self.begins_bytewise(rest),
        }
    }

    #[inline(never)]
    fn begins_bytewise(&self, rest: &[u8]) -> bool {
        self.len > 0 && self.bytes.get(..self.len).is_some_and(|head| rest.starts_with(head))
    }
}

#[inline]
fn two_words(bytes: &[u8; FRONT]) -> [u64; 2] {
    let both = u128::from_le_bytes(*bytes);
    [both as u64, (both >> 64) as u64]
}

impl Names {
    pub(super) fn new(fields: &[FieldSpec]) -> Self {
        let target = |(field, spec): (u32, &FieldSpec)| {
            let column = u32::try_from(spec.column).unwrap_or(u32::MAX);
            (Box::from(spec.name.as_str()), Target { field, column, usual: Usual::of(&spec.ty.kind) })
        };
        Self { by_name: (0..).zip(fields).map(target).collect(), heads: Vec::new() }
    }

    /// What stood before the values of the last message, from the `nth` on, and is expected again.
    #[inline]
    pub(super) fn heads_from(&self, nth: usize) -> &[Head] {
        self.heads.get(nth..).unwrap_or_default()
    }

    /// The field of this name.
    pub(super) fn find(&self, name: &str) -> Target {
        self.by_name.get(name).copied().unwrap_or(Target::UNREAD)
    }

    /// Remembers what stands before the `nth` value.
    pub(super) fn learn(&mut self, nth: usize, text: &[u8], target: Target) {
        let (Some(head), true) = (Head::new(text, target), nth < REMEMBERED_MAX) else { return };
        if self.heads.len() <= nth {
            self.heads.resize(nth + 1, Head::NONE);
        }
        if let Some(slot) = self.heads.get_mut(nth) {
            *slot = head;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Type;

    fn target(field: u32) -> Target {
        Target { field, column: field, usual: Usual::Text }
    }

    fn names(names: &[&str]) -> Names {
        let field = |(column, name): (usize, &&str)| FieldSpec {
            name: (*name).to_owned(),
            column,
            ordinal: column,
            ty: Type::STRING.nullable(),
        };
        Names::new(&names.iter().enumerate().map(field).collect::<Vec<_>>())
    }

    /// Length of the head and its field, where `rest` begins as expected.
    fn guess(names: &Names, nth: usize, rest: &[u8]) -> Option<(usize, Target)> {
        let head = names.heads_from(nth).first()?;
        head.begins(rest).then_some((head.len, head.target))
    }

    #[test]
    fn a_guess_holds_only_for_the_same_bytes() {
        let mut names = names(&["id", "name"]);
        assert_eq!((names.find("name"), names.find("Id")), (target(1), Target::UNREAD));
        assert_eq!(guess(&names, 0, b"{\"id\":1"), None);
        names.learn(0, b"{\"id\":", target(0));
        names.learn(1, b", \"other\": ", Target::UNREAD);
        assert_eq!(guess(&names, 0, b"{\"id\":1}"), Some((6, target(0))));
        assert_eq!(guess(&names, 1, b", \"other\": {}"), Some((11, Target::UNREAD)));
        for rest in [&b"{\"ID\":1}"[..], b"{\"id\"", b"{\"id2\":1", b""] {
            assert_eq!(guess(&names, 0, rest), None);
        }
    }

    #[test]
    fn heads_of_every_length_are_told_from_others() {
        let text: Vec<u8> = (0..=HEAD_MAX as u8 + FRONT as u8).map(|i| b'A' + i).collect();
        for len in 1..=HEAD_MAX {
            let mut names = names(&[]);
            names.learn(1, &text[..len], target(7));
            assert_eq!(guess(&names, 0, &text), None, "no head was learnt");
            for rest in [&text[..], &text[..len]] {
                assert_eq!(guess(&names, 1, rest), Some((len, target(7))));
                assert_eq!(guess(&names, 1, &rest[..len - 1]), None);
                for wrong in 0..len {
                    let mut other = rest.to_vec();
                    other[wrong] ^= 1;
                    assert_eq!(guess(&names, 1, &other), None);
                }
            }
        }
    }

    #[test]
    fn what_is_remembered_has_bounds() {
        let mut names = names(&[]);
        names.learn(REMEMBERED_MAX, b"x", target(0));
        names.learn(0, &[b'x'; HEAD_MAX + 1], target(0));
        assert!(names.heads.is_empty());
    }
}
