//! Text functions: cutting, padding, replacing and finding.
//!
//! Positions and lengths count code points, the first position is 1. What can
//! be cut out of an argument is borrowed from it; what must be built goes to the
//! arena and never grows beyond [`TEXT_BYTES_MAX`], whatever a row asks for.
//! Flink: `BinaryStringDataUtil`, `SqlFunctionUtils`.

use bumpalo::Bump;
use bumpalo::collections::String as ArenaString;

use super::invalid;
use crate::expr::EvalError;

/// Bytes of the longest text that a function builds. A record of Kafka holds
/// 1 MB unless the cluster is told otherwise; a text that cannot leave is a fault
/// of the row, not a reason to use up the memory.
pub const TEXT_BYTES_MAX: usize = 16 << 20;

fn check_length(function: &str, bytes: usize) -> Result<(), EvalError> {
    if bytes <= TEXT_BYTES_MAX {
        return Ok(());
    }
    Err(invalid(format!("{function} would build a text of more than {TEXT_BYTES_MAX} bytes")))
}

/// Byte position of the code point after the first `chars`; the length if there are fewer.
fn byte_of(text: &str, chars: usize) -> usize {
    if text.is_ascii() {
        return chars.min(text.len());
    }
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

/// A count that an integer of SQL means; negative ones are 0.
fn count(value: i64) -> usize {
    usize::try_from(value).unwrap_or(0)
}

/// Number of code points, as CHAR_LENGTH gives it.
#[must_use]
pub fn char_length(text: &str) -> i64 {
    text.chars().count() as i64
}

/// The parts one after the other: `||` and CONCAT.
///
/// # Errors
/// The result is too long.
pub fn concat<'a>(parts: &[&'a str], arena: &'a Bump) -> Result<&'a str, EvalError> {
    match parts {
        [] => return Ok(""),
        [one] => return Ok(one),
        _ => {}
    }
    let bytes = parts.iter().map(|part| part.len()).sum();
    check_length("CONCAT", bytes)?;
    let mut out = ArenaString::with_capacity_in(bytes, arena);
    parts.iter().for_each(|part| out.push_str(part));
    Ok(out.into_bump_str())
}

/// CONCAT_WS: the parts that are not NULL, `separator` between them.
///
/// # Errors
/// The result is too long.
pub fn concat_ws<'a>(
    separator: &str,
    parts: impl Iterator<Item = Option<&'a str>>,
    arena: &'a Bump,
) -> Result<&'a str, EvalError> {
    let mut out = ArenaString::new_in(arena);
    for (i, part) in parts.flatten().enumerate() {
        if i > 0 {
            out.push_str(separator);
        }
        out.push_str(part);
        check_length("CONCAT_WS", out.len())?;
    }
    Ok(out.into_bump_str())
}

/// Which ends TRIM cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// LTRIM, TRIM(LEADING …).
    Leading,
    /// RTRIM, TRIM(TRAILING …).
    Trailing,
    /// TRIM, BTRIM, TRIM(BOTH …).
    Both,
}

/// TRIM and its kin: cuts off every character of `set`.
#[must_use]
pub fn trim<'a>(text: &'a str, set: &str, ends: Ends) -> &'a str {
    let in_set = |c: char| set.contains(c);
    match ends {
        Ends::Leading => text.trim_start_matches(in_set),
        Ends::Trailing => text.trim_end_matches(in_set),
        Ends::Both => text.trim_matches(in_set),
    }
}

/// SUBSTRING: NULL for a negative length, `''` for a start outside the text;
/// start 0 acts as 1, a negative one counts from the end.
#[must_use]
pub fn substring(text: &str, start: i64, length: Option<i64>) -> Option<&str> {
    if length.is_some_and(|length| length < 0) {
        return None;
    }
    let skip = if start < 0 {
        let Some(skip) = char_length(text).checked_add(start).filter(|skip| *skip >= 0) else {
            return Some("");
        };
        skip
    } else {
        (start - 1).max(0)
    };
    let rest = &text[byte_of(text, count(skip))..];
    Some(length.map_or(rest, |length| &rest[..byte_of(rest, count(length))]))
}

