//! One read: which records are handed over, and what events tell about their partitions.

use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use crate::clock::Millis;
use crate::error::DataFault;
use crate::kafka::{ClientErrors, Message};
use crate::model::{PartitionId, TopicPartition};

use super::progress::{Progress, Take};
use super::split::{Splitter, place};

/// A partition of ours.
pub(super) struct Assigned {
    pub(super) id: PartitionId,
    pub(super) name: TopicPartition,
    pub(super) progress: Progress,
    /// Timestamp of the first record of its newest run.
    pub(super) timestamp: Option<Millis>,
    /// The read whose remaining records are outdated: the consumer was sent back.
    pub(super) muted: u64,
}

/// One read, message by message.
pub(super) struct Visit<'a> {
    table: &'a str,
    partitions: &'a mut [Assigned],
    errors: &'a ClientErrors,
    read: u64,
    /// Topic handle, partition and index of the last message: messages of a partition come in runs.
    last: Option<(usize, i32, usize)>,
    pub(super) touched: Vec<usize>,
    pub(super) rewind: Vec<usize>,
    pub(super) out_of_range: Vec<usize>,
    pub(super) ended: Vec<usize>,
    pub(super) fault: Option<DataFault>,
}

impl<'a> Visit<'a> {
    /// Visits read number `read` of these partitions.
    pub(super) fn new(
        table: &'a str,
        partitions: &'a mut [Assigned],
        errors: &'a ClientErrors,
        read: u64,
    ) -> Self {
        Self {
            table,
            partitions,
            errors,
            read,
            last: None,
            touched: Vec::new(),
            rewind: Vec::new(),
            out_of_range: Vec::new(),
            ended: Vec::new(),
            fault: None,
        }
    }

    pub(super) fn message(&mut self, message: &Message<'_>, splitter: &mut Splitter) {
        if self.fault.is_some() {
            return;
        }
        let Some(index) = self.index(message) else { return };
        let Some(assigned) = self.partitions.get_mut(index) else { return };
        if let Some(code) = message.error() {
            return self.event(index, code, message);
        }
        if assigned.muted == self.read {
            return;
        }
        let was_ended = assigned.progress.is_ended();
        match assigned.progress.record(message.offset()) {
            Take::Row { silent, doubt } => {
                if let Err(fault) = splitter.add(assigned.id, message, (silent, doubt)) {
                    self.fault = Some(fault.at(place(self.table, message)));
                }
            }
            Take::Ignore => {}
            Take::Rewind => {
                assigned.muted = self.read;
                self.rewind.push(index);
            }
            Take::Astray => {
                assigned.muted = self.read;
                self.out_of_range.push(index);
            }
        }
        if assigned.progress.is_ended() && !was_ended {
            self.ended.push(index);
        }
    }

    fn index(&mut self, message: &Message<'_>) -> Option<usize> {
        let (topic, partition) = (message.topic_handle(), message.partition());
        if let Some((last_topic, last_partition, index)) = self.last
            && (last_topic, last_partition) == (topic, partition)
        {
            return Some(index);
        }
        let name = message.topic();
        let index = self
            .partitions
            .iter()
            .position(|assigned| assigned.name.partition == partition && &*assigned.name.topic == name)?;
        self.last = Some((topic, partition, index));
        // Once per run of a partition's records: enough to say how old the data is, at no cost per record.
        if message.error().is_none()
            && let Some(assigned) = self.partitions.get_mut(index)
            && let (time @ 0.., _) = message.timestamp()
        {
            assigned.timestamp = Some(time);
        }
        if !self.touched.contains(&index) {
            self.touched.push(index);
        }
        Some(index)
    }

    /// Something that is no record: the end of the partition, or an error in its place.
    fn event(&mut self, index: usize, code: RDKafkaErrorCode, message: &Message<'_>) {
        let Some(assigned) = self.partitions.get_mut(index) else { return };
        let was_ended = assigned.progress.is_ended();
        // What follows is a run of its own.
        self.last = None;
        match code {
            RDKafkaErrorCode::PartitionEOF => assigned.progress.end_of_partition(message.offset()),
            RDKafkaErrorCode::AutoOffsetReset => {
                assigned.progress.disturbed();
                self.out_of_range.push(index);
            }
            code => {
                assigned.progress.disturbed();
                let detail = String::from_utf8_lossy(message.value().unwrap_or_default()).into_owned();
                let error = KafkaError::MessageConsumption(code);
                self.errors.record(&error, &format!("{}: {detail}", assigned.name));
            }
        }
        if assigned.progress.is_ended() && !was_ended {
            self.ended.push(index);
        }
    }
}
