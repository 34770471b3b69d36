//! The distinct keys that are in the source topic of a definition.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::clock::{Clock, Stopwatch};
use crate::error::{Error, Kind, Place, Result};
use crate::kafka::{self, ClientErrors, Message, Scan};
use crate::keygroup::{KeyGroups, KeyHash, KeyHasher};
use crate::model::{DataType, PartitionId};
use crate::plan::{Plan, SourceKind, SourcePlan};
use crate::route::Router;
use crate::source;

use super::keys::Keys;
use super::usage;

/// An unreachable broker is given up after this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads the topic from its beginning to its present end; of its keys, in order of arrival, one more
/// than the limit at most.
///
/// # Errors
/// A source without keys, a broker that refuses or is unreachable, a key that cannot be read.
pub(super) fn read(plan: &Plan, limit: usize) -> Result<Keys> {
    let source = &plan.source;
    if source.kind == SourceKind::Kafka {
        return Err(usage(format!(
            "table {} is append-only: its rows have no key and stay on the shard of their partition; \
             look at the keys of a lookup with --table",
            source.table
        )));
    }
    let scan = open(source)?;
    let mut collector = Collector::new(source, plan.options.key_hash, limit)?;
    scan.run(&mut |message| collector.take(message))
        .map_err(|error| if error.fault().is_some() { error } else { in_kafka(source, &error, "") })?;
    Ok(Keys::new(format!("the topic of table {}", source.table), collector.types, collector.keys, limit))
}

fn open(source: &SourcePlan) -> Result<Scan> {
    let clock = Clock::system();
    let errors = ClientErrors::new(&format!("source {}", source.table), clock.clone());
    let watch = Stopwatch::start();
    let go_on = || watch.elapsed() < PATIENCE;
    let opened = || -> Result<Scan> {
        let admin = kafka::admin(&source.client, errors.clone())?;
        let topics = kafka::wait_for(&errors, &clock, &go_on, || source::resolve(&admin, &source.topics))?;
        kafka::wait_for(&errors, &clock, &go_on, || {
            Scan::open(&source.client, &source.group_id, &topics, errors.clone())
        })
    };
    opened().map_err(|error| in_kafka(source, &error, &errors.latest().unwrap_or_default()))
}

/// Names the table and the brokers; `cause` is what the client said in the background.
fn in_kafka(source: &SourcePlan, error: &Error, cause: &str) -> Error {
    let cause = if cause.is_empty() { String::new() } else { format!(" ({cause})") };
    let verb = if error.kind() == Kind::Transient { " is unreachable" } else { "" };
    let (table, brokers) = (&source.table, &source.client.bootstrap_servers);
    Error::new(error.kind(), format!("table {table}, Kafka at {brokers}{verb}: {error}{cause}"))
}

/// Keys as the router reads them, each once.
struct Collector<'a> {
    source: &'a SourcePlan,
    types: Vec<DataType>,
    router: Router,
    limit: usize,
    seen: HashSet<Box<[u8]>>,
    keys: Vec<Box<[u8]>>,
    packed: Vec<u8>,
}

impl<'a> Collector<'a> {
    fn new(source: &'a SourcePlan, hash: KeyHash, limit: usize) -> Result<Self> {
        let columns = source.key_columns.iter().filter_map(|&at| source.physical.get(at));
        let types: Vec<DataType> = columns.map(|column| column.ty.clone()).collect();
        // The router is here to read keys; where it would send them is not asked.
        let router = Router::new(source, KeyHasher::new(&types, hash)?, KeyGroups::new(1, None)?)?;
        let (seen, keys, packed) = (HashSet::new(), Vec::new(), Vec::new());
        Ok(Self { source, types, router, limit, seen, keys, packed })
    }

    fn take(&mut self, message: &Message<'_>) -> Result<ControlFlow<()>> {
        self.packed.clear();
        let routed = self.router.route(PartitionId(0), message.key(), &mut self.packed);
        let key = routed.map_err(|fault| fault.at(self.place(message)))?.key;
        let key = key.of(&self.packed);
        // A key that `ignore-parse-errors` drops is empty.
        if key.is_empty() || self.seen.contains(key) {
            return Ok(ControlFlow::Continue(()));
        }
        self.seen.insert(key.into());
        self.keys.push(key.into());
        Ok(if self.limit < self.keys.len() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn place(&self, message: &Message<'_>) -> Place {
        Place {
            table: self.source.table.clone(),
            topic: message.topic().to_owned(),
            partition: message.partition(),
            offset: message.offset(),
        }
    }
}
