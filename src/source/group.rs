//! The source table as the runtime sees it: what happens to partitions, and records by the batch.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdkafka::topic_partition_list::TopicPartitionList;

use crate::clock::{Clock, Millis};
use crate::error::{Error, Kind, Result};
use crate::kafka::{self, Admin, ClientErrors, GroupEvent};
use crate::model::{PartitionId, PartitionTable, TopicPartition};
use crate::plan::{Bounded, SourceKind, SourcePlan, Startup, Topics};

use super::begin::{Known, begin};
use super::member::Member;
use super::progress::{Progress, Restore};
use super::split::Splitter;
use super::topics;
use super::visit::{Assigned, Visit};

/// Between two tries to learn where newly assigned partitions begin.
const ASSIGN_AGAIN: Millis = 500;

/// How often a member without partitions asks whether the others have ended a bounded run.
const END_CHECK: Millis = 1_000;

/// What a source needs besides its plan.
#[derive(Clone)]
pub struct Environment {
    /// The time.
    pub clock: Clock,
    /// Numbers of partitions.
    pub table: PartitionTable,
    /// `group.instance.id`: the member keeps its partitions across a restart.
    pub instance: Option<String>,
    /// Set when the process gives up waiting for anything.
    pub stop: Arc<AtomicBool>,
}

/// Something that happened to the group's partitions.
#[derive(Debug)]
pub enum Happening {
    /// These are ours; the offset is what the group has committed, `dirty` where reading begins
    /// if that is to be committed even before a row comes.
    Assigned(Vec<AssignedPartition>),
    /// These go to another member once [`Source::release`] was called for all of them.
    Revoke(Vec<PartitionId>),
    /// These are someone else's already; [`Source::release`] gives them up.
    Lost(Vec<PartitionId>),
    /// The last commit was acknowledged, or not.
    Committed(bool),
}

/// A partition that is ours from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignedPartition {
    /// Its number.
    pub id: PartitionId,
    /// What the group has committed.
    pub committed: Option<i64>,
    /// Where reading begins, when that counts as handed over: an append-only source must find
    /// its first position again even if it stops before the first row.
    pub begins_at: Option<i64>,
}

/// Where a partition stands, for status and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Its number.
    pub id: PartitionId,
    /// Its name.
    pub name: TopicPartition,
    /// Next offset to read.
    pub position: i64,
    /// One past the newest offset, as of the newest fetch.
    pub end: Option<i64>,
    /// Timestamp of a record in the newest read that had any.
    pub timestamp: Option<Millis>,
    /// Progress of the rebuild, until it is over.
    pub restore: Option<Restore>,
}

/// The source table of a job, as this member of the group reads it.
pub struct Source {
    plan: SourcePlan,
    environment: Environment,
    member: Member,
    admin: Admin,
    topics: Vec<String>,
    /// Partitions that were there when the job began; others are new.
    known: HashSet<TopicPartition>,
    stops: BTreeMap<TopicPartition, i64>,
    partitions: Vec<Assigned>,
    /// Assignments that are not answered yet, and when to try.
    unanswered: VecDeque<TopicPartitionList>,
    answer_at: Millis,
    /// The revocation that is under way, and the partitions of it that are not released yet.
    revoking: Option<(TopicPartitionList, Vec<PartitionId>)>,
    joined: bool,
    reads: u64,
    touched: Vec<(PartitionId, i64)>,
    discover_at: Millis,
    end_check_at: Millis,
}

impl Source {
    /// Connects, checks the topics, finds the ends of a bounded run and joins the group.
    /// A cluster that cannot be reached is waited for until the process stops.
    ///
    /// # Errors
    /// Missing topics, missing rights, settings that librdkafka refuses.
    pub fn open(plan: &SourcePlan, environment: Environment) -> Result<Self> {
        let who = format!("source {}", plan.table);
        let clock = environment.clock.clone();
        let errors = ClientErrors::new(&who, clock.clone());
        let admin = kafka::admin(&plan.client, errors.clone())?;
        let go_on = || !environment.stop.load(Ordering::Relaxed);
        let found = kafka::wait_for(&errors, &clock, &go_on, || topics::resolve(&admin, &plan.topics))
            .map_err(|error| error.in_table(&plan.table, &who))?;
        let member = Member::new(plan, environment.instance.as_deref(), errors.clone(), clock.clone())?;
        let all = topics::partitions(&found);
        let consumer = member.consumer.consumer();
        let stops = kafka::wait_for(&errors, &clock, &go_on, || topics::stops(consumer, &plan.bounded, &all))
            .map_err(|error| error.in_table(&plan.table, &who))?;
        let known = kafka::wait_for(&errors, &clock, &go_on, || known_at_start(plan, &member, &all))
            .map_err(|error| error.in_table(&plan.table, &who))?;
        let topics: Vec<_> = found.into_iter().map(|topic| topic.name).collect();
        member.subscribe(&topics.iter().map(String::as_str).collect::<Vec<_>>())?;
        let now = clock.now();
        Ok(Self {
            plan: plan.clone(),
            environment,
            member,
            admin,
            topics,
            known,
            stops,
            partitions: Vec::new(),
            unanswered: VecDeque::new(),
            answer_at: now,
            revoking: None,
            joined: false,
            reads: 0,
            touched: Vec::new(),
            discover_at: now.saturating_add(plan.discovery),
            end_check_at: now,
        })
    }

