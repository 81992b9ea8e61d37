//! The state directory. It has mode 0700 and a subdirectory for each host, since several hosts may
//! share a home directory. Owner and mode are checked when the directory is opened.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use garland_dataplane::Records;
use garland_protocol::{KeyPair, Secret};
use garland_sys::process;

use garland_terminal::failure::{Failure, OrFailure};

/// The state directory of this host.
#[derive(Clone, Debug)]
pub struct Places {
    state: PathBuf,
}

impl Places {
    /// Opens the state directory of this host below `$GARLAND_STATE`, or else below
    /// `$XDG_STATE_HOME/garland`, or else below `~/.local/state/garland`.
    pub fn open() -> Result<Self, Failure> {
        let var =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = var("GARLAND_STATE")
            .or_else(|| Some(var("XDG_STATE_HOME")?.join("garland")))
            .or_else(|| Some(var("HOME")?.join(".local/state/garland")));
        let base = base.ok_or_else(|| {
            Failure::usage("the state directory is unknown: neither HOME nor GARLAND_STATE is set")
                .hint("set HOME or GARLAND_STATE")
        })?;
        Self::at(&std::path::absolute(&base).unwrap_or(base))
    }

    /// Opens the state directory of this host below `base`; both directories are created if
    /// missing. Both must belong to this user and must not be writable by others. The host's
    /// directory must not be readable by others either.
    pub fn at(base: &Path) -> Result<Self, Failure> {
        own_folder(base, 0o022)?;
        let state = base.join(process::host_name().replace('/', "_"));
        own_folder(&state, 0o077)?;
        Ok(Self { state })
    }

    /// Returns the state directory of all hosts.
    #[must_use]
    pub fn base(&self) -> &Path {
        self.state.parent().unwrap_or(&self.state)
    }

    /// Returns the path of a subdirectory of the state directory; created if missing.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.state.join(name);
        own_folder(&path, 0o077)?;
        Ok(path)
    }

    /// Returns the records about files that were read or written on this machine. If their
    /// directory cannot be used, they are empty and nothing is recorded.
    pub fn records(&self) -> Records {
        self.folder("known").map_or_else(|_| Records::default(), Records::at)
    }

    /// Returns the file of the cluster's key, which a standing agent of this machine keeps.
    #[must_use]
    pub fn cluster_key(&self) -> PathBuf {
        self.state.join("cluster.key")
    }

    /// Returns the key pair by which this user's commands authenticate to agents; generated at
    /// first use.
    pub fn controller_keys(&self) -> Result<KeyPair, Failure> {
        self.keys("controller.key")
    }

    fn keys(&self, name: &str) -> Result<KeyPair, Failure> {
        let path = self.state.join(name);
        let read = || -> Option<KeyPair> {
            let bytes = fs::read(&path).ok()?;
            let (private, public) = bytes.split_at_checked(32)?;
            let private = Secret(private.try_into().ok()?);
            Some(KeyPair { private, public: public.try_into().ok()? })
        };
        if let Some(keys) = read() {
            return Ok(keys);
        }
        let keys = KeyPair::generate();
        let bytes = [keys.private.0, keys.public].concat();
        write_private(&path, &bytes).or_nothing(format!("cannot write {}", path.display()))?;
        // Another process may have written its key pair at the same time: use the pair in the file.
        Ok(read().unwrap_or(keys))
    }
}

/// Writes a file with mode 0600: first under a temporary name, which is then renamed to `path`.
pub fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension(format!("tmp{}", std::process::id()));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    drop(file);
    fs::rename(temporary, path)
}

/// Creates the directory `path` if missing. Checks that it belongs to this user and that its mode
/// has no bit of `forbidden`.
fn own_folder(path: &Path, forbidden: u32) -> Result<(), Failure> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .or_nothing(format!("cannot create {}", path.display()))?;
    let stat = fs::symlink_metadata(path).or_nothing(format!("cannot stat {}", path.display()))?;
    if !stat.is_dir() || stat.uid() != process::user_id() {
        return Err(Failure::usage(format!(
            "the state directory {} belongs to another user",
            path.display()
        ))
        .hint("set GARLAND_STATE to a directory that belongs to you"));
    }
    if stat.mode() & forbidden != 0 {
        let mode = stat.mode() & 0o7777;
        let may = if stat.mode() & 0o022 == 0 { "read" } else { "write to" };
        return Err(Failure::usage(format!(
            "other users may {may} the state directory {}: it has mode {mode:04o}",
            path.display()
        ))
        .hint(format!(
            "check that its files are yours, then run: chmod go-rwx {}",
            path.display()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is this user's");
    }

    #[test]
    fn a_state_folder_is_refused_that_others_may_write_to() {
        let base = std::env::temp_dir().join(format!("garland-places-{}", std::process::id()));
        let places = Places::at(&base).expect("a new directory is private");
        let host = base.join(process::host_name().replace('/', "_"));
        let runs = places.folder("runs").expect("a new directory is private");
        for (path, mode) in [(&base, 0o770), (&base, 0o1777), (&base, 0o702), (&host, 0o720)] {
            set_mode(path, mode);
            let refused = Places::at(&base).map(drop).expect_err("others may write to it");
            assert!(refused.to_string().contains(&format!("{mode:04o}")), "{refused}");
            assert!(refused.to_string().contains(&*path.to_string_lossy()), "{refused}");
            set_mode(path, 0o700);
        }
        // Subdirectories must be private; the base directory may be readable by others.
        set_mode(&base, 0o755);
        set_mode(&runs, 0o750);
        let refused = Places::at(&base).expect("nobody else writes").folder("runs").map(drop);
        assert!(refused.expect_err("others read it").to_string().contains("0750"));
        fs::remove_dir_all(&base).expect("it was made above");
    }
}
