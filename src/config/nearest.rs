//! The known word that an unknown one was probably meant to be.

/// A word of `n` letters may differ in `n / LETTERS_PER_SLIP` places and still count as a slip of the keyboard.
const LETTERS_PER_SLIP: usize = 3;

/// The candidate with the fewest slips from `word`, case aside; `None` when nothing is near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let limit = (word.chars().count() / LETTERS_PER_SLIP).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_a_stranger_is_not() {
        let known = ["lookup.cache", "lookup.max-retries", "url"];
        assert_eq!(nearest("lookup.cachee", known), Some("lookup.cache"));
        assert_eq!(nearest("lookup.max_retries", known), Some("lookup.max-retries"));
        assert_eq!(nearest("URL", known), Some("url"));
        assert_eq!(nearest("xyz", known), None);
        assert_eq!(nearest("batch.size", known), None);
    }
}
