//! Folds notes about nodes into lines, and lists warnings about nodes.

use garland_analysis::conditions::{Conditions, Purpose, beware, differences};
use garland_core::cluster::nodelist;
use garland_core::printable;

/// Folds equal notes of several nodes into one line, such as `n[01-20]: the note`, in order of
/// first occurrence. A note stays on its line, whatever its node sent.
pub fn folded<'a>(notes: impl Iterator<Item = (&'a str, String)>) -> Vec<String> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, note) in notes {
        match all.iter_mut().find(|(known, _)| *known == note) {
            Some((_, names)) => names.push(name),
            None => all.push((note, vec![name])),
        }
    }
    let line = |(note, names): (String, Vec<&str>)| {
        format!("{}: {}", nodelist::fold(&names), printable::line(&note))
    };
    all.into_iter().map(line).collect()
}

/// Returns warnings about the nodes' conditions, and about differences between them.
pub fn guard_rails(nodes: &[(&str, &Conditions)], purpose: Purpose) -> Vec<String> {
    let each = nodes.iter().flat_map(|(name, conditions)| {
        beware(conditions, purpose).into_iter().map(|note| (*name, note))
    });
    let mut all = folded(each);
    all.extend(differences(nodes, &|names| nodelist::fold(names)));
    all
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn equal_notes_are_one() {
        let notes = [("n2", "slow"), ("n1", "odd"), ("n3", "slow"), ("n1", "slow")];
        let notes = notes.map(|(name, note)| (name, note.to_owned())).into_iter();
        assert_eq!(folded(notes), ["n[1-3]: slow", "n1: odd"]);
    }

    #[test]
    fn a_note_is_one_line() {
        let notes = [("n1", "no direct I/O on ext4\nok      n[1-9]".to_owned())];
        assert_eq!(folded(notes.into_iter()), ["n1: no direct I/O on ext4\\nok      n[1-9]"]);
    }
}
