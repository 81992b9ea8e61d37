//! Requests for nodes to join a running copy, as files in a directory of the copy's run. A request
//! is a file with a node list; the copy writes the answer to a file beside the request. The copy
//! holds the directory's lock file while it runs.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use garland_core::printable;
use garland_state::lock::{self, LockFile};
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::folder_events::FolderEvents;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, event, private_file, random};
use garland_terminal::failure::{Failure, OrFailure};
use serde::{Deserialize, Serialize};

/// The directory of join requests, in the run's directory.
pub const JOIN_DIR: &str = "door";

const LOCK: &str = "lock";
const ASKED: &str = "asked";
const ANSWERED: &str = "answered";

/// The polling interval of a young copy, and if the user has no inotify instance left.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The age from which a copy watches its directory by inotify(7). Until then it polls: the kernel
/// takes 10 to 20 ms to close a watch, which is longer than a small copy takes.
const WATCH_AGE_MIN: Duration = Duration::from_secs(2);

/// The answer to a join request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// These nodes are being started.
    Joining(Vec<String>),
    /// The nodes may not join, and why.
    Refused(String),
}

/// The copy's side: receives join requests.
pub struct JoinListener {
    folder: PathBuf,
    /// The lock that shows that the copy is running.
    _lock: LockFile,
    /// The watch on the directory; none while the copy is young, or if the user has no inotify
    /// instance left.
    events: Option<FolderEvents>,
    /// The time at which the watch begins; `None` afterwards.
    watch_at_ns: Option<u64>,
    /// The paths of requests that `requests` has returned.
    seen: BTreeSet<PathBuf>,
}

/// A join request.
pub struct JoinRequest {
    path: PathBuf,
    /// The node list, as the user wrote it.
    pub list: String,
}

impl JoinListener {
    /// Creates the directory of join requests of a run, and holds its lock.
    pub fn open(places: &Places, run: &Run) -> Result<Self, Failure> {
        let folder = places.folder(&format!("runs/{}/{JOIN_DIR}", run.name()))?;
        let path = folder.join(LOCK);
        let lock =
            LockFile::hold(&path).or_nothing(format!("cannot lock {}", printable::path(&path)))?;
        let watch_at_ns = Some(clock::after(WATCH_AGE_MIN));
        Ok(Self { folder, _lock: lock, events: None, watch_at_ns, seen: BTreeSet::new() })
    }

    /// Waits until a request may have arrived, `other` is readable, or `limit` has passed; may
    /// return earlier.
    pub fn wait(&mut self, other: BorrowedFd<'_>, limit: Option<Duration>) {
        if self.watch_at_ns.is_some_and(|at| clock::until(at).is_zero()) {
            self.watch_at_ns = None;
            self.events = FolderEvents::watch_arrivals(&self.folder).ok();
            // A request may have come before the watch.
            return;
        }
        wait(self.events.as_ref(), &[other], limit);
    }

    /// Returns the requests that have arrived since the last call.
    pub fn requests(&mut self) -> Vec<JoinRequest> {
        self.events.iter().for_each(FolderEvents::clear);
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let asked = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == ASKED));
        let new: Vec<PathBuf> = asked.filter(|path| self.seen.insert(path.clone())).collect();
        let read =
            |path: PathBuf| Some(JoinRequest { list: fs::read_to_string(&path).ok()?, path });
        new.into_iter().filter_map(read).collect()
    }
}

impl JoinRequest {
    /// Writes the answer to a file. The requesting process may have ended.
    pub fn answer(&self, answer: &Answer) {
        let text = serde_json::to_string(answer).unwrap_or_default();
        let answered = self.path.with_extension(ANSWERED);
        if let Err(error) = private_file::replace_unsynced(&answered, text.as_bytes()) {
            garland_terminal::errln!(
                "cannot answer the join request {}: {error}",
                printable::path(&self.path)
            );
        }
    }
}

/// Returns whether the copy of `run` is running and accepts join requests.
pub fn is_open(run: &Run) -> bool {
    lock::is_held(&run.folder().join(JOIN_DIR).join(LOCK))
}

/// Waits until the directory has an event, one of `others` is readable, or `limit` has passed.
/// Without `events`, waits [`POLL_INTERVAL`] at most.
fn wait(events: Option<&FolderEvents>, others: &[BorrowedFd<'_>], limit: Option<Duration>) {
    let folder = events.map(AsFd::as_fd);
    let fds: Vec<BorrowedFd<'_>> = others.iter().copied().chain(folder).collect();
    let limit = match events {
        Some(_) => limit,
        None => Some(limit.map_or(POLL_INTERVAL, |limit| limit.min(POLL_INTERVAL))),
    };
    if event::wait_readable(&fds, limit).is_err() {
        // poll(2) failed for lack of memory.
        garland_sys::threads::sleep(POLL_INTERVAL);
    }
}

/// Asks the copy of `run` to add the nodes of `list`. Returns the answer; none if the copy ends or
/// the user interrupts before the answer arrives.
///
/// # Errors
/// When the request cannot be written, or the end of the copy cannot be watched.
pub fn ask(run: &Run, list: &str, interrupts: &Interrupts) -> Result<Option<Answer>, Failure> {
    let folder = run.folder().join(JOIN_DIR);
    let events = FolderEvents::watch_arrivals(&folder).ok();
    let closed = lock::released(&folder.join(LOCK)).or_nothing("cannot wait for the copy")?;
    let name = format!("{:08x}.{ASKED}", u32::from_be_bytes(random::bytes()));
    let path = folder.join(name);
    private_file::replace_unsynced(&path, list.as_bytes())
        .or_nothing(format!("cannot write {}", printable::path(&path)))?;
    let answered = path.with_extension(ANSWERED);
    loop {
        events.iter().for_each(FolderEvents::clear);
        // Test this before the answer is read: the copy may end right after it has answered.
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

/// Waits until the copy of `run` has ended or the user interrupts.
///
/// # Errors
/// When the system cannot wait.
pub fn await_end(run: &Run, interrupts: &Interrupts) -> Result<(), Failure> {
    let waiting = "cannot wait for the copy";
    let closed = lock::released(&run.folder().join(JOIN_DIR).join(LOCK)).or_nothing(waiting)?;
    while !interrupts.have_come() {
        let ready = event::wait_readable(&[closed.as_fd(), interrupts.as_fd()], None);
        if ready.or_nothing(waiting)?[0] {
            break;
        }
    }
    Ok(())
}
