//! What is at the destination of a copy that is to come: the agent's side.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use garland_core::proto::{
    Begin, Compare, Compared, Destination, End, FromAgent, ToAgent, root_digest,
};
use garland_sys::{clock, process};
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};

use super::Reuse;
use super::holding::Holding;
use crate::agent::Agent;
use crate::budget::Share;
use crate::session::Session;
use crate::store::{Left, remove_stale, target};

/// How often the head hears that reading goes on.
const TELL: Duration = Duration::from_secs(1);

/// Bytes that a block's digests take meanwhile: of the file that is there, of what an interrupted
/// copy left, and of the source.
const DIGESTS: u64 = 3 * 33;

/// What a copy that is to come is compared with.
pub struct Comparison {
    asked: Compare,
    stop: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    found: Option<Found>,
    /// The source's digests, as far as they were told.
    told: Vec<[u8; 32]>,
    /// Given back when the copy takes its own, or nothing comes of it.
    share: Option<Share>,
}

/// What is there.
struct Found {
    folder: OwnedFd,
    name: OsString,
    path: PathBuf,
    /// The file that has the name.
    old: Option<Holding>,
    /// What an interrupted copy left.
    left: Option<(Holding, Left)>,
}

impl Comparison {
    /// Looks at what is there, from a thread of its own, and tells the head.
    pub fn start(agent: &Arc<Agent>, session: &Arc<Session>, asked: Compare) -> Arc<Self> {
        let stop = AtomicBool::new(false);
        let comparison = Arc::new(Self { asked, stop, state: Mutex::default() });
        let (agent, session, own) =
            (Arc::clone(agent), Arc::clone(session), Arc::clone(&comparison));
        std::thread::spawn(move || {
            let answer = own.look(&agent, &session);
            session.send(&FromAgent::Compared(answer));
        });
        comparison
    }

    /// Nobody needs it any more.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Gives its memory back, to the copy that takes what it found.
    pub fn release(&self) {
        self.state().share = None;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, agent: &Agent, session: &Session) -> Compared {
        let layout = self.asked.layout;
        let bytes = layout.blocks().saturating_mul(DIGESTS) + u64::from(layout.block_size);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        // Where there is no room for it, the copy is made as if nothing were there.
        let share = self.asked.check().ok().and_then(|()| agent.budget().take(bytes).ok());
        let found = share.as_ref().and_then(|_| self.find(agent, session));
        let Some(found) = found else { return Compared::Nothing };
        let root = found.old.as_ref().and_then(Holding::root);
        let length = found.old.as_ref().map(|old| old.stamp.length);
        let mut state = self.state();
        (state.found, state.share) = (Some(found), share);
        Compared::Found { length, root: root.unwrap_or_default() }
    }

    fn find(&self, agent: &Agent, session: &Session) -> Option<Found> {
        let Compare { path, name, layout } = &self.asked;
        let root = agent.root();
        let given = Path::new(OsStr::from_bytes(path));
        let (folder_path, name) = target(root, given, OsStr::from_bytes(name));
        let folder = root.open_dir(&folder_path, false).ok()?;
        let told = Mutex::new(clock::now_ns());
        let progress = || {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            if clock::until(*told).is_zero() {
                *told = clock::now_ns() + u64::try_from(TELL.as_nanos()).unwrap_or(u64::MAX);
                session.send(&FromAgent::Compared(Compared::Reading));
            }
        };
        let holding = |file| {
            let (disk, records) = (agent.disk().map(AsRef::as_ref), agent.records());
            Holding::of(file, layout.block_size, records, disk, progress, &self.stop)
        };
        let old = open_own(&folder, &name).ok().and_then(|file| holding(file).ok());
        let left = Left::find(&folder, &name).and_then(|left| {
            let file = left.file().try_clone().ok()?;
            Some((holding(file).ok()?, left))
        });
        let path = folder_path.join(&name);
        let is_something = old.is_some() || left.is_some();
        is_something.then_some(Found { folder, name, path, old, left })
    }

