//! librdkafka's batch calls: thousands of messages per call, in and out.
//!
//! The `rdkafka` crate offers one message per call. This file, the only one of
//! the crate with `unsafe` code, adds `rd_kafka_consume_batch_queue` and
//! `rd_kafka_produce_batch` and keeps their rules behind two safe types.
//!
//! **Reading.** The crate polls the consumer's own queue for rebalances,
//! errors and commits; a batch call on that queue would swallow them. So the
//! messages of each assigned partition are forwarded to a queue of their own.
//!
//! Invariants that the `unsafe` blocks rely on:
//! 1. *Lifetime.* Every native handle kept here (queue, topic) is owned by a
//!    struct that also owns the client it was made from, and is destroyed
//!    before it: [`BatchConsumer`] and [`BatchProducer`] do so in `Drop`,
//!    which runs before their fields are dropped.
//! 2. *Messages.* A pointer that a batch call wrote is owned by us until it is
//!    destroyed, exactly once, by [`Batch`]'s `Drop`, which runs before
//!    [`BatchConsumer::read`] returns, also when the visitor panics. No
//!    reference to a message outlives its visit: [`Message`] borrows it.
//! 3. *Threads.* librdkafka's handles may be used by any thread at any time.
//!    Reading needs `&mut self`, so the array of slots has one user.
//! 4. *Producing.* With `F_COPY` librdkafka reads key and payload during the
//!    call alone; both are borrowed for at least that long.
#![expect(unsafe_code, reason = "the batch calls of librdkafka exist in its C API only")]

use std::ffi::{CStr, CString};
use std::ptr::{self, NonNull};
use std::slice;
use std::time::Duration;

use rdkafka::bindings as native;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, Producer, ProducerContext};
use rdkafka::topic_partition_list::TopicPartitionList;
use rdkafka::types::{RDKafka, RDKafkaMessage, RDKafkaQueue, RDKafkaRespErr, RDKafkaTopic};

use crate::error::{Error, Result};
use crate::model::Header;

/// Most messages that one read returns: enough that the cost of the call vanishes,
/// few enough that a batch is handled within about a millisecond.
pub const MESSAGES_PER_READ: usize = 2_000;

/// `RD_KAFKA_PARTITION_UA`, a macro in C: each message names its own partition.
const PARTITION_UNASSIGNED: i32 = -1;

/// A consumer whose messages are read in batches.
pub struct BatchConsumer<C: ConsumerContext> {
    queue: NonNull<RDKafkaQueue>,
    slots: Vec<*mut RDKafkaMessage>,
    consumer: BaseConsumer<C>,
}

// SAFETY: invariant 3; the slots hold no pointers between calls of `read`.
unsafe impl<C: ConsumerContext> Send for BatchConsumer<C> {}

impl<C: ConsumerContext> BatchConsumer<C> {
    /// Makes the data queue of `consumer`.
    ///
    /// # Errors
    /// librdkafka gives no queue (a bug).
    pub fn new(consumer: BaseConsumer<C>) -> Result<Self> {
        // SAFETY: the client is alive; the queue is destroyed in `drop` (invariant 1).
        let queue = unsafe { native::rd_kafka_queue_new(consumer.client().native_ptr()) };
        let queue = NonNull::new(queue).ok_or_else(|| Error::bug("librdkafka made no queue"))?;
        Ok(Self { queue, slots: Vec::with_capacity(MESSAGES_PER_READ), consumer })
    }

    /// The consumer, for everything but reading.
    pub fn consumer(&self) -> &BaseConsumer<C> {
        &self.consumer
    }

    /// Forwards a partition's messages to the data queue; to be called before the partition is assigned.
    ///
    /// # Errors
    /// The topic's name is no C string (a bug: Kafka allows no such name).
    pub fn attach(&self, topic: &str, partition: i32) -> Result<()> {
        let name = c_string(topic)?;
        // SAFETY: client and data queue are alive, `name` outlives the call. The reference to the
        // partition's queue is ours and is given back; forwarding keeps a reference of its own.
        unsafe {
            let client = self.consumer.client().native_ptr();
            let Some(source) =
                NonNull::new(native::rd_kafka_queue_get_partition(client, name.as_ptr(), partition))
            else {
                return Err(Error::bug(format!("librdkafka knows no partition {topic}[{partition}]")));
            };
            native::rd_kafka_queue_forward(source.as_ptr(), self.queue.as_ptr());
            native::rd_kafka_queue_destroy(source.as_ptr());
        }
        Ok(())
    }

