//! Where Garland keeps what it must remember: one folder of mode 0700 whose owner is checked, and
//! in it one for each host, since homes may be shared.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use garland_core::proto::KeyPair;
use garland_node::Records;
use garland_sys::process;

use crate::failure::{Failure, OrFailure};

/// The state folder of this host.
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

    /// Opens the state folder under `base`, whose owner must be this user.
    pub fn at(base: &Path) -> Result<Self, Failure> {
        private_folder(base)?;
        let state = base.join(process::host_name().replace('/', "_"));
        private_folder(&state)?;
        Ok(Self { state })
    }

    /// A folder of the state, made if need be.
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
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .or_nothing(format!("making {}", path.display()))?;
    let stat = fs::symlink_metadata(path).or_nothing(format!("asking about {}", path.display()))?;
    if !stat.is_dir() || stat.uid() != process::user_id() {
        return Err(Failure::usage(format!("{} belongs to somebody else", path.display()))
            .hint("set GARLAND_STATE to a folder of your own"));
    }
    Ok(())
}
