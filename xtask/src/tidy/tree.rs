//! The text files of the repository, which are read once for all rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::scan::Scanned;

/// One text file.
pub(crate) struct SourceFile {
    /// The path relative to the repository, with `/`.
    pub(crate) path: String,
    /// The content.
    pub(crate) text: String,
    /// The code without comments and literals; empty if this is not a Rust file.
    pub(crate) scanned: Scanned,
}

impl SourceFile {
    fn new(path: String, text: String) -> Self {
        let scanned = if path.ends_with(".rs") { Scanned::new(&text) } else { Scanned::default() };
        Self { path, text, scanned }
    }

    /// Returns the file's name without directories.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// All files of the repository, by path.
pub(crate) struct Tree {
    /// The text files, sorted by path.
    pub(crate) files: Vec<SourceFile>,
    /// The paths of all other files, such as pictures.
    pub(crate) unread: BTreeSet<String>,
}

/// Endings of the files that are read: sources, manifests, documents, scripts.
const SUFFIXES: [&str; 8] = [".rs", ".toml", ".md", ".sh", ".c", ".h", "Makefile", ".ci/run"];

/// The program with which Garland is compared is kept as it is.
const FLOOR: &str = "bench/peers/floor";

impl Tree {
    /// Lists all files below `root` except built and hidden ones, and reads those that have one of
    /// these endings.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut found = Found::default();
        walk(root, root, &mut found)?;
        Ok(Self { unread: found.unread, ..Self::from_files(found.read) })
    }

    /// Returns a tree of these paths and texts.
    pub(crate) fn from_files(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut files: Vec<_> =
            files.into_iter().map(|(path, text)| SourceFile::new(path, text)).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files, unread: BTreeSet::new() }
    }

    /// Returns the Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// Returns the file at `path`.
    pub(crate) fn get(&self, path: &str) -> Option<&SourceFile> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path));
        at.ok().map(|i| &self.files[i])
    }
}

/// What a walk has found: paths, and the texts of files that are read.
#[derive(Default)]
struct Found {
    read: Vec<(String, String)>,
    unread: BTreeSet<String>,
}

fn walk(root: &Path, dir: &Path, found: &mut Found) -> Result<()> {
    let entries = fs::read_dir(dir).with_context(|| format!("failed to list {}", dir.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("failed to list {}", dir.display()))?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let hidden = name.starts_with('.') && name != ".ci" && name != ".cargo";
        let kind =
            entry.file_type().with_context(|| format!("failed to inspect {}", path.display()))?;
        if kind.is_dir() {
            if !hidden && name != "target" && !path.ends_with(FLOOR) {
                walk(root, &path, found)?;
            }
        } else if kind.is_file() {
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let relative = relative.to_string_lossy().into_owned();
            if SUFFIXES.iter().any(|suffix| relative.ends_with(suffix)) {
                let bytes = fs::read(&path)
                    .with_context(|| format!("failed to read {}", path.display()))?;
                found.read.push((relative, String::from_utf8_lossy(&bytes).into_owned()));
            } else if !hidden {
                found.unread.insert(relative);
            }
        }
    }
    Ok(())
}

/// Returns a tree of one file, for the rules' tests.
#[cfg(test)]
pub(crate) fn one(path: &str, text: &str) -> Tree {
    Tree::from_files([(path.to_owned(), text.to_owned())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sources_but_nothing_built_or_hidden() {
        let root = std::env::temp_dir().join(format!("garland-tidy-{}", std::process::id()));
        for (path, text) in [
            ("crates/core/src/lib.rs", "//! Core."),
            ("target/x.rs", "built"),
            (".git/x.rs", "hidden"),
            (".ci/run", "#!/bin/sh"),
            ("picture.png", "no text"),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tree = Tree::read(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
        let paths: Vec<_> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".ci/run", "crates/core/src/lib.rs"]);
        assert_eq!(tree.unread, BTreeSet::from(["picture.png".to_owned()]));
        assert_eq!(tree.get("crates/core/src/lib.rs").unwrap().text, "//! Core.");
    }
}
