//! Folds equal verdicts of several nodes into lines.

use std::collections::BTreeMap;

use garland_core::cluster::nodelist;
use garland_core::printable;

/// Returns a line for each distinct verdict, such as `failed  n[003,017-020]: no space left on
/// /scratch`. A verdict is a word, an optional reason, and the node's name. Verdicts without a
/// reason come first. Reasons that differ only in the node's own name are equal; the reason of the
/// first node is shown.
pub fn folded<'a>(verdicts: impl Iterator<Item = (&'a str, Option<&'a str>, &'a str)>) -> String {
    let mut groups: BTreeMap<(bool, &str, String), (&str, Vec<&str>)> = BTreeMap::new();
    for (word, reason, name) in verdicts {
        let has_reason = reason.is_some();
        let reason = reason.unwrap_or_default();
        let key = (has_reason, word, without_name(reason, name));
        groups.entry(key).or_insert((reason, Vec::new())).1.push(name);
    }
    let line = |((has_reason, word, _), (reason, names)): (_, (&str, Vec<&str>))| {
        let colon = if has_reason { ": " } else { "" };
        // A reason must stay on its line, whatever a node sends.
        let reason = printable::line(reason);
        format!("{word:<7} {}{colon}{reason}\n", nodelist::fold(&names))
    };
    groups.into_iter().map(line).collect()
}

/// Returns a reason in which the node's own name, as a whole word, is replaced by a NUL character.
fn without_name(reason: &str, name: &str) -> String {
    let is_inner = |one: char| one.is_alphanumeric() || matches!(one, '-' | '_');
    let mut text = String::new();
    let mut rest = reason;
    while let Some(at) = rest.find(name).filter(|_| !name.is_empty()) {
        let before = &rest[..at];
        let behind = &rest[at + name.len()..];
        text.push_str(before);
        let is_word = !text.ends_with(is_inner) && !behind.starts_with(is_inner);
        text.push_str(if is_word { "\0" } else { name });
        rest = behind;
    }
    text + rest
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

    #[test]
    fn a_nodes_own_name_keeps_no_line_apart() {
        let verdicts = [
            ("failed", Some("is sshd running on n1?"), "n1"),
            ("failed", Some("is sshd running on n2?"), "n2"),
            ("failed", Some("n3 is not n33"), "n3"),
            ("failed", Some("n4 is not n33"), "n4"),
            ("failed", Some("n3 is not n33"), "n33"),
        ];
        let wanted = "failed  n[3-4]: n3 is not n33\nfailed  n[1-2]: is sshd running on n1?\n\
                      failed  n33: n3 is not n33\n";
        assert_eq!(folded(verdicts.into_iter()), wanted);
    }
}
