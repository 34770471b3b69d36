//! Flink's way of writing expressions, told to the SQL parser.
//!
//! The parser library knows the shapes that SQL dialects share. What Flink
//! writes differently is read here: types of CAST, typed literals, `BETWEEN
//! SYMMETRIC`, `(a - b) DAY`, array and map constructors.

use sqlparser::ast::{CastKind, Value as SqlValue};
use sqlparser::ast::{DataType as SqlType, Expr, Ident, ObjectName, TypedString};
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::types;

/// Word that marks the low bound of `BETWEEN SYMMETRIC` in the tree.
pub(in crate::expr) const SYMMETRIC: &str = "SYMMETRIC";

/// Word that marks the items of `MAP[k, v, …]` in the tree.
pub(in crate::expr) const MAP_CONSTRUCTOR: &str = "MAP";

/// The dialect.
#[derive(Debug)]
pub(super) struct FlinkDialect;

impl Dialect for FlinkDialect {
    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_alphanumeric() || ch == '_' || ch == '$'
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '`'
    }

    fn supports_unicode_string_literal(&self) -> bool {
        true
    }

    fn allow_extract_custom(&self) -> bool {
        true
    }

    fn is_interval_qualifier(&self, keyword: Keyword) -> bool {
        is_interval_unit(keyword)
    }

    /// `IN ()` reaches the binder, which says what is wrong with it.
    fn supports_in_empty_list(&self) -> bool {
        true
    }

    /// IN, BETWEEN and LIKE bind tighter than comparisons, as in Calcite.
    fn prec_value(&self, prec: Precedence) -> u8 {
        match prec {
            Precedence::Period => 100,
            Precedence::DoubleColon => 50,
            Precedence::AtTz => 41,
            Precedence::MulDivModOp => 40,
            Precedence::PlusMinus => 30,
            Precedence::Xor => 26,
            Precedence::Ampersand => 25,
            Precedence::Caret => 24,
            Precedence::Pipe | Precedence::Colon | Precedence::PgOther => 23,
            Precedence::Between | Precedence::Like => 20,
            Precedence::Eq => 18,
            Precedence::Is => 17,
            Precedence::UnaryNot => 15,
            Precedence::And => 10,
            Precedence::Or => 5,
        }
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let Token::Word(word) = &parser.peek_token_ref().token else { return None };
        if word.quote_style.is_some() {
            return None;
        }
        let next = &parser.peek_nth_token_ref(1).token;
        match (word.keyword, next) {
            (Keyword::CAST, Token::LParen) => Some(cast(parser, CastKind::Cast)),
            (Keyword::TRY_CAST, Token::LParen) => Some(cast(parser, CastKind::TryCast)),
            (Keyword::DATE, Token::SingleQuotedString(_)) => Some(typed(parser, SqlType::Date)),
            (Keyword::TIME, Token::SingleQuotedString(_)) => {
                Some(typed(parser, SqlType::Time(None, sqlparser::ast::TimezoneInfo::None)))
            }
            (Keyword::TIMESTAMP, Token::SingleQuotedString(_)) => {
                Some(typed(parser, SqlType::Timestamp(None, sqlparser::ast::TimezoneInfo::None)))
            }
            (Keyword::MAP, Token::LBracket) => Some(map_constructor(parser)),
            _ => None,
        }
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        interval_qualifier(parser).map(|_| Ok(self.prec_value(Precedence::DoubleColon)))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &Expr,
        _precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if let (Expr::Nested(_), Some(unit)) = (expr, interval_qualifier(parser)) {
            parser.advance_token();
            let value = Box::new(expr.clone());
            return Some(Ok(Expr::Prefixed { prefix: Ident::new(unit), value }));
        }
        between(self, parser, expr)
    }
}

/// The unit that follows a closing parenthesis: `(a - b) DAY`.
fn interval_qualifier(parser: &Parser<'_>) -> Option<String> {
    if parser.get_current_token().token != Token::RParen {
        return None;
    }
    let Token::Word(word) = &parser.peek_token_ref().token else { return None };
    let unit = is_interval_unit(word.keyword) && word.quote_style.is_none();
    unit.then(|| word.value.to_ascii_uppercase())
}

