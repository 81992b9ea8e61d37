//! `SHA256SUMS`: the checksums of the files that users take away, in the format of sha256sum(1).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::staging::said;

/// Writes `SHA256SUMS` beside `files`, which are in one directory, and returns its path.
///
/// # Errors
/// If a file cannot be read or written.
pub(super) fn put(files: &[&Path]) -> Result<PathBuf> {
    let folder = files.first().and_then(|file| file.parent()).context("no file to check")?;
    let names = files.iter().filter_map(|file| file.file_name());
    let sums = said(Command::new("sha256sum").args(names).current_dir(folder))?;
    let path = folder.join("SHA256SUMS");
    fs::write(&path, sums).with_context(|| format!("failed to write {}", path.display()))?;
    Ok(path)
}

/// Returns the SHA-256 digest of a file in hexadecimal.
///
/// # Errors
/// If it cannot be read.
pub(super) fn of(file: &Path) -> Result<String> {
    let sum = said(Command::new("sha256sum").arg("--").arg(file))?;
    let sum = String::from_utf8_lossy(&sum);
    // A backslash marks a name with unusual characters.
    let sum = sum.trim_start_matches('\\').split(' ').next().unwrap_or_default();
    Ok(sum.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha256sum_accepts_the_sums_and_notices_a_change() {
        let folder = std::env::temp_dir().join(format!("garland-sums-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let files = ["garland", "garland.cdx.json"].map(|name| folder.join(name));
        files.iter().for_each(|file| fs::write(file, file.as_os_str().as_encoded_bytes()).unwrap());
        let sums = put(&[&files[0], &files[1]]).unwrap();
        let check = || {
            let mut check = Command::new("sha256sum");
            check.args(["--check", "--strict", "--quiet"]).arg(&sums).current_dir(&folder);
            check.output().unwrap().status.success()
        };
        assert!(check());
        assert_eq!(fs::read_to_string(&sums).unwrap().lines().count(), 2);
        fs::write(&files[0], "other").unwrap();
        assert!(!check());
        fs::write(&files[0], "").unwrap();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of(&files[0]).unwrap(), empty);
        fs::remove_dir_all(folder).unwrap();
    }
}
