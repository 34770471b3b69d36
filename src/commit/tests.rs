//! Traces by hand, and every order of completions, revokes and losses by chance.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use super::{Action, EPOCHS_MAX, Event, Protocol};
use crate::model::{Epoch, PartitionId, ShardId};

const P0: PartitionId = PartitionId(0);
const P1: PartitionId = PartitionId(1);

fn step(protocol: &mut Protocol, event: Event) -> Vec<Action> {
    let mut actions = Vec::new();
    protocol.step(event, &mut actions);
    actions
}

fn started(shards: u16) -> Protocol {
    let mut protocol = Protocol::new(shards);
    protocol.assigned(P0, None);
    protocol.assigned(P1, Some(5));
    protocol
}

#[test]
fn offsets_are_committed_when_every_shard_is_done() {
    let mut protocol = started(2);
    protocol.handed(P0, 10);
    assert_eq!(step(&mut protocol, Event::Tick), [Action::Barrier(Epoch(1))]);
    protocol.handed(P0, 20);
    assert_eq!(step(&mut protocol, Event::Done(ShardId(1), Epoch(1))), []);
    assert_eq!(step(&mut protocol, Event::Done(ShardId(0), Epoch(1))), [Action::Commit(vec![(P0, 10)])]);
    assert_eq!(step(&mut protocol, Event::Committed), []);
    assert_eq!(protocol.committed(P0), Some(10));
    assert!(!protocol.is_idle());
}

#[test]
fn a_tick_without_news_is_no_epoch() {
    let mut protocol = started(1);
    assert_eq!(step(&mut protocol, Event::Tick), []);
    protocol.handed(P1, 5);
    assert_eq!(step(&mut protocol, Event::Tick), []);
}

#[test]
fn rebuilding_never_moves_the_group_backwards() {
    let mut protocol = started(1);
    protocol.handed(P1, 3);
    protocol.handed(P0, 1);
    step(&mut protocol, Event::Tick);
    assert_eq!(step(&mut protocol, Event::Done(ShardId(0), Epoch(1))), [Action::Commit(vec![(P0, 1)])]);
}

#[test]
fn a_later_epoch_waits_for_the_one_before_it() {
    let mut protocol = started(1);
    for next in [10, 20] {
        protocol.handed(P0, next);
        step(&mut protocol, Event::Tick);
    }
    assert_eq!(step(&mut protocol, Event::Done(ShardId(0), Epoch(2))), []);
    assert_eq!(step(&mut protocol, Event::Done(ShardId(0), Epoch(1))), [Action::Commit(vec![(P0, 20)])]);
}

#[test]
fn one_commit_at_a_time_and_a_failed_one_comes_again() {
    let mut protocol = started(1);
    protocol.handed(P0, 10);
    step(&mut protocol, Event::Tick);
    assert_eq!(step(&mut protocol, Event::Done(ShardId(0), Epoch(1))), [Action::Commit(vec![(P0, 10)])]);
    protocol.handed(P0, 20);
    step(&mut protocol, Event::Tick);
    assert_eq!(step(&mut protocol, Event::Done(ShardId(0), Epoch(2))), []);
    assert_eq!(step(&mut protocol, Event::CommitFailed), [Action::Commit(vec![(P0, 20)])]);
}

#[test]
fn a_partition_is_released_after_its_rows_are_committed() {
    let mut protocol = started(1);
    protocol.handed(P0, 10);
    assert_eq!(step(&mut protocol, Event::Revoke(vec![P0])), [Action::Barrier(Epoch(1))]);
    assert_eq!(step(&mut protocol, Event::Done(ShardId(0), Epoch(1))), [Action::Commit(vec![(P0, 10)])]);
    assert_eq!(step(&mut protocol, Event::Committed), [Action::Release(vec![P0])]);
}

#[test]
fn a_revoked_partition_goes_even_if_its_commit_fails() {
    let mut protocol = started(1);
    protocol.handed(P0, 10);
    step(&mut protocol, Event::Revoke(vec![P0]));
    step(&mut protocol, Event::Done(ShardId(0), Epoch(1)));
    assert_eq!(step(&mut protocol, Event::CommitFailed), [Action::Release(vec![P0])]);
}

#[test]
fn offsets_of_a_lost_partition_are_never_committed() {
    let mut protocol = started(1);
    protocol.handed(P0, 10);
    protocol.handed(P1, 9);
    step(&mut protocol, Event::Tick);
    assert_eq!(step(&mut protocol, Event::Lost(vec![P0])), [Action::Release(vec![P0])]);
    assert_eq!(step(&mut protocol, Event::Done(ShardId(0), Epoch(1))), [Action::Commit(vec![(P1, 9)])]);
}

