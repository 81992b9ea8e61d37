//! The tests write nothing where the sources are.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// What git said of the sources: files that are changed, new, or ignored outside of `target`, and how
/// they are changed.
pub(super) struct Sources {
    files: BTreeSet<String>,
    changes: String,
}

impl Sources {
    /// Asks git; `None` where the sources are no clone.
    ///
    /// # Errors
    /// When git can't tell.
    pub(super) fn look(root: &Path) -> Result<Option<Self>> {
        if !root.join(".git").exists() {
            return Ok(None);
        }
        let files = git(root, &["status", "--porcelain", "--ignored"])?;
        let files = files.lines().filter(|line| !line.ends_with(" target/")).map(str::to_owned);
        let changes = git(root, &["diff", "HEAD"])?;
        Ok(Some(Self { files: files.collect(), changes }))
    }

    /// Looks again.
    ///
    /// # Errors
    /// When a file is new or has changed since; those that weren't before are named.
    pub(super) fn assert_same(before: Option<Self>, root: &Path) -> Result<()> {
        let (Some(before), Some(after)) = (before, Self::look(root)?) else {
            return Ok(());
        };
        let new: Vec<_> = after.files.difference(&before.files).map(String::as_str).collect();
        if !new.is_empty() {
            bail!(
                "the tests wrote among the sources (or somebody did meanwhile):\n  {}",
                new.join("\n  ")
            );
        }
        ensure!(
            after.changes == before.changes,
            "changed files have changed again during the tests"
        );
        Ok(())
    }
}

fn git(root: &Path, words: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    // The clone may be another user's, as where the tests run in a container.
    command.args(["-c", "safe.directory=*"]).args(words).current_dir(root);
    let output = command.output().context("start git")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {}: {}", words.join(" "), said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn new_and_changed_files_are_named() {
        let clone = std::env::temp_dir().join(format!("sources-{}", std::process::id()));
        fs::create_dir(&clone).unwrap();
        assert!(Sources::look(&clone).unwrap().is_none());
        for words in [
            &["init", "--quiet"][..],
            &[
                "-c",
                "user.name=n",
                "-c",
                "user.email=e",
                "commit",
                "--quiet",
                "--allow-empty",
                "-mm",
            ],
        ] {
            git(&clone, words).unwrap();
        }
        fs::create_dir(clone.join("target")).unwrap();
        for ignored in ["target/x", "old"] {
            fs::write(clone.join(ignored), "").unwrap();
        }
        fs::write(clone.join(".git/info/exclude"), "/target\nignored\n").unwrap();
        let look = || Sources::look(&clone).unwrap();
        Sources::assert_same(look(), &clone).unwrap();
        for name in ["new", "ignored"] {
            let before = look();
            fs::write(clone.join(name), "").unwrap();
            let error = Sources::assert_same(before, &clone).unwrap_err().to_string();
            assert!(error.contains(name) && !error.contains("old"), "{error}");
        }
        git(&clone, &["add", "new"]).unwrap();
        let before = look();
        fs::write(clone.join("new"), "other").unwrap();
        assert!(Sources::assert_same(before, &clone).is_err());
        fs::remove_dir_all(&clone).unwrap();
    }
}
