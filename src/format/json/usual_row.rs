//! The row of usual values as an object: short numbers, text without escapes,
//! timestamps of one day after another.
//!
//! It is built in a line of fixed size and goes out in one piece. Whole words
//! are stored where a few bytes are meant; what follows overwrites the rest. A
//! row with anything else in it is left to [`super::write`], which writes the
//! same for these.

use crate::model::{Cell, Cells, Type};
use crate::plan::JsonOptions;

use super::form;
use super::write::write_text;
use crate::format::FieldSpec;
use crate::format::day::{DayWritten, MomentText};
use crate::format::word::{self, EIGHT_DIGITS, eight_digits, escaped, zeros_in_front};

/// Longest object that is built in one piece: far more than usual rows take.
const LINE: usize = 4096;

/// Bytes of `,"name":"` that are stored at once; a longer name is not usual.
const HEAD: usize = 32;

/// Room for a head and any value but text, words reaching over their ends included.
const ROOM: usize = 128;

/// Writes usual rows.
#[derive(Clone, Debug)]
pub(super) struct UsualRow {
    members: Box<[Member]>,
    line: Box<[u8; LINE]>,
    day: DayWritten,
    plain_decimals: bool,
    ignore_null_fields: bool,
}

#[derive(Clone, Debug)]
struct Member {
    column: usize,
    /// `,"name":` and a quote, for values that have one.
    head: [u8; HEAD],
    /// Length without the quote.
    len: usize,
    /// What follows a timestamp.
    zulu: bool,
}

impl UsualRow {
    /// `None` if there is a name that is not usual.
    pub(super) fn new(options: &JsonOptions, fields: &[FieldSpec]) -> Option<Self> {
        let member = |field: &FieldSpec| {
            let mut text = vec![b','];
            write_text(&field.name, &mut text);
            text.extend_from_slice(b":\"");
            let mut head = [0; HEAD];
            head.get_mut(..text.len())?.copy_from_slice(&text);
            let zulu = matches!(field.ty.kind, Type::TimestampLtz(_));
            Some(Member { column: field.column, head, len: text.len() - 1, zulu })
        };
        Some(Self {
            members: fields.iter().map(member).collect::<Option<_>>()?,
            line: Box::new([0; LINE]),
            day: DayWritten::new(form(options.timestamp_format).separator),
            plain_decimals: options.decimal_as_plain_number,
            ignore_null_fields: options.ignore_null_fields,
        })
    }

    /// Appends the object of a row; false if the row is not usual, and nothing was appended.
    #[inline]
    pub(super) fn write(&mut self, row: &(impl Cells + ?Sized), out: &mut Vec<u8>) -> bool {
        let Some(len) = self.build(row) else { return false };
        let Some(object) = self.line.get(..len) else { return false };
        out.extend_from_slice(object);
        true
    }

    /// Length of the object in the line.
    #[inline]
    fn build(&mut self, row: &(impl Cells + ?Sized)) -> Option<usize> {
        let mut at = 0;
        for member in &self.members {
            // The length is below HEAD anyway; here the compiler sees it too.
            let len = member.len % HEAD;
            let room = self.line.get_mut(at..)?.first_chunk_mut::<ROOM>()?;
            put(room, 0, &member.head);
            at += match row.cell(member.column) {
                Cell::Int(value) => integer(room, len, value),
                Cell::Text(text) => {
                    at += len + 1;
                    copy(self.line.get_mut(at..)?, text)?
                }
                Cell::Decimal(digits, scale) if self.plain_decimals => {
                    decimal(room, len, digits, scale.into())?
                }
                Cell::Millis(millis) => {
                    let text = self.day.write(millis)?;
                    timestamp(room, len + 1, text, member.zulu)
                }
                Cell::Null if self.ignore_null_fields => 0,
                Cell::Null => put(room, len, b"null"),
                Cell::Bool(true) => put(room, len, b"true"),
                Cell::Bool(false) => put(room, len, b"false"),
                Cell::Decimal(..) | Cell::Other => return None,
            };
        }
        // The first member's comma is where the brace belongs.
        *self.line.first_mut()? = b'{';
        let at = at.max(1);
        *self.line.get_mut(at)? = b'}';
        Some(at + 1)
    }
}

