//! Writes to files of nodes, and waits until writes are acknowledged.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fuser::{ReplyEmpty, ReplyWrite};
use garland_core::trace::Stage;
use garland_protocol::files::{Answer, Ask};
use garland_protocol::wire::FRAME_HEAD;
use garland_sys::{clock, threads};
use rustix::io::Errno;

use super::Mount;
use super::attr::errno;
use super::behind::Flight;
use super::inode::{Inode, OpenFile, Settled, Waiter};
use crate::peer::Reply;

/// The errors by which a file system of a node refuses attributes, and not the bytes.
const REFUSALS: [Errno; 4] = [Errno::PERM, Errno::INVAL, Errno::OPNOTSUPP, Errno::NOSYS];

/// The time in nanoseconds after which what is held is sent, although the file is still open.
const HELD_NS: u64 = 1_000_000_000;

/// The pause between two looks whether the nodes have all that was written.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

impl Mount {
    /// Queues bytes to be written at the offset `at`. Replies at once if the window has space. If
    /// the write fails later, the next write, fsync or close reports the error.
    pub fn write(self: &Arc<Self>, file: &Arc<OpenFile>, at: u64, data: &[u8], reply: ReplyWrite) {
        if let Err(error) = file.check() {
            return reply.error(errno(error));
        }
        self.figures.writes.fetch_add(1, Ordering::Relaxed);
        let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let window = &self.windows[file.inode.peer];
        {
            let mut flow = file.inode.flow();
            flow.version += 1;
            flow.size = flow.size.max(at + data.len() as u64);
            let may_hold = window.may_hold();
            let is_held =
                flow.held.as_mut().is_some_and(|held| may_hold && held.put(file, at, data));
            if is_held {
                drop(flow);
                return window.take(bytes, reply);
            }
            flow.let_go();
            flow.behind.put(file, at, data, file.append);
        }
        window.take(bytes, reply);
        self.send(&file.inode);
    }

    /// Sends what has been held for more than a second: its files may stay open for hours.
    pub fn send_held(self: &Arc<Self>) {
        for file in self.opens.files() {
            let is_old =
                file.inode.flow().held.as_ref().is_some_and(|held| held.age_ns() > HELD_NS);
            if is_old {
                self.settle(&file.inode, Box::new(|| ()));
            }
        }
    }

    /// Sends what is held, and waits until the nodes have all that was written; for `limit` at
    /// most.
    pub fn write_out(self: &Arc<Self>, limit: Duration) {
        let deadline_ns = clock::now_ns() + limit.as_nanos() as u64;
        self.opens.files().iter().for_each(|file| self.settle(&file.inode, Box::new(|| ())));
        while self.windows.iter().any(|window| window.used() > 0)
            && !clock::until(deadline_ns).is_zero()
        {
            threads::sleep(LOOK_INTERVAL);
        }
    }

    /// Calls `then` as soon as the node has acknowledged all writes that this mount has made to a
    /// file so far. Who writes on delays nobody else.
    pub fn settle(self: &Arc<Self>, inode: &Arc<Inode>, then: Settled) {
        {
            let mut flow = inode.flow();
            flow.let_go();
            if !flow.is_settled() {
                let recording = Arc::clone(&self.recording);
                let peer = inode.peer;
                let since_ns = clock::now_ns();
                let finish = move || {
                    recording.note(Stage::WaitDownstream, peer, since_ns, 0);
                    then();
                };
                let last = flow.behind.last();
                flow.waiting.push_back(Waiter { last, then: Box::new(finish) });
                drop(flow);
                return self.send(inode);
            }
        }
        then();
    }

    /// Replies to a flush, which close(2) causes, once the node has acknowledged all writes; with
    /// an error if one failed.
    pub fn flush(self: &Arc<Self>, file: Arc<OpenFile>, reply: ReplyEmpty) {
        let inode = Arc::clone(&file.inode);
        let then = move || match file.check() {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(error)),
        };
        self.settle(&inode, Box::new(then));
    }

    /// Replies to an fsync once all writes are on the node's stable storage; with an error if one
    /// failed. With `bytes_only`, metadata may be missing (fdatasync(2)).
    pub fn sync(self: &Arc<Self>, file: Arc<OpenFile>, bytes_only: bool, reply: ReplyEmpty) {
        let mount = Arc::clone(self);
        let inode = Arc::clone(&file.inode);
        let then = move || {
            if let Err(error) = file.check() {
                return reply.error(errno(error));
            }
            let ask = Ask::Sync(file.handle, bytes_only);
            let then = move |outcome: Result<Reply, Errno>| match outcome {
                Ok(_) => reply.ok(),
                Err(error) => reply.error(errno(error)),
            };
            mount.peer(&file.inode).ask_in(file.epoch, ask, Vec::new(), Box::new(then));
        };
        self.settle(&inode, Box::new(then));
    }

    /// Sends the writes to a file that may be sent now. One thread does so at a time, and no call
    /// within another: if the node is lost, each write fails as soon as it is sent, and sends the
    /// next one.
    fn send(self: &Arc<Self>, inode: &Arc<Inode>) {
        if std::mem::replace(&mut inode.flow().is_sending, true) {
            return;
        }
        loop {
            let flight = {
                let mut flow = inode.flow();
                let hurry = !flow.waiting.is_empty();
                let flight = flow.behind.take(hurry);
                flow.is_sending = flight.is_some();
                flight
            };
            let Some(flight) = flight else { return };
            self.fly(inode, flight);
        }
    }

    fn fly(self: &Arc<Self>, inode: &Arc<Inode>, flight: Flight<Arc<OpenFile>>) {
        let Flight { number, owner, offset, data, changes } = flight;
        let bytes = data.len() - FRAME_HEAD;
        let has_changes = changes.is_some();
        let ask = match changes {
            Some(changes) => Ask::WriteChange(owner.handle, offset, changes),
            None => Ask::Write(owner.handle, offset),
        };
        let epoch = owner.epoch;
        let mount = Arc::clone(self);
        let landed = Arc::clone(inode);
        let finish = move |outcome: Result<Reply, Errno>| {
            if has_changes {
                mount.told.fetch_add(1, Ordering::AcqRel);
            }
            let attr = match &outcome {
                Ok(Reply { answer: Answer::Attr(attr), .. }) => Some(*attr),
                _ => None,
            };
            if let Err(error) = outcome {
                if has_changes && REFUSALS.contains(&error) {
                    mount.is_refused.store(true, Ordering::Release);
                }
                owner.fail(error);
                landed.flow().seen = None;
                mount.distrust(landed.number);
            }
            let waiting = {
                let mut flow = landed.flow();
                flow.behind.land(number);
                flow.landed = attr;
                // A piece that was read meanwhile may be older than this write.
                flow.version += 1;
                flow.take_settled()
            };
            mount.windows[landed.peer].give_back(bytes, |since_ns, bytes| {
                mount.recording.note(Stage::WaitDownstream, landed.peer, since_ns, bytes);
            });
            waiting.into_iter().for_each(|then| then());
            mount.send(&landed);
        };
        self.peer(inode).ask_in(epoch, ask, data, Box::new(finish));
    }
}

#[cfg(test)]
mod tests;