/// Sinks keep count of so many epochs, and of no more.
#[test]
fn the_epoch_of_a_revocation_waits_for_room() {
    let mut protocol = started(1);
    for next in (10..).take(EPOCHS_MAX) {
        protocol.handed(P0, next);
        step(&mut protocol, Event::Tick);
    }
    assert_eq!(step(&mut protocol, Event::Revoke(vec![P0])), []);
    assert_eq!(step(&mut protocol, Event::Finish), []);
    assert_eq!(protocol.open_epochs(), EPOCHS_MAX);
    let last = Epoch(EPOCHS_MAX as u64 + 1);
    assert_eq!(
        step(&mut protocol, Event::Done(ShardId(0), Epoch(1))),
        [Action::Barrier(last), Action::Commit(vec![(P0, 10)])]
    );
    for epoch in (2..=last.0).map(Epoch) {
        assert_eq!(step(&mut protocol, Event::Done(ShardId(0), epoch)), []);
    }
    assert_eq!(step(&mut protocol, Event::Committed), [Action::Commit(vec![(P0, 17)])]);
    assert_eq!(
        step(&mut protocol, Event::Committed),
        [Action::Release(vec![P0]), Action::Finished { committed: true }]
    );
}

#[test]
fn partitions_are_unsettled_while_rows_of_theirs_are_on_their_way() {
    let mut protocol = started(1);
    assert!(!protocol.is_unsettled(&[P0, P1]));
    protocol.handed(P1, 4);
    assert!(!protocol.is_unsettled(&[P1]), "state is rebuilt");
    protocol.handed(P0, 10);
    assert!(protocol.is_unsettled(&[P1, P0]) && !protocol.is_unsettled(&[P1]));
    step(&mut protocol, Event::Tick);
    assert!(protocol.is_unsettled(&[P0]));
    step(&mut protocol, Event::Done(ShardId(0), Epoch(1)));
    assert!(!protocol.is_unsettled(&[P0]), "safe, if not committed");
    protocol.handed(P0, 11);
    assert!(protocol.is_unsettled(&[P0]));
}

#[test]
fn a_loss_ends_a_revocation() {
    let mut protocol = started(1);
    protocol.handed(P0, 10);
    step(&mut protocol, Event::Revoke(vec![P0]));
    assert_eq!(step(&mut protocol, Event::Lost(vec![P0])), [Action::Release(vec![P0])]);
    assert_eq!(step(&mut protocol, Event::Done(ShardId(0), Epoch(1))), []);
}

#[test]
fn the_end_commits_and_says_so() {
    let mut protocol = started(1);
    protocol.handed(P0, 10);
    assert_eq!(step(&mut protocol, Event::Finish), [Action::Barrier(Epoch(1))]);
    assert_eq!(step(&mut protocol, Event::Done(ShardId(0), Epoch(1))), [Action::Commit(vec![(P0, 10)])]);
    assert_eq!(step(&mut protocol, Event::Committed), [Action::Finished { committed: true }]);
}

#[test]
fn the_end_does_not_wait_for_ever_for_a_commit() {
    let mut protocol = started(1);
    protocol.handed(P0, 10);
    step(&mut protocol, Event::Finish);
    step(&mut protocol, Event::Done(ShardId(0), Epoch(1)));
    assert_eq!(step(&mut protocol, Event::CommitFailed), [Action::Commit(vec![(P0, 10)])]);
    assert_eq!(step(&mut protocol, Event::CommitFailed), [Action::Commit(vec![(P0, 10)])]);
    assert_eq!(step(&mut protocol, Event::CommitFailed), [Action::Finished { committed: false }]);
}

/// What the world does next.
#[derive(Clone, Debug)]
enum Move {
    Hand(u32, i64),
    Tick,
    /// A shard takes the next thing out of its queue and finishes it.
    Work(u16),
    Revoke(u32),
    Lose(u32),
    Assign(u32),
    AnswerCommit(bool),
}

fn any_move() -> impl Strategy<Value = Move> {
    let partition = 0_u32..3;
    prop_oneof![
        4 => (partition.clone(), 1_i64..5).prop_map(|(p, n)| Move::Hand(p, n)),
        2 => Just(Move::Tick),
        6 => (0_u16..3).prop_map(Move::Work),
        1 => partition.clone().prop_map(Move::Revoke),
        1 => partition.clone().prop_map(Move::Lose),
        1 => partition.prop_map(Move::Assign),
        3 => any::<bool>().prop_map(Move::AnswerCommit),
    ]
}

/// The shards as queues of barriers and records, and the truth about what is safe.
struct World {
    protocol: Protocol,
    /// Per shard: what is queued, records as (partition, generation, offset).
    queues: Vec<VecDeque<Queued>>,
    /// Records handed over and not yet safe: (partition, generation, offset).
    unsafe_records: Vec<(u32, u32, i64)>,
    owned: BTreeMap<u32, (u32, i64)>,
    group: BTreeMap<u32, i64>,
    leaving: Vec<u32>,
    /// Partition, generation and next offset: the group refuses what an older owner sent.
    pending_commit: Option<Vec<(u32, u32, i64)>>,
    generation: u32,
    finished: Option<bool>,
}