/// Stores bytes and gives the position behind them.
#[inline]
fn put<const N: usize>(room: &mut [u8; ROOM], at: usize, bytes: &[u8; N]) -> usize {
    if let Some(slot) = room.get_mut(at..at + N) {
        slot.copy_from_slice(bytes);
    }
    at + N
}

/// Stores the first `len` bytes of a word.
#[inline]
fn put_word(room: &mut [u8; ROOM], at: usize, word: u64, len: usize) -> usize {
    put(room, at, &word.to_le_bytes());
    at + len
}

#[inline]
fn integer(room: &mut [u8; ROOM], at: usize, value: i64) -> usize {
    let magnitude = value.unsigned_abs();
    if magnitude >= EIGHT_DIGITS {
        return long_integer(room, at, value);
    }
    let at = sign(room, at, value);
    let digits = eight_digits(magnitude);
    let zeros = zeros_in_front(digits, 1);
    put_word(room, at, digits >> (8 * zeros as u32), word::DIGITS - zeros)
}

/// Stores the sign of a number that has one.
#[inline]
fn sign(room: &mut [u8; ROOM], at: usize, value: i64) -> usize {
    if value < 0 { put(room, at, b"-") } else { at }
}

#[inline(never)]
fn long_integer(room: &mut [u8; ROOM], at: usize, value: i64) -> usize {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(value).as_bytes();
    if let Some(slot) = room.get_mut(at..at + text.len()) {
        slot.copy_from_slice(text);
    }
    at + text.len()
}

/// A decimal of at most 16 digits, 1 to 7 of them after the point.
#[inline]
fn decimal(room: &mut [u8; ROOM], at: usize, unscaled: i64, scale: usize) -> Option<usize> {
    let magnitude = unscaled.unsigned_abs();
    if scale == 0 || scale >= word::DIGITS || magnitude >= EIGHT_DIGITS * EIGHT_DIGITS {
        return None;
    }
    let at = sign(room, at, unscaled);
    let digits = eight_digits(magnitude % EIGHT_DIGITS);
    let (at, zeros) = match magnitude / EIGHT_DIGITS {
        0 => (at, zeros_in_front(digits, scale + 1)),
        more => (integer(room, at, more as i64), 0),
    };
    let at = put_word(room, at, digits >> (8 * zeros as u32), word::DIGITS - zeros - scale);
    let fraction = digits >> (8 * (word::DIGITS - scale) as u32);
    Some(put_word(room, at, fraction << 8 | u64::from(b'.'), scale + 1))
}

#[inline]
fn timestamp(room: &mut [u8; ROOM], at: usize, text: MomentText, zulu: bool) -> usize {
    put(room, at, &text.date);
    let at = put_word(room, at + text.date_len(), text.clock, word::DIGITS);
    let at = put_word(room, at, text.fraction, text.fraction_len);
    if zulu { put(room, at, b"Z\"") } else { put(room, at, b"\"") }
}

