//! The shard's thread with a stand-in for the worker.

use std::sync::atomic::AtomicUsize;

use crossbeam_channel::bounded;

use super::*;
use crate::error::{Error, Kind};
use crate::keygroup::KeyGroups;
use crate::model::{OutputBatch, Payload, Record, Slice};

/// What the stand-in saw, as text, in order.
type Seen = Arc<std::sync::Mutex<Vec<String>>>;

#[derive(Clone, Default)]
struct Stub {
    seen: Seen,
    /// Records it still takes; `can_accept` is false at zero.
    room: Arc<AtomicUsize>,
}

impl Stub {
    fn saw(&self, what: String) {
        self.seen.lock().unwrap().push(what);
    }
}

impl Work for Stub {
    type Counters = usize;

    fn handle(&mut self, input: Input, _now: Millis, effects: &mut Vec<Effect>) -> Result<()> {
        match input {
            Input::Records(batch) => {
                let offsets: Vec<_> = batch.records.iter().map(|record| record.offset).collect();
                self.saw(format!("records {offsets:?}"));
                self.room.fetch_sub(1, Ordering::SeqCst);
                effects.push(Effect::Output(OutputBatch {
                    arena: Vec::new(),
                    payload: Payload::Count(offsets.len() as u64),
                }));
                effects.push(Effect::ToShard(ShardId(1), PeerMessage::ForwardedAll(Epoch(7))));
                if offsets.contains(&13) {
                    return Err(Error::new(Kind::Data, "13"));
                }
            }
            Input::Barrier(epoch) => effects.push(Effect::Passed(epoch)),
            Input::Release(partitions) => self.saw(format!("release {partitions:?}")),
            Input::Peer(from, _) => self.saw(format!("peer {}", from.0)),
            other => panic!("{other:?}"),
        }
        Ok(())
    }

    fn can_accept(&self) -> bool {
        0 < self.room.load(Ordering::SeqCst)
    }

    fn deadline(&self) -> Option<Millis> {
        None
    }

