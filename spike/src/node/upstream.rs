//! The node's end of a data link.

use garland_protocol::{FRAME_LEN, Frame, Keys, TAG_LEN};

use super::{NodeTag, Todo};
use crate::io::{Operation, Piece, SocketId, Submission};
use crate::stream::Outbox;

/// What the next bytes of a link are.
#[derive(Clone, Debug)]
pub(super) enum Expected {
    /// Nothing was asked for.
    Nothing,
    /// A frame.
    Header,
    /// Signed digests, from this place in the lane on.
    Digests(u64),
    /// A block.
    Block {
        frame: Frame,
        header: [u8; FRAME_LEN],
        /// Its length on the wire.
        length: usize,
        /// Whether the relay has said what becomes of it.
        accepted: bool,
        /// Whether it is received into a buffer already.
        dropped: bool,
    },
}

/// A link from the head.
pub(super) struct Upstream {
    socket: SocketId,
    epoch: Option<u32>,
    outbox: Outbox,
    expected: Expected,
    intake: Option<Piece>,
}

impl Upstream {
    pub(super) fn new(socket: SocketId) -> Self {
        let intake = Some(Piece::whole(vec![0; FRAME_LEN]));
        let (outbox, expected) = (Outbox::default(), Expected::Nothing);
        Self { socket, epoch: None, outbox, expected, intake }
    }

    pub(super) fn socket(&self) -> SocketId {
        self.socket
    }

    pub(super) fn epoch(&self) -> Option<u32> {
        self.epoch
    }

    pub(super) fn opened(&mut self, epoch: u32) {
        self.epoch = Some(epoch);
    }

    pub(super) fn close(self) -> Submission<NodeTag> {
        Submission { tag: NodeTag::Linked(self.socket), call: Operation::Close(self.socket) }
    }

    pub(super) fn expected(&self) -> Expected {
        self.expected.clone()
    }

    pub(super) fn take_expected(&mut self) -> Expected {
        std::mem::replace(&mut self.expected, Expected::Nothing)
    }

    /// Whether the header of a block has arrived, and not all of the block.
    pub(super) fn is_in_block(&self) -> bool {
        matches!(self.expected, Expected::Block { .. })
    }

    pub(super) fn receive(&mut self, piece: Piece) {
        self.intake = Some(piece);
    }

    pub(super) fn receive_header(&mut self) {
        self.expected = Expected::Header;
        self.intake = Some(Piece::whole(vec![0; FRAME_LEN]));
    }

    pub(super) fn receive_digests(&mut self, first: u64, length: usize) {
        self.expected = Expected::Digests(first);
        self.intake = Some(Piece::whole(vec![0; length]));
    }

    pub(super) fn expect_block(&mut self, frame: Frame, header: [u8; FRAME_LEN]) {
        let length = frame.packed as usize + if frame.sealed { TAG_LEN } else { 0 };
        self.expected = Expected::Block { frame, header, length, accepted: false, dropped: false };
    }

    /// Notes that the block may be received, and whether it is dropped then.
    pub(super) fn accept_block(&mut self, drops: bool) {
        if let Expected::Block { accepted, dropped, .. } = &mut self.expected {
            (*accepted, *dropped) = (true, drops);
        }
    }

    pub(super) fn receive_block(&mut self, buffer: Vec<u8>, length: usize) {
        if let Expected::Block { accepted, .. } = &mut self.expected {
            // It is received once.
            *accepted = false;
        }
        self.intake = Some(Piece { buffer, from: FRAME_LEN, to: FRAME_LEN + length });
    }

    pub(super) fn send(&mut self, frame: &Frame, keys: &Keys) {
        self.outbox.push(Piece::whole(frame.to_bytes(keys).to_vec()), false);
    }

    pub(super) fn sent(&mut self, piece: Piece) {
        self.outbox.moved(piece);
    }

    pub(super) fn submit(&mut self, todo: &mut Todo) {
        let send = self.outbox.next(self.socket);
        let send = send.map(|call| Submission { tag: NodeTag::LinkOut(self.socket), call });
        let receive = self.intake.take().map(|piece| Submission {
            tag: NodeTag::LinkIn(self.socket),
            call: Operation::Receive(self.socket, piece),
        });
        todo.extend(send.into_iter().chain(receive));
    }
}
