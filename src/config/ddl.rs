//! Items of a column list, as in `CREATE TABLE`: what each one says, types and expressions still text.

use super::Text;

/// One item of `columns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A column.
    Column(Column),
    /// `PRIMARY KEY (…) NOT ENFORCED`.
    PrimaryKey(Vec<String>),
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, without backticks.
    pub name: String,
    /// What it is.
    pub kind: ColumnKind,
    /// `PRIMARY KEY NOT ENFORCED` stands behind it.
    pub primary_key: bool,
}

/// What a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// `name TYPE`.
    Physical(TypeText),
    /// `name TYPE METADATA [FROM 'key'] [VIRTUAL]`.
    Metadata {
        /// Declared type.
        ty: TypeText,
        /// Metadata key; the column's name when there is no FROM.
        key: String,
        /// Not written by a sink.
        is_virtual: bool,
    },
    /// `name AS expression`.
    Computed {
        /// The expression.
        expression: String,
        /// Byte offset of the expression in the item.
        at: usize,
    },
}

/// A type as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeText {
    /// The type without NOT NULL.
    pub text: String,
    /// Byte offset in the item.
    pub at: usize,
    /// `NOT NULL` follows.
    pub not_null: bool,
}

/// What is wrong with an item: where (byte offset), what, and what to do.
pub type Wrong = (usize, String, String);

/// Reads one item.
///
/// # Errors
/// What is wrong with it.
pub fn parse_item(item: &Text) -> Result<Item, Wrong> {
    let text = item.value();
    let tokens = tokens(text)?;
    let mut words = Words { text, tokens: &tokens };
    if words.is_word(0, "WATERMARK") {
        return Err((
            0,
            "WATERMARK is not used".to_owned(),
            "remove it: lookups run in processing time".to_owned(),
        ));
    }
    if words.is_word(0, "CONSTRAINT") && words.is_word(2, "PRIMARY") {
        words.tokens = &words.tokens[2..];
    }
    if words.is_word(0, "PRIMARY") && words.is_word(1, "KEY") {
        return primary_key(&words).map(Item::PrimaryKey);
    }
    column(words).map(Item::Column)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenKind {
    Word,
    Quoted,
    String,
    Sign(char),
}

#[derive(Clone, Copy, Debug)]
struct Token {
    kind: TokenKind,
    start: usize,
    end: usize,
}

/// Tokens with a text behind them; a token that is not there matches nothing.
#[derive(Clone, Copy)]
struct Words<'a> {
    text: &'a str,
    tokens: &'a [Token],
}

impl<'a> Words<'a> {
    fn is_word(&self, i: usize, word: &str) -> bool {
        self.tokens.get(i).is_some_and(|token| {
            token.kind == TokenKind::Word && self.slice(token).eq_ignore_ascii_case(word)
        })
    }

    fn slice(&self, token: &Token) -> &'a str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    fn name(&self, i: usize) -> Option<String> {
        let token = self.tokens.get(i)?;
        match token.kind {
            TokenKind::Word => Some(self.slice(token).to_owned()),
            TokenKind::Quoted => Some(unquote(self.slice(token), '`')),
            TokenKind::String | TokenKind::Sign(_) => None,
        }
    }

    fn end(&self) -> usize {
        self.tokens.last().map_or(0, |token| token.end)
    }

    fn start(&self, i: usize) -> usize {
        self.tokens.get(i).map_or(self.text.len(), |token| token.start)
    }

    /// Cuts the last words off when they are `tail`.
    fn strip_tail(&mut self, tail: &[&str]) -> bool {
        let Some(from) = self.tokens.len().checked_sub(tail.len()) else { return false };
        let found = tail.iter().enumerate().all(|(i, word)| self.is_word(from + i, word));
        if found {
            self.tokens = &self.tokens[..from];
        }
        found
    }
}

fn column(mut words: Words<'_>) -> Result<Column, Wrong> {
    let Some(name) = words.name(0).filter(|name| !name.is_empty()) else {
        return Err((0, "a column begins with its name".to_owned(), COLUMN_HELP.to_owned()));
    };
    if words.is_word(1, "AS") {
        return computed(name, words);
    }
    strip_comment(&mut words);
    let primary_key = words.strip_tail(&["PRIMARY", "KEY", "NOT", "ENFORCED"]);
    if !primary_key && words.strip_tail(&["PRIMARY", "KEY"]) {
        return Err((words.end(), "PRIMARY KEY lacks NOT ENFORCED".to_owned(), NOT_ENFORCED.to_owned()));
    }
    let is_virtual = words.strip_tail(&["VIRTUAL"]);
    let key = metadata_key(&mut words, &name)?;
    if is_virtual && key.is_none() {
        return Err((words.end(), "VIRTUAL belongs to METADATA columns".to_owned(), COLUMN_HELP.to_owned()));
    }
    let ty = type_text(&name, words)?;
    let kind = match key {
        Some(key) => ColumnKind::Metadata { ty, key, is_virtual },
        None => ColumnKind::Physical(ty),
    };
    Ok(Column { name, kind, primary_key })
}

