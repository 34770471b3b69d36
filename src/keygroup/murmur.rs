//! The integer and byte mixes that Flink builds key groups on.
//!
//! Flink: `MathUtils.murmurHash`, `MathUtils.bitMix`, `MurmurHashUtils.hashBytesByWords`.

const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;
const ROUND: u32 = 0xe654_6b64;

/// `MurmurHashUtils.DEFAULT_SEED`.
const SEED: u32 = 42;

/// Spreads a `hashCode` over the non-negative integers.
///
/// A negative mix is negated, not masked: `i32::MIN`, which has no opposite, becomes 0.
#[must_use]
pub fn murmur_hash(code: i32) -> i32 {
    let mixed = mix_hash(0, mix_word(code as u32)) ^ 4;
    let mixed = finish(mixed) as i32;
    mixed.checked_abs().unwrap_or(0)
}

/// Murmur3's finalizer.
#[must_use]
pub fn bit_mix(value: i32) -> i32 {
    finish(value as u32) as i32
}

/// Murmur3 over whole little-endian 32-bit words; bytes after the last whole word are left out
/// (a `BinaryRowData` has none).
#[must_use]
pub fn hash_words(bytes: &[u8]) -> i32 {
    let words = bytes.as_chunks::<4>().0;
    let hash = words.iter().fold(SEED, |hash, word| mix_hash(hash, mix_word(u32::from_le_bytes(*word))));
    finish(hash ^ (bytes.len() as u32)) as i32
}

/// [`hash_words`] over the bytes of these 64-bit words.
pub(super) fn hash_longs(longs: &[u64]) -> i32 {
    let hash = longs.iter().fold(SEED, |hash, long| {
        let low = mix_hash(hash, mix_word(*long as u32));
        mix_hash(low, mix_word((*long >> 32) as u32))
    });
    finish(hash ^ (longs.len() as u32 * 8)) as i32
}

/// The next power of two at or above `value`; 0 for 0.
#[must_use]
pub fn round_up_to_power_of_two(value: u32) -> u32 {
    if value == 0 { 0 } else { value.next_power_of_two() }
}

fn mix_word(word: u32) -> u32 {
    word.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2)
}

fn mix_hash(hash: u32, word: u32) -> u32 {
    (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(ROUND)
}

fn finish(mut hash: u32) -> u32 {
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}
