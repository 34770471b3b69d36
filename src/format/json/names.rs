//! Which field a member of an object is, guessed from the message before.
//!
//! Producers write the same fields in the same order and layout, so what stands
//! between two values, `,"name":`, is nearly always what stood there last time.
//! One comparison of bytes then replaces the reading of punctuation and name;
//! only a wrong guess reads and searches.

use hashbrown::HashMap;

/// Members that are remembered; later ones are searched for. Bounds what a hostile message with
/// countless members can make the reader keep.
const REMEMBERED_MAX: usize = 256;

/// Longest text between two values that is remembered: long enough for the names of real columns.
const HEAD_MAX: usize = 46;

/// Finds fields by name.
#[derive(Clone, Debug)]
pub(super) struct Names {
    by_name: HashMap<Box<str>, usize, foldhash::fast::RandomState>,
    /// What stood before the n-th value of the last message.
    heads: Vec<Head>,
}

/// The text before a value, and the field that the value is.
#[derive(Clone, Copy, Debug)]
struct Head {
    bytes: [u8; HEAD_MAX],
    len: u8,
    field: Option<u32>,
}

/// A right guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Guess {
    /// Bytes before the value.
    pub len: usize,
    /// The field, if the member is one.
    pub field: Option<usize>,
}

impl Names {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let by_name = names.enumerate().map(|(i, name)| (Box::from(name), i)).collect();
        Self { by_name, heads: Vec::new() }
    }

    /// What the `nth` member is, if `rest` begins as the message before did there.
    pub(super) fn guess(&self, nth: usize, rest: &[u8]) -> Option<Guess> {
        let head = self.heads.get(nth)?;
        let len = usize::from(head.len);
        let expected = head.bytes.get(..len)?;
        (len > 0 && begins_with(rest, expected))
            .then(|| Guess { len, field: head.field.map(|field| field as usize) })
    }

    /// The field of this name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Remembers what stands before the `nth` value.
    pub(super) fn learn(&mut self, nth: usize, text: &[u8], field: Option<usize>) {
        let mut bytes = [0; HEAD_MAX];
        let (Some(room), true) = (bytes.get_mut(..text.len()), nth < REMEMBERED_MAX) else { return };
        room.copy_from_slice(text);
        let head =
            Head { bytes, len: text.len() as u8, field: field.and_then(|field| u32::try_from(field).ok()) };
        if self.heads.len() <= nth {
            self.heads.resize(nth + 1, Head { bytes: [0; HEAD_MAX], len: 0, field: None });
        }
        if let Some(slot) = self.heads.get_mut(nth) {
            *slot = head;
        }
    }
}

/// `text.starts_with(head)`, in words of eight bytes and without a call: heads are short.
fn begins_with(text: &[u8], head: &[u8]) -> bool {
    let Some(text) = text.get(..head.len()) else { return false };
    let ((words, tail), (head_words, head_tail)) = (text.as_chunks::<8>(), head.as_chunks::<8>());
    words.iter().zip(head_words).all(|(a, b)| u64::from_le_bytes(*a) == u64::from_le_bytes(*b))
        && tail.iter().zip(head_tail).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_holds_only_for_the_same_bytes() {
        let mut names = Names::new(["id", "name"].into_iter());
        assert_eq!((names.find("name"), names.find("Id")), (Some(1), None));
        assert_eq!(names.guess(0, b"{\"id\":1"), None);
        names.learn(0, b"{\"id\":", Some(0));
        names.learn(1, b", \"other\": ", None);
        assert_eq!(names.guess(0, b"{\"id\":1}"), Some(Guess { len: 6, field: Some(0) }));
        assert_eq!(names.guess(1, b", \"other\": {}"), Some(Guess { len: 11, field: None }));
        for rest in [&b"{\"ID\":1}"[..], b"{\"id\"", b"{\"id2\":1", b""] {
            assert_eq!(names.guess(0, rest), None);
        }
    }

    #[test]
    fn what_is_remembered_has_bounds() {
        let mut names = Names::new(std::iter::empty());
        names.learn(REMEMBERED_MAX, b"x", None);
        names.learn(0, &[b'x'; HEAD_MAX + 1], None);
        assert!(names.heads.is_empty());
    }
}
