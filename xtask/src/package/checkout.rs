//! A directory with the sources, and what a build in it must not depend on: the names of
//! directories.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::staging::said;
use crate::fabric;

/// The sources of a build.
pub(crate) struct Checkout {
    /// The directory of the sources.
    pub(super) root: PathBuf,
    /// The directory that cargo builds in.
    pub(super) target: PathBuf,
    /// The time of the last commit in seconds since 1970: the date of all that is built.
    pub(super) time: String,
}

impl Checkout {
    /// Returns the checkout at `root`.
    ///
    /// # Errors
    /// If the time of the sources is unknown.
    pub(crate) fn at(root: &Path) -> Result<Self> {
        Ok(Self { root: root.to_owned(), target: fabric::target(root), time: time(root)? })
    }

    /// Copies the sources, that is, all files that git knows or does not ignore, to the new
    /// directory `folder`.
    ///
    /// # Errors
    /// If `folder` exists, or git or a copy fails.
    pub(crate) fn copied_to(&self, folder: &Path) -> Result<Self> {
        fs::create_dir(folder).with_context(|| format!("failed to create {}", folder.display()))?;
        let mut git = Command::new("git");
        git.current_dir(&self.root);
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let list = said(&mut git)?;
        let list = String::from_utf8(list).context("a file's name is not UTF-8")?;
        for name in list.split_terminator('\0') {
            let from = self.root.join(name);
            let to = folder.join(name);
            // A file that was removed since the last commit.
            if !from.exists() {
                continue;
            }
            let above = to.parent().unwrap_or(folder);
            fs::create_dir_all(above)
                .and_then(|()| fs::copy(&from, &to))
                .with_context(|| format!("failed to copy {}", from.display()))?;
        }
        let target = folder.join("target");
        Ok(Self { root: folder.to_owned(), target, time: self.time.clone() })
    }

    /// Returns the flags for rustc: those of `.cargo/config.toml`, which this list replaces, and
    /// those by which the program has neutral names of directories.
    ///
    /// # Errors
    /// If the configuration cannot be read.
    pub(super) fn flags(&self) -> Result<Vec<String>> {
        let path = self.root.join(".cargo/config.toml");
        let config = fs::read_to_string(&path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        let config: toml::Table = config.parse().context("failed to parse .cargo/config.toml")?;
        let list = config.get("target").and_then(|all| all.get(r#"cfg(target_os = "linux")"#));
        let list = list.and_then(|linux| linux.get("rustflags")?.as_array());
        let list = list.context(".cargo/config.toml has no rustflags for Linux")?;
        let mut flags: Vec<String> =
            list.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect();
        for (folder, name) in self.names()? {
            flags.push(format!("--remap-path-prefix={}={name}", folder.display()));
        }
        Ok(flags)
    }

    /// Checks that `binary` has no name of a directory of this machine.
    ///
    /// # Errors
    /// If it has one.
    pub(super) fn assert_neutral(&self, binary: &Path) -> Result<()> {
        let bytes =
            fs::read(binary).with_context(|| format!("failed to read {}", binary.display()))?;
        for (folder, _) in self.names()? {
            let name = folder.as_os_str().as_encoded_bytes();
            ensure!(
                !contains(&bytes, name),
                "{} contains a path of this machine: {}",
                binary.display(),
                folder.display()
            );
        }
        Ok(())
    }

    /// Returns the directories whose names a compiler may write into the program, each with the
    /// neutral name to write instead; a later one wins.
    fn names(&self) -> Result<Vec<(PathBuf, String)>> {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        let home = home.context("the directory of cargo is unknown: set CARGO_HOME")?;
        let sysroot = said(Command::new("rustc").args(["--print", "sysroot"]))?;
        let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot).trim());
        let mut names = vec![
            (home.clone(), "/cargo".to_owned()),
            (sysroot, "/rust".to_owned()),
            (self.root.clone(), "/garland".to_owned()),
            (self.target.clone(), "/target".to_owned()),
        ];
        // The directory of a registry has a name that depends on cargo's version and configuration.
        for registry in fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten() {
            names.push((registry.path(), "/crates".to_owned()));
        }
        Ok(names)
    }
}

/// Returns the time of the last commit in seconds since 1970, so that equal sources make equal
/// packages.
fn time(root: &Path) -> Result<String> {
    if let Ok(said) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(said);
    }
    let last = said(Command::new("git").current_dir(root).args(["log", "-1", "--format=%ct"]))
        .context("failed to read the date of the last commit; outside of a git repository, set SOURCE_DATE_EPOCH")?;
    Ok(String::from_utf8_lossy(&last).trim().to_owned())
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    let Some((first, rest)) = wanted.split_first() else { return false };
    let mut left = bytes;
    while let Some(at) = left.iter().position(|byte| byte == first) {
        left = &left[at + 1..];
        if left.starts_with(rest) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_wherever_it_is() {
        assert!(contains(b"//home/a", b"/home"));
        assert!(contains(b"/ho/hom/home", b"/home"));
        assert!(!contains(b"/hom", b"/home"));
        assert!(!contains(b"", b"/home"));
    }

    #[test]
    fn the_flags_are_those_of_the_configuration_and_neutral_names() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let checkout = Checkout { root: root.to_owned(), target: "/t".into(), time: String::new() };
        let flags = checkout.flags().unwrap();
        assert!(flags.contains(&"-Crelocation-model=pie".to_owned()), "{flags:?}");
        let own = format!("--remap-path-prefix={}=/garland", root.display());
        assert!(flags.contains(&own), "{flags:?}");
        assert!(flags.contains(&"--remap-path-prefix=/t=/target".to_owned()), "{flags:?}");
    }
}
