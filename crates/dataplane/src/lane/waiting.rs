//! Makes a lane wait for commands, frames and requests.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use garland_core::trace::Stage;
use garland_protocol::copy::{
    FRAME_LEN, Frame, Kind, LinkSide, RESUME_WITHIN_NS, RelayEvent, Sink,
};
use garland_sys::{clock, event};
use garland_transport::LinkError;

use super::{Fed, Lane};
use crate::context::{Awaited, Link, Notice};

/// The links of a lane that begins to wait, and what it may do.
struct Waiting<'a> {
    up: Option<&'a Link>,
    downs: &'a [Link],
    /// Whether it may read from the upstream.
    reads: bool,
    /// Whether only the writer keeps it from reading.
    held: bool,
}

impl Lane {
    /// Waits for a command, a frame from the upstream if it may be read, or a request from a
    /// downstream, and handles what arrives on the links. If a block was `fed`, there may be more
    /// to send: only handles what has already arrived. After a requested block that includes the
    /// upstream's next one, so that requests without end do not stop the lane.
    pub(super) fn wait(&mut self, fed: Fed) -> io::Result<()> {
        let more = fed != Fed::Nothing;
        let up = self.up();
        let downs = self.handle.links(LinkSide::Down);
        let (may_read, held, up_over, awaited) = {
            let sink = self.copy.progress.sink();
            let may_read = fed != Fed::InOrder && self.relay.may_read(&sink);
            let held = !more && self.relay.is_held(&sink);
            let waiting = Waiting { up: up.as_ref(), downs: &downs, reads: may_read, held };
            let awaited = self.awaited(&waiting, &sink);
            (may_read, held, self.relay.is_up_over(&sink), awaited)
        };
        let at_rest = !more
            && (up.is_none() || up_over)
            && downs.iter().all(|down| self.relay.is_down_over(down.epoch));
        self.handle.at_rest.store(at_rest, Ordering::SeqCst);
        let up = up.filter(|_| may_read);
        let links = up.iter().chain(&downs).map(|link| link.stream.as_fd());
        let fds: Vec<_> = std::iter::once(self.handle.wake.as_fd()).chain(links).collect();
        let stage = awaited.filter(|_| !more && !at_rest);
        let began = self.tracer.awaits(stage.map_or(Awaited::Rest, Awaited::from_stage));
        // A wait until this node may read the next block of a stream is a wait for its writer, like
        // one for a buffer.
        let since = held.then(|| self.copy.pool.begin_waiting());
        let patience = if more { Some(Duration::ZERO) } else { self.until_overdue(&downs) };
        // What arrives while this thread stands still has come in time.
        let looked_ns = clock::now_ns();
        let ready = event::wait_readable(&fds, patience);
        since.into_iter().for_each(|since| self.copy.pool.end_waiting(since));
        match stage {
            Some(stage) => self.tracer.waited(stage, began),
            None => self.tracer.rested(began),
        }
        self.handle.at_rest.store(false, Ordering::SeqCst);
        let ready = ready?;
        if self.copy.is_closing() {
            return Ok(());
        }
        let asking = downs.iter().zip(&ready[1 + usize::from(up.is_some())..]);
        for (down, ready) in asking {
            if *ready {
                self.read_down(down);
            } else if self.is_overdue(down, looked_ns) {
                self.handle(RelayEvent::Overdue(down.epoch));
            }
        }
        if up.is_some() && ready[1] {
            // A connection goes to the pool only if nothing else uses it.
            drop(up);
            match self.copy.config.link_pool.clone() {
                Some(link_pool) if up_over => self.hand_over_upstream(&link_pool),
                _ => self.read_up(),
            }
        }
        Ok(())
    }

    /// Returns the time until a link downstream is overdue; `None` if none can become so.
    fn until_overdue(&self, downs: &[Link]) -> Option<Duration> {
        let awaited = downs.iter().filter(|down| self.relay.awaits_resume(down.epoch));
        awaited.map(|down| clock::until(resumes_by(down))).min()
    }

    /// Returns whether at `now_ns` the other end of a link downstream was late in requesting the
    /// lane's blocks.
    fn is_overdue(&self, down: &Link, now_ns: u64) -> bool {
        self.relay.awaits_resume(down.epoch) && now_ns >= resumes_by(down)
    }

    /// Returns the stage for the trace that tells what the lane waits for: the upstream, a
    /// downstream, a buffer or the writer, or permission to send; none if it has no work.
    fn awaited(&self, waiting: &Waiting<'_>, sink: &Sink) -> Option<Stage> {
        let &Waiting { up, downs, reads, held } = waiting;
        let route = self.relay.route();
        if held {
            Some(Stage::WaitBuffer)
        } else if up.is_none() && route.upstream.is_some() || reads && self.relay.is_owed() {
            Some(Stage::WaitUpstream)
        } else if downs.len() < route.downstreams.len() {
            Some(Stage::WaitDownstream)
        } else if self.relay.is_behind_writer(sink) {
            Some(Stage::WaitBuffer)
        } else if downs.iter().any(|down| !self.relay.is_down_over(down.epoch)) {
            Some(Stage::Control)
        } else {
            None
        }
    }

    fn read_down(&mut self, down: &Link) {
        let epoch = down.epoch;
        let Some((frame, _)) = self.read_frame(down) else { return };
        if frame.kind == Kind::Resume {
            self.begin_digests(epoch, frame.index);
        }
        self.handle(match frame.kind {
            Kind::Have => RelayEvent::Have(epoch, frame.index, frame.bits),
            kind => RelayEvent::Requested(epoch, kind, frame.index),
        });
    }

    pub(super) fn read_up(&mut self) {
        let Some(up) = self.up() else { return };
        if let Some((frame, header)) = self.read_frame(&up) {
            self.take_frame(frame, header);
        }
    }

    /// Reads what has arrived of a link's next frame header; returns the frame if that is all of
    /// it. Never waits for the rest: the other links have work meanwhile.
    fn read_frame(&mut self, link: &Link) -> Option<(Frame, [u8; FRAME_LEN])> {
        let mut partial = self.unfinished.take(link.side, link.epoch);
        match partial.read(&link.stream, &self.copy.codec.keys) {
            Ok(frame) => {
                self.unfinished.keep(link.side, link.epoch, partial);
                frame
            }
            Err(error) => {
                self.lose_unreadable(link, &error);
                None
            }
        }
    }

    /// Closes a link from which a frame could not be read. A corrupt frame is first reported to the
    /// head; the head ignores reports on links that have been replaced.
    fn lose_unreadable(&mut self, link: &Link, error: &LinkError) {
        if let LinkError::Frame(_) = error {
            self.copy.tell(Notice::BadFrame(self.number, link.epoch, link.side));
        }
        self.lose(link.side, link.epoch, error.to_string());
    }
}

/// Returns when the other end of a link downstream must have requested the lane's blocks, in
/// monotonic nanoseconds.
fn resumes_by(down: &Link) -> u64 {
    down.opened_ns.saturating_add(RESUME_WITHIN_NS)
}
