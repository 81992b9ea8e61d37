//! The record of an installation: the former files and kernel state, and its stage.
//!
//! An installation is a directory of mode 0700 below `/var/lib/garland/net`. Its stage is the name of one
//! empty file in it, which changes by rename: if a confirmation and the deadline come at once, one rename
//! fails. Until an installation is confirmed or undone, its guard holds the lock beside the directories.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use garland_sys::{clock, private_file, process};
use garland_topology::config::Format;
use serde::{Deserialize, Serialize};

use super::change::Change;
use super::kernel::Before;
use super::program::Command;
use super::tool::DevicesPresent;
use garland_terminal::failure::{Failure, OrFailure};

/// The parent directory of all installations.
const PLACE: &str = "/var/lib/garland/net";

/// The maximum length of the record of an installation in bytes.
const RECORD_MAX: u64 = 64 << 20;

/// The stage of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Files are being written and applied.
    Applying,
    /// Installed, and waiting for a confirmation.
    Pending,
    /// Confirmed: the installation is kept.
    Confirmed,
    /// The former state is being restored.
    Undoing,
    /// The former state is restored.
    Undone,
}

impl Stage {
    const ALL: [Self; 5] =
        [Self::Applying, Self::Pending, Self::Confirmed, Self::Undoing, Self::Undone];

    fn name(self) -> &'static str {
        ["applying", "pending", "confirmed", "undoing", "undone"][self as usize]
    }
}

/// Everything that is needed to install and to undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The name of the configuration format.
    pub format: String,
    /// The files to change, with their former and planned contents.
    pub changes: Vec<Change>,
    /// Commands to run before the files are changed.
    pub let_go: Vec<Command>,
    /// Commands to run after the files have been changed.
    pub apply: Vec<Command>,
    /// Commands to run after the former files have been restored.
    pub go_back: Vec<Command>,
    /// The former addresses, routes and settings of the kernel.
    pub before: Before,
    /// The devices of this machine that the installation changes.
    pub live: DevicesPresent,
    /// How long to wait for a confirmation, in nanoseconds.
    pub patience_ns: u64,
}

impl Record {
    /// Returns the format; `None` if there is no format of that name.
    pub fn format(&self) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == self.format)
    }
}

/// An installation, by its directory.
#[derive(Clone, Debug)]
pub struct Installation {
    directory: PathBuf,
}

impl Installation {
    /// Creates an installation, and returns it with the lock for its guard.
    ///
    /// # Errors
    /// When another installation is still pending.
    pub fn begin(record: &Record) -> Result<(Self, File), Failure> {
        let place = Path::new(PLACE);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(place);
        made.or_nothing(format!("creating {PLACE}"))?;
        let owner = fs::symlink_metadata(place).or_nothing(format!("inspecting {PLACE}"))?.uid();
        if owner != process::user_id() {
            return Err(Failure::usage(format!("{PLACE} belongs to another user")));
        }
        let lock = lock(place)?.ok_or_else(|| {
            Failure::usage("another installation is waiting for its confirmation")
                .hint("confirm it with `garland net confirm`, or wait until it is undone")
        })?;
        let stamp = clock::wall_ns() / 1_000_000;
        let directory = place.join(format!("{stamp}-{}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .or_nothing(format!("creating {}", directory.display()))?;
        let this = Self { directory };
        let text = serde_json::to_vec(record).or_nothing("writing the installation's record")?;
        private_file::replace(&this.record_path(), &text)
            .or_nothing(format!("writing {}", this.record_path().display()))?;
        let first = this.stage_path(Stage::Applying);
        fs::write(&first, "").or_nothing(format!("writing {}", first.display()))?;
        Ok((this, lock))
    }

    /// Opens the installation in `directory`, for its guard.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Returns the installation whose guard is running; `None` if there is no guard.
    pub fn waiting() -> Result<Option<Self>, Failure> {
        let place = Path::new(PLACE);
        if !place.exists() || lock(place)?.is_some() {
            return Ok(None);
        }
        let entries = fs::read_dir(place).or_nothing(format!("reading {PLACE}"))?;
        let all = entries.flatten().map(|entry| Self { directory: entry.path() });
        Ok(all.filter(|one| matches!(one.stage(), Some(Stage::Applying | Stage::Pending))).last())
    }

    /// Whether the guard has ended without confirming or undoing the installation.
    pub fn is_deserted(&self) -> Result<bool, Failure> {
        Ok(lock(Path::new(PLACE))?.is_some()
            && self.stage() != Some(Stage::Confirmed)
            && self.stage() != Some(Stage::Undone))
    }

    /// Returns the directory of the installation.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of the file for the guard's messages.
    pub fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// Reads the record of the installation.
    pub fn record(&self) -> Result<Record, Failure> {
        let path = self.record_path();
        let reading = || format!("cannot read {}", path.display());
        // Its commands are run as this user: it must be this user's.
        let bytes = private_file::read(&path, RECORD_MAX).or_nothing(reading())?;
        let missing = || Failure::nothing(format!("{}: there is no such file", reading()));
        serde_json::from_slice(&bytes.ok_or_else(missing)?).or_nothing(reading())
    }

    /// Returns the stage; `None` if the directory has no file of a stage.
    pub fn stage(&self) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| self.stage_path(*stage).exists())
    }

    /// Changes the stage from `from` to `to`; returns false if the stage is not `from`.
    pub fn go(&self, from: Stage, to: Stage) -> Result<bool, Failure> {
        match fs::rename(self.stage_path(from), self.stage_path(to)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).or_nothing(format!("writing in {}", self.directory.display())),
        }
    }

    /// Stores why the installation was undone, for the command that started it.
    pub fn keep_reason(&self, reason: &str) {
        let _ = fs::write(self.directory.join("reason"), reason);
    }

    /// Returns why the installation was undone; `None` if no reason was stored.
    pub fn reason(&self) -> Option<String> {
        fs::read_to_string(self.directory.join("reason")).ok()
    }

    fn record_path(&self) -> PathBuf {
        self.directory.join("record.json")
    }

    fn stage_path(&self, stage: Stage) -> PathBuf {
        self.directory.join(stage.name())
    }
}

/// Takes the lock; returns `None` if another process holds it.
fn lock(place: &Path) -> Result<Option<File>, Failure> {
    let path = place.join("lock");
    let open = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path);
    let file = open.or_nothing(format!("opening {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => {
            Err(error).or_nothing(format!("locking {}", path.display()))
        }
    }
}
