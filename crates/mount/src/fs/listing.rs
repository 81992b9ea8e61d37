//! Listing folders of nodes: the node gives many entries at a time with their attributes, ahead of
//! those who read on.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fuser::{
    FileHandle, FileType, FopenFlags, Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus,
    ReplyOpen,
};
use garland_protocol::{Answer, Ask, Entry};
use garland_sys::clock;
use rustix::io::Errno;

use super::Mount;
use super::attr::{self, BELIEVED, errno};
use super::inodes::{Inode, Inodes, TOP};
use super::open::Open;
use crate::peer::Reply;

/// The node is asked for more when so few entries are left.
const FEW: usize = 256;

/// Entries that were read stay so many back, in case somebody goes back a little.
const BACK: usize = 1024;

/// Who begins anew after so long gets a new list.
const OLD_NS: u64 = 1_000_000_000;

/// A folder that is open.
pub struct OpenFolder {
    inode: Arc<Inode>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The place of the first entry that is here.
    base: u64,
    entries: VecDeque<Entry>,
    /// The connection and the handle to go on with.
    more: Option<(u64, u64)>,
    is_asked: bool,
    waiting: Vec<Want>,
    failed: Option<Errno>,
    began_ns: u64,
}

/// Who wants entries from a place on.
pub enum Want {
    /// With names and kinds.
    Plain(u64, ReplyDirectory),
    /// With attributes.
    Plus(u64, ReplyDirectoryPlus),
}

/// The first two places are those of `.` and `..`.
const DOTS: u64 = 2;

impl OpenFolder {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mount {
    /// Opens a folder, with its first entries.
    pub fn open_folder(self: &Arc<Self>, inode: Arc<Inode>, reply: ReplyOpen) {
        let Some(path) = inode.path() else { return reply.error(errno(Errno::STALE)) };
        let mount = Arc::clone(self);
        let peer = Arc::clone(self.peer(&inode));
        let then = move |outcome: Result<Reply, Errno>| {
            let folder = OpenFolder { inode, state: Mutex::default() };
            match folder.state().take(outcome) {
                Ok(()) => {}
                Err(error) => return reply.error(errno(error)),
            }
            let handle = mount.opens.keep(Open::Folder(Arc::new(folder)));
            reply.opened(FileHandle(handle), FopenFlags::empty());
        };
        peer.ask(Ask::List(path), Vec::new(), Box::new(then));
    }

    /// Closes a folder.
    pub fn close_folder(&self, folder: &OpenFolder) {
        if let Some((epoch, handle)) = folder.state().more.take() {
            let close = Ask::Close(handle);
            self.peer(&folder.inode).ask_in(epoch, close, Vec::new(), Box::new(|_| {}));
        }
    }

    /// Gives entries, as soon as they are here.
    pub fn list(self: &Arc<Self>, folder: &Arc<OpenFolder>, want: Want) {
        let place = want.place();
        let mut state = folder.state();
        let age_ns = clock::now_ns().saturating_sub(state.began_ns);
        let is_anew = place == 0 && age_ns > OLD_NS;
        if (is_anew || place.saturating_sub(DOTS) < state.base) && !state.is_asked {
            return self.begin_anew(folder, state, want);
        }
        let at = place.saturating_sub(DOTS).saturating_sub(state.base) as usize;
        if at >= state.entries.len() && state.failed.is_none() {
            if state.is_asked {
                return state.waiting.push(want);
            }
            if state.more.is_some() {
                state.waiting.push(want);
                return self.go_on(folder, state);
            }
        }
        if let Some(error) = state.failed {
            drop(state);
            return want.refuse(error);
        }
        let given = self.fill(folder, &state, want);
        let done = given.saturating_sub(DOTS).saturating_sub(state.base) as usize;
        if done > BACK {
            let drop_first = (done - BACK).min(state.entries.len());
            state.entries.drain(..drop_first);
            state.base += drop_first as u64;
        }
        let left = (state.base + state.entries.len() as u64 + DOTS).saturating_sub(given);
        if left < FEW as u64 && state.more.is_some() && !state.is_asked {
            self.go_on(folder, state);
        }
    }

    fn begin_anew(
        self: &Arc<Self>,
        folder: &Arc<OpenFolder>,
        mut state: MutexGuard<'_, State>,
        want: Want,
    ) {
        let Some(path) = folder.inode.path() else {
            drop(state);
            return want.refuse(Errno::STALE);
        };
        let old = state.more.take();
        *state = State { waiting: vec![want], is_asked: true, ..State::default() };
        drop(state);
        if let Some((epoch, handle)) = old {
            let close = Ask::Close(handle);
            self.peer(&folder.inode).ask_in(epoch, close, Vec::new(), Box::new(|_| {}));
        }
        let then = self.taking(folder);
        self.peer(&folder.inode).ask(Ask::List(path), Vec::new(), then);
    }

