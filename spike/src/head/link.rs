//! The head's end of a data link.

use garland_core::plan::LaneBlocks;
use garland_protocol::{DigestWindows, FRAME_LEN, Frame, Keys, Kind, Sink};

use super::{HeadTag, Todo};
use crate::io::{Operation, Piece, SocketId, Submission};
use crate::stream::Outbox;

/// A link to the node.
pub(super) struct Link {
    epoch: u32,
    outbox: Outbox,
    /// What is to be received next.
    intake: Option<Piece>,
    /// The place in the lane where the link begins, and the one before which the node has all
    /// digests.
    digests: (u64, u64),
    copy: Option<Frame>,
}

impl Link {
    pub(super) fn new(epoch: u32) -> Self {
        Self { epoch, outbox: Outbox::default(), intake: None, digests: (0, 0), copy: None }
    }

    pub(super) fn socket(epoch: u32) -> SocketId {
        SocketId(1 + epoch)
    }

    pub(super) fn header() -> Piece {
        Piece::whole(vec![0; FRAME_LEN])
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(super) fn opened(&mut self, open: &Frame, keys: &Keys) {
        self.copy = Some(open.clone());
        self.send_frame(open, keys);
        self.intake = Some(Self::header());
    }

    pub(super) fn receive(&mut self, piece: Piece) {
        self.intake = Some(piece);
    }

    pub(super) fn begin_digests(&mut self, place: u64) {
        self.digests = (place, place);
    }

    pub(super) fn send_frame(&mut self, frame: &Frame, keys: &Keys) {
        self.outbox.push(Piece::whole(frame.to_bytes(keys).to_vec()), false);
    }

    pub(super) fn send_block(&mut self, piece: Piece) {
        self.outbox.push(piece, true);
    }

    /// Sends the digests that the node lacks of the blocks up to the one at `place`.
    pub(super) fn send_digests(
        &mut self,
        place: u64,
        blocks: &LaneBlocks,
        windows: &mut DigestWindows,
        sink: &Sink,
        keys: &Keys,
    ) {
        let is_before = place < self.digests.0;
        let mut from = if is_before { place } else { self.digests.1 };
        while let Some(window) = windows.next(blocks, from, place, sink) {
            let Some(open) = &self.copy else { return };
            let mut frame = Frame::bare(Kind::Digests, open.copy, 0, window.first);
            frame.length = u32::try_from(window.bytes.len()).expect("a window is bounded");
            frame.packed = frame.length;
            from = window.end;
            let bytes = [&frame.to_bytes(keys)[..], &window.bytes].concat();
            self.outbox.push(Piece::whole(bytes), false);
        }
        if !is_before {
            self.digests.1 = from;
        }
    }

    pub(super) fn sent(&mut self, piece: Piece) -> Option<(Piece, bool)> {
        self.outbox.moved(piece)
    }

    pub(super) fn clear(&mut self) -> impl Iterator<Item = Piece> {
        self.outbox.clear()
    }

    pub(super) fn submit(&mut self, todo: &mut Todo) {
        let socket = Self::socket(self.epoch);
        if self.copy.is_none() {
            return;
        }
        let send = self.outbox.next(socket);
        let send = send.map(|call| Submission { tag: HeadTag::LinkOut(self.epoch), call });
        let receive = self.intake.take().map(|piece| Submission {
            tag: HeadTag::LinkIn(self.epoch),
            call: Operation::Receive(socket, piece),
        });
        todo.extend(send.into_iter().chain(receive));
    }
}
