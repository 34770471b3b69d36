//! The output as a changelog: what is taken back is what was sent.

use super::job::*;
use crate::model::{RowKind, Type};
use crate::pipeline::driver::{Driver, Setting};
use crate::plan::Encoding;

const DIM: &str = "(1,Bob) (2,Alice) (3,Claire) (3,Claire2)";
const COLUMNS: &[(&str, Type)] = &[("id", INT), ("name", STRING)];
const KEY: &[(&str, &str)] = &[("id", "cid")];

fn job(spec: LookupSpec<'_>) -> Job {
    Job::new(&[("oid", INT), ("cid", INT), ("amt", INT)], 1)
        .lookup("d", COLUMNS, spec)
        .select(&["oid", "cid", "amt", "id", "name"])
}

/// Trace C of Flink.
const C: &str =
    "+U(1,1,10) +U(1,2,10) +U(2,3,20) -D(2,∅,∅) +U(3,9,30) +U(3,1,30) +U(1,∅,10) -D(1,∅,∅) -D(3,∅,∅)";

#[test]
fn trace_c_left_retracting() {
    job(left(KEY, DIM)).check(
        C,
        "+I(1,1,10,1,Bob) -U(1,1,10,1,Bob) +U(1,2,10,2,Alice) +I(2,3,20,3,Claire) +I(2,3,20,3,Claire2) \
         -D(2,3,20,3,Claire) -D(2,3,20,3,Claire2) +I(3,9,30,∅,∅) -U(3,9,30,∅,∅) +U(3,1,30,1,Bob) \
         -U(1,2,10,2,Alice) +U(1,∅,10,∅,∅) -D(1,∅,10,∅,∅) -D(3,1,30,1,Bob)",
    );
}

/// Flink opens key 3 with `+U` and closes key 1 with `-U`; ours are `+I` and `-D`.
#[test]
fn trace_c_inner_retracting() {
    job(inner(KEY, DIM)).check(
        C,
        "+I(1,1,10,1,Bob) -U(1,1,10,1,Bob) +U(1,2,10,2,Alice) +I(2,3,20,3,Claire) +I(2,3,20,3,Claire2) \
         -D(2,3,20,3,Claire) -D(2,3,20,3,Claire2) +I(3,1,30,1,Bob) -D(1,2,10,2,Alice) -D(3,1,30,1,Bob)",
    );
}

/// Flink loses all three deletes.
#[test]
fn trace_c_inner_for_an_upsert_sink() {
    job(inner(KEY, "(1,Bob) (2,Alice) (3,Claire)")).upsert().check(
        C,
        "+I(1,1,10,1,Bob) +U(1,2,10,2,Alice) +I(2,3,20,3,Claire) -D(2,∅,∅,∅,∅) +I(3,1,30,1,Bob) \
         -D(1,∅,∅,∅,∅) -D(3,∅,∅,∅,∅)",
    );
}

#[test]
fn trace_c_left_for_an_upsert_sink() {
    job(left(KEY, "(1,Bob) (2,Alice) (3,Claire)")).upsert().check(
        C,
        "+I(1,1,10,1,Bob) +U(1,2,10,2,Alice) +I(2,3,20,3,Claire) -D(2,∅,∅,∅,∅) +I(3,9,30,∅,∅) \
         +U(3,1,30,1,Bob) +U(1,∅,10,∅,∅) -D(1,∅,∅,∅,∅) -D(3,∅,∅,∅,∅)",
    );
}

/// E.8: from a match to no match, then deleted. Flink leaves both rows in the sink for ever.
#[test]
fn no_row_stays_in_the_sink_when_its_match_goes() {
    let job = job(inner(KEY, DIM)).upsert();
    job.check(
        "+U(1,2,10) +U(1,9,10) +U(2,2,20) +U(2,∅,20) -D(1,∅,∅) -D(2,∅,∅)",
        "+I(1,2,10,2,Alice) -D(1,∅,∅,∅,∅) +I(2,2,20,2,Alice) -D(2,∅,∅,∅,∅)",
    );
}

/// A row that was never sent is never taken back, though its dimension row exists by then.
#[test]
fn what_was_not_sent_is_not_retracted() {
    for job in [job(inner(KEY, DIM)), job(inner(KEY, DIM)).upsert()] {
        let mut job = job;
        job.plan.lookups[0].cache = None;
        let mut driver = job.driver(Setting::default());
        job.feed(&mut driver, "+U(1,7,10)");
        driver.table_mut("d").unwrap().insert(parse_row("(7,Late)", &[INT, STRING]));
        job.feed(&mut driver, "-D(1,∅,∅)");
        assert!(driver.take_changelog().unwrap().is_empty());
        job.feed(&mut driver, "+U(1,7,10)");
        assert_eq!(show_all(&driver.take_changelog().unwrap()), ["+I(1,7,10,7,Late)"]);
    }
}

