//! Lookup joins: what comes out of every kind of condition, row for row.

use super::job::*;
use crate::model::Type;
use crate::pipeline::driver::Setting;
use crate::plan::{CachePlan, Comparison, Encoding, JoinKind};

/// Trace set L of Flink: `dim(id, name, age)`.
const DIM: &str = "(1,Bob,28) (2,Alice,32) (3,Claire,37) (3,Claire2,38) (4,∅,29) (∅,NullId,50)";
/// and `left(oid, cid, amt)`.
const LEFT: &str = "+I(1,3,10) +I(2,5,20) +I(3,∅,30) +I(4,4,40) +I(5,2,50)";
const DIM_COLUMNS: &[(&str, Type)] = &[("id", INT), ("name", STRING), ("age", INT)];
const BY_ID: &[(&str, &str)] = &[("id", "cid")];

fn orders(spec: LookupSpec<'_>) -> Job {
    Job::new(&[("oid", INT), ("cid", INT), ("amt", INT)], 1).lookup("d", DIM_COLUMNS, spec)
}

/// Rows that asked for a key, over all shards.
fn asked(job: &Job, input: &str) -> u64 {
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, input);
    let lookups = driver.counters().remove(0).lookups;
    lookups[0].hits + lookups[0].misses + lookups[0].coalesced
}

#[test]
fn inner() {
    let job = orders(super::job::inner(BY_ID, DIM));
    job.check(LEFT, "+I(1,3,10,3,Claire,37) +I(1,3,10,3,Claire2,38) +I(4,4,40,4,∅,29) +I(5,2,50,2,Alice,32)");
    assert_eq!(asked(&job, LEFT), 4, "3, 5, 4, 2: none for NULL");
}

#[test]
fn left_pads_what_has_no_match() {
    let job = orders(left(BY_ID, DIM));
    job.check(
        LEFT,
        "+I(1,3,10,3,Claire,37) +I(1,3,10,3,Claire2,38) +I(2,5,20,∅,∅,∅) +I(3,∅,30,∅,∅,∅) \
         +I(4,4,40,4,∅,29) +I(5,2,50,2,Alice,32)",
    );
    assert_eq!(asked(&job, LEFT), 4);
}

#[test]
fn left_with_a_condition_on_the_dimension() {
    let job = orders(LookupSpec { dimension: Some("age > 30"), ..left(BY_ID, DIM) });
    job.check(
        LEFT,
        "+I(1,3,10,3,Claire,37) +I(1,3,10,3,Claire2,38) +I(2,5,20,∅,∅,∅) +I(3,∅,30,∅,∅,∅) \
         +I(4,4,40,∅,∅,∅) +I(5,2,50,2,Alice,32)",
    );
}

#[test]
fn left_with_a_condition_on_the_stream_makes_no_call_for_rows_that_fail_it() {
    let job = orders(LookupSpec { pre: Some("amt > 30"), ..left(BY_ID, DIM) });
    job.check(
        LEFT,
        "+I(1,3,10,∅,∅,∅) +I(2,5,20,∅,∅,∅) +I(3,∅,30,∅,∅,∅) +I(4,4,40,4,∅,29) +I(5,2,50,2,Alice,32)",
    );
    assert_eq!(asked(&job, LEFT), 2, "4 and 2");
}

#[test]
fn left_with_a_condition_over_both_sides() {
    let job = orders(LookupSpec { residual: Some("d.age > s.amt"), ..left(BY_ID, DIM) });
    job.check(
        LEFT,
        "+I(1,3,10,3,Claire,37) +I(1,3,10,3,Claire2,38) +I(2,5,20,∅,∅,∅) +I(3,∅,30,∅,∅,∅) \
         +I(4,4,40,∅,∅,∅) +I(5,2,50,∅,∅,∅)",
    );
}

#[test]
fn inner_with_a_constant_beside_the_key() {
    let job = orders(super::job::inner(&[("id", "cid"), ("age", "37")], DIM));
    job.check(LEFT, "+I(1,3,10,3,Claire,37)");
}

#[test]
fn inner_with_a_constant_alone_asks_for_every_row() {
    let job = orders(LookupSpec { hash: true, ..super::job::inner(&[("id", "2")], DIM) });
    job.check(
        LEFT,
        "+I(1,3,10,2,Alice,32) +I(2,5,20,2,Alice,32) +I(3,∅,30,2,Alice,32) +I(4,4,40,2,Alice,32) \
         +I(5,2,50,2,Alice,32)",
    );
    assert_eq!(asked(&job, LEFT), 5);
}