/// LEFT: the first `length` characters, `''` for a negative length.
#[must_use]
pub fn left(text: &str, length: i64) -> &str {
    &text[..byte_of(text, count(length))]
}

/// RIGHT: the last `length` characters, `''` for a negative length.
#[must_use]
pub fn right(text: &str, length: i64) -> &str {
    let skip = char_length(text).saturating_sub(length.max(0));
    &text[byte_of(text, count(skip))..]
}

/// Which side of a text is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// LPAD.
    Left,
    /// RPAD.
    Right,
}

/// LPAD and RPAD: exactly `length` characters, cut or filled with `pad`. NULL
/// for a negative length or an empty `pad`.
///
/// # Errors
/// The result is too long.
pub fn pad<'a>(
    side: Side,
    text: &'a str,
    length: i64,
    pad: &str,
    arena: &'a Bump,
) -> Result<Option<&'a str>, EvalError> {
    if length < 0 || pad.is_empty() {
        return Ok(None);
    }
    let missing = length - char_length(text);
    if missing <= 0 {
        return Ok(Some(left(text, length)));
    }
    let widest = count(missing).saturating_mul(4).saturating_add(text.len());
    let function = if side == Side::Left { "LPAD" } else { "RPAD" };
    check_length(function, count(missing).max(text.len()))?;
    let mut out = ArenaString::with_capacity_in(widest.min(count(missing) + text.len()), arena);
    if side == Side::Right {
        out.push_str(text);
    }
    out.extend(pad.chars().cycle().take(count(missing)));
    if side == Side::Left {
        out.push_str(text);
    }
    Ok(Some(out.into_bump_str()))
}

/// REPLACE: every `search` becomes `replacement`; an empty `search` stands
/// before, between and after all characters.
///
/// # Errors
/// The result is too long.
pub fn replace<'a>(
    text: &'a str,
    search: &str,
    replacement: &str,
    arena: &'a Bump,
) -> Result<&'a str, EvalError> {
    let mut matches = text.match_indices(search).peekable();
    if matches.peek().is_none() {
        return Ok(text);
    }
    let mut out = ArenaString::with_capacity_in(text.len(), arena);
    let mut from = 0;
    for (at, found) in matches {
        out.push_str(&text[from..at]);
        out.push_str(replacement);
        from = at + found.len();
        check_length("REPLACE", out.len())?;
    }
    out.push_str(&text[from..]);
    Ok(out.into_bump_str())
}

/// REVERSE, by code points.
pub fn reverse<'a>(text: &str, arena: &'a Bump) -> &'a str {
    let mut out = ArenaString::with_capacity_in(text.len(), arena);
    out.extend(text.chars().rev());
    out.into_bump_str()
}

/// REPEAT: `''` for a count of 0 or less.
///
/// # Errors
/// The result is too long.
pub fn repeat<'a>(text: &'a str, times: i64, arena: &'a Bump) -> Result<&'a str, EvalError> {
    let bytes = text.len().saturating_mul(count(times));
    check_length("REPEAT", bytes)?;
    let mut out = ArenaString::with_capacity_in(bytes, arena);
    (0..count(times)).take_while(|_| !text.is_empty()).for_each(|_| out.push_str(text));
    Ok(out.into_bump_str())
}

