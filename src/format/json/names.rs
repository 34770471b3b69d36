//! Which field a member of an object is, guessed from the message before.
//!
//! Producers write fields in one order, so the n-th member is nearly always the
//! field it was last time: one comparison confirms it. Only a wrong guess
//! searches.

use hashbrown::HashMap;

/// Members whose field is remembered; later ones are searched for. Bounds what a hostile message with
/// countless members can make the reader keep.
const REMEMBERED_MAX: usize = 256;

/// Finds fields by name.
#[derive(Clone, Debug)]
pub(super) struct Names {
    names: Vec<Box<str>>,
    by_name: HashMap<Box<str>, usize, foldhash::fast::RandomState>,
    /// Bit n: some name has n bytes (63: or more). Most members that nothing reads fall out here.
    lengths: u64,
    /// Field of the n-th member of the last message.
    last: Vec<Option<usize>>,
}

fn length_bit(name: &str) -> u64 {
    1 << name.len().min(63)
}

impl Names {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<Box<str>> = names.map(Box::from).collect();
        let by_name = names.iter().enumerate().map(|(i, name)| (name.clone(), i)).collect();
        let lengths = names.iter().fold(0, |bits, name| bits | length_bit(name));
        Self { names, by_name, lengths, last: Vec::new() }
    }

    /// The field that the `nth` member is, if any is named so.
    pub(super) fn find(&mut self, nth: usize, name: &str) -> Option<usize> {
        if let Some(Some(guess)) = self.last.get(nth)
            && self.names.get(*guess).is_some_and(|guessed| **guessed == *name)
        {
            return Some(*guess);
        }
        let found = if self.lengths & length_bit(name) == 0 { None } else { self.by_name.get(name).copied() };
        if nth < REMEMBERED_MAX {
            if self.last.len() <= nth {
                self.last.resize(nth + 1, None);
            }
            if let Some(last) = self.last.get_mut(nth) {
                *last = found.or(*last);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_order() {
        let mut names = Names::new(["id", "name", "x"].into_iter());
        for _ in 0..2 {
            assert_eq!(names.find(0, "id"), Some(0));
            assert_eq!(names.find(1, "other"), None);
            assert_eq!(names.find(2, "name"), Some(1));
        }
        assert_eq!(names.find(0, "name"), Some(1));
        assert_eq!(names.find(0, "Id"), None);
        assert_eq!(names.find(100_000, "x"), Some(2));
        assert!(names.last.len() <= REMEMBERED_MAX);
    }
}
