//! Every cached answer of one lookup in one shard, by key.
//!
//! Only its shard touches it, so a hit costs a hash and a comparison, with no
//! lock and no shared counter. In a large dimension table it costs above all
//! the wait for memory, once for every line of the processor's cache that it
//! reads. So what a hit reads stands in one line, the [`Near`] half of an
//! entry: its age, its key and its row, where these are short, as most are. All
//! else is in the [`Far`] half, which such a hit leaves alone. The table itself
//! holds eight bytes per entry.

use std::sync::Arc;

use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::clock::Millis;

use super::Answer;

/// Bytes of key and row that have room in the near half.
const NEAR_BYTES: usize = 50;
/// Length of a key or row that is not in the near half.
const ELSEWHERE: u8 = u8::MAX;
/// Length of the row of an answer that has none.
const NO_ROW: u8 = u8::MAX - 1;
/// Entries of one chunk: the table grows without moving what is there.
const CHUNK: usize = 1024;

#[derive(Debug)]
pub(super) struct Index {
    slots: HashTable<Slot>,
    near: Chunks<Near>,
    far: Chunks<Far>,
    free: Vec<u32>,
    /// Stands in entries that are free.
    gone: Arc<Answer>,
    /// Number of answers that were put in, ever: the age of the cache as far as eviction goes.
    puts: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Of [`slot_hash`].
    hash: u32,
    at: u32,
}

/// What a hit reads: one line of the processor's cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Near {
    written: Millis,
    /// The number of `puts` when the cache behind was last told that the key is in use.
    touched: u32,
    /// Length of the key, or [`ELSEWHERE`].
    key: u8,
    /// Length of the only row, [`NO_ROW`] or [`ELSEWHERE`].
    row: u8,
    /// The key, then the row.
    bytes: [u8; NEAR_BYTES],
}

#[derive(Debug)]
struct Far {
    answer: Arc<Answer>,
    /// The batch that asked last, and the number of the answer within it.
    run: u64,
    number: u32,
    /// When the answer was last asked for; kept where entries expire by it.
    used: Millis,
}

/// The rows of an answer that was found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rows<'a> {
    /// The dimension has no such row.
    None,
    /// One, short enough to stand beside its key.
    One(&'a [u8]),
    /// To be found in the answer.
    Elsewhere,
}

/// An answer that was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a> {
    pub rows: Rows<'a>,
    pub answer: &'a Arc<Answer>,
}

impl Found<'_> {
    /// Whether its rows are worth sharing among the rows of a batch, rather than copying.
    pub fn is_long(&self) -> bool {
        matches!(self.rows, Rows::Elsewhere)
    }

    /// Whether the dimension has no such row.
    pub fn is_empty(&self) -> bool {
        match self.rows {
            Rows::None => true,
            Rows::One(_) => false,
            Rows::Elsewhere => self.answer.rows.is_empty(),
        }
    }
}

/// Where an answer stands: good until the next insertion or removal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(u32);

