//! Checks that the tests write no file into the source tree.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The state of the source tree according to git: changed, new and ignored files outside of
/// `target`, and the changes.
pub(super) struct Sources {
    files: BTreeSet<String>,
    changes: String,
}

impl Sources {
    /// Reads the state; `None` if the source tree is not a git clone.
    ///
    /// # Errors
    /// If git fails.
    pub(super) fn look(root: &Path) -> Result<Option<Self>> {
        if !root.join(".git").exists() {
            return Ok(None);
        }
        let files = git(root, &["status", "--porcelain", "--ignored"])?;
        let files = files.lines().filter(|line| !line.ends_with(" target/")).map(str::to_owned);
        let changes = git(root, &["diff", "HEAD"])?;
        Ok(Some(Self { files: files.collect(), changes }))
    }

    /// Compares the present state with the one before the tests.
    ///
    /// # Errors
    /// If a file is new or has changed since; the error names the files.
    pub(super) fn assert_same(before: Option<Self>, root: &Path) -> Result<()> {
        let (Some(before), Some(after)) = (before, Self::look(root)?) else {
            return Ok(());
        };
        let new: Vec<_> = after.files.difference(&before.files).map(String::as_str).collect();
        if !new.is_empty() {
            bail!(
                "the tests, or another process, wrote these files into the source tree:\n  {}",
                new.join("\n  ")
            );
        }
        ensure!(
            after.changes == before.changes,
            "files with uncommitted changes were changed during the tests"
        );
        Ok(())
    }
}

fn git(root: &Path, words: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    // In a container, the clone may belong to another user, which git refuses without this option.
    command.args(["-c", "safe.directory=*"]).args(words).current_dir(root);
    let output = command.output().context("failed to start git")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`git {}` failed: {}", words.join(" "), said.trim());
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
