//! Where the entries' bytes stand: chunks cut into cells, addressed by four bytes.
//!
//! A table of millions of boxed entries costs an allocation each, sixteen bytes
//! of pointer per bucket, and a walk through the allocator for every row that
//! grows. Here a cell has a class of sizes, so that most new rows fit the cell
//! of the row before, and a freed cell is used again by the next entry of its
//! class. Entries that are written one after the other stand side by side,
//! which is how they are read again: what is new changes most.
//!
//! A cell is never cut or joined with another: an address is the beginning of
//! a cell for as long as the arena lives.

/// Addresses count units of so many bytes.
const UNIT: usize = 16;
/// Bytes of one chunk: a small state stays small, a large one is a few hundred chunks.
const CHUNK: usize = 1 << 20;
const UNITS_PER_CHUNK: u32 = (CHUNK / UNIT) as u32;
/// Chunks in all: 32 GiB. What comes later is stored as entries too large for a chunk are.
const CHUNKS_MAX: usize = 1 << 15;
/// Cells of up to so many units have a class for every size; larger ones come in eighths of a power of two.
const EXACT_UNITS: usize = 64;
/// Units of the largest cell: larger entries are boxed. What fits it has a length of two bytes.
const UNITS_MAX: usize = 4096;
/// Classes: 64 exact ones, then eight for each of six doublings.
const CLASSES: usize = EXACT_UNITS + 8 * 6;
/// `[length, 2 bytes][class]` before the entry: every byte counts, millions of times.
const HEADER: usize = 3;
/// Where the class stands.
const CLASS: usize = 2;
/// Addresses from here on are boxed entries.
const BOXED: u32 = 1 << 31;

/// Address of an entry.
pub(super) type Address = u32;

#[derive(Debug)]
pub(super) struct Arena {
    chunks: Vec<Box<[u8]>>,
    /// The first unit that was never used.
    next: u32,
    /// Freed cells by class.
    free: Vec<Vec<Address>>,
    boxed: Vec<Box<[u8]>>,
    boxed_free: Vec<u32>,
    boxed_bytes: usize,
}

impl Default for Arena {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            next: 0,
            free: vec![Vec::new(); CLASSES],
            boxed: Vec::new(),
            boxed_free: Vec::new(),
            boxed_bytes: 0,
        }
    }
}

/// The class of cells for entries of `len` bytes and the units of its cells; `None` for boxed entries.
fn class_of(len: usize) -> Option<(usize, usize)> {
    let units = (len + HEADER).div_ceil(UNIT);
    if units <= EXACT_UNITS {
        return Some((units - 1, units));
    }
    if UNITS_MAX < units {
        return None;
    }
    // 65..=128 units in steps of 8, 129..=256 in steps of 16, and so on.
    let doubling = (units - 1).ilog2() as usize - EXACT_UNITS.ilog2() as usize;
    let step = (EXACT_UNITS / 8) << doubling;
    let eighth = (units - (EXACT_UNITS << doubling)).div_ceil(step);
    Some((EXACT_UNITS - 1 + doubling * 8 + eighth, (EXACT_UNITS << doubling) + eighth * step))
}

/// Units of the cells of a class.
fn units_of(class: usize) -> usize {
    if class < EXACT_UNITS {
        return class + 1;
    }
    let (doubling, eighth) = ((class - EXACT_UNITS) / 8, (class - EXACT_UNITS) % 8 + 1);
    (EXACT_UNITS << doubling) + eighth * ((EXACT_UNITS / 8) << doubling)
}

impl Arena {
    /// Room for an entry of `len` bytes, whose content is left to the caller.
    pub fn allocate(&mut self, len: usize) -> Address {
        let Some((class, units)) = class_of(len) else { return self.allocate_boxed(len) };
        let at = match self.free[class].pop() {
            Some(at) => at,
            None => match self.cut(units as u32) {
                Some(at) => at,
                None => return self.allocate_boxed(len),
            },
        };
        if let Some(cell) = self.cell_mut(at) {
            cell[..CLASS].copy_from_slice(&(len as u16).to_le_bytes());
            cell[CLASS] = class as u8;
        }
        at
    }

    /// A new cell, at the end of the last chunk or at the beginning of another.
    fn cut(&mut self, units: u32) -> Option<Address> {
        let in_chunk = self.next % UNITS_PER_CHUNK;
        if self.chunks.is_empty() || in_chunk == 0 || UNITS_PER_CHUNK < in_chunk + units {
            if self.chunks.len() == CHUNKS_MAX {
                return None;
            }
            self.next = self.chunks.len() as u32 * UNITS_PER_CHUNK;
            self.chunks.push(vec![0; CHUNK].into_boxed_slice());
        }
        let at = self.next;
        self.next += units;
        Some(at)
    }

    fn allocate_boxed(&mut self, len: usize) -> Address {
        self.boxed_bytes += len;
        let entry = vec![0; len].into_boxed_slice();
        let at = match self.boxed_free.pop() {
            Some(at) => {
                self.boxed[at as usize] = entry;
                at
            }
            None => {
                self.boxed.push(entry);
                (self.boxed.len() - 1) as u32
            }
        };
        BOXED | at
    }

