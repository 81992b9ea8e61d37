//! What a lab keeps on disk about itself: `lab.json`.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use garland_sys::identity::Identity;
use serde::{Deserialize, Serialize};

use crate::{LabError, Spec};

/// The version of the format; another one is refused.
const VERSION: u32 = 1;

const FILE: &str = "lab.json";

/// A lab as `lab.json` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// The description of the lab.
    pub spec: Spec,
    /// The directory that holds the root directories of the nodes.
    pub roots: PathBuf,
    /// The process that the lab hangs on; none while it is being built.
    pub keeper: Option<Keeper>,
}

/// The keeper process of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeper {
    /// Its process number, as the host sees it.
    pub pid: u32,
    start: u64,
    boot: String,
    /// Whether the lab lives in a user namespace, made without root.
    pub rootless: bool,
    /// The control group of the nodes that have a share of a processor.
    pub shares: Option<PathBuf>,
}

impl Keeper {
    pub(crate) fn new(identity: Identity, rootless: bool, shares: Option<PathBuf>) -> Keeper {
        let Identity { pid, start, boot } = identity;
        Keeper { pid, start, boot, rootless, shares }
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity { pid: self.pid, start: self.start, boot: self.boot.clone() }
    }
}

impl Record {
    pub(crate) fn new(spec: Spec, roots: PathBuf) -> Record {
        Record { version: VERSION, spec, roots, keeper: None }
    }

    /// The keeper, if it still lives.
    pub fn living_keeper(&self) -> Option<&Keeper> {
        self.keeper.as_ref().filter(|keeper| keeper.identity().is_alive())
    }

    /// Reads the record in a lab's directory; `None` when there is none.
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
            let other = format!("made by another version (format {})", record.version);
            Err(LabError::file("read", &path)(io::Error::other(other)))
        }
    }

    /// Writes it whole or not at all.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), LabError> {
        let path = folder.join(FILE);
        let temporary = folder.join(".lab.json.new");
        let written = || -> io::Result<()> {
            let mut file = fs::OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&temporary)?;
            file.write_all(&serde_json::to_vec_pretty(self)?)?;
            fs::rename(&temporary, &path)
        };
        written().map_err(LabError::file("write", &path))
    }
}
