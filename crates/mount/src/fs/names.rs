//! Looks up, creates and renames names; reads and sets attributes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fuser::{FileType, Generation, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyStatfs};
use garland_protocol::files::{Answer, Ask, Attr, Changes, FileKind, FileRef, NewKind};
use rustix::io::Errno;

use super::Mount;
use super::attr::{self, CACHE_TIMEOUT, errno};
use super::held::validity;
use super::inode::{Inode, Key};
use super::top::node_number;
use crate::peer::{Reply, Then};

impl Mount {
    /// Replies with the inode that has a name in a directory of a node.
    pub fn look_up(self: &Arc<Self>, above: Arc<Inode>, name: Vec<u8>, reply: ReplyEntry) {
        self.figures.lookups.fetch_add(1, Ordering::Relaxed);
        let Some(path) = above.path_of(&name) else { return reply.error(errno(Errno::STALE)) };
        self.enter(above, name, Ask::Stat(FileRef::Path(path)), reply);
    }

    /// Creates a directory, link or special file in a directory.
    pub fn make(
        self: &Arc<Self>,
        above: Arc<Inode>,
        name: Vec<u8>,
        kind: NewKind,
        mode: u32,
        reply: ReplyEntry,
    ) {
        let Some(path) = above.path_of(&name) else { return reply.error(errno(Errno::STALE)) };
        self.enter(above, name, Ask::Make(path, kind, (mode & 0o7777) as u16), reply);
    }

    /// Creates a hard link to a file.
    pub fn link(
        self: &Arc<Self>,
        inode: &Arc<Inode>,
        above: Arc<Inode>,
        name: Vec<u8>,
        reply: ReplyEntry,
    ) {
        if inode.peer != above.peer {
            return reply.error(errno(Errno::XDEV));
        }
        let (Some(from), Some(to)) = (inode.path(), above.path_of(&name)) else {
            return reply.error(errno(Errno::STALE));
        };
        self.enter(above, name, Ask::Link(from, to), reply);
    }

    /// Sends `ask`, a request whose answer contains the attributes of `name` in `above`, and
    /// replies with the inode that has this name.
    fn enter(self: &Arc<Self>, above: Arc<Inode>, name: Vec<u8>, ask: Ask, reply: ReplyEntry) {
        let mount = Arc::clone(self);
        let peer = Arc::clone(self.peer(&above));
        let told = self.told();
        let then = move |outcome: Result<Reply, Errno>| match attributes(outcome) {
            Err(error) => {
                if error == Errno::NOENT {
                    mount.inodes.unname(above.number, &name);
                }
                reply.error(errno(error));
            }
            Ok(attr) => {
                let inode = mount.inodes.tell(&above, &name, &attr);
                let mut flow = inode.flow();
                let valid_for = validity(flow.has_attributes() && told == mount.told());
                let attr = flow.with_written(attr);
                drop(flow);
                reply.entry(&valid_for, &attr::to_kernel(inode.number, &attr), Generation(0));
            }
        };
        peer.ask(ask, Vec::new(), Box::new(then));
    }

    /// Replies with the root of the node at index `place`, which exists even while the node is
    /// down.
    pub fn look_up_node(&self, place: usize, reply: ReplyEntry) {
        let then = move |outcome: Result<Reply, Errno>| {
            let attr = node_attr(place, attributes(outcome));
            reply.entry(&CACHE_TIMEOUT, &attr, Generation(0));
        };
        self.peers[place].ask(Ask::Stat(FileRef::Path(Vec::new())), Vec::new(), Box::new(then));
    }

    /// Replies with the attributes of an inode; `handle` is the open file that the kernel named, if
    /// any.
    pub fn stat(self: &Arc<Self>, inode: Arc<Inode>, handle: Option<u64>, reply: ReplyAttr) {
        let mount = Arc::clone(self);
        let settled = Arc::clone(&inode);
        let was_held = inode.flow().let_go_for_attributes();
        let then = move || {
            // The node has answered with the attributes already, unless there were later writes.
            let landed = settled.flow().landed.take().filter(|_| was_held);
            match landed {
                Some(attr) => answer_attr(&settled, Ok(attr), reply),
                None => mount.stat_settled(settled, handle, reply),
            }
        };
        self.settle(&inode, Box::new(then));
    }

    fn stat_settled(self: &Arc<Self>, inode: Arc<Inode>, handle: Option<u64>, reply: ReplyAttr) {
        let of = Arc::clone(&inode);
        let then = move |outcome: Result<Reply, Errno>| match attributes(outcome) {
            outcome if inode.key.is_none() => {
                reply.attr(&CACHE_TIMEOUT, &node_attr(inode.peer, outcome));
            }
            outcome => answer_attr(&inode, outcome, reply),
        };
        self.ask_about(of, handle, false, Ask::Stat, Box::new(then));
    }