    /// Serves the group: to be called often, also when nothing is read.
    ///
    /// # Errors
    /// Everything that does not pass by itself.
    pub fn poll(&mut self) -> Result<Vec<Happening>> {
        let mut happenings = Vec::new();
        for event in self.member.poll()? {
            match event {
                GroupEvent::Assign(list) => self.unanswered.push_back(list),
                GroupEvent::Revoke(list) => happenings.extend(self.begin_release(list, false)?),
                GroupEvent::Lost(list) => happenings.extend(self.begin_release(list, true)?),
                GroupEvent::Committed(result) => {
                    if let Err(error) = &result {
                        self.member.errors.trouble(&format!("a commit of offsets failed: {error}"));
                    }
                    happenings.push(Happening::Committed(result.is_ok()));
                }
            }
        }
        happenings.extend(self.answer_assignment()?);
        self.discover()?;
        Ok(happenings)
    }

    /// Our numbers of the partitions in a list; those that are not ours are left out.
    fn begin_release(&mut self, list: TopicPartitionList, lost: bool) -> Result<Option<Happening>> {
        // Without partitions that another member asked for, we are out of the group until the next assignment.
        self.joined &= !lost;
        let leaves = |assigned: &&Assigned| {
            list.find_partition(&assigned.name.topic, assigned.name.partition).is_some()
        };
        let ids: Vec<_> = self.partitions.iter().filter(leaves).map(|assigned| assigned.id).collect();
        if ids.is_empty() {
            self.go_back_to_positions()?;
            self.member.unassign(&list)?;
            return Ok(None);
        }
        self.revoking = Some((list, ids.clone()));
        Ok(Some(if lost { Happening::Lost(ids) } else { Happening::Revoke(ids) }))
    }

    /// Gives partitions up: after their last commit, or because they are lost.
    ///
    /// # Errors
    /// librdkafka refuses (a bug).
    pub fn release(&mut self, partitions: &[PartitionId]) -> Result<()> {
        self.partitions.retain(|assigned| !partitions.contains(&assigned.id));
        let Some((list, waiting)) = &mut self.revoking else { return Ok(()) };
        waiting.retain(|id| !partitions.contains(id));
        if waiting.is_empty() {
            let list = list.clone();
            self.revoking = None;
            self.go_back_to_positions()?;
            self.member.unassign(&list)?;
        }
        Ok(())
    }

