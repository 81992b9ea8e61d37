//! A folder that is laid out as the root of those who install a package.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The folder.
pub(super) struct Staging(pub(super) PathBuf);

impl Staging {
    /// An empty one, whatever was there.
    pub(super) fn new(folder: PathBuf) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
        }
        Ok(Self(folder))
    }

    /// Puts a file there.
    pub(super) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> Result<PathBuf> {
        let path = self.folder(path)?;
        fs::write(&path, bytes).with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    /// Puts a file there that is packed, as Debian wants it: the same bytes whenever that is done.
    pub(super) fn put_packed(&self, path: &str, bytes: impl AsRef<[u8]>) -> Result<()> {
        let path = self.put(path, bytes)?;
        said(Command::new("gzip").arg("-9nf").arg(path)).map(drop)
    }

    /// Where a file of this name belongs; its folder is made.
    pub(super) fn folder(&self, path: &str) -> Result<PathBuf> {
        let path = self.0.join(path);
        let above = path.parent().unwrap_or(&path);
        fs::create_dir_all(above).with_context(|| format!("make {}", above.display()))?;
        Ok(path)
    }

    /// All files, by their names below the folder, with the permissions that installed ones have;
    /// those in `bin` can be run.
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
                let is_program = folder.ends_with("bin");
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
    let changing = || format!("change the mode of {}", path.display());
    fs::set_permissions(path, Permissions::from_mode(mode)).with_context(changing)
}

/// What a program says, if it ends well.
///
/// # Errors
/// When it can't be started, or fails.
pub(super) fn said(command: &mut Command) -> Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("start `{name}`"))?;
    if !output.status.success() {
        bail!("`{name}` failed: {}", output.status);
    }
    Ok(output.stdout)
}
