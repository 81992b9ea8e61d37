//! Verdicts in a table.

use std::collections::BTreeMap;

use garland_core::cluster::nodelist;
use garland_core::printable;

/// A line for each different verdict: `failed  n[003,017-020]: no space left on /scratch`. Each
/// verdict is a word, a reason if there is one, and the node's name; those without a reason come
/// first.
pub fn folded<'a>(verdicts: impl Iterator<Item = (&'a str, Option<&'a str>, &'a str)>) -> String {
    let mut groups: BTreeMap<(bool, &str, &str), Vec<&str>> = BTreeMap::new();
    for (word, reason, name) in verdicts {
        let key = (reason.is_some(), word, reason.unwrap_or_default());
        groups.entry(key).or_default().push(name);
    }
    let line = |((has_reason, word, reason), names): ((bool, &str, &str), Vec<&str>)| {
        let colon = if has_reason { ": " } else { "" };
        // A reason is no line of its own, whatever a node says.
        let reason = printable::line(reason);
        format!("{word:<7} {}{colon}{reason}\n", nodelist::fold(&names))
    };
    groups.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn a_reason_is_a_part_of_its_line() {
        let verdicts = [("failed", Some("full\x1b[2J\nok      n[1-9]\u{202e}"), "n1")];
        let wanted = "failed  n1: full\\x1b[2J\\nok      n[1-9]\\u{202e}\n";
        assert_eq!(folded(verdicts.into_iter()), wanted);
    }

    #[test]
    fn equal_verdicts_are_one_line() {
        let verdicts = [
            ("dead", Some("gone"), "n3"),
            ("ok", None, "n1"),
            ("failed", Some("full"), "n04"),
            ("ok", None, "n2"),
            ("failed", Some("full"), "n05"),
        ];
        let wanted = "ok      n[1-2]\ndead    n3: gone\nfailed  n[04-05]: full\n";
        assert_eq!(folded(verdicts.into_iter()), wanted);
    }
}