/// Copies a text and a quote behind it, if it needs no escape and there is room; gives the length of both.
#[inline]
fn copy(line: &mut [u8], text: &[u8]) -> Option<usize> {
    let line = line.get_mut(..text.len() + 1)?;
    let (line, quote) = line.split_at_mut_checked(text.len())?;
    *quote.first_mut()? = b'"';
    let (words, tail) = text.as_chunks();
    let (slots, rest) = line.as_chunks_mut();
    for (word, slot) in words.iter().zip(slots) {
        if escaped(u64::from_le_bytes(*word)) != 0 {
            return None;
        }
        *slot = *word;
    }
    // A tail of four bytes and more as two halves that overlap, a shorter one byte by byte.
    if let (Some(first), Some(last)) = (tail.first_chunk::<4>(), tail.last_chunk::<4>()) {
        let both = u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
        if escaped(both) != 0 {
            return None;
        }
        *rest.first_chunk_mut()? = *first;
        *rest.last_chunk_mut()? = *last;
        return Some(text.len() + 1);
    }
    for (byte, slot) in tail.iter().zip(rest) {
        if *byte < 0x20 || matches!(byte, b'"' | b'\\') {
            return None;
        }
        *slot = *byte;
    }
    Some(text.len() + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::json::JsonWriter;
    use crate::model::{DataType, Datum, Decimal, Timestamp};
    use crate::plan::{MapNullKey, TimestampFormat};

    fn options(plain: bool, ignore_null_fields: bool) -> JsonOptions {
        JsonOptions {
            fail_on_missing_field: false,
            ignore_parse_errors: false,
            timestamp_format: if plain { TimestampFormat::Sql } else { TimestampFormat::Iso8601 },
            map_null_key: MapNullKey::Fail,
            decimal_as_plain_number: plain,
            ignore_null_fields,
        }
    }

    fn fields(names: &[&str]) -> Vec<FieldSpec> {
        let types = [
            Type::BigInt,
            Type::STRING,
            Type::Decimal { precision: 38, scale: 2 },
            Type::Timestamp(9),
            Type::TimestampLtz(3),
            Type::Boolean,
        ];
        let field = |(column, (ty, name)): (usize, (Type, &&str))| FieldSpec {
            name: (*name).to_owned(),
            column,
            ordinal: column,
            ty: DataType { kind: ty, nullable: true },
        };
        types.into_iter().zip(names).enumerate().map(field).collect()
    }

    const NAMES: [&str; 6] = ["id", "text", "abcdefghijklmnopqrstuvwxyz_", "t", "ltz", "true or \"false\""];

    /// What the usual way wrote, if it did; it must be what the general way writes.
    fn usual(options: &JsonOptions, fields: &[FieldSpec], row: &[Datum<'_>]) -> Option<String> {
        let mut out = b"before".to_vec();
        let written = UsualRow::new(options, fields).unwrap().write(row, &mut out);
        let mut expected = b"before".to_vec();
        if written {
            let general = JsonWriter::new(options, fields.to_vec()).unwrap();
            general.write_general(row, &mut expected).unwrap();
        }
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, String::from_utf8(expected).unwrap());
        written.then_some(text)
    }

    #[test]
    fn usual_rows_are_written_as_usual() {
        let at = Datum::Timestamp(Timestamp::from_millis(1_748_736_000_120));
        let price = Datum::Decimal(Decimal::new(-12_345, 2));
        let row = [Datum::Int(-7), Datum::Str("plain text é"), price, at, at, Datum::Bool(true)];
        let fields = fields(&NAMES);
        assert!(usual(&options(true, false), &fields, &row).is_some());
        assert!(
            usual(&options(true, true), &fields, &[Datum::Null; 6]).is_some_and(|text| text == "before{}")
        );
        assert!(usual(&options(true, false), &fields, &[Datum::Null; 6]).is_some());
        assert!(usual(&options(true, false), &fields, &[]).is_some(), "columns that are not there are NULL");
        let long = "x".repeat(LINE);
        assert!(usual(&options(true, false), &fields, &[Datum::Int(1), Datum::Str(&long)]).is_none());
    }

    #[test]
    fn a_long_name_is_not_usual() {
        let name = "x".repeat(HEAD - 5);
        assert!(UsualRow::new(&options(true, false), &fields(&[&name])).is_some());
        assert!(UsualRow::new(&options(true, false), &fields(&[&format!("{name}x")])).is_none());
    }

    fn numbers() -> impl Strategy<Value = i64> {
        prop_oneof![
            any::<i64>(),
            -1200_i64..1200,
            (any::<i64>(), 0_u32..64).prop_map(|(n, shift)| n >> shift)
        ]
    }

    proptest! {
        #[test]
        fn rows_are_what_the_general_way_writes(
            (id, unscaled, scale, text) in (numbers(), numbers(), 0_u8..20, "[a-zé\\\\\"\u{1}\u{1f}\u{7f}]{0,4}|[ -!#-\\[\\]-~é]{0,30}|.{0,20}"),
            (millis, nanos, absent, plain, ignore) in (-70_000_000_000_000_i64..300_000_000_000_000, 0_u32..3, 0_usize..12, any::<bool>(), any::<bool>()),
        ) {
            let at = |millis| Datum::Timestamp(Timestamp { millis, nanos: nanos.saturating_sub(1) });
            let decimal = Datum::Decimal(Decimal::new(unscaled.into(), scale));
            let ltz = at(millis / 1000 * 1000);
            let mut row = [Datum::Int(id), Datum::Str(&text), decimal, at(millis), ltz, Datum::Bool(plain)];
            if let Some(slot) = row.get_mut(absent) {
                *slot = Datum::Null;
            }
            usual(&options(plain, ignore), &fields(&NAMES), &row);
        }
    }
}
