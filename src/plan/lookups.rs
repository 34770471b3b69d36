//! Resolved lookups: one dimension table each.

use std::time::Duration;

use crate::expr::Expression;
use crate::model::{DataType, RowLayout};

use super::DimensionConnector;

/// One lookup step (Flink: E.1).
#[derive(Clone, Debug)]
pub struct LookupPlan {
    /// Name of the dimension table in the definition.
    pub table: String,
    /// Alias in this pipeline.
    pub alias: String,
    /// Inner or left.
    pub join: JoinKind,
    /// Where its rows are.
    pub connector: DimensionConnector,
    /// The lookup key, ordered by dimension column (Flink: dim index order).
    pub key: Vec<KeyPart>,
    /// Positions in `key` of the non-constant parts in the order of the equalities in the
    /// condition: the columns of the hash (E.6). Empty: constants only, the hash does nothing.
    pub hash_order: Vec<usize>,
    /// Fetched columns: what something reads, and what `dimension_filter` and `residual` need.
    pub columns: Vec<DimensionColumn>,
    /// Conditions over the joined row before this step alone: a row that fails gets no match and makes no call.
    pub pre_filter: Option<Expression>,
    /// Conditions over `columns` alone; scope: the fetched columns from 0.
    pub dimension_filter: Option<Expression>,
    /// Conditions over both sides; scope: the joined row up to and including this step.
    pub residual: Option<Expression>,
    /// `lookup.enable_hash`.
    pub hash: bool,
    /// `lookup.cache`; `None` is NONE.
    pub cache: Option<CachePlan>,
    /// `lookup.max-retries`: retries after the first try.
    pub max_retries: u32,
}

impl LookupPlan {
    /// How fetched dimension rows are packed.
    #[must_use]
    pub fn layout(&self) -> RowLayout {
        RowLayout::new(self.columns.iter().map(|column| &column.ty))
    }

    /// How lookup keys are packed: constants included.
    #[must_use]
    pub fn key_layout(&self) -> RowLayout {
        RowLayout::new(self.key.iter().map(|part| &part.ty))
    }
}

/// How unmatched stream rows are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// They give no row.
    Inner,
    /// They are padded with NULLs.
    Left,
}

impl JoinKind {
    /// The word in definitions.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Inner => "inner",
            Self::Left => "left",
        }
    }
}

/// One part of a lookup key.
#[derive(Clone, Debug)]
pub struct KeyPart {
    /// Name of the dimension column.
    pub column: String,
    /// Its declared type: the type the key is converted to before it is bound.
    pub ty: DataType,
    /// What it is compared with.
    pub source: KeySource,
    /// Type of the source before conversion.
    pub source_type: DataType,
    /// How the two are compared.
    pub comparison: Comparison,
}

/// What a dimension column is compared with.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// An expression over the joined row before this step.
    Stream(Expression),
    /// A constant expression (its scope is empty).
    Constant(Expression),
}

/// Which conversion a lookup key takes (DESIGN: exact, or there is no match).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Same kind on both sides: nothing to do.
    Same,
    /// Integers of any width.
    Integers,
    /// An integer and a DECIMAL with no fraction, or two DECIMALs.
    Decimals,
    /// STRING on one side, an integer on the other: through the canonical decimal text.
    TextAsInteger,
    /// An integer on the stream side, text in the dimension: through the canonical decimal text.
    IntegerAsText,
    /// BOOLEAN with TINYINT(1).
    BooleanAsTinyInt,
    /// TINYINT(1) on the stream side, BOOLEAN in the dimension.
    TinyIntAsBoolean,
}

/// A fetched dimension column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimensionColumn {
    /// Name in the dimension table.
    pub name: String,
    /// Declared type, always nullable after a LEFT join.
    pub ty: DataType,
}

/// `lookup.cache: PARTIAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachePlan {
    /// `lookup.partial-cache.max-rows`: keys per table and replica.
    pub max_rows: Option<u64>,
    /// `lookup.partial-cache.expire-after-write`.
    pub expire_after_write: Option<Duration>,
    /// `lookup.partial-cache.expire-after-access`.
    pub expire_after_access: Option<Duration>,
    /// `lookup.partial-cache.cache-missing-key`.
    pub cache_missing_key: bool,
    /// `lookup.partial-cache.missing-key-expire-after-write`: own, shorter TTL of absent keys.
    pub missing_key_ttl: Option<Duration>,
}
