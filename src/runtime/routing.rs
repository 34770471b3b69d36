//! The router of the data path, as the source asks for it; and the worker, as a shard drives it.

use crate::clock::Millis;
use crate::error::{Result, RowFault};
use crate::model::PartitionId;
use crate::pipeline::{Counters, Effect, Input, Worker};
use crate::route::{Routed, Router};
use crate::source::{Destination, Route};

use super::shard::Work;

/// Routes by the primary key in the record key.
pub(super) struct ByKey(pub Router);

impl Route for ByKey {
    fn route(
        &mut self,
        partition: PartitionId,
        key: Option<&[u8]>,
        arena: &mut Vec<u8>,
    ) -> Result<Destination, RowFault> {
        let Routed { shard, group, key } = self.0.route(partition, key, arena)?;
        Ok(Destination { shard, group, key })
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
