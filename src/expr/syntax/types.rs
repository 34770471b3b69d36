//! SQL types as text: `DECIMAL(10, 2) NOT NULL`, `ROW<id INT, tags ARRAY<STRING>>`.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::super::CompileError;
use crate::model::{DataType, Field, Type};

/// Longest CHAR, VARCHAR, BINARY, VARBINARY. Flink: `VarCharType.MAX_LENGTH`.
const MAX_LENGTH: u64 = i32::MAX as u64;

/// Most digits of a DECIMAL. Flink: `DecimalType.MAX_PRECISION`.
const MAX_DECIMAL: u64 = 38;

/// Deepest nesting of ARRAY, MAP and ROW.
const MAX_DEPTH: u32 = 32;

/// What happens to a DECIMAL of more than 38 digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    /// It is a fault: column types.
    Refused,
    /// It is DECIMAL(38, …), as in Flink's CAST.
    Clamped,
}

/// Reads a type from all of `tokens`.
pub(super) fn from_tokens(tokens: &[TokenWithSpan], excess: Excess) -> Result<DataType, CompileError> {
    let tokens = flatten(tokens);
    let mut reader = Reader { tokens: &tokens, at: 0, excess, depth: 0 };
    let ty = reader.data_type()?;
    if let Some(rest) = reader.tokens.get(reader.at) {
        return Err(fault(format!("unexpected \"{rest}\" after the type {ty}")));
    }
    Ok(ty)
}

/// Significant tokens, with `>>` as two and `<>` as `<` and `>`.
fn flatten(tokens: &[TokenWithSpan]) -> Vec<Token> {
    let mut out = Vec::with_capacity(tokens.len());
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) | Token::EOF => {}
            Token::ShiftRight => out.extend([Token::Gt, Token::Gt]),
            Token::Neq => out.extend([Token::Lt, Token::Gt]),
            other => out.push(other.clone()),
        }
    }
    out
}

struct Reader<'t> {
    tokens: &'t [Token],
    at: usize,
    excess: Excess,
    depth: u32,
}