/// OVERLAY: `placing` instead of `length` characters from `start`. A start
/// outside the text leaves it as it is; a length of 0 or less drops the rest.
pub fn overlay<'a>(
    text: &'a str,
    placing: &str,
    start: i64,
    length: Option<i64>,
    arena: &'a Bump,
) -> &'a str {
    if start <= 0 || start > char_length(text) {
        return text;
    }
    let length = length.unwrap_or_else(|| char_length(placing));
    let head = byte_of(text, count(start - 1));
    let tail = if length > 0 { byte_of(text, count((start - 1).saturating_add(length))) } else { text.len() };
    let mut out = ArenaString::with_capacity_in(text.len() + placing.len(), arena);
    out.push_str(&text[..head]);
    out.push_str(placing);
    out.push_str(&text[tail..]);
    out.into_bump_str()
}

/// POSITION and LOCATE: where `search` begins, not before position `from`; 0 if
/// nowhere. An empty `search` is found at 1.
#[must_use]
pub fn position(search: &str, text: &str, from: i64) -> i64 {
    if search.is_empty() {
        return 1;
    }
    let skip = byte_of(text, count(from.saturating_sub(1)));
    text[skip..].find(search).map_or(0, |at| char_length(&text[..skip + at]) + 1)
}

/// INSTR: where the `nth` occurrence of `search` begins; a negative `from`
/// searches backwards from that many characters before the end.
///
/// # Errors
/// `nth` is not positive.
pub fn instr(text: &str, search: &str, from: i64, nth: i64) -> Result<i64, EvalError> {
    if nth <= 0 {
        return Err(invalid(format!("INSTR asks for occurrence {nth}; the first is 1")));
    }
    if from == 0 {
        return Ok(0);
    }
    if from > 0 {
        return Ok(instr_forward(text, search, from, nth));
    }
    let scratch = Bump::new();
    let back = instr_forward(reverse(text, &scratch), reverse(search, &scratch), from.saturating_neg(), nth);
    Ok(if back == 0 { 0 } else { char_length(text) + 2 - back - char_length(search) })
}

fn instr_forward(text: &str, search: &str, mut from: i64, nth: i64) -> i64 {
    let mut found = 0;
    for _ in 0..nth {
        let next = position(search, text, from);
        // An empty text is found at the same place again and again.
        if next == 0 || next == found {
            return next;
        }
        found = next;
        from = found + 1;
    }
    found
}

/// ASCII: the first byte of the UTF-8 form as a signed number, 0 for `''`.
#[must_use]
pub fn ascii(text: &str) -> i64 {
    text.bytes().next().map_or(0, |byte| i64::from(byte.cast_signed()))
}

/// CHR: the character of the low 8 bits, `''` for a negative code.
pub fn chr(code: i64, arena: &Bump) -> &str {
    if code < 0 {
        return "";
    }
    arena.alloc_str(char::from((code & 0xff) as u8).encode_utf8(&mut [0; 4]))
}

/// SPLIT_INDEX with a text as separator: part `index`, counted from 0. NULL if
/// there is no such part or the text is empty; `''` as separator means white space.
#[must_use]
pub fn split_index<'a>(text: &'a str, separator: &str, index: i64) -> Option<&'a str> {
    if text.is_empty() {
        return None;
    }
    let index = usize::try_from(index).ok()?;
    if separator.is_empty() {
        return text.split(char::is_whitespace).nth(index);
    }
    text.split(separator).nth(index)
}

/// SPLIT_INDEX with the code of a character, 1 to 255, as separator.
#[must_use]
pub fn split_index_code(text: &str, code: i64, index: i64) -> Option<&str> {
    let separator = char::from(u8::try_from(code).ok().filter(|code| *code > 0)?);
    split_index(text, separator.encode_utf8(&mut [0; 4]), index)
}

