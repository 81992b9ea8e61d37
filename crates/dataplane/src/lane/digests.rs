//! What the source signed about a lane's blocks: passed on ahead of them, and checked.

use std::io;

use garland_core::plan::LaneBlocks;
use garland_protocol::{DigestError, Frame, Kind, LinkSide, SignedDigests, WINDOW_BYTES_MAX};

use super::Lane;
use crate::context::Notice;
use garland_transport::link::break_reason;

/// What the other end of a link downstream has been sent of the lane's digests.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentDigests {
    epoch: u32,
    /// It began here; what it knows from before is its own affair.
    since: u64,
    /// It has those before this place.
    until: u64,
}

impl Lane {
    /// The downstream of this link begins at a place in the lane: it knows the digests before it.
    pub(super) fn begin_telling(&mut self, epoch: u32, place: u64) {
        self.told.retain(|told| {
            told.epoch != epoch && self.downs.iter().any(|down| down.0 == told.epoch)
        });
        self.told.push(SentDigests { epoch, since: place, until: place });
    }

    /// Sends to these links what they lack of the digests up to block `index`, which goes to them next.
    pub(super) fn tell_digests(&mut self, index: u64, to: &[u32]) {
        let Some(place) = self.blocks.ordinal(index) else { return };
        for &epoch in to {
            if let Err(error) = self.tell_link(epoch, place) {
                self.lose_down(epoch, break_reason(&error));
            }
        }
    }

    /// Sends to a link what it lacks of the digests of all blocks before `end`: the nodes behind it may
    /// lack blocks that its own node has.
    pub(super) fn tell_all_digests(&mut self, epoch: u32, end: u64) {
        let places = LaneBlocks { end, ..self.blocks }.len();
        let Some(last) = places.checked_sub(1) else { return };
        if let Err(error) = self.tell_link(epoch, last) {
            self.lose_down(epoch, break_reason(&error));
        }
    }

    fn tell_link(&mut self, epoch: u32, place: u64) -> io::Result<()> {
        let Some(told) = self.told.iter().copied().find(|told| told.epoch == epoch) else {
            return Ok(());
        };
        if place < told.since {
            // Asked for by name, from before the link: it may have gone by without its digest.
            if let Some(window) = self.next_window(place, place) {
                self.send_window(epoch, &window)?;
            }
            return Ok(());
        }
        let mut until = told.until;
        while let Some(window) = self.next_window(until, place) {
            self.send_window(epoch, &window)?;
            until = window.end;
        }
        let told = self.told.iter_mut().find(|told| told.epoch == epoch);
        told.into_iter().for_each(|told| told.until = until.max(place + 1));
        Ok(())
    }

    fn next_window(&self, told: u64, place: u64) -> Option<SignedDigests> {
        let mut windows = self.windows();
        let sink = self.member.sink();
        windows.next(&self.blocks, told, place, &sink)
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

    /// Reads the window that this frame announced, and takes it if the source signed it.
    pub(super) fn take_digests(&mut self, frame: &Frame) {
        let length = frame.length as usize;
        if length > WINDOW_BYTES_MAX {
            return self.refuse_digests(DigestError::Malformed);
        }
        let mut bytes = vec![0; length];
        let Some((_, up)) = &self.up else { return };
        let keep = Some(&mut bytes[..]);
        let came = self.conduit.transfer(up, &mut [], keep, length, &mut self.passage);
        if let Err(error) = came {
            return self.lose_up(break_reason(&error));
        }
        let accepted = {
            let mut windows = self.windows();
            let mut sink = self.member.sink();
            windows.accept(&self.blocks, frame.index, &bytes, &mut sink)
        };
        match accepted {
            Ok(()) => self.member.wake_beside(),
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
