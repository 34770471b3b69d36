//! The order stream of the benchmark: row after row from a seed, without a broker.
//!
//! Four rows of ten open a new order; the others touch one that was seen before, mostly a young one. One row of a
//! hundred is a tombstone. Users follow Zipf's law, so that a cache has something to win. A longer stream starts
//! with the rows of a shorter one.

use super::random::Random;

/// Partitions of every topic of the benchmark.
pub const PARTITIONS: i32 = 4;
/// Ids of users that orders name; `tables::user` knows most of them.
pub const USERS: u32 = 100_000;
/// Ids of products that orders name; `tables::product` knows all of them.
pub const PRODUCTS: u32 = 10_000;

/// How many of the newest orders most updates go to.
const YOUNG: u64 = 20_000;
/// Of a hundred updates, how many go to a young order.
const YOUNG_PERCENT: u64 = 70;
/// One update of so many is a tombstone. Updates are 60 % of the rows, so tombstones are 1 % of them.
const UPDATES_PER_TOMBSTONE: u64 = 60;
/// Milliseconds between the `log_ts` of two rows; 4 million rows take 7.8 hours of one day.
const ROW_INTERVAL_MS: u64 = 7;
const DAY_MS: u64 = 86_400_000;
const SEED: u64 = 20_250_601;

const REGIONS: [&str; 5] = ["north", "south", "east", "west", "central"];
const STATUSES: [&str; 5] = ["created", "packed", "shipped", "delivered", "cancelled"];
const NOTE_LETTERS: usize = 25;

/// Zipf's law with exponent 1 over the users, ranks spread over the ids by a fixed permutation.
pub struct Users {
    cumulative: Vec<f64>,
    ids: Vec<u32>,
}

impl Users {
    /// Makes the table of probabilities and the permutation.
    pub fn new() -> Self {
        let mut sum = 0.0;
        let cumulative = (1..=USERS).map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        });
        let cumulative: Vec<f64> = cumulative.collect();
        let mut random = Random::new(SEED ^ 0x5eed);
        let mut ids: Vec<u32> = (0..USERS).collect();
        for last in (1..ids.len()).rev() {
            ids.swap(last, random.below(last as u64 + 1) as usize);
        }
        Self { cumulative, ids }
    }

    fn draw(&self, random: &mut Random) -> u32 {
        let total = self.cumulative[self.cumulative.len() - 1];
        let point = random.fraction() * total;
        let rank = self.cumulative.partition_point(|&up_to| up_to <= point);
        self.ids[rank.min(self.ids.len() - 1)]
    }
}

/// One record of the topic: an order's new values, or its deletion.
pub struct Order {
    /// The record key's one column.
    pub order_id: u64,
    /// `None` is a tombstone.
    pub values: Option<Values>,
}

/// What an upsert says about its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// `user_id INT`.
    pub user_id: u32,
    /// `product_id INT`.
    pub product_id: u32,
    /// `amount DECIMAL(10,2)` in hundredths.
    pub cents: u64,
    /// `log_ts TIMESTAMP(3)` as milliseconds of 1 June 2025.
    pub day_ms: u64,
    region: u8,
    status: u8,
    note: [u8; NOTE_LETTERS],
}

impl Values {
    /// `status STRING`.
    pub fn status(&self) -> &'static str {
        STATUSES[usize::from(self.status)]
    }

    /// `log_ts` in SQL's notation, as in the record.
    pub fn log_ts(&self) -> String {
        let (s, ms) = (self.day_ms / 1000, self.day_ms % 1000);
        format!("2025-06-01 {:02}:{:02}:{:02}.{ms:03}", s / 3600, s / 60 % 60, s % 60)
    }
}

impl Order {
    /// Appends the record key.
    pub fn write_key(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{{\"order_id\":{}}}", self.order_id).as_bytes());
    }

