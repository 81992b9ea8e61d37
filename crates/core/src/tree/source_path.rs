//! Paths of sources on nodes, which may be patterns, and the names that they allow at the
//! destination.

use serde::{Deserialize, Serialize};

use super::glob::NameGlob;

/// The path of a source on a node (raw bytes).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourcePath {
    /// The path itself.
    Literal(Vec<u8>),
    /// Each component may have wildcards ([`NameGlob`]). If nothing matches, it stands for itself.
    Pattern(Vec<u8>),
}

/// A name that a source may have at the destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TopName {
    /// This one.
    Name(Vec<u8>),
    /// Each that this component stands for ([`NameGlob`]).
    Pattern(Vec<u8>),
}

impl SourcePath {
    /// Parses a path as the user wrote it: a pattern if one of its components has wildcards. What
    /// is quoted only is a literal path.
    #[must_use]
    pub fn parse(path: &[u8]) -> Self {
        let components = path.split(|byte| *byte == b'/');
        let names: Option<Vec<Vec<u8>>> =
            components.map(|component| NameGlob::parse(component).only_name()).collect();
        match names {
            Some(names) => Self::Literal(names.join(&b'/')),
            None => Self::Pattern(path.to_vec()),
        }
    }

    /// Returns the bytes of the path or pattern.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Literal(path) | Self::Pattern(path) => path,
        }
    }

    /// Returns the last component; `None` if the path ends in a slash, or means a directory in
    /// another way than by its name (`.`, `..`).
    #[must_use]
    pub fn last_name(&self) -> Option<&[u8]> {
        let last = self.bytes().rsplit(|byte| *byte == b'/').next();
        last.filter(|name| ![&b""[..], b".", b".."].contains(name))
    }

    /// Returns the names that the source may have at the destination; `None` if it may bring any,
    /// as the contents of a directory do.
    #[must_use]
    pub fn top_names(&self) -> Option<Vec<TopName>> {
        let name = self.last_name()?.to_vec();
        Some(match self {
            Self::Literal(_) => vec![TopName::Name(name)],
            Self::Pattern(_) => vec![TopName::Pattern(name.clone()), TopName::Name(name)],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_pattern_if_a_component_has_wildcards() {
        let literal = |path: &str| SourcePath::Literal(path.as_bytes().to_vec());
        let parsed = |path: &str| SourcePath::parse(path.as_bytes());
        for path in ["/log/*.log", "/l?g/x", "[ab]"] {
            assert_eq!(parsed(path), SourcePath::Pattern(path.as_bytes().to_vec()));
        }
        for path in ["/log/x", "x/", "/a\\b/c", "/", "a[b", "//a"] {
            assert_eq!(parsed(path), literal(path));
        }
        assert_eq!(parsed("/log/a\\*b/\\[c]"), literal("/log/a*b/[c]"));
    }

    #[test]
    fn a_source_brings_its_own_name_or_what_is_in_it() {
        let name = |path: &str| {
            let names = SourcePath::parse(path.as_bytes()).top_names();
            names.map(|names| names.len())
        };
        assert_eq!((name("/log/x"), name("/log/*")), (Some(1), Some(2)));
        for content in ["/log/", "/log/.", "..", "/"] {
            assert_eq!(name(content), None, "{content}");
        }
    }
}