/// Flink looks the old row up again, and takes back what was never sent.
#[test]
fn a_retraction_repeats_what_was_sent_though_the_dimension_changed() {
    let mut job = job(left(KEY, DIM));
    job.plan.lookups[0].cache = None;
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, "+U(1,2,10)");
    driver.table_mut("d").unwrap().upsert(parse_row("(2,Alicia)", &[INT, STRING]), &[0]);
    job.feed(&mut driver, "+U(1,2,11)");
    driver.table_mut("d").unwrap().clear();
    job.feed(&mut driver, "+U(1,2,12) -D(1,∅,∅)");
    assert_eq!(
        show_all(&driver.take_changelog().unwrap()),
        [
            "+I(1,2,10,2,Alice)",
            "-U(1,2,10,2,Alice)",
            "+U(1,2,11,2,Alicia)",
            "-U(1,2,11,2,Alicia)",
            "+U(1,2,12,∅,∅)",
            "-D(1,2,12,∅,∅)",
        ]
    );
    assert_eq!(driver.counters()[0].lookups[0].misses, 3, "one call per new row, none for an old one");
}

/// The dimension row is gone when the tombstone comes: the delete is not lost.
#[test]
fn a_delete_survives_its_dimension_row() {
    let mut job = job(inner(KEY, DIM)).upsert();
    job.plan.lookups[0].cache = None;
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, "+U(1,2,10)");
    driver.table_mut("d").unwrap().clear();
    job.feed(&mut driver, "-D(1,∅,∅)");
    assert_eq!(show_all(&driver.take_changelog().unwrap()), ["+I(1,2,10,2,Alice)", "-D(1,∅,∅,∅,∅)"]);
}

/// The same row twice with a dimension change in between: suppressed, as in Flink.
#[test]
fn an_equal_row_is_suppressed_whatever_the_dimension_did() {
    let mut job = job(left(KEY, DIM));
    job.plan.lookups[0].cache = None;
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, "+U(1,2,10)");
    driver.table_mut("d").unwrap().clear();
    job.feed(&mut driver, "+U(1,2,10)");
    assert_eq!(driver.take_changelog().unwrap().len(), 1);
}

/// Flink: `KeyedLookupJoinHarnessTest` (G51, G53): the n-th access to a key answers name-n. Ours says `-U` and
/// `+U` for updates, and the same rows.
#[test]
fn retractions_match_though_every_access_answers_otherwise() {
    let mut job = job(inner(KEY, DIM));
    job.plan.lookups[0].cache = None;
    let mut driver = job.driver(Setting::default());
    for (input, name) in [("+I(1,2,1)", "n1"), ("+U(1,2,2)", "n2"), ("-D(1,∅,∅)", "n3"), ("+I(1,2,3)", "n4")]
    {
        driver.table_mut("d").unwrap().upsert(parse_row(&format!("(2,{name})"), &[INT, STRING]), &[0]);
        job.feed(&mut driver, input);
    }
    assert_eq!(
        show_all(&driver.take_changelog().unwrap()),
        ["+I(1,2,1,2,n1)", "-U(1,2,1,2,n1)", "+U(1,2,2,2,n2)", "-D(1,2,2,2,n2)", "+I(1,2,3,2,n4)"]
    );
}

/// The condition on the stream side decides without a call (G54).
#[test]
fn a_row_that_fails_the_stream_condition_is_padded_without_a_call() {
    let job = job(LookupSpec { pre: Some("amt > 15"), ..left(KEY, DIM) });
    let input = "+U(1,2,10) +U(1,2,20) +U(1,2,5) -D(1,∅,∅)";
    job.check(
        input,
        "+I(1,2,10,∅,∅) -U(1,2,10,∅,∅) +U(1,2,20,2,Alice) -U(1,2,20,2,Alice) +U(1,2,5,∅,∅) -D(1,2,5,∅,∅)",
    );
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, input);
    assert_eq!(driver.counters()[0].lookups[0].misses, 1, "one lookup in all");
}