impl Reader<'_> {
    fn data_type(&mut self) -> Result<DataType, CompileError> {
        if self.depth >= MAX_DEPTH {
            return Err(fault(format!("a type may be nested {MAX_DEPTH} levels deep at most")));
        }
        self.depth += 1;
        let kind = self.kind()?;
        self.depth -= 1;
        if self.word("NOT") {
            if !self.word("NULL") {
                return Err(fault(format!("NOT after {kind} must be followed by NULL")));
            }
            return Ok(kind.not_null());
        }
        let _ = self.word("NULL");
        Ok(kind.nullable())
    }

    fn kind(&mut self) -> Result<Type, CompileError> {
        let Some(name) = self.any_word() else {
            return Err(match self.tokens.get(self.at) {
                Some(token) => fault(format!("\"{token}\" stands where a type is expected")),
                None => fault("a type is missing".to_owned()),
            });
        };
        let name = name.to_ascii_uppercase();
        match name.as_str() {
            "CHAR" | "CHARACTER" if self.word("VARYING") => Ok(Type::Varchar(self.length()?)),
            "CHAR" | "CHARACTER" => Ok(Type::Char(self.length()?)),
            "VARCHAR" => Ok(Type::Varchar(self.length()?)),
            "BINARY" if self.word("VARYING") => Ok(Type::Varbinary(self.length()?)),
            "BINARY" => Ok(Type::Binary(self.length()?)),
            "VARBINARY" => Ok(Type::Varbinary(self.length()?)),
            "DECIMAL" | "NUMERIC" | "DEC" => self.decimal(),
            "TIME" => self.time(),
            "TIMESTAMP" => self.timestamp(),
            "TIMESTAMP_LTZ" => Ok(Type::TimestampLtz(self.fraction(6, "TIMESTAMP_LTZ")?)),
            "ARRAY" => self.array(),
            "MAP" => self.map(),
            "ROW" => self.row(),
            "DOUBLE" => {
                let _ = self.word("PRECISION");
                Ok(Type::Double)
            }
            _ => plain(&name),
        }
    }

    /// `(n)`, 1 when left out.
    fn length(&mut self) -> Result<u32, CompileError> {
        let numbers = self.numbers()?;
        match numbers.as_slice() {
            [] => Ok(1),
            [n] if (1..=MAX_LENGTH).contains(n) => Ok(*n as u32),
            _ => Err(fault(format!("a length must be one number from 1 to {MAX_LENGTH}"))),
        }
    }

    fn decimal(&mut self) -> Result<Type, CompileError> {
        let numbers = self.numbers()?;
        let (precision, scale) = match numbers.as_slice() {
            [] => (10, 0),
            [p] => (*p, 0),
            [p, s] => (*p, *s),
            _ => return Err(fault("DECIMAL takes a precision and a scale".to_owned())),
        };
        let precision = if self.excess == Excess::Clamped { precision.min(MAX_DECIMAL) } else { precision };
        if !(1..=MAX_DECIMAL).contains(&precision) {
            return Err(fault(format!(
                "the precision of DECIMAL must be 1 to {MAX_DECIMAL}, not {precision}"
            )));
        }
        if scale > precision {
            return Err(fault(format!(
                "the scale of DECIMAL must be 0 to its precision {precision}, not {scale}"
            )));
        }
        Ok(Type::Decimal { precision: precision as u8, scale: scale as u8 })
    }

    fn time(&mut self) -> Result<Type, CompileError> {
        let precision = self.fraction(0, "TIME")?;
        self.without_time_zone()?;
        Ok(Type::Time(precision))
    }

    fn timestamp(&mut self) -> Result<Type, CompileError> {
        let precision = self.fraction(6, "TIMESTAMP")?;
        if self.word("WITH") {
            if self.word("LOCAL") && self.word("TIME") && self.word("ZONE") {
                return Ok(Type::TimestampLtz(precision));
            }
            return Err(fault("TIMESTAMP WITH TIME ZONE does not exist; use TIMESTAMP_LTZ".to_owned()));
        }
        self.without_time_zone()?;
        Ok(Type::Timestamp(precision))
    }

    fn without_time_zone(&mut self) -> Result<(), CompileError> {
        if self.word("WITHOUT") && !(self.word("TIME") && self.word("ZONE")) {
            return Err(fault("WITHOUT must be followed by TIME ZONE".to_owned()));
        }
        Ok(())
    }

    /// `(p)` fraction digits of a time.
    fn fraction(&mut self, default: u8, name: &str) -> Result<u8, CompileError> {
        let numbers = self.numbers()?;
        match numbers.as_slice() {
            [] => Ok(default),
            [p] if *p <= 9 => Ok(*p as u8),
            _ => Err(fault(format!("{name} takes one precision from 0 to 9"))),
        }
    }

    fn array(&mut self) -> Result<Type, CompileError> {
        self.expect(&Token::Lt, "ARRAY")?;
        let element = self.data_type()?;
        self.expect(&Token::Gt, "ARRAY")?;
        Ok(Type::Array(Box::new(element)))
    }

    fn map(&mut self) -> Result<Type, CompileError> {
        self.expect(&Token::Lt, "MAP")?;
        let key = self.data_type()?;
        self.expect(&Token::Comma, "MAP")?;
        let value = self.data_type()?;
        self.expect(&Token::Gt, "MAP")?;
        Ok(Type::Map(Box::new(key), Box::new(value)))
    }

    /// `ROW<name type ['comment'], …>`, also with parentheses.
    fn row(&mut self) -> Result<Type, CompileError> {
        let close = if self.token(&Token::LParen) {
            Token::RParen
        } else {
            self.expect(&Token::Lt, "ROW")?;
            Token::Gt
        };
        let mut fields: Vec<Field> = Vec::new();
        while !self.token(&close) {
            if !fields.is_empty() {
                self.expect(&Token::Comma, "ROW")?;
            }
            let Some(name) = self.any_word().map(str::to_owned) else {
                return Err(fault("a field of ROW needs a name and a type".to_owned()));
            };
            let ty = self.data_type()?;
            if let Some(Token::SingleQuotedString(_)) = self.tokens.get(self.at) {
                self.at += 1;
            }
            if fields.iter().any(|field| field.name == name) {
                return Err(fault(format!("ROW has two fields named {name}")));
            }
            fields.push(Field { name, ty });
        }
        Ok(Type::Row(fields))
    }

    /// `(n, …)`; empty when there is no parenthesis.
    fn numbers(&mut self) -> Result<Vec<u64>, CompileError> {
        let mut numbers = Vec::new();
        if !self.token(&Token::LParen) {
            return Ok(numbers);
        }
        loop {
            let number = match self.tokens.get(self.at) {
                Some(Token::Number(digits, false)) => digits.parse::<u64>().ok(),
                _ => None,
            };
            let Some(number) = number else {
                return Err(fault("a whole number is expected between the parentheses of a type".to_owned()));
            };
            self.at += 1;
            numbers.push(number);
            if self.token(&Token::RParen) {
                return Ok(numbers);
            }
            self.expect(&Token::Comma, "the parentheses of a type")?;
        }
    }

    fn any_word(&mut self) -> Option<&str> {
        let Some(Token::Word(word)) = self.tokens.get(self.at) else { return None };
        self.at += 1;
        Some(&word.value)
    }

    fn word(&mut self, expected: &str) -> bool {
        let found = matches!(
            self.tokens.get(self.at),
            Some(Token::Word(w)) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(expected)
        );
        self.at += usize::from(found);
        found
    }

    fn token(&mut self, expected: &Token) -> bool {
        let found = self.tokens.get(self.at) == Some(expected);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, expected: &Token, place: &str) -> Result<(), CompileError> {
        if self.token(expected) {
            return Ok(());
        }
        Err(match self.tokens.get(self.at) {
            Some(found) => fault(format!("\"{expected}\" is expected in {place}, not \"{found}\"")),
            None => fault(format!("\"{expected}\" is missing in {place}")),
        })
    }
}

