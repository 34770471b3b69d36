//! Order: answers that come late, batches that overtake nothing, epochs, shards that hand rows on.

use std::time::Duration;

use super::job::*;
use crate::error::Kind;
use crate::model::{Epoch, Type};
use crate::pipeline::FLIGHTS_MAX;
use crate::pipeline::driver::{Driver, Fed, Order, Setting};

const COLUMNS: &[(&str, Type)] = &[("id", INT), ("name", STRING)];
const KEY: &[(&str, &str)] = &[("id", "cid")];

fn job(spec: LookupSpec<'_>) -> Job {
    Job::new(&[("k", INT), ("cid", INT)], 1).lookup("d", COLUMNS, spec).select(&["k", "cid", "name"])
}

fn by_hand(job: &Job, batch: usize) -> Driver {
    job.driver(Setting { batch, order: Order::ByHand, ..Setting::default() })
}

fn out(driver: &mut Driver) -> Vec<String> {
    show_all(&driver.take_changelog().unwrap())
}

#[test]
fn a_slow_answer_holds_back_the_key_but_not_the_work() {
    let job = job(left(KEY, "(1,slow) (2,fast)"));
    let mut driver = by_hand(&job, 1);
    job.feed(&mut driver, "+U(7,1) +U(7,2)");
    assert_eq!(driver.waiting_statements(), 2, "the second row was read while the first waits");
    driver.answer(1).unwrap();
    assert!(out(&mut driver).is_empty(), "the fast answer waits for the slow one");
    driver.answer(0).unwrap();
    assert_eq!(out(&mut driver), ["+I(7,1,slow)", "-U(7,1,slow)", "+U(7,2,fast)"]);
}

/// The state is two rows ahead of the sink when the first is emitted.
#[test]
fn batches_in_flight_that_touch_one_key() {
    for (spec, want) in [
        (
            inner(KEY, "(1,one) (2,two)"),
            vec!["+I(7,1,one)", "-D(7,1,one)", "+I(7,2,two)", "-D(7,2,two)", "+I(7,1,one)"],
        ),
        (
            left(KEY, "(1,one) (2,two)"),
            vec!["+I(7,1,one)", "-D(7,1,one)", "+I(7,2,two)", "-D(7,2,two)", "+I(7,1,one)"],
        ),
    ] {
        let job = job(spec);
        let mut driver = by_hand(&job, 1);
        job.feed(&mut driver, "+U(7,1) -D(7,∅) +U(7,2) -D(7,∅) +U(7,1)");
        assert_eq!(driver.waiting_statements(), 2, "1 and 2: the third request for 1 joined the first");
        driver.answer(1).unwrap();
        assert!(out(&mut driver).is_empty());
        driver.answer(0).unwrap();
        assert_eq!(out(&mut driver), want);
    }
}

#[test]
fn a_shard_says_when_it_is_full_and_sends_what_queued_up_together() {
    let job = job(left(KEY, ""));
    let mut driver = by_hand(&job, 1);
    let rows: Vec<String> = (0..FLIGHTS_MAX).map(|i| format!("+U({i},{i})")).collect();
    job.feed(&mut driver, &rows.join(" "));
    assert_eq!(driver.counters()[0].in_flight, FLIGHTS_MAX as u64);
    assert_eq!(driver.waiting_statements(), 2, "two connections' worth");
    driver.answer(0).unwrap();
    driver.answer(0).unwrap();
    let counters = driver.counters()[0].lookups[0];
    assert_eq!((counters.statements, counters.keys), (3, FLIGHTS_MAX as u64), "the rest left as one");
    driver.answer(0).unwrap();
    assert_eq!(out(&mut driver).len(), FLIGHTS_MAX);
}

#[test]
fn an_epoch_passes_after_its_last_row() {
    let job = job(left(KEY, "(1,one)"));
    let mut driver = by_hand(&job, 1);
    job.feed(&mut driver, "+U(1,1)");
    assert!(!driver.barrier().unwrap());
    job.feed(&mut driver, "+U(2,1)");
    assert!(out(&mut driver).is_empty());
    driver.answer(0).unwrap();
    assert!(driver.has_passed(Epoch(1)) && !driver.has_passed(Epoch(2)));
    assert_eq!(out(&mut driver), ["+I(1,1,one)", "+I(2,1,one)"]);
}