    fn counters(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

struct Notes(Seen);

impl Writer for Notes {
    fn write(&mut self, batch: OutputBatch) -> Result<()> {
        self.0.lock().unwrap().push(format!("wrote {}", batch.rows()));
        Ok(())
    }

    fn end_epoch(&mut self, epoch: Epoch) -> Result<()> {
        self.0.lock().unwrap().push(format!("epoch {}", epoch.0));
        Ok(())
    }
}

struct Nobody;

impl Ask for Nobody {
    fn ask(&self, _shard: ShardId, query: LookupQuery) {
        panic!("{query:?}");
    }
}

struct Rig {
    stub: Stub,
    data: Sender<Data>,
    control: Sender<Control>,
    peer: Receiver<Control>,
    board: Arc<Board<usize>>,
    thread: std::thread::JoinHandle<Result<()>>,
}

impl Rig {
    fn new(room: usize, peer_queue: usize) -> Self {
        let stub = Stub { seen: Seen::default(), room: Arc::new(AtomicUsize::new(room)) };
        let (data, data_end) = bounded(DATA_QUEUE);
        let (control, control_end) = bounded(CONTROL_QUEUE);
        let (to_peer, peer) = bounded(peer_queue);
        let lines = Lines {
            data: data_end,
            control: control_end,
            peers: vec![control.clone(), to_peer],
            ask: Box::new(Nobody),
            abort: Arc::default(),
            clock: Clock::system(),
        };
        let board = Arc::new(Board::new(KeyGroups::new(1, None).unwrap()));
        let writer = Box::new(Notes(Arc::clone(&stub.seen)));
        let shard = Shard::new(ShardId(0), stub.clone(), writer, lines, Arc::clone(&board));
        let thread = std::thread::spawn(move || shard.run());
        Self { stub, data, control, peer, board, thread }
    }

    fn wait_for(&self, last: &str) {
        for _ in 0..500 {
            if self.stub.seen.lock().unwrap().last().is_some_and(|seen| seen == last) {
                return;
            }
            Clock::system().sleep_blocking(Duration::from_millis(10));
        }
        panic!("no {last} in {:?}", self.stub.seen.lock().unwrap());
    }

    /// Closes the data queue and returns what was seen.
    fn end(self) -> (Result<()>, Vec<String>) {
        drop(self.data);
        let result = self.thread.join().unwrap();
        (result, std::mem::take(&mut *self.stub.seen.lock().unwrap()))
    }
}

fn records(rows: &[(u32, i64)]) -> Data {
    let record = |&(partition, offset): &(u32, i64)| Record {
        partition: PartitionId(partition),
        offset,
        timestamp: -1,
        timestamp_type: 0,
        key: None,
        value: None,
        routed_key: Slice::default(),
        group: offset as u16,
        silent: false,
        doubt: false,
        headers: None,
    };
    Data::Records(RecordBatch { arena: Vec::new(), records: rows.iter().map(record).collect() })
}

#[test]
fn effects_follow_inputs_in_order_and_the_thread_ends_with_its_queue() {
    let rig = Rig::new(10, 10);
    rig.data.send(records(&[(0, 1), (0, 2)])).unwrap();
    rig.data.send(Data::Barrier(Epoch(1))).unwrap();
    let (result, seen) = rig.end();
    assert!(result.is_ok());
    assert_eq!(seen, ["records [1, 2]", "wrote 2", "epoch 1"]);
}

#[test]
fn a_worker_without_room_is_given_control_but_no_data() {
    let rig = Rig::new(0, 10);
    rig.data.send(records(&[(0, 1)])).unwrap();
    rig.control.send(Control::Peer(ShardId(1), PeerMessage::ForwardedAll(Epoch(1)))).unwrap();
    rig.wait_for("peer 1");
    assert_eq!(rig.data.len(), 1);
    rig.stub.room.store(1, Ordering::SeqCst);
    rig.wait_for("wrote 1");
}

#[test]
fn a_full_peer_holds_up_data_and_never_the_control_queue() {
    let rig = Rig::new(10, 1);
    for offset in 0..3 {
        rig.data.send(records(&[(0, offset)])).unwrap();
    }
    // The second message finds the peer's queue full.
    rig.wait_for("wrote 1");
    Clock::system().sleep_blocking(Duration::from_millis(30));
    assert_eq!(rig.data.len(), 1, "the third batch waits");
    rig.control.send(Control::Peer(ShardId(1), PeerMessage::ForwardedAll(Epoch(1)))).unwrap();
    rig.wait_for("peer 1");
    let received: Vec<_> =
        std::iter::from_fn(|| rig.peer.recv_timeout(Duration::from_millis(500)).ok()).collect();
    assert_eq!(received.len(), 3);
}

#[test]
fn queued_records_of_lost_partitions_are_dropped_until_the_release_comes_by() {
    let rig = Rig::new(0, 10);
    rig.control.send(Control::Discard(vec![PartitionId(1)])).unwrap();
    rig.control.send(Control::Peer(ShardId(1), PeerMessage::ForwardedAll(Epoch(1)))).unwrap();
    rig.wait_for("peer 1");
    rig.data.send(records(&[(0, 1), (1, 1), (1, 2)])).unwrap();
    rig.data.send(Data::Release(vec![PartitionId(1)], 0)).unwrap();
    rig.data.send(records(&[(1, 1)])).unwrap();
    rig.stub.room.store(10, Ordering::SeqCst);
    let (_, seen) = rig.end();
    assert_eq!(
        seen,
        ["peer 1", "records [1]", "wrote 1", "release [PartitionId(1)]", "records [1]", "wrote 1"]
    );
}

#[test]
fn rows_before_a_fault_are_written_and_nothing_behind_it() {
    let rig = Rig::new(10, 10);
    rig.data.send(records(&[(0, 12), (0, 13)])).unwrap();
    rig.data.send(records(&[(0, 14)])).unwrap();
    let (result, seen) = rig.end();
    assert_eq!(result.unwrap_err().kind(), Kind::Data);
    assert_eq!(seen, ["records [12, 13]", "wrote 2"]);
}

#[test]
fn records_are_counted_by_key_group_and_the_last_counts_are_put_up() {
    let rig = Rig::new(10, 10);
    let board = Arc::clone(&rig.board);
    rig.data.send(records(&[(0, 1), (0, 127), (0, 127)])).unwrap();
    // A key group that the shard does not own: a record without a key.
    rig.data.send(records(&[(0, 1), (0, 128)])).unwrap();
    let (result, _) = rig.end();
    assert!(result.is_ok());
    let view = &board.shards()[0];
    assert_eq!(view.records(), 5);
    let groups = view.groups();
    assert_eq!((groups.len(), groups[1], groups[127], groups.iter().sum::<u64>()), (128, 2, 2, 4));
}

#[test]
fn time_without_room_is_told_apart_from_time_without_work() {
    let rig = Rig::new(0, 10);
    let board = Arc::clone(&rig.board);
    rig.data.send(records(&[(0, 1)])).unwrap();
    Clock::system().sleep_blocking(Duration::from_millis(50));
    rig.control.send(Control::Peer(ShardId(1), PeerMessage::ForwardedAll(Epoch(1)))).unwrap();
    rig.wait_for("peer 1");
    let held = board.shards()[0].held();
    assert!(Duration::from_millis(40) <= held, "{held:?}");
    rig.stub.room.store(1, Ordering::SeqCst);
    rig.wait_for("wrote 1");
    let held = board.shards()[0].held();
    Clock::system().sleep_blocking(Duration::from_millis(50));
    rig.stub.room.store(1, Ordering::SeqCst);
    let (result, _) = rig.end();
    assert!(result.is_ok());
    assert_eq!(board.shards()[0].held(), held, "an empty queue holds nothing up");
}
