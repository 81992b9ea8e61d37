//! Reads files of nodes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fuser::ReplyData;
use garland_core::trace::Stage;
use garland_protocol::files::{Answer, Ask, FileRef, PIECE};
use garland_sys::clock;
use rustix::io::Errno;

use super::Mount;
use super::ahead::{MAX_PIECES_AHEAD, PIECES_MAX, PendingRead, Read, Served};
use super::attr::errno;
use super::cache_stamp::CacheStamp;
use super::inode::OpenFile;
use crate::peer::Reply;

impl Mount {
    /// Reads from an open file. The read begins once the node has acknowledged all writes of this
    /// mount to the file.
    pub fn read(self: &Arc<Self>, file: Arc<OpenFile>, read: Read) {
        self.figures.reads.fetch_add(1, Ordering::Relaxed);
        let mount = Arc::clone(self);
        let inode = Arc::clone(&file.inode);
        self.settle(&inode, Box::new(move || mount.read_settled(&file, read)));
    }

    /// Drops what was read ahead of files that nobody has read for a second, if other files lack
    /// the room for it.
    pub fn drop_idle_pieces(&self) {
        if self.pieces.take().is_none() {
            self.opens.files().iter().for_each(|file| file.ahead().drop_idle());
        }
    }

    fn read_settled(self: &Arc<Self>, file: &Arc<OpenFile>, read: Read) {
        let (version, length) = {
            let flow = file.inode.flow();
            (flow.version, flow.size)
        };
        let in_order = file.ahead().note(read.offset, read.size, version, length);
        if in_order { self.read_in_order(file, read, false) } else { self.read_alone(file, read) }
    }

    fn read_in_order(self: &Arc<Self>, file: &Arc<OpenFile>, read: Read, has_waited: bool) {
        if file.ahead().is_doubtful(&read) {
            self.look_again(file, read, has_waited);
        } else {
            self.serve(file, read, has_waited);
        }
    }

    /// Asks the node whether the file has changed since it was opened. Drops the available pieces
    /// if the file has changed. Then serves the read.
    fn look_again(self: &Arc<Self>, file: &Arc<OpenFile>, read: Read, has_waited: bool) {
        let mount = Arc::clone(self);
        let file_then = Arc::clone(file);
        let asked_ns = clock::now_ns();
        let then = move |outcome: Result<Reply, Errno>| {
            let seen = match outcome.map(|came| came.answer) {
                Ok(Answer::Attr(attr)) => Some(CacheStamp::from_attr(&attr)),
                Ok(_) | Err(_) => None,
            };
            file_then.ahead().look(seen, asked_ns);
            mount.serve(&file_then, read, has_waited);
        };
        let ask = Ask::Stat(FileRef::Open(file.handle));
        self.peer(&file.inode).ask_in(file.epoch, ask, Vec::new(), Box::new(then));
    }

    fn serve(self: &Arc<Self>, file: &Arc<OpenFile>, read: Read, has_waited: bool) {
        let length = file.inode.flow().size;
        let most =
            (PIECES_MAX as u64 / self.opens.count().max(1) as u64).clamp(1, MAX_PIECES_AHEAD);
        let since_ns = read.since_ns;
        let size = u64::from(read.size);
        let (served, ask) = file.ahead().serve(read, length, most, &self.pieces);
        match served {
            Served::Bytes(parts, reply) => {
                if has_waited {
                    self.recording.note(Stage::WaitUpstream, file.inode.peer, since_ns, size);
                } else {
                    self.figures.ahead.fetch_add(1, Ordering::Relaxed);
                }
                give(&parts, reply);
            }
            Served::Alone(read) => self.read_alone(file, read),
            Served::Waits => {}
        }
        for (index, asked) in ask {
            self.fetch(file, index, asked);
        }
    }

    fn fetch(self: &Arc<Self>, file: &Arc<OpenFile>, index: u64, asked: Arc<PendingRead>) {
        let mount = Arc::clone(self);
        let file_then = Arc::clone(file);
        let ask = Ask::Read(file.handle, index * u64::from(PIECE), PIECE);
        let then = move |outcome: Result<Reply, Errno>| {
            let file = file_then;
            let (piece, error) = match outcome {
                Ok(reply) => (Some(Arc::new(reply)), Errno::IO),
                Err(error) => (None, error),
            };
            let came = piece.is_some();
            file.ahead().come(index, &asked, piece, clock::now_ns());
            for read in asked.take() {
                if came {
                    mount.read_in_order(&file, read, true);
                } else {
                    read.reply.error(errno(error));
                }
            }
        };
        self.peer(&file.inode).ask_in(file.epoch, ask, Vec::new(), Box::new(then));
    }

    fn read_alone(&self, file: &OpenFile, read: Read) {
        let Read { offset, size, reply, .. } = read;
        let then = move |outcome: Result<Reply, Errno>| match outcome {
            Ok(came) => reply.data(came.payload()),
            Err(error) => reply.error(errno(error)),
        };
        let ask = Ask::Read(file.handle, offset, size.min(PIECE));
        self.peer(&file.inode).ask_in(file.epoch, ask, Vec::new(), Box::new(then));
    }
}

fn give(parts: &[(Arc<Reply>, usize, usize)], reply: ReplyData) {
    match parts {
        [(piece, from, to)] => reply.data(&piece.payload()[*from..*to]),
        _ => {
            let all: Vec<&[u8]> =
                parts.iter().map(|(piece, from, to)| &piece.payload()[*from..*to]).collect();
            reply.data(&all.concat());
        }
    }
}
