//! "Did you mean": the known word most similar to an unknown one.

use std::cmp::Reverse;

use strsim::osa_distance;

/// Returns the candidate with the smallest edit distance, if that is small enough for a typing
/// error: at most one for short words, and a third of the letters for longer ones. Of equal
/// candidates, the one with the longest common prefix wins. `None` if no candidate is near, or if
/// the word has more than 64 letters.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Longer words are not compared: the work grows with the square of the length.
    const LONGEST: usize = 64;
    let letters = word.chars().take(LONGEST + 1).count();
    if letters > LONGEST {
        return None;
    }
    let allowed = (letters / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 4 * LONGEST)
        .map(|candidate| (osa_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, candidate)| (*distance, Reverse(common_start(word, candidate))))
        .map(|(_, candidate)| candidate)
}

/// Returns the length of the common prefix: typing errors are more likely late in a word.
fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// Returns the end of a message that suggests `near`; empty if `None`.
pub fn hint(near: Option<&str>) -> String {
    near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_nothing_else() {
        let keys = ["names", "address", "rails", "rack", "port"];
        let table = [
            ("name", Some("names")),
            ("adress", Some("address")),
            ("addrses", Some("address")),
            ("rial", None),
            ("rakc", Some("rack")),
            ("colour", None),
            ("", None),
        ];
        for (word, near) in table {
            assert_eq!(nearest(word, keys), near, "{word}");
        }
        assert_eq!(nearest("n21", ["n01", "n11", "n20"]), Some("n20"));
        assert_eq!(nearest(&"x".repeat(1 << 20), keys), None);
    }
}