    /// Reads what is there, at most [`MESSAGES_PER_READ`], and waits up to `wait` for the first.
    /// Visits the messages in order and returns their number.
    pub fn read(&mut self, wait: Duration, mut visit: impl FnMut(&Message<'_>)) -> usize {
        let first = self.fill(wait, 1);
        if first == 0 {
            return 0;
        }
        // The call waits until the array is full or the time is up: the rest is asked for without a wait.
        self.fill(Duration::ZERO, MESSAGES_PER_READ - 1);
        let batch = Batch { slots: &mut self.slots };
        for raw in batch.slots.iter() {
            // SAFETY: invariant 2: the pointer is valid until `batch` is dropped.
            visit(&Message(unsafe { &**raw }));
        }
        batch.slots.len()
    }

    /// Appends up to `count` messages to the slots.
    fn fill(&mut self, wait: Duration, count: usize) -> usize {
        let wait = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
        self.slots.reserve(count);
        let spare = self.slots.spare_capacity_mut().as_mut_ptr().cast();
        // SAFETY: `spare` has room for `count` pointers, and the call says how many it wrote.
        unsafe {
            let got = native::rd_kafka_consume_batch_queue(self.queue.as_ptr(), wait, spare, count);
            let got = usize::try_from(got).unwrap_or(0);
            self.slots.set_len(self.slots.len() + got);
            got
        }
    }

    /// Sends a commit of next offsets; the answer comes to the context's `commit_callback`.
    /// (The crate's own asynchronous commit is never answered: it relies on a callback that
    /// the crate does not set.)
    ///
    /// # Errors
    /// The commit cannot be sent.
    pub fn commit(&self, offsets: &TopicPartitionList) -> Result<(), KafkaError> {
        // SAFETY: client and list are alive; the list is copied. The reference to the consumer's
        // queue is ours and is given back; the reply keeps one of its own. Without a callback
        // the reply is an event on that queue.
        let code = unsafe {
            let client = self.consumer.client().native_ptr();
            let Some(queue) = NonNull::new(native::rd_kafka_queue_get_consumer(client)) else {
                return Err(KafkaError::ConsumerCommit(RDKafkaErrorCode::UnknownGroup));
            };
            let code =
                native::rd_kafka_commit_queue(client, offsets.ptr(), queue.as_ptr(), None, ptr::null_mut());
            native::rd_kafka_queue_destroy(queue.as_ptr());
            code
        };
        if code == RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR {
            return Ok(());
        }
        Err(KafkaError::ConsumerCommit(code.into()))
    }

    /// Low and high watermark of a partition as of the newest fetch, `None` before there was one.
    #[must_use]
    pub fn watermarks(&self, topic: &str, partition: i32) -> Option<(i64, i64)> {
        let name = c_string(topic).ok()?;
        let (mut low, mut high) = (-1, -1);
        let client = self.consumer.client().native_ptr();
        // SAFETY: the client is alive; name and results outlive the call.
        let code = unsafe {
            native::rd_kafka_get_watermark_offsets(
                client,
                name.as_ptr(),
                partition,
                &raw mut low,
                &raw mut high,
            )
        };
        (code == RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR && 0 <= high).then_some((low, high))
    }
}

impl<C: ConsumerContext> Drop for BatchConsumer<C> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed here alone; the client, a field, is still alive (invariant 1).
        // The consumer would wait for ever in its own `drop` for a data queue that still exists.
        unsafe { native::rd_kafka_queue_destroy(self.queue.as_ptr()) }
    }
}

/// Messages between a batch call and their destruction.
struct Batch<'a> {
    slots: &'a mut Vec<*mut RDKafkaMessage>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        for raw in self.slots.drain(..) {
            // SAFETY: invariant 2: ours, and drained, so destroyed once.
            unsafe { native::rd_kafka_message_destroy(raw) }
        }
    }
}