    /// From the cell's header to the end of its chunk.
    fn cell(&self, at: Address) -> Option<&[u8]> {
        let chunk = self.chunks.get((at / UNITS_PER_CHUNK) as usize)?;
        chunk.get((at % UNITS_PER_CHUNK) as usize * UNIT..)
    }

    fn cell_mut(&mut self, at: Address) -> Option<&mut [u8]> {
        let chunk = self.chunks.get_mut((at / UNITS_PER_CHUNK) as usize)?;
        chunk.get_mut((at % UNITS_PER_CHUNK) as usize * UNIT..)
    }

    /// The entry at an address; `None` if it was freed.
    pub fn get(&self, at: Address) -> Option<&[u8]> {
        if BOXED <= at {
            return self.boxed.get((at ^ BOXED) as usize).map(|entry| &**entry).filter(|e| !e.is_empty());
        }
        let cell = self.cell(at)?;
        let len = length(cell);
        cell.get(HEADER..HEADER + len).filter(|entry| !entry.is_empty())
    }

    /// The same, to be written to.
    pub fn get_mut(&mut self, at: Address) -> Option<&mut [u8]> {
        if BOXED <= at {
            let entry = self.boxed.get_mut((at ^ BOXED) as usize)?;
            return (!entry.is_empty()).then_some(&mut **entry);
        }
        let cell = self.cell_mut(at)?;
        let len = length(cell);
        cell.get_mut(HEADER..HEADER + len).filter(|entry| !entry.is_empty())
    }

    /// Gives an entry another length. Its first `keep` bytes stay; the address may be another.
    pub fn resize(&mut self, at: Address, len: usize, keep: usize) -> Address {
        if at < BOXED
            && let Some(cell) = self.cell_mut(at)
            && HEADER + len <= units_of(usize::from(cell[CLASS])) * UNIT
        {
            cell[..CLASS].copy_from_slice(&(len as u16).to_le_bytes());
            return at;
        }
        let kept = self.get(at).and_then(|entry| entry.get(..keep)).unwrap_or_default().to_vec();
        self.free(at);
        let new = self.allocate(len);
        if let Some(entry) = self.get_mut(new) {
            entry[..kept.len()].copy_from_slice(&kept);
        }
        new
    }

    /// Gives an entry's room back.
    pub fn free(&mut self, at: Address) {
        if BOXED <= at {
            if let Some(entry) = self.boxed.get_mut((at ^ BOXED) as usize) {
                self.boxed_bytes -= entry.len();
                *entry = Box::default();
                self.boxed_free.push(at ^ BOXED);
            }
            return;
        }
        let Some(cell) = self.cell_mut(at) else { return };
        let class = usize::from(cell[CLASS]);
        cell[..CLASS].fill(0);
        if let Some(free) = self.free.get_mut(class) {
            free.push(at);
        }
    }

    /// Bytes taken from the system.
    pub fn allocated(&self) -> usize {
        let free: usize = self.free.iter().map(Vec::capacity).sum();
        self.chunks.len() * CHUNK + self.boxed_bytes + free * size_of::<Address>()
    }
}

/// Length of the entry, from the header of its cell.
fn length(cell: &[u8]) -> usize {
    cell.first_chunk().map_or(0, |bytes| usize::from(u16::from_le_bytes(*bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_has_the_smallest_class_that_holds_it() {
        let mut last = (0, 0);
        for len in 1..UNITS_MAX * UNIT - HEADER {
            let (class, units) = class_of(len).unwrap();
            assert!(len + HEADER <= units * UNIT, "{len}");
            assert_eq!(units_of(class), units, "{len}");
            assert!(class == last.0 || (class == last.0 + 1 && last.1 * UNIT < len + HEADER), "{len}");
            assert!(units * UNIT <= (len + HEADER) * 9 / 8 + UNIT, "{len}: no more than an eighth is wasted");
            last = (class, units);
        }
        assert_eq!(last.0, CLASSES - 1);
        assert!(class_of(UNITS_MAX * UNIT).is_none());
    }

    #[test]
    fn entries_keep_their_bytes_through_growth_and_reuse() {
        let mut arena = Arena::default();
        let mut entries: Vec<(Address, Vec<u8>)> = Vec::new();
        let mut state = 7_u32;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        for round in 0..20_000 {
            let len = 1 + if round % 50 == 0 { random(200_000) } else { random(300) };
            let bytes = vec![round as u8; len];
            match random(3) {
                0 if !entries.is_empty() => {
                    let (at, _) = entries.swap_remove(random(entries.len()));
                    arena.free(at);
                    assert!(arena.get(at).is_none(), "freed");
                }
                1 if !entries.is_empty() => {
                    let pick = random(entries.len());
                    let (at, old) = &mut entries[pick];
                    let keep = old.len().min(len);
                    *at = arena.resize(*at, len, keep);
                    assert_eq!(arena.get(*at).unwrap()[..keep], old[..keep]);
                    arena.get_mut(*at).unwrap().copy_from_slice(&bytes);
                    *old = bytes;
                }
                _ => {
                    let at = arena.allocate(len);
                    arena.get_mut(at).unwrap().copy_from_slice(&bytes);
                    entries.push((at, bytes));
                }
            }
        }
        for (at, bytes) in &entries {
            assert_eq!(arena.get(*at).unwrap(), bytes);
        }
    }
}