    fn go_on(self: &Arc<Self>, folder: &Arc<OpenFolder>, mut state: MutexGuard<'_, State>) {
        let Some((epoch, handle)) = state.more.take() else { return };
        state.is_asked = true;
        drop(state);
        let then = self.taking(folder);
        self.peer(&folder.inode).ask_in(epoch, Ask::ListOn(handle), Vec::new(), then);
    }

    /// What is done with further entries.
    fn taking(self: &Arc<Self>, folder: &Arc<OpenFolder>) -> crate::peer::Then {
        let (mount, folder) = (Arc::clone(self), Arc::clone(folder));
        Box::new(move |outcome| {
            let waiting = {
                let mut state = folder.state();
                state.is_asked = false;
                if let Err(error) = state.take(outcome) {
                    state.failed = Some(error);
                }
                std::mem::take(&mut state.waiting)
            };
            waiting.into_iter().for_each(|want| mount.list(&folder, want));
        })
    }

    /// Answers with the entries that are here; the place behind the last one.
    fn fill(&self, folder: &OpenFolder, state: &State, want: Want) -> u64 {
        let mut place = want.place();
        match want {
            Want::Plain(_, mut reply) => {
                while let Some((name, entry)) = state.at(place) {
                    let (number, kind) = match entry {
                        None => (folder.inode.number, FileType::Directory),
                        Some(entry) => {
                            let number = Inodes::number(folder.inode.peer, &entry.attr);
                            (number, attr::kind(entry.attr.kind))
                        }
                    };
                    if reply.add(INodeNo(number), place + 1, kind, name) {
                        break;
                    }
                    place += 1;
                }
                reply.ok();
            }
            Want::Plus(_, mut reply) => {
                while let Some((name, entry)) = state.at(place) {
                    if self.add_plus(folder, &mut reply, place, name, entry) {
                        break;
                    }
                    place += 1;
                }
                reply.ok();
            }
        }
        place
    }

    fn add_plus(
        &self,
        folder: &OpenFolder,
        reply: &mut ReplyDirectoryPlus,
        place: u64,
        name: &OsStr,
        entry: Option<&Entry>,
    ) -> bool {
        let Some(entry) = entry else {
            // The kernel looks at no more than these names.
            let own = attr::own(FileType::Directory, TOP, 0o755, 0);
            return reply.add(own.ino, place + 1, name, &BELIEVED, &own, Generation(0));
        };
        let inode = self.inodes.tell(&folder.inode, &entry.name, &entry.attr);
        let attr = inode.flow().with_written(entry.attr);
        let attr = attr::to_kernel(inode.number, &attr);
        let full = reply.add(attr.ino, place + 1, name, &BELIEVED, &attr, Generation(0));
        if full {
            self.inodes.forget(inode.number, 1);
        }
        full
    }
}

impl State {
    /// Takes what the node has listed.
    fn take(&mut self, outcome: Result<Reply, Errno>) -> Result<(), Errno> {
        let Reply { answer, epoch, .. } = outcome?;
        let Answer::Listed { more, entries } = answer else { return Err(Errno::IO) };
        if self.began_ns == 0 {
            self.began_ns = clock::now_ns();
        }
        self.more = more.map(|handle| (epoch, handle));
        self.entries.extend(entries);
        Ok(())
    }

    /// The name at a place, and its entry; none of the first two has one.
    fn at(&self, place: u64) -> Option<(&OsStr, Option<&Entry>)> {
        match place {
            0 => Some((OsStr::new("."), None)),
            1 => Some((OsStr::new(".."), None)),
            _ => {
                let at = usize::try_from((place - DOTS).checked_sub(self.base)?).ok()?;
                let entry = self.entries.get(at)?;
                Some((OsStr::from_bytes(&entry.name), Some(entry)))
            }
        }
    }
}

impl Want {
    fn place(&self) -> u64 {
        match self {
            Self::Plain(place, _) | Self::Plus(place, _) => *place,
        }
    }

    fn refuse(self, error: Errno) {
        match self {
            Self::Plain(_, reply) => reply.error(errno(error)),
            Self::Plus(_, reply) => reply.error(errno(error)),
        }
    }
}
