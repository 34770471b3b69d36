//! Walks over JSON text once, without building anything.
//!
//! Why not a parser crate: Flink's parser takes what strict parsers refuse
//! (unescaped control characters, text behind the first object), and a row needs
//! a few slices of the message, not a tree. What is standard JSON is tested
//! against `serde_json`.

use bumpalo::Bump;
use bumpalo::collections::String as BumpString;

use crate::format::word::{self, POWERS, number_at, quotes_and_backslashes};

/// Deepest nesting that is followed. Jackson: `StreamReadConstraints.DEFAULT_MAX_DEPTH`.
const DEPTH_MAX: u32 = 1000;

/// Digits that [`short_number`] takes: as many as an `i64` surely holds.
const SHORT_MAX: usize = 18;

/// Where and why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Byte offset.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// A value as it stands in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(&'a str),
    /// A string.
    Text(Text<'a>),
    /// An array, with its brackets.
    Array(&'a str),
    /// An object, with its braces.
    Object(&'a str),
}

/// What stands between the quotes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    /// The characters, escapes not resolved.
    pub raw: &'a str,
    /// Whether there are escapes.
    pub escaped: bool,
}

/// A position in a message.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of `text`.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Bytes passed so far.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// What is not passed yet.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// What was passed from `start` on.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        self.text.as_bytes().get(start..self.at).unwrap_or_default()
    }

    /// Goes on at a position that is known to be there.
    #[inline]
    pub(crate) fn go_to(&mut self, position: usize) {
        self.at = position;
    }

    /// The whole text.
    #[inline]
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn broken(&self, what: &'static str) -> Broken {
        Broken { at: self.at, what }
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// The first byte of the next value or punctuation; the position stays before it.
    #[inline]
    pub(crate) fn next_byte(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.peek()
    }

    /// Steps over `byte`, which must be next.
    pub(crate) fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Broken> {
        if self.next_byte() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.broken(what))
    }

    /// Steps over `byte` if it is next.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.next_byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// The next member of an object: its name, with the value next. `None` at the closing brace.
    /// `first` tells whether the opening brace was just passed.
    pub(crate) fn member(&mut self, first: bool) -> Result<Option<Text<'a>>, Broken> {
        if self.take(b'}') {
            return Ok(None);
        }
        if !first {
            self.expect(b',', "expected `,` or `}`")?;
        }
        self.expect(b'"', "expected a field name in double quotes")?;
        let name = self.text_to_quote()?;
        self.expect(b':', "expected `:`")?;
        Ok(Some(name))
    }

    /// Whether an array has a next element, with it next.
    pub(crate) fn element(&mut self, first: bool) -> Result<bool, Broken> {
        if self.take(b']') {
            return Ok(false);
        }
        if !first {
            self.expect(b',', "expected `,` or `]`")?;
        }
        Ok(true)
    }

    /// Passes the next value.
    pub(crate) fn value(&mut self) -> Result<Token<'a>, Broken> {
        self.value_at_depth(0)
    }

    fn value_at_depth(&mut self, depth: u32) -> Result<Token<'a>, Broken> {
        match self.next_byte() {
            Some(b'"') => {
                self.at += 1;
                Ok(Token::Text(self.text_to_quote()?))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b't') => self.word("true", Token::Bool(true)),
            Some(b'f') => self.word("false", Token::Bool(false)),
            Some(b'n') => self.word("null", Token::Null),
            Some(_) => Err(self.broken("expected a value")),
            None => Err(self.broken("the text ends where a value is expected")),
        }
    }

    #[inline]
    fn slice(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn word(&mut self, word: &str, token: Token<'a>) -> Result<Token<'a>, Broken> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let follows = rest.get(word.len()).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        if !rest.starts_with(word.as_bytes()) || follows {
            return Err(self.broken("expected a value"));
        }
        self.at += word.len();
        Ok(token)
    }

    fn digits(&mut self) -> Result<(), Broken> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if start == self.at { Err(self.broken("expected a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Token<'a>, Broken> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let leading_zero = self.peek() == Some(b'0');
        let digits_from = self.at;
        self.digits()?;
        if leading_zero && self.at > digits_from + 1 {
            return Err(self.broken("a number must not begin with 0"));
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Token::Number(self.slice(start)))
    }

    /// The characters up to the closing quote, which is passed too.
    #[inline]
    fn text_to_quote(&mut self) -> Result<Text<'a>, Broken> {
        let start = self.at;
        self.at += plain_prefix::<false>(self.rest());
        if self.peek() == Some(b'"') {
            let raw = self.slice(start);
            self.at += 1;
            return Ok(Text { raw, escaped: false });
        }
        self.escaped_text_to_quote(start)
    }

    /// The same, from the first backslash on.
    #[inline(never)]
    fn escaped_text_to_quote(&mut self, start: usize) -> Result<Text<'a>, Broken> {
        loop {
            match self.peek() {
                Some(b'"') => {
                    let raw = self.slice(start);
                    self.at += 1;
                    return Ok(Text { raw, escaped: true });
                }
                Some(_) => self.pass_escape()?,
                None => return Err(self.broken("the text ends within a string")),
            }
            self.at += plain_prefix::<false>(self.rest());
        }
    }

    fn pass_escape(&mut self) -> Result<(), Broken> {
        let rest = self.text.as_bytes().get(self.at + 1..).unwrap_or_default();
        match rest {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
            [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|x| x.is_ascii_hexdigit()) => self.at += 6,
            _ => return Err(self.broken("unknown escape")),
        }
        Ok(())
    }

    fn object(&mut self, depth: u32) -> Result<Token<'a>, Broken> {
        let start = self.open(depth)?;
        let mut first = true;
        while self.member(first)?.is_some() {
            self.value_at_depth(depth + 1)?;
            first = false;
        }
        Ok(Token::Object(self.slice(start)))
    }

    fn array(&mut self, depth: u32) -> Result<Token<'a>, Broken> {
        let start = self.open(depth)?;
        let mut first = true;
        while self.element(first)? {
            self.value_at_depth(depth + 1)?;
            first = false;
        }
        Ok(Token::Array(self.slice(start)))
    }

    fn open(&mut self, depth: u32) -> Result<usize, Broken> {
        if depth >= DEPTH_MAX {
            return Err(self.broken("nested more than 1000 levels deep"));
        }
        self.at += 1;
        Ok(self.at - 1)
    }
}

