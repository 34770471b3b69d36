//! SIMILAR TO: SQL's regular expressions, rewritten for the `regex` crate.
//!
//! The whole text must match. `%` and `_` are as in LIKE; `[…]`, `|`, `*`, `+`,
//! `?`, `{m,n}` and `(…)` are as in POSIX; `.`, which SQL does not know, is any
//! one character, as in Flink. Flink: `SqlLikeUtils.sqlToRegexSimilar`.

use regex::{Regex, RegexBuilder};

use super::invalid;
use super::like::invalid_escape;
use crate::expr::EvalError;

/// Memory of a compiled pattern. A pattern may come from a column.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Any character but a line end.
const ANY_ONE: &str = r"[^\n\r\x{85}\x{2028}\x{2029}]";

/// Characters that mean something in SIMILAR TO, and so may be escaped.
const SPECIAL: &str = "[]()|^-+*_%?{}";

/// The named classes that may stand inside `[…]`.
const CLASSES: [(&str, &str); 7] = [
    ("[:ALPHA:]", "A-Za-z"),
    ("[:UPPER:]", "A-Z"),
    ("[:LOWER:]", "a-z"),
    ("[:DIGIT:]", "0-9"),
    ("[:SPACE:]", " "),
    ("[:WHITESPACE:]", r"\t\n\x0B\f\r "),
    ("[:ALNUM:]", "A-Za-z0-9"),
];

/// A SIMILAR TO pattern, ready to match.
#[derive(Clone, Debug)]
pub struct Similar(Regex);

impl Similar {
    /// Makes a pattern ready.
    ///
    /// # Errors
    /// The pattern is not well formed, or too large.
    pub fn compile(pattern: &str, escape: Option<char>) -> Result<Self, EvalError> {
        let rewritten = Rewriter::new(pattern, escape).rewrite()?;
        RegexBuilder::new(&format!(r"\A(?:{rewritten})\z"))
            .size_limit(PATTERN_BYTES_MAX)
            .build()
            .map(Self)
            .map_err(|_| malformed(pattern, 0))
    }

    /// Whether the whole of `text` matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

fn malformed(pattern: &str, at: usize) -> EvalError {
    invalid(format!("Invalid regular expression '{pattern}', {at}"))
}

/// Walks the pattern once and writes the regular expression.
struct Rewriter<'p> {
    pattern: &'p str,
    chars: Vec<char>,
    at: usize,
    escape: Option<char>,
    out: String,
}

impl<'p> Rewriter<'p> {
    fn new(pattern: &'p str, escape: Option<char>) -> Self {
        Self { pattern, chars: pattern.chars().collect(), at: 0, escape, out: String::new() }
    }

    fn rewrite(mut self) -> Result<String, EvalError> {
        while let Some(c) = self.next() {
            match c {
                c if Some(c) == self.escape => self.escaped()?,
                '_' | '.' => self.out.push_str(ANY_ONE),
                '%' => self.out.push_str("(?s:.*)"),
                '[' => self.enumeration()?,
                ']' => return Err(malformed(self.pattern, self.at - 1)),
                '(' | ')' | '|' | '*' | '+' | '?' | '{' | '}' | '^' => self.out.push(c),
                other => self.literal(other),
            }
        }
        Ok(self.out)
    }

    fn next(&mut self) -> Option<char> {
        let c = self.chars.get(self.at).copied()?;
        self.at += 1;
        Some(c)
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii_punctuation() {
            self.out.push('\\');
        }
        self.out.push(c);
    }

    /// After the escape character: the next one is plain.
    fn escaped(&mut self) -> Result<(), EvalError> {
        let at = self.at - 1;
        let next = self.next().filter(|next| SPECIAL.contains(*next) || Some(*next) == self.escape);
        self.literal(next.ok_or_else(|| invalid_escape(self.pattern, at))?);
        Ok(())
    }

    /// After `[`: up to the closing bracket.
    fn enumeration(&mut self) -> Result<(), EvalError> {
        self.out.push('[');
        loop {
            if let Some((name, class)) = self.class() {
                self.out.push_str(class);
                self.at += name;
                continue;
            }
            match self.next() {
                Some(']') => break,
                Some(c) if Some(c) == self.escape => self.escaped()?,
                Some(c @ ('-' | '^')) => self.out.push(c),
                Some(c) if !SPECIAL.contains(c) => self.literal(c),
                _ => return Err(malformed(self.pattern, self.at.saturating_sub(1))),
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// A class name at this place: its length and what it stands for. Names are
    /// written all in capitals or all in small letters.
    fn class(&self) -> Option<(usize, &'static str)> {
        let rest = self.chars.get(self.at..)?;
        let starts = |name: &str| name.chars().enumerate().all(|(i, c)| rest.get(i) == Some(&c));
        CLASSES
            .iter()
            .find(|(name, _)| starts(name) || starts(&name.to_ascii_lowercase()))
            .map(|(name, class)| (name.len(), *class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar(text: &str, pattern: &str) -> bool {
        Similar::compile(pattern, Some('!')).unwrap().matches(text)
    }

    #[test]
    fn the_whole_text_must_match() {
        assert!(similar("abc", "a(b|x)c") && similar("abc", "a%") && similar("abc", "[a-c]+"));
        assert!(!similar("abc", "b") && !similar("abc", "a|b") && similar("abc", "a.c"));
        assert!(
            similar("a1", "a[[:DIGIT:]]") && similar("a1", "[[:alnum:]]{2}") && !similar("é", "[[:ALPHA:]]")
        );
    }

    #[test]
    fn characters_of_other_dialects_are_plain() {
        assert!(similar("a%c", "a!%c") && similar("a$c", "a$c") && similar(r"a\d", r"a\d"));
        assert!(similar("a&&b", "a[&]{2}b") && similar("a~", "a[~b]"));
        assert!(!similar("a\nb", "a_b") && similar("a\nb", "a%b"));
    }

    #[test]
    fn malformed_patterns_are_refused() {
        for pattern in ["[a", "a]", "(a", "a!b", "a!", "[a%]", "a{1000}{1000}"] {
            assert!(Similar::compile(pattern, Some('!')).is_err(), "{pattern}");
        }
    }
}
