//! The SQL behind a plan's expressions, for people.

/// What was written where a plan holds compiled expressions; lists are aligned with the plan's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanSql {
    /// Conjuncts of `NormalizePlan::key_filter`.
    pub key_filter: Vec<String>,
    /// Conjuncts of `NormalizePlan::filter`.
    pub stream_filter: Vec<String>,
    /// One per lookup.
    pub lookups: Vec<LookupSql>,
    /// Conjuncts of `Plan::filter`.
    pub filter: Vec<String>,
    /// One per output column.
    pub output: Vec<String>,
}

/// The SQL of one lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookupSql {
    /// What each part of the key is compared with.
    pub key: Vec<String>,
    /// Conjuncts of `LookupPlan::pre_filter`.
    pub pre_filter: Vec<String>,
    /// Conjuncts of `LookupPlan::dimension_filter`.
    pub dimension_filter: Vec<String>,
    /// Conjuncts of `LookupPlan::residual`.
    pub residual: Vec<String>,
}