/// `D.id = NULL` (G66).
#[test]
fn a_null_constant_matches_nothing() {
    let job = orders(super::job::inner(&[("id", "CAST(NULL AS INT)")], DIM));
    job.check(LEFT, "");
    assert_eq!(asked(&job, LEFT), 0);
}

const PEOPLE: &str = "(1,Julian) (3,Jark) (3,Jackson) (4,Fabian)";

/// Flink: `LookupJoinHarnessTest` (G50).
#[test]
fn harness_inner_and_left_with_and_without_filter() {
    let job = |spec: LookupSpec<'_>| {
        Job::new(&[("id", INT), ("v", STRING)], 1)
            .lookup("d", &[("did", INT), ("name", STRING)], spec)
            .select(&["s.id", "v", "d.name"])
    };
    let input = "+I(1,a) +I(2,b) +I(3,c) +I(4,d) +I(5,e)";
    let key = &[("did", "id")];
    job(super::job::inner(key, PEOPLE))
        .check(input, "+I(1,a,Julian) +I(3,c,Jark) +I(3,c,Jackson) +I(4,d,Fabian)");
    let long = Some("CHAR_LENGTH(name) >= 6");
    job(LookupSpec { dimension: long, ..super::job::inner(key, PEOPLE) })
        .check(input, "+I(1,a,Julian) +I(3,c,Jackson) +I(4,d,Fabian)");
    job(left(key, PEOPLE))
        .check(input, "+I(1,a,Julian) +I(2,b,∅) +I(3,c,Jark) +I(3,c,Jackson) +I(4,d,Fabian) +I(5,e,∅)");
    job(LookupSpec { dimension: long, ..left(key, PEOPLE) })
        .check(input, "+I(1,a,Julian) +I(2,b,∅) +I(3,c,Jackson) +I(4,d,Fabian) +I(5,e,∅)");
}

const CUSTOMERS: &str = "(1,28) (2,32) (3,37) (4,29) (5,42)";
const TOTALS: &str = "+I(1,3,44) +I(2,5,100) +I(3,1,92) +I(4,2,23) +I(5,2,7) +I(6,4,12)";

fn programs(spec: LookupSpec<'_>) -> Job {
    Job::new(&[("o", INT), ("c", INT), ("total", INT)], 1)
        .lookup("d", &[("id", INT), ("age", INT)], spec)
        .select(&["o", "d.id"])
}

/// Flink: `LookupJoinTestPrograms` (G55 to G59); totals without their fraction.
#[test]
fn filter_pushdown_pre_and_post_filters() {
    let key = &[("id", "c")];
    programs(LookupSpec { dimension: Some("age > 30"), ..super::job::inner(key, CUSTOMERS) })
        .check(TOTALS, "+I(1,3) +I(2,5) +I(4,2) +I(5,2)");
    programs(LookupSpec { dimension: Some("age > 30"), pre: Some("total > 15"), ..left(key, CUSTOMERS) })
        .check(TOTALS, "+I(1,3) +I(2,5) +I(3,∅) +I(4,2) +I(5,∅) +I(6,∅)");
    programs(LookupSpec { residual: Some("total < age"), ..left(key, CUSTOMERS) })
        .check(TOTALS, "+I(1,∅) +I(2,∅) +I(3,∅) +I(4,2) +I(5,2) +I(6,4)");
    programs(LookupSpec { dimension: Some("age > 30"), pre: Some("c <> 3"), ..left(key, CUSTOMERS) })
        .check(TOTALS, "+I(1,∅) +I(2,5) +I(3,∅) +I(4,2) +I(5,2) +I(6,∅)");
}

/// Flink: `LookupJoinITCase`, nullable keys (G64), NULLs on both sides (G65).
#[test]
fn null_never_equals_null() {
    let job = |spec: LookupSpec<'_>| {
        Job::new(&[("n", INT), ("id", INT), ("name", STRING)], 1)
            .lookup("d", &[("did", INT), ("dname", STRING)], spec)
            .select(&["n", "d.did", "d.dname"])
    };
    let users = "(3,Fabian) (∅,Nobody) (4,∅)";
    let input = "+I(1,∅,x) +I(2,3,Fabian) +I(3,∅,Nobody) +I(4,9,y) +I(5,4,∅)";
    let one = &[("did", "id")];
    job(super::job::inner(one, users)).check(input, "+I(2,3,Fabian) +I(5,4,∅)");
    job(left(one, users)).check(input, "+I(1,∅,∅) +I(2,3,Fabian) +I(3,∅,∅) +I(4,∅,∅) +I(5,4,∅)");
    let two = &[("did", "id"), ("dname", "name")];
    job(super::job::inner(two, users)).check(input, "+I(2,3,Fabian)");
    job(left(two, users)).check(input, "+I(1,∅,∅) +I(2,3,Fabian) +I(3,∅,∅) +I(4,∅,∅) +I(5,∅,∅)");
}

