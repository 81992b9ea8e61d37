//! Streams over one socket: parcels to send in order, and messages with their lengths.

use std::collections::VecDeque;
use std::marker::PhantomData;

use garland_protocol::Message;

use crate::io::{Operation, Piece, SocketId};

/// The longest message on a control channel in bytes.
const MESSAGE_MAX: usize = 1 << 20;

/// Sends pieces over one socket, in order.
#[derive(Debug, Default)]
pub struct Outbox {
    /// The pieces, and whether each is a block.
    queue: VecDeque<(Piece, bool)>,
    /// Whether the first piece is with the Io.
    busy: Option<bool>,
}

impl Outbox {
    /// Adds a piece.
    pub fn push(&mut self, piece: Piece, is_block: bool) {
        self.queue.push_back((piece, is_block));
    }

    /// Returns the next call, if there is one and none is under way.
    pub fn next(&mut self, socket: SocketId) -> Option<Operation> {
        if self.busy.is_some() {
            return None;
        }
        let (piece, is_block) = self.queue.pop_front()?;
        self.busy = Some(is_block);
        Some(Operation::Send(socket, piece))
    }

    /// Notes that a piece has moved. Returns it, and whether it is a block, once all of it is sent.
    pub fn moved(&mut self, piece: Piece) -> Option<(Piece, bool)> {
        let is_block = self.busy.take().unwrap_or_default();
        if piece.is_done() {
            return Some((piece, is_block));
        }
        self.queue.push_front((piece, is_block));
        None
    }

    /// Whether everything was sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.busy.is_none()
    }

    /// Removes the pieces that are not with the Io, and returns the blocks among them.
    pub fn clear(&mut self) -> impl Iterator<Item = Piece> {
        self.queue.drain(..).filter(|(_, is_block)| *is_block).map(|(piece, _)| piece)
    }
}

/// A control channel: messages of type `O` go out, and of type `I` come in.
pub struct MessageStream<O, I> {
    outbox: Outbox,
    received: Vec<u8>,
    /// The buffer to receive into, while it is not with the Io.
    idle: Option<Vec<u8>>,
    types: PhantomData<(O, I)>,
}

impl<O: Message, I: Message> Default for MessageStream<O, I> {
    fn default() -> Self {
        let idle = Some(vec![0; 16 << 10]);
        Self { outbox: Outbox::default(), received: Vec::new(), idle, types: PhantomData }
    }
}

impl<O: Message, I: Message> MessageStream<O, I> {
    /// Adds a message.
    pub fn push(&mut self, message: &O) {
        let bytes = message.to_bytes();
        let length = u32::try_from(bytes.len()).expect("a message is short").to_le_bytes();
        self.outbox.push(Piece::whole([&length[..], &bytes].concat()), false);
    }

    /// Returns the next call to send, and the next one to receive.
    pub fn next(&mut self, socket: SocketId) -> (Option<Operation>, Option<Operation>) {
        let receive =
            self.idle.take().map(|buffer| Operation::Receive(socket, Piece::whole(buffer)));
        (self.outbox.next(socket), receive)
    }

    /// Notes that a message has moved out.
    pub fn sent(&mut self, piece: Piece) {
        self.outbox.moved(piece);
    }

    /// Whether everything was sent.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Takes bytes that arrived.
    pub fn received(&mut self, piece: Piece) {
        self.received.extend(&piece.buffer[..piece.from]);
        self.idle = Some(piece.buffer);
    }

    /// Returns the next message that has arrived.
    ///
    /// # Errors
    /// If the bytes are no message.
    pub fn message(&mut self) -> Result<Option<I>, &'static str> {
        let Some((length, rest)) = self.received.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > MESSAGE_MAX {
            return Err("the message is too long");
        }
        let Some(bytes) = rest.get(..length) else { return Ok(None) };
        let message = I::parse(bytes).ok_or("the bytes are not a message")?;
        self.received.drain(..4 + length);
        Ok(Some(message))
    }
}