fn rebuilt(job: &Job) -> Driver {
    let mut driver = job.driver(Setting::default());
    job.rebuild(&mut driver, "+U(1,2,10) +U(2,3,20) +U(3,9,30) +U(4,2,1) -D(4,∅,∅)");
    assert!(driver.take_changelog().unwrap().is_empty());
    driver
}

/// After a restart: an upsert sink gets its tombstone where in doubt.
#[test]
fn a_tombstone_after_a_rebuild_reaches_an_upsert_sink() {
    let job = job(inner(KEY, DIM)).upsert();
    let mut driver = rebuilt(&job);
    job.feed(&mut driver, "-D(1,∅,∅) +U(2,9,20) +U(3,2,30) -D(4,∅,∅) -D(3,∅,∅)");
    assert_eq!(
        show_all(&driver.take_changelog().unwrap()),
        ["-D(1,∅,∅,∅,∅)", "-D(2,∅,∅,∅,∅)", "+U(3,2,30,2,Alice)", "-D(3,∅,∅,∅,∅)"]
    );
}

/// After a restart a sink that needs old rows gets them from a fresh lookup.
#[test]
fn old_rows_after_a_rebuild_are_looked_up_again() {
    let job = job(inner(KEY, DIM));
    let mut driver = rebuilt(&job);
    job.feed(&mut driver, "-D(1,∅,∅) +U(2,1,20) +U(3,2,30) -D(4,∅,∅) +U(2,2,20)");
    assert_eq!(
        show_all(&driver.take_changelog().unwrap()),
        [
            "-D(1,2,10,2,Alice)",
            "-U(2,3,20,3,Claire)",
            "-U(2,3,20,3,Claire2)",
            "+U(2,1,20,1,Bob)",
            "+I(3,2,30,2,Alice)",
            "-U(2,1,20,1,Bob)",
            "+U(2,2,20,2,Alice)",
        ]
    );
}

#[test]
fn a_sink_with_a_key_of_its_own_is_cleaned_after_a_rebuild() {
    let job = job(inner(KEY, DIM)).sink(Encoding::UpsertByOwnKey, &[0, 4]);
    let mut driver = rebuilt(&job);
    job.feed(&mut driver, "+U(2,2,21) -D(2,∅,∅)");
    assert_eq!(
        show_all(&driver.take_changelog().unwrap()),
        ["-D(2,3,20,3,Claire)", "-D(2,3,20,3,Claire2)", "+I(2,2,21,2,Alice)", "-D(2,2,21,2,Alice)"]
    );
}

/// Two changes of a rebuilt key in one batch: the second knows what the first has sent.
#[test]
fn doubt_ends_with_the_first_change() {
    let job = job(left(KEY, DIM));
    let mut driver = job.driver(Setting { batch: 100, ..Setting::default() });
    job.rebuild(&mut driver, "+U(1,2,10)");
    job.feed(&mut driver, "+U(1,1,10) +U(1,9,10) -D(1,∅,∅)");
    assert_eq!(
        show_all(&driver.take_changelog().unwrap()),
        ["-U(1,2,10,2,Alice)", "+U(1,1,10,1,Bob)", "-U(1,1,10,1,Bob)", "+U(1,9,10,∅,∅)", "-D(1,9,10,∅,∅)"]
    );
}

#[test]
fn a_projection_over_text_of_any_length_is_repeated() {
    let job = Job::new(&[("k", INT), ("t", STRING)], 1).select(&["k", "UPPER(t)", "k * 2"]);
    job.check("+U(1,ab) +U(1,abcdefgh) -D(1,∅)", "+I(1,AB,2) -U(1,AB,2) +U(1,ABCDEFGH,2) -D(1,ABCDEFGH,2)");
}

/// A fault in one of several rows of a change: none of them goes out.
#[test]
fn a_change_goes_out_whole_or_not_at_all() {
    let job = Job::new(&[("k", INT), ("id", INT)], 1)
        .lookup("d", &[("did", INT), ("n", INT)], inner(&[("did", "id")], "(1,1) (1,0)"))
        .select(&["k", "10 / n"]);
    let mut driver = job.driver(Setting::default());
    let error = job.try_feed(&mut driver, "+U(1,2) +U(2,1) +U(3,2)").unwrap_err();
    let fault = error.fault().unwrap();
    assert_eq!((fault.reason.name(), fault.column.as_deref()), ("division_by_zero", Some("10 / n")));
    assert!(driver.take_changelog().unwrap().is_empty());
    let row = &job.parse("+U(4,1)")[0].1;
    assert!(driver.feed_row(RowKind::Insert, row, 0).is_err(), "nothing is taken after it");
}