/// What a slot keeps of the hash of its key.
fn slot_hash(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The hash that the table works with: it takes the bucket from the low bits and a tag from the highest.
fn table_hash(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl Near {
    fn new(answer: &Answer, touched: u32) -> Self {
        let (written, bytes) = (answer.written, [0; NEAR_BYTES]);
        let mut near = Self { written, touched, key: ELSEWHERE, row: ELSEWHERE, bytes };
        let key = answer.key.len();
        let Some(slot) = near.bytes.get_mut(..key) else { return near };
        slot.copy_from_slice(&answer.key);
        near.key = key as u8;
        match answer.rows.as_slice() {
            [] => near.row = NO_ROW,
            [row] => {
                if let Some(slot) = near.bytes.get_mut(key..key + row.len()) {
                    slot.copy_from_slice(row);
                    near.row = row.len() as u8;
                }
            }
            _ => {}
        }
        near
    }

    /// `None` if the key is not here.
    fn key(&self) -> Option<&[u8]> {
        self.bytes.get(..usize::from(self.key))
    }

    fn rows(&self) -> Rows<'_> {
        let start = usize::from(self.key);
        match self.row {
            NO_ROW => Rows::None,
            len => self.bytes.get(start..start + usize::from(len)).map_or(Rows::Elsewhere, Rows::One),
        }
    }
}

impl Index {
    pub fn new() -> Self {
        Self {
            slots: HashTable::new(),
            near: Chunks::default(),
            far: Chunks::default(),
            free: Vec::new(),
            gone: Arc::new(Answer::new(&[], SmallVec::new(), Millis::MIN)),
            puts: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    fn holds(&self, at: u32, key: &[u8]) -> bool {
        let Some(near) = self.near.get(at) else { return false };
        match near.key() {
            Some(near) => near == key,
            None => self.far.get(at).is_some_and(|far| *far.answer.key == *key),
        }
    }

    /// Where the answer of a key stands, looking at `place` first.
    pub fn find(&self, place: Option<Place>, hash: u64, key: &[u8]) -> Option<Place> {
        if let Some(place) = place
            && self.holds(place.0, key)
        {
            return Some(place);
        }
        let own = slot_hash(hash);
        let is_it = |slot: &Slot| slot.hash == own && self.holds(slot.at, key);
        self.slots.find(table_hash(own), is_it).map(|slot| Place(slot.at))
    }

    /// Where an answer with this hash stands.
    pub fn place(&self, hash: u64) -> Option<Place> {
        let own = slot_hash(hash);
        self.slots.find(table_hash(own), |slot| slot.hash == own).map(|slot| Place(slot.at))
    }

    /// Touches what hits at these places will read, so that the processor fetches many of them at a time.
    pub fn fetch(&self, places: impl Iterator<Item = Place>) {
        let keys = places.filter_map(|place| Some(self.near.get(place.0)?.key));
        std::hint::black_box(keys.fold(0, |all, key| all ^ key));
    }

    /// When the answer at a place was written.
    pub fn written(&self, place: Place) -> Option<Millis> {
        self.near.get(place.0).map(|near| near.written)
    }

    /// When the answer at a place was last used.
    pub fn used(&self, place: Place) -> Option<Millis> {
        self.far.get(place.0).map(|far| far.used)
    }

    /// The answer at a place is used.
    pub fn use_at(&mut self, place: Place, now: Millis) {
        if let Some(far) = self.far.get_mut(place.0) {
            far.used = now;
        }
    }

    /// Whether `every` answers and more were put in since the cache behind was told of the key; it counts as told
    /// then.
    pub fn touch(&mut self, place: Place, every: u32) -> bool {
        let Some(near) = self.near.get_mut(place.0) else { return false };
        let is_due = every <= self.puts.wrapping_sub(near.touched);
        if is_due {
            near.touched = self.puts;
        }
        is_due
    }

    /// The answer at a place.
    pub fn found(&self, place: Place) -> Option<Found<'_>> {
        Some(Found { rows: self.near.get(place.0)?.rows(), answer: &self.far.get(place.0)?.answer })
    }

    /// The answer's number in batch `run`, if that batch has it; otherwise it will have it as `next`.
    pub fn number_in(&mut self, place: Place, run: u64, next: u32) -> Option<u32> {
        let far = self.far.get_mut(place.0)?;
        if far.run == run {
            return Some(far.number);
        }
        (far.run, far.number) = (run, next);
        None
    }

    /// Keeps an answer in place of an older one of its key.
    pub fn put(&mut self, hash: u64, answer: &Arc<Answer>) {
        self.puts = self.puts.wrapping_add(1);
        let near = Near::new(answer, self.puts);
        let far = Far { answer: Arc::clone(answer), run: 0, number: 0, used: answer.written };
        let place = self.find(None, hash, &answer.key).map(|place| place.0);
        if let Some(at) = place.or_else(|| self.free_entry(hash)) {
            if let (Some(old_near), Some(old_far)) = (self.near.get_mut(at), self.far.get_mut(at)) {
                (*old_near, *old_far) = (near, far);
            }
            return;
        }
        let at = self.near.push(near);
        self.far.push(far);
        self.insert(hash, at);
    }

    /// An entry that was given back, now in the table under this hash.
    fn free_entry(&mut self, hash: u64) -> Option<u32> {
        let at = self.free.pop()?;
        self.insert(hash, at);
        Some(at)
    }

    fn insert(&mut self, hash: u64, at: u32) {
        let hash = slot_hash(hash);
        self.slots.insert_unique(table_hash(hash), Slot { hash, at }, |slot| table_hash(slot.hash));
    }

    /// Drops this very answer, if it is still there.
    pub fn remove(&mut self, hash: u64, answer: &Arc<Answer>) {
        let own = slot_hash(hash);
        let far = &self.far;
        let is_it = |slot: &Slot| far.get(slot.at).is_some_and(|far| Arc::ptr_eq(&far.answer, answer));
        let Ok(entry) = self.slots.find_entry(table_hash(own), is_it) else { return };
        let at = entry.remove().0.at;
        if let (Some(near), Some(far)) = (self.near.get_mut(at), self.far.get_mut(at)) {
            near.key = ELSEWHERE;
            far.answer = Arc::clone(&self.gone);
        }
        self.free.push(at);
    }
}

/// A list that grows by chunks.
#[derive(Debug)]
struct Chunks<T>(Vec<Vec<T>>);

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Chunks<T> {
    #[inline]
    fn get(&self, at: u32) -> Option<&T> {
        self.0.get(at as usize / CHUNK)?.get(at as usize % CHUNK)
    }

    #[inline]
    fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.0.get_mut(at as usize / CHUNK)?.get_mut(at as usize % CHUNK)
    }

    /// Appends; gives the position.
    fn push(&mut self, item: T) -> u32 {
        if self.0.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.0.push(Vec::with_capacity(CHUNK));
        }
        let before = (self.0.len() - 1) * CHUNK;
        let Some(chunk) = self.0.last_mut() else { return u32::MAX };
        chunk.push(item);
        u32::try_from(before + chunk.len() - 1).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(key: &[u8], rows: &[&[u8]]) -> Arc<Answer> {
        Arc::new(Answer::new(key, rows.iter().map(|&row| Arc::from(row)).collect(), 7))
    }

    fn rows(found: Found<'_>) -> Vec<Vec<u8>> {
        match found.rows {
            Rows::None => Vec::new(),
            Rows::One(row) => vec![row.to_vec()],
            Rows::Elsewhere => found.answer.rows.iter().map(|row| row.to_vec()).collect(),
        }
    }

    #[test]
    fn answers_of_every_length_are_found_with_their_rows() {
        let mut index = Index::new();
        let lengths = [1, 2, NEAR_BYTES - 1, NEAR_BYTES, NEAR_BYTES + 1, 253, 254, 255, 256, 300];
        let mut all = Vec::new();
        for (n, &key) in (1_u8..).zip(&lengths) {
            let key = vec![n; key];
            for rest in [0, 1, 17, NEAR_BYTES, 255, 300] {
                for count in 0..3 {
                    let key = [&key[..], &[rest as u8, count]].concat();
                    let row = vec![count; rest];
                    let rows = vec![&row[..]; usize::from(count)];
                    let answer = answer(&key, &rows);
                    // Few hashes for many keys: only the key tells them apart.
                    let hash = u64::from(n % 3) << 32;
                    index.put(hash, &answer);
                    all.push((hash, answer));
                }
            }
        }
        assert_eq!(index.len(), all.len());
        for (hash, answer) in &all {
            let place = index.find(index.place(*hash), *hash, &answer.key).unwrap();
            let found = index.found(place).unwrap();
            assert!(Arc::ptr_eq(found.answer, answer));
            let expected: Vec<Vec<u8>> = answer.rows.iter().map(|row| row.to_vec()).collect();
            assert_eq!((rows(found), found.is_empty()), (expected, answer.rows.is_empty()));
            assert_eq!(
                found.is_long(),
                1 < answer.rows.len() || {
                    NEAR_BYTES < answer.key.len() + answer.rows.iter().map(|row| row.len()).sum::<usize>()
                }
            );
        }
    }

    #[test]
    fn what_was_removed_is_not_found_and_its_entry_is_used_again() {
        let mut index = Index::new();
        let (old, new) = (answer(b"a", &[b"1"]), answer(b"b", &[b"2"]));
        index.put(5, &old);
        let place = index.find(None, 5, b"a").unwrap();
        index.remove(5, &new);
        assert_eq!(index.len(), 1, "another answer");
        index.remove(5, &old);
        assert!(index.find(Some(place), 5, b"a").is_none());
        assert_eq!((index.len(), Arc::strong_count(&old)), (0, 1));
        index.put(5, &new);
        assert_eq!(index.find(None, 5, b"b").map(|place| place.0), Some(place.0));
        assert!(index.find(Some(place), 5, b"a").is_none());
    }

    #[test]
    fn touches_are_counted_in_answers_that_came() {
        let mut index = Index::new();
        index.put(0, &answer(b"a", &[]));
        let place = index.find(None, 0, b"a").unwrap();
        assert!(!index.touch(place, 2));
        index.put(1 << 32, &answer(b"b", &[]));
        assert!(!index.touch(place, 2));
        index.put(2 << 32, &answer(b"c", &[]));
        assert!(index.touch(place, 2) && !index.touch(place, 2));
    }
}
