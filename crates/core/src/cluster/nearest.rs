//! "Did you mean": the known word nearest to a wrong one.

use std::cmp::Reverse;

/// The candidate with the fewest letters to insert, delete, replace or swap, if they are few enough
/// to be a slip: one for short words, a third of the letters for longer ones. Of equals, the one
/// that begins most alike.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    /// Longer words are no slips of known ones, and the work grows with the square.
    const LONGEST: usize = 64;
    let letters: Vec<char> = word.chars().take(LONGEST + 1).collect();
    if letters.len() > LONGEST {
        return None;
    }
    let allowed = (letters.len() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 4 * LONGEST)
        .map(|candidate| (distance(&letters, &candidate.chars().collect::<Vec<_>>()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, candidate)| (*distance, Reverse(common_start(word, candidate))))
        .map(|(_, candidate)| candidate)
}

/// How many letters two words begin with alike: slips are likelier late than early.
fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// The optimal string alignment distance (Damerau 1964, Levenshtein 1966; no substring is edited
/// twice).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
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
