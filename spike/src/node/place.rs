//! The file on the node, on its way from a hidden name to its own.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use garland_protocol::{Begin, Destination, End};

use super::{FILE, Flaw};
use crate::io::{OpenMode, Operation};

/// A step of the file's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The file is created under a hidden name.
    Open,
    /// Its contents are made stable.
    Sync,
    /// It gets its name.
    Rename,
    /// Its name is made stable.
    SyncFolder,
    /// It is removed.
    Remove,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "create the file",
            Self::Sync => "make the file stable",
            Self::Rename => "rename the file",
            Self::SyncFolder => "make the file's name stable",
            Self::Remove => "remove the file",
        })
    }
}

/// Where the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Opening,
    Hidden,
    /// The head has ordered the commit.
    Committing,
    Committed,
    /// A step failed, or the copy was withdrawn.
    Failed,
    /// There is nothing left to do.
    Over,
}

/// The file of a copy.
pub(super) struct Place {
    hidden: PathBuf,
    path: PathBuf,
    length: u64,
    steps: Vec<Step>,
    checks: bool,
    state: State,
    /// Whether the copy has ended: what is not committed is removed.
    is_withdrawn: bool,
    is_busy: bool,
}

impl Place {
    pub(super) fn new(begin: &Begin, flaw: Flaw) -> Self {
        let (path, fsync) = match &begin.end {
            End::Sink(Destination::File { path, fsync, .. }) => {
                (PathBuf::from(OsStr::from_bytes(path)), *fsync)
            }
            _ => (PathBuf::new(), false),
        };
        let name = path.file_name().unwrap_or_default();
        let hidden = format!(".{}.partial", name.to_string_lossy());
        let steps = match (fsync, flaw) {
            (false, _) => vec![Step::Rename],
            (true, Flaw::RenameFirst) => vec![Step::Rename, Step::Sync, Step::SyncFolder],
            (true, Flaw::NoFolderSync) => vec![Step::Sync, Step::Rename],
            (true, _) => vec![Step::Sync, Step::Rename, Step::SyncFolder],
        };
        Self {
            hidden: path.with_file_name(hidden),
            path,
            length: begin.layout.length,
            steps: steps.into_iter().rev().collect(),
            checks: flaw != Flaw::NoCheck,
            state: State::Opening,
            is_withdrawn: false,
            is_busy: true,
        }
    }

    pub(super) fn open(&self) -> Operation {
        Operation::Open(FILE, self.hidden.clone(), OpenMode::Create(self.length))
    }

    pub(super) fn checks(&self) -> bool {
        self.checks
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == State::Hidden
    }

    pub(super) fn is_committing(&self) -> bool {
        matches!(self.state, State::Committing | State::Committed)
    }

    pub(super) fn is_committed(&self) -> bool {
        self.state == State::Committed
    }

    pub(super) fn is_over(&self) -> bool {
        self.state == State::Over || self.is_withdrawn && self.state == State::Committed
    }

    /// Returns the first step of the commit.
    pub(super) fn commit(&mut self) -> Option<(Step, Operation)> {
        if self.state != State::Hidden {
            return None;
        }
        self.state = State::Committing;
        self.next()
    }

    /// Ends the copy. A commit that was ordered goes on.
    pub(super) fn withdraw(&mut self) -> Option<(Step, Operation)> {
        self.is_withdrawn = true;
        match self.state {
            State::Hidden | State::Failed if !self.is_busy => self.remove(),
            _ => None,
        }
    }

    /// Notes that a step is done, and returns the next one.
    pub(super) fn done(&mut self, step: Step, is_done: bool) -> Option<(Step, Operation)> {
        self.is_busy = false;
        self.state = match (step, self.state) {
            (Step::Remove, _) => State::Over,
            (_, State::Opening) if is_done => State::Hidden,
            (_, State::Committing) if is_done && self.steps.is_empty() => State::Committed,
            (_, state) if is_done => state,
            _ => State::Failed,
        };
        match self.state {
            State::Committing => self.next(),
            State::Hidden | State::Failed if self.is_withdrawn => self.remove(),
            _ => None,
        }
    }

    fn next(&mut self) -> Option<(Step, Operation)> {
        let step = self.steps.pop()?;
        self.is_busy = true;
        let folder = || self.path.parent().unwrap_or(Path::new("/")).to_path_buf();
        let call = match step {
            Step::Sync => Operation::Sync(FILE),
            Step::Rename => Operation::Rename(self.hidden.clone(), self.path.clone()),
            Step::SyncFolder => Operation::SyncFolder(folder()),
            Step::Open => self.open(),
            Step::Remove => Operation::Remove(self.hidden.clone()),
        };
        Some((step, call))
    }

    fn remove(&mut self) -> Option<(Step, Operation)> {
        self.steps = vec![Step::Remove];
        self.next()
    }
}
