//! Lookup queries on the I/O threads: one task each, the answer goes to the shard that asked.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Sender, TrySendError};
use tokio::runtime::Handle;

use crate::clock::Clock;
use crate::db::Dimension;
use crate::model::ShardId;
use crate::pipeline::{LookupAnswer, LookupQuery};

use super::shard::{Ask, Control};
use super::statements::Statements;

/// Wait of an answer for room in the shard's control queue, which the shard always empties.
const FULL_WAIT: Duration = Duration::from_millis(1);

/// Runs the queries of one shard. Their number at a time is bounded by the worker that asks, and
/// the statements of all shards by the connections of the database.
pub(super) struct Lookups {
    pub dimensions: Arc<[Dimension]>,
    pub runtime: Handle,
    pub reply: Sender<Control>,
    pub clock: Clock,
    pub statements: Arc<Statements>,
}

impl Ask for Lookups {
    fn ask(&self, _shard: ShardId, query: LookupQuery) {
        let (dimensions, reply, clock) =
            (Arc::clone(&self.dimensions), self.reply.clone(), self.clock.clone());
        let statements = Arc::clone(&self.statements);
        statements.asked(query.lookup);
        self.runtime.spawn(async move {
            let Some(dimension) = dimensions.get(query.lookup) else { return };
            let rows = dimension.fetch(&query.keys).await;
            statements.answered(query.lookup);
            let mut answer = Control::Answer(LookupAnswer { lookup: query.lookup, id: query.id, rows });
            while let Err(TrySendError::Full(back)) = reply.try_send(answer) {
                answer = back;
                clock.sleep(FULL_WAIT).await;
            }
        });
    }
}
