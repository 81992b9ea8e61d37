//! Paths of others' choice in results.

use std::fmt;

use garland_core::printable;
use serde::{Deserialize, Serialize};

/// A path as fields of a JSON object: `path`, and `path_bytes` if it is no text. Printed, different
/// paths never look alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PathResult {
    path: String,
    /// The path in hexadecimal, if it is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
}

impl PathResult {
    /// Creates the fields for a path.
    pub fn new(path: &[u8]) -> Self {
        Self { path: printable::json_name(path), path_bytes: printable::name_bytes(path) }
    }
}

/// Prints the path on one line.
impl fmt::Display for PathResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self.path_bytes {
            // It is escaped already; a stranger's file may say anything.
            Some(_) => printable::line(&self.path),
            None => printable::name(self.path.as_bytes()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_differ_differ_in_json_and_on_the_screen() {
        let paths: [&[u8]; 5] =
            [b"/a\xff", b"/a\xfe", "/a\u{fffd}".as_bytes(), b"/a\\xff", b"/a\n"];
        let told: Vec<[String; 2]> = paths
            .iter()
            .map(|path| {
                let path = PathResult::new(path);
                let json = serde_json::to_string(&path).unwrap();
                assert_eq!(serde_json::from_str::<PathResult>(&json).unwrap(), path);
                [json, path.to_string()]
            })
            .collect();
        for (at, one) in told.iter().enumerate() {
            let is_same = |other: &[String; 2]| one[0] == other[0] || one[1] == other[1];
            assert!(!told[at + 1..].iter().any(is_same), "{one:?}");
        }
        assert_eq!(told[0], [r#"{"path":"/a\\xff","path_bytes":"2f61ff"}"#, r"/a\xff"]);
        assert_eq!(told[3], [r#"{"path":"/a\\xff"}"#, r"/a\\xff"]);
    }
}
