//! The signed digests of a lane's blocks: verified on arrival, and sent ahead of the blocks.

use std::io;

use garland_core::plan::LaneBlocks;
use garland_protocol::{DigestError, Frame, Kind, LinkSide, SignedDigests, WINDOW_BYTES_MAX};

use super::Lane;
use super::sent_digests::Missing;
use crate::context::Notice;
use garland_transport::break_reason;

impl Lane {
    /// Records that the downstream of this link begins at `place` in the lane.
    pub(super) fn begin_digests(&mut self, epoch: u32, place: u64) {
        let downs = &self.downs;
        let is_open = |epoch| downs.iter().any(|down| down.0 == epoch);
        self.sent_digests.begin(epoch, place, is_open);
    }

    /// Sends the missing digests up to block `index`, which is sent next, over these links.
    pub(super) fn send_digests(&mut self, index: u64, to: &[u32]) {
        let Some(place) = self.blocks.ordinal(index) else { return };
        for &epoch in to {
            let sent = self.send_missing(epoch, place);
            self.after_down(epoch, sent);
        }
    }

    /// Sends the missing digests of all blocks before `end` over a link: nodes further down the
    /// chain may lack blocks which the downstream has.
    pub(super) fn send_all_digests(&mut self, epoch: u32, end: u64) {
        let places = LaneBlocks { end, ..self.blocks }.len();
        let Some(last) = places.checked_sub(1) else { return };
        let sent = self.send_missing(epoch, last);
        self.after_down(epoch, sent);
    }

    fn send_missing(&mut self, epoch: u32, place: u64) -> io::Result<()> {
        match self.sent_digests.missing(epoch, place) {
            None => Ok(()),
            Some(Missing::Single) => match self.next_window(place, place) {
                Some(window) => self.send_window(epoch, &window),
                None => Ok(()),
            },
            Some(Missing::From(mut until)) => {
                while let Some(window) = self.next_window(until, place) {
                    self.send_window(epoch, &window)?;
                    until = window.end;
                }
                self.sent_digests.advance(epoch, until.max(place + 1));
                Ok(())
            }
        }
    }

    fn next_window(&self, from: u64, place: u64) -> Option<SignedDigests> {
        let mut windows = self.windows.lock();
        let sink = self.member.sink();
        windows.next(&self.blocks, from, place, &sink)
    }

    fn send_window(&self, epoch: u32, window: &SignedDigests) -> io::Result<()> {
        let Some((_, stream)) = self.downs.iter().find(|(of, _)| *of == epoch) else {
            return Ok(());
        };
        let mut frame = self.frame(Kind::Digests, window.first);
        frame.length = u32::try_from(window.bytes.len()).expect("a window is bounded");
        frame.packed = frame.length;
        self.send_with(stream, &frame, &window.bytes)
    }

    /// Reads the window that this frame announces, and accepts it if the source signed it.
    pub(super) fn take_digests(&mut self, frame: &Frame) {
        let length = frame.length as usize;
        if length > WINDOW_BYTES_MAX {
            return self.refuse_digests(DigestError::Malformed);
        }
        let mut bytes = vec![0; length];
        let Some((_, up)) = &self.up else { return };
        let keep = Some(&mut bytes[..]);
        let came = self.forwarder.transfer(up, &mut [], keep, length, &mut self.tracer);
        if let Err(error) = came {
            return self.lose_up(break_reason(&error));
        }
        let accepted = {
            let mut windows = self.windows.lock();
            let mut sink = self.member.sink();
            windows.accept(&self.blocks, frame.index, &bytes, &mut sink)
        };
        match accepted {
            Ok(()) => self.member.side_feeds.wake(),
            Err(DigestError::Changed(error)) => self.member.tell(Notice::Failed(error.to_string())),
            Err(error) => self.refuse_digests(error),
        }
    }

    fn refuse_digests(&mut self, error: DigestError) {
        if let Some((epoch, _)) = &self.up {
            self.member.tell(Notice::BadFrame(self.number, *epoch, LinkSide::Up));
        }
        self.lose_up(format!("its upstream sent {error}"));
    }
}
