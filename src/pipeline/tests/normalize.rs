//! ChangelogNormalize: the traces of Flink 2.3, row for row.

use std::time::Duration;

use super::job::*;
use crate::pipeline::driver::Setting;

/// `(a STRING PK, b INT, c STRING)`.
fn abc() -> Job {
    Job::new(&[("a", STRING), ("b", INT), ("c", STRING)], 1)
}

const T1: &str = "+U(one,1,a) +U(one,1,a) +U(one,2,bb) -D(nope,9,z) -D(one,∅,∅) -D(one,∅,∅) +U(one,3,c) \
                  +I(one,3,c) +I(two,1,x) -U(two,7,y) +U(two,2,z)";

#[test]
fn t1_for_a_retracting_consumer() {
    abc().check(
        T1,
        "+I(one,1,a) -U(one,1,a) +U(one,2,bb) -D(one,2,bb) +I(one,3,c) +I(two,1,x) -D(two,1,x) +I(two,2,z)",
    );
}

/// The sink is addressed by the source's key, so `-D` carries the key alone.
#[test]
fn t1_for_an_upsert_sink() {
    abc()
        .upsert()
        .check(T1, "+I(one,1,a) +U(one,2,bb) -D(one,∅,∅) +I(one,3,c) +I(two,1,x) -D(two,∅,∅) +I(two,2,z)");
}

#[test]
fn t1_with_ttl_emits_equal_rows() {
    abc().ttl(3_600_000).check(
        T1,
        "+I(one,1,a) -U(one,1,a) +U(one,1,a) -U(one,1,a) +U(one,2,bb) -D(one,2,bb) +I(one,3,c) -U(one,3,c) \
         +U(one,3,c) +I(two,1,x) -D(two,1,x) +I(two,2,z)",
    );
}

/// Our order inside a bundle: first arrival of the key, where Flink has the order of a hash map.
#[test]
fn t1_in_one_bundle() {
    abc().mini_batch(100, 1000).check(T1, "+I(one,3,c) +I(two,2,z)");
}

