//! What a row is.
//!
//! A value is one of a closed set of SQL types ([`Type`]). Code that computes
//! works on [`Datum`], a small `Copy` view that borrows text and bytes; code
//! that keeps rows (state, caches, queues) keeps them *packed*: one byte slice
//! per row, laid out by a [`RowLayout`]. Packing is canonical, so two rows of
//! the same layout are equal exactly when their bytes are. [`Value`] is the
//! owned form, for nested values, tests and faces.
//!
//! Rows travel in batches ([`RecordBatch`] on the way in, [`OutputBatch`] on the way
//! out); one row alone is a batch of one.

mod batch;
mod change;
pub mod civil;
mod datum;
mod decimal;
pub mod javanum;
mod layout;
pub mod nested;
mod position;
mod timestamp;
mod types;
mod value;

pub use batch::{
    EncodedRecord, Header, OutputBatch, OutputMark, Payload, Record, RecordBatch, RowRecord, Slice,
};
pub use change::RowKind;
pub use datum::Datum;
pub use decimal::Decimal;
pub use layout::{Cell, Cells, ColumnCopier, ColumnReader, RowLayout};
pub use position::{Epoch, PartitionId, PartitionTable, ShardId, TopicPartition};
pub use timestamp::Timestamp;
pub use types::{DataType, Field, Type};
pub use value::Value;