    /// Sends a request about a file, which [`spot`](Self::spot) identifies by a handle or the path.
    /// `handle` is the open file that the kernel named, if any; `writes` says whether the request
    /// changes contents. If the node does not know a handle that the kernel did not name, sends the
    /// request again with the path.
    fn ask_about(
        &self,
        inode: Arc<Inode>,
        handle: Option<u64>,
        writes: bool,
        ask: impl Fn(FileRef) -> Ask + Send + 'static,
        then: Then,
    ) {
        let Some((spot, epoch)) = self.spot(&inode, handle, writes) else {
            return then(Err(Errno::STALE));
        };
        let peer = Arc::clone(self.peer(&inode));
        let Some(epoch) = epoch else { return peer.ask(ask(spot), Vec::new(), then) };
        let first = ask(spot);
        let again = Arc::clone(&peer);
        let finish = move |outcome: Result<Reply, Errno>| match (outcome, inode.path()) {
            (Err(Errno::BADF), Some(path)) if handle.is_none() => {
                again.ask(ask(FileRef::Path(path)), Vec::new(), then);
            }
            (outcome, _) => then(outcome),
        };
        peer.ask_in(epoch, first, Vec::new(), Box::new(finish));
    }

    /// Changes attributes of a file after all writes of this mount to it are acknowledged.
    pub fn change(
        self: &Arc<Self>,
        inode: Arc<Inode>,
        handle: Option<u64>,
        changes: Changes,
        reply: ReplyAttr,
    ) {
        {
            let mut flow = inode.flow();
            if let Some(attr) = flow.held.as_mut().and_then(|held| held.change(&changes)) {
                // The kernel asks again for the times that the node will set.
                return reply.attr(&Duration::ZERO, &attr::to_kernel(inode.number, &attr));
            }
        }
        let mount = Arc::clone(self);
        let settled = Arc::clone(&inode);
        let then = move || {
            let inode = settled;
            let cuts = changes.size.is_some();
            if cuts {
                inode.flow().version += 1;
            }
            let of = Arc::clone(&inode);
            // Its last known name may be another file's by now.
            let only = inode.key.map(Key::file_number);
            let then = move |outcome: Result<Reply, Errno>| {
                if cuts {
                    inode.flow().version += 1;
                }
                match attributes(outcome) {
                    Ok(attr) if inode.key.is_none() => {
                        reply.attr(&CACHE_TIMEOUT, &node_attr(inode.peer, Ok(attr)));
                    }
                    outcome => answer_attr(&inode, outcome, reply),
                }
            };
            let ask = move |spot| Ask::Change(spot, Changes { only, ..changes.clone() });
            mount.ask_about(of, handle, cuts, ask, Box::new(then));
        };
        self.settle(&inode, Box::new(then));
    }

    /// Returns how a request identifies a file: by the handle that the kernel named, else by any
    /// open handle (since names may be gone or belong to other files), else by the path. If
    /// `writes` is set, the path is preferred to handles that the kernel did not name. For a
    /// handle, also returns the epoch of its connection.
    fn spot(
        &self,
        inode: &Arc<Inode>,
        handle: Option<u64>,
        writes: bool,
    ) -> Option<(FileRef, Option<u64>)> {
        let now = self.peer(inode).epoch();
        if let Some(file) = handle.and_then(|handle| self.opens.file(handle)) {
            return Some((FileRef::Open(file.handle), Some(file.epoch)));
        }
        let path = inode.path();
        if writes && let Some(path) = path {
            return Some((FileRef::Path(path), None));
        }
        let flow = inode.flow();
        if let Some(file) = flow.open.iter().find(|file| Some(file.epoch) == now) {
            return Some((FileRef::Open(file.handle), Some(file.epoch)));
        }
        drop(flow);
        inode.path().map(|path| (FileRef::Path(path), None))
    }

    /// Removes a name from a directory of a node.
    pub fn remove(
        self: &Arc<Self>,
        above: Arc<Inode>,
        name: Vec<u8>,
        folder: bool,
        reply: ReplyEmpty,
    ) {
        let Some(path) = above.path_of(&name) else { return reply.error(errno(Errno::STALE)) };
        let mount = Arc::clone(self);
        let peer = Arc::clone(self.peer(&above));
        let then = move |outcome: Result<Reply, Errno>| match outcome {
            Ok(_) => {
                mount.inodes.unname(above.number, &name);
                reply.ok();
            }
            Err(error) => reply.error(errno(error)),
        };
        let ask = if folder { Ask::RemoveFolder(path) } else { Ask::Remove(path) };
        peer.ask(ask, Vec::new(), Box::new(then));
    }

    /// Renames a file or directory; both names must be on one node.
    pub fn rename(
        self: &Arc<Self>,
        from: (Arc<Inode>, Vec<u8>),
        to: (Arc<Inode>, Vec<u8>),
        flags: u32,
        reply: ReplyEmpty,
    ) {
        const EXCHANGE: u32 = 2;
        if from.0.peer != to.0.peer {
            return reply.error(errno(Errno::XDEV));
        }
        let Ok(short) = u8::try_from(flags) else { return reply.error(errno(Errno::INVAL)) };
        let (Some(old), Some(new)) = (from.0.path_of(&from.1), to.0.path_of(&to.1)) else {
            return reply.error(errno(Errno::STALE));
        };
        let mount = Arc::clone(self);
        let peer = Arc::clone(self.peer(&from.0));
        let then = move |outcome: Result<Reply, Errno>| match outcome {
            Ok(_) => {
                let exchange = flags & EXCHANGE != 0;
                mount.inodes.rename((from.0.number, &from.1), (&to.0, &to.1), exchange);
                reply.ok();
            }
            Err(error) => reply.error(errno(error)),
        };
        peer.ask(Ask::Rename(old, new, short), Vec::new(), Box::new(then));
    }

