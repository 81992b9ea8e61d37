//! A connection between two machines: bytes on their way, in both directions.

use std::collections::VecDeque;

use crate::io::Piece;

/// The most bytes that are on the way or not received yet, in one direction.
const WINDOW: usize = 6000;

/// A transfer that waits: its number, and its piece.
pub(super) type Waiting = Option<(u64, Piece)>;

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Direction {
    /// The bytes on the way, with the times of their arrival.
    transit: VecDeque<(u64, Vec<u8>)>,
    /// The bytes that have arrived.
    arrived: VecDeque<u8>,
    is_ended: bool,
    pub(super) sender: Waiting,
    pub(super) receiver: Waiting,
}

impl Direction {
    pub(super) fn room(&self) -> usize {
        let transit: usize = self.transit.iter().map(|(_, bytes)| bytes.len()).sum();
        WINDOW.saturating_sub(transit + self.arrived.len())
    }

    /// Puts bytes on the way. Returns when they arrive: in order.
    pub(super) fn send(&mut self, at: u64, bytes: Vec<u8>) -> u64 {
        let at = self.transit.back().map_or(at, |(last, _)| at.max(*last));
        self.transit.push_back((at, bytes));
        at
    }

    pub(super) fn arrive(&mut self, now: u64) {
        while self.transit.front().is_some_and(|(at, _)| *at <= now) {
            self.arrived.extend(self.transit.pop_front().into_iter().flat_map(|(_, bytes)| bytes));
        }
    }

    /// Moves at most `most` arrived bytes into a piece. Returns their number.
    pub(super) fn receive(&mut self, piece: &mut Piece, most: usize) -> usize {
        let count = most.min(piece.to - piece.from).min(self.arrived.len());
        for (place, byte) in piece.buffer[piece.from..].iter_mut().zip(self.arrived.drain(..count))
        {
            *place = byte;
        }
        piece.from += count;
        count
    }

    pub(super) fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Whether nothing more will arrive.
    pub(super) fn is_over(&self) -> bool {
        self.is_ended && self.transit.is_empty() && self.arrived.is_empty()
    }

    pub(super) fn end(&mut self) {
        self.is_ended = true;
    }
}

/// A connection between the head and the node; `ways[side]` goes out from a side.
#[derive(Debug, Default)]
pub(super) struct Wire {
    pub(super) ways: [Direction; 2],
    pub(super) is_data: bool,
    /// Whether it was reset.
    pub(super) is_broken: bool,
    /// Whether nothing passes any more, and nobody is told.
    pub(super) is_mute: bool,
    /// Whether a side has closed its end.
    pub(super) closed: [bool; 2],
}
