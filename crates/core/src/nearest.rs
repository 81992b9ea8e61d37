//! "Did you mean": the known word nearest to a wrong one.

use std::cmp::Reverse;

use strsim::osa_distance;

/// The candidate with the fewest letters to insert, delete, replace or swap, if they are few enough
/// to be a slip: one for short words, a third of the letters for longer ones. Of equals, the one
/// that begins most alike.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Longer words are no slips of known ones, and the work grows with the square.
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

/// How many letters two words begin with alike: slips are likelier late than early.
fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// The end of a message that may know what was meant.
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