/// One message, or one event of a partition that took a message's place.
pub struct Message<'a>(&'a RDKafkaMessage);

impl<'a> Message<'a> {
    /// `None` for a record; else what happened to the partition.
    #[must_use]
    pub fn error(&self) -> Option<RDKafkaErrorCode> {
        let code = self.0.err;
        (code != RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR).then(|| RDKafkaErrorCode::from(code))
    }

    /// A number that stands for the topic within one read.
    #[must_use]
    pub fn topic_handle(&self) -> usize {
        self.0.rkt as usize
    }

    /// Name of the topic.
    #[must_use]
    pub fn topic(&self) -> &'a str {
        if self.0.rkt.is_null() {
            return "";
        }
        // SAFETY: the message keeps its topic alive, and the topic its name, a C string.
        let name = unsafe { CStr::from_ptr(native::rd_kafka_topic_name(self.0.rkt)) };
        name.to_str().unwrap_or("")
    }

    /// Partition number.
    #[must_use]
    pub fn partition(&self) -> i32 {
        self.0.partition
    }

    /// Offset of the record; for an event the position where it happened.
    #[must_use]
    pub fn offset(&self) -> i64 {
        self.0.offset
    }

    /// Record key, `None` if null.
    #[must_use]
    pub fn key(&self) -> Option<&'a [u8]> {
        // SAFETY: librdkafka gives `key_len` bytes at `key`, alive as long as the message.
        unsafe { bytes(self.0.key, self.0.key_len) }
    }

    /// Record value, `None` if null; for an event its description.
    #[must_use]
    pub fn value(&self) -> Option<&'a [u8]> {
        // SAFETY: librdkafka gives `len` bytes at `payload`, alive as long as the message.
        unsafe { bytes(self.0.payload, self.0.len) }
    }

    /// Milliseconds since 1970, -1 if there is none, and 0 none, 1 create time, 2 log append time.
    #[must_use]
    pub fn timestamp(&self) -> (i64, u8) {
        use native::rd_kafka_timestamp_type_t as Type;
        let mut kind = Type::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        // SAFETY: the message is alive and was made by librdkafka.
        let time = unsafe { native::rd_kafka_message_timestamp(self.0, &raw mut kind) };
        match kind {
            Type::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE => (-1, 0),
            Type::RD_KAFKA_TIMESTAMP_CREATE_TIME => (time, 1),
            Type::RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME => (time, 2),
        }
    }

    /// The record's headers, in order.
    #[must_use]
    pub fn headers(&self) -> Box<[Header]> {
        let mut list = ptr::null_mut();
        // SAFETY: the message is alive; the list belongs to it and is not freed here.
        let code = unsafe { native::rd_kafka_message_headers(self.0, &raw mut list) };
        if code != RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR || list.is_null() {
            return Box::default();
        }
        let mut headers = Vec::new();
        loop {
            let (mut name, mut value, mut len) = (ptr::null(), ptr::null(), 0);
            // SAFETY: `list` is alive; on success name is a C string and value has `len` bytes or is null.
            unsafe {
                let at = headers.len();
                let code =
                    native::rd_kafka_header_get_all(list, at, &raw mut name, &raw mut value, &raw mut len);
                if code != RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR {
                    return headers.into_boxed_slice();
                }
                let key = CStr::from_ptr(name).to_string_lossy().into_owned();
                headers.push(Header { key, value: bytes(value, len).map(<[u8]>::to_vec) });
            }
        }
    }
}

/// # Safety
/// `at` is null or points to `len` readable bytes that live for `'a`.
unsafe fn bytes<'a>(at: *const std::ffi::c_void, len: usize) -> Option<&'a [u8]> {
    // SAFETY: by the caller's promise.
    (!at.is_null()).then(|| unsafe { slice::from_raw_parts(at.cast::<u8>(), len) })
}

/// One record to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Record key.
    pub key: &'a [u8],
    /// Record value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// Where it goes.
    pub partition: i32,
}

