//! The entries of a directory that are to be copied, if not all of it is.

use std::collections::BTreeMap;

/// Chosen entries of a directory, by name. An entry without any below it is copied with everything
/// in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    below: BTreeMap<Vec<u8>, Self>,
}

impl Chosen {
    /// Adds the entry with a relative `path`. Slashes at both ends, and the parts `.`, mean
    /// nothing. Returns false if the path has a part `..`, or chooses the whole directory.
    pub fn add(&mut self, path: &[u8]) -> bool {
        let is_part = |part: &&[u8]| !matches!(*part, b"" | b".");
        let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').filter(is_part).collect();
        if parts.is_empty() || parts.contains(&&b".."[..]) {
            return false;
        }
        let mut folder = self;
        for (at, part) in parts.iter().enumerate() {
            let is_whole = folder.below.get(*part).is_some_and(|own| own.below.is_empty());
            folder = folder.below.entry(part.to_vec()).or_default();
            if is_whole {
                return true;
            }
            if at + 1 == parts.len() {
                folder.below.clear();
            }
        }
        true
    }

    /// Returns the names of the chosen entries, sorted.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.below.keys().map(Vec::as_slice)
    }

    /// Returns the chosen entries of the directory `name`; `None` if it is copied with everything
    /// in it.
    pub fn inside(&self, name: &[u8]) -> Option<&Self> {
        self.below.get(name).filter(|own| !own.below.is_empty())
    }

    /// Returns the paths of all chosen entries, sorted. They are relative to the directory.
    pub fn paths(&self) -> Vec<Vec<u8>> {
        let mut paths = Vec::new();
        let mut folders = vec![(Vec::new(), self)];
        while let Some((above, folder)) = folders.pop() {
            for (name, own) in &folder.below {
                let path = [&above[..], name].concat();
                if own.below.is_empty() {
                    paths.push(path);
                } else {
                    folders.push(([&path[..], b"/"].concat(), own));
                }
            }
        }
        paths.sort_unstable();
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[&str]) -> Chosen {
        let mut chosen = Chosen::default();
        paths.iter().for_each(|path| assert!(chosen.add(path.as_bytes()), "{path}"));
        chosen
    }

    #[test]
    fn entries_are_found_below_their_directories() {
        let chosen = of(&["d/e/f", "/d/./a/", "b", "d//e/g"]);
        assert!(chosen.names().eq([&b"b"[..], b"d"]));
        assert!(chosen.inside(b"b").is_none() && chosen.inside(b"c").is_none());
        let folder = chosen.inside(b"d").unwrap();
        assert!(folder.names().eq([&b"a"[..], b"e"]));
        assert!(folder.inside(b"e").unwrap().names().eq([&b"f"[..], b"g"]));
        assert_eq!(chosen.paths(), [&b"b"[..], b"d/a", b"d/e/f", b"d/e/g"]);
        assert_eq!(folder.paths(), [&b"a"[..], b"e/f", b"e/g"]);
    }

    #[test]
    fn a_directory_that_is_chosen_is_copied_whole_in_any_order() {
        assert_eq!(of(&["d/e", "d"]), of(&["d"]));
        assert_eq!(of(&["d", "d/e/f"]), of(&["d"]));
        assert_eq!(of(&["d", "d"]), of(&["d"]));
    }

    #[test]
    fn paths_that_leave_the_directory_are_refused() {
        for path in ["..", "a/../b", "", "/", "./"] {
            assert!(!Chosen::default().add(path.as_bytes()), "{path}");
        }
    }
}
