//! Lists directories of nodes. A node sends many entries and their attributes in one reply, before
//! the reader asks for them.

use std::ffi::OsStr;
use std::sync::Arc;

use fuser::{FileHandle, FileType, FopenFlags, Generation, INodeNo, ReplyDirectoryPlus, ReplyOpen};
use garland_protocol::files::{Ask, Entry};
use garland_sys::sync::MutexGuard;
use rustix::io::Errno;

use super::Mount;
use super::attr::{self, CACHE_TIMEOUT, errno};
use super::folder::{Listing, OpenFolder, Step, Want};
use super::held::validity;
use super::inode::Inode;
use super::inodes::{Inodes, TOP};
use super::open::Open;
use crate::peer::{Reply, Then};

impl Mount {
    /// Opens a directory and fetches its first entries.
    pub fn open_folder(self: &Arc<Self>, inode: Arc<Inode>, reply: ReplyOpen) {
        let Some(path) = inode.path() else { return reply.error(errno(Errno::STALE)) };
        let mount = Arc::clone(self);
        let peer = Arc::clone(self.peer(&inode));
        let then = move |outcome: Result<Reply, Errno>| match OpenFolder::new(inode, outcome) {
            Ok(folder) => {
                let handle = mount.opens.keep(Open::Folder(Arc::new(folder)));
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(error) => reply.error(errno(error)),
        };
        peer.ask(Ask::List(path), Vec::new(), Box::new(then));
    }

    /// Closes an open directory, and its listing on the node.
    pub fn close_folder(&self, folder: &OpenFolder) {
        let listing = folder.listing().close();
        self.close_listing(folder, listing);
    }

    /// Replies to a reader as soon as the entries that it wants have arrived.
    pub fn list(self: &Arc<Self>, folder: &Arc<OpenFolder>, want: Want) {
        self.serve_reader(folder, want, false);
    }

    fn serve_reader(self: &Arc<Self>, folder: &Arc<OpenFolder>, want: Want, has_waited: bool) {
        let mut listing = folder.listing();
        match listing.step(want, has_waited) {
            Step::Anew(want) => self.begin_anew(folder, listing, want),
            Step::GoOn => self.go_on(folder, listing),
            Step::Wait => {}
            Step::Refuse(want, error) => {
                drop(listing);
                want.refuse(error);
            }
            Step::Give(want) => {
                let given = self.fill(folder, &listing, want);
                if listing.gave(given) {
                    self.go_on(folder, listing);
                }
            }
        }
    }

    fn begin_anew(
        self: &Arc<Self>,
        folder: &Arc<OpenFolder>,
        mut listing: MutexGuard<'_, Listing>,
        want: Want,
    ) {
        let Some(path) = folder.inode.path() else {
            drop(listing);
            return want.refuse(Errno::STALE);
        };
        let old = listing.begin_anew(want);
        drop(listing);
        self.close_listing(folder, old);
        let then = self.taking(folder);
        self.peer(&folder.inode).ask(Ask::List(path), Vec::new(), then);
    }

    fn go_on(self: &Arc<Self>, folder: &Arc<OpenFolder>, mut listing: MutexGuard<'_, Listing>) {
        let Some((epoch, handle)) = listing.ask_for_more() else { return };
        drop(listing);
        let then = self.taking(folder);
        self.peer(&folder.inode).ask_in(epoch, Ask::ListOn(handle), Vec::new(), then);
    }

    fn close_listing(&self, folder: &OpenFolder, listing: Option<(u64, u64)>) {
        if let Some((epoch, handle)) = listing {
            let close = Ask::Close(handle);
            self.peer(&folder.inode).ask_in(epoch, close, Vec::new(), Box::new(|_| {}));
        }
    }

    /// Returns a continuation that stores the entries of a reply and serves the readers that wait
    /// for them.
    fn taking(self: &Arc<Self>, folder: &Arc<OpenFolder>) -> Then {
        let mount = Arc::clone(self);
        let folder = Arc::clone(folder);
        Box::new(move |outcome| {
            let waiting = folder.listing().answered(outcome);
            // On the stack of who asked if the node is lost: nobody may ask again for that.
            waiting.into_iter().for_each(|want| mount.serve_reader(&folder, want, true));
        })
    }

    /// Replies with as many available entries as fit. Returns the offset after the last one.
    fn fill(&self, folder: &OpenFolder, listing: &Listing, want: Want) -> u64 {
        let mut offset = want.offset();
        match want {
            Want::Plain(_, mut reply) => {
                while let Some((name, entry)) = listing.at(offset) {
                    let (number, kind) = match entry {
                        None => (folder.inode.number, FileType::Directory),
                        Some(entry) => {
                            let inode = Inodes::number(folder.inode.peer, &entry.attr);
                            (inode, attr::kind(entry.attr.kind))
                        }
                    };
                    if reply.add(INodeNo(number), offset + 1, kind, name) {
                        break;
                    }
                    offset += 1;
                }
                reply.ok();
            }
            Want::Plus(_, mut reply) => {
                while let Some((name, entry)) = listing.at(offset) {
                    if self.add_plus(folder, &mut reply, offset, name, entry) {
                        break;
                    }
                    offset += 1;
                }
                reply.ok();
            }
        }
        offset
    }

    fn add_plus(
        &self,
        folder: &OpenFolder,
        reply: &mut ReplyDirectoryPlus,
        offset: u64,
        name: &OsStr,
        entry: Option<&Entry>,
    ) -> bool {
        let Some(entry) = entry else {
            // The kernel ignores the attributes of these names.
            let top = attr::own(FileType::Directory, TOP, 0o755, 0);
            return reply.add(top.ino, offset + 1, name, &CACHE_TIMEOUT, &top, Generation(0));
        };
        let inode = self.inodes.tell(&folder.inode, &entry.name, &entry.attr);
        let mut flow = inode.flow();
        let valid_for = validity(flow.has_attributes());
        let attr = flow.with_written(entry.attr);
        drop(flow);
        let attr = attr::to_kernel(inode.number, &attr);
        let full = reply.add(attr.ino, offset + 1, name, &valid_for, &attr, Generation(0));
        if full {
            self.inodes.forget(inode.number, 1);
        }
        full
    }
}