/// Memory that [`BatchProducer::send`] uses again and again.
#[derive(Default)]
pub struct Scratch(Vec<RDKafkaMessage>);

// SAFETY: the pointers in it are dead between two calls of `send`, which clears it first.
unsafe impl Send for Scratch {}

/// A producer for one topic that takes records in batches. Threads may share it.
pub struct BatchProducer<C: ProducerContext<DeliveryOpaque = usize>> {
    topic: NonNull<RDKafkaTopic>,
    producer: BaseProducer<C>,
}

// SAFETY: invariant 3.
unsafe impl<C: ProducerContext<DeliveryOpaque = usize>> Send for BatchProducer<C> {}
// SAFETY: invariant 3.
unsafe impl<C: ProducerContext<DeliveryOpaque = usize>> Sync for BatchProducer<C> {}

impl<C: ProducerContext<DeliveryOpaque = usize>> BatchProducer<C> {
    /// A producer for `topic`.
    ///
    /// # Errors
    /// librdkafka refuses the topic's name.
    pub fn new(producer: BaseProducer<C>, topic: &str) -> Result<Self> {
        let name = c_string(topic)?;
        let client: *mut RDKafka = producer.client().native_ptr();
        // SAFETY: the client is alive; without settings of its own the topic takes the client's.
        let handle = unsafe { native::rd_kafka_topic_new(client, name.as_ptr(), ptr::null_mut()) };
        let handle = NonNull::new(handle)
            .ok_or_else(|| Error::external(format!("{topic} is no valid name of a topic")))?;
        Ok(Self { topic: handle, producer })
    }

    /// The producer, for everything but batches.
    pub fn producer(&self) -> &BaseProducer<C> {
        &self.producer
    }

    /// Hands `records` over, in order, waiting for room when the queue is full. Each delivery
    /// is reported to the context with `ticket`; records that are refused here are not.
    ///
    /// # Errors
    /// Position of the first record that is refused, and the reason.
    pub fn send<'a>(
        &self,
        records: impl Iterator<Item = Outgoing<'a>>,
        ticket: usize,
        scratch: &mut Scratch,
    ) -> Result<(), (usize, KafkaError)> {
        let messages = &mut scratch.0;
        messages.clear();
        messages.extend(records.map(|record| raw_message(&record, ticket)));
        let count = i32::try_from(messages.len()).unwrap_or(i32::MAX);
        let flags =
            native::RD_KAFKA_MSG_F_COPY | native::RD_KAFKA_MSG_F_PARTITION | native::RD_KAFKA_MSG_F_BLOCK;
        // SAFETY: the topic is alive (invariant 1); `messages` holds `count` valid entries whose
        // bytes are borrowed for `'a`, which outlives the call (invariant 4).
        let taken = unsafe {
            native::rd_kafka_produce_batch(
                self.topic.as_ptr(),
                PARTITION_UNASSIGNED,
                flags,
                messages.as_mut_ptr(),
                count,
            )
        };
        if taken == count {
            return Ok(());
        }
        let ok = RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;
        let first = messages.iter().position(|message| message.err != ok).unwrap_or(0);
        let reason = messages.get(first).map_or(ok, |message| message.err);
        Err((first, KafkaError::MessageProduction(reason.into())))
    }
}

impl<C: ProducerContext<DeliveryOpaque = usize>> Drop for BatchProducer<C> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed here alone; the client, a field, is still alive (invariant 1).
        unsafe { native::rd_kafka_topic_destroy(self.topic.as_ptr()) }
    }
}

fn raw_message(record: &Outgoing<'_>, ticket: usize) -> RDKafkaMessage {
    let (payload, len) = record.value.map_or((ptr::null(), 0), |value| (value.as_ptr(), value.len()));
    RDKafkaMessage {
        err: RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR,
        rkt: ptr::null_mut(),
        partition: record.partition,
        payload: payload.cast_mut().cast(),
        len,
        key: record.key.as_ptr().cast_mut().cast(),
        key_len: record.key.len(),
        offset: 0,
        _private: ptr::without_provenance_mut(ticket),
    }
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::bug(format!("{text:?} is no name of a topic")))
}