/// The integer of at most seven plain digits that begins at `at`, and its length. Anything else is left to
/// [`longer_number`], and then to [`Scanner::value`].
#[inline(always)]
pub(crate) fn short_integer(text: &[u8], at: usize) -> Option<(i64, usize)> {
    let (value, len) = number_at(text, at)?;
    if len == word::DIGITS || (len > 1 && text.get(at) == Some(&b'0')) || !ends_number(*text.get(at + len)?) {
        return None;
    }
    Some((value, len))
}

/// The number that begins at `at`, as `value × 10^-scale`, and its length: at most seven plain digits before the
/// point and after it, and no more of them after it than `scale`. Anything else is left as by [`short_integer`].
#[inline(always)]
pub(crate) fn short_number(text: &[u8], at: usize, scale: usize) -> Option<(i64, usize)> {
    let (whole, digits) = number_at(text, at)?;
    if digits == word::DIGITS || (digits > 1 && text.get(at) == Some(&b'0')) || digits + scale > SHORT_MAX {
        return None;
    }
    let point = at + digits;
    let (fraction, places) = match text.get(point)? {
        b'.' => number_at(text, point + 1)?,
        byte if ends_number(*byte) => return Some((whole * POWERS.get(scale)?, digits)),
        _ => return None,
    };
    let missing = scale.checked_sub(places)?;
    if places == word::DIGITS || !ends_number(*text.get(point + 1 + places)?) {
        return None;
    }
    Some(((whole * POWERS.get(places)? + fraction) * POWERS.get(missing)?, digits + 1 + places))
}