/// Seed job 3: the database fails twice and then answers: the row comes out once, late.
#[test]
fn failed_lookups_are_tried_again() {
    let job = job(left(KEY, "(1,alice)"));
    for setting in settings() {
        let mut driver = job.driver(setting);
        driver.table_mut("d").unwrap().fail("timeout", Some(2));
        job.feed(&mut driver, "+U(1,1)");
        assert!(out(&mut driver).is_empty(), "{setting:?}");
        driver.advance(Duration::from_secs(1)).unwrap();
        assert_eq!(out(&mut driver), ["+I(1,1,alice)"], "{setting:?}");
        assert_eq!(driver.counters().iter().map(|c| c.lookups[0].failures).sum::<u64>(), 0);
    }
}

/// It keeps failing: the job stops at that row, what stands before it goes out, and no epoch passes.
#[test]
fn a_lookup_that_keeps_failing_stops_the_job_at_its_row() {
    let mut job = job(left(KEY, "(1,alice)"));
    job.plan.lookups[0].max_retries = 2;
    for batch in [1, 1000] {
        let mut driver = job.driver(Setting { batch, ..Setting::default() });
        job.feed(&mut driver, "+U(1,1)");
        driver.table_mut("d").unwrap().fail("connection refused", None);
        job.feed(&mut driver, "+U(4,1) +U(7,2) +U(10,1)");
        assert!(!driver.barrier().unwrap());
        let error = driver.advance(Duration::from_secs(10)).unwrap_err();
        assert_eq!(error.kind(), Kind::External, "no fault of the data");
        let fault = error.fault().unwrap();
        assert_eq!((fault.reason.name(), fault.place.partition, fault.place.offset), ("lookup_failed", 1, 2));
        assert!(fault.detail.contains("table d") && fault.detail.contains("3 times"), "{fault}");
        assert!(fault.detail.contains("connection refused"));
        assert_eq!(out(&mut driver), ["+I(1,1,alice)", "+I(4,1,alice)"]);
        assert!(!driver.has_passed(Epoch(1)));
        assert_eq!(driver.counters()[0].lookups[0].failures, 1);
    }
}

/// What came before a record that cannot be decoded goes out, whatever the size of the batch.
#[test]
fn a_record_that_cannot_be_decoded_stops_the_job_at_its_place() {
    let job = Job::new(&[("k", INT), ("cid", INT)], 1);
    for batch in [1, 1000] {
        let mut driver = job.driver(Setting { batch, ..Setting::default() });
        let mut result = Ok(());
        for (k, value) in [(1, "{\"k\":1,\"cid\":1}"), (4, "{\"k\":4,"), (7, "{\"k\":7,\"cid\":1}")] {
            result = result.and_then(|()| feed(&mut driver, k, Some(value)));
        }
        let error = result.and_then(|()| driver.settle()).unwrap_err();
        let fault = error.fault().unwrap();
        assert_eq!((fault.reason.name(), fault.place.offset), ("malformed", 1));
        assert_eq!(out(&mut driver), ["+I(1,1)"], "batch {batch}");
        assert!(driver.barrier().is_err());
    }
}

fn feed(driver: &mut Driver, k: i32, value: Option<&str>) -> crate::error::Result<()> {
    driver.feed(Fed {
        partition: k % 3,
        key: Some(format!("{{\"k\":{k}}}").as_bytes()),
        value: value.map(str::as_bytes),
        timestamp: -1,
        headers: &[],
        silent: false,
    })
}