fn computed(name: String, words: Words<'_>) -> Result<Column, Wrong> {
    let at = words.start(2);
    let expression = words.text.get(at..).unwrap_or_default().trim().to_owned();
    if expression.is_empty() {
        return Err((at, format!("column '{name}' has no expression behind AS"), COLUMN_HELP.to_owned()));
    }
    Ok(Column { name, kind: ColumnKind::Computed { expression, at }, primary_key: false })
}

/// `COMMENT '…'` says nothing to a machine.
fn strip_comment(words: &mut Words<'_>) {
    let Some(from) = words.tokens.len().checked_sub(2) else { return };
    if words.is_word(from, "COMMENT") && words.tokens[from + 1].kind == TokenKind::String {
        words.tokens = &words.tokens[..from];
    }
}

fn metadata_key(words: &mut Words<'_>, name: &str) -> Result<Option<String>, Wrong> {
    if words.strip_tail(&["METADATA"]) {
        return Ok(Some(name.to_owned()));
    }
    let Some(from) = words.tokens.len().checked_sub(3) else { return Ok(None) };
    if !(words.is_word(from, "METADATA") && words.is_word(from + 1, "FROM")) {
        return Ok(None);
    }
    let key = &words.tokens[from + 2];
    if key.kind != TokenKind::String {
        return Err((
            key.start,
            "METADATA FROM takes a text in single quotes".to_owned(),
            COLUMN_HELP.to_owned(),
        ));
    }
    let key = unquote(words.slice(key), '\'');
    words.tokens = &words.tokens[..from];
    Ok(Some(key))
}

fn type_text(name: &str, mut words: Words<'_>) -> Result<TypeText, Wrong> {
    let not_null = words.strip_tail(&["NOT", "NULL"]);
    if !not_null {
        words.strip_tail(&["NULL"]);
    }
    if words.tokens.len() < 2 {
        return Err((words.end(), format!("column '{name}' has no type"), COLUMN_HELP.to_owned()));
    }
    let at = words.start(1);
    let text = words.text.get(at..words.end()).unwrap_or_default();
    if text.matches('(').count() != text.matches(')').count() {
        let help =
            "inside [ ] a comma ends the item: put it in quotes, or write the list with one '- ' per line";
        return Err((at, format!("parentheses of '{text}' do not close"), help.to_owned()));
    }
    Ok(TypeText { text: text.to_owned(), at, not_null })
}

fn primary_key(words: &Words<'_>) -> Result<Vec<String>, Wrong> {
    let mut rest = *words;
    if !rest.strip_tail(&["NOT", "ENFORCED"]) {
        return Err((0, "PRIMARY KEY lacks NOT ENFORCED".to_owned(), NOT_ENFORCED.to_owned()));
    }
    let wrong = || (0, "PRIMARY KEY takes column names in parentheses".to_owned(), KEY_HELP.to_owned());
    let is_sign =
        |i: usize, sign| rest.tokens.get(i).is_some_and(|token| token.kind == TokenKind::Sign(sign));
    let last = rest.tokens.len() - 1;
    if !is_sign(2, '(') || !is_sign(last, ')') {
        return Err(wrong());
    }
    let mut names = Vec::new();
    for i in (3..last).step_by(2) {
        names.push(rest.name(i).ok_or_else(wrong)?);
        if i + 1 < last && !is_sign(i + 1, ',') {
            return Err(wrong());
        }
    }
    if names.is_empty() || last.is_multiple_of(2) != (names.len() * 2 + 2).is_multiple_of(2) {
        return Err(wrong());
    }
    Ok(names)
}

const COLUMN_HELP: &str =
    "a column is `name TYPE [NOT NULL]`, `name TYPE METADATA [FROM 'key'] [VIRTUAL]` or `name AS expression`";
const KEY_HELP: &str = "write `PRIMARY KEY (a, b) NOT ENFORCED`";
const NOT_ENFORCED: &str =
    "write PRIMARY KEY … NOT ENFORCED: the key is the table's own promise, nobody checks it";

