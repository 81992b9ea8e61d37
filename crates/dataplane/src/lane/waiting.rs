//! Waiting of a lane for commands, frames and requests.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use garland_core::trace::Stage;
use garland_protocol::{Kind, LinkSide, RelayEvent, Sink};
use garland_sys::event;

use super::Lane;
use crate::context::Awaited;
use garland_transport::link;

impl Lane {
    /// Waits for a command, a frame from upstream if one may be read, or a request from downstream.
    /// Does not wait while there is `more` to send.
    pub(super) fn wait(&mut self, more: bool) -> io::Result<()> {
        let (may_read, held, up_over, awaited) = {
            let sink = self.member.sink();
            let may_read = !more && self.relay.may_read(&sink);
            let held = !more && self.relay.is_held(&sink);
            (may_read, held, self.relay.is_up_over(&sink), self.awaited(may_read, held, &sink))
        };
        let at_rest = !more
            && (self.up.is_none() || up_over)
            && self.downs.iter().all(|(epoch, _)| self.relay.is_down_over(*epoch));
        self.handle.at_rest.store(at_rest, Ordering::SeqCst);
        let up = self.up.as_ref().filter(|_| may_read).map(|(_, stream)| stream.as_fd());
        let downs = self.downs.iter().map(|(_, stream)| stream.as_fd());
        let fds: Vec<_> =
            std::iter::once(self.handle.wake.as_fd()).chain(up).chain(downs).collect();
        let has_up = up.is_some();
        let stage = awaited.filter(|_| !more && !at_rest);
        let began = self.tracer.awaits(stage.map_or(Awaited::Rest, Awaited::of));
        // A wait until this node may read the next block of a stream is a wait for its writer, like
        // one for a buffer.
        let since = held.then(|| self.member.pool.begin_waiting());
        let ready = event::wait_readable(&fds, more.then_some(Duration::ZERO));
        since.into_iter().for_each(|since| self.member.pool.end_waiting(since));
        match stage {
            Some(stage) => self.tracer.waited(stage, began),
            None => self.tracer.rested(began),
        }
        self.handle.at_rest.store(false, Ordering::SeqCst);
        let ready = ready?;
        if self.member.is_closing() {
            return Ok(());
        }
        let downs = self.downs.iter().zip(&ready[1 + usize::from(has_up)..]);
        let asking: Vec<u32> =
            downs.filter(|(_, ready)| **ready).map(|((epoch, _), _)| *epoch).collect();
        asking.into_iter().for_each(|epoch| self.read_down(epoch));
        if has_up && ready[1] {
            match self.member.config.link_pool.clone() {
                Some(link_pool) if up_over => self.hand_over_upstream(&link_pool),
                _ => self.read_up(),
            }
        }
        Ok(())
    }

    /// Returns what the lane waits for: a buffer, the upstream, the downstream, the writer, or
    /// permission to send.
    fn awaited(&self, reads: bool, held: bool, sink: &Sink) -> Option<Stage> {
        if held {
            Some(Stage::WaitBuffer)
        } else if self.up.is_none() && self.route.upstream.is_some()
            || reads && self.relay.is_owed()
        {
            Some(Stage::WaitUpstream)
        } else if self.downs.len() < self.route.downstreams.len() {
            Some(Stage::WaitDownstream)
        } else if self.relay.is_behind_writer(sink) {
            Some(Stage::WaitBuffer)
        } else if self.downs.iter().any(|(epoch, _)| !self.relay.is_down_over(*epoch)) {
            Some(Stage::Control)
        } else {
            None
        }
    }

    fn read_down(&mut self, epoch: u32) {
        let Some((_, stream)) = self.downs.iter().find(|(of, _)| *of == epoch) else { return };
        match link::read_frame(stream, &self.member.keys) {
            Ok((frame, _)) => {
                if frame.kind == Kind::Resume {
                    self.begin_digests(epoch, frame.index);
                }
                self.handle(match frame.kind {
                    Kind::Have => RelayEvent::Have(epoch, frame.index, frame.bits),
                    kind => RelayEvent::Requested(epoch, kind, frame.index),
                });
            }
            Err(error) => {
                self.tell_if_changed(LinkSide::Down, epoch, &error);
                self.lose_down(epoch, error.to_string());
            }
        }
    }

    pub(super) fn read_up(&mut self) {
        let Some((epoch, stream)) = &self.up else { return };
        match link::read_frame(stream, &self.member.keys) {
            Ok((frame, header)) => self.take_frame(frame, header),
            Err(error) => {
                self.tell_if_changed(LinkSide::Up, *epoch, &error);
                self.lose_up(error.to_string());
            }
        }
    }
}