#[test]
fn t1_in_bundles_of_two() {
    let job = abc().mini_batch(2, 1000);
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, T1);
    driver.barrier().unwrap();
    let got = show_all(&driver.take_changelog().unwrap());
    let want = "+I(one,1,a) -U(one,1,a) +U(one,2,bb) -D(one,2,bb) +I(one,3,c) +I(two,2,z)";
    assert_eq!(got, want.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn t1_with_a_filter_in_the_operator() {
    abc()
        .filter("b < 3")
        .check(T1, "+I(one,1,a) -U(one,1,a) +U(one,2,bb) -D(one,2,bb) +I(two,1,x) -D(two,1,x) +I(two,2,z)");
}

#[test]
fn t1_with_a_filter_on_the_key() {
    abc().key_filter("a <> 'one'").check(T1, "+I(two,1,x) -D(two,1,x) +I(two,2,z)");
}

/// Unused columns are cut before rows are compared.
#[test]
fn updates_of_unread_columns_vanish() {
    Job::new(&[("a", STRING), ("b", INT)], 1)
        .check("+U(k,1) +U(k,1) +U(k,2) -D(k,∅)", "+I(k,1) -U(k,1) +U(k,2) -D(k,2)");
}

/// A CDC source with `cdc-events-duplicate`.
#[test]
fn repeated_cdc_events_are_cleaned() {
    abc().check(
        "+I(k,1,x) +I(k,1,x) -U(k,1,x) +U(k,2,y) -U(k,1,x) +U(k,2,y) -D(k,2,y) -D(k,2,y)",
        // `-U` is a delete here: Flink drops it below the operator, which a source of upserts has no need for.
        "+I(k,1,x) -D(k,1,x) +I(k,2,y) -D(k,2,y) +I(k,2,y) -D(k,2,y)",
    );
    abc().check(
        "+I(k,1,x) +I(k,1,x) +U(k,2,y) +U(k,2,y) -D(k,2,y) -D(k,2,y)",
        "+I(k,1,x) -U(k,1,x) +U(k,2,y) -D(k,2,y)",
    );
}

const G8: &str = "+I(one,1,a) +U(one,2,bb) +I(three,3,ccc) +U(three,3,ccc) +I(one,4,aaaa) +U(one,4,aaaa) \
                  -D(three,3,cc)";

/// Flink: `ChangelogNormalizeSemanticTestPrograms`, upsert-with-retract-sink (G8).
#[test]
fn a_delete_carries_the_stored_row() {
    abc().check(
        G8,
        "+I(one,1,a) -U(one,1,a) +U(one,2,bb) +I(three,3,ccc) -U(one,2,bb) +U(one,4,aaaa) -D(three,3,ccc)",
    );
}

/// upsert-with-filter (G9).
#[test]
fn a_row_that_fails_the_filter_becomes_a_delete() {
    abc().filter("b < 3").check(
        "+I(one,1,a) +U(one,2,bb) +U(three,3,ccc) +U(three,3,ccc) +I(one,4,aaaa) +U(one,4,aaaa) -D(three,5,ccc)",
        "+I(one,1,a) -U(one,1,a) +U(one,2,bb) -D(one,2,bb)",
    );
}

/// upsert-key-filter (G10).
#[test]
fn a_filter_on_the_key_holds_for_deletes_too() {
    abc().key_filter("a <> 'three'").check(
        "+I(one,1,a) +U(one,2,bb) +U(three,3,ccc) +U(three,3,ccc) +I(one,4,aaaa) +U(one,4,aaaa) -D(three,5,ccc) \
         +I(two,1,d) +U(two,1,d) -D(three,3,ccc) -D(two,1,d)",
        "+I(one,1,a) -U(one,1,a) +U(one,2,bb) -U(one,2,bb) +U(one,4,aaaa) +I(two,1,d) -D(two,1,d)",
    );
}

const G11: &str = "+I(one,1,a) +U(one,2,bb) +U(three,3,ccc) +U(three,3,ccc) +I(one,4,aaaa) +U(one,4,aaaa) \
                   -D(three,3,cc)";

/// changelog-normalize, for a sink without `-U` (G11).
#[test]
fn a_sink_without_update_before_gets_none() {
    abc().upsert().check(G11, "+I(one,1,a) +U(one,2,bb) +I(three,3,ccc) +U(one,4,aaaa) -D(three,∅,∅)");
}

/// changelog-normalize-filter and -key-filter (G12).
#[test]
fn filters_for_a_sink_without_update_before() {
    abc()
        .upsert()
        .filter("b < 10")
        .check(G11, "+I(one,1,a) +U(one,2,bb) +I(three,3,ccc) +U(one,4,aaaa) -D(three,∅,∅)");
    abc().upsert().key_filter("a <> 'three'").check(
        &format!("{G11} +I(two,1,d) -D(two,1,d)"),
        "+I(one,1,a) +U(one,2,bb) +U(one,4,aaaa) +I(two,1,d) -D(two,∅,∅)",
    );
}

/// changelog-normalize-upsert (G16); its source drops `-U`, so G13 is the same.
const G16: &str = "+U(one,1,a) +U(two,2,b) +U(one,1,aa) +U(three,3,c) -D(two,2,b) +U(three,3,cc)";
const G16_OUT: &str = "+I(one,1,a) +I(two,2,b) -U(one,1,a) +U(one,1,aa) +I(three,3,c) -D(two,2,b) -U(three,3,c) \
                       +U(three,3,cc)";

#[test]
fn upserts_become_a_changelog() {
    abc().check(G16, G16_OUT);
}

/// changelog-normalize-source-mini-batch, size 2 (G15): the same rows as G13, in any order across keys.
#[test]
fn bundles_of_two_give_the_same_rows() {
    let job = abc().mini_batch(2, 1000);
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, G16);
    driver.barrier().unwrap();
    let got = show_all(&driver.take_changelog().unwrap());
    let want: Vec<String> = G16_OUT.split_whitespace().map(str::to_owned).collect();
    assert_eq!(per_key(&got), per_key(&want));
}

/// After a restore (G14): the state is rebuilt, then new rows come.
#[test]
fn a_rebuilt_state_goes_on() {
    let job = abc();
    let mut driver = job.driver(Setting::default());
    job.rebuild(&mut driver, G16);
    assert!(driver.take_changelog().unwrap().is_empty());
    job.feed(
        &mut driver,
        "+U(four,4,d) +U(five,5,e) +U(four,4,dd) +U(six,6,f) -D(six,6,f) +U(one,1,aa) -D(two,∅,∅)",
    );
    let got = show_all(&driver.take_changelog().unwrap());
    let want = "+I(four,4,d) +I(five,5,e) -U(four,4,d) +U(four,4,dd) +I(six,6,f) -D(six,6,f)";
    assert_eq!(got, want.split_whitespace().collect::<Vec<_>>());
}