    /// Replies with the target of a symbolic link.
    pub fn read_link(&self, inode: &Arc<Inode>, reply: ReplyData) {
        let Some(path) = inode.path() else { return reply.error(errno(Errno::STALE)) };
        let then = move |outcome: Result<Reply, Errno>| match outcome.map(|came| came.answer) {
            Ok(Answer::Text(text)) => reply.data(&text),
            Ok(_) => reply.error(errno(Errno::IO)),
            Err(error) => reply.error(errno(error)),
        };
        self.peer(inode).ask(Ask::ReadLink(path), Vec::new(), Box::new(then));
    }

    /// Replies whether the user that the node's agent runs as has the access `what` to a file.
    pub fn may(&self, inode: &Arc<Inode>, what: i32, reply: ReplyEmpty) {
        let Some(path) = inode.path() else { return reply.error(errno(Errno::STALE)) };
        let then = move |outcome: Result<Reply, Errno>| match outcome {
            Ok(_) => reply.ok(),
            Err(error) => reply.error(errno(error)),
        };
        let ask = Ask::Access(path, (what & 7) as u8);
        self.peer(inode).ask(ask, Vec::new(), Box::new(then));
    }

    /// Replies once the names in a directory are on the node's stable storage. The node has made
    /// all of them before it replied to whoever made them.
    pub fn sync_folder(&self, inode: &Arc<Inode>, reply: ReplyEmpty) {
        let Some(path) = inode.path() else { return reply.error(errno(Errno::STALE)) };
        let then = move |outcome: Result<Reply, Errno>| match outcome {
            Ok(_) => reply.ok(),
            Err(error) => reply.error(errno(error)),
        };
        self.peer(inode).ask(Ask::SyncFolder(path), Vec::new(), Box::new(then));
    }

    /// Replies with the total and the free space of the file system that contains a file.
    pub fn space(&self, inode: &Arc<Inode>, reply: ReplyStatfs) {
        let path = inode.path().unwrap_or_default();
        let then = move |outcome: Result<Reply, Errno>| match outcome.map(|came| came.answer) {
            Ok(Answer::Space(space)) => reply.statfs(
                space.blocks,
                space.free,
                space.available,
                space.files,
                space.files_free,
                space.block,
                space.name_max,
                space.block,
            ),
            Ok(_) => reply.error(errno(Errno::IO)),
            Err(error) => reply.error(errno(error)),
        };
        self.peer(inode).ask(Ask::Space(path), Vec::new(), Box::new(then));
    }
}

fn attributes(outcome: Result<Reply, Errno>) -> Result<Attr, Errno> {
    match outcome?.answer {
        Answer::Attr(attr) => Ok(attr),
        _ => Err(Errno::IO),
    }
}

fn answer_attr(inode: &Arc<Inode>, outcome: Result<Attr, Errno>, reply: ReplyAttr) {
    match outcome {
        Err(error) => reply.error(errno(error)),
        // Another file has this name now; the next lookup finds it.
        Ok(attr) if inode.key != Some(Key::from_attr(inode.peer, &attr)) => {
            reply.error(errno(Errno::STALE));
        }
        Ok(attr) => {
            let attr = inode.flow().with_written(attr);
            reply.attr(&CACHE_TIMEOUT, &attr::to_kernel(inode.number, &attr));
        }
    }
}

/// Returns the attributes of the root of the node at index `place`; those of an empty directory if
/// the node is down, or says that its root is none: nothing there may lead elsewhere.
fn node_attr(place: usize, outcome: Result<Attr, Errno>) -> fuser::FileAttr {
    let number = node_number(place);
    match outcome {
        Ok(attr) if attr.kind == FileKind::Folder => attr::to_kernel(number, &attr),
        Ok(_) | Err(_) => attr::own(FileType::Directory, number, 0o555, 0),
    }
}

#[cfg(test)]
mod tests {
    use garland_protocol::files::Stamp;

    use super::*;

    #[test]
    fn the_root_of_a_node_is_a_directory_whatever_its_agent_says() {
        let zero = Stamp::default();
        let root = Attr {
            kind: FileKind::Folder,
            mode: 0o120_755,
            links: 1,
            user: 7,
            group: 8,
            number: 0,
            size: 0,
            blocks: 0,
            device: 1,
            inode: 2,
            born: zero,
            accessed: zero,
            modified: zero,
            changed: zero,
        };
        let shown = node_attr(0, Ok(root));
        assert_eq!((shown.kind, shown.perm, shown.uid), (FileType::Directory, 0o755, 7));
        let shown = node_attr(0, Ok(Attr { kind: FileKind::Link, ..root }));
        assert_eq!((shown.kind, shown.perm), (FileType::Directory, 0o555));
    }
}
