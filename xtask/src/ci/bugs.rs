//! Puts bugs back that were fixed, one at a time, and demands that the simulator finds each of them
//! by its seed. This shows that the chaos tests would find such a bug if it were written again.
//!
//! A bug is a patch in [`FOLDER`]. Lines before the patch say what it was (`Bug:`), and which chaos
//! test (`Test:`) finds it with which seed (`Seed:`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::package::Checkout;

/// The directory of the patches.
const FOLDER: &str = "crates/simulation/bugs";

/// A bug that was fixed.
struct Bug {
    name: String,
    /// The patch that puts the bug back.
    patch: PathBuf,
    what: String,
    test: String,
    seed: u64,
}

/// Puts each bug back in a copy of the sources, and runs its chaos test with its seed. Prints a
/// line for each: its name, its seed, and what the simulator found.
///
/// # Errors
/// If a patch cannot be applied, the simulator does not find the bug, or a test fails without any
/// bug.
pub(crate) fn bugs(root: &Path) -> Result<()> {
    let bugs = Bug::all(root)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let target = std::path::absolute(target).context("failed to find the target directory")?;
    let copy = target.join("bugs");
    if copy.exists() {
        fs::remove_dir_all(&copy).with_context(|| format!("failed to clear {}", copy.display()))?;
    }
    Checkout::at(root)?.copied_to(&copy)?;
    for bug in &bugs {
        if let Some(said) = bug.run(&copy, &target)? {
            bail!("without any bug, `{}` fails with seed {}: {said}", bug.test, bug.seed);
        }
    }
    for bug in &bugs {
        bug.apply(&copy, &[])?;
        let found = bug.run(&copy, &target);
        bug.apply(&copy, &["--reverse"])?;
        let Some(said) = found? else {
            bail!(
                "{}: the simulator does not find it with seed {}: {}",
                bug.name,
                bug.seed,
                bug.what
            );
        };
        println!("{} (seed {}): {}\n  found: {said}", bug.name, bug.seed, bug.what);
    }
    fs::remove_dir_all(&copy).with_context(|| format!("failed to remove {}", copy.display()))
}

impl Bug {
    /// Reads all bugs, ordered by name.
    fn all(root: &Path) -> Result<Vec<Self>> {
        let entries =
            fs::read_dir(root.join(FOLDER)).with_context(|| format!("failed to list {FOLDER}"))?;
        let patches = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        let mut bugs = patches.into_iter().map(Self::read).collect::<Result<Vec<_>>>()?;
        bugs.sort_by(|one, two| one.name.cmp(&two.name));
        Ok(bugs)
    }

    fn read(patch: PathBuf) -> Result<Self> {
        let text = fs::read_to_string(&patch)
            .with_context(|| format!("failed to read {}", patch.display()))?;
        let field = |name: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            found.with_context(|| format!("{}: the line `{name}:` is missing", patch.display()))
        };
        let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let seed = field("Seed")?.parse().context("the seed is not a number")?;
        let what = field("Bug")?.to_owned();
        let test = field("Test")?.to_owned();
        Ok(Self { name, what, test, seed, patch })
    }

    /// Applies the patch to the sources in `folder`.
    fn apply(&self, folder: &Path, more: &[&str]) -> Result<()> {
        // In a directory that git ignores, `git apply` would skip all files if it found the
        // repository.
        let above = folder.parent().unwrap_or(folder);
        let mut git = Command::new("git");
        git.current_dir(folder).env("GIT_CEILING_DIRECTORIES", above).arg("apply").args(more);
        let output = git.arg(&self.patch).output().context("failed to start git")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "{} does not apply: {}",
            self.patch.display(),
            said.trim()
        );
        Ok(())
    }

    /// Runs the bug's test on the sources in `folder`. Returns what the simulator found; `None` if
    /// the test passed.
    ///
    /// # Errors
    /// If the test fails for any other reason.
    fn run(&self, folder: &Path, target: &Path) -> Result<Option<String>> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([
            "test",
            "--quiet",
            "--locked",
            "--package",
            "garland-simulation",
            "--test",
            "chaos",
        ]);
        cargo.args(["--", "--exact", &self.test]).current_dir(folder);
        cargo.env("CARGO_TARGET_DIR", target).env("GARLAND_SIM_SEEDS", format!("{}+1", self.seed));
        let output = cargo.stdin(Stdio::null()).output().context("failed to start cargo")?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        if output.status.success() {
            ensure!(said.contains("1 passed"), "there is no chaos test `{}`", self.test);
            return Ok(None);
        }
        let found = judgement(&said, self.seed).with_context(|| {
            format!("{}: the test failed, but not by the simulator's judgement:\n{said}", self.name)
        })?;
        Ok(Some(found.to_owned()))
    }
}

/// Returns what the judge of the chaos tests said of a seed, without the node's details and the way
/// to repeat it.
fn judgement(said: &str, seed: u64) -> Option<&str> {
    let start = format!("seed {seed}: ");
    let line = said.lines().find_map(|line| line.strip_prefix(&start))?;
    let end = line.find(": NodeRun").or_else(|| line.find(" (GARLAND_SIM_SEEDS"));
    Some(&line[..end.unwrap_or(line.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bug_can_be_put_back_into_the_present_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let bugs = Bug::all(root).unwrap();
        assert!(bugs.len() >= 3, "{} bugs", bugs.len());
        for bug in bugs {
            bug.apply(root, &["--check"]).unwrap();
            let tests = fs::read_to_string(root.join("crates/simulation/tests/chaos/main.rs"));
            assert!(tests.unwrap().contains(&format!("fn {}()", bug.test)), "{}", bug.test);
        }
    }

    #[test]
    fn only_the_words_of_the_judge_count_as_found() {
        let said =
            "panicked at x.rs:3:\nseed 7: dead node 2 has no verdict: NodeRun { a: 1 } (GARLAND..";
        assert_eq!(judgement(said, 7), Some("dead node 2 has no verdict"));
        let stuck = judgement("seed 8: the run is stuck (GARLAND_SIM_SEEDS=8+1)", 8);
        assert_eq!(stuck, Some("the run is stuck"));
        assert_eq!(judgement("error[E0425]: cannot find value `seed`", 7), None);
    }
}