/// Compaction may have removed the record behind a row that was sent: an upsert sink gets its tombstone.
#[test]
fn keys_that_state_does_not_know_are_taken_back_while_in_doubt() {
    let job = abc().upsert().filter("b < 5");
    for setting in settings() {
        let mut driver = job.driver(setting);
        job.rebuild(&mut driver, "+U(known,1,a)");
        job.resume(&mut driver, "-D(gone,∅,∅) +U(filtered,9,z) +U(new,2,b) -D(known,∅,∅) -D(known,∅,∅)");
        job.resume(&mut driver, "+U(new,3,c) -D(new,∅,∅)");
        job.feed(&mut driver, "-D(later,∅,∅) +U(off,9,z) +U(last,1,a)");
        assert!(driver.barrier().unwrap());
        let mut got = show_all(&driver.take_changelog().unwrap());
        got.retain(|row| row != "-D(known,∅,∅)");
        let want = "-D(gone,∅,∅) -D(filtered,∅,∅) +U(new,2,b) +U(new,3,c) -D(new,∅,∅) +I(last,1,a)";
        let want: Vec<String> = want.split_whitespace().map(str::to_owned).collect();
        assert_eq!(per_key(&got), per_key(&want), "{setting:?}");
    }
}

/// A sink that needs old rows cannot be given them.
#[test]
fn what_cannot_be_taken_back_by_its_key_is_left() {
    let job = abc().filter("b < 5");
    let mut driver = job.driver(Setting::default());
    job.resume(&mut driver, "-D(gone,∅,∅) +U(filtered,9,z) +U(new,2,b) +U(new,3,c)");
    let got = show_all(&driver.take_changelog().unwrap());
    assert_eq!(got, ["+I(new,2,b)", "-U(new,2,b)", "+U(new,3,c)"]);
}

#[test]
fn a_bundle_is_in_doubt_if_any_of_its_records_is() {
    let job = abc().upsert().mini_batch(2, 1000);
    let mut driver = job.driver(Setting::default());
    job.resume(&mut driver, "+U(k,1,a)");
    job.feed(&mut driver, "-D(k,∅,∅)");
    assert_eq!(show_all(&driver.take_changelog().unwrap()), ["-D(k,∅,∅)"]);
}

fn book() -> Job {
    Job::new(&[("id", INT), ("n", INT)], 1)
}

/// `ProcTimeDeduplicateKeepLastRowFunctionTest` (G17, G19).
#[test]
fn without_update_before_and_without_ttl() {
    book().upsert().check("+I(1,12) +I(2,11) +I(1,13)", "+I(1,12) +I(2,11) +U(1,13)");
    book().check("+I(1,12) +I(1,12) +I(2,11) +I(2,11)", "+I(1,12) +I(2,11)");
}

/// testWithGenerateUpdateBefore, with TTL (G20).
#[test]
fn with_ttl_a_repeated_row_is_an_update() {
    book().ttl(1000).check("+I(1,12) +I(1,12) +I(2,11)", "+I(1,12) -U(1,12) +U(1,12) +I(2,11)");
}

/// testWithGenerateUpdateBeforeAndStateTtl (G21): expired state starts with `+I` again, and deletes are silent.
#[test]
fn expired_state_starts_anew() {
    for job in [book().ttl(1000), book().ttl(1000).upsert()] {
        for setting in settings() {
            let mut driver = job.driver(setting);
            job.feed(&mut driver, "+I(1,12) +I(2,11) +I(3,5)");
            driver.advance(Duration::from_millis(999)).unwrap();
            job.feed(&mut driver, "+U(3,5)");
            driver.take_changelog().unwrap();
            driver.advance(Duration::from_millis(1)).unwrap();
            job.feed(&mut driver, "+I(1,17) +I(1,19) -D(2,18) +I(2,18) -D(3,∅)");
            driver.barrier().unwrap();
            let got = show_all(&driver.take_changelog().unwrap());
            let want = match setting.batch {
                _ if job.plan.sink.primary_key.is_empty() => "+I(1,17) -U(1,17) +U(1,19) +I(2,18) -D(3,5)",
                _ => "+I(1,17) +U(1,19) +I(2,18) -D(3,∅)",
            };
            let want: Vec<String> = want.split_whitespace().map(str::to_owned).collect();
            assert_eq!(per_key(&got), per_key(&want), "{setting:?}");
        }
    }
}