/// The same for numbers of up to 18 digits, with or without a sign and a point, wherever they stand.
pub(crate) fn longer_number(text: &[u8], scale: usize) -> Option<(i64, usize)> {
    match text {
        [b'-', digits @ ..] => unsigned(digits, scale).map(|(value, len)| (-value, len + 1)),
        digits => unsigned(digits, scale),
    }
}

fn unsigned(text: &[u8], scale: usize) -> Option<(i64, usize)> {
    let (mut value, mut at, mut point) = (0_i64, 0_usize, None);
    let end = loop {
        let byte = *text.get(at)?;
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 && at < SHORT_MAX {
            value = value * 10 + i64::from(digit);
        } else if byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            break byte;
        }
        at += 1;
    };
    let fraction = point.map_or(0, |point| at - point - 1);
    let whole = point.unwrap_or(at);
    let complete = ends_number(end) && whole > 0 && (point.is_none() || fraction > 0);
    let missing = scale.checked_sub(fraction)?;
    if !complete || (whole > 1 && text.first() == Some(&b'0')) || at + missing > SHORT_MAX {
        return None;
    }
    Some((value * POWERS.get(missing)?, at))
}

/// Whether a number ends before this byte, and what follows is right in every place where a value may stand.
#[inline]
fn ends_number(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']')
}

/// Length of the part in front without quotes and backslashes, and if `ASCII` without bytes that are not.
#[inline]
pub(crate) fn plain_prefix<const ASCII: bool>(text: &[u8]) -> usize {
    let (words, tail) = text.as_chunks();
    for (i, text) in words.iter().enumerate() {
        let text = u64::from_le_bytes(*text);
        let other = if ASCII { text & word::HIGHS } else { 0 };
        let found = quotes_and_backslashes(text) | other;
        if found != 0 {
            return i * word::DIGITS + word::first(found);
        }
    }
    let special = |b: &u8| matches!(b, b'"' | b'\\') || (ASCII && !b.is_ascii());
    text.len() - tail.len() + tail.iter().position(special).unwrap_or(tail.len())
}

impl<'a> Text<'a> {
    /// The string's value; one with escapes is built in `arena`. Half a surrogate pair becomes `?`,
    /// as in Flink's UTF-8 encoder.
    pub(crate) fn resolve(self, arena: &'a Bump) -> &'a str {
        if !self.escaped {
            return self.raw;
        }
        let mut out = BumpString::with_capacity_in(self.raw.len(), arena);
        let mut rest = self.raw;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            let (before, escape) = rest.split_at(at);
            out.push_str(before);
            let (c, len) = unescape(escape);
            out.push(c);
            rest = escape.get(len..).unwrap_or_default();
        }
        out.push_str(rest);
        out.into_bump_str()
    }
}

/// The character of the escape that `text` begins with, and the escape's length.
fn unescape(text: &str) -> (char, usize) {
    let c = match text.as_bytes().get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unescape_unicode(text),
        Some(other) => char::from(*other),
        None => '\\',
    };
    (c, 2)
}

fn unescape_unicode(text: &str) -> (char, usize) {
    let unit = |at: usize| u32::from_str_radix(text.get(at..at + 4)?, 16).ok();
    let first = unit(2).unwrap_or(u32::from(b'?'));
    if let Some(c) = char::from_u32(first) {
        return (c, 6);
    }
    let low = if text.get(6..8) == Some("\\u") { unit(8) } else { None };
    match low {
        Some(low) if first < 0xDC00 && (0xDC00..0xE000).contains(&low) => {
            let code = 0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00);
            (char::from_u32(code).unwrap_or('?'), 12)
        }
        _ => ('?', 6),
    }
}
