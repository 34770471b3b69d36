//! The newest records of the source, read as the job would read them.

use std::ops::ControlFlow;

use crate::config::Span;
use crate::decode::{DecodedRows, Decoder};
use crate::error::{DataFault, Error, Place, Result, TablePart};
use crate::kafka::{ClientErrors, Message, Scan, Topic};
use crate::keygroup::KeyGroups;
use crate::model::{PartitionId, PartitionTable, Record, Slice};
use crate::pipeline;
use crate::plan::Plan;
use crate::route::Router;

use super::Checks;
use super::finding::{Finding, Report, Status};

/// Partitions that are sampled: enough to meet every producer.
const PARTITIONS_MAX: usize = 16;

/// Faults that are shown: more of the same say nothing new.
const FAULTS_MAX: usize = 3;

pub(super) fn check(checks: &Checks<'_>, topics: &[Topic], errors: &ClientErrors, report: &mut Report) {
    match sample(checks, topics, errors) {
        Ok(sample) => sample.report(checks, report),
        Err(error) => report.add(checks.failed(&error.of_table(&checks.loaded.plan.source.table))),
    }
}

fn sample(checks: &Checks<'_>, topics: &[Topic], errors: &ClientErrors) -> Result<Sample> {
    let plan = &checks.loaded.plan;
    let mut left = PARTITIONS_MAX;
    let topics: Vec<Topic> = topics
        .iter()
        .map(|topic| {
            let partitions: Vec<i32> = topic.partitions.iter().copied().take(left).collect();
            left -= partitions.len();
            Topic { name: topic.name.clone(), partitions }
        })
        .collect();
    let source = &plan.source;
    let scan =
        Scan::newest(&source.client, &source.group_id, &topics, errors.clone(), checks.samples.into())?;
    let mut sample = Sample::new(plan)?;
    scan.run(&mut |message| {
        sample.take(message);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(sample)
}

/// Decodes records one by one.
struct Sample {
    table: String,
    router: Router,
    decoder: Decoder,
    records: usize,
    faulty: usize,
    faults: Vec<DataFault>,
}

impl Sample {
    fn new(plan: &Plan) -> Result<Self> {
        Ok(Self {
            table: plan.source.table.clone(),
            router: pipeline::router(plan, KeyGroups::new(1, None)?)?,
            decoder: Decoder::new(&plan.source, PartitionTable::default())?,
            records: 0,
            faulty: 0,
            faults: Vec::new(),
        })
    }

    fn take(&mut self, message: &Message<'_>) {
        self.records += 1;
        let (mut arena, mut routed) = (Vec::new(), Vec::new());
        let key = self.router.route(PartitionId(0), message.key(), &mut routed);
        let outcome = key.and_then(|key| {
            let (timestamp, timestamp_type) = message.timestamp();
            let record = Record {
                partition: PartitionId(0),
                offset: message.offset(),
                timestamp,
                timestamp_type,
                key: message.key().map(|key| Slice::append(&mut arena, key)),
                value: message.value().map(|value| Slice::append(&mut arena, value)),
                routed_key: Slice::append(&mut arena, key.key.of(&routed)),
                group: key.group,
                silent: false,
                doubt: false,
                headers: Some(message.headers()),
            };
            self.decoder.decode(0, &record, &arena, &mut DecodedRows::default())
        });
        if let Err(fault) = outcome {
            self.faulty += 1;
            if self.faults.len() < FAULTS_MAX {
                self.faults.push(fault.at(self.place(message)));
            }
        }
    }

    fn place(&self, message: &Message<'_>) -> Place {
        Place {
            table: self.table.clone(),
            topic: message.topic().to_owned(),
            partition: message.partition(),
            offset: message.offset(),
        }
    }

    fn report(self, checks: &Checks<'_>, report: &mut Report) {
        let (records, faulty) = (self.records, self.faulty);
        if records == 0 {
            return report.add(Finding::new(Status::Ok, "there is no record yet to decode"));
        }
        let status = if faulty == 0 { Status::Ok } else { Status::Failed };
        let what = format!("{} of the newest {records} records decode", records - faulty);
        let place = if faulty == 0 { None } else { checks.place(&self.table, "value.format") };
        report.add(Finding::new(status, what).at(place));
        for fault in self.faults {
            let place = part_of(checks, &fault);
            report.add(checks.failed(&Error::from(fault)).at(place));
        }
    }
}

/// Where in the definition a fault of a record belongs: its column, or the format.
fn part_of(checks: &Checks<'_>, fault: &DataFault) -> Option<Span> {
    let table = checks.loaded.definition.table(&fault.place.table)?;
    let part = match &fault.column {
        Some(column) => TablePart::Column(column.clone()),
        None if fault.detail.starts_with("record key") => TablePart::option("key.format"),
        None if table.option("format").is_some() => TablePart::option("format"),
        None => TablePart::option("value.format"),
    };
    Some(table.place(&part))
}
