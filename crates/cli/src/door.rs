//! Through which nodes come into a copy that runs: a folder in its run's. Who asks puts a node list
//! there, the copy puts its answer beside it. While the copy runs it holds the door's lock.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use garland_sys::{lock, random};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, OrFailure};
use crate::places::{Places, write_private};
use crate::run::Run;

/// The door's folder, in its run's.
pub const DOOR: &str = "door";

const LOCK: &str = "lock";
const ASKED: &str = "asked";
const ANSWERED: &str = "answered";

/// A copy looks so often who is there.
pub const LOOK: Duration = Duration::from_millis(100);

/// What a copy says to whoever asks for nodes to join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// They are fetched.
    Joining(Vec<String>),
    /// They aren't, and why not.
    Refused(String),
}

/// The copy's side.
pub struct Door {
    folder: PathBuf,
    /// Locked as long as this is.
    _lock: File,
    seen: BTreeSet<PathBuf>,
}

/// Somebody's question.
pub struct Knock {
    path: PathBuf,
    /// The nodes that are to join, as they were written.
    pub list: String,
}

impl Door {
    /// Opens the door of a run.
    pub fn open(places: &Places, run: &Run) -> Result<Self, Failure> {
        let folder = places.folder(&format!("runs/{}/{DOOR}", run.name()))?;
        let path = folder.join(LOCK);
        let lock = File::create(&path).or_nothing(format!("making {}", path.display()))?;
        lock::lock(&lock).or_nothing(format!("locking {}", path.display()))?;
        Ok(Self { folder, _lock: lock, seen: BTreeSet::new() })
    }

    /// Who has come since.
    pub fn knocks(&mut self) -> Vec<Knock> {
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
            errln!("answering {}: {error}", self.path.display());
        }
    }
}

/// Whether a copy runs behind the door of `run`.
pub fn is_open(run: &Run) -> bool {
    let lock = File::open(run.folder().join(DOOR).join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Asks the copy of `run` to take in the nodes of `list`; none where it is over before it answers.
///
/// # Errors
/// When the question can't be put there.
pub fn ask(run: &Run, list: &str, is_over: &dyn Fn() -> bool) -> Result<Option<Answer>, Failure> {
    let [one, two, three, four] = random::bytes::<4>();
    let name = format!("{one:02x}{two:02x}{three:02x}{four:02x}.{ASKED}");
    let path = run.folder().join(DOOR).join(name);
    write_private(&path, list.as_bytes()).or_nothing(format!("writing {}", path.display()))?;
    let answered = path.with_extension(ANSWERED);
    loop {
        // In this order: the last thing that it does may be to answer.
        let over = is_over() || !is_open(run);
        if let Some(answer) = read(&answered) {
            return Ok(Some(answer));
        }
        if over {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

fn read(path: &Path) -> Option<Answer> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Waits until the copy of `run` has ended or `is_over`.
pub fn await_end(run: &Run, is_over: &dyn Fn() -> bool) {
    while is_open(run) && !is_over() {
        std::thread::sleep(LOOK);
    }
}
