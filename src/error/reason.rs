//! The closed list of reasons why a row cannot be processed.
//!
//! The names are part of the product: cases (`expect_error`), metrics labels
//! and, later, dead letters use them.

use std::fmt;

use super::Kind;

macro_rules! reasons {
    ($($variant:ident = $name:literal, $doc:literal;)*) => {
        /// Why a row cannot be processed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason { $(#[doc = $doc] $variant,)* }

        impl Reason {
            /// Every reason, in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in cases, metrics and messages.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

reasons! {
    NullKey = "null_key", "The record has no key.";
    EmptyValue = "empty_value", "The value has zero bytes, which is not a null value.";
    Malformed = "malformed", "The bytes are not of the declared format.";
    ValueOutOfRange = "value_out_of_range", "A value does not fit its column's type.";
    LossyConversion = "lossy_conversion", "A value would be altered to fit (1.9 to INT, \"yes\" to BOOLEAN).";
    MissingKeyColumn = "missing_key_column", "The value lacks a key column under `value.fields-include: ALL`.";
    MissingField = "missing_field", "A field is absent and `fail-on-missing-field` is on.";
    KeyMismatch = "key_mismatch", "Record key and value disagree and `on-key-mismatch` is `error`.";
    KeyInTwoPartitions = "key_in_two_partitions", "The same key was seen in two partitions of the topic.";
    NotNull = "not_null", "A NULL for a column that is NOT NULL.";
    ArithmeticOverflow = "arithmetic_overflow", "Integer arithmetic left the range of its type.";
    DivisionByZero = "division_by_zero", "An integer or DECIMAL was divided by zero.";
    CastFailed = "cast_failed", "A CAST met a value that the target type cannot hold.";
    InvalidArgument = "invalid_argument", "A function met an argument it has no result for.";
    LookupFailed = "lookup_failed", "The lookup kept failing after all retries.";
    SinkRejected = "sink_rejected", "The sink refuses the row.";
}

impl Reason {
    /// What ends the job: data that stays as it is, or a database that refuses for longer than it is waited for.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::LookupFailed => Kind::External,
            _ => Kind::Data,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
