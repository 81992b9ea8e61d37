//! The record of a lab on disk: `lab.json`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use garland_sys::identity::Identity;
use garland_sys::private_file;
use serde::{Deserialize, Serialize};

use crate::{DelayRecord, LabError, Spec};

/// The version of the format; records of other versions are rejected.
const VERSION: u32 = 1;

const FILE: &str = "lab.json";

/// The contents of `lab.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// The description of the lab.
    pub spec: Spec,
    /// The directory that holds the root directories of the nodes.
    pub roots: PathBuf,
    /// The process that keeps the lab alive; `None` while the lab is being built.
    pub keeper: Option<Keeper>,
}

/// The keeper process of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeper {
    /// Its process ID, as the host sees it.
    pub pid: u32,
    start: u64,
    boot: String,
    /// Whether the lab is in a user namespace, since it was started without the rights of root.
    pub rootless: bool,
    /// The lab's control group, which contains the groups of the nodes; `None` in a lab without CPU
    /// limits.
    pub shares: Option<PathBuf>,
    /// What holds the frames of media with a delay; `None` in a lab without them.
    #[serde(default)]
    pub delay: Option<DelayRecord>,
}

impl Keeper {
    pub(crate) fn new(
        identity: Identity,
        rootless: bool,
        shares: Option<PathBuf>,
        delay: Option<DelayRecord>,
    ) -> Keeper {
        let Identity { pid, start, boot } = identity;
        Keeper { pid, start, boot, rootless, shares, delay }
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity { pid: self.pid, start: self.start, boot: self.boot.clone() }
    }
}

impl Record {
    pub(crate) fn new(spec: Spec, roots: PathBuf) -> Record {
        Record { version: VERSION, spec, roots, keeper: None }
    }

    /// Returns the keeper; `None` if there is none yet, or if it has died.
    pub fn living_keeper(&self) -> Option<&Keeper> {
        self.keeper.as_ref().filter(|keeper| keeper.identity().is_alive())
    }

    /// Reads the record in the directory of a lab; returns `None` if it has none.
    pub(crate) fn read(folder: &Path) -> Result<Option<Record>, LabError> {
        let path = folder.join(FILE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LabError::file("read", &path)(error)),
        };
        let record: Record = serde_json::from_slice(&text)
            .map_err(|error| LabError::file("read", &path)(error.into()))?;
        if record.version == VERSION {
            Ok(Some(record))
        } else {
            let other = format!(
                "the lab was started by another version of garland (format {}, expected {VERSION}); end it with that version",
                record.version
            );
            Err(LabError::file("read", &path)(io::Error::other(other)))
        }
    }

    /// Writes the record atomically into the directory of a lab.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), LabError> {
        let path = folder.join(FILE);
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::from);
        text.and_then(|text| private_file::replace_unsynced(&path, &text))
            .map_err(LabError::file("write", &path))
    }
}
