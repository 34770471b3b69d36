//! LIKE and SIMILAR TO: patterns made ready once, matched per row.
//!
//! `%` is any run of characters, `_` one character that is not a line end.
//! Without ESCAPE nothing is special about a backslash; the escape character may
//! stand only before `%`, `_` (SIMILAR TO: any special character) and itself.
//! Most LIKE patterns are a text with `%` at its ends and need no matcher at all.
//! Flink: `SqlLikeUtils`.

use super::invalid;
use crate::expr::EvalError;

/// A wrong use of the escape character at the code point `at`.
pub(super) fn invalid_escape(pattern: &str, at: usize) -> EvalError {
    invalid(format!("Invalid escape sequence '{pattern}', {at}"))
}

/// The one character of an ESCAPE clause.
///
/// # Errors
/// The text is not exactly one character.
pub fn escape_character(text: &str) -> Result<char, EvalError> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(escape), None) => Ok(escape),
        _ => Err(invalid(format!("Invalid escape character '{text}'"))),
    }
}

/// Whether `_` (and `.` in SIMILAR TO) refuses this character. Java: line terminators.
pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A LIKE pattern, ready to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Like(Shape);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// `abc`
    Equal(Box<str>),
    /// `abc%`
    Prefix(Box<str>),
    /// `%abc`
    Suffix(Box<str>),
    /// `%abc%`
    Inside(Box<str>),
    /// Anything else.
    Mixed(Box<[Element]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    One(char),
    AnyOne,
    AnyRun,
}

impl Like {
    /// Makes a pattern ready.
    ///
    /// # Errors
    /// The escape character stands before a character that needs none.
    pub fn compile(pattern: &str, escape: Option<char>) -> Result<Self, EvalError> {
        Ok(Self(shape_of(elements_of(pattern, escape)?)))
    }

    /// Whether the whole of `text` matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match &self.0 {
            Shape::Equal(all) => text == &**all,
            Shape::Prefix(start) => text.starts_with(&**start),
            Shape::Suffix(end) => text.ends_with(&**end),
            Shape::Inside(part) => memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some(),
            Shape::Mixed(elements) => matches_elements(elements, text),
        }
    }
}

fn elements_of(pattern: &str, escape: Option<char>) -> Result<Vec<Element>, EvalError> {
    let mut elements = Vec::new();
    let mut chars = pattern.chars().enumerate().peekable();
    while let Some((at, c)) = chars.next() {
        let element = if Some(c) == escape {
            match chars.next() {
                Some((_, next)) if next == '%' || next == '_' || next == c => Element::One(next),
                _ => return Err(invalid_escape(pattern, at)),
            }
        } else {
            match c {
                '%' => Element::AnyRun,
                '_' => Element::AnyOne,
                other => Element::One(other),
            }
        };
        if element != Element::AnyRun || elements.last() != Some(&Element::AnyRun) {
            elements.push(element);
        }
    }
    Ok(elements)
}

fn shape_of(elements: Vec<Element>) -> Shape {
    let (open_start, rest) = match elements.as_slice() {
        [Element::AnyRun, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (open_end, middle) = match rest {
        [rest @ .., Element::AnyRun] => (true, rest),
        rest => (open_start && rest.is_empty(), rest),
    };
    let literal: Option<String> = middle
        .iter()
        .map(|element| match element {
            Element::One(c) => Some(*c),
            Element::AnyOne | Element::AnyRun => None,
        })
        .collect();
    let Some(literal) = literal.map(String::into_boxed_str) else {
        return Shape::Mixed(elements.into_boxed_slice());
    };
    match (open_start, open_end) {
        (false, false) => Shape::Equal(literal),
        (false, true) => Shape::Prefix(literal),
        (true, false) => Shape::Suffix(literal),
        (true, true) => Shape::Inside(literal),
    }
}

/// Walks both; on a mismatch lets the last `%` take one more character. Earlier
/// runs never need another try: the later one can take whatever they would.
fn matches_elements(elements: &[Element], text: &str) -> bool {
    let (mut element, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let next = text[at..].chars().next();
        let step = match (elements.get(element), next) {
            (Some(Element::AnyRun), _) => {
                retry = Some((element + 1, at));
                element += 1;
                continue;
            }
            (None, None) => return true,
            (Some(Element::One(wanted)), Some(c)) => *wanted == c,
            (Some(Element::AnyOne), Some(c)) => !is_line_end(c),
            (None, Some(_)) | (Some(_), None) => false,
        };
        if step {
            element += 1;
            at += next.map_or(0, char::len_utf8);
            continue;
        }
        let Some((after_run, run_end)) = retry else { return false };
        let Some(taken) = text[run_end..].chars().next() else { return false };
        let run_end = run_end + taken.len_utf8();
        retry = Some((after_run, run_end));
        (element, at) = (after_run, run_end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        Like::compile(pattern, None).unwrap().matches(text)
    }

    #[test]
    fn wildcards_stand_for_characters() {
        assert!(like("abc", "a%") && like("abc", "a_c") && like("", "%") && like("😀", "_"));
        assert!(like("abc", "abc") && like("abc", "%c") && like("abc", "%b%") && like("abc", "%%b%%"));
        assert!(!like("abc", "A%") && !like("abc", "b") && !like("a", "a_") && !like("ab", "a"));
        assert!(
            like("aXbXbc", "a%b_") && like("mississippi", "m%iss%pp_") && !like("mississippi", "m%iss%q")
        );
        assert!(like("a\\%c", "a\\%c") && !like("a%c", "a\\%c"));
    }

    #[test]
    fn line_ends_belong_to_runs_alone() {
        assert!(!like("a\nb", "a_b") && like("xa\nb", "_a%b") && !like("xa\nb", "_a_b"));
    }

    #[test]
    fn the_escape_character_makes_the_next_one_plain() {
        let escaped = |text: &str, pattern: &str| Like::compile(pattern, Some('!')).unwrap().matches(text);
        assert!(escaped("a%c", "a!%c") && !escaped("abc", "a!%c") && escaped("a!c", "a!!c"));
        let detail = |pattern: &str| Like::compile(pattern, Some('!')).unwrap_err().detail;
        assert_eq!(detail("a!bc"), "Invalid escape sequence 'a!bc', 1");
        assert_eq!(detail("abc!"), "Invalid escape sequence 'abc!', 3");
        assert_eq!(escape_character("!!").unwrap_err().detail, "Invalid escape character '!!'");
    }
}
