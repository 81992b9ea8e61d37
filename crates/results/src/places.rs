//! Where Garland keeps what it must remember: one directory of mode 0700 whose owner is checked, and
//! in it one for each host, since homes may be shared.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use garland_dataplane::Records;
use garland_protocol::KeyPair;
use garland_sys::process;

use garland_terminal::failure::{Failure, OrFailure};

/// The state directory of this host.
#[derive(Clone, Debug)]
pub struct Places {
    state: PathBuf,
}

impl Places {
    /// Opens the state folder: `$GARLAND_STATE`, else `$XDG_STATE_HOME/garland`, else
    /// `~/.local/state/garland`.
    pub fn open() -> Result<Self, Failure> {
        let var =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = var("GARLAND_STATE")
            .or_else(|| Some(var("XDG_STATE_HOME")?.join("garland")))
            .or_else(|| Some(var("HOME")?.join(".local/state/garland")));
        let base = base.ok_or_else(|| {
            Failure::usage("there is no place for Garland's state")
                .hint("set HOME or GARLAND_STATE")
        })?;
        Self::at(&std::path::absolute(&base).unwrap_or(base))
    }

    /// Opens the state directory under `base`. Both must be this user's, and nobody else may write to
    /// them; what is below `base` nobody else may read either.
    pub fn at(base: &Path) -> Result<Self, Failure> {
        own_folder(base, 0o022)?;
        let state = base.join(process::host_name().replace('/', "_"));
        private_folder(&state)?;
        Ok(Self { state })
    }

    /// A directory of the state; created if missing.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.state.join(name);
        private_folder(&path)?;
        Ok(path)
    }

    /// What is known of files that were read or written here; nothing where there is no place for it.
    pub fn records(&self) -> Records {
        self.folder("known").map_or_else(|_| Records::default(), Records::at)
    }

    /// The key pair that this user commands agents with; made at first use.
    pub fn controller_keys(&self) -> Result<KeyPair, Failure> {
        let path = self.state.join("controller.key");
        let read = || -> Option<KeyPair> {
            let bytes = fs::read(&path).ok()?;
            let (private, public) = bytes.split_at_checked(32)?;
            Some(KeyPair { private: private.try_into().ok()?, public: public.try_into().ok()? })
        };
        if let Some(keys) = read() {
            return Ok(keys);
        }
        let keys = KeyPair::generate();
        let bytes = [keys.private, keys.public].concat();
        write_private(&path, &bytes).or_nothing(format!("writing {}", path.display()))?;
        // Somebody else may have been faster: what stands there now counts.
        Ok(read().unwrap_or(keys))
    }
}

/// Writes a file of mode 0600 by temporary name and rename.
pub fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension(format!("tmp{}", std::process::id()));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    drop(file);
    fs::rename(temporary, path)
}

fn private_folder(path: &Path) -> Result<(), Failure> {
    own_folder(path, 0o077)
}

/// Makes a directory if need be, and checks that it is this user's and that none of the permissions
/// `forbidden` are given to others.
fn own_folder(path: &Path, forbidden: u32) -> Result<(), Failure> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .or_nothing(format!("making {}", path.display()))?;
    let stat = fs::symlink_metadata(path).or_nothing(format!("asking about {}", path.display()))?;
    if !stat.is_dir() || stat.uid() != process::user_id() {
        return Err(Failure::usage(format!("{} belongs to somebody else", path.display()))
            .hint("set GARLAND_STATE to a directory of your own"));
    }
    if stat.mode() & forbidden != 0 {
        let mode = stat.mode() & 0o7777;
        let may = if stat.mode() & 0o022 == 0 { "read" } else { "write to" };
        return Err(Failure::usage(format!(
            "other users may {may} {}, which has mode {mode:04o}",
            path.display()
        ))
        .hint(format!(
            "look whether what is in it is yours, then: chmod go-rwx {}",
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
        // What is below is private wholly; the directory that was named may be seen.
        set_mode(&base, 0o755);
        set_mode(&runs, 0o750);
        let refused = Places::at(&base).expect("nobody else writes").folder("runs").map(drop);
        assert!(refused.expect_err("others read it").to_string().contains("0750"));
        fs::remove_dir_all(&base).expect("it was made above");
    }
}