fn unquote(text: &str, quote: char) -> String {
    let inner = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)).unwrap_or(text);
    inner.replace(&format!("{quote}{quote}"), &quote.to_string())
}

fn tokens(text: &str) -> Result<Vec<Token>, Wrong> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let kind = match c {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '`' | '\'' => {
                at = quoted_end(text, at, c)?;
                if c == '`' { TokenKind::Quoted } else { TokenKind::String }
            }
            c if c.is_alphanumeric() || c == '_' || c == '$' => {
                let rest = &text[at..];
                at +=
                    rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
                TokenKind::Word
            }
            sign => {
                at += sign.len_utf8();
                TokenKind::Sign(sign)
            }
        };
        found.push(Token { kind, start, end: at });
    }
    Ok(found)
}

/// End of the quoted text that begins at `at`; a doubled quote stands for one.
fn quoted_end(text: &str, at: usize, quote: char) -> Result<usize, Wrong> {
    let mut end = at + 1;
    loop {
        let Some(next) = text[end..].find(quote) else {
            return Err((at, format!("a {quote} without its partner"), String::new()));
        };
        end += next + 1;
        if !text[end..].starts_with(quote) {
            return Ok(end);
        }
        end += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Span;

    fn item(text: &str) -> Result<Item, String> {
        parse_item(&Text::plain(&Span::file("t"), text)).map_err(|(_, what, _)| what)
    }

    fn column_of(text: &str) -> Column {
        match item(text) {
            Ok(Item::Column(column)) => column,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn ty(text: &str, at: usize, not_null: bool) -> TypeText {
        TypeText { text: text.into(), at, not_null }
    }

    #[test]
    fn physical_columns() {
        assert_eq!(column_of("a INT").kind, ColumnKind::Physical(ty("INT", 2, false)));
        assert_eq!(
            column_of("a DECIMAL(10, 2) NOT NULL").kind,
            ColumnKind::Physical(ty("DECIMAL(10, 2)", 2, true))
        );
        assert_eq!(column_of("`a b` MAP<STRING, INT NOT NULL>").name, "a b");
        let inline = column_of("id INT PRIMARY KEY NOT ENFORCED COMMENT 'the key'");
        assert!(inline.primary_key);
        assert_eq!(inline.kind, ColumnKind::Physical(ty("INT", 3, false)));
    }

    #[test]
    fn metadata_and_computed_columns() {
        let kind = column_of("ts TIMESTAMP_LTZ(3) NOT NULL METADATA FROM 'timestamp' VIRTUAL").kind;
        let expected = ColumnKind::Metadata {
            ty: ty("TIMESTAMP_LTZ(3)", 3, true),
            key: "timestamp".into(),
            is_virtual: true,
        };
        assert_eq!(kind, expected);
        let kind = column_of("`offset` BIGINT METADATA").kind;
        assert_eq!(
            kind,
            ColumnKind::Metadata { ty: ty("BIGINT", 9, false), key: "offset".into(), is_virtual: false }
        );
        let kind = column_of("proctime AS PROCTIME()").kind;
        assert_eq!(kind, ColumnKind::Computed { expression: "PROCTIME()".into(), at: 12 });
    }

    #[test]
    fn primary_keys() {
        let key =
            |names: &[&str]| Ok(Item::PrimaryKey(names.iter().map(|name| (*name).to_owned()).collect()));
        assert_eq!(item("PRIMARY KEY (a, `b c`) NOT ENFORCED"), key(&["a", "b c"]));
        assert_eq!(item("CONSTRAINT pk primary key (a) not enforced"), key(&["a"]));
        assert!(item("PRIMARY KEY (a)").unwrap_err().contains("NOT ENFORCED"));
        for wrong in [
            "PRIMARY KEY () NOT ENFORCED",
            "PRIMARY KEY (a,) NOT ENFORCED",
            "PRIMARY KEY a NOT ENFORCED",
            "PRIMARY KEY (a b) NOT ENFORCED",
        ] {
            assert!(item(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_column_is_refused() {
        assert_eq!(item("price DECIMAL(10").unwrap_err(), "parentheses of 'DECIMAL(10' do not close");
        assert_eq!(item("a").unwrap_err(), "column 'a' has no type");
        assert_eq!(item("2)").unwrap_err(), "parentheses of ')' do not close");
        assert!(item("WATERMARK FOR ts AS ts").unwrap_err().contains("WATERMARK"));
        assert!(item("a INT VIRTUAL").is_err());
        assert!(item("'a' INT").is_err());
    }
}
