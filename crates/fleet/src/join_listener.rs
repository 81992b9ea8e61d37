//! Through which nodes come into a copy that runs: a folder in its run's. Who asks puts a node list
//! there, the copy puts its answer beside it. While the copy runs it holds the door's lock.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use garland_sys::folder_events::FolderEvents;
use garland_sys::signal::Interrupts;
use garland_sys::{event, random};
use serde::{Deserialize, Serialize};

use garland_results::lock::{self, LockFile};
use garland_results::places::{Places, write_private};
use garland_results::run::Run;
use garland_terminal::failure::{Failure, OrFailure};

/// The door's folder, in its run's.
pub const DOOR: &str = "door";

const LOCK: &str = "lock";
const ASKED: &str = "asked";
const ANSWERED: &str = "answered";

/// How often the folder is read where the user has no inotify instance left.
const LOOK: Duration = Duration::from_millis(100);

/// What a copy says to whoever asks for nodes to join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// They are fetched.
    Joining(Vec<String>),
    /// They aren't, and why not.
    Refused(String),
}

/// The copy's side.
pub struct JoinListener {
    folder: PathBuf,
    /// Held as long as this is.
    _lock: LockFile,
    /// None where the user has no inotify instance left.
    events: Option<FolderEvents>,
    seen: BTreeSet<PathBuf>,
}

/// Somebody's question.
pub struct Knock {
    path: PathBuf,
    /// The nodes that are to join, as they were written.
    pub list: String,
}

impl JoinListener {
    /// Opens the door of a run.
    pub fn open(places: &Places, run: &Run) -> Result<Self, Failure> {
        let folder = places.folder(&format!("runs/{}/{DOOR}", run.name()))?;
        let path = folder.join(LOCK);
        // Before the lock: nobody asks before that is held.
        let events = FolderEvents::of(&folder).ok();
        let lock = LockFile::hold(&path).or_nothing(format!("locking {}", path.display()))?;
        Ok(Self { folder, _lock: lock, events, seen: BTreeSet::new() })
    }

    /// Waits until somebody may have come, `other` can be read, or `limit` is over.
    pub fn wait(&self, other: BorrowedFd<'_>, limit: Option<Duration>) {
        wait(self.events.as_ref(), &[other], limit);
    }

    /// Who has come since.
    pub fn knocks(&mut self) -> Vec<Knock> {
        self.events.iter().for_each(FolderEvents::clear);
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let asked = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == ASKED));
        let new: Vec<PathBuf> = asked.filter(|path| self.seen.insert(path.clone())).collect();
        let read = |path: PathBuf| Some(Knock { list: fs::read_to_string(&path).ok()?, path });
        new.into_iter().filter_map(read).collect()
    }
}

impl Knock {
    /// Answers. Whoever asked may be gone.
    pub fn answer(&self, answer: &Answer) {
        let text = serde_json::to_string(answer).unwrap_or_default();
        if let Err(error) = write_private(&self.path.with_extension(ANSWERED), text.as_bytes()) {
            garland_terminal::errln!("answering {}: {error}", self.path.display());
        }
    }
}

/// Whether a copy runs behind the door of `run`.
pub fn is_open(run: &Run) -> bool {
    lock::is_held(&run.folder().join(DOOR).join(LOCK))
}

/// Waits for an event of the folder, until one of `others` can be read, or until `limit` is over.
fn wait(events: Option<&FolderEvents>, others: &[BorrowedFd<'_>], limit: Option<Duration>) {
    let folder = events.map(AsFd::as_fd);
    let fds: Vec<BorrowedFd<'_>> = others.iter().copied().chain(folder).collect();
    let limit = match events {
        Some(_) => limit,
        None => Some(limit.map_or(LOOK, |limit| limit.min(LOOK))),
    };
    if event::wait_readable(&fds, limit).is_err() {
        // Without memory for it.
        std::thread::sleep(LOOK);
    }
}

/// Asks the copy of `run` to take in the nodes of `list`; none where it is over, or the user gives up,
/// before it answers.
///
/// # Errors
/// When the question can't be put there.
pub fn ask(run: &Run, list: &str, interrupts: &Interrupts) -> Result<Option<Answer>, Failure> {
    let folder = run.folder().join(DOOR);
    let events = FolderEvents::of(&folder).ok();
    let closed = lock::released(&folder.join(LOCK)).or_nothing("waiting for the copy")?;
    let [one, two, three, four] = random::bytes::<4>();
    let name = format!("{one:02x}{two:02x}{three:02x}{four:02x}.{ASKED}");
    let path = folder.join(name);
    write_private(&path, list.as_bytes()).or_nothing(format!("writing {}", path.display()))?;
    let answered = path.with_extension(ANSWERED);
    loop {
        events.iter().for_each(FolderEvents::clear);
        // In this order: the last thing that it does may be to answer.
        let over = interrupts.have_come() || !is_open(run);
        if let Some(answer) = read(&answered) {
            return Ok(Some(answer));
        }
        if over {
            return Ok(None);
        }
        wait(events.as_ref(), &[interrupts.as_fd(), closed.as_fd()], None);
    }
}

fn read(path: &Path) -> Option<Answer> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Waits until the copy of `run` has ended or the user gives up.
///
/// # Errors
/// When the system can't wait.
pub fn await_end(run: &Run, interrupts: &Interrupts) -> Result<(), Failure> {
    let waiting = "waiting for the copy";
    let closed = lock::released(&run.folder().join(DOOR).join(LOCK)).or_nothing(waiting)?;
    while !interrupts.have_come() {
        let ready = event::wait_readable(&[closed.as_fd(), interrupts.as_fd()], None);
        if ready.or_nothing(waiting)?[0] {
            break;
        }
    }
    Ok(())
}