/// `value.fields-include: ALL`: the value's key counts, and its row belongs to the shard that owns that key.
#[test]
fn rows_whose_value_names_another_key_are_handed_on() {
    let job = Job::new(&[("k", INT), ("cid", INT)], 1);
    for setting in settings() {
        let mut driver = job.driver(setting);
        for k in 0..30 {
            // Record key k says that it is key k + 300.
            feed(&mut driver, k, Some(&format!("{{\"k\":{},\"cid\":1}}", k + 300))).unwrap();
            feed(&mut driver, k, Some(&format!("{{\"k\":{},\"cid\":2}}", k + 300))).unwrap();
            feed(&mut driver, k, Some(&format!("{{\"k\":{k},\"cid\":3}}"))).unwrap();
            feed(&mut driver, k, None).unwrap();
        }
        assert!(driver.barrier().unwrap(), "{setting:?}");
        let got = per_key(&out(&mut driver));
        for k in 0..30 {
            let other = k + 300;
            assert_eq!(
                got[&other.to_string()],
                [format!("+I({other},1)"), format!("-U({other},1)"), format!("+U({other},2)")],
                "{setting:?}"
            );
            assert_eq!(got[&k.to_string()], [format!("+I({k},3)"), format!("-D({k},3)")], "{setting:?}");
        }
        let rows_in: Vec<_> = driver.counters().iter().map(|counters| counters.rows_in).collect();
        assert_eq!(rows_in.iter().map(|rows| rows.key_mismatches).sum::<u64>(), 60);
        let forwarded = rows_in.iter().map(|rows| rows.forwarded).sum::<u64>();
        assert!(if setting.shards == 1 { forwarded == 0 } else { 20 < forwarded });
    }
}

#[test]
fn epochs_pass_in_order_while_rows_are_handed_on() {
    let job = Job::new(&[("k", INT), ("cid", INT)], 1);
    for seed in 1..40 {
        let mut driver = job.driver(Setting {
            shards: 3,
            batch: 4,
            order: Order::Seeded(seed * 77),
            ..Setting::default()
        });
        for epoch in 1..6 {
            for k in 0..10 {
                feed(&mut driver, k, Some(&format!("{{\"k\":{},\"cid\":{epoch}}}", k + 300))).unwrap();
            }
            assert!(driver.barrier().unwrap(), "seed {seed}");
            assert_eq!(out(&mut driver).len(), if epoch == 1 { 10 } else { 20 }, "seed {seed}");
        }
    }
}

/// What is in flight of a partition that is gone is discarded; the rest goes out.
#[test]
fn a_lost_partition_emits_nothing_more() {
    let job = job(left(KEY, "(1,one)"));
    let mut driver = by_hand(&job, 1000);
    job.feed(&mut driver, "+U(1,1) +U(2,1) +U(4,1)");
    driver.release(&[1]).unwrap();
    driver.answer(0).unwrap();
    assert_eq!(out(&mut driver), ["+I(2,1,one)"]);
    assert_eq!(driver.counters()[0].state.keys, 1);
    assert!(driver.barrier().unwrap());
}

#[test]
fn a_bundle_forgets_a_lost_partition() {
    let job = Job::new(&[("k", INT), ("cid", INT)], 1).mini_batch(100, 1000);
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, "+U(1,1) +U(2,1) +U(4,1) +U(5,1)");
    driver.release(&[1]).unwrap();
    job.feed(&mut driver, "+U(5,2)");
    assert!(driver.barrier().unwrap());
    assert_eq!(out(&mut driver), ["+I(2,1)", "+I(5,2)"]);
}

/// Answers are good for as long as the definition says, on the clock of the job.
#[test]
fn cached_rows_expire() {
    let cache = Some(crate::plan::CachePlan {
        expire_after_write: Some(Duration::from_secs(600)),
        missing_key_ttl: Some(Duration::from_secs(10)),
        ..CACHE
    });
    let job = job(LookupSpec { cache, ..left(KEY, "(1,old)") });
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, "+U(1,1) +U(2,2)");
    driver.table_mut("d").unwrap().upsert(parse_row("(1,new)", &[INT, STRING]), &[0]);
    driver.table_mut("d").unwrap().insert(parse_row("(2,late)", &[INT, STRING]));
    job.feed(&mut driver, "+U(3,1) +U(4,2)");
    driver.advance(Duration::from_secs(10)).unwrap();
    job.feed(&mut driver, "+U(5,1) +U(6,2)");
    driver.advance(Duration::from_secs(590)).unwrap();
    job.feed(&mut driver, "+U(7,1)");
    assert_eq!(
        out(&mut driver),
        [
            "+I(1,1,old)",
            "+I(2,2,∅)",
            "+I(3,1,old)",
            "+I(4,2,∅)",
            "+I(5,1,old)",
            "+I(6,2,late)",
            "+I(7,1,new)"
        ]
    );
    assert_eq!(driver.counters()[0].lookups[0].expired, 2);
}