/// Types that take no parameters.
const PLAIN: [(&str, Type); 12] = [
    ("BOOLEAN", Type::Boolean),
    ("TINYINT", Type::TinyInt),
    ("SMALLINT", Type::SmallInt),
    ("INT", Type::Int),
    ("INTEGER", Type::Int),
    ("BIGINT", Type::BigInt),
    ("FLOAT", Type::Float),
    ("STRING", Type::STRING),
    ("BYTES", Type::BYTES),
    ("DATE", Type::Date),
    ("INTERVAL MONTH", Type::IntervalMonths),
    ("INTERVAL SECOND(3)", Type::IntervalMillis),
];

/// Names of all types, for the nearest one.
const NAMES: [&str; 27] = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "INTEGER",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "NUMERIC",
    "DEC",
    "CHAR",
    "CHARACTER",
    "VARCHAR",
    "STRING",
    "BINARY",
    "VARBINARY",
    "BYTES",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMP_LTZ",
    "ARRAY",
    "MAP",
    "ROW",
    "BOOLEAN",
    "BIGINT",
];

/// Names that other systems use, and what they are called here.
const FOREIGN: [(&str, &str); 12] = [
    ("TEXT", "STRING"),
    ("BLOB", "BYTES"),
    ("LONG", "BIGINT"),
    ("BOOL", "BOOLEAN"),
    ("DATETIME", "TIMESTAMP(0)"),
    ("REAL", "FLOAT"),
    ("INT64", "BIGINT"),
    ("INT32", "INT"),
    ("FLOAT64", "DOUBLE"),
    ("NVARCHAR", "VARCHAR"),
    ("TIMESTAMPTZ", "TIMESTAMP_LTZ"),
    ("LONGTEXT", "STRING"),
];

fn plain(name: &str) -> Result<Type, CompileError> {
    if let Some((_, ty)) = PLAIN.iter().find(|(known, _)| *known == name) {
        return Ok(ty.clone());
    }
    let foreign = FOREIGN.iter().find(|(other, _)| *other == name).map(|(_, ours)| (*ours).to_owned());
    let nearest =
        foreign.or_else(|| super::super::scope::nearest(name, NAMES.iter().copied()).map(str::to_owned));
    let help = nearest.map(|ours| format!("did you mean {ours}?")).unwrap_or_default();
    Err(CompileError { at: None, message: format!("there is no type {name}"), help })
}

fn fault(message: String) -> CompileError {
    CompileError { at: None, message, help: String::new() }
}
