//! UPPER, LOWER and INITCAP.
//!
//! The first two follow Unicode's full mappings, as Java's `String` does (`ß`
//! becomes `SS`). INITCAP knows ASCII letters and digits alone: any other
//! character ends a word. Calcite: `SqlFunctions.initcap`.

use bumpalo::Bump;
use bumpalo::collections::String as ArenaString;

/// UPPER.
pub fn upper<'a>(text: &'a str, arena: &'a Bump) -> &'a str {
    if text.is_ascii() {
        return ascii_mapped(text, arena, |byte| byte.is_ascii_lowercase(), str::make_ascii_uppercase);
    }
    arena.alloc_str(&text.to_uppercase())
}

/// LOWER.
pub fn lower<'a>(text: &'a str, arena: &'a Bump) -> &'a str {
    if text.is_ascii() {
        return ascii_mapped(text, arena, |byte| byte.is_ascii_uppercase(), str::make_ascii_lowercase);
    }
    arena.alloc_str(&text.to_lowercase())
}

/// Copies `text` only if a byte of it changes.
fn ascii_mapped<'a>(
    text: &'a str,
    arena: &'a Bump,
    changes: impl Fn(&u8) -> bool,
    map: impl Fn(&mut str),
) -> &'a str {
    if !text.as_bytes().iter().any(changes) {
        return text;
    }
    let copy = arena.alloc_str(text);
    map(copy);
    copy
}

/// INITCAP: the first letter of every word in upper case, the others in lower case.
pub fn initcap<'a>(text: &str, arena: &'a Bump) -> &'a str {
    let mut out = ArenaString::with_capacity_in(text.len(), arena);
    let mut in_word = false;
    for c in text.chars() {
        out.push(if in_word { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() });
        in_word = c.is_ascii_alphanumeric();
    }
    out.into_bump_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_follow_java() {
        let arena = Bump::new();
        assert_eq!(upper("aé ß", &arena), "AÉ SS");
        assert_eq!(lower("AÉİ", &arena), "aéi̇");
        assert_eq!(upper("abc1", &arena), "ABC1");
        assert_eq!(lower("ABC1", &arena), "abc1");
        assert_eq!(initcap("hello wORLD-foo bar_baz 1abc éa", &arena), "Hello World-Foo Bar_Baz 1abc éA");
    }

    #[test]
    fn text_that_does_not_change_is_not_copied() {
        let arena = Bump::new();
        let text = "ABC 1";
        assert!(std::ptr::eq(upper(text, &arena), text));
    }
}