/// A record that cannot be decoded behind rows that wait in a bundle.
#[test]
fn a_bundle_goes_out_before_a_fault_behind_it() {
    let job = Job::new(&[("k", INT), ("cid", INT)], 1).mini_batch(100, 1000);
    for batch in [1, 1000] {
        let mut driver = job.driver(Setting { batch, ..Setting::default() });
        feed(&mut driver, 1, Some("{\"k\":1,\"cid\":1}")).unwrap();
        assert!(feed(&mut driver, 2, Some("nonsense")).and_then(|()| driver.settle()).is_err());
        assert_eq!(out(&mut driver), ["+I(1,1)"]);
    }
}

/// A row that matches more than one batch of output holds.
#[test]
fn output_leaves_in_batches_of_a_bounded_size() {
    let text = "x".repeat(1000);
    let rows: Vec<String> = (0..3000).map(|_| format!("(1,{text})")).collect();
    let job = job(left(KEY, &rows.join(" ")));
    let mut driver = job.driver(Setting { batch: 2, ..Setting::default() });
    job.feed(&mut driver, "+U(1,1) +U(2,1)");
    let batches = driver.take_output();
    assert_eq!(batches.iter().map(|batch| batch.rows()).sum::<u64>(), 6000);
    assert!(2 <= batches.len(), "{} batches", batches.len());
}

/// The owner of a key is another shard than the row's: its failure stops the row's shard.
#[test]
fn a_lookup_that_fails_at_its_owner_stops_the_row() {
    let mut job = job(LookupSpec { hash: true, ..left(KEY, "") });
    job.plan.lookups[0].max_retries = 0;
    for k in 0..8 {
        let mut driver = job.driver(Setting { shards: 4, ..Setting::default() });
        driver.table_mut("d").unwrap().fail("gone", None);
        let error = job.try_feed(&mut driver, &format!("+U(3,{k})")).unwrap_err();
        assert_eq!(error.fault().unwrap().reason.name(), "lookup_failed");
        assert!(!driver.barrier().unwrap_or(false));
    }
}

/// The state of a row of the past is as old as the row.
#[test]
fn rebuilt_state_expires_by_the_time_of_its_records() {
    let job = Job::new(&[("k", INT), ("cid", INT)], 1).ttl(1000).upsert();
    let mut driver = job.driver(Setting { start: 10_000, ..Setting::default() });
    for (k, timestamp) in [(1, 8_999), (2, 9_001), (4, 20_000)] {
        driver
            .feed(Fed {
                partition: k % 3,
                key: Some(format!("{{\"k\":{k}}}").as_bytes()),
                value: Some(format!("{{\"k\":{k},\"cid\":1}}").as_bytes()),
                timestamp,
                headers: &[],
                silent: true,
            })
            .unwrap();
    }
    for k in [1, 2, 4] {
        feed(&mut driver, k, None).unwrap();
    }
    driver.settle().unwrap();
    assert_eq!(out(&mut driver), ["-D(2,∅)", "-D(4,∅)"], "1 had expired");
}

/// Rows that were handed on before a partition went, and arrive after it.
#[test]
fn rows_handed_on_of_a_lost_partition_are_dropped() {
    let job = Job::new(&[("k", INT), ("cid", INT)], 1);
    let mut driver =
        job.driver(Setting { shards: 4, batch: 1000, order: Order::ByHand, ..Setting::default() });
    for k in (0..90).step_by(3) {
        feed(&mut driver, k, Some(&format!("{{\"k\":{},\"cid\":1}}", k + 300))).unwrap();
    }
    // The workers have the records, but nobody has taken the rows that they hand on.
    driver.release(&[0]).unwrap();
    driver.settle().unwrap();
    assert!(driver.barrier().unwrap());
    let handed_on = driver.counters().iter().map(|counters| counters.rows_in.forwarded).sum::<u64>();
    let sent = out(&mut driver).len() as u64;
    assert!(10 < handed_on && sent == 30 - handed_on, "{handed_on} handed on, {sent} sent");
    assert_eq!(driver.counters().iter().map(|counters| counters.state.keys).sum::<u64>(), 0);
    feed(&mut driver, 0, Some("{\"k\":300,\"cid\":2}")).unwrap();
    driver.settle().unwrap();
    assert_eq!(out(&mut driver), ["+I(300,2)"], "the partition is back");
}
