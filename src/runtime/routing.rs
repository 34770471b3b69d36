//! The router of the data path, as the source asks for it; and the worker, as a shard drives it.

use crate::clock::Millis;
use crate::error::{Result, RowFault};
use crate::model::{PartitionId, ShardId, Slice};
use crate::pipeline::{Counters, Effect, Input, Worker};
use crate::route::Router;
use crate::source::Route;

use super::shard::Work;

/// Routes by the primary key in the record key.
pub(super) struct ByKey(pub Router);

impl Route for ByKey {
    fn route(
        &mut self,
        partition: PartitionId,
        key: Option<&[u8]>,
        arena: &mut Vec<u8>,
    ) -> Result<(ShardId, Slice), RowFault> {
        self.0.route(partition, key, arena).map(|routed| (routed.shard, routed.key))
    }
}

impl Work for Worker {
    type Counters = Counters;

    fn handle(&mut self, input: Input, now: Millis, effects: &mut Vec<Effect>) -> Result<()> {
        Self::handle(self, input, now, effects)
    }

    fn can_accept(&self) -> bool {
        Self::can_accept(self)
    }

    fn deadline(&self) -> Option<Millis> {
        Self::deadline(self)
    }

    fn counters(&self) -> Counters {
        Self::counters(self)
    }
}
