//! The text of an option as a value of its type.

use std::time::Duration;

use super::spec::{Choice, Kind};
use crate::config::parse_duration;

/// A value of an option.
#[derive(Clone, PartialEq, Eq)]
pub enum Typed {
    /// [`Kind::Text`], [`Kind::AnyText`] and [`Kind::Secret`].
    Text(String),
    /// [`Kind::Boolean`].
    Boolean(bool),
    /// [`Kind::Integer`].
    Integer(i64),
    /// [`Kind::Duration`].
    Duration(Duration),
    /// [`Kind::Choice`].
    Choice(&'static str),
    /// [`Kind::Character`].
    Character(char),
    /// [`Kind::PartitionOffsets`].
    PartitionOffsets(Vec<(i32, i64)>),
}

/// Why a text is no value of its option.
pub(super) struct Mistake {
    /// What the option takes: "must be …".
    pub expected: String,
    /// Words that it takes, when there is a list.
    pub allowed: Vec<&'static str>,
    /// More about it.
    pub help: String,
}

impl Mistake {
    fn expected(expected: impl Into<String>) -> Self {
        Self { expected: expected.into(), allowed: Vec::new(), help: String::new() }
    }
}

impl Kind {
    /// Reads `text`.
    pub(super) fn read(self, text: &str) -> Result<Typed, Mistake> {
        match self {
            Self::Text if text.is_empty() => Err(Mistake::expected("a text that is not empty")),
            Self::Text | Self::AnyText | Self::Secret => Ok(Typed::Text(text.to_owned())),
            Self::Boolean => match text.trim().to_ascii_lowercase().as_str() {
                "true" => Ok(Typed::Boolean(true)),
                "false" => Ok(Typed::Boolean(false)),
                _ => Err(Mistake { allowed: vec!["true", "false"], ..Mistake::expected("true or false") }),
            },
            Self::Integer(min, max) => integer(text, min, max),
            Self::Duration(min) => duration(text, min),
            Self::Choice(choices) => choice(text, choices),
            Self::Character => character(text),
            Self::PartitionOffsets => partition_offsets(text),
        }
    }
}

fn integer(text: &str, min: i64, max: i64) -> Result<Typed, Mistake> {
    let parsed = text.trim().parse().ok().filter(|number| (min..=max).contains(number));
    parsed.map(Typed::Integer).ok_or_else(|| {
        Mistake::expected(match max {
            i64::MAX => format!("a whole number, at least {min}"),
            _ => format!("a whole number from {min} to {max}"),
        })
    })
}

fn duration(text: &str, min: u64) -> Result<Typed, Mistake> {
    match parse_duration(text) {
        Ok(duration) if duration < Duration::from_millis(min) => {
            Err(Mistake::expected(format!("a duration of at least {min} ms")))
        }
        Ok(duration) => Ok(Typed::Duration(duration)),
        Err(help) => Err(Mistake { help, ..Mistake::expected("a duration") }),
    }
}

fn choice(text: &str, choices: &'static [Choice]) -> Result<Typed, Mistake> {
    let found = choices.iter().find(|choice| choice.name.eq_ignore_ascii_case(text.trim()));
    match found {
        Some(Choice { name, refused: None }) => Ok(Typed::Choice(name)),
        Some(Choice { name, refused: Some(why) }) => {
            Err(Mistake { help: format!("{name}: {why}"), ..one_of(choices) })
        }
        None => Err(one_of(choices)),
    }
}

fn one_of(choices: &'static [Choice]) -> Mistake {
    let allowed: Vec<_> =
        choices.iter().filter(|choice| choice.refused.is_none()).map(|choice| choice.name).collect();
    Mistake { allowed, ..Mistake::expected("one of the words allowed") }
}

fn character(text: &str) -> Result<Typed, Mistake> {
    let unescaped = unescape(text);
    let mut characters = unescaped.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(Typed::Character(character)),
        _ => Err(Mistake::expected("one character, such as ',' or '\\t'")),
    }
}

/// Java's escapes in a text: `\t`, `\n`, `\\`, `\u0001` (Flink: `StringEscapeUtils.unescapeJava`).
#[must_use]
pub fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let digits: String = rest.by_ref().take(4).collect();
                out.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
            }
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

fn partition_offsets(text: &str) -> Result<Typed, Mistake> {
    let wrong = || Mistake::expected("'partition:0,offset:42;partition:1,offset:300'");
    let mut found: Vec<(i32, i64)> = Vec::new();
    for pair in text.trim().trim_end_matches(';').split(';') {
        let (partition, offset) = pair.split_once(',').ok_or_else(wrong)?;
        let partition =
            partition.trim().strip_prefix("partition:").and_then(|number| number.trim().parse().ok());
        let offset = offset.trim().strip_prefix("offset:").and_then(|number| number.trim().parse().ok());
        match (partition, offset) {
            (Some(partition), Some(offset))
                if 0 <= partition && 0 <= offset && !found.iter().any(|(known, _)| *known == partition) =>
            {
                found.push((partition, offset));
            }
            _ => return Err(wrong()),
        }
    }
    Ok(Typed::PartitionOffsets(found))
}
