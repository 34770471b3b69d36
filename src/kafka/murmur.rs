//! Where a keyed record goes: the same partition that a Java producer picks.
//!
//! Java's `DefaultPartitioner`: `toPositive(murmur2(key)) % partitions`. Readers
//! that join topics by partition rely on it, and librdkafka's own default
//! (CRC32) differs.

const SEED: u32 = 0x9747_b28c;
const MULTIPLIER: u32 = 0x5bd1_e995;
const SHIFT: u32 = 24;

/// Kafka's 32-bit murmur2 (`org.apache.kafka.common.utils.Utils.murmur2`).
fn murmur2(key: &[u8]) -> i32 {
    let length = u32::try_from(key.len()).unwrap_or(u32::MAX);
    let mut hash = SEED ^ length;
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        k ^= k >> SHIFT;
        hash = hash.wrapping_mul(MULTIPLIER) ^ k.wrapping_mul(MULTIPLIER);
    }
    for (i, byte) in rest.iter().enumerate() {
        hash ^= u32::from(*byte) << (8 * i);
    }
    if !rest.is_empty() {
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^= hash >> 15;
    hash.cast_signed()
}

/// The partition of a record with `key` in a topic of `partitions` partitions (at least one).
#[must_use]
pub fn partition_of(key: &[u8], partitions: i32) -> i32 {
    (murmur2(key) & i32::MAX) % partitions.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Kafka's `UtilsTest.testMurmur2`.
    #[test]
    fn hashes_are_those_of_java() {
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key.as_bytes()), hash, "{key}");
        }
    }

    #[test]
    fn negative_hashes_lose_their_sign_only() {
        assert_eq!(partition_of(b"21", 7), (-973_932_308_i32 & i32::MAX) % 7);
        assert_eq!(partition_of(b"abc", 4), 479_470_107 % 4);
    }
}