    /// Takes more of the source's digests; says what of them is here once they are all told.
    pub fn take(&self, parcel: Vec<[u8; 32]>, more: bool) -> Option<Compared> {
        let blocks = usize::try_from(self.asked.layout.blocks()).unwrap_or(usize::MAX);
        let mut state = self.state();
        let room = blocks.saturating_sub(state.told.len());
        state.told.extend(parcel.into_iter().take(room));
        if more {
            return None;
        }
        let State { found, told, .. } = &*state;
        let found = found.as_ref()?;
        let (mut all, mut of_left) = (0, 0);
        for (index, digest) in (0..).zip(told) {
            let left = found.left.as_ref().is_some_and(|(left, _)| left.has(index, digest));
            let old = found.old.as_ref().is_some_and(|old| old.has(index, digest));
            of_left += u64::from(left);
            all += u64::from(left || old);
        }
        let left = found.left.as_ref().map(|_| of_left);
        Some(Compared::Has { blocks: all, left })
    }

    /// What of the copy that begins is here; nothing where it is another copy than was asked for, or
    /// of another source.
    pub fn reuse(&self, begin: &Begin) -> Option<Reuse> {
        self.stop();
        let State { found, told, .. } = std::mem::take(&mut *self.state());
        let Found { folder, name, path, old, left } = found?;
        let Compare { path: asked, name: by, layout } = &self.asked;
        let same = matches!(&begin.end, End::Sink(Destination::File { path, name, .. })
            if path == asked && name == by);
        if !same || begin.layout != *layout || begin.stripe.is_some() {
            return None;
        }
        let known = begin.known?;
        let is_whole =
            |old: &Holding| old.stamp.length == layout.length && old.root() == Some(known);
        match old {
            Some(old) if is_whole(&old) => {
                // Nobody will go on with it.
                drop(left);
                remove_stale(&folder, &name);
                let (file, stamp, digests) = old.into_whole()?;
                Some(Reuse::Whole { folder, name, path, file, stamp, digests })
            }
            old => {
                let whole = told.len() as u64 == layout.blocks();
                (whole && root_digest(&told) == known).then_some(Reuse::Some {
                    digests: told,
                    old,
                    left,
                })
            }
        }
    }
}

/// Opens a plain file of this agent's own user.
fn open_own(folder: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let fd = openat(folder, name, flags, Mode::empty())?;
    let stat = fstat(&fd)?;
    let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !plain || stat.st_uid != process::user_id() || stat.st_size == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(File::from(fd))
}

/// What a controller has asked for last.
pub struct Comparing {
    agent: Arc<Agent>,
    session: Arc<Session>,
    last: Option<Arc<Comparison>>,
}

impl Comparing {
    /// Nothing has been asked for.
    pub fn new(agent: &Arc<Agent>, session: &Arc<Session>) -> Self {
        Self { agent: Arc::clone(agent), session: Arc::clone(session), last: None }
    }

    /// Begins another comparison, or tells the last one more of the source's digests.
    pub fn obey(&mut self, order: ToAgent) {
        match order {
            ToAgent::Compare(asked) => {
                let next = Comparison::start(&self.agent, &self.session, asked);
                self.last.replace(next).iter().for_each(|last| last.stop());
            }
            ToAgent::Digests(parcel, more) => {
                let answer = self.last.as_ref().and_then(|last| last.take(parcel, more));
                let answers = answer.into_iter().map(FromAgent::Compared);
                answers.for_each(|answer| self.session.send(&answer));
            }
            _ => {}
        }
    }

    /// The last one.
    pub fn last(&self) -> Option<&Comparison> {
        self.last.as_deref()
    }
}

impl Drop for Comparing {
    fn drop(&mut self) {
        self.last.iter().for_each(|last| last.stop());
    }
}
