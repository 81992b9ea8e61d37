//! The signed digests of a lane's blocks, and the signed end of a stream: a node verifies them when
//! they arrive, and sends them to its downstreams before the blocks.

use garland_core::plan::LaneBlocks;
use garland_protocol::copy::{
    DigestError, Frame, Kind, LinkSide, SignedDigests, SignedEnd, StreamEnd, WINDOW_BYTES_MAX,
};
use garland_transport::break_reason;

use super::Lane;
use super::sent_digests::Missing;
use crate::context::Notice;

impl Lane {
    /// Records that the downstream on the link with this epoch requests the lane's blocks from
    /// `place` on.
    pub(super) fn begin_digests(&mut self, epoch: u32, place: u64) {
        let is_open = |epoch| self.handle.link(LinkSide::Down, epoch).is_some();
        self.sent_digests.begin(epoch, place, is_open);
    }

    /// Sends the digests up to that of block `index`, which is sent next, to the downstreams on the
    /// links `to` that lack them.
    pub(super) fn send_digests(&mut self, index: u64, to: &[u32]) {
        let Some(place) = self.blocks.ordinal(index) else { return };
        to.iter().for_each(|&epoch| self.send_missing(epoch, place));
        // A short block is refused by who does not know that it is the last one.
        if self.copy.progress.signed_end().is_some_and(|signed| signed.end.has_last(index)) {
            to.iter().for_each(|&epoch| self.send_source_end(epoch));
        }
    }

    /// Sends the signed end of a stream, if it is known, and the missing digests of all blocks
    /// before `end` over a link. Nodes further down the
    /// chain may need them for blocks that this downstream already has.
    pub(super) fn send_all_digests(&mut self, epoch: u32, end: u64) {
        self.send_source_end(epoch);
        let places = LaneBlocks { end, ..self.blocks }.len();
        let Some(last) = places.checked_sub(1) else { return };
        self.send_missing(epoch, last);
    }

    fn send_missing(&mut self, epoch: u32, place: u64) {
        match self.sent_digests.missing(epoch, place) {
            None => {}
            Some(Missing::Single) => {
                let window = self.next_window(place, place);
                window.iter().for_each(|window| self.send_window(epoch, window));
            }
            Some(Missing::From(mut until)) => {
                while let Some(window) = self.next_window(until, place) {
                    self.send_window(epoch, &window);
                    until = window.end;
                }
                self.sent_digests.advance(epoch, until.max(place + 1));
            }
        }
    }

    fn next_window(&self, from: u64, place: u64) -> Option<SignedDigests> {
        let mut windows = self.windows.lock();
        let sink = self.copy.progress.sink();
        windows.next(&self.blocks, from, place, &sink)
    }

    fn send_window(&mut self, epoch: u32, window: &SignedDigests) {
        let mut frame = self.frame(Kind::Digests, window.first);
        frame.length = u32::try_from(window.bytes.len()).expect("a window is bounded");
        frame.packed = frame.length;
        self.send(LinkSide::Down, epoch, &frame, &window.bytes);
    }

    fn send_source_end(&mut self, epoch: u32) {
        let Some(signed) = self.copy.progress.signed_end().copied() else { return };
        let mut frame = self.frame(Kind::SourceEnd, signed.end.blocks);
        frame.length = SignedEnd::BYTES as u32;
        frame.packed = frame.length;
        self.send(LinkSide::Down, epoch, &frame, &signed.to_bytes());
    }

    /// Signs the end of a stream, of which this node is the source.
    pub(super) fn sign_end(&self, end: StreamEnd) {
        if self.copy.progress.signed_end().is_none()
            && let Some(signed) = self.windows.lock().sign_end(end)
        {
            self.copy.progress.note_end(signed);
        }
    }

    /// Reads the end of a stream that follows `frame` on the upstream's link, and notes it if the
    /// source has signed it.
    pub(super) fn take_end(&mut self, frame: &Frame) {
        let length = frame.length as usize;
        if length != SignedEnd::BYTES || !self.copy.layout.open {
            return self.refuse_digests(DigestError::Malformed);
        }
        let Some(bytes) = self.take_payload(length) else { return };
        let checked = self.windows.lock().check_end(frame.index, &bytes);
        match checked {
            Ok(end) if self.copy.progress.note_end(end) => {}
            Ok(_) => self.copy.tell(Notice::Failed("the source has two ends".to_owned())),
            Err(error) => self.refuse_digests(error),
        }
    }

    /// Reads the bytes that follow a frame on the upstream's link; `None` if the link breaks.
    fn take_payload(&mut self, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        let up = self.up()?;
        let keep = Some(&mut bytes[..]);
        let came = self.forwarder.transfer(&up.stream, &mut [], keep, length, &mut self.tracer);
        if let Err(error) = came {
            self.lose_up(break_reason(&error));
            return None;
        }
        Some(bytes)
    }

    /// Reads the window of digests that follows `frame` on the upstream's link, and stores it if
    /// the source has signed it.
    pub(super) fn take_digests(&mut self, frame: &Frame) {
        let length = frame.length as usize;
        if length > WINDOW_BYTES_MAX {
            return self.refuse_digests(DigestError::Malformed);
        }
        let Some(bytes) = self.take_payload(length) else { return };
        let accepted = {
            let mut windows = self.windows.lock();
            let mut sink = self.copy.progress.sink();
            windows.accept(&self.blocks, frame.index, &bytes, &mut sink)
        };
        match accepted {
            Ok(()) => self.copy.lanes.wake_side_feeds(),
            Err(DigestError::Changed(error)) => self.copy.tell(Notice::Failed(error.to_string())),
            Err(error) => self.refuse_digests(error),
        }
    }

    pub(super) fn refuse_digests(&mut self, error: DigestError) {
        if let Some(up) = self.up() {
            self.copy.tell(Notice::BadFrame(self.number, up.epoch, LinkSide::Up));
        }
        self.lose_up(format!("its upstream sent {error}"));
    }
}