    /// Appends the record value, nothing for a tombstone.
    pub fn write_value(&self, out: &mut Vec<u8>) {
        let Some(values) = &self.values else { return };
        let text = format!(
            r#"{{"order_id":{},"user_id":{},"product_id":{},"region":"{}","amount":{}.{:02},"status":"{}","note":"note-{}","log_ts":"{}"}}"#,
            self.order_id,
            values.user_id,
            values.product_id,
            REGIONS[usize::from(values.region)],
            values.cents / 100,
            values.cents % 100,
            values.status(),
            String::from_utf8_lossy(&values.note),
            values.log_ts(),
        );
        out.extend_from_slice(text.as_bytes());
    }
}

/// The stream: an iterator over its rows.
pub struct Orders<'a> {
    users: &'a Users,
    random: Random,
    row: u64,
    rows: u64,
    opened: u64,
    tombstones: bool,
}

impl<'a> Orders<'a> {
    /// The first `rows` rows of the stream.
    pub fn new(users: &'a Users, rows: u64) -> Self {
        Self { users, random: Random::new(SEED), row: 0, rows, opened: 0, tombstones: true }
    }

    /// The same mix of keys with upserts alone.
    pub fn upserts(users: &'a Users, rows: u64) -> Self {
        Self { tombstones: false, ..Self::new(users, rows) }
    }

    /// Whether this row opens an order: two rows of every five, the first row among them.
    fn opens(&self) -> bool {
        ((self.row + 1) * 2).div_ceil(5) > (self.row * 2).div_ceil(5)
    }

    fn seen_before(&mut self) -> u64 {
        if self.random.below(100) < YOUNG_PERCENT {
            self.opened - 1 - self.random.below(self.opened.min(YOUNG))
        } else {
            self.random.below(self.opened)
        }
    }

    fn values(&mut self) -> Values {
        let mut note = [0; NOTE_LETTERS];
        let mut bits = 0;
        for (at, letter) in note.iter_mut().enumerate() {
            // A draw of 64 bits holds 13 letters of 26 with room to spare.
            if at % 13 == 0 {
                bits = self.random.bits();
            }
            *letter = b'a' + (bits % 26) as u8;
            bits /= 26;
        }
        Values {
            user_id: self.users.draw(&mut self.random),
            product_id: self.random.below(u64::from(PRODUCTS)) as u32,
            cents: 100 + self.random.below(999_900),
            day_ms: self.row * ROW_INTERVAL_MS % DAY_MS,
            region: self.random.below(5) as u8,
            status: self.random.below(5) as u8,
            note,
        }
    }
}

impl Iterator for Orders<'_> {
    type Item = Order;

    fn next(&mut self) -> Option<Order> {
        if self.row == self.rows {
            return None;
        }
        let order = if self.opens() {
            self.opened += 1;
            Order { order_id: self.opened - 1, values: Some(self.values()) }
        } else {
            let order_id = self.seen_before();
            let deletes = self.tombstones && self.random.below(UPDATES_PER_TOMBSTONE) == 0;
            Order { order_id, values: (!deletes).then(|| self.values()) }
        };
        self.row += 1;
        Some(order)
    }
}

/// The partition where Java producers put a key: murmur2 over the key's bytes (Kafka: `BuiltInPartitioner`).
pub fn partition_of(key: &[u8]) -> i32 {
    (murmur2(key) & 0x7fff_ffff) as i32 % PARTITIONS
}

/// Kafka's flavour of MurmurHash2 (`Utils.murmur2`): seed 0x9747b28c, little endian.
pub fn murmur2(data: &[u8]) -> u32 {
    const MIX: u32 = 0x5bd1_e995;
    let mut hash = 0x9747_b28c ^ data.len() as u32;
    let (words, tail) = data.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(MIX);
        k ^= k >> 24;
        hash = hash.wrapping_mul(MIX) ^ k.wrapping_mul(MIX);
    }
    if !tail.is_empty() {
        for (at, &byte) in tail.iter().enumerate() {
            hash ^= u32::from(byte) << (8 * at);
        }
        hash = hash.wrapping_mul(MIX);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MIX);
    hash ^ (hash >> 15)
}