#[test]
fn expired_state_does_not_stay_in_memory() {
    let job = book().ttl(1000).upsert();
    let mut driver = job.driver(Setting::default());
    for i in 0..2000 {
        job.feed(&mut driver, &format!("+I({i},1)"));
    }
    driver.advance(Duration::from_millis(1001)).unwrap();
    for _ in 0..2000 {
        job.feed(&mut driver, "+I(1,1)");
    }
    assert_eq!(driver.counters()[0].state.keys, 1);
}

/// `ProcTimeMiniBatchDeduplicateKeepLastRowFunctionTest` (G22): bundles of 3, TTL on.
#[test]
fn bundles_of_three() {
    let job = book().ttl(1000).mini_batch(3, 1000);
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, "+I(1,10) +I(2,11) +I(1,13)");
    let first = show_all(&driver.take_changelog().unwrap());
    assert_eq!(first, ["+I(1,13)", "+I(2,11)"]);
    job.feed(&mut driver, "+I(1,12) +I(2,11) +I(3,11)");
    let second = show_all(&driver.take_changelog().unwrap());
    assert_eq!(second, ["-U(1,13)", "+U(1,12)", "-U(2,11)", "+U(2,11)", "+I(3,11)"]);
}

/// B.6: only the last record of a key is seen; a bundle also ends by its age.
#[test]
fn a_bundle_ends_by_its_age() {
    let job = book().mini_batch(100, 50);
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, "+I(1,10) -D(1,∅) +I(2,1) -U(2,1) +I(3,1)");
    assert!(driver.take_changelog().unwrap().is_empty());
    driver.advance(Duration::from_millis(49)).unwrap();
    assert!(driver.take_changelog().unwrap().is_empty());
    driver.advance(Duration::from_millis(1)).unwrap();
    assert_eq!(show_all(&driver.take_changelog().unwrap()), ["+I(3,1)"]);
    job.feed(&mut driver, "+U(3,2) +U(3,1)");
    driver.advance(Duration::from_millis(50)).unwrap();
    assert!(driver.take_changelog().unwrap().is_empty(), "back to the stored row: nothing");
}

#[test]
fn a_key_in_two_partitions_is_the_producers_fault() {
    let job = book();
    let mut driver = job.driver(Setting::default());
    let row = &job.parse("+U(1,1)")[0].1;
    driver.feed_row(crate::model::RowKind::UpdateAfter, row, 0).unwrap();
    let error = driver.feed_row(crate::model::RowKind::UpdateAfter, row, 1).unwrap_err();
    let fault = error.fault().unwrap();
    assert_eq!(fault.reason.name(), "key_in_two_partitions");
    assert_eq!((fault.place.partition, fault.place.offset), (1, 0));
    assert!(fault.detail.contains("t[0]") && fault.detail.contains("t[1]"), "{fault}");
}

#[test]
fn a_deleted_key_may_come_back_in_another_partition() {
    for setting in settings() {
        let job = book();
        let mut driver = job.driver(setting);
        let row = &job.parse("+U(1,1)")[0].1;
        driver.feed_row(crate::model::RowKind::UpdateAfter, row, 0).unwrap();
        driver.feed_row(crate::model::RowKind::Delete, row, 0).unwrap();
        driver.feed_row(crate::model::RowKind::UpdateAfter, row, 1).unwrap();
        driver.settle().unwrap();
        assert_eq!(show_all(&driver.take_changelog().unwrap()), ["+I(1,1)", "-D(1,1)", "+I(1,1)"]);
    }
}

#[test]
fn released_partitions_leave_nothing_behind() {
    let job = book().upsert();
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, "+I(1,1) +I(2,1) +I(3,1)");
    driver.release(&[1]).unwrap();
    assert_eq!(driver.counters()[0].state.keys, 2);
    driver.take_changelog().unwrap();
    job.feed(&mut driver, "-D(1,∅) -D(2,∅)");
    assert_eq!(show_all(&driver.take_changelog().unwrap()), ["-D(2,∅)"]);
}
