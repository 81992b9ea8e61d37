//! The records of mounts, which other commands of the same user read.

use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_state::places::Places;
use garland_sys::identity::Identity;
use garland_sys::{clock, private_file};
use garland_terminal::failure::{Failure, OrFailure};
use serde::{Deserialize, Serialize};

const SCHEMA: &str = "garland.mounted/1";

/// The record of a mount.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    schema: String,
    /// The mount point.
    pub dir: PathBuf,
    /// The id of the process that serves the mount. `start` and `boot` distinguish the process from
    /// a later one with the same id.
    pub pid: u32,
    start: u64,
    boot: String,
    /// The nodes, as a node list such as `n[01-20]`.
    pub nodes: String,
    /// When the directory was mounted, in nanoseconds since the Unix epoch.
    pub since_ns: u64,
    /// The name of the mount's run, which has its trace.
    pub run: String,
    /// The file of this record.
    #[serde(skip)]
    file: PathBuf,
}

impl Record {
    /// Writes the record of this process's mount.
    pub fn keep(places: &Places, dir: &Path, nodes: String, run: &str) -> Result<Self, Failure> {
        let Identity { pid, start, boot } =
            Identity::own().or_nothing("cannot read the start time of this process")?;
        let file = places.folder("mounts")?.join(format!("{pid}.json"));
        let schema = SCHEMA.to_owned();
        let since_ns = clock::wall_ns();
        let dir = dir.to_owned();
        let run = run.to_owned();
        let record = Self { schema, dir, pid, start, boot, nodes, since_ns, run, file };
        let text =
            serde_json::to_vec_pretty(&record).or_nothing("cannot write the mount's record")?;
        private_file::replace_unsynced(&record.file, &text)
            .or_nothing(format!("cannot write {}", printable::path(&record.file)))?;
        Ok(record)
    }

    /// Reads all records, sorted by mount point. Those that cannot be read are named, and left out.
    pub fn all(places: &Places) -> Result<Vec<Self>, Failure> {
        let found = places.read_records::<Self>("mounts")?.into_iter();
        let found = found.map(|(file, record)| Self { file, ..record });
        let mut records: Vec<Self> = found.filter(|record| record.schema == SCHEMA).collect();
        records.sort_by(|one, two| one.dir.cmp(&two.dir));
        Ok(records)
    }

    /// Removes the record's file.
    pub fn forget(&self) {
        // The file may be missing already.
        let _ = std::fs::remove_file(&self.file);
    }

    /// Whether the process that serves the mount still runs.
    pub fn is_served(&self) -> bool {
        self.server().is_alive()
    }

    /// Returns the identity of the process that serves the mount.
    pub fn server(&self) -> Identity {
        Identity { pid: self.pid, start: self.start, boot: self.boot.clone() }
    }
}
