//! Names of files with wildcards, as a shell expands them.

use super::pattern::{Token, fits, tokenize};

/// One component of a path in which `*`, `?` and sets such as `[a-z]`, `[!a-z]` and `[[:digit:]]`
/// may stand for other bytes. A name that begins with a dot is matched only by a dot. If the
/// component has a wildcard, a backslash quotes the next byte; otherwise it is itself, and so is a
/// bracket that is not closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameGlob {
    tokens: Vec<Token>,
}

impl NameGlob {
    /// Parses a component of a path. All bytes have a meaning.
    #[must_use]
    pub fn parse(component: &[u8]) -> Self {
        let parsed = tokenize(component).or_else(|_| {
            if component.iter().any(|byte| b"*?".contains(byte)) {
                tokenize(&with_quoted_brackets(component))
            } else {
                Ok(component.iter().map(|byte| Token::Byte(*byte)).collect())
            }
        });
        Self { tokens: parsed.unwrap_or_default() }
    }

    /// Returns the only name that the component can stand for; `None` if it has wildcards.
    #[must_use]
    pub fn only_name(&self) -> Option<Vec<u8>> {
        let byte = |token: &Token| match token {
            Token::Byte(byte) => Some(*byte),
            _ => None,
        };
        self.tokens.iter().map(byte).collect()
    }

    /// Returns whether the component stands for `name`.
    #[must_use]
    pub fn matches(&self, name: &[u8]) -> bool {
        let is_hidden = name.starts_with(b".");
        let allows_hidden = self.tokens.first() == Some(&Token::Byte(b'.'));
        (!is_hidden || allows_hidden) && fits(&self.tokens, name)
    }
}

/// Quotes each bracket that is not quoted.
fn with_quoted_brackets(component: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(component.len() + 1);
    let mut is_quoted = false;
    for &byte in component {
        if byte == b'[' && !is_quoted {
            quoted.push(b'\\');
        }
        quoted.push(byte);
        is_quoted = byte == b'\\' && !is_quoted;
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, name: &str) -> bool {
        NameGlob::parse(glob.as_bytes()).matches(name.as_bytes())
    }

    #[test]
    fn names_are_matched_as_a_shell_does() {
        let meant = [
            ("*", "a"),
            ("*.log", "a\n.log"),
            ("**", "a"),
            ("?[0-9]", "x7"),
            ("[!a]*", "b"),
            ("[[:upper:]]*", "README"),
            (".*", ".bashrc"),
            ("\\*[ab]", "*a"),
            ("\\.*", ".bashrc"),
            ("a[b*", "a[bc"),
            ("a\\[b[*", "a[b[c"),
            ("a[b", "a[b"),
            ("a\\b", "a\\b"),
            ("[[:uper:]", "[[:uper:]"),
        ];
        for (glob, name) in meant {
            assert!(matches(glob, name), "{glob} means {name}");
        }
        let not = [
            ("*", ".bashrc"),
            ("?bashrc", ".bashrc"),
            ("[.]bashrc", ".bashrc"),
            ("[!a]bashrc", ".bashrc"),
            ("*.log", "a.logs"),
            ("*", "a/b"),
            ("\\*", "a"),
            ("", "a"),
        ];
        for (glob, name) in not {
            assert!(!matches(glob, name), "{glob} does not mean {name}");
        }
    }

    #[test]
    fn what_has_no_wildcard_stands_for_one_name() {
        let only = |glob: &str| NameGlob::parse(glob.as_bytes()).only_name();
        assert_eq!(only("a\\*b"), Some(b"a*b".to_vec()));
        assert_eq!(only("a\\b"), Some(b"a\\b".to_vec()));
        assert_eq!(only("a[b\\c"), Some(b"a[b\\c".to_vec()));
        assert_eq!(only("[a]"), None, "a set of one byte is not an escape");
        assert_eq!(only("a?"), None);
    }
}