    /// Answers the oldest assignment; later, if Kafka does not tell where its partitions begin.
    fn answer_assignment(&mut self) -> Result<Option<Happening>> {
        let now = self.environment.clock.now();
        if now < self.answer_at {
            return Ok(None);
        }
        let Some(list) = self.unanswered.front() else { return Ok(None) };
        let names = list
            .elements()
            .into_iter()
            .map(|element| TopicPartition { topic: element.topic().into(), partition: element.partition() });
        let held: HashSet<_> = self.partitions.iter().map(|assigned| assigned.name.clone()).collect();
        let new: Vec<_> = names.filter(|name| !held.contains(name)).collect();
        let begun = match self.find_beginnings(&new) {
            Ok(begun) => begun,
            Err(error) if error.kind() == Kind::Transient => {
                self.member.errors.trouble(&error.to_string());
                self.answer_at = now + ASSIGN_AGAIN;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.unanswered.pop_front();
        let starts: Vec<_> = begun.iter().map(|(new, _)| (new.name.clone(), new.progress.next())).collect();
        self.go_back_to_positions()?;
        self.member.assign(&starts)?;
        self.joined = true;
        let announced = begun.iter().map(|(_, announced)| announced.clone()).collect();
        self.partitions.extend(begun.into_iter().map(|(new, _)| new));
        self.pause_ended()?;
        Ok(Some(Happening::Assigned(announced)))
    }

    fn find_beginnings(&mut self, new: &[TopicPartition]) -> Result<Vec<(Assigned, AssignedPartition)>> {
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let consumer = self.member.consumer.consumer();
        let committed = topics::committed(consumer, new)?;
        let timed = match self.plan.startup {
            Startup::Timestamp(timestamp) => topics::at_timestamp(consumer, new, timestamp)?,
            _ => BTreeMap::new(),
        };
        let late: Vec<_> = new.iter().filter(|name| !self.known.contains(name)).cloned().collect();
        if self.plan.bounded != Bounded::Unbounded {
            let unbound: Vec<_> =
                late.iter().filter(|name| !self.stops.contains_key(name)).cloned().collect();
            self.stops.extend(topics::stops(consumer, &self.plan.bounded, &unbound)?);
        }
        let mut begun = Vec::with_capacity(new.len());
        for name in new {
            let (low, high) = topics::watermarks(consumer, name)?;
            let known = Known {
                committed: committed.get(name).copied(),
                low,
                high,
                at_timestamp: timed.get(name).copied(),
                is_new: late.contains(name),
            };
            let at = begin(self.plan.kind, &self.plan.startup, name.partition, known, &name.to_string())?;
            let id = self.environment.table.intern(name);
            let mut progress = Progress::new(at.start, at.silent_below, self.stops.get(name).copied());
            if let Some(end) = at.doubt_below {
                progress.in_doubt_below(end);
            }
            let begins_at = (self.plan.kind == SourceKind::Kafka).then_some(at.start);
            let announced = AssignedPartition { id, committed: at.committed, begins_at };
            begun.push((Assigned { id, name: name.clone(), progress, timestamp: None, muted: 0 }, announced));
        }
        Ok(begun)
    }

    /// librdkafka has paused what we keep and will resume it by its own idea of where we are. Sent back
    /// while it is paused, before the rebalance is answered, it never fetches from the wrong place.
    fn go_back_to_positions(&self) -> Result<()> {
        let open = self.partitions.iter().filter(|assigned| !assigned.progress.is_ended());
        let positions: Vec<_> =
            open.map(|assigned| (assigned.name.clone(), assigned.progress.next())).collect();
        self.member.seek(&positions)
    }

    fn pause_ended(&self) -> Result<()> {
        let ended = self.partitions.iter().filter(|assigned| assigned.progress.is_ended());
        self.member.pause(&ended.map(|assigned| assigned.name.clone()).collect::<Vec<_>>())
    }

    /// Reads what is there into `splitter`, waiting up to `wait` for the first record.
    /// Returns the number of messages and events.
    ///
    /// # Errors
    /// A key that cannot be read ([`Kind::Data`]); a position that Kafka no longer has.
    pub fn read(&mut self, wait: Duration, splitter: &mut Splitter) -> Result<usize> {
        self.reads += 1;
        self.touched.clear();
        let errors = &self.member.errors;
        let mut visit = Visit::new(&self.plan.table, &mut self.partitions, errors, self.reads);
        let count = self.member.consumer.read(wait, |message| visit.message(message, splitter));
        let Visit { touched, rewind, out_of_range, ended, fault, .. } = visit;
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        let positions: Vec<_> = rewind
            .iter()
            .filter_map(|&index| self.partitions.get(index))
            .map(|assigned| (assigned.name.clone(), assigned.progress.next()))
            .collect();
        self.member.seek(&positions)?;
        for index in out_of_range {
            self.find_log_again(index)?;
        }
        let ended: Vec<_> =
            ended.iter().filter_map(|&i| self.partitions.get(i)).map(|p| p.name.clone()).collect();
        self.member.pause(&ended)?;
        for index in touched {
            let Some(Assigned { id, name, progress, .. }) = self.partitions.get_mut(index) else { continue };
            self.touched.push((*id, progress.next()));
            if progress.asks_for_end() {
                let known = self.member.consumer.watermarks(&name.topic, name.partition);
                progress.log_ends(known.map_or(0, |(_, high)| high));
            }
        }
        Ok(count)
    }

    /// Next offsets of the partitions that the last [`Source::read`] moved.
    #[must_use]
    pub fn touched(&self) -> &[(PartitionId, i64)] {
        &self.touched
    }

    /// Kafka has no record at our position.
    fn find_log_again(&mut self, index: usize) -> Result<()> {
        let Some(assigned) = self.partitions.get_mut(index) else { return Ok(()) };
        let consumer = self.member.consumer.consumer();
        let (low, high) = match topics::watermarks(consumer, &assigned.name) {
            Ok(watermarks) => watermarks,
            Err(error) if error.kind() == Kind::Transient => {
                self.member.errors.trouble(&error.to_string());
                return self.member.seek(&[(assigned.name.clone(), assigned.progress.next())]);
            }
            Err(error) => return Err(error),
        };
        let position = assigned.progress.next();
        if high < position {
            return Err(Error::external(format!(
                "{}: our position {position} is beyond the end {high}: the topic was made anew or lost records; \
                 restart to read it from its beginning",
                assigned.name
            )));
        }
        if position < low {
            tracing::warn!(
                partition = %assigned.name, lost = low - position, help = super::RETENTION_HELP,
                "records were deleted from the topic before they were read"
            );
        }
        assigned.progress.log_begins(low);
        self.member.seek(&[(assigned.name.clone(), assigned.progress.next())])
    }

    /// Sends a commit; [`Happening::Committed`] answers.
    ///
    /// # Errors
    /// The commit could not be sent.
    pub fn commit(&self, offsets: &[(PartitionId, i64)]) -> Result<()> {
        let named = offsets.iter().filter_map(|(id, next)| Some((self.environment.table.name(*id)?, *next)));
        self.member.commit(&named.collect::<Vec<_>>())
    }

    /// Whether a bounded run is over: every partition of ours has reached its end; without
    /// partitions, whether the group has committed all ends.
    ///
    /// # Errors
    /// The cluster refuses.
    pub fn is_at_end(&mut self) -> Result<bool> {
        if self.plan.bounded == Bounded::Unbounded || !self.joined || !self.unanswered.is_empty() {
            return Ok(false);
        }
        if !self.partitions.is_empty() {
            return Ok(self.partitions.iter().all(|assigned| assigned.progress.is_ended()));
        }
        let now = self.environment.clock.now();
        if now < self.end_check_at || self.revoking.is_some() {
            return Ok(false);
        }
        self.end_check_at = now + END_CHECK;
        match self.group_is_at_end() {
            Err(error) if error.kind() == Kind::Transient => Ok(false),
            other => other,
        }
    }

    fn group_is_at_end(&self) -> Result<bool> {
        let consumer = self.member.consumer.consumer();
        let all: Vec<_> = self.stops.keys().cloned().collect();
        let committed = topics::committed(consumer, &all)?;
        for (name, stop) in &self.stops {
            let reached = committed.get(name).is_some_and(|next| stop <= next);
            if !reached && topics::watermarks(consumer, name)?.0 < *stop {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Joins topics that match the pattern and are new.
    fn discover(&mut self) -> Result<()> {
        let now = self.environment.clock.now();
        if now < self.discover_at || !matches!(self.plan.topics, Topics::Pattern(_)) {
            return Ok(());
        }
        self.discover_at = now.saturating_add(self.plan.discovery);
        let Ok(found) = topics::resolve(&self.admin, &self.plan.topics) else { return Ok(()) };
        let names: Vec<_> = found.into_iter().map(|topic| topic.name).collect();
        if names != self.topics {
            tracing::info!(topics = ?names, "the topics that match the pattern have changed");
            self.member.subscribe(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
            self.topics = names;
        }
        Ok(())
    }

    /// Where every partition of ours stands.
    #[must_use]
    pub fn status(&self) -> Vec<PartitionStatus> {
        let of = |assigned: &Assigned| PartitionStatus {
            id: assigned.id,
            name: assigned.name.clone(),
            position: assigned.progress.next(),
            end: self
                .member
                .consumer
                .watermarks(&assigned.name.topic, assigned.name.partition)
                .map(|(_, high)| high),
            timestamp: assigned.timestamp,
            restore: assigned.progress.restore(),
        };
        self.partitions.iter().map(of).collect()
    }

    /// Whether we are a member, and everything that is ours is restored.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        self.joined && self.partitions.iter().all(|assigned| assigned.progress.restore().is_none())
    }

    /// Leaves the group, so that others take over at once.
    pub fn leave(self) {
        // Of a revocation that is under way librdkafka waits for the answer.
        if let Some((list, _)) = &self.revoking {
            let _ = self.member.unassign(list);
        }
        self.member.leave();
    }
}

/// Partitions that are not new: all of them when the job begins. When it goes on (some offset is
/// committed), those without a committed offset came later. Only append-only sources care.
fn known_at_start(
    plan: &SourcePlan,
    member: &Member,
    all: &[TopicPartition],
) -> Result<HashSet<TopicPartition>> {
    if plan.kind == SourceKind::UpsertKafka {
        return Ok(all.iter().cloned().collect());
    }
    let committed = topics::committed(member.consumer.consumer(), all)?;
    let begun = !committed.is_empty();
    Ok(all.iter().filter(|name| !begun || committed.contains_key(name)).cloned().collect())
}