#[derive(Clone, Debug)]
enum Queued {
    Record(u32, u32, i64),
    Barrier(Epoch),
}

const SHARDS: u16 = 3;

impl World {
    fn new() -> Self {
        Self {
            protocol: Protocol::new(SHARDS),
            queues: vec![VecDeque::new(); usize::from(SHARDS)],
            unsafe_records: Vec::new(),
            owned: BTreeMap::new(),
            group: BTreeMap::new(),
            leaving: Vec::new(),
            pending_commit: None,
            generation: 0,
            finished: None,
        }
    }

    fn event(&mut self, event: Event) {
        assert!(self.protocol.open_epochs() <= EPOCHS_MAX);
        for action in step(&mut self.protocol, event) {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Barrier(epoch) => {
                self.queues.iter_mut().for_each(|q| q.push_back(Queued::Barrier(epoch)))
            }
            Action::Commit(offsets) => {
                assert!(self.pending_commit.is_none(), "one commit at a time");
                for (partition, next) in &offsets {
                    let (generation, _) = self.owned.get(&partition.0).expect("only owned partitions");
                    let at_risk = self
                        .unsafe_records
                        .iter()
                        .find(|(p, g, offset)| (*p, *g) == (partition.0, *generation) && offset < next);
                    assert_eq!(at_risk, None, "commit of {partition:?} to {next} would lose a record");
                    let before = self.group.get(&partition.0).copied().unwrap_or(0);
                    assert!(before < *next, "the group never moves backwards");
                }
                let generation =
                    |p: PartitionId| self.owned.get(&p.0).map_or(0, |(generation, _)| *generation);
                self.pending_commit =
                    Some(offsets.iter().map(|(p, next)| (p.0, generation(*p), *next)).collect());
            }
            Action::Release(partitions) => {
                for partition in partitions {
                    self.owned.remove(&partition.0);
                    self.leaving.retain(|p| *p != partition.0);
                }
            }
            Action::Finished { committed } => self.finished = Some(committed),
        }
    }

    fn make(&mut self, next: Move) {
        match next {
            Move::Hand(p, count) if !self.leaving.contains(&p) => self.hand(p, count),
            Move::Tick => self.event(Event::Tick),
            Move::Work(shard) => self.work(shard),
            Move::Revoke(p) if self.owned.contains_key(&p) && !self.leaving.contains(&p) => {
                self.leaving.push(p);
                self.event(Event::Revoke(vec![PartitionId(p)]));
            }
            Move::Lose(p) if self.owned.contains_key(&p) => self.event(Event::Lost(vec![PartitionId(p)])),
            Move::Assign(p) if !self.owned.contains_key(&p) => {
                self.generation += 1;
                let committed = self.group.get(&p).copied();
                self.owned.insert(p, (self.generation, committed.unwrap_or(0)));
                self.protocol.assigned(PartitionId(p), committed);
            }
            Move::AnswerCommit(ok) => self.answer(ok),
            _ => {}
        }
    }

    fn hand(&mut self, p: u32, count: i64) {
        let Some((generation, next)) = self.owned.get_mut(&p) else { return };
        for _ in 0..count {
            let record = (p, *generation, *next);
            self.unsafe_records.push(record);
            let shard = usize::try_from(*next).expect("small") % usize::from(SHARDS);
            self.queues[shard].push_back(Queued::Record(record.0, record.1, record.2));
            *next += 1;
        }
        let next = *next;
        self.protocol.handed(PartitionId(p), next);
    }

    fn work(&mut self, shard: u16) {
        match self.queues[usize::from(shard)].pop_front() {
            Some(Queued::Record(p, g, offset)) => self.unsafe_records.retain(|r| *r != (p, g, offset)),
            Some(Queued::Barrier(epoch)) => self.event(Event::Done(ShardId(shard), epoch)),
            None => {}
        }
    }

    fn answer(&mut self, ok: bool) {
        let Some(offsets) = self.pending_commit.take() else { return };
        if ok {
            for (partition, generation, next) in offsets {
                if self.owned.get(&partition).is_some_and(|(current, _)| *current == generation) {
                    self.group.insert(partition, next);
                }
            }
        }
        self.event(if ok { Event::Committed } else { Event::CommitFailed });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the order: nothing is committed before it is safe, the group never moves
    /// backwards, and the end commits everything that is still owned.
    #[test]
    fn nothing_is_lost_in_any_order(moves in proptest::collection::vec(any_move(), 1..120)) {
        let mut world = World::new();
        for next in moves {
            world.make(next);
        }
        world.event(Event::Finish);
        for _ in 0..1_000 {
            for shard in 0..SHARDS {
                world.work(shard);
            }
            world.answer(true);
        }
        prop_assert_eq!(world.finished, Some(true));
        prop_assert!(world.leaving.is_empty());
        for (partition, (_, next)) in &world.owned {
            prop_assert_eq!(world.group.get(partition).copied().unwrap_or(0), *next);
        }
    }
}