/// TRANSLATE: every character of `from` becomes the one at the same place in
/// `to`, or nothing if `to` is shorter.
pub fn translate<'a>(text: &'a str, from: &str, to: &str, arena: &'a Bump) -> &'a str {
    if !text.contains(|c| from.contains(c)) {
        return text;
    }
    let mut out = ArenaString::with_capacity_in(text.len(), arena);
    for c in text.chars() {
        match from.chars().position(|candidate| candidate == c) {
            None => out.push(c),
            Some(at) => out.extend(to.chars().nth(at)),
        }
    }
    out.into_bump_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    #[test]
    fn positions_count_code_points() {
        assert_eq!(substring("a😀bc", 2, Some(2)), Some("😀b"));
        assert_eq!(substring("abcdef", -4, Some(2)), Some("cd"));
        assert_eq!(substring("abcdef", -10, None), Some(""));
        assert_eq!(substring("abcdef", 0, Some(2)), Some("ab"));
        assert_eq!(substring("abcdef", 2, Some(-1)), None);
        assert_eq!(substring("abc", i64::MIN, Some(i64::MAX)), Some(""));
        assert_eq!(substring("abc", i64::MAX, Some(i64::MAX)), Some(""));
        assert_eq!(right("a😀b", 2), "😀b");
        assert_eq!(right("abc", i64::MIN), "");
        assert_eq!(position("b", "😀b", 1), 2);
        assert_eq!(position("b", "abcb", 3), 4);
    }

    #[test]
    fn padding_is_cut_to_the_character() {
        let arena = Bump::new();
        assert_eq!(pad(Side::Left, "hi", 5, "?!", &arena), Ok(Some("?!?hi")));
        assert_eq!(pad(Side::Right, "hi", 5, "é", &arena), Ok(Some("hiééé")));
        assert_eq!(pad(Side::Left, "hello", 3, "?", &arena), Ok(Some("hel")));
        assert_eq!(pad(Side::Left, "hi", 5, "", &arena), Ok(None));
    }

    #[test]
    fn a_row_cannot_ask_for_all_memory() {
        let arena = Bump::new();
        let reason = |result: Result<Option<&str>, EvalError>| result.unwrap_err().reason;
        assert_eq!(reason(pad(Side::Left, "a", i64::MAX, "x", &arena)), Reason::InvalidArgument);
        assert_eq!(reason(repeat("abc", i64::MAX, &arena).map(Some)), Reason::InvalidArgument);
        let long = "a".repeat(TEXT_BYTES_MAX / 4);
        assert_eq!(reason(replace(&long, "a", "xxxxx", &arena).map(Some)), Reason::InvalidArgument);
        assert_eq!(repeat("", i64::MAX, &arena), Ok(""));
    }

    #[test]
    fn instr_counts_occurrences_from_either_end() {
        assert_eq!(instr("abcb", "b", 1, 2), Ok(4));
        assert_eq!(instr("abcb", "b", -1, 1), Ok(4));
        assert_eq!(instr("abcb", "b", -1, 2), Ok(2));
        assert_eq!(instr("abcb", "b", 0, 1), Ok(0));
        assert_eq!(instr("abcb", "b", 1, 3), Ok(0));
        assert_eq!(instr("abc", "", 1, i64::MAX), Ok(1));
        assert!(instr("abc", "b", 1, 0).is_err());
    }

    #[test]
    fn splitting_keeps_empty_parts() {
        assert_eq!(split_index("a,,c", ",", 1), Some(""));
        assert_eq!(split_index("a,b", ",", 2), None);
        assert_eq!(split_index("", ",", 0), None);
        assert_eq!(split_index("a b", "", 1), Some("b"));
        assert_eq!(split_index_code("a,b", 44, 1), Some("b"));
        assert_eq!(split_index_code("a,b", 0, 0), None);
    }

    #[test]
    fn overlay_with_no_length_replaces_as_much_as_it_places() {
        let arena = Bump::new();
        assert_eq!(overlay("abcdef", "XY", 3, None, &arena), "abXYef");
        assert_eq!(overlay("abcdef", "XY", 3, Some(0), &arena), "abXY");
        assert_eq!(overlay("abcdef", "XY", 3, Some(i64::MAX), &arena), "abXY");
        assert_eq!(overlay("abc", "X", 10, None, &arena), "abc");
    }
}
