//! The fields of the first line of a message.
//!
//! One message is one row: what stands behind the first line is not read. A
//! quoted field may hold delimiters and line breaks; blanks behind its closing
//! quote are passed over. Jackson: `CsvDecoder`.

use bumpalo::Bump;
use bumpalo::collections::{String as BumpString, Vec as BumpVec};

use crate::plan::CsvOptions;

/// Characters with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub delimiter: char,
    pub quote: Option<char>,
    pub escape: Option<char>,
    pub comments: bool,
    pub trim: bool,
}

impl Dialect {
    pub(super) fn of(options: &CsvOptions) -> Self {
        Self {
            delimiter: options.field_delimiter,
            quote: options.quote,
            escape: options.escape,
            comments: options.allow_comments,
            trim: options.trim_spaces,
        }
    }
}

/// The text of every field of the first line; `Err` says what is wrong.
pub(super) fn fields<'a>(
    text: &'a str,
    dialect: Dialect,
    arena: &'a Bump,
) -> Result<BumpVec<'a, &'a str>, &'static str> {
    let mut fields = BumpVec::new_in(arena);
    let mut rest = if dialect.comments { skip_comments(text) } else { text };
    if rest.is_empty() {
        return Err("there is no line to read");
    }
    loop {
        let field = next_field(rest, dialect, arena)?;
        fields.push(field.value);
        match field.next {
            Some(next) => rest = next,
            None => return Ok(fields),
        }
    }
}

/// Passes lines that begin with `#` (and, with them, blank ones and blanks).
fn skip_comments(text: &str) -> &str {
    let mut rest = text.trim_start_matches([' ', '\r', '\n']);
    while rest.starts_with('#') {
        let end = rest.find(['\r', '\n']).unwrap_or(rest.len());
        rest = rest.get(end..).unwrap_or_default().trim_start_matches([' ', '\r', '\n']);
    }
    rest
}

struct Field<'a> {
    value: &'a str,
    /// What follows the delimiter; `None` at the end of the line.
    next: Option<&'a str>,
}

fn next_field<'a>(text: &'a str, dialect: Dialect, arena: &'a Bump) -> Result<Field<'a>, &'static str> {
    let blank = |c: char| c <= ' ' && c != dialect.delimiter && c != '\r' && c != '\n';
    let text = if dialect.trim { text.trim_start_matches(blank) } else { text };
    match dialect.quote.and_then(|quote| text.strip_prefix(quote)) {
        Some(quoted) => quoted_field(quoted, dialect, arena),
        None => plain_field(text, dialect, arena),
    }
}

fn plain_field<'a>(text: &'a str, dialect: Dialect, arena: &'a Bump) -> Result<Field<'a>, &'static str> {
    let special = |c: char| c == dialect.delimiter || c == '\n' || c == '\r' || Some(c) == dialect.escape;
    let mut built: Option<BumpString<'a>> = None;
    let mut rest = text;
    loop {
        let end = rest.find(special).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        let escaped = behind.chars().next().is_some_and(|c| Some(c) == dialect.escape);
        if !escaped {
            let value = match built {
                None => part,
                Some(mut built) => {
                    built.push_str(part);
                    built.into_bump_str()
                }
            };
            let value = if dialect.trim { value.trim_matches(|c| c <= ' ') } else { value };
            return Ok(Field { value, next: behind.strip_prefix(dialect.delimiter) });
        }
        let built = built.get_or_insert_with(|| BumpString::new_in(arena));
        built.push_str(part);
        rest = unescape(behind, built)?;
    }
}

fn quoted_field<'a>(text: &'a str, dialect: Dialect, arena: &'a Bump) -> Result<Field<'a>, &'static str> {
    let quote = dialect.quote.unwrap_or('"');
    let special = |c: char| c == quote || Some(c) == dialect.escape;
    let mut built: Option<BumpString<'a>> = None;
    let mut rest = text;
    loop {
        let end = rest.find(special).ok_or("a quoted field has no closing quote")?;
        let (part, behind) = rest.split_at(end);
        let after_quote = behind.strip_prefix(quote);
        if let Some(after) = after_quote
            && !after.starts_with(quote)
        {
            let value = match built {
                None => part,
                Some(mut built) => {
                    built.push_str(part);
                    built.into_bump_str()
                }
            };
            return behind_quote(after, dialect).map(|next| Field { value, next });
        }
        let built = built.get_or_insert_with(|| BumpString::new_in(arena));
        built.push_str(part);
        rest = match after_quote {
            Some(after) => {
                built.push(quote);
                after.strip_prefix(quote).unwrap_or_default()
            }
            None => unescape(behind, built)?,
        };
    }
}

/// What follows the delimiter behind a closing quote; `None` at the end of the line.
fn behind_quote(text: &str, dialect: Dialect) -> Result<Option<&str>, &'static str> {
    let blank = |c: char| c <= ' ' && c != dialect.delimiter && c != '\r' && c != '\n';
    let rest = text.trim_start_matches(blank);
    if rest.is_empty() || rest.starts_with(['\r', '\n']) {
        return Ok(None);
    }
    rest.strip_prefix(dialect.delimiter)
        .map(Some)
        .ok_or("a closing quote is followed by something other than a delimiter")
}

/// Adds the character that `text`, which begins with the escape character, stands for; gives the rest.
fn unescape<'a>(text: &'a str, out: &mut BumpString<'_>) -> Result<&'a str, &'static str> {
    let mut chars = text.chars();
    chars.next();
    let c = chars.next().ok_or("the line ends within an escape")?;
    out.push(match c {
        '0' => '\0',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    });
    Ok(chars.as_str())
}