/// Flink: `LookupJoinITCase`, constants (G63), an expression over a dimension column is no key (G67).
#[test]
fn constants_and_expressions_as_keys() {
    let users = "(11,1,Julian) (22,2,Jark) (33,3,Fabian) (11,4,Hello) (11,5,Hello)";
    let columns: &[(&str, Type)] = &[("age", INT), ("id", INT), ("name", STRING)];
    let job = |spec: LookupSpec<'_>| {
        Job::new(&[("id", INT), ("content", STRING)], 1)
            .lookup("d", columns, spec)
            .select(&["s.id", "content", "d.age", "d.id"])
    };
    let input = "+I(1,a) +I(9,Hello!)";
    job(super::job::inner(&[("id", "3"), ("name", "'Fabian'")], users))
        .check(input, "+I(1,a,33,3) +I(9,Hello!,33,3)");
    let residual = Some("s.id = d.id + 4 AND content = d.name || '!'");
    job(LookupSpec { residual, ..super::job::inner(&[("age", "11")], users) })
        .check(input, "+I(9,Hello!,11,5)");
}

#[test]
fn keys_of_another_type_match_exactly_or_not_at_all() {
    let job = Job::new(&[("k", INT), ("text", STRING), ("big", Type::BigInt)], 1).lookup(
        "d",
        &[("id", INT), ("name", STRING)],
        left(&[("id", "text")], "(7,seven)"),
    );
    assert_eq!(job.plan.lookups[0].key[0].comparison, Comparison::TextAsInteger);
    job.clone().select(&["k", "name"]).check(
        "+I(1,7,0) +I(2,007,0) +I(3,7.0,0) +I(4,6x,0) +I(5,99999999999,0)",
        "+I(1,seven) +I(2,∅) +I(3,∅) +I(4,∅) +I(5,∅)",
    );
    let wide = Job::new(&[("k", INT), ("big", Type::BigInt)], 1)
        .lookup("d", &[("id", INT), ("name", STRING)], left(&[("id", "big")], "(7,seven)"))
        .select(&["k", "name"]);
    wide.check("+I(1,7) +I(2,4294967303)", "+I(1,seven) +I(2,∅)");
}

/// Seed job 3: LEFT with a condition on the looked-up side.
#[test]
fn a_filter_on_the_looked_up_side() {
    let job = Job::new(&[("k", INT), ("user_id", INT)], 1)
        .lookup(
            "u",
            &[("id", INT), ("name", STRING)],
            LookupSpec {
                dimension: Some("name <> 'bob'"),
                ..left(&[("id", "user_id")], "(1,alice) (2,bob)")
            },
        )
        .select(&["k", "name"]);
    let input = "+I(1,1) +I(2,2) +I(3,3) +I(4,∅)";
    job.check(input, "+I(1,alice) +I(2,∅) +I(3,∅) +I(4,∅)");
    assert_eq!(asked(&job, input), 3, "none for the NULL");
}

fn two_lookups(hash: [bool; 2], kinds: [JoinKind; 2]) -> Job {
    let spec = |key, rows, hash, join| LookupSpec { hash, join, ..super::job::inner(key, rows) };
    Job::new(&[("user_id", INT), ("amount", INT)], 1)
        .lookup(
            "u",
            &[("id", INT), ("name", STRING), ("city", INT)],
            spec(&[("id", "user_id")], "(1,alice,10) (2,bob,20) (2,rob,10) (4,eve,99)", hash[0], kinds[0]),
        )
        .lookup(
            "c",
            &[("cid", INT), ("title", STRING)],
            spec(&[("cid", "u.city")], "(10,Rome) (10,Roma) (20,Oslo)", hash[1], kinds[1]),
        )
        .select(&["user_id", "name", "title", "amount"])
}

