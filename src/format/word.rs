//! Eight bytes of text at a time, in one register.
//!
//! Most of a message is plain text and short numbers. A word of eight bytes
//! tells in a few operations where the first special byte is, how many digits
//! there are and what number they make. The text's first byte is the word's
//! lowest.

/// The same byte in every place.
#[inline]
pub(super) const fn repeat(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// The high bit of every byte.
pub(super) const HIGHS: u64 = repeat(0x80);

const ZEROS: u64 = repeat(b'0');

/// Places of a word that one number can fill.
pub(super) const DIGITS: usize = 8;

/// Numbers below this fit [`eight_digits`].
pub(super) const EIGHT_DIGITS: u64 = 100_000_000;

/// Powers of ten that an `i64` holds.
pub(super) const POWERS: [i64; 19] = {
    let mut powers = [1_i64; 19];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// The high bit of each quote and backslash; bits above the lowest one set may be wrong.
#[inline]
pub(super) const fn quotes_and_backslashes(word: u64) -> u64 {
    // What is zero borrows from its high bit. Bytes from 0x80 on are masked: they equal neither.
    let quotes = (word ^ repeat(b'"')).wrapping_sub(repeat(1));
    let backslashes = (word ^ repeat(b'\\')).wrapping_sub(repeat(1));
    (quotes | backslashes) & !word & HIGHS
}

/// The high bit of each byte that a JSON string escapes; bits above the lowest one set may be wrong.
#[inline]
pub(super) const fn escaped(word: u64) -> u64 {
    quotes_and_backslashes(word) | word.wrapping_sub(repeat(0x20)) & !word & HIGHS
}

/// The place of the lowest high bit that is set.
#[inline]
pub(super) const fn first(found: u64) -> usize {
    found.trailing_zeros() as usize / 8
}

/// How many digits the word begins with, 0 to 8.
#[inline]
fn digits_in_front(word: u64) -> usize {
    let digits = word ^ ZEROS;
    // A byte that is no digit is above 9 here. What it carries reaches only the bytes behind it.
    first((digits.wrapping_add(repeat(0x76)) | digits) & HIGHS)
}

/// The number that the first `count` bytes of a word are, 1 to 8 digits.
#[inline]
fn number_of(word: u64, count: usize) -> u64 {
    // Zeros in front of the digits fill the word up.
    let digits = (word ^ ZEROS) << (64 - 8 * count as u32);
    let pairs = (digits.wrapping_mul(10).wrapping_add(digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(100).wrapping_add(pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF
}

/// The word that begins at `at`. Where the text ends within it, the rest is zero bytes. `None` at the end, and for a
/// text that is shorter than a word.
#[inline]
fn word_at(text: &[u8], at: usize) -> Option<u64> {
    match text.get(at..)?.first_chunk() {
        Some(word) => Some(u64::from_le_bytes(*word)),
        None => {
            let missing = (at + DIGITS).checked_sub(text.len()).filter(|missing| *missing < DIGITS)?;
            Some(u64::from_le_bytes(*text.last_chunk()?) >> (8 * missing as u32))
        }
    }
}

/// The number of up to 8 digits that begins at `at`, and how many there are; with 8 of them more may follow.
/// `None` if there is none, or if the text is shorter than a word.
#[inline(always)]
pub(super) fn number_at(text: &[u8], at: usize) -> Option<(i64, usize)> {
    let word = word_at(text, at)?;
    let count = digits_in_front(word);
    if count == 0 {
        return None;
    }
    Some((number_of(word, count) as i64, count))
}

/// Eight digits as text, zeros in front, of a number below [`EIGHT_DIGITS`].
#[inline]
pub(super) fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    // Divisions by 100 and by 10 of all parts at once, exact in their ranges.
    let hundreds = (fours.wrapping_mul(10_486) >> 20) & 0x0000_007F_0000_007F;
    let pairs = hundreds | (fours - hundreds * 100) << 16;
    let tens = (pairs.wrapping_mul(103) >> 10) & 0x000F_000F_000F_000F;
    (tens | (pairs - tens * 10) << 8) | ZEROS
}

/// How many zeros an [`eight_digits`] has in front, the last `kept` digits (1 to 8) not counted.
#[inline]
pub(super) fn zeros_in_front(digits: u64, kept: usize) -> usize {
    let stop = 1_u64 << (64 - 8 * kept as u32);
    first(digits ^ ZEROS | stop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_numbers_of_four_digits_and_their_neighbours_are_written_and_read() {
        for number in (0..10_000).chain((0..10_000).map(|n| n * 10_000 + 9_999 - n)) {
            let text = eight_digits(number).to_le_bytes();
            assert_eq!(std::str::from_utf8(&text).unwrap(), format!("{number:08}"));
            assert_eq!(number_of(u64::from_le_bytes(text), 8), number);
        }
    }

    #[test]
    fn zeros_in_front_leave_what_is_kept() {
        for (number, kept, zeros) in [(0, 1, 7), (0, 3, 5), (12, 1, 6), (12, 4, 4), (99_999_999, 1, 0)] {
            assert_eq!(zeros_in_front(eight_digits(number), kept), zeros, "{number}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_read_as_by_the_standard_library(before in "[a-z1]{0,9}", text in "[0-9]{0,10}", behind in ".{0,8}") {
            let all = format!("{before}{text}{behind}");
            let digits = all[before.len()..].bytes().take_while(u8::is_ascii_digit).count().min(DIGITS);
            let expected = all[before.len()..before.len() + digits].parse::<i64>().ok();
            let expected = expected.filter(|_| all.len() >= DIGITS).map(|value| (value, digits));
            prop_assert_eq!(number_at(all.as_bytes(), before.len()), expected);
        }

        #[test]
        fn the_first_byte_found_is_the_first(text in prop::array::uniform8(any::<u8>()), at in 0_usize..8, byte in "[\"\\\\\u{1f}\n \u{7f}]") {
            let mut other = text;
            other[at] = byte.as_bytes()[0];
            for text in [text, other] {
                let place = |found: u64| (found != 0).then(|| first(found));
                let word = u64::from_le_bytes(text);
                let quote = |b: &u8| matches!(b, b'"' | b'\\');
                prop_assert_eq!(place(quotes_and_backslashes(word)), text.iter().position(quote));
                prop_assert_eq!(place(escaped(word)), text.iter().position(|b| quote(b) || *b < 0x20));
            }
        }
    }
}
