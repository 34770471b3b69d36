//! What the state promises to the data path, checked on the memory backend.

use std::sync::Arc;

use super::*;

const P0: PartitionId = PartitionId(0);
const P1: PartitionId = PartitionId(1);

fn key<'a>(state: &MemoryState, bytes: &'a [u8]) -> StateKey<'a> {
    StateKey { hash: state.hash(bytes), bytes }
}

fn row(row: &[u8]) -> NewRow<'_> {
    NewRow { partition: P0, row, now: 0 }
}

fn state() -> MemoryState {
    MemoryState::new(Shape { times: true, rows: true })
}

#[test]
fn a_row_is_found_again_and_replaced() {
    let mut state = MemoryState::new(Shape::default());
    let k = key(&state, b"k");
    assert!(state.find(k).is_none());
    let place = state.insert(k, row(b"one"));
    assert_eq!(state.find(k), Some(place));
    assert_eq!(state.find_near(Some(place), k).unwrap().0, place);
    let place = state.replace(place, NewRow { partition: P1, row: b"longer", now: 5 });
    let entry = state.entry(place).unwrap();
    assert_eq!((entry.row, entry.partition), (Some(&b"longer"[..]), P1));
    assert_eq!(entry.written, 0, "no times are kept without TTL");
    assert_eq!(entry.sent, SentMark::Nothing);
    assert_eq!(state.counts().keys, 1);
}

#[test]
fn keys_of_any_length_keep_their_rows_apart() {
    let mut state = state();
    let keys: Vec<Vec<u8>> = [0_usize, 1, 254, 255, 256, 70_000].map(|n| vec![7; n]).into();
    for k in &keys {
        let k = key(&state, k);
        state.insert(k, row(&k.bytes.len().to_le_bytes()));
    }
    for k in &keys {
        let place = state.find(key(&state, k)).unwrap();
        assert_eq!(state.entry(place).unwrap().row, Some(&k.len().to_le_bytes()[..]));
    }
}

#[test]
fn a_deleted_row_lives_on_until_its_deletion_is_emitted() {
    let mut state = state();
    let k = key(&state, b"k");
    let place = state.insert(k, row(b"one"));
    state.mark(place, SentMark::Sent);
    state.clear_row(place, 1);
    let entry = state.entry(place).unwrap();
    assert_eq!((entry.row, entry.sent), (None, SentMark::Sent));
    assert_eq!(state.counts().keys, 0);
    state.mark(place, SentMark::Nothing);
    assert!(state.find(k).is_none());
}

#[test]
fn sent_rows_survive_a_newer_row_of_the_key() {
    let mut state = state();
    let k = key(&state, b"k");
    let place = state.insert(k, row(b"one"));
    let dimension: Arc<[u8]> = Arc::from(&b"d"[..]);
    let dimensions = [Some(dimension.clone()), None];
    state.set_sent_rows(place, SentRows { stream: b"one", dimensions: &dimensions, rows: 2 });
    assert_eq!(Arc::strong_count(&dimension), 3, "shared, not copied");
    state.replace(place, row(b"two"));
    let sent = state.sent_rows(place).unwrap();
    assert_eq!((sent.stream, sent.rows), (&b"one"[..], 2));
    assert_eq!(sent.dimensions, &dimensions);
    state.clear_row(place, 0);
    state.replace(place, row(b"three"));
    assert_eq!(state.sent_rows(place).unwrap().stream, b"one");
    state.mark(place, SentMark::Nothing);
    assert!(state.sent_rows(place).is_none());
    assert_eq!(Arc::strong_count(&dimension), 2);
}

#[test]
fn a_hint_that_went_stale_does_no_harm() {
    let mut state = MemoryState::new(Shape::default());
    let first = key(&state, b"k");
    let hint = state.insert(first, row(b"k"));
    for i in 0..100_000_u32 {
        let bytes = i.to_le_bytes();
        let k = key(&state, &bytes);
        state.insert(k, row(&bytes));
    }
    let (place, _) = state.find_near(Some(hint), first).unwrap();
    assert_eq!(state.entry(place).unwrap().row, Some(&b"k"[..]));
    state.remove(place);
    assert!(state.find_near(Some(place), first).is_none());
}

#[test]
fn partitions_are_dropped_with_all_they_hold() {
    let mut state = state();
    for i in 0..1000_u32 {
        let bytes = i.to_le_bytes();
        let k = key(&state, &bytes);
        let place = state.insert(k, NewRow { partition: PartitionId(i % 2), row: b"r", now: 0 });
        state.set_sent_rows(place, SentRows { stream: b"other", dimensions: &[], rows: 1 });
    }
    state.drop_partitions(&[P1]);
    assert_eq!(state.counts().keys, 500);
    assert!(state.find(key(&state, &1_u32.to_le_bytes())).is_none());
    assert!(state.find(key(&state, &2_u32.to_le_bytes())).is_some());
    state.drop_partitions(&[P0]);
    assert_eq!(state.counts(), StateCounts { keys: 0, bytes: 0 });
    assert_eq!(state.kept_bytes, 0);
}

#[test]
fn expired_entries_are_swept_in_the_end() {
    let mut state = state();
    for i in 0..5000_u32 {
        let bytes = i.to_le_bytes();
        let k = key(&state, &bytes);
        state.insert(k, NewRow { partition: P0, row: b"r", now: i64::from(i) });
    }
    for _ in 0..1000 {
        state.sweep(4000);
    }
    assert_eq!(state.counts().keys, 1000);
    assert!(state.find(key(&state, &4000_u32.to_le_bytes())).is_some());
}

#[test]
fn a_key_costs_little_more_than_its_row() {
    let mut state = MemoryState::new(Shape::default());
    for i in 0..200_000_u64 {
        let bytes = [&[0][..], &i.to_le_bytes()].concat();
        let k = key(&state, &bytes);
        state.insert(k, row(&[1; 60]));
    }
    let per_key = state.counts().bytes / 200_000;
    assert!(per_key <= 130, "{per_key} bytes per key");
}

/// An assignment of empty partitions that goes again must not cost a copy of the whole state.
#[test]
fn nothing_moves_when_the_dropped_partitions_held_nothing() {
    let mut state = state();
    let k = key(&state, b"k");
    let place = state.insert(k, row(b"one"));
    state.drop_partitions(&[P1]);
    assert_eq!(state.find(k), Some(place));
    assert_eq!(state.entry(place).unwrap().row, Some(&b"one"[..]));
}