#[test]
fn a_second_lookup_sees_the_columns_of_the_first() {
    use JoinKind::{Inner, Left};
    let input = "+I(1,5) +I(2,6) +I(3,7) +I(4,8) +U(1,9) -D(2,∅)";
    for hash in [[false, false], [true, false], [false, true], [true, true]] {
        two_lookups(hash, [Inner, Inner]).check(
            input,
            "+I(1,alice,Rome,5) +I(1,alice,Roma,5) +I(2,bob,Oslo,6) +I(2,rob,Rome,6) +I(2,rob,Roma,6) \
             -U(1,alice,Rome,5) -U(1,alice,Roma,5) +U(1,alice,Rome,9) +U(1,alice,Roma,9) \
             -D(2,bob,Oslo,6) -D(2,rob,Rome,6) -D(2,rob,Roma,6)",
        );
        two_lookups(hash, [Left, Left]).check(
            input,
            "+I(1,alice,Rome,5) +I(1,alice,Roma,5) +I(2,bob,Oslo,6) +I(2,rob,Rome,6) +I(2,rob,Roma,6) \
             +I(3,∅,∅,7) +I(4,eve,∅,8) -U(1,alice,Rome,5) -U(1,alice,Roma,5) +U(1,alice,Rome,9) \
             +U(1,alice,Roma,9) -D(2,bob,Oslo,6) -D(2,rob,Rome,6) -D(2,rob,Roma,6)",
        );
        two_lookups(hash, [Left, Inner]).check(
            input,
            "+I(1,alice,Rome,5) +I(1,alice,Roma,5) +I(2,bob,Oslo,6) +I(2,rob,Rome,6) +I(2,rob,Roma,6) \
             -U(1,alice,Rome,5) -U(1,alice,Roma,5) +U(1,alice,Rome,9) +U(1,alice,Roma,9) \
             -D(2,bob,Oslo,6) -D(2,rob,Rome,6) -D(2,rob,Roma,6)",
        );
    }
}

/// Seed job 1: an append-only stream, one dimension hashed, one not.
#[test]
fn an_append_only_stream_through_two_tables() {
    let mut job = Job::new(&[("user_id", INT), ("amount", INT)], 0);
    for (table, hash, rows) in
        [("s2", true, "(1,alice,first) (2,bob,second)"), ("s3", false, "(1,s3-alice,x) (3,s3-carol,y)")]
    {
        let columns: &[(&str, Type)] = &[("id", INT), ("name", STRING), ("description", STRING)];
        let spec = LookupSpec { hash, ..super::job::inner(&[("id", "user_id")], rows) };
        job = job.lookup(table, columns, spec);
    }
    job.select(&["user_id", "s2.name", "s3.name", "amount", "s2.description"]).check(
        "+I(1,100) +I(2,100) +I(3,100) +I(1,100)",
        "+I(1,alice,s3-alice,100,first) +I(1,alice,s3-alice,100,first)",
    );
}

#[test]
fn what_where_says_of_the_stream_is_asked_before_the_lookup() {
    let job = Job::new(&[("user_id", INT), ("amount", INT)], 0)
        .lookup("u", &[("id", INT), ("name", STRING)], left(&[("id", "user_id")], "(1,alice)"))
        .r#where("amount >= 10");
    job.check("+I(1,5) +I(1,10)", "+I(1,10,1,alice)");
    assert_eq!(asked(&job, "+I(1,5) +I(1,10)"), 1);
}

/// `where` over dimension columns: rows that fail it are not in the sink.
#[test]
fn where_over_the_joined_row() {
    orders(left(BY_ID, DIM)).r#where("d.age > 30 OR d.age IS NULL").select(&["oid", "amt", "name"]).check(
        "+U(1,3,10) +U(2,1,20) +U(2,2,20) +U(2,1,21) +U(1,1,10) +U(1,9,10) -D(1,∅,∅)",
        "+I(1,10,Claire) +I(1,10,Claire2) +I(2,20,Alice) -D(2,20,Alice) -D(1,10,Claire) -D(1,10,Claire2) \
         +I(1,10,∅) -D(1,10,∅)",
    );
}

/// Keys asked for and cached: `JdbcDynamicTableSourceITCase` (G77, G78), `CachingLookupFunctionTest` (G71).
#[test]
fn hits_misses_and_absent_keys_are_counted() {
    let job = Job::new(&[("k", INT), ("id", INT)], 1).lookup(
        "d",
        &[("did", INT), ("name", STRING)],
        super::job::inner(&[("did", "id")], "(1,Alice) (2,Bob)"),
    );
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, "+I(1,1) +I(2,2) +I(3,3) +I(4,1) +I(5,2) +I(6,3)");
    let counters = &driver.counters()[0].lookups[0];
    assert_eq!((counters.misses, counters.hits, counters.negative_hits), (3, 3, 1));
    assert_eq!((counters.statements, counters.keys, counters.cached), (3, 3, 3), "3 is cached as absent");
}

