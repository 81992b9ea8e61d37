//! What is kept of an installation: the old files, what the kernel had, and how far it got.
//!
//! An installation is a folder below `/var/lib/garland/net` of mode 0700. How far it got is the name
//! of one empty file in it, which changes by rename: when a confirmation and the deadline come at
//! once, one of them wins and the other sees it. While an installation isn't decided, a process
//! holds the lock beside the folders.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use garland_sys::{clock, process};
use garland_topology::config::Format;
use serde::{Deserialize, Serialize};

use super::change::Change;
use super::kernel::Before;
use super::program::Command;
use super::tool::DevicesPresent;
use garland_results::places::write_private;
use garland_terminal::failure::{Failure, OrFailure};

/// Where installations are.
const PLACE: &str = "/var/lib/garland/net";

/// How far an installation got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Files are being written and the tool is at work.
    Applying,
    /// Done, and waiting for a confirmation.
    Pending,
    /// Confirmed: it stays.
    Confirmed,
    /// What was there before is being put back.
    Undoing,
    /// All is as before.
    Undone,
}

impl Stage {
    const ALL: [Self; 5] =
        [Self::Applying, Self::Pending, Self::Confirmed, Self::Undoing, Self::Undone];

    fn name(self) -> &'static str {
        match self {
            Self::Applying => "applying",
            Self::Pending => "pending",
            Self::Confirmed => "confirmed",
            Self::Undoing => "undoing",
            Self::Undone => "undone",
        }
    }
}

/// All that is needed to install and to undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The format's name.
    pub format: String,
    /// The files, with what they were.
    pub changes: Vec<Change>,
    /// Run before the files change.
    pub let_go: Vec<Command>,
    /// Run after.
    pub apply: Vec<Command>,
    /// Run when the old files are back.
    pub go_back: Vec<Command>,
    /// What the kernel had.
    pub before: Before,
    /// The devices.
    pub live: DevicesPresent,
    /// How long to wait for a confirmation, in nanoseconds.
    pub patience_ns: u64,
}

impl Record {
    /// The format.
    pub fn format(&self) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == self.format)
    }
}

/// One installation's folder.
#[derive(Clone, Debug)]
pub struct Installation {
    folder: PathBuf,
}

impl Installation {
    /// Begins one; the lock is to be handed to whoever decides it.
    ///
    /// # Errors
    /// When another isn't decided yet.
    pub fn begin(record: &Record) -> Result<(Self, File), Failure> {
        let place = Path::new(PLACE);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(place);
        made.or_nothing(format!("making {PLACE}"))?;
        let owner = fs::symlink_metadata(place).or_nothing(format!("asking about {PLACE}"))?.uid();
        if owner != process::user_id() {
            return Err(Failure::usage(format!("{PLACE} belongs to somebody else")));
        }
        let lock = lock(place)?.ok_or_else(|| {
            Failure::usage("another installation waits for its confirmation")
                .hint("confirm it with `garland net confirm`, or wait until it is undone")
        })?;
        let stamp = clock::wall_ns() / 1_000_000;
        let folder = place.join(format!("{stamp}-{}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .or_nothing(format!("making {}", folder.display()))?;
        let this = Self { folder };
        let text = serde_json::to_vec(record).or_nothing("writing the installation's record")?;
        write_private(&this.record_path(), &text)
            .or_nothing(format!("writing {}", this.record_path().display()))?;
        let first = this.stage_path(Stage::Applying);
        fs::write(&first, "").or_nothing(format!("writing {}", first.display()))?;
        Ok((this, lock))
    }

    /// An installation's folder, for the process that was started for it.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The one that waits for a confirmation; none when no process waits.
    pub fn waiting() -> Result<Option<Self>, Failure> {
        let place = Path::new(PLACE);
        if !place.exists() || lock(place)?.is_some() {
            return Ok(None);
        }
        let entries = fs::read_dir(place).or_nothing(format!("reading {PLACE}"))?;
        let all = entries.flatten().map(|entry| Self { folder: entry.path() });
        Ok(all.filter(|one| matches!(one.stage(), Some(Stage::Applying | Stage::Pending))).last())
    }

    /// Whether the process that was to decide it is gone.
    pub fn is_deserted(&self) -> Result<bool, Failure> {
        Ok(lock(Path::new(PLACE))?.is_some()
            && self.stage() != Some(Stage::Confirmed)
            && self.stage() != Some(Stage::Undone))
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where its process complains.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// What is kept of it.
    pub fn record(&self) -> Result<Record, Failure> {
        let path = self.record_path();
        let bytes = fs::read(&path).or_nothing(format!("reading {}", path.display()))?;
        serde_json::from_slice(&bytes).or_nothing(format!("reading {}", path.display()))
    }

    /// How far it got.
    pub fn stage(&self) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| self.stage_path(*stage).exists())
    }

    /// Goes from one stage to another; false when it isn't at the first.
    pub fn go(&self, from: Stage, to: Stage) -> Result<bool, Failure> {
        match fs::rename(self.stage_path(from), self.stage_path(to)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).or_nothing(format!("writing in {}", self.folder.display())),
        }
    }

    /// Keeps why it was undone, for the one who asked for it.
    pub fn keep_reason(&self, reason: &str) {
        let _ = fs::write(self.folder.join("reason"), reason);
    }

    /// Why it was undone.
    pub fn reason(&self) -> Option<String> {
        fs::read_to_string(self.folder.join("reason")).ok()
    }

    fn record_path(&self) -> PathBuf {
        self.folder.join("record.json")
    }

    fn stage_path(&self, stage: Stage) -> PathBuf {
        self.folder.join(stage.name())
    }
}

/// The lock, or none when another process has it.
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
