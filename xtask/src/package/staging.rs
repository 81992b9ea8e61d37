//! A staging directory: the files of a package, laid out as below the root of the target system.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The licences of all that is linked into the program.
pub(super) const COPYRIGHT: &str = include_str!("../../../packaging/copyright");

/// A staging directory, by its path.
pub(super) struct Staging(pub(super) PathBuf);

impl Staging {
    /// Creates an empty staging directory; removes an earlier one.
    pub(super) fn new(folder: PathBuf) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("failed to empty {}", folder.display()))?;
        }
        Ok(Self(folder))
    }

    /// Writes a file at `path` in the staging directory, and returns its full path.
    pub(super) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> Result<PathBuf> {
        let path = self.folder(path)?;
        fs::write(&path, bytes).with_context(|| format!("failed to write {}", path.display()))?;
        Ok(path)
    }

    /// Writes a file compressed by gzip as Debian requires: without a time stamp, so equal input
    /// gives equal bytes.
    pub(super) fn put_packed(&self, path: &str, bytes: impl AsRef<[u8]>) -> Result<()> {
        let path = self.put(path, bytes)?;
        said(Command::new("gzip").arg("-9nf").arg(path)).map(drop)
    }

    /// Returns the full path of a file in the staging directory; creates the parent directory.
    pub(super) fn folder(&self, path: &str) -> Result<PathBuf> {
        let path = self.0.join(path);
        let above = path.parent().unwrap_or(&path);
        fs::create_dir_all(above)
            .with_context(|| format!("failed to create {}", above.display()))?;
        Ok(path)
    }

    /// Sets the permissions that installed files have (files in `bin` and `scripts` are
    /// executable), and returns the paths of all files relative to the staging directory.
    pub(super) fn settle(&self) -> Result<Vec<String>> {
        let mut files = Vec::new();
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            let listing = || format!("list {}", folder.display());
            for entry in fs::read_dir(&folder).with_context(listing)? {
                let path = entry.with_context(listing)?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let is_program = folder.ends_with("bin") || folder.ends_with("scripts");
                permit(&path, if is_program { 0o755 } else { 0o644 })?;
                let name = path.strip_prefix(&self.0).unwrap_or(&path);
                files.push(name.to_string_lossy().into_owned());
            }
            permit(&folder, 0o755)?;
        }
        files.sort();
        Ok(files)
    }
}

fn permit(path: &Path, mode: u32) -> Result<()> {
    let changing = || format!("failed to change the mode of {}", path.display());
    fs::set_permissions(path, Permissions::from_mode(mode)).with_context(changing)
}

/// Runs a program, and returns its standard output.
///
/// # Errors
/// If the program cannot be started, or fails.
pub(super) fn said(command: &mut Command) -> Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("failed to start `{name}`"))?;
    if !output.status.success() {
        bail!("`{name}` failed: {}", output.status);
    }
    Ok(output.stdout)
}

/// Returns `time`, in seconds since 1970, as RFC 3339 writes it.
pub(super) fn date(time: &str) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["-u", "-d", &format!("@{time}"), "+%Y-%m-%dT%H:%M:%SZ"]);
    Ok(String::from_utf8_lossy(&said(&mut date)?).trim().to_owned())
}