#[test]
fn a_batch_asks_once_for_each_key() {
    let job = Job::new(&[("k", INT), ("id", INT)], 1).lookup(
        "d",
        &[("did", INT), ("name", STRING)],
        left(&[("did", "id")], "(1,Alice) (2,Bob)"),
    );
    for cache in [Some(CACHE), None] {
        let mut job = job.clone();
        job.plan.lookups[0].cache = cache;
        let mut driver = job.driver(Setting { batch: 6, ..Setting::default() });
        job.feed(&mut driver, "+I(1,1) +I(2,2) +I(3,1) +I(4,1) +I(5,2) +I(6,∅)");
        let counters = driver.counters()[0].lookups[0];
        assert_eq!((counters.misses, counters.coalesced, counters.hits, counters.no_key), (2, 3, 0, 1));
        assert_eq!((counters.statements, counters.keys), (1, 2));
        job.feed(&mut driver, "+I(7,1)");
        let counters = driver.counters()[0].lookups[0];
        let (hits, statements) = if cache.is_some() { (1, 1) } else { (0, 2) };
        assert_eq!((counters.hits, counters.statements), (hits, statements), "NONE asks anew");
    }
}

#[test]
fn with_the_hash_each_key_is_cached_in_one_shard() {
    let rows: Vec<String> = (0..100).map(|i| format!("({i},n{i})")).collect();
    let input: Vec<String> = (0..1000).map(|i| format!("+I({i},{})", i % 100)).collect();
    for hash in [true, false] {
        let spec = LookupSpec { hash, rows: &rows.join(" "), ..left(&[("did", "id")], "") };
        let job =
            Job::new(&[("k", INT), ("id", INT)], 1).lookup("d", &[("did", INT), ("name", STRING)], spec);
        let mut driver = job.driver(Setting { shards: 4, batch: 100, ..Setting::default() });
        job.feed(&mut driver, &input.join(" "));
        let lookups: Vec<_> = driver.counters().iter().map(|counters| counters.lookups[0]).collect();
        let cached = lookups.iter().map(|lookup| lookup.cached).sum::<u64>();
        assert!(if hash { cached == 100 } else { 300 < cached }, "{cached} entries for 100 keys");
        assert_eq!(lookups.iter().map(|l| l.hits + l.misses + l.coalesced).sum::<u64>(), 1000);
        assert_eq!(lookups.iter().map(|lookup| lookup.misses).sum::<u64>(), cached);
        assert!(lookups.iter().all(|lookup| lookup.cached > 0), "spread over the shards");
        assert_eq!(driver.take_changelog().unwrap().len(), 1000);
    }
}

/// Design: `max-rows` counts keys per replica in both cases.
#[test]
fn small_caches_forget_and_ask_again() {
    let cache = Some(CachePlan { max_rows: Some(1), ..CACHE });
    let job = Job::new(&[("k", INT), ("id", INT)], 1).lookup(
        "d",
        &[("did", INT), ("name", STRING)],
        LookupSpec { cache, ..left(&[("did", "id")], "(1,Alice) (2,Bob)") },
    );
    let mut driver = job.driver(Setting::default());
    job.feed(&mut driver, "+I(1,1) +I(2,1) +I(3,2) +I(4,1)");
    let counters = driver.counters()[0].lookups[0];
    assert_eq!((counters.misses, counters.hits, counters.cached), (3, 1, 1));
}

/// 1:N into a sink whose key tells the rows apart.
#[test]
fn several_matches_for_a_sink_with_a_key_of_its_own() {
    let job = orders(left(BY_ID, "(1,a,1) (1,b,2) (2,b,3) (2,c,4)"))
        .select(&["oid", "COALESCE(name, '-')", "age", "amt"])
        .sink(Encoding::UpsertByOwnKey, &[0, 1]);
    job.check(
        "+U(1,1,10) +U(1,1,11) +U(1,2,11) +U(1,9,11) -D(1,∅,∅)",
        "+I(1,a,1,10) +I(1,b,2,10) +U(1,a,1,11) +U(1,b,2,11) -D(1,a,1,11) +U(1,b,3,11) +I(1,c,4,11) \
         -D(1,b,3,11) -D(1,c,4,11) +I(1,-,∅,11) -D(1,-,∅,11)",
    );
}
