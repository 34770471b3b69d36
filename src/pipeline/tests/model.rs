//! Random upserts and deletes against a plain fold: any split into batches, any number of shards, any order of
//! answers gives the same rows per key, and the sink ends as the input says.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::job::*;
use crate::model::{RowKind, Type, Value};
use crate::pipeline::driver::{ChangelogRow, Order, Setting};
use crate::plan::{Encoding, JoinKind};

const DIM: &str = "(1,a) (2,b) (2,bb) (3,c) (4,∅)";
const COLUMNS: &[(&str, Type)] = &[("id", INT), ("name", STRING)];

#[derive(Clone, Debug)]
enum Step {
    /// Key, foreign key, amount.
    Upsert(u8, Option<u8>, u8),
    Delete(u8),
    Barrier,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    steps_without(0)
}

/// Steps in which no row has this foreign key.
fn steps_without(foreign: u8) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0_u8..5, proptest::option::weighted(0.9, 1_u8..7), 0_u8..3)
            .prop_map(move |(k, f, n)| Step::Upsert(k, f.filter(|&f| f != foreign), n)),
        3 => (0_u8..5).prop_map(Step::Delete),
        1 => Just(Step::Barrier),
    ];
    proptest::collection::vec(step, 1..60)
}

fn job(join: JoinKind, hash: bool, encoding: Encoding) -> Job {
    let spec = LookupSpec { join, hash, ..inner(&[("id", "cid")], DIM) };
    let job = Job::new(&[("k", INT), ("cid", INT), ("n", INT)], 1).lookup("d", COLUMNS, spec).select(&[
        "k",
        "cid",
        "n",
        "COALESCE(name, '∅')",
    ]);
    match encoding {
        Encoding::UpsertByOwnKey => job.sink(encoding, &[0, 3]),
        Encoding::UpsertBySourceKey => job.upsert(),
        Encoding::Retract => job,
    }
}

fn run(job: &Job, steps: &[Step], setting: Setting) -> Vec<ChangelogRow> {
    let mut driver = job.driver(setting);
    for step in steps {
        let text = match step {
            Step::Upsert(k, Some(f), n) => format!("+U({k},{f},{n})"),
            Step::Upsert(k, None, n) => format!("+U({k},∅,{n})"),
            Step::Delete(k) => format!("-D({k},∅,∅)"),
            Step::Barrier => {
                assert!(driver.barrier().unwrap());
                continue;
            }
        };
        for (kind, row) in job.parse(&text) {
            driver.feed_row(kind, &row, 0).unwrap();
        }
    }
    assert!(driver.barrier().unwrap());
    let keys = driver.counters().iter().map(|counters| counters.state.keys).sum::<u64>();
    assert_eq!(keys as usize, last_rows(steps).len(), "keys in state");
    driver.take_changelog().unwrap()
}

/// The last row of each key that is not deleted.
fn last_rows(steps: &[Step]) -> BTreeMap<u8, (Option<u8>, u8)> {
    let mut rows = BTreeMap::new();
    for step in steps {
        match step {
            Step::Upsert(k, f, n) => {
                rows.insert(*k, (*f, *n));
            }
            Step::Delete(k) => {
                rows.remove(k);
            }
            Step::Barrier => {}
        }
    }
    rows
}

/// The joined rows that the sink must hold in the end.
fn expected(steps: &[Step], join: JoinKind) -> Vec<String> {
    let mut out = Vec::new();
    for (k, (f, n)) in last_rows(steps) {
        let names: &[&str] = match f {
            Some(1) => &["a"],
            Some(2) => &["b", "bb"],
            Some(3) => &["c"],
            Some(4) => &["∅"],
            _ if join == JoinKind::Left => &["∅"],
            _ => &[],
        };
        let f = f.map_or("∅".to_owned(), |f| f.to_string());
        out.extend(names.iter().map(|name| format!("({k},{f},{n},{name})")));
    }
    out.sort();
    out
}

/// Applies a changelog to a sink; every rule of a well-formed one is checked on the way.
fn fold(rows: &[ChangelogRow], key: &[usize], retracting: bool) -> Vec<String> {
    let mut sink: BTreeMap<String, String> = BTreeMap::new();
    let text = |row: &[Value]| show_all(&[(RowKind::Insert, row.to_vec())])[0][2..].to_owned();
    for (kind, row) in rows {
        let of: Vec<Value> = key.iter().map(|&at| row[at].clone()).collect();
        let (of, all) = (text(&of), text(row));
        match kind {
            RowKind::Insert => assert_eq!(sink.insert(of, all), None, "+I of a key that is there: {row:?}"),
            RowKind::UpdateAfter if retracting => {
                assert_eq!(sink.insert(of, all), None, "+U without -U: {row:?}");
            }
            RowKind::UpdateAfter => assert!(sink.insert(of, all).is_some(), "+U opens a key: {row:?}"),
            RowKind::UpdateBefore => {
                assert!(retracting);
                assert_eq!(sink.remove(&of), Some(all), "-U of something else");
            }
            RowKind::Delete if retracting => assert_eq!(sink.remove(&of), Some(all), "-D of something else"),
            RowKind::Delete => assert!(sink.remove(&of).is_some(), "-D of a key that is not there: {row:?}"),
        }
    }
    sink.into_values().collect()
}

fn by_first_column(rows: &[ChangelogRow]) -> BTreeMap<String, Vec<String>> {
    per_key(&show_all(rows))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 150 }))]

    #[test]
    fn the_fold_of_the_output_is_the_join_of_the_folded_input(
        steps in steps(),
        batch in prop_oneof![Just(1_usize), 2_usize..20, Just(1000)],
        shards in 1_u16..5,
        seed in 1_u64..u64::MAX,
        hash: bool,
        left: bool,
    ) {
        let join = if left { JoinKind::Left } else { JoinKind::Inner };
        let other = Setting { shards, batch, order: Order::Seeded(seed), ..Setting::default() };
        for (encoding, key) in [
            (Encoding::Retract, &[0, 1, 2, 3][..]),
            (Encoding::UpsertByOwnKey, &[0, 3]),
        ] {
            let job = job(join, hash, encoding);
            let plain = run(&job, &steps, Setting::default());
            let mut held = fold(&plain, key, encoding == Encoding::Retract);
            held.sort();
            prop_assert_eq!(held, expected(&steps, join));
            let split = run(&job, &steps, other);
            prop_assert_eq!(by_first_column(&split), by_first_column(&plain));
        }
    }

    /// One dimension row per key, so that the sink is addressed by the source's key.
    #[test]
    fn an_upsert_sink_ends_as_the_input_says(
        steps in steps_without(2),
        batch in 1_usize..30,
        shards in 1_u16..5,
        seed in 1_u64..u64::MAX,
        left: bool,
    ) {
        let join = if left { JoinKind::Left } else { JoinKind::Inner };
        let spec = LookupSpec { join, hash: true, ..inner(&[("id", "cid")], "(1,a) (3,c) (4,∅)") };
        let job = Job::new(&[("k", INT), ("cid", INT), ("n", INT)], 1)
            .lookup("d", COLUMNS, spec)
            .select(&["k", "cid", "n", "name"])
            .upsert();
        let plain = run(&job, &steps, Setting::default());
        let mut held = fold(&plain, &[0], false);
        held.sort();
        prop_assert_eq!(held, expected(&steps, join));
        let other = Setting { shards, batch, order: Order::Seeded(seed), ..Setting::default() };
        let split = run(&job, &steps, other);
        prop_assert_eq!(by_first_column(&split), by_first_column(&plain));
    }
}
