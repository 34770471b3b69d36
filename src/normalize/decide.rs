//! The decision table of ChangelogNormalize, as a function of what is known.
//!
//! Flink: `DeduplicateFunctionHelper`, the changelog path with and without a
//! pushed filter.

/// What a record says about its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// `+I` or `+U`: the row is now this.
    Upsert,
    /// `-D` or `-U`: the row is gone, whatever the record's other columns say.
    Delete,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// `+I cur`; the state is `cur`.
    Insert,
    /// `-U prev`, `+U cur`; the state is `cur`.
    Update,
    /// `-D prev`; the state is cleared.
    Delete,
    /// Nothing happens, and the state is not touched.
    Suppress(Suppressed),
}

/// Why nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suppressed {
    /// The row equals the stored one (without TTL).
    Equal,
    /// A delete of a key that has no row.
    UnknownDelete,
    /// The row fails the filter, and none was stored.
    Filtered,
}

/// Decides. `passes` is the pushed filter, asked only where the answer matters.
///
/// # Errors
/// What `passes` returns.
pub fn decide<E>(
    incoming: Incoming,
    previous: Option<&[u8]>,
    current: &[u8],
    ttl: bool,
    passes: impl FnOnce() -> Result<bool, E>,
) -> Result<Decision, E> {
    let decision = match (incoming, previous) {
        (Incoming::Delete, Some(_)) => Decision::Delete,
        (Incoming::Delete, None) => Decision::Suppress(Suppressed::UnknownDelete),
        (Incoming::Upsert, Some(row)) if !ttl && row == current => Decision::Suppress(Suppressed::Equal),
        (Incoming::Upsert, previous) => match (passes()?, previous.is_some()) {
            (true, true) => Decision::Update,
            (true, false) => Decision::Insert,
            (false, true) => Decision::Delete,
            (false, false) => Decision::Suppress(Suppressed::Filtered),
        },
    };
    Ok(decision)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(incoming: Incoming, previous: Option<&str>, current: &str, ttl: bool, passes: bool) -> Decision {
        let previous = previous.map(str::as_bytes);
        decide::<()>(incoming, previous, current.as_bytes(), ttl, || Ok(passes)).unwrap()
    }

    #[test]
    fn the_table_of_the_changelog_path() {
        use Incoming::{Delete, Upsert};
        for ttl in [false, true] {
            assert_eq!(with(Upsert, None, "a", ttl, true), Decision::Insert);
            assert_eq!(with(Upsert, Some("a"), "b", ttl, true), Decision::Update);
            assert_eq!(with(Delete, Some("a"), "z", ttl, true), Decision::Delete);
            assert_eq!(with(Delete, None, "z", ttl, true), Decision::Suppress(Suppressed::UnknownDelete));
        }
        assert_eq!(with(Upsert, Some("a"), "a", false, true), Decision::Suppress(Suppressed::Equal));
        assert_eq!(with(Upsert, Some("a"), "a", true, true), Decision::Update);
    }

    #[test]
    fn the_table_with_a_filter() {
        use Incoming::{Delete, Upsert};
        assert_eq!(with(Upsert, None, "a", false, false), Decision::Suppress(Suppressed::Filtered));
        assert_eq!(with(Upsert, Some("a"), "b", false, false), Decision::Delete);
        assert_eq!(with(Upsert, Some("a"), "a", false, false), Decision::Suppress(Suppressed::Equal));
        assert_eq!(with(Delete, Some("a"), "b", false, false), Decision::Delete);
    }
}