/// The units of an interval.
fn is_interval_unit(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::YEAR
            | Keyword::QUARTER
            | Keyword::MONTH
            | Keyword::WEEK
            | Keyword::DAY
            | Keyword::HOUR
            | Keyword::MINUTE
            | Keyword::SECOND
    )
}

/// `[NOT] BETWEEN (SYMMETRIC | ASYMMETRIC) low AND high`.
fn between(
    dialect: &FlinkDialect,
    parser: &mut Parser<'_>,
    expr: &Expr,
) -> Option<Result<Expr, ParserError>> {
    let negated = is_word(parser.peek_token_ref(), "NOT");
    let at = usize::from(negated);
    if !is_word(parser.peek_nth_token_ref(at), "BETWEEN") {
        return None;
    }
    let symmetric = is_word(parser.peek_nth_token_ref(at + 1), SYMMETRIC);
    if !symmetric && !is_word(parser.peek_nth_token_ref(at + 1), "ASYMMETRIC") {
        return None;
    }
    for _ in 0..at + 2 {
        parser.advance_token();
    }
    Some(bounds(dialect, parser).map(|(low, high)| {
        let low = if symmetric {
            Expr::Prefixed { prefix: Ident::new(SYMMETRIC), value: Box::new(low) }
        } else {
            low
        };
        Expr::Between { expr: Box::new(expr.clone()), negated, low: Box::new(low), high: Box::new(high) }
    }))
}

fn bounds(dialect: &FlinkDialect, parser: &mut Parser<'_>) -> Result<(Expr, Expr), ParserError> {
    let precedence = dialect.prec_value(Precedence::Between);
    let low = parser.parse_subexpr(precedence)?;
    parser.expect_keyword_is(Keyword::AND)?;
    Ok((low, parser.parse_subexpr(precedence)?))
}

fn is_word(token: &TokenWithSpan, text: &str) -> bool {
    matches!(&token.token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(text))
}

/// `CAST(value AS type)`; the type is kept as its text, which the binder reads
/// with the one reader of types.
fn cast(parser: &mut Parser<'_>, kind: CastKind) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let expr = Box::new(parser.parse_expr()?);
    parser.expect_keyword_is(Keyword::AS)?;
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    loop {
        match &parser.peek_token_ref().token {
            Token::RParen if depth == 0 => break,
            Token::RParen => depth -= 1,
            Token::LParen => depth += 1,
            Token::EOF => break,
            _ => {}
        }
        tokens.push(parser.next_token());
    }
    parser.expect_token(&Token::RParen)?;
    let ty = types::from_tokens(&tokens, types::Excess::Clamped).map_err(|fault| {
        let place = tokens.first().map(|t| t.span.start.to_string()).unwrap_or_default();
        ParserError::ParserError(format!("{}{place}", fault.message))
    })?;
    let data_type = SqlType::Custom(ObjectName::from(Ident::new(ty.to_string())), Vec::new());
    Ok(Expr::Cast { kind, expr, data_type, format: None })
}

/// `DATE '…'` and its like.
fn typed(parser: &mut Parser<'_>, data_type: SqlType) -> Result<Expr, ParserError> {
    parser.advance_token();
    let token = parser.next_token();
    let text = match token.token {
        Token::SingleQuotedString(text) => text,
        _ => String::new(),
    };
    let value = SqlValue::SingleQuotedString(text).with_span(token.span);
    Ok(Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: false }))
}

/// `MAP[k, v, …]`: the items behind the word.
fn map_constructor(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    let name = parser.next_token();
    parser.expect_token(&Token::LBracket)?;
    let elem = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RBracket)?;
    let prefix = Ident::with_span(name.span, MAP_CONSTRUCTOR);
    let value = Box::new(Expr::Array(sqlparser::ast::Array { elem, named: false }));
    Ok(Expr::Prefixed { prefix, value })
}
